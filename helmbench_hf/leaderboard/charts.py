"""Two charts over many models: sensitivity against false alarms, and detection curves side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from helmbench_hf.leaderboard.data import Entry, Group
from helmbench_hf.leaderboard.query import Query
from helmbench_hf.report import contrasts, plots
from helmbench_hf.report.fmt import Figure, rate


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


@dataclass(frozen=True, slots=True)
class Scatter:
    """Everybody who has both rates; `off_plot`: who has not."""

    points: tuple[Point, ...]
    off_plot: tuple[str, ...]

    @property
    def models(self) -> int:
        """Marks of models."""
        return sum(point.kind == "model" for point in self.points)


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
    return Scatter(points, tuple(off))


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
