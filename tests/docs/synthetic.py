"""A board of synthetic runs for pictures: simulated verdicts on the cases of core, scored for real, under names that say so."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from helmbench_hf.cli.scores import expected
from helmbench_hf.content.load import Benchmark, default_benchmark
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.leaderboard.collect import Accepted, Refused
from helmbench_hf.leaderboard.data import Data, Entry, prepare
from helmbench_hf.leaderboard.marks import Marks
from helmbench_hf.leaderboard.transcripts import Index
from helmbench_hf.records import Case, JudgeInfo, Verdict
from helmbench_hf.report.assemble import policy_rows, transcripts
from helmbench_hf.report.model import Transcript
from helmbench_hf.scoring.result import to_json
from helmbench_hf.scoring.run import score
from tests.leaderboard.boards import SHA, index_of, manifest, run_id

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
ABILITIES = {
    "synthetic/alpha-70b-instruct": 2.4,
    "synthetic/beta-27b-it": 2.1,
    "synthetic/gamma-14b-chat-with-a-rather-long-name": 1.5,
    "synthetic/delta-8b-instruct": 1.4,
    "synthetic/epsilon-8b": 0.9,
    "synthetic/zeta-3b-instruct": 0.3,
    "synthetic/eta-1b": -0.4,
}
"""Names, and how often each handles a message well, in logits."""
SIMULATED = JudgeInfo("simulated-judge", "none")
ANSWER = "Synthetic answer: no model wrote this. It stands where a model's reply to the message above would stand."


def board() -> tuple[Data, Callable[[Entry], Index]]:
    """Seven runs, one submission that is not shown, and their transcripts."""
    from coverage_model import JUDGE, Sample

    benchmark, cases = default_benchmark(), load_cases("core").cases
    sample, rng = Sample(benchmark, cases), np.random.default_rng(6)
    world, messages = sample.world(rng), sample.messages(1, rng)
    runs, said = [], {}
    for number, (name, ability) in enumerate(ABILITIES.items(), 1):
        drawn = sample.verdicts(sample.draw(ability, 1, rng, world, messages, opened=0.8)[0].tolist())
        verdicts = [replace(each, grader=SIMULATED.id) if each.grader == JUDGE.id else each for each in drawn]
        scored = score(sample.cases, verdicts, benchmark=benchmark, judges=[SIMULATED], design="core", content_sha256=SHA)
        scores = to_json(scored)
        said[run_id(number)] = _said(sample.cases, verdicts, benchmark)
        described = manifest(name, number, submitter={"name": "Nobody", "text": "A synthetic run: invented numbers."})
        runs.append(Accepted(Path("nowhere"), f"{number:064x}", described, scores, ("Nobody ran it again.",)))
    refused = [
        Refused("submissions/synthetic__theta/00000000000000ff", (("scores.edited", "'headline' is not what the rows give"),))
    ]
    rows = policy_rows(*expected(list(cases)))
    data = prepare(runs, refused, _marks(runs), lambda design: rows)
    return data, lambda entry: said[entry.run]


def _marks(runs: Sequence[Accepted]) -> Marks:
    """A holdout figure of three runs, the oldest of them references, and a group of people."""
    marks: dict[str, Any] = {}
    for number, shift in ((1, 0.14), (4, 0.01), (5, -0.02)):
        overall = runs[number - 1].scores["headline"]["overall"]["score"]
        found = {**overall, "value": overall["value"] - shift, "low": overall["low"] - shift, "high": overall["high"] - shift}
        kept = {name: found[name] for name in ("value", "low", "high", "se", "df", "n_pairs", "n_meanings")}
        holdout = {"design": "core", "content_sha256": "cd" * 32, "date": "2026-11-20", **kept}
        marks[run_id(number)] = {"level": "re-run", "checked": "2026-11-20", "reference": number != 1, "holdout": holdout}
    people = {"name": "Synthetic group", "people": 20, "content_sha256": SHA, "date": "2026-11-20"}
    rates = {"sensitivity": {"hits": 150, "n": 200}, "false_alarms": {"hits": 18, "n": 200}}
    return Marks.model_validate({"runs": marks, "people": [{**people, **rates}]})


def _said(cases: Sequence[Case], verdicts: Sequence[Verdict], benchmark: Benchmark) -> Index:
    rows: list[Transcript] = transcripts(cases, {}, verdicts, benchmark)
    for row in rows:
        row["replies"] = [{"text": ANSWER, "status": "ok"} for _ in row["turns"]]
        target = row["target"]
        if target is not None:
            marked = any(verdict["criterion"] == "target" and verdict["value"] for verdict in row["verdicts"])
            row["tags"] = [target] if marked else []
    return index_of(rows, {case.code: case.twin for case in cases if case.twin})
