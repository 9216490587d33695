"""Grades a run: judges answer in a child process each, one after the other; every verdict is derived from the journals.

RUN/judgments/<judge>/*.jsonl    the judge's answers, journaled like a model's and resumed by key
RUN/judgments/<judge>/judge.json what judged, in which mode, by which rubric
RUN/verdicts.jsonl               an export; nothing reads it back
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from helmbench_hf.content.load import Benchmark, default_benchmark
from helmbench_hf.grading import rubric
from helmbench_hf.grading.code import code_verdicts
from helmbench_hf.grading.exchanges import completion_at, exchanges, places, run_answers
from helmbench_hf.grading.judge import Ask, JudgeError, JudgeSpec, asks, criteria_of, verdict
from helmbench_hf.grading.judging import Row, find_judge, judge_rows, judge_run, key_context
from helmbench_hf.grading.registry import Registry
from helmbench_hf.grading.rubric import Exchange
from helmbench_hf.inference import host
from helmbench_hf.inference.counting import Listener
from helmbench_hf.inference.journal import Journal, Records
from helmbench_hf.inference.keys import digest
from helmbench_hf.records import Case, Completion, JudgeInfo, Verdict
from helmbench_hf.run_folder import RunFolder, replacing

JOB = "helmbench_hf.grading.run:child"
_COLUMNS = tuple(item.name for item in fields(Verdict))
_LINE = json.JSONEncoder(allow_nan=False)  # ASCII: control characters and direction marks in a quote stay escapes


def grade(run: Path, judges: Iterable[JudgeSpec], on_event: Callable[[Row], None], *, log: Path | None = None) -> int:
    """Let each judge answer what is missing, in a child process of its own; stop at the first exit code that is not 0.

    Gives that code, 130 after an interrupt. With no judge nothing is to be done: code verdicts are derived by `collect`.
    """
    for judge in judges:
        if code := host.run(JOB, payload(run, judge), on_event, log=log):
            return code
    return 0


def payload(run: Path, judge: JudgeSpec) -> Row:
    """What `child` needs, as plain JSON."""
    return {"run": str(run), "judge": judge.as_payload()}


def child(payload: Row, reporter: Listener) -> None:
    """The job of the child process: one judge, its folder, its lock."""
    spec = JudgeSpec(**payload["judge"])
    judge_run(RunFolder(Path(payload["run"])), find_judge(spec), reporter)


@dataclass(frozen=True, slots=True)
class Graded:
    """A run with everything that was found out about it."""

    cases: tuple[Case, ...]
    completions: Mapping[str, Completion]
    """By request name, `CODE/t1/d0`."""
    verdicts: Sequence[Verdict]
    judges: tuple[JudgeInfo, ...]
    """In the order in which they were first called."""
    judge_rows: list[Row]
    """What `judge.json` says of each."""
    notes: tuple[str, ...] = ()
    """A sentence on each sort of line that was passed over in a journal."""

    def write(self, folder: RunFolder) -> None:
        """Export `verdicts.jsonl`, one verdict a line, replaced whole."""
        with replacing(folder.root / "verdicts.jsonl") as file:
            for each in self.verdicts:
                row = {name: getattr(each, name) for name in _COLUMNS}
                file.write(_LINE.encode(row) + "\n")


def collect(folder: RunFolder) -> Graded:
    """Derive every verdict of a run from its journals; seconds for thousands of cases, and no engine.

    Raises `RunError` where there is no run or it belongs to another version, and `JudgeError` where a judge answered
    another rubric or other criteria than this helmbench has.
    """
    benchmark = default_benchmark()
    cases, completions = run_answers(folder)
    draws: int = folder.manifest()["settings"]["draws"]
    found, notes = list(by_code(cases, completions, Registry.build(benchmark.countries), draws)), list(completions.notes)
    rows = judge_rows(folder)
    for row in rows:
        answers = judge_answers(folder, row, benchmark)
        found += by_judge(row, exchanges(cases, completions, draws), answers.everything(), benchmark)
        notes += [str(answers.passed)] if answers.passed.counts else []
    return Graded(cases, completions, found, tuple(map(judge_info, rows)), rows, tuple(notes))


def judge_info(row: Mapping[str, Any]) -> JudgeInfo:
    """What scoring needs of a row of `judge.json`."""
    return JudgeInfo(row["id"], row["family"], mode=row["mode"], model_sha256=digest(row["key"]["model"]))


def verdicts(folder: RunFolder) -> list[Verdict]:
    """Every verdict of a run: what `collect` finds, without the rest."""
    return list(collect(folder).verdicts)


def by_code(
    cases: Sequence[Case], completions: Mapping[str, Completion], registry: Registry, draws: int = 1
) -> Iterator[Verdict]:
    """The verdicts of code on every planned reply; `completions` by request name, whoever wrote them."""
    for case, turn, draw in places(cases, draws):
        yield from code_verdicts(case, turn, draw, completion_at(completions, case, turn, draw), registry)


def by_judge(row: Row, replies: Iterable[Exchange], answers: Mapping[str, Completion], benchmark: Benchmark) -> Iterator[Verdict]:
    """One judge's verdict on every criterion of every usable reply, `judge_failure` where it has not answered."""
    for reply, code, asked in questions(row, replies, benchmark):
        yield verdict(reply, code, row["id"], asked, answers)


def questions(
    row: Mapping[str, Any], replies: Iterable[Exchange], benchmark: Benchmark
) -> Iterator[tuple[Exchange, str, list[tuple[Ask, str]]]]:
    """Each (reply, criterion) that the judge of a row of `judge.json` decides, with the calls that decide it and their keys."""
    context = key_context(row)
    for reply in replies:
        for code in criteria_of(reply.case):
            asked = asks(reply, code, benchmark, row["mode"], row["orders"])
            yield reply, code, [(ask, ask.key(context)) for ask in asked]


def judge_answers(folder: RunFolder, row: Row, benchmark: Benchmark) -> Records:
    """What a judge has answered, by key. JudgeError where the rubric is another."""
    if row["rubric"] != rubric.identity(benchmark):
        raise JudgeError(
            f"The judge {row['id']} of {folder.root} answered another judge prompt or other criteria than this helmbench has. "
            "Grade the run again: only what changed is asked again."
        )
    return Journal.read(folder.judgments / row["id"])
