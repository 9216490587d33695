"""Replies of a run that people rated: what lies beside their labels, so that a judge can be asked about the same replies.

They are answers to our own cases under our own criteria, so labels of them count like those of the calibration set.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from helmbench_hf.content.calibration import Reply
from helmbench_hf.content.load import Benchmark
from helmbench_hf.grading.judge import JudgeError
from helmbench_hf.inference.keys import digest
from helmbench_hf.matrix.calibration import Label
from helmbench_hf.matrix.expand import expand
from helmbench_hf.records import Case
from helmbench_hf.run_folder import replacing

FILE = "replies.jsonl"
"""Beside the labels; read wherever it lies there."""
_FIELDS = {"code", "case", "case_sha", "turn", "reply", "earlier", "model", "criteria"}


def write_replies(folder: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write what `brought` reads: one reply a line, with the criteria that it is rated under."""
    with replacing(folder / FILE) as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def reply_row(code: str, case: Case, turn: int, reply: str, earlier: Iterable[str], model: str, criteria: Iterable[str]) -> Any:
    """One line. `reply`: the whole answer as it came; `earlier`: what the person saw at the turns before."""
    return {
        "code": code,
        "case": case.code,
        "case_sha": case_sha(case),
        "turn": turn,
        "reply": reply,
        "earlier": list(earlier),
        "model": model,
        "criteria": list(criteria),
    }


def case_sha(case: Case) -> str:
    """SHA-256 of what a case shows: a reply belongs to its words."""
    return digest([case.system, list(case.turns)])


def brought(benchmark: Benchmark, labels: Path) -> list[Label]:
    """The replies beside a file of labels under each of their criteria; none where no such file lies there.

    The verdict of such a label is the raters' alone; until they are read it is FAIL. Raises JudgeError where a line cannot
    be read, or belongs to a case or criterion that this benchmark has not.
    """
    path = labels.with_name(FILE)
    if not path.exists():
        return []
    cases = {case.code: case for case in expand(benchmark)}
    found = []
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines, 1):
            if line.strip():
                found += list(_labels(json.loads(line), cases, benchmark, f"{path}, line {number}"))
    except (OSError, ValueError, RecursionError) as error:
        raise JudgeError(f"{path} cannot be read ({error}); take the file that `helmbench rate` wrote.") from error
    return found


def _labels(row: Any, cases: Mapping[str, Case], benchmark: Benchmark, where: str) -> Iterator[Label]:
    if not isinstance(row, dict) or set(row) != _FIELDS:
        raise JudgeError(f"{where} is no line that `helmbench rate` wrote.")
    case = cases.get(row["case"])
    if case is None or case_sha(case) != row["case_sha"] or not set(row["criteria"]) <= set(benchmark.criteria):
        raise JudgeError(f"{where}: {row['case']} reads otherwise in this benchmark; use the version that was rated.")
    reply = Reply.model_construct(
        code=row["code"],
        case=case.code,
        turn=row["turn"],
        source="model",
        kind=row["model"],
        edits=None,
        reply=row["reply"],
        clean=None,
        gold={},
    )
    for code in row["criteria"]:
        criterion = benchmark.criteria[code]
        words = json.dumps([criterion.question, criterion.passes, criterion.partial, criterion.fails, criterion.notes])
        yield Label(reply, case, tuple(row["earlier"]), code, "FAIL", words)
