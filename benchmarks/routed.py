"""What a router costs: reactive conversations against the same ones with their paths fixed beforehand.

    python benchmarks/routed.py [--conversations 24] [--rounds 3]

Conversations of `core`, the demo model as target and, loaded a second time, as router. Every answer is as long as its seeded
draw, which follows 360 replies of strong language models to such conversations: 8 to 333 tokens, median 115. `fixed`: the
lines of each path are known, nobody is asked what a reply does. `both`: target and router stay loaded. `waves`: they take
turns. The goal is a wall time of at most 1.25 times `fixed` in both modes.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import Timed, alternate, engine_spec, loop, parser, setting
from waves import Uneven

from helmbench_hf.dataset.load import load_cases
from helmbench_hf.models.engine import Engine
from helmbench_hf.models.identity import model_info
from helmbench_hf.models.roles import Memory, Models
from helmbench_hf.models.vllm import VllmEngine
from helmbench_hf.records import Case, Completion, Grading, Route
from helmbench_hf.runs.completions import as_said
from helmbench_hf.runs.router import Router, mode_of
from helmbench_hf.runs.turns import Conversations, Settings


class Replies(Uneven):
    """Answers as long as those of strong models in reactive conversations (lognormal; n = 360, mean 144 tokens)."""

    @staticmethod
    def length(name: str) -> int:
        """Tokens of the answer to a request, drawn by its name."""
        return round(min(333, max(8, random.Random(name).lognormvariate(4.75, 0.78))))


def main() -> int:
    """Measure rounds, print the ratios of every one and their medians."""
    made = parser(__doc__)
    made.add_argument("--conversations", type=int, default=24)
    options = made.parse_args()
    spec = engine_spec(options)
    info = model_info(spec)
    router = Router(info.context, mode_of(info.template, spec.kind), info.template)
    chosen = [case for case in load_cases("core").cases if case.route.beats][::2][: options.conversations]
    target, sorts = Replies(spec), VllmEngine(spec)

    def run(cases: Sequence[Case], engine: Engine, routed: bool) -> list[Completion]:
        talks = Conversations(cases, info.template, info.context, Settings(free_form=True), {}, router if routed else None)
        return loop(engine, [talks.request(each) for each in talks.missing()], talks.follow_up)  # type: ignore[arg-type]

    def arm(cases: Sequence[Case], memory: Memory | None) -> Timed:
        for each in (target, sorts):
            each._llm.reset_prefix_cache()
        engine: Engine = Models({"target": target, "router": sorts}, memory) if memory else target
        began, used = time.perf_counter(), time.process_time()
        done = run(cases, engine, memory is not None)
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - used
        totals = [sum(getattr(each, name) for each in done) for name in ("prompt_tokens", "cached_tokens", "output_tokens")]
        return Timed(seconds, cpu_seconds, 0, len(done), *totals)

    found = {each.request: each for each in run(chosen, Models({"target": target, "router": sorts}), True)}
    fixed = [replace(as_said(case, found, 0), route=Route(), grading=Grading()) for case in chosen]
    rounds = alternate(
        {"fixed": lambda: arm(fixed, None), "both": lambda: arm(chosen, "both"), "waves": lambda: arm(chosen, "waves")},
        options.rounds,
    )
    ratios = {
        name: statistics.median(each[name].seconds / each["fixed"].seconds for each in rounds) for name in ("both", "waves")
    }
    rows = [{name: passed.as_row() for name, passed in each.items()} for each in rounds]
    print(json.dumps({**setting(target), "conversations": len(chosen), "wall_ratio": ratios, "rounds": rows}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
