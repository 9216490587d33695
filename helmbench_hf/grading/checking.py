"""Checks a judge: it is asked about replies whose right verdicts are known, and what it said stands beside them.

CHECK/judgments/<judge>/   the judge's answers, as in a run
CHECK/time.json            seconds of asking, and the calls that they bought
CHECK/check.json           the result; made anew whenever asked
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.grading import outside
from helmbench_hf.grading.calibration import CLEAN, Labels, Pair, Probe, allowed, find_labels
from helmbench_hf.grading.judge import Ask, JudgeError, JudgeSpec, asks, verdict
from helmbench_hf.grading.judging import Judge, Row, ask_judge, find_judge, judge_rows, key_context
from helmbench_hf.grading.rubric import Exchange
from helmbench_hf.grading.run import judge_answers
from helmbench_hf.inference.counting import Listener
from helmbench_hf.records import Answer, CheckedLabel, Completion, Verdict
from helmbench_hf.run_folder import RunFolder, write_json

JOB = "helmbench_hf.grading.checking:child"
ORDERS = 2
"""Letter orders that are asked in fast mode, whatever the judge averages over: their difference is the position bias."""
TIME = "time.json"
_SAID: Mapping[float, Answer] = {1.0: "PASS", 0.5: "PARTIAL", 0.0: "FAIL"}


def payload(
    out: Path,
    judge: JudgeSpec,
    content: Path,
    criteria: Sequence[str] = (),
    rated: Path | None = None,
    layout: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What `child` needs, as plain JSON. `layout`: the labels are of other replies, in a file of this layout (`outside.py`)."""
    return {
        "out": str(out),
        "judge": judge.as_payload(),
        "content": str(content),
        "criteria": list(criteria),
        "labels": None if rated is None else str(rated),
        "layout": None if layout is None else dict(layout),
    }


def child(payload: Row, reporter: Listener) -> None:
    """The job of the child process: one judge, its folder, its lock."""
    benchmark = load_benchmark(Path(payload["content"]))
    rated = Path(payload["labels"]) if payload["labels"] else None
    if rated is not None and payload["layout"] is not None:
        labels, benchmark = outside.labels(benchmark, rated, payload["layout"])
    else:
        labels = find_labels(benchmark, payload["criteria"], rated)
    check_judge(RunFolder(Path(payload["out"])), find_judge(JudgeSpec(**payload["judge"])), labels, benchmark, reporter)


def check_judge(folder: RunFolder, judge: Judge, labels: Labels, benchmark: Benchmark, listener: Listener) -> None:
    """Ask the judge about every label that it has not answered here. Raises what `ask_judge` raises."""
    if others := [row["id"] for row in judge_rows(folder) if row["id"] != judge.spec.id]:
        raise JudgeError(f"{folder.root} is the check of the judge {others[0]}; give this one a folder of its own (--out).")
    clock = _Clock(listener)
    ask_judge(folder, judge, labels.pairs(), benchmark, clock, orders=ORDERS)
    if clock.calls:
        before = _time(folder)
        spent = {"seconds": before["seconds"] + clock.seconds, "calls": before["calls"] + clock.calls}
        write_json(folder.root / TIME, spent)


class _Clock:
    """Hands every event on and keeps what the work took."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.seconds, self.calls = 0.0, 0

    def emit(self, event: dict[str, Any]) -> None:
        if event["event"] == "end":
            self.seconds, self.calls = event["seconds"], event["completions"]
        self._listener.emit(event)

    def stopping(self) -> bool:
        return self._listener.stopping()


def _time(folder: RunFolder) -> Row:
    path = folder.root / TIME
    found: Row = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"seconds": 0.0, "calls": 0}
    return found


def checked(folder: RunFolder, labels: Labels, benchmark: Benchmark) -> tuple[Row, list[CheckedLabel], Row]:
    """What `judge.json` says of the folder's judge, each label with what it said, and what that cost.

    The cost: `calls`, `prompt_tokens`, `cached_tokens`, `output_tokens`; `seconds` were measured over `timed_calls` of the
    calls (a process that was killed leaves no time). Raises `JudgeError` where there is no judge or another rubric.
    """
    rows = judge_rows(folder)
    if not rows:
        raise JudgeError(f"{folder.root} holds no judge's answers; check one with `helmbench judge check --judge JUDGE`.")
    row = rows[0]
    answers = judge_answers(folder, row, benchmark).everything()
    desk = _Desk(row, benchmark, answers)
    found = [desk.checked(probe) for probe in labels.probes]
    used = [answers[key] for key in desk.keys if key in answers]
    cost: Row = {"calls": len(used)}
    cost |= {name: sum(getattr(each, name) for each in used) for name in ("prompt_tokens", "cached_tokens", "output_tokens")}
    spent = _time(folder)
    return row, found, cost | {"seconds": spent["seconds"], "timed_calls": spent["calls"]}


class _Desk:
    """One judge's answers, read label by label; `keys` are the calls that were looked up."""

    def __init__(self, row: Row, benchmark: Benchmark, answers: Mapping[str, Completion]) -> None:
        self._row, self._benchmark, self._answers = row, benchmark, answers
        self._context = key_context(row)
        self.keys: dict[str, None] = {}

    def checked(self, probe: Probe) -> CheckedLabel:
        """What the judge said of one label, of each letter order, and of the form without words to it."""
        code, asked = probe.label.criterion, self._asked(probe.exchange, probe.label.criterion)
        whole = self._verdict(probe.exchange, code, asked[: self._row["orders"]])
        single = [self._verdict(probe.exchange, code, [each]) for each in asked] if self._row["mode"] == "fast" else []
        clean = None
        if probe.clean is not None:
            clean = self._verdict(probe.clean, code, self._asked(probe.clean, code)[: self._row["orders"]])
        return CheckedLabel(
            reply=probe.label.reply.code,
            criterion=code,
            right=probe.right,
            said=_said(whole),
            length=len(probe.exchange.answer.reply),
            reason=str(whole.detail["reason"]) if whole.status == "judge_failure" else "",
            orders=tuple(_said(each) for each in single),
            masses=tuple(each.detail["mass"] for each in single if "mass" in each.detail),
            directed=probe.clean is not None,
            clean=None if clean is None else _said(clean),
            source=probe.source,
        )

    def _asked(self, exchange: Exchange, code: str) -> list[tuple[Ask, str]]:
        found = asks(exchange, code, self._benchmark, self._row["mode"], ORDERS)
        asked = [(ask, ask.key(self._context)) for ask in found]
        self.keys |= dict.fromkeys(key for _, key in asked)
        return asked

    def _verdict(self, exchange: Exchange, code: str, asked: Sequence[tuple[Ask, str]]) -> Verdict:
        return verdict(exchange, code, self._row["id"], asked, self._answers)


def _said(found: Verdict) -> Answer | None:
    return None if found.value is None else _SAID[found.value]


def replayed(labels: Labels, given: Mapping[Pair, str], benchmark: Benchmark) -> list[CheckedLabel]:
    """Each label with what a judge from elsewhere said; what is missing or no verdict of the criterion is a judge failure.

    Raises `JudgeError` where nothing in `given` is about any label.
    """
    found = list(_replayed(labels, given, benchmark))
    if found and all(each.reason == "missing" for each in found):
        raise JudgeError("None of the verdicts is about a label; reply_code and criterion are as in the dataset's `calibration`.")
    return found


def _replayed(labels: Labels, given: Mapping[Pair, str], benchmark: Benchmark) -> Iterator[CheckedLabel]:
    for probe in labels.probes:
        reply, code = probe.pair
        words: dict[str, Answer] = {word: word for word in allowed(benchmark, code)}
        said, clean = given.get((reply, code)), given.get((reply + CLEAN, code))
        reason = "missing" if not said else "" if said in words else "unparseable"
        yield CheckedLabel(
            reply=reply,
            criterion=code,
            right=probe.right,
            said=words.get(said or ""),
            length=len(probe.exchange.answer.reply),
            reason=reason,
            directed=probe.clean is not None,
            clean=words.get(clean or ""),
            source=probe.source,
        )
