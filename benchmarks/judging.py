"""What the judge's fast mode saves: the same (case, reply, criterion) triples in fast and in evidence mode, one engine.

    python benchmarks/judging.py [--limit 12] [--rounds 2]
    python benchmarks/judging.py --run runs/demo --model HUB_ID        the replies of a model's run; its folder is only read

Without `--run` the replies are a reference policy's. Each pass is the line of `helmbench grade`: work in the order of shared
prefixes, a lock, a journal, verdicts derived from it. It begins with an empty prefix cache; loading is not in its seconds.
Evidence takes about eight times as long (engineering review, section 2). A small judge's verdicts are worth nothing: the
share that could be read and the label mass say whether a mode works, not whether it is right.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import engine_spec, parser, setting

from helmbench_hf.dataset.load import load_cases
from helmbench_hf.judging.grade import collect, judge_run
from helmbench_hf.judging.judge import JudgeSpec, find_judge
from helmbench_hf.models.engine import EngineSpec
from helmbench_hf.models.vllm import VllmEngine
from helmbench_hf.records import Verdict
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.runs.policies import run_policy

Mode = Literal["fast", "evidence"]
MODES: tuple[Mode, ...] = ("fast", "evidence")


def main() -> int:
    """Judge in both modes by turns, print calls a second, tokens, what could be read, and the ratio of seconds."""
    made = parser(__doc__, rounds=2)
    made.add_argument("--run", type=Path, help="folder of a run whose replies are judged")
    made.add_argument("--policy", default="canned-crisis", help="whose replies are judged without --run")
    made.add_argument("--only", default="P2-B5-S1,P2-B2-S1", help="codes of core cases, commas between, without --run")
    made.add_argument("--limit", type=int, default=12, help="cases at most, without --run")
    options = made.parse_args()
    spec = engine_spec(options)
    engine = VllmEngine(spec)
    with tempfile.TemporaryDirectory(prefix="helm-judging-") as temporary:
        warm = RunFolder(Path(temporary) / "warm")
        run_policy("canned-crisis", load_cases("smoke"), warm, limit=2)
        for mode in MODES:
            _judge(warm, spec, engine, mode, -1)  # the first calls import and compile
        folder = _replies(options, RunFolder(Path(temporary) / "run"))
        rounds: list[dict[str, dict[str, Any]]] = []
        for number in range(options.rounds):
            rounds.append({mode: _judge(folder, spec, engine, mode, number) for mode in MODES[:: -1 if number % 2 else 1]})
        found = collect(folder).verdicts
    verdicts: dict[str, list[Verdict]] = {mode: [each for each in found if each.grader == f"{mode}-0"] for mode in MODES}
    summary = {
        **setting(engine),
        "replies_of": options.run.name if options.run else f"policy:{options.policy}",
        "triples": len(verdicts["fast"]),
        "evidence_over_fast": statistics.median(row["evidence"]["seconds"] / row["fast"]["seconds"] for row in rounds),
        "verdicts": {mode: _read(verdicts[mode]) for mode in MODES},
        "same_credit_where_both_read": _agreement(verdicts["fast"], verdicts["evidence"]),
        "rounds": rounds,
    }
    print(json.dumps(summary, indent=1))
    return 0


def _replies(options: argparse.Namespace, folder: RunFolder) -> RunFolder:
    """Put the replies into a folder of ours: those of a run, or a policy's."""
    if options.run:
        shutil.copytree(options.run / "completions", folder.completions)
        shutil.copy(options.run / "manifest.json", folder.root)
    else:
        run_policy(options.policy, load_cases("core"), folder, options.only, options.limit)
    return folder


def _judge(folder: RunFolder, spec: EngineSpec, engine: VllmEngine, mode: Mode, number: int) -> dict[str, Any]:
    """Judge everything once, from an empty prefix cache, on the engine that is loaded already."""
    own = {"dtype": spec.dtype, "max_num_seqs": spec.max_num_seqs, "extra": spec.extra}
    judge = find_judge(JudgeSpec(id=f"{mode}-{number}", engine=f"vllm:{spec.model}", family="bench", mode=mode, options=own))
    engine._llm.reset_prefix_cache()
    listener = Ends()
    judge_run(folder, replace(judge, open=lambda: engine), listener)
    row = {name: listener.end[name] for name in ("completions", "prompt_tokens", "cached_tokens", "output_tokens")}
    seconds = listener.end["seconds"]
    found = {"seconds": round(seconds, 2), "calls_per_second": round(row["completions"] / seconds, 2), **row}
    print(f"round {number + 1} {mode}: {found}", file=sys.stderr, flush=True)
    return found


class Ends:
    """Hears of the work and keeps how it ended."""

    def __init__(self) -> None:
        self.end: dict[str, Any] = {}

    def emit(self, event: dict[str, Any]) -> None:
        if event["event"] == "end":
            self.end = event

    def stopping(self) -> bool:
        return False


def _read(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The share that could be read, why the others could not, and the probability that the letters had together."""
    scored = [each for each in verdicts if each.status == "scored"]
    failures = Counter(each.detail["reason"] for each in verdicts if each.status == "judge_failure")
    masses = sorted(each.detail["mass"] for each in verdicts if "mass" in each.detail)
    row: dict[str, Any] = {"read": round(len(scored) / len(verdicts), 4), "not_read": dict(failures)}
    if masses:
        row["label_mass"] = {"least": round(masses[0], 4), "median": round(statistics.median(masses), 4)}
    return row


def _agreement(fast: Sequence[Verdict], evidence: Sequence[Verdict]) -> float | None:
    """Share of the triples that both modes read and gave the same credit; `collect` lists both in one order."""
    both = [(a, b) for a, b in zip(fast, evidence, strict=True) if a.status == b.status == "scored"]
    return round(sum(a.value == b.value for a, b in both) / len(both), 4) if both else None


if __name__ == "__main__":
    sys.exit(main())
