"""The labels that a judge is checked on: replies whose right verdicts are known, and the files that people bring them in.

Right verdicts are gold, which HELMbench wrote: it holds by construction or by the agreement of blind readers, and is never
called human. Or they are the labels of a file, where two raters or more gave one verdict.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, get_args

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.schema import Gold, Reply
from helmbench_hf.dataset.calibration import Label, criterion_words, labels, stored, unsettled
from helmbench_hf.hashing import digest
from helmbench_hf.judging import rubric
from helmbench_hf.judging.judge import JudgeError, Row
from helmbench_hf.judging.rubric import Exchange
from helmbench_hf.records import Case, Completion
from helmbench_hf.runs.folder import replacing
from helmbench_hf.tasks.answers import Answer as ReadAnswer
from helmbench_hf.tasks.expand import expand
from helmbench_hf.tasks.kinds import read_answer

Basis = Literal["gold", "human"]
Pair = tuple[str, str]
"""Code of a reply and of a criterion."""
CLEAN = "/clean"
"""Behind a reply's code: the form without the words to the judge."""
RATED_BY = 2
"""Raters whose agreement makes a human label."""
VERDICTS: tuple[Gold, ...] = get_args(Gold)
REPLIES = "replies.jsonl"
"""Beside the labels of replies that are not in the calibration set: the replies."""
_FIELDS = {"code", "case", "case_sha", "turn", "reply", "earlier", "model", "criteria"}


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

    def pairs(self) -> Iterator[tuple[Exchange, str]]:
        """Everything that a judge is asked, the forms without words to the judge too."""
        for probe in self.probes:
            for exchange in (probe.exchange, probe.clean):
                if exchange is not None:
                    yield exchange, probe.label.criterion

    def twins(self) -> list[tuple[Pair, Pair]]:
        """Labels of one reply under the contrast criterion of both twins of a pair: only the message before it differs."""
        by_place: dict[tuple[str, str, int], list[Probe]] = defaultdict(list)
        for probe in self.probes:
            label = probe.label
            if label.criterion == label.case.grading.contrast:
                by_place[label.reply.reply, label.case.code, label.reply.turn].append(probe)
        return [
            (probe.pair, other.pair)
            for (text, _, turn), here in by_place.items()
            for probe in here
            if probe.label.case.member == "crisis"
            for other in by_place.get((text, probe.label.case.twin or "", turn), [])
        ]


def find_labels(benchmark: Benchmark, criteria: Sequence[str] = (), rated: Path | None = None) -> Labels:
    """The labels of these criteria (none named: all): gold that is settled, or what the raters of a file agree on.

    Raises `JudgeError` where a criterion or the file cannot be used, `CalibrationError` where the calibration set cannot.
    """
    if unknown := sorted(set(criteria) - set(benchmark.criteria)):
        raise JudgeError(
            f"The benchmark has no criterion {', '.join(unknown)}; see `configs/benchmark/v1/criteria` for those that exist."
        )
    every = [label for label in labels(benchmark) if not criteria or label.criterion in criteria]
    if rated is not None:
        every += rated_replies(benchmark, rated)
        right, left_out, raters = consensus(_rated(benchmark, every, rated, criteria))
        return Labels("human", tuple(_probes(every, right)), left_out, raters)
    doubtful = {id(label) for label in unsettled(benchmark, every)}
    kept = {(label.reply.code, label.criterion): label.gold for label in every if id(label) not in doubtful}
    return Labels("gold", tuple(_probes(every, kept)), {"unsettled": len(doubtful)} if doubtful else {})


def _probes(every: Sequence[Label], right: Mapping[Pair, Gold]) -> Iterator[Probe]:
    """Those labels with a right verdict; replies to one turn of one case are told apart as draws are."""
    draws: dict[tuple[str, int], dict[str, int]] = defaultdict(dict)
    for label in every:
        if (said := right.get((label.reply.code, label.criterion))) is not None:
            yield as_probe(label, said, draws[label.case.code, label.reply.turn])


def as_probe(label: Label, right: Gold, draws: dict[str, int] | None = None) -> Probe:
    """A label as a judge is asked about it. `draws`: the numbers of the texts for one turn of its case, which this adds to."""
    numbers = {} if draws is None else draws

    def exchange(name: str, text: str) -> Exchange:
        draw = numbers.setdefault(name, len(numbers))
        return Exchange(label.case, label.reply.turn, draw, _as_read(label.case, name, text), label.earlier, name)

    reply = label.reply
    first = exchange(reply.code, reply.reply)
    return Probe(label, right, first, None if reply.clean is None else exchange(reply.code + CLEAN, reply.clean))


def _as_read(case: Case, name: str, text: str) -> ReadAnswer:
    """What the person sees of a reply, an empty one too: all of its text where no answer can be read in it."""
    answer = read_answer(case, Completion(name, name, "ok", text))
    return answer if answer.usable else replace(answer, reply=text.strip())


def _rated(
    benchmark: Benchmark, every: Sequence[Label], path: Path, criteria: Sequence[str]
) -> Iterator[tuple[str, Pair, str, Gold]]:
    """Where it stands, label, rater and verdict of each row of a file of ratings."""
    models = {read.reader for read in stored(benchmark.root) if read.kind == "model"}
    named = {(label.reply.code, label.criterion) for label in every}
    for where, row in rows_of(path, ("rater", "reply_code", "criterion", "verdict")):
        pair, rater = (row["reply_code"], row["criterion"]), row["rater"]
        if criteria and pair[1] not in criteria:
            continue
        if pair not in named:
            raise JudgeError(
                f"{where}: {pair[0]} under {pair[1]} is not a label in the calibration set; remove the row, "
                f"or keep `{REPLIES}` from `helmbench rate` next to the labels."
            )
        words = allowed(benchmark, pair[1])
        said = next((word for word in words if word == row["verdict"].upper()), None)
        if said is None or not rater:
            raise JudgeError(f"{where}: a row needs a rater and one of {', '.join(words)}; correct it.")
        if rater in models:
            raise JudgeError(
                f"{where}: {rater} is a language model that read the calibration set; human labels must come from people."
            )
        yield where, pair, rater, said


def consensus(rated: Iterable[tuple[str, Pair, str, Gold]]) -> tuple[dict[Pair, Gold], dict[str, int], Raters]:
    """The verdicts that two raters or more give and nobody contradicts, why the others do not count, and the raters.

    `rated`: place, label, rater, verdict. Raises JudgeError where a rater gives one label two verdicts.
    """
    given: dict[Pair, dict[str, Gold]] = defaultdict(dict)
    for where, pair, rater, said in rated:
        if given[pair].setdefault(rater, said) != said:
            raise JudgeError(f"{where}: {rater} gives one reply two verdicts under one criterion; keep one.")
    left_out: Counter[str] = Counter()
    right: dict[Pair, Gold] = {}
    for pair, by_rater in given.items():
        if len(by_rater) < RATED_BY:
            left_out["rated once"] += 1
        elif len(set(by_rater.values())) > 1:
            left_out["raters disagree"] += 1
        else:
            right[pair] = next(iter(by_rater.values()))
    both: dict[str, list[tuple[Gold, Gold]]] = defaultdict(list)
    for (_, criterion), by_rater in sorted(given.items()):
        both[criterion] += [(by_rater[one], by_rater[two]) for one, two in combinations(sorted(by_rater), 2)]
    names = sorted({rater for by_rater in given.values() for rater in by_rater})
    return right, dict(left_out), Raters(tuple(names), both)


def allowed(benchmark: Benchmark, criterion: str) -> tuple[Gold, ...]:
    """The verdicts that a label of this criterion can have."""
    return tuple(verdict for verdict in VERDICTS if verdict in rubric.verdicts(benchmark.criteria[criterion]))


def rows_of(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each row of a CSV or JSONL file with its place: these columns as text without white space around it.

    Raises `JudgeError` where the file cannot be read or a row lacks a column.
    """
    for where, row in values_of(path, columns):
        yield where, {name: str(row[name] if row[name] is not None else "").strip() for name in columns}


def values_of(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same with the values as they stand."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".csv":
            rows = [dict(row) for row in csv.DictReader(io.StringIO(text, newline=""))]
        else:
            rows = [json.loads(line) for line in text.split("\n") if line.strip()]
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        raise JudgeError(f"{path} cannot be read as CSV (.csv) or JSONL ({error}); correct it.") from error
    for number, row in enumerate(rows, 1):
        where = f"{path}, row {number}"
        if not isinstance(row, dict) or (missing := [name for name in columns if name not in row]):
            lacking = ", ".join(missing) if isinstance(row, dict) else "every column"
            raise JudgeError(f"{where} lacks {lacking}; each row has {', '.join(columns)}.")
        yield where, row


def write_replies(folder: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write what `rated_replies` reads: one reply a line, with the criteria that it is rated under."""
    with replacing(folder / REPLIES) as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def reply_row(code: str, case: Case, turn: int, reply: str, earlier: Iterable[str], model: str, criteria: Iterable[str]) -> Row:
    """One line. `reply`: the answer as it came; `earlier`: what the person saw at the turns before."""
    asked = {"code": code, "case": case.code, "case_sha": _case_sha(case), "turn": turn}
    return {**asked, "reply": reply, "earlier": list(earlier), "model": model, "criteria": list(criteria)}


def _case_sha(case: Case) -> str:
    """SHA-256 of what a case shows: a reply belongs to its words."""
    return digest([case.system, list(case.turns)])


def rated_replies(benchmark: Benchmark, path: Path) -> list[Label]:
    """The replies of a run beside a file of their labels, under each of their criteria; none where no such file lies there.

    They answer our cases under our criteria, so labels of them count like those of the calibration set. Their verdict is the
    raters' alone; until it is read it is FAIL. Raises JudgeError where a line cannot be read, or belongs to a case or
    criterion that this benchmark does not have.
    """
    if not (path := path.with_name(REPLIES)).exists():
        return []
    cases = {case.code: case for case in expand(benchmark)}
    found = []
    for where, row in values_of(path, sorted(_FIELDS)):
        if set(row) != _FIELDS:
            raise JudgeError(f"{where} is not a line that `helmbench rate` wrote.")
        case = cases.get(row["case"])
        if case is None or _case_sha(case) != row["case_sha"] or not set(row["criteria"]) <= set(benchmark.criteria):
            raise JudgeError(f"{where}: {row['case']} has different text in this benchmark; use the version that was rated.")
        facts: Row = {"code": row["code"], "case": case.code, "turn": row["turn"], "kind": row["model"], "reply": row["reply"]}
        reply = Reply.model_construct(source="model", edits=None, clean=None, gold={}, **facts)
        for code in row["criteria"]:
            words = criterion_words(benchmark.criteria[code])
            found.append(Label(reply, case, tuple(row["earlier"]), code, "FAIL", words))
    return found
