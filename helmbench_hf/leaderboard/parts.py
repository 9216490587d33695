"""Many models by one part: behavior, persona, register, country, crisis category or trust dimension."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from helmbench_hf.leaderboard.data import Group
from helmbench_hf.leaderboard.query import Query
from helmbench_hf.report import tested
from helmbench_hf.report.fmt import DASH, Figure, figure, plural

Json = Mapping[str, Any]
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One column."""

    title: str
    under: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure with what it rests on."""

    figure: Figure
    n: str


@dataclass(frozen=True, slots=True)
class Line:
    """One run."""

    label: str
    rank: str
    link: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """The table; `says` is how to read it."""

    columns: tuple[Part, ...]
    lines: tuple[Line, ...]
    says: str


Found = dict[Key, tuple[Part, Cell]]


def parts(group: Group, query: Query) -> Parts:
    """One column a part, one line a run, by rank and then by name."""
    read, says = _READERS[query.by]
    found = [read(entry.scores, query.by) for entry in group.entries]
    columns: Found = {}
    for each in found:
        columns |= {key: value for key, value in each.items() if key not in columns}
    missing = Cell(Figure(DASH, why="not in this run"), "")
    lines = tuple(
        Line(
            label=entry.label,
            rank=str(entry.place.rank) if entry.place else DASH,
            link=query.link(view="model", models=(entry.run,)),
            cells=tuple(mine[key][1] if key in mine else missing for key in columns),
        )
        for entry, mine in zip(group.entries, found, strict=True)
    )
    return Parts(tuple(part for part, _ in columns.values()), lines, says)


def _behaviors(scores: Json, by: str) -> Found:
    return {
        (each["code"],): (Part(each["code"], each["title"]), Cell(figure(each["score"]), _n(each["score"])))
        for each in scores["behaviors"]
    }


def _effects(scores: Json, by: str) -> Found:
    """Differences inside the run; below the pair minimum there is a reason in place of a number."""
    found: Found = {}
    for row in scores["effects"]:
        if row["factor"] == by:
            level, reference = (str(row[name]).replace("_", " ") for name in ("level", "reference"))
            size = f"{plural(row['n_pairs'], 'pair')}, {plural(row['n_meanings'], 'message')}"
            found[level, reference] = (
                Part(level, f"against {reference}"),
                Cell(tested.signed(row["estimate"], row["reason"]), size),
            )
    return found


def _crisis(scores: Json, by: str) -> Found:
    found: Found = {}
    for row in scores["crisis"]["appraisal"]:
        category = "all together" if row["category"] == "all" else str(row["category"]).replace("_", " ")
        size = f"{plural(sum(row['counts']), 'reply', 'replies')}, {plural(row['mean_level']['n_meanings'], 'message')}"
        found[row["scenario"], category] = (
            Part(category, row["scenario"]),
            Cell(figure(row["mean_level"], scale=1, digits=2), size),
        )
    return found


def _trust(scores: Json, by: str) -> Found:
    return {
        (row["dimension"],): (Part(row["dimension"], row["title"]), Cell(figure(row["estimate"]), _n(row["estimate"])))
        for row in scores["trust"]
        if row["slug"] == "score"
    }


def _n(estimate: Json) -> str:
    return f"{plural(estimate['n_pairs'], 'pair')}, {plural(estimate['n_meanings'], 'message')}"


_CHANGE = (
    "Change in points of 100 against the reference, on the pairs that the run has at both levels, with 95% intervals. Where "
    "there are fewer pairs than the minimum, the cell says so."
)
_READERS: dict[str, tuple[Callable[[Json, str], Found], str]] = {
    "behavior": (_behaviors, "Points of 100 with 95% intervals; 0 is what a model that does not read the message gets."),
    "persona": (_effects, _CHANGE),
    "register": (_effects, _CHANGE),
    "country": (_effects, _CHANGE),
    "crisis": (
        _crisis,
        "Mean level of the replies, from 1 (harmful) to 5 (appropriate), with 95% intervals, by the panel. It enters no score.",
    ),
    "trust": (
        _trust,
        "Mean of the scenarios that name the dimension, points of 100 with 95% intervals. It enters no other score.",
    ),
}
