"""The calibration set: replies to cases of the matrix whose right verdicts are known, and what blind readers said of them.

A verdict is right by construction where a reply is degenerate (empty, refusing, broken, directed at the judge). Everywhere else
three readers who did not write the reply gave the same verdict. Readings are kept in `review/calibration.jsonl` with the hash
of everything that was read. When case, reply or criterion change, they no longer count.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.schema import CalibrationFile, Criterion, Gold, Reply
from helmbench_hf.dataset.review import records, write_records
from helmbench_hf.hashing import digest
from helmbench_hf.records import Case
from helmbench_hf.tasks.expand import expand

READERS = 3
"""Readers who must all give the gold verdict before a label counts."""
Basis = Literal["constructed", "readers"]
Kind = Literal["model", "human"]
"""Of a reader."""


class CalibrationError(ValueError):
    """The calibration set or a reader's answers cannot be used; the message is a sentence."""


@dataclass(frozen=True)
class Label:
    """One reply under one criterion, with the right verdict."""

    reply: Reply
    case: Case
    earlier: tuple[str, ...]
    """What the assistant said at the turns before."""
    criterion: str
    gold: Gold
    words: str
    """The criterion's text, which is part of what was read."""

    @property
    def basis(self) -> Basis:
        """What the verdict rests on."""
        return "constructed" if self.reply.source == "degenerate" else "readers"

    @cached_property
    def sha(self) -> str:
        """SHA-256 of everything that a reader sees."""
        case = self.case
        return digest([case.system, *case.turns[: self.reply.turn], *self.earlier, self.reply.reply, self.words])


@dataclass(frozen=True, slots=True)
class Read:
    """One reader's verdict on one reply. `kind`: `model` or `human`; a model's reading is never called human."""

    reply: str
    criterion: str
    sha: str
    reader: str
    kind: Kind
    date: str
    verdict: Gold


def labels(benchmark: Benchmark) -> list[Label]:
    """Every label, in the order of the files. Raises CalibrationError where a file names what is not there."""
    cases = {case.code: case for case in expand(benchmark)} if benchmark.calibration else {}
    return [label for file in benchmark.calibration for reply in file.replies for label in _labels(benchmark, file, reply, cases)]


def _labels(benchmark: Benchmark, file: CalibrationFile, reply: Reply, cases: dict[str, Case]) -> Iterable[Label]:
    where = f"calibration/{file.scenario}.yaml, {reply.code}"
    case = cases.get(reply.case)
    if case is None or case.scenario != file.scenario or case.split != "test":
        raise CalibrationError(f"{where}: {reply.case} is not a case of {file.scenario} in the test split; name one.")
    earlier = (reply.earlier or file.earlier.get(case.perturbation, []))[: reply.turn - 1]
    if reply.turn > len(case.turns) or len(earlier) < reply.turn - 1:
        raise CalibrationError(f"{where}: turn {reply.turn} needs {reply.turn - 1} `earlier` replies from {case.perturbation}.")
    for code, gold in reply.gold.items():
        criterion = benchmark.criteria.get(code)
        if criterion is None or criterion.kind == "appraisal" or (gold == "PARTIAL" and criterion.partial is None):
            raise CalibrationError(f"{where}: {code} is not a criterion that can be {gold}; remove it.")
        yield Label(reply, case, tuple(earlier), code, gold, criterion_words(criterion))


def criterion_words(criterion: Criterion) -> str:
    """The words of a criterion that a label rests on."""
    return json.dumps([criterion.question, criterion.passes, criterion.partial, criterion.fails, criterion.notes])


def reads_of(benchmark: Benchmark, found: Sequence[Label]) -> list[list[Read]]:
    """What readers said of each label as it stands, in the same order."""
    by_label: dict[tuple[str, str, str], list[Read]] = defaultdict(list)
    for read in stored(benchmark.root):
        by_label[read.reply, read.criterion, read.sha].append(read)
    return [by_label[label.reply.code, label.criterion, label.sha] for label in found]


def unsettled(benchmark: Benchmark, found: Sequence[Label]) -> list[Label]:
    """The labels whose verdict neither construction nor the agreement of enough readers gives."""

    def settled(label: Label, reads: list[Read]) -> bool:
        return len(reads) >= READERS and all(read.verdict == label.gold for read in reads)

    read = zip(found, reads_of(benchmark, found), strict=True)
    return [label for label, reads in read if label.basis == "readers" and not settled(label, reads)]


def stored(root: Path) -> list[Read]:
    """Every reading, of any text."""
    return records(root / "review" / "calibration.jsonl", Read)


def store(root: Path, reads: Iterable[Read]) -> None:
    """Add readings; a reader's later reading of the same thing replaces the earlier one."""
    kept = {(read.reply, read.criterion, read.sha, read.reader): read for read in [*stored(root), *reads]}
    write_records(root / "review" / "calibration.jsonl", [kept[key] for key in sorted(kept)])
