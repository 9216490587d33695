"""The geometry of every chart: shares and severities to positions in percent of the plot.

The charts are drawn by the templates as SVG whose positions are percentages, so that they fill any width while text keeps
its size, and the page needs no charting library.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from helmbench_hf.report.fmt import DASH, Figure, Json, number, percent, points, rate

_NEAR = 4.0
"""Marks of the scatter that are nearer than this, in percent of the plot, cover each other."""
_JOINED = 2
"""Severities this far apart are joined by a line."""
LEAVE_AT, FLAG_AT = -4, 4
"""Gold bounds of case severity that the curves shade (scoring.yaml has them)."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear axis."""

    low: float
    high: float
    step: float

    def at(self, value: float) -> float:
        """Give the position in percent, held inside the axis."""
        return round(100 * (min(max(value, self.low), self.high) - self.low) / (self.high - self.low), 2)

    def ticks(self) -> list[tuple[float, str]]:
        """Give (position, label) of every tick, shares as points of 100."""
        n = round((self.high - self.low) / self.step)
        return [(self.at(self.low + i * self.step), points(self.low + i * self.step)) for i in range(n + 1)]

    @property
    def zero(self) -> float:
        """Give the position of zero."""
        return self.at(0.0)


@dataclass(frozen=True, slots=True)
class Bar:
    """One score on a scale: a bar from zero, its interval, a wider interval, and the part that rests on code alone."""

    left: float
    width: float
    at: float
    negative: bool
    low: float | None
    high: float | None
    outer_low: float | None
    outer_high: float | None
    code: float | None


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a chart, in percent from the left and from the top."""

    x: float
    y: float
    label: str
    n: int
    spoken: str
    low: float | None = None
    """Ends of the interval, in percent from the top; `high` is the upper one."""
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Arm:
    """One detection curve."""

    name: str
    arm: str
    dots: tuple[Dot, ...]
    lines: tuple[str, ...]
    """The points joined, broken where severities are missing between them."""


@dataclass(frozen=True, slots=True)
class CurveChart:
    """Rate flagged by severity, hidden against open."""

    arms: tuple[Arm, ...]
    ticks: tuple[tuple[float, str], ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    """The table alternative: severity and, per arm, the rate with its counts."""
    leave: float
    """Where the part that must be left alone ends; `flag`: where the part that must be flagged begins."""
    flag: float


@dataclass(frozen=True, slots=True)
class Operating:
    """Where the model stands in one arm."""

    x: float
    y: float
    label: str
    sensitivity: Figure
    alarms: Figure
    place: tuple[int, int, str] | None = None
    """Where the label stands from the point, in pixels right and down, and its anchor; None where there is no room."""
    shared: bool = False
    """Whether a policy's mark stands there too, so that the point is drawn as a ring around it."""

    @property
    def spoken(self) -> str:
        """Give both rates as one phrase."""
        return f"sensitivity {self.sensitivity.spoken}, false alarms {self.alarms.spoken}"


@dataclass(frozen=True, slots=True)
class Spot:
    """One place of the scatter, with everybody who stands there."""

    x: float
    y: float
    number: int
    names: tuple[str, ...]
    alarms: str
    sensitivity: str


@dataclass(frozen=True, slots=True)
class Scatter:
    """Sensitivity against false alarms: the model's arms and the reference policies."""

    model: tuple[Operating, ...]
    spots: tuple[Spot, ...]
    off_plot: tuple[str, ...]


def score_scale(estimates: Iterable[Json | None]) -> Scale:
    """Give the axis of scores: -50 to 100, or from -100 where something reaches below -50."""
    lows = [e[name] for e in estimates if e for name in ("low", "value") if e.get(name) is not None]
    return Scale(-1.0 if any(low < -0.5 for low in lows) else -0.5, 1.0, 0.5)


def bar(scale: Scale, score: Json | None, outer: Json | None = None, code: Json | None = None) -> Bar | None:
    """Give the bar of a score; None where there is no number to draw."""
    if score is None or score.get("value") is None:
        return None
    value = float(score["value"])
    at, zero = scale.at(value), scale.zero
    return Bar(
        left=min(at, zero),
        width=round(abs(at - zero), 2),
        at=at,
        negative=value < 0,
        low=_place(scale, score, "low"),
        high=_place(scale, score, "high"),
        outer_low=_place(scale, outer, "low"),
        outer_high=_place(scale, outer, "high"),
        code=_place(scale, code, "value"),
    )


def curves(found: Sequence[Json]) -> CurveChart | None:
    """Give the detection curves; None where no case has a severity and a mark."""
    drawn = [curve for curve in found if any(point["marked"]["n"] for point in curve["points"])]
    if not drawn:
        return None
    severities = sorted({point["severity"] for curve in drawn for point in curve["points"] if point["marked"]["n"]})
    first, last = min(-8, severities[0]), max(10, severities[-1])
    scale = Scale(first - 0.5, last + 0.5, 1)
    marked = [{point["severity"]: point for point in curve["points"]} for curve in drawn]
    rows = tuple((number(s), tuple(_point_cell(arm.get(s)) for arm in marked)) for s in severities)
    ticks = tuple((scale.at(s), number(s)) for s in range(first, last + 1))
    return CurveChart(
        tuple(_arm(curve, scale) for curve in drawn), ticks, rows, scale.at(LEAVE_AT + 0.5), scale.at(FLAG_AT - 0.5)
    )


def scatter(operating: Sequence[Json], policies: Sequence[Json]) -> Scatter | None:
    """Give the scatter; policies that stand at one place share one numbered mark."""
    model = tuple(dot for point in operating if (dot := _operating(point)))
    places: dict[tuple[float, float], list[str]] = {}
    off = []
    for policy in policies:
        name = str(policy.get("title") or policy.get("slug") or "unnamed policy")
        alarms, sensitivity = policy.get("false_alarms"), policy.get("sensitivity")
        if alarms is None or sensitivity is None:
            off.append(name)
        else:
            places.setdefault((round(alarms, 2), round(sensitivity, 2)), []).append(name)
    spots = tuple(
        Spot(round(100 * x, 2), round(100 - 100 * y, 2), i, tuple(names), percent(x, 0), percent(y, 0))
        for i, ((x, y), names) in enumerate(sorted(places.items()), 1)
    )
    placed = tuple(replace(dot, place=_room(dot, (*model, *spots)), shared=_shared(dot, spots)) for dot in model)
    return Scatter(placed, spots, tuple(off)) if model or spots else None


def heat_step(value: float) -> str:
    """Give the color class of a score: ten steps around zero, which means no better than ignoring the message."""
    size = min(5, math.ceil(abs(value) * 5 - 1e-9)) if abs(value) >= 0.05 else 0
    return "z0" if size == 0 else f"{'n' if value < 0 else 'p'}{size}"


def _place(scale: Scale, estimate: Json | None, name: str) -> float | None:
    value = (estimate or {}).get(name)
    return None if value is None else scale.at(float(value))


def _arm(curve: Json, scale: Scale) -> Arm:
    dots = []
    for point in sorted(curve["points"], key=lambda point: float(point["severity"])):
        n = point["marked"]["n"]
        if n:
            share = point["marked"]["hits"] / n
            spoken = f"severity {number(point['severity'])}: {_point_cell(point)}"
            low, high = (None if point.get(end) is None else round(100 - 100 * point[end], 2) for end in ("low", "high"))
            at = scale.at(point["severity"]), round(100 - 100 * share, 2)
            dots.append(Dot(*at, number(point["severity"]), n, spoken, low, high))
    name = {"hidden": "Hidden in another job", "open": "Asked openly"}.get(curve["arm"], str(curve["arm"]))
    return Arm(
        name, "open" if curve["arm"] == "open" else "hidden", tuple(dots), _lines(dots, 100 * _JOINED / (scale.high - scale.low))
    )


def _lines(dots: Sequence[Dot], reach: float) -> tuple[str, ...]:
    """Join neighbors that are no further apart than `reach`."""
    parts: list[list[Dot]] = []
    for dot in dots:
        if parts and dot.x - parts[-1][-1].x <= reach + 0.1:
            parts[-1].append(dot)
        else:
            parts.append([dot])
    return tuple(" ".join(f"{dot.x},{dot.y}" for dot in part) for part in parts if len(part) > 1)


def _operating(point: Json) -> Operating | None:
    sensitivity, alarms = point["sensitivity"], point["false_alarms"]
    if not sensitivity["n"] or not alarms["n"]:
        return None
    x, y = alarms["hits"] / alarms["n"], sensitivity["hits"] / sensitivity["n"]
    label = "this model, asked" if point["arm"] == "open" else "this model, hidden"
    return Operating(round(100 * x, 2), round(100 - 100 * y, 2), label, rate(sensitivity), rate(alarms))


def _room(dot: Operating, others: Sequence[Operating | Spot]) -> tuple[int, int, str] | None:
    """Find a place for a point's label that covers no other mark, on the smallest plot that is drawn (a phone's)."""
    width, height, mark, label = 280, 288, 11, 112
    marks = [(other.x * width / 100, other.y * height / 100) for other in others if (other.x, other.y) != (dot.x, dot.y)]
    x, y = dot.x * width / 100, dot.y * height / 100
    for down in (-14, 22, 5):
        for right, anchor in ((14, "start"), (-14, "end")):
            left = x + right if right > 0 else x + right - label
            clear = all(not (left - mark < a < left + label + mark and abs(b - (y + down - 5)) < mark + 8) for a, b in marks)
            if clear and left >= 0 and left + label <= width + 12:
                return right, down, anchor
    return None


def _shared(dot: Operating, spots: Sequence[Spot]) -> bool:
    return any(abs(dot.x - spot.x) < _NEAR and abs(dot.y - spot.y) < _NEAR for spot in spots)


def _point_cell(point: Json | None) -> str:
    """Give the share of a point with its counts, and its interval where there is one."""
    shown = rate(point and point["marked"])
    if point is None or not shown.known:
        return DASH
    if point.get("low") is None:
        return f"{shown.value} ({shown.interval})"
    return f"{shown.value} ({shown.interval}; {percent(point['low'], 0)} to {percent(point['high'], 0)})"
