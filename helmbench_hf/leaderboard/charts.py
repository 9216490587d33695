"""Two charts over many models: sensitivity against false alarms, and detection curves side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from helmbench_hf.leaderboard.data import Entry, Group
from helmbench_hf.leaderboard.query import Query
from helmbench_hf.report import contrasts, plots
from helmbench_hf.report.fmt import Figure, rate

MOST_NUMBERS = 12
"""Models whose numbers stand beside their marks."""
_SIDES = {"ne": (3.5, -2.5), "se": (3.5, 2.5), "nw": (-3.5, -2.5), "sw": (-3.5, 2.5)}
"""Middle of a number from the middle of its mark, in percent of the plot; a mark or number is about 3 of them wide."""


@dataclass(frozen=True, slots=True)
class Point:
    """One mark of the scatter, in percent from the left and from the top, with its number in the table."""

    number: int
    x: float
    y: float
    kind: str
    """`model`, `policy` or `people`."""
    label: str
    link: str
    sensitivity: Figure
    false_alarms: Figure
    chosen: bool = False
    side: str = ""
    """Where its number stands: `ne`, `se`, `nw` or `sw` of the mark; empty where it has none on the chart."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Everybody who has both rates; `off_plot`: who has not."""

    points: tuple[Point, ...]
    off_plot: tuple[str, ...]

    @property
    def people(self) -> bool:
        """Whether a group of people is among them."""
        return any(point.kind == "people" for point in self.points)


@dataclass(frozen=True, slots=True)
class Curves:
    """One run's detection curves."""

    label: str
    link: str
    chart: plots.CurveChart | None
    midpoints: tuple[str, ...]


def scatter(group: Group, query: Query) -> Scatter:
    """The hidden arm of every run, the reference policies and people, numbered in that order."""
    rows: list[tuple[str, str, str, Figure, Figure, float, float, bool]] = []
    off = []
    for entry in group.entries:
        point = next((each for each in entry.scores["operating"] if each["arm"] == "hidden"), None)
        x, y = entry.rate("hidden", "false_alarms"), entry.rate("hidden", "sensitivity")
        if point is None or x is None or y is None:
            off.append(entry.label)
            continue
        figures = rate(point["sensitivity"]), rate(point["false_alarms"])
        link = query.link(view="model", models=(entry.run,))
        rows.append(("model", entry.label, link, *figures, x, y, query.model in (entry.run, entry.manifest.model.id)))
    spots = plots.scatter((), group.policies)
    for spot in spots.spots if spots else ():
        shares = spot.x / 100, 1 - spot.y / 100
        rows.append(("policy", "; ".join(spot.names), "", Figure(spot.sensitivity), Figure(spot.alarms), *shares, False))
    off += spots.off_plot if spots else ()
    for people in group.people:
        pair = people.sensitivity, people.false_alarms
        figures = rate(pair[0].model_dump()), rate(pair[1].model_dump())
        shares = pair[1].hits / pair[1].n, pair[0].hits / pair[0].n  # across, upwards
        rows.append(("people", f"{people.name} ({people.people} people)", "", *figures, *shares, False))
    points = tuple(
        Point(number, round(100 * x, 2), round(100 - 100 * y, 2), kind, label, link, sensitivity, alarms, chosen)
        for number, (kind, label, link, sensitivity, alarms, x, y, chosen) in enumerate(rows, 1)
    )
    return Scatter(numbered(points), tuple(off))


def numbered(points: Sequence[Point]) -> tuple[Point, ...]:
    """Give numbers a side of their mark that is free, where one is; many models have none, as they would cover each other."""
    few = sum(point.kind == "model" for point in points) <= MOST_NUMBERS
    taken, found = [(point.x, point.y) for point in points], []
    for point in points:
        side = ""
        if few or point.kind != "model" or point.chosen:
            spots = {name: (point.x + x, point.y + y) for name, (x, y) in _SIDES.items()}
            inside = {name: (x, y) for name, (x, y) in spots.items() if 0 <= x <= 100}
            clear = (name for name, (x, y) in inside.items() if not any(abs(x - u) < 3 and abs(y - v) < 3 for u, v in taken))
            side = next(clear, "ne")
            taken.append(spots[side])
        found.append(replace(point, side=side))
    return tuple(found)


def curves(entries: Sequence[Entry], query: Query) -> list[Curves]:
    """One chart a run."""
    return [
        Curves(
            label=entry.label,
            link=query.link(view="model", models=(entry.run,)),
            chart=plots.curves(entry.scores["curves"]),
            midpoints=tuple(contrasts.midpoints(entry.scores["curves"])),
        )
        for entry in entries
    ]
