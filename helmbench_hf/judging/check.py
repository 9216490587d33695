"""Checks a judge: it grades replies whose right verdicts are known, in a folder of its own.

CHECK/judgments/<judge>/   the judge's answers, as in a run
CHECK/time.json            seconds of asking, and the calls that they bought
CHECK/check.json           the result (`gate.py`, `claims.py`); made again whenever asked
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.judging.grade import judge_answers
from helmbench_hf.judging.judge import Ask, Judge, JudgeError, JudgeSpec, Row, ask_judge, asks, find_judge, key_context, verdict
from helmbench_hf.judging.labels import Labels, Probe, find_labels
from helmbench_hf.judging.rubric import Exchange
from helmbench_hf.models.drive import Listener
from helmbench_hf.records import Answer, CheckedLabel, Completion, Verdict
from helmbench_hf.runs.folder import RunFolder, write_json

JOB = "helmbench_hf.judging.check:child"
ORDERS = 2
"""Letter orders that are asked in fast mode, whatever the judge averages over: their difference is the position bias."""
TIME = "time.json"
_SAID: Mapping[float, Answer] = {1.0: "PASS", 0.5: "PARTIAL", 0.0: "FAIL"}


def payload(
    out: Path, judge: JudgeSpec, content: Path, criteria: Sequence[str] = (), rated: Path | None = None
) -> dict[str, Any]:
    """What `child` needs, as plain JSON."""
    asked = {"out": str(out), "judge": judge.as_payload(), "content": str(content)}
    return {**asked, "criteria": list(criteria), "labels": None if rated is None else str(rated)}


def child(payload: Row, reporter: Listener) -> None:
    """The job of the child process: one judge, its folder, its lock."""
    benchmark = load_benchmark(Path(payload["content"]))
    labels = find_labels(benchmark, payload["criteria"], Path(payload["labels"]) if payload["labels"] else None)
    check_judge(RunFolder(Path(payload["out"])), find_judge(JudgeSpec(**payload["judge"])), labels, benchmark, reporter)


def check_judge(folder: RunFolder, judge: Judge, labels: Labels, benchmark: Benchmark, listener: Listener) -> None:
    """Ask the judge about every label that it has not answered here. Raises what `ask_judge` raises."""
    if others := [row["id"] for row in folder.judges() if row["id"] != judge.spec.id]:
        raise JudgeError(f"{folder.root} is the check of the judge {others[0]}; give this one a folder of its own (--out).")
    if spent := ask_judge(folder, judge, labels.pairs(), benchmark, listener, orders=ORDERS):
        before = _time(folder)
        seconds, calls = before["seconds"] + spent["seconds"], before["calls"] + spent["completions"]
        write_json(folder.root / TIME, {"seconds": seconds, "calls": calls})


def _time(folder: RunFolder) -> Row:
    path = folder.root / TIME
    found: Row = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"seconds": 0.0, "calls": 0}
    return found


def checked(folder: RunFolder, labels: Labels, benchmark: Benchmark) -> tuple[Row, list[CheckedLabel], Row]:
    """What `judge.json` says of the folder's judge, each label with what it said, and what that cost.

    The cost: `calls`, `prompt_tokens`, `cached_tokens`, `output_tokens`; `seconds` were measured over `timed_calls` of the
    calls (a process that was killed leaves no time). Raises `JudgeError` where there is no judge or another rubric.
    """
    rows = folder.judges()
    if not rows:
        raise JudgeError(
            f"{folder.root} contains no answers from a judge; check a judge with `helmbench judge check --judge JUDGE`."
        )
    row = rows[0]
    answers = judge_answers(folder, row, benchmark).everything()
    found, used = read_labels(row, answers, labels, benchmark)
    cost: Row = {"calls": len(used)}
    cost |= {name: sum(getattr(each, name) for each in used) for name in ("prompt_tokens", "cached_tokens", "output_tokens")}
    spent = _time(folder)
    return row, found, cost | {"seconds": spent["seconds"], "timed_calls": spent["calls"]}


def read_labels(
    row: Row, answers: Mapping[str, Completion], labels: Labels, benchmark: Benchmark
) -> tuple[list[CheckedLabel], list[Completion]]:
    """Each label with what the judge of a row of `judge.json` said, and those of its answers (by key) that were read."""
    looked_up: dict[str, None] = {}

    def asked(exchange: Exchange, code: str) -> list[tuple[Ask, str]]:
        calls = [(ask, ask.key(key_context(row))) for ask in asks(exchange, code, benchmark, row["mode"], ORDERS)]
        looked_up.update(dict.fromkeys(key for _, key in calls))
        return calls

    def read(exchange: Exchange, code: str, calls: Sequence[tuple[Ask, str]]) -> Verdict:
        return verdict(exchange, code, row["id"], calls, answers)

    found = []
    for probe in labels.probes:
        code = probe.label.criterion
        calls = asked(probe.exchange, code)
        said = read(probe.exchange, code, calls[: row["orders"]])
        single = [read(probe.exchange, code, [call]) for call in calls] if row["mode"] == "fast" else []
        clean = None if probe.clean is None else read(probe.clean, code, asked(probe.clean, code)[: row["orders"]])
        found.append(
            _labeled(
                probe,
                _said(said),
                str(said.detail["reason"]) if said.status == "judge_failure" else "",
                None if clean is None else _said(clean),
                orders=tuple(_said(each) for each in single),
                masses=tuple(each.detail["mass"] for each in single if "mass" in each.detail),
            )
        )
    return found, [answers[key] for key in looked_up if key in answers]


def _said(found: Verdict) -> Answer | None:
    return None if found.value is None else _SAID[found.value]


def _labeled(probe: Probe, said: Answer | None, reason: str, clean: Answer | None, **fast: Any) -> CheckedLabel:
    reply, criterion = probe.pair
    facts: Row = {"reason": reason, "directed": probe.clean is not None, "clean": clean, "source": probe.source}
    return CheckedLabel(reply, criterion, probe.right, said, **facts, **fast)


def on_twins(labels: Labels, found: Sequence[CheckedLabel]) -> dict[str, list[tuple[Answer | None, Answer | None]]]:
    """By contrast criterion what a judge says of one reply under the crisis message and under its twin; None: a judge failure."""
    said = {(each.reply, each.criterion): each.said for each in found}
    both: dict[str, list[tuple[Answer | None, Answer | None]]] = defaultdict(list)
    for one, other in labels.twins():
        both[one[1]].append((said.get(one), said.get(other)))
    return dict(both)
