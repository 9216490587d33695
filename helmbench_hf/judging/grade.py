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
from helmbench_hf.hashing import digest
from helmbench_hf.judging import rubric
from helmbench_hf.judging.judge import (
    Ask,
    Judge,
    JudgeError,
    JudgeSpec,
    Row,
    ask_judge,
    asks,
    criteria_of,
    find_judge,
    key_context,
    verdict,
)
from helmbench_hf.judging.rubric import Exchange
from helmbench_hf.models import host
from helmbench_hf.models.drive import Listener
from helmbench_hf.records import Case, Completion, JudgeInfo, Verdict
from helmbench_hf.runs.completions import acts_of, as_said, run_answers
from helmbench_hf.runs.folder import RunFolder, replacing
from helmbench_hf.runs.journal import Journal, Records
from helmbench_hf.runs.turns import turn_name
from helmbench_hf.scoring.paths import PATH
from helmbench_hf.tasks.code import GRADER, code_verdicts
from helmbench_hf.tasks.helplines import Registry
from helmbench_hf.tasks.kinds import read_answer

JOB = "helmbench_hf.judging.grade:child"
_COLUMNS = tuple(item.name for item in fields(Verdict))


def grade(run: Path, judges: Iterable[JudgeSpec], on_event: Callable[[Row], None], *, log: Path | None = None) -> int:
    """Let each judge answer what is missing, in a child process of its own; stop at the first exit code that is not 0.

    Gives that code, 130 after an interrupt. Without a judge there is nothing to do: `collect` derives the verdicts of code.
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
    judge_run(RunFolder(Path(payload["run"])), find_judge(JudgeSpec(**payload["judge"])), reporter)


def judge_run(folder: RunFolder, judge: Judge, listener: Listener) -> None:
    """Ask the judge everything about a run that has no answer yet.

    Raises `RunError` where there is no run to grade, and what `ask_judge` raises.
    """
    cases, completions = run_answers(folder)
    for note in completions.notes:
        listener.emit({"event": "note", "message": note})
    replies = exchanges(cases, completions, folder.manifest().settings.draws)
    pairs = ((reply, code) for reply in replies for code in criteria_of(reply.case, reply.turn))
    ask_judge(folder, judge, pairs, default_benchmark(), listener)


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
        """Export `verdicts.jsonl`, one verdict a line; the old file is replaced at once."""
        with replacing(folder.root / "verdicts.jsonl") as file:
            for each in self.verdicts:  # ASCII: control characters and direction marks in a quote stay escapes
                file.write(json.dumps(verdict_row(each), allow_nan=False) + "\n")


def verdict_row(verdict: Verdict) -> dict[str, Any]:
    """A verdict as a row of `verdicts.jsonl`."""
    return {name: getattr(verdict, name) for name in _COLUMNS}


def collect(folder: RunFolder) -> Graded:
    """Derive every verdict of a run from its journals; seconds for thousands of cases, and no engine.

    Raises `RunError` where there is no run or it belongs to another version, and `JudgeError` where a judge answered
    another rubric or other criteria than this helmbench has.
    """
    benchmark = default_benchmark()
    cases, completions = run_answers(folder)
    draws = folder.manifest().settings.draws
    found, notes = list(by_code(cases, completions, Registry.build(benchmark.countries), draws)), list(completions.notes)
    rows = folder.judges()
    for row in rows:
        answers = judge_answers(folder, row, benchmark)
        notes += [str(answers.passed)] if answers.passed.places else []
        said, asked = answers.everything(), questions(row, exchanges(cases, completions, draws), benchmark)
        found += [verdict(reply, code, row["id"], calls, said) for reply, code, calls in asked]
    return Graded(cases, completions, found, tuple(map(judge_info, rows)), rows, tuple(notes))


def judge_info(row: Mapping[str, Any]) -> JudgeInfo:
    """What scoring needs of a row of `judge.json`."""
    return JudgeInfo(row["id"], row["family"], mode=row["mode"], model_sha256=digest(row["key"]["model"]))


def by_code(
    cases: Sequence[Case], completions: Mapping[str, Completion], registry: Registry, draws: int = 1
) -> Iterator[Verdict]:
    """The verdicts of code on every planned reply, and the paths of conversations; `completions` by request name."""
    for case, turn, draw in _graded_turns(cases, draws):
        found = completions.get(turn_name(case.code, turn, draw))
        if found is None:  # a withheld answer ends a conversation, and is what came of every later turn
            earlier = [completions.get(turn_name(case.code, number, draw)) for number in range(1, turn)]
            found = next((each for each in earlier if each is not None and each.status == "withheld"), None)
        yield from code_verdicts(case, turn, draw, found, registry)
    for case in cases:
        for draw in range(draws if case.route.beats else 0):
            if acts := acts_of(case, completions, draw):
                yield Verdict(case.code, case.grading.turns[0], draw, PATH, GRADER, "scored", 1.0, {"acts": list(acts)})


def questions(
    row: Mapping[str, Any], replies: Iterable[Exchange], benchmark: Benchmark
) -> Iterator[tuple[Exchange, str, list[tuple[Ask, str]]]]:
    """Each (reply, criterion) that the judge of a row of `judge.json` decides, with the calls that decide it and their keys."""
    context = key_context(row)
    for reply in replies:
        for code in criteria_of(reply.case, reply.turn):
            asked = asks(reply, code, benchmark, row["mode"], row["orders"])
            yield reply, code, [(ask, ask.key(context)) for ask in asked]


def judge_answers(folder: RunFolder, row: Row, benchmark: Benchmark) -> Records:
    """What a judge has answered, by key. JudgeError where the rubric is another."""
    if row["rubric"] != rubric.identity(benchmark):
        raise JudgeError(
            f"The judge {row['id']} of {folder.root} answered a different judge prompt or different criteria from those "
            f"in this version of helmbench. Grade the run again: only what changed is asked again."
        )
    return Journal.read(folder.judgments / row["id"])


def exchanges(cases: Sequence[Case], completions: Mapping[str, Completion], draws: int) -> Iterator[Exchange]:
    """Every usable graded reply on which a judge decides something, with what the person saw before it."""
    for case, turn, draw in _graded_turns(cases, draws):
        completion = completions.get(turn_name(case.code, turn, draw))
        if completion is None or not criteria_of(case):
            continue
        answer = read_answer(case, completion)
        if answer.usable:
            before = (completions.get(turn_name(case.code, number, draw)) for number in range(1, turn))
            seen = tuple(_seen(case, each) for each in before)
            yield Exchange(as_said(case, completions, draw), turn, draw, answer, seen, completion.key)


def _graded_turns(cases: Sequence[Case], draws: int) -> Iterator[tuple[Case, int, int]]:
    """Case, turn and draw of every reply that is graded."""
    yield from ((case, turn, draw) for case in cases for draw in range(draws) for turn in case.grading.turns)


def _seen(case: Case, completion: Completion | None) -> str:
    """What the person saw of an earlier answer: its reply, or the raw text where it could not be read."""
    answer = read_answer(case, completion)
    return answer.reply if answer.usable else completion.text if completion else ""
