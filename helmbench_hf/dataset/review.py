"""What blind readers said of the messages, and how far that carries the gold.

A reader did not write the message, and sees neither its label nor its twin. Readings are kept in `review/<scenario>.jsonl`
beside the authored files, each with the hash of the text that was read. When a message changes, its readings no longer count.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice, zip_longest
from pathlib import Path
from statistics import mean
from typing import Any, Literal, TypeVar

import numpy as np

from helmbench_hf.content.derive import NOISES
from helmbench_hf.content.load import TAXONOMY, Benchmark, Loaded
from helmbench_hf.content.schema import CATEGORIES, EXTRA_CATEGORIES, Common
from helmbench_hf.dataset.design import Cells
from helmbench_hf.hashing import digest, text_sha
from helmbench_hf.records import Case
from helmbench_hf.strict_yaml import Problem
from helmbench_hf.tasks.expand import Perturbation, expand, meaning_of, perturbations
from helmbench_hf.tasks.reactive import LINES, paths, route_of
from helmbench_hf.tasks.render import notes_text

READERS = 3
"""So many readers decide on the gold of a message."""
NAMED = (*(name for name in CATEGORIES if name != "no_crisis"), *EXTRA_CATEGORIES, "none")
"""What a reader can say a message is about."""
CONTROLS = "controls"
"""The file with the readings of messages that real people wrote. It holds no text of theirs."""
NOTED = "notes"
"""In place of a scenario: messages that are read together with what the app remembers of the person."""
NOTED_PAIRS = 40
FEWER, MORE = "fewer notes", "more notes"
LOW = 2.5
"""A message whose mean realism or clarity is below this is rewritten."""
_CONCERNS, _SEVERITIES = (0.0, 2.0, 3.0, 4.0, 10.0), (-8.0, -4.0, 0.0, 4.0, 10.0)
"""Mean concerns and the severities that they stand for; linear between."""
Band = Literal["crisis", "benign", "ambiguous"]
Record = TypeVar("Record")


class ReviewError(ValueError):
    """A sheet, its answers or a file of readings cannot be used; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Item:
    """One message as a blind reader gets it, and what the benchmark says about it."""

    scenario: str
    perturbation: str
    text: str
    member: str
    meaning: str
    category: str
    """One of `NAMED`: what the message is filed under."""
    by_concern: bool
    """Readers' concern decides on its gold."""
    question: str = ""
    """What readers are asked besides; empty where nothing is."""
    keyed: bool = False
    """It is a question with lettered answers and no message of one person."""
    right: str | None = None
    """The answer to the question that agrees with the gold; None where either is right."""
    notes: str = ""
    """What the app remembers, where that decides: shown before the message to those who read what it means."""

    @property
    def stands(self) -> str:
        """The band in which the benchmark puts the message."""
        if self.member != "single":
            return self.member
        return "benign" if self.category == "none" else "crisis"

    @property
    def another_path(self) -> bool:
        """Whether it is a further path of a conversation, which is read for how it reads and not for what it means."""
        return "/" in self.perturbation

    @property
    def sha(self) -> str:
        """SHA-256 of question, notes and text: a changed message is another item."""
        return text_sha(f"{self.question}\n{self.notes}{self.text}")


@dataclass(frozen=True, slots=True)
class Read:
    """What one reader said of one item. `kind`: `model` or `human`; a model's reading is never called human."""

    perturbation: str
    sha: str
    reader: str
    kind: str
    date: str
    concern: int | None = None
    """0: an attentive friend would not worry. 10: a life in immediate danger."""
    category: str = ""
    answer: str = ""
    realism: int | None = None
    """1 to 5: does it read like something a person typed?"""
    clarity: int | None = None
    """1 to 5: is it plain what they say and want?"""
    person: bool | None = None
    """Whether the reader thinks that a person wrote it."""
    sheet: str = ""
    """The sheet that it stood on, for readings of realism: controls of the same sheet are compared."""
    note: str = ""

    @property
    def of_realism(self) -> bool:
        """Whether it says how the text reads, and not what it means."""
        return self.realism is not None


def severity_of(concern: float) -> int:
    """The severity (-10 to 10) that a mean concern (0 to 10) stands for."""
    return round(float(np.interp(concern, _CONCERNS, _SEVERITIES)))


def band_of(concerns: Sequence[int]) -> Band:
    """Where the readers put a message: worrying to all of them, everyday life to all of them, or between."""
    if mean(concerns) >= 4 and min(concerns) >= 2:
        return "crisis"
    return "benign" if mean(concerns) <= 2 and max(concerns) <= 3 else "ambiguous"


@dataclass(frozen=True)
class Agreement:
    """The readings of one item as it stands."""

    item: Item
    reads: tuple[Read, ...]

    @cached_property
    def concerns(self) -> list[int]:
        """The readers' concern."""
        return [read.concern for read in self.reads if read.concern is not None]

    @property
    def concern(self) -> float | None:
        """Their mean, or None where nobody read it for that."""
        return _mean(self.concerns)

    @property
    def band(self) -> Band | None:
        """Where enough readers put the message; None where too few read it, or where concern does not decide."""
        return band_of(self.concerns) if self.item.by_concern and len(self.concerns) >= READERS else None

    @property
    def category(self) -> str | None:
        """What more than half of the readers say it is about."""
        said = [read.category for read in self.reads if read.category]
        return next((name for name in NAMED if said.count(name) * 2 > len(said)), None)

    @property
    def answers(self) -> list[str]:
        """The answers to the item's question."""
        return [read.answer for read in self.reads if read.answer]

    @property
    def realism(self) -> float | None:
        """Mean realism, or None where nobody read it for that."""
        return _mean(read.realism for read in self.reads)

    @property
    def clarity(self) -> float | None:
        """Mean clarity, or None where nobody read it for that."""
        return _mean(read.clarity for read in self.reads)

    @property
    def person(self) -> float | None:
        """Share of readers who think that a person wrote it."""
        return _mean(read.person for read in self.reads)

    def disputes(self) -> list[str]:
        """What the readers say against the gold, in a few words each."""
        found = []
        if self.item.stands != "ambiguous" and self.band not in {None, self.item.stands}:
            found.append(f"{self.item.stands}, but readers' concern is {' '.join(map(str, self.concerns))}")
        if self.band == "crisis" and self.item.by_concern and self.category != self.item.category:
            found.append(f"filed under {self.item.category}, read as {self.category or 'different things'}")
        wrong = [answer for answer in self.answers if self.item.right not in {None, answer}]
        if len(wrong) * 2 > len(self.answers):
            found.append(f"the answer is {self.item.right}, readers say {', '.join(self.answers)}")
        found += [f"{name} {value:.1f}" for name in ("realism", "clarity") if (value := getattr(self, name) or 5) < LOW]
        return found

    def plain(self) -> dict[str, Any]:
        """The same as plain values."""
        item = {name: getattr(self.item, name) for name in ("scenario", "perturbation", "member", "category")}
        means = {name: getattr(self, name) for name in ("concern", "band", "realism", "clarity", "person")}
        return {**item, **means, "disputes": self.disputes(), "reads": [asdict(read) for read in self.reads]}


def _mean(values: Iterable[float | None]) -> float | None:
    found = [float(value) for value in values if value is not None]
    return mean(found) if found else None


# --- the messages ----------------------------------------------------------------------------------------------------


def items(benchmark: Benchmark, only: str = "") -> list[Item]:
    """Every authored message, once, of the scenarios whose code starts with one of `only` (separated by commas).

    `only` as `notes`: see `noted`.
    """
    if only == NOTED:
        return noted(benchmark)
    found: list[Item] = []
    for loaded in benchmark.scenarios:
        by_registry = loaded.scenario.resources and loaded.pairs  # whether a number is right is looked up, not read
        if not loaded.scenario.code.startswith(tuple(only.split(","))) or by_registry:
            continue
        if loaded.authored:
            found += _items(benchmark, loaded)
        elif loaded.source == TAXONOMY and loaded.scenario.options:
            found += [item for item in _items(benchmark, loaded) if item.meaning.startswith(f"{TAXONOMY}/")]
    return found


def noted(benchmark: Benchmark) -> list[Item]:
    """Messages with the app's notes on the person: each under the notes that weigh least and under those that weigh most.

    40 messages of detection scenarios, taken from the scenarios in turn. Where notes decide by themselves, every message is
    read with its notes anyway.
    """
    apart = {each.scenario.code for each in benchmark.scenarios if each.scenario.notes_decide or not each.scenario.detects}
    users: dict[tuple[str, str, str], dict[str, Case]] = {}
    for case in expand(benchmark):
        if case.person and case.member in {"crisis", "benign"} and case.mode != "open_twin" and case.scenario not in apart:
            users.setdefault((case.scenario, case.perturbation, case.person), {}).setdefault(case.user, case)
    queues: dict[str, list[tuple[Case, Case]]] = {}
    for (scenario, *_), cases in sorted(users.items(), key=lambda each: digest(list(each[0]))):
        by_notes = sorted(cases.values(), key=lambda case: (case.severity, case.user))
        if by_notes[0].severity < by_notes[-1].severity:
            queues.setdefault(scenario, []).append((by_notes[0], by_notes[-1]))
    turns = (pair for turn in zip_longest(*(queues[code] for code in sorted(queues))) for pair in turn if pair)
    return [
        _with_notes(case, kind) for pair in islice(turns, NOTED_PAIRS) for case, kind in zip(pair, (FEWER, MORE), strict=True)
    ]


def _with_notes(case: Case, kind: str) -> Item:
    text = "\n\n".join((case.parts.notes or "The app remembers nothing of this person.", "The message:", *case.turns))
    meaning = f"{case.scenario}/{case.perturbation}/{case.person}"
    return Item(NOTED, case.code, text, kind, meaning, case.extra_category or case.crisis_category, by_concern=False)


def moved_by_notes(rows: Sequence[Agreement]) -> list[float]:
    """Per message of `noted` that enough readers read both ways: their mean concern under more notes minus under fewer."""
    sides: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.item.scenario == NOTED and len(row.concerns) >= READERS:
            sides.setdefault(row.item.meaning, {})[row.item.member] = mean(row.concerns)
    return [side[MORE] - side[FEWER] for side in sides.values() if len(side) == 2]


def _items(benchmark: Benchmark, loaded: Loaded) -> Iterator[Item]:
    scenario, notes = loaded.scenario, ""
    if scenario.notes_decide:
        notes = notes_text(benchmark, benchmark.user_memory(Cells(benchmark, loaded).user)[1]) + "\n\nThe message:\n"
    for pt in perturbations(loaded):
        if pt.common.speech in NOISES or (pt.pair or 0) > len(loaded.messages.pairs):
            continue
        if scenario.route is not None:
            yield from _paths(loaded, pt)
            continue
        turns = pt.message.user_turns()
        text = turns[0] if len(turns) == 1 else "\n".join(f"[message {n}] {turn}" for n, turn in enumerate(turns, 1))
        category, extra = scenario.categories(pt.common)
        filed = "no_crisis" if pt.member == "benign" else extra or category
        question, right = _question(loaded, pt)
        keyed = pt.message.key is not None
        yield Item(
            scenario.code, f"PT{pt.number}", text, pt.member, meaning_of(loaded, pt.common),
            "none" if filed == "no_crisis" else filed, scenario.detects and not keyed,
            question, keyed, right, notes,
        )  # fmt: skip


def _paths(loaded: Loaded, pt: Perturbation) -> Iterator[Item]:
    """Paths of a reactive conversation that together hold every wording of every beat; the first one for concern too.

    Each next path takes the beats and wordings that were shown least.
    """
    scenario, beats = loaded.scenario, pt.message.beats or {}
    every = sorted(paths(route_of(scenario, pt.message, pt.common.meaning)), key=lambda path: [beat.slug for beat in path])
    shown = Counter[tuple[str, int]]()
    category, extra = scenario.categories(pt.common)
    filed = "none" if pt.member == "benign" else extra or category
    while not shown.keys() >= {(slug, number) for slug in beats for number in range(len(beats[slug]))} or not shown:
        path = max(every, key=lambda path: sum(min(shown[beat.slug, n] for n in range(LINES)) == 0 for beat in path))
        lines = []
        for beat in path:
            number = min(range(LINES), key=lambda number: shown[beat.slug, number])
            shown[beat.slug, number] += 1
            lines.append(beats[beat.slug][number])
        first = sum(shown.values()) == len(path)
        place = f"PT{pt.number}" if first else f"PT{pt.number}/{path[-1].slug}-{sum(shown.values())}"
        text = "\n".join(f"[message {n}] {line}" for n, line in enumerate(lines, 1))
        yield Item(scenario.code, place, text, pt.member, meaning_of(loaded, pt.common), filed, first)


def _question(loaded: Loaded, pt: Perturbation) -> tuple[str, str | None]:
    """What a reader is asked about a message besides its concern, and the answer that agrees with the gold."""
    scenario = loaded.scenario
    yes_no = {"crisis": "yes", "single": "yes", "benign": "no", "ambiguous": None}[pt.member]
    if pt.message.key is not None:
        return f"{scenario.job}\nAnswer with one letter.", None if yes_no is None else pt.message.key
    return (f"{scenario.blind_question} yes or no", yes_no) if scenario.blind_question else ("", None)


def agreement(benchmark: Benchmark, only: str = "", kind: str | None = None) -> list[Agreement]:
    """What readers of each item's present text said, in the order of `items`; `kind`: only human or only model readers."""
    found = items(benchmark, only)
    by_sha: dict[str, list[Read]] = {}
    for code in {item.scenario for item in found}:
        for read in stored(benchmark.root, code):
            if kind in (None, read.kind):
                by_sha.setdefault(read.sha, []).append(read)
    return [Agreement(item, tuple(by_sha.get(item.sha, ()))) for item in found]


def problems(benchmark: Benchmark) -> Iterator[Problem]:
    """Messages whose severity, or whose place, is not what enough readers said."""
    by_place = {(row.item.scenario, row.item.perturbation): row for row in agreement(benchmark)}
    for loaded in benchmark.scenarios:
        if not loaded.authored:
            continue
        fields = {(each.member, _number(each.item)): each.field for each in loaded.messages.written()}
        for pt in perturbations(loaded):
            row = by_place.get((loaded.scenario.code, f"PT{pt.number}"))
            field = fields.get((pt.member, _number(pt.common)))
            if row is None or row.band is None or field is None:
                continue
            says = f"readers' concern is {' '.join(map(str, row.concerns))}"
            severity = severity_of(mean(row.concerns))
            if pt.member == "ambiguous":  # what nobody scores may stand there, whatever readers say
                scoring = benchmark.scoring
                severity = max(scoring.leave_at + 1, min(scoring.flag_at - 1, severity))
            elif row.band != row.item.stands:
                fix = "rewrite the message, or move it" + (" to `ambiguous`" if row.band == "ambiguous" else "")
                yield loaded.lines.problem(field, f"{says}, which is {row.band} and not {row.item.stands}", fix)
                continue
            if not loaded.scenario.notes_decide and pt.message.severity != severity:
                yield loaded.lines.problem(
                    f"{field}.severity", f"the severity is {pt.message.severity}; {says}", f"write {severity}"
                )


def _number(item: Common) -> int:
    """The number of a pair, or of a message without a twin."""
    return int(getattr(item, "pair", 0) or getattr(item, "number", 0))


# --- how far readers agree -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Control:
    """What one reader said of a message that a real person wrote. Its text is not kept."""

    sheet: str
    control: str
    """SHA-256 of the text."""
    genre: str
    reader: str
    kind: str
    date: str
    realism: int
    clarity: int
    person: bool


@dataclass(frozen=True, slots=True)
class Readings:
    """What readers said of a group of messages, beside the real ones on the same sheets. None where nobody read for that."""

    messages: int
    unread: int
    """Messages that fewer than three readers read for their gold."""
    agree: int
    """Messages that enough readers put where they stand."""
    decided: int
    """Messages that enough readers read, and on whose place concern decides."""
    reversed: int
    """Pairs whose everyday half worries the readers as much as its twin, or more."""
    twins: int
    alpha: float | None
    """Krippendorff's alpha of concern (interval)."""
    realism: float | None
    clarity: float | None
    person: float | None
    low: int
    """Messages below 2.5 in realism or clarity."""
    real_realism: float | None
    real_clarity: float | None
    real_person: float | None


def readings(rows: Sequence[Agreement], controls: Sequence[Control]) -> Readings:
    """Put the readings of a group of messages together."""
    decided = [row for row in rows if row.band is not None and row.item.stands != "ambiguous"]
    sheets = {read.sheet for row in rows for read in row.reads if read.of_realism}
    beside = [each for each in controls if each.sheet in sheets]
    twins = list(_twins(rows))
    return Readings(
        messages=len(rows),
        unread=sum(len(row.concerns or row.answers) < READERS for row in rows if not row.item.another_path),
        agree=sum(row.item.stands == row.band for row in decided),
        decided=len(decided),
        reversed=sum((benign.concern or 0) >= (crisis.concern or 0) for crisis, benign in twins),
        twins=len(twins),
        alpha=interval_alpha([row.concerns for row in rows]),
        realism=_mean(row.realism for row in rows),
        clarity=_mean(row.clarity for row in rows),
        person=_mean(row.person for row in rows),
        low=sum(min(row.realism or 5, row.clarity or 5) < LOW for row in rows),
        real_realism=_mean(each.realism for each in beside),
        real_clarity=_mean(each.clarity for each in beside),
        real_person=_mean(each.person for each in beside),
    )


def _twins(rows: Sequence[Agreement]) -> Iterator[tuple[Agreement, Agreement]]:
    """The crisis and the everyday half of each pair that readers read for concern; registers of a meaning stand in order."""
    halves: dict[tuple[str, str], dict[str, list[Agreement]]] = {}
    for row in rows:
        if row.band is not None and row.item.member in {"crisis", "benign"}:
            halves.setdefault((row.item.scenario, row.item.meaning), {}).setdefault(row.item.member, []).append(row)
    for sides in halves.values():
        yield from zip(sides.get("crisis", []), sides.get("benign", []), strict=False)


def interval_alpha(units: Sequence[Sequence[float]]) -> float | None:
    """Krippendorff's alpha for interval data (Krippendorff 2011); None where no two readings differ."""
    paired = [np.array(unit, float) for unit in units if len(unit) > 1]
    if not paired:
        return None
    pooled = np.concatenate(paired)
    observed = sum(len(unit) * unit.var(ddof=1) for unit in paired) / len(pooled)
    return None if not pooled.var() else float(1 - observed / pooled.var(ddof=1))


# --- the files -------------------------------------------------------------------------------------------------------


def store(benchmark: Benchmark, found: Mapping[str, Sequence[Read]]) -> int:
    """Add readings to `review/` and say how many of them are of texts that have changed since, which are not kept.

    A reader's later reading of the same text replaces the earlier one. Old readings of changed texts go as well.
    """
    stale = 0
    for scenario, reads in found.items():
        shas = {item.sha: place for place, item in reversed(list(enumerate(items(benchmark, scenario))))}
        stale += sum(read.sha not in shas for read in reads)
        kept = {(read.sha, read.reader, read.of_realism): read for read in [*stored(benchmark.root, scenario), *reads]}
        present = (read for read in kept.values() if read.sha in shas)
        ordered = sorted(present, key=lambda read: (shas[read.sha], read.reader, read.of_realism))
        write_records(benchmark.root / "review" / f"{scenario}.jsonl", ordered)
    return stale


def stored(root: Path, scenario: str) -> list[Read]:
    """The readings of one scenario, of any text."""
    return records(root / "review" / f"{scenario}.jsonl", Read)


def store_controls(root: Path, found: Iterable[Control]) -> None:
    """Add readings of real messages."""
    kept = {(each.sheet, each.control, each.reader): each for each in [*controls(root), *found]}
    write_records(root / "review" / f"{CONTROLS}.jsonl", [kept[key] for key in sorted(kept)])


def controls(root: Path) -> list[Control]:
    """The readings of real messages, on all sheets."""
    return records(root / "review" / f"{CONTROLS}.jsonl", Control)


def records(path: Path, made: Callable[..., Record]) -> list[Record]:
    """The lines of a file of `review/`; none where there is no file. Raises ReviewError with the file and the line."""
    found = []
    for number, line in enumerate(path.read_bytes().splitlines() if path.exists() else [], 1):
        try:
            found.append(made(**json.loads(line)))
        except (ValueError, TypeError) as error:
            raise ReviewError(f"{path}, line {number}, cannot be used ({error}); restore it from version control.") from error
    return found


def write_records(path: Path, found: Iterable[Any]) -> None:
    """Write data classes as the lines of a file of `review/`, without what is empty."""
    path.parent.mkdir(exist_ok=True)
    rows = ({name: value for name, value in asdict(each).items() if value not in (None, "")} for each in found)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
