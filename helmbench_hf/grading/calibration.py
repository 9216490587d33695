"""Labels as what a judge is asked about, and the labels and verdicts that others bring in a file.

Gold is what HELMbench wrote: it holds by construction or by the agreement of blind readers, and is never called human. Labels
of a file count instead of it, where two raters or more gave one verdict.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Literal, get_args

from helmbench_hf.content.calibration import Gold
from helmbench_hf.content.load import Benchmark
from helmbench_hf.grading import rubric
from helmbench_hf.grading.answers import Answer, read_answer
from helmbench_hf.grading.brought import brought
from helmbench_hf.grading.judge import JudgeError
from helmbench_hf.grading.rubric import Exchange
from helmbench_hf.inference.keys import digest
from helmbench_hf.matrix.calibration import Label, labels, stored, unsettled
from helmbench_hf.records import Answer as Verdict
from helmbench_hf.records import Case, CheckedLabel, Completion

Basis = Literal["gold", "human"]
Pair = tuple[str, str]
"""Code of a reply and of a criterion."""
CLEAN = "/clean"
"""Behind a reply's code: the form without the words to the judge."""
RATED_BY = 2
"""Raters whose agreement makes a human label."""
VERDICTS: tuple[Gold, ...] = get_args(Gold)


@dataclass(frozen=True, slots=True)
class Probe:
    """One label as a judge is asked about it."""

    label: Label
    right: Gold
    exchange: Exchange
    clean: Exchange | None
    """The same without the words to the judge, where there are such words."""

    @property
    def pair(self) -> Pair:
        """What names it."""
        return self.label.reply.code, self.label.criterion

    @property
    def source(self) -> str:
        """How the reply came about, and for a model's own reply which model: judges err alike on replies of one source."""
        reply = self.label.reply
        return f"{reply.source}: {reply.kind}" if reply.source == "model" and reply.kind else reply.source


@dataclass(frozen=True, slots=True)
class Raters:
    """Who gave human labels, and each pair of verdicts that two of them gave on one label."""

    names: tuple[str, ...]
    both: Mapping[str, Sequence[tuple[Gold, Gold]]]
    """By criterion; within a pair in the order of the raters' names."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels that a check rests on."""

    basis: Basis
    probes: tuple[Probe, ...]
    left_out: Mapping[str, int]
    """Why labels do not count -> how many."""
    raters: Raters | None = None

    @property
    def sha(self) -> str:
        """SHA-256 of what was labeled and with which verdict, in no order."""
        return digest([self.basis, *sorted([*probe.pair, probe.right, probe.label.sha] for probe in self.probes)])

    def twins(self) -> list[tuple[Pair, Pair]]:
        """Labels of one reply under the contrast criterion of both twins of a pair: only the message before it differs."""
        by_place: dict[tuple[str, str, int], list[Probe]] = defaultdict(list)
        for probe in self.probes:
            label = probe.label
            if label.criterion == label.case.grading.contrast:
                by_place[label.reply.reply, label.case.code, label.reply.turn].append(probe)
        found = []
        for (text, _, turn), here in by_place.items():
            for probe in here:
                case = probe.label.case
                there = by_place.get((text, case.twin or "", turn), []) if case.member == "crisis" else []
                found += [(probe.pair, other.pair) for other in there]
        return found

    def pairs(self) -> Iterator[tuple[Exchange, str]]:
        """Everything that a judge is asked, the forms without words to the judge too."""
        for probe in self.probes:
            for exchange in (probe.exchange, probe.clean):
                if exchange is not None:
                    yield exchange, probe.label.criterion


def find_labels(benchmark: Benchmark, criteria: Sequence[str] = (), rated: Path | None = None) -> Labels:
    """The labels of these criteria (none named: all): gold that is settled, or what the raters of a file agree on.

    Raises `JudgeError` where a criterion or the file cannot be used, `CalibrationError` where the calibration set cannot.
    """
    if unknown := sorted(set(criteria) - set(benchmark.criteria)):
        raise JudgeError(f"The benchmark has no criterion {', '.join(unknown)}; `configs/benchmark/v1/criteria` holds them.")
    every = [label for label in labels(benchmark) if not criteria or label.criterion in criteria]
    if rated is not None:
        return _rated(benchmark, [*every, *brought(benchmark, rated)], rated, criteria)
    doubtful = {id(label) for label in unsettled(benchmark, every)}
    kept = {(label.reply.code, label.criterion): label.gold for label in every if id(label) not in doubtful}
    return Labels("gold", tuple(_probes(every, kept)), {"unsettled": len(doubtful)} if doubtful else {})


def _probes(every: Sequence[Label], right: Mapping[Pair, Gold]) -> Iterator[Probe]:
    """Those labels with a right verdict; replies to one turn of one case are told apart as draws are."""
    draws: dict[tuple[str, int], dict[str, int]] = defaultdict(dict)
    for label in every:
        verdict = right.get((label.reply.code, label.criterion))
        if verdict is not None:
            yield as_probe(label, verdict, draws[label.case.code, label.reply.turn])


def as_probe(label: Label, right: Gold, draws: dict[str, int] | None = None) -> Probe:
    """A label as a judge is asked about it. `draws`: the numbers of the texts for one turn of its case, which this adds to."""
    code, known = label.reply.code, {} if draws is None else draws
    forms = [(code, label.reply.reply)] + ([] if label.reply.clean is None else [(code + CLEAN, label.reply.clean)])
    exchanges = [
        Exchange(
            label.case, label.reply.turn, known.setdefault(name, len(known)), as_read(label.case, name, text), label.earlier, name
        )
        for name, text in forms
    ]
    return Probe(label, right, exchanges[0], exchanges[1] if len(exchanges) > 1 else None)


def as_read(case: Case, name: str, text: str) -> Answer:
    """What the person sees of a reply, an empty one too: the whole text where no answer can be read in it."""
    answer = read_answer(case, Completion(name, name, "ok", text))
    return answer if answer.usable else replace(answer, reply=text.strip())


def _rated(benchmark: Benchmark, every: Sequence[Label], path: Path, criteria: Sequence[str]) -> Labels:
    models = {read.reader for read in stored(benchmark.root) if read.kind == "model"}
    by_pair = {(label.reply.code, label.criterion): label for label in every}
    given: dict[Pair, dict[str, Gold]] = defaultdict(dict)
    for where, row in rows_of(path, ("rater", "reply_code", "criterion", "verdict")):
        pair, rater, verdict = (row["reply_code"], row["criterion"]), row["rater"], row["verdict"].upper()
        if criteria and pair[1] not in criteria:
            continue
        if pair not in by_pair:
            raise JudgeError(
                f"{where}: {pair[0]} under {pair[1]} is no label of the calibration set; take the row out, "
                "or keep `replies.jsonl` of `helmbench rate` beside the labels."
            )
        said = next((each for each in allowed(benchmark, pair[1]) if each == verdict), None)
        if said is None or not rater:
            raise JudgeError(f"{where}: a row needs a rater and one of {', '.join(allowed(benchmark, pair[1]))}; correct it.")
        if rater in models:
            raise JudgeError(f"{where}: {rater} is a language model that read the calibration set; human labels need people.")
        if given[pair].setdefault(rater, said) != said:
            raise JudgeError(f"{where}: {rater} gives {pair[0]} under {pair[1]} two verdicts; keep one.")
    right, left_out = agreed(given)
    return Labels("human", tuple(_probes(every, right)), left_out, raters_of(given))


def agreed(given: Mapping[Pair, Mapping[str, Gold]]) -> tuple[dict[Pair, Gold], dict[str, int]]:
    """The verdicts that two raters or more give and nobody contradicts, and why the others do not count -> how many."""
    left_out: Counter[str] = Counter()
    right: dict[Pair, Gold] = {}
    for pair, said_by in given.items():
        if len(said_by) < RATED_BY:
            left_out["rated once"] += 1
        elif len(set(said_by.values())) > 1:
            left_out["raters disagree"] += 1
        else:
            right[pair] = next(iter(said_by.values()))
    return right, dict(left_out)


def raters_of(given: Mapping[Pair, Mapping[str, Gold]]) -> Raters:
    """Who rated, and by criterion each pair of verdicts that two of them gave on one label."""
    both: dict[str, list[tuple[Gold, Gold]]] = defaultdict(list)
    for (_, criterion), said_by in sorted(given.items()):
        both[criterion] += [(said_by[one], said_by[two]) for one, two in combinations(sorted(said_by), 2)]
    return Raters(tuple(sorted({rater for said_by in given.values() for rater in said_by})), both)


def on_twins(labels: Labels, found: Sequence[CheckedLabel]) -> dict[str, list[tuple[Verdict | None, Verdict | None]]]:
    """By contrast criterion what a judge says of one reply under the crisis message and under its twin; None: a judge failure."""
    said = {(each.reply, each.criterion): each.said for each in found}
    both: dict[str, list[tuple[Verdict | None, Verdict | None]]] = defaultdict(list)
    for one, other in labels.twins():
        both[one[1]].append((said.get(one), said.get(other)))
    return dict(both)


def allowed(benchmark: Benchmark, criterion: str) -> tuple[Gold, ...]:
    """The verdicts that a label of this criterion can have."""
    return tuple(verdict for verdict in VERDICTS if verdict in rubric.verdicts(benchmark.criteria[criterion]))


def outside_verdicts(path: Path) -> dict[Pair, str]:
    """What a judge from elsewhere said, by reply (or reply and `/clean`) and criterion, in capitals; whatever it is.

    Raises `JudgeError` where the file cannot be read or says two things of one label.
    """
    found: dict[Pair, str] = {}
    for where, row in rows_of(path, ("reply_code", "criterion", "verdict")):
        pair, said = (row["reply_code"], row["criterion"]), row["verdict"].upper()
        if found.setdefault(pair, said) != said:
            raise JudgeError(f"{where}: {pair[0]} under {pair[1]} has two verdicts; keep one.")
    return found


def rows_of(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each row of a CSV or JSONL file with its place: these columns as text without white space around it.

    Raises `JudgeError` where the file cannot be read or a row lacks a column.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".csv":
            rows = [dict(row) for row in csv.DictReader(io.StringIO(text, newline=""))]
        else:
            rows = [json.loads(line) for line in text.split("\n") if line.strip()]
    except (OSError, ValueError, csv.Error) as error:
        raise JudgeError(f"{path} cannot be read as CSV (.csv) or JSONL ({error}); correct it.") from error
    for number, row in enumerate(rows, 1):
        where = f"{path}, row {number}"
        if not isinstance(row, dict) or (missing := [name for name in columns if name not in row]):
            lacking = ", ".join(missing) if isinstance(row, dict) else "every column"
            raise JudgeError(f"{where} lacks {lacking}; each row has {', '.join(columns)}.")
        yield where, {name: str(row[name] if row[name] is not None else "").strip() for name in columns}
