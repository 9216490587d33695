"""What a barrier costs: conversations through our loop against waves (`LLM.generate` over all first turns, all second ...).

    python benchmarks/waves.py [--conversations 48] [--rounds 3]     seconds and steps, the demo model
    python benchmarks/waves.py --tiny --conversations 124            steps alone, every multi-turn case of `core`

Real multi-turn cases of `core` (4 to 6 turns), distinct from their first turn. Every answer is as long as its seeded draw
(lognormal, 4 to 128 tokens), whatever the model would say, so both sides do the same work. The goal is a step ratio of 1.3.
A CPU's step costs more the fuller it is, so that there the seconds differ less: about 1.1 (engineering review, section 1).
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import Timed, alternate, completions, conversations, distinct, engine_spec, generate, loop, parser, setting, timed

from helmbench_hf.dataset.load import load_cases
from helmbench_hf.models.engine import Request
from helmbench_hf.models.vllm import VllmEngine
from helmbench_hf.records import Completion
from helmbench_hf.runs.turns import Conversations

SHORTEST, LONGEST = 4, 128


def main() -> int:
    """Measure rounds, print the ratios of every one and their medians."""
    made = parser(__doc__)
    made.add_argument("--conversations", type=int, default=48)
    options = made.parse_args()
    spec = engine_spec(options)
    cases = [case for case in load_cases("core").cases if len(case.turns) > 1]

    def arm(ask: Callable[[list[Request], Conversations], Sequence[Completion]]) -> Timed:
        talks = conversations(cases, spec)  # a conversation is followed once
        chosen = spread(distinct(talks), options.conversations)
        return timed(engine, lambda: ask(chosen, talks))

    engine = Uneven(spec)
    loop(engine, spread(distinct(conversations(cases, spec)), 8))  # warm up
    arms = {
        "loop": lambda: arm(lambda chosen, talks: loop(engine, chosen, talks.follow_up)),
        "waves": lambda: arm(lambda chosen, talks: waves(engine, chosen, talks)),
    }
    rounds = alternate(arms, options.rounds)
    summary = {
        **setting(engine),
        "conversations": options.conversations,
        "answers": rounds[0]["loop"].answers,
        "step_ratio": statistics.median(each["waves"].steps / each["loop"].steps for each in rounds),
        "wall_ratio": statistics.median(each["waves"].seconds / each["loop"].seconds for each in rounds),
        "cpu_ratio": statistics.median(each["waves"].cpu_seconds / each["loop"].cpu_seconds for each in rounds),
        "rounds": [{name: arm.as_row() for name, arm in each.items()} for each in rounds],
    }
    print(json.dumps(summary, indent=1))
    return 0


def spread(requests: Sequence[Request], count: int) -> list[Request]:
    """`count` of the requests at equal distances, in their order; all of them where there are fewer."""
    count = min(count, len(requests))
    return [requests[number * len(requests) // count] for number in range(count)]


def length(name: str) -> int:
    """Tokens of the answer to a request, drawn by its name: most answers are short, a few are long."""
    return round(min(LONGEST, max(SHORTEST, random.Random(name).lognormvariate(3.2, 1.0))))


class Uneven(VllmEngine):
    """vLLM with answers of drawn length."""

    length = staticmethod(length)

    def _sampling(self, request: Request) -> Any:
        params = super()._sampling(request)
        params.max_tokens, params.ignore_eos = self.length(request.name), True
        return params


def waves(engine: VllmEngine, requests: Sequence[Request], talks: Conversations) -> list[Completion]:
    """Ask every conversation's turn, wait for the last answer, ask the next turns."""
    done: list[Completion] = []
    while requests:
        wave = completions(requests, generate(engine, requests))
        done += wave
        following = (talks.follow_up(request, each) for request, each in zip(requests, wave, strict=True))
        requests = [request for request in following if request is not None]
    return done


if __name__ == "__main__":
    sys.exit(main())
