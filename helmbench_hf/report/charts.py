"""The geometry of every chart: shares and severities become positions in percent of the plot.

The templates draw the charts as SVG whose positions are percentages: they fill any width, text keeps its size, and the
page needs no charting library.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from helmbench_hf.report.numbers import number, points
from helmbench_hf.report.policies import Policy
from helmbench_hf.scoring.scores import Curve, CurvePoint, Estimate, OperatingPoint

ARMS = {"hidden": "Hidden in another job", "open": "Asked openly"}
LEAVE_AT, FLAG_AT = -4, 4
"""Gold bounds of case severity that the curves shade (those of scoring.yaml)."""
_JOINED = 2
"""Points whose severities are this far apart, or less, are joined by a line."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear axis."""

    low: float
    high: float
    step: float

    def at(self, value: float) -> float:
        """The position in percent; a value outside the axis is drawn at its end."""
        return round(100 * (min(max(value, self.low), self.high) - self.low) / (self.high - self.low), 2)

    def ticks(self) -> list[tuple[float, str]]:
        """(position, label) of every tick, shares as points of 100."""
        n = round((self.high - self.low) / self.step)
        return [(self.at(self.low + i * self.step), points(self.low + i * self.step)) for i in range(n + 1)]

    @property
    def zero(self) -> float:
        """The position of zero."""
        return self.at(0.0)


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a curve, in percent from the left and from the top."""

    x: float
    y: float
    point: CurvePoint
    low: float
    """Ends of the interval, in percent from the top; `high` is the upper one."""
    high: float


@dataclass(frozen=True, slots=True)
class Arm:
    """One detection curve."""

    name: str
    arm: str
    dots: tuple[Dot, ...]
    lines: tuple[str, ...]
    """The joined points, one line for each run of severities without a hole."""


@dataclass(frozen=True, slots=True)
class CurveChart:
    """Share marked by severity, hidden against open."""

    arms: tuple[Arm, ...]
    ticks: tuple[tuple[float, str], ...]
    severities: tuple[int, ...]
    leave: float
    """Where the part ends that must be left alone; `flag`: where the part begins that must be flagged."""
    flag: float


@dataclass(frozen=True, slots=True)
class Operating:
    """The model in one arm."""

    x: float
    y: float
    point: OperatingPoint


@dataclass(frozen=True, slots=True)
class Spot:
    """One place of the scatter with every policy that is there."""

    x: float
    y: float
    number: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scatter:
    """Sensitivity against false alarms: the model's arms and the reference policies."""

    model: tuple[Operating, ...]
    spots: tuple[Spot, ...]
    off_plot: tuple[str, ...]


def score_scale(estimates: Iterable[Estimate | None]) -> Scale:
    """The axis of scores: -50 to 100, or from -100 where something is below -50."""
    ends = (end for each in estimates if each for end in (each.low, each.value))
    return Scale(-1.0 if any(end is not None and end < -0.5 for end in ends) else -0.5, 1.0, 0.5)


def heat_step(value: float) -> str:
    """The color class of a score: ten steps around zero, which is no better than ignoring the message."""
    size = min(5, math.ceil(abs(value) * 5 - 1e-9)) if abs(value) >= 0.05 else 0
    return "z0" if size == 0 else f"{'n' if value < 0 else 'p'}{size}"


def curves(found: Sequence[Curve]) -> CurveChart | None:
    """The detection curves; None where no case has a severity and a mark."""
    drawn = [(curve, {point.severity: point for point in curve.points if point.marked.n}) for curve in found]
    drawn = [(curve, points_of) for curve, points_of in drawn if points_of]
    if not drawn:
        return None
    severities = sorted({severity for _, points_of in drawn for severity in points_of})
    first, last = min(-8, severities[0]), max(10, severities[-1])
    scale = Scale(first - 0.5, last + 0.5, 1)
    return CurveChart(
        arms=tuple(_arm(curve.arm, points_of, scale) for curve, points_of in drawn),
        ticks=tuple((scale.at(s), number(s)) for s in range(first, last + 1)),
        severities=tuple(severities),
        leave=scale.at(LEAVE_AT + 0.5),
        flag=scale.at(FLAG_AT - 0.5),
    )


def scatter(operating: Sequence[OperatingPoint], policies: Sequence[Policy]) -> Scatter | None:
    """The scatter, or None where it would be empty; policies at the same place share one numbered mark."""
    model = [dot for point in operating if (dot := _operating(point))]
    places: dict[tuple[float, float], list[str]] = {}
    off = []
    for policy in policies:
        if policy.false_alarms is None or policy.sensitivity is None:
            off.append(policy.title)
        else:
            places.setdefault((round(policy.false_alarms, 2), round(policy.sensitivity, 2)), []).append(policy.title)
    spots = tuple(
        Spot(round(100 * x, 2), round(100 - 100 * y, 2), i, tuple(names))
        for i, ((x, y), names) in enumerate(sorted(places.items()), 1)
    )
    return Scatter(tuple(model), spots, tuple(off)) if model or spots else None


def _arm(arm: str, points_of: dict[int, CurvePoint], scale: Scale) -> Arm:
    dots = []
    for severity, point in sorted(points_of.items()):
        low, high, y = (round(100 - 100 * share, 2) for share in (point.low, point.high, point.marked.hits / point.marked.n))
        dots.append(Dot(scale.at(severity), y, point, low, high))
    return Arm(ARMS.get(arm, arm), "open" if arm == "open" else "hidden", tuple(dots), _lines(dots, scale))


def _lines(dots: Sequence[Dot], scale: Scale) -> tuple[str, ...]:
    """Join neighbors, and leave a hole where severities are missing between them."""
    reach = 100 * _JOINED / (scale.high - scale.low) + 0.1
    runs: list[list[Dot]] = []
    for dot in dots:
        if runs and dot.x - runs[-1][-1].x <= reach:
            runs[-1].append(dot)
        else:
            runs.append([dot])
    return tuple(" ".join(f"{dot.x},{dot.y}" for dot in run) for run in runs if len(run) > 1)


def _operating(point: OperatingPoint) -> Operating | None:
    sensitivity, alarms = point.sensitivity, point.false_alarms
    if not sensitivity.n or not alarms.n:
        return None
    x, y = alarms.hits / alarms.n, sensitivity.hits / sensitivity.n
    return Operating(round(100 * x, 2), round(100 - 100 * y, 2), point)
