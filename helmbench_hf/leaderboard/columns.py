"""The board's main table: columns, cells, and the order that a reader asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from helmbench_hf.leaderboard.data import Entry, Group
from helmbench_hf.leaderboard.query import Query
from helmbench_hf.report import view
from helmbench_hf.report.fmt import DASH, Figure, figure, number, percent, rate

Value = float | str | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `value` is what the rows are ordered by; None where an order by it would pretend what no test shows."""

    name: str
    title: str
    value: Callable[[Entry], Value] | None
    high_first: bool = False
    under: str = ""
    numeric: bool = False
    """Its cells stand flush right, and so does its head."""


@dataclass(frozen=True, slots=True)
class Head:
    """A column's head: a link that sorts, and how the table stands sorted."""

    title: str
    under: str
    link: str
    sorted: str
    """`ascending`, `descending`, or empty."""
    numeric: bool


@dataclass(frozen=True, slots=True)
class Holdout:
    """A published holdout figure beside the public one."""

    score: Figure
    date: str
    sha: str
    raw: Figure
    net: Figure | None
    references: int
    sign: bool


@dataclass(frozen=True, slots=True)
class States:
    """The safety floors in one state."""

    status: str
    word: str
    titles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One run."""

    entry: Entry
    rank: str
    places: str
    printed: str
    raw: Figure
    capped: bool
    coverage: str
    pillars: tuple[Figure, ...]
    sensitivity: Figure
    false_alarms: Figure
    floors: tuple[States, ...]
    gate: view.Gate
    judges: str
    holdout: Holdout | None
    link: str


@dataclass(frozen=True, slots=True)
class Table:
    """The whole of it."""

    heads: tuple[Head, ...]
    rows: tuple[Row, ...]
    by_rank: bool
    sorted_by: str


def table(group: Group, query: Query) -> Table:
    """The rows in the order that the query asks for. Without one, or by the overall score: by rank, inside a rank by name."""
    columns = _columns(group)
    chosen = next((each for each in columns if each.name == query.sort and each.value), None)
    codes = [code for code, _ in pillars(group)]
    rows = [_row(entry, codes, query) for entry in _ordered(group.entries, chosen, query.turned)]
    return Table(
        heads=tuple(_head(each, chosen, query) for each in columns),
        rows=tuple(rows),
        by_rank=chosen is None,
        sorted_by=chosen.title if chosen else "",
    )


def pillars(group: Group) -> list[tuple[str, str]]:
    """Code and title of every pillar that some run has scored."""
    found = {each["code"]: each["title"] for entry in group.entries for each in entry.scores["pillars"]}
    return sorted(found.items())


def _columns(group: Group) -> list[Column]:
    found = [
        Column("rank", "Rank", None),
        Column("name", "Model", lambda entry: entry.label.casefold()),
        Column("overall", "Overall", None, under="capped by floors", numeric=True),
        Column("coverage", "Coverage", _coverage, high_first=True, under="of the weight; pairs", numeric=True),
        Column("floors", "Safety floors", _breached),
    ]
    for code, title in pillars(group):
        value = partial(_pillar, code=code)
        found.append(Column(code, code, value, high_first=True, under=title, numeric=True))
    return [
        *found,
        Column("sensitivity", "Sensitivity", lambda entry: entry.rate("hidden", "sensitivity"), high_first=True, numeric=True),
        Column("alarms", "False alarms", lambda entry: entry.rate("hidden", "false_alarms"), numeric=True),
        Column("judge", "Judges", lambda entry: _judges(entry).casefold()),
        Column("holdout", "Holdout", _holdout_value, high_first=True, under="by maintainers", numeric=True),
        Column("checked", "Checked", lambda entry: entry.mark.level),
    ]


def _ordered(entries: Sequence[Entry], column: Column | None, turned: bool) -> list[Entry]:
    """Entries stand by rank and name already; a stable sort keeps that among equals. What has no value stands last either way."""
    if column is None or column.value is None:
        return list(entries)
    value = column.value
    known = [entry for entry in entries if value(entry) is not None]
    rest = [entry for entry in entries if value(entry) is None]
    key: Callable[[Entry], Any] = value
    return [*sorted(known, key=key, reverse=column.high_first != turned), *rest]


def _head(column: Column, chosen: Column | None, query: Query) -> Head:
    if column.name in ("rank", "overall"):
        # both are the one order that a test stands behind
        state = "ascending" if chosen is None and column.name == "rank" else ""
        return Head(column.title, column.under, query.link(), state, column.numeric)
    mine = chosen is column
    down = column.high_first != query.turned
    return Head(
        title=column.title,
        under=column.under,
        link=query.link(sort=column.name, turned=mine and not query.turned),
        sorted=("descending" if down else "ascending") if mine else "",
        numeric=column.numeric,
    )


def _row(entry: Entry, codes: Sequence[str], query: Query) -> Row:
    scores, headline, top = entry.scores, entry.scores["headline"], view.summary(entry.scores)
    found = {each["code"]: each["score"] for each in scores["pillars"]}
    covered = headline["overall"]["coverage"]
    place = entry.place
    hidden: dict[str, Any] = next((point for point in scores["operating"] if point["arm"] == "hidden"), {})
    return Row(
        entry=entry,
        rank=DASH if place is None else str(place.rank),
        places="" if place is None or place.last <= place.rank else f"to {place.last}",
        printed=DASH if headline["printed"] is None else number(headline["printed"]),
        raw=figure(headline["overall"]["score"]),
        capped=bool(headline["breached"]),
        coverage=f"{percent(covered['share'])}, {covered['scored']:,} of {covered['planned']:,}",
        pillars=tuple(figure(found.get(code), "not scored") for code in codes),
        sensitivity=rate(hidden.get("sensitivity")),
        false_alarms=rate(hidden.get("false_alarms")),
        floors=_states(top.floors),
        gate=top.gate,
        judges=_judges(entry),
        holdout=holdout(entry),
        link=query.link(view="model", models=(entry.run,)),
    )


def holdout(entry: Entry) -> Holdout | None:
    """The holdout figure of a run in words, or nothing."""
    mark, found = entry.mark.holdout, entry.contamination
    if mark is None or found is None:
        return None
    net = None if found.net is None else figure(plain(found.net))
    score = figure(plain(mark.estimate()))
    return Holdout(score, mark.date, mark.content_sha256, figure(plain(found.raw)), net, found.references, found.sign)


def plain(estimate: Any) -> dict[str, Any]:
    """An estimate as the functions of the report take it."""
    names = ("value", "low", "high", "n_pairs", "n_meanings", "note")
    return {name: getattr(estimate, name) for name in names}


def _states(floors: Sequence[view.Floor]) -> tuple[States, ...]:
    """Breached first, then withheld, then those that nothing is known of, then cleared; a state without a floor is left out."""
    found = []
    for status in ("breached", "withheld", "not-shown", "cleared"):
        mine = [floor for floor in floors if floor.status == status]
        if mine:
            found.append(States(status, mine[0].word, tuple(floor.title for floor in mine)))
    return tuple(found)


def _coverage(entry: Entry) -> float:
    found = entry.scores["headline"]["overall"]["coverage"]
    return float(found["share"])


def _pillar(entry: Entry, code: str) -> float | None:
    return next((each["score"]["value"] for each in entry.scores["pillars"] if each["code"] == code), None)


def _breached(entry: Entry) -> float:
    """Breached and withheld floors count before floors that are not shown; fewer is better."""
    states = [floor["status"] for floor in entry.scores["floors"]]
    return float(100 * (states.count("breached") + states.count("withheld")) + states.count("not_shown"))


def _judges(entry: Entry) -> str:
    return ", ".join(judge["id"] for judge in entry.scores["provenance"]["judges"]) or "none"


def _holdout_value(entry: Entry) -> float | None:
    return entry.mark.holdout.value if entry.mark.holdout and entry.contamination else None
