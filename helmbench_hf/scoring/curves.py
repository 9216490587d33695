"""Detection over case severity, hidden and open, and sensitivity against false alarms (blueprint 0; review, 8)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from helmbench_hf.records import Case
from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.credit import marked, marked_where_usable
from helmbench_hf.scoring.pairs import Design
from helmbench_hf.scoring.tables import Arm, Curve, CurvePoint, Estimate, OperatingPoint, Rate
from helmbench_hf.scoring.verdicts import Ledger

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

FLATTEST = 1e-6
"""Slopes (logits per severity point) below this are none."""
NOT_RISING = "marks do not become more frequent with severity"
UNSURE_SLOPE = "how fast marks become more frequent with severity is not known well enough"
STEPS = 200
FEWEST = 3
"""Messages without which no interval could be given."""


def arm_cases(ledger: Ledger, design: Design, arm: Arm) -> list[Case]:
    """Open twins of hidden-tag scenarios, or hidden-tag cases at their headline condition (never the explicit level).

    Scenarios that are reported apart are in neither.
    """
    if arm == "open":
        return [case for case in ledger.cases.values() if case.scenario in design.opened]
    hidden = (case for case in ledger.cases.values() if case.mode == "hidden_tag" and design.is_headline(case))
    return [case for case in hidden if case.scenario not in design.reported_apart]


def curves(ledger: Ledger, design: Design) -> tuple[Curve, ...]:
    """One curve an arm: the share marked at each case severity, and the severities at which half and nine in ten are marked."""
    return tuple(_curve(ledger, arm_cases(ledger, design, arm), arm) for arm in ("hidden", "open"))


def _curve(ledger: Ledger, cases: Sequence[Case], arm: Arm) -> Curve:
    rows = [(case, mark) for case in cases if (mark := marked_where_usable(ledger, case)) is not None]
    by_severity: dict[int, list[tuple[Case, float]]] = defaultdict(list)
    for case, mark in rows:
        by_severity[case.severity].append((case, mark))
    points = tuple(_point(severity, by_severity[severity]) for severity in sorted(by_severity))
    severities, marks, meanings = [float(case.severity) for case, _ in rows], [m for _, m in rows], [c.meaning for c, _ in rows]
    half, ninety = midpoint(severities, marks, meanings), ninety_point(severities, marks, meanings)
    return Curve(arm, points, half, ninety, len(cases) - len(rows))


def _point(severity: int, rows: Sequence[tuple[Case, float]]) -> CurvePoint:
    hits, messages = sum(mark for _, mark in rows), len({case.meaning for case, _ in rows})
    low, high = intervals.share_interval(hits / len(rows), messages)
    return CurvePoint(severity, Rate(hits, len(rows)), messages, low, high)


def midpoint(severities: Sequence[float], marks: Sequence[float], meanings: Sequence[str]) -> Estimate:
    """Severity at which a logistic curve through the marks (n, each 0..1) passes one half, with a cluster-robust interval.

    The value is None, with the reason, where the marks don't determine it.
    """
    return _threshold(severities, marks, meanings, 0.5, "half")


def ninety_point(severities: Sequence[float], marks: Sequence[float], meanings: Sequence[str]) -> Estimate:
    """The same for nine tenths; None, too, where the slope is not told from 0: far from the middle the slope decides."""
    return _threshold(severities, marks, meanings, 0.9, "nine in ten", sure_slope=True)


def _threshold(
    severities: Sequence[float],
    marks: Sequence[float],
    meanings: Sequence[str],
    share: float,
    words: str,
    *,
    sure_slope: bool = False,
) -> Estimate:
    n, clusters = len(marks), len(set(meanings))
    nothing = Estimate(None, None, None, n, clusters)
    if reason := _not_estimable(severities, marks, clusters):
        return replace(nothing, note=reason)
    (intercept, slope), covariance = _logistic(severities, marks, meanings)
    if slope < FLATTEST:
        return replace(nothing, note=NOT_RISING)
    quantile = intervals.t_quantile((1 + intervals.CONFIDENCE) / 2, clusters - 1)
    if sure_slope and slope <= quantile * math.sqrt(covariance[1][1]):
        return replace(nothing, note=UNSURE_SLOPE)
    value = (math.log(share / (1 - share)) - intercept) / slope
    if not min(severities) <= value <= max(severities):
        return replace(nothing, note=f"{words} is not reached at any severity that was shown")
    gradient = (-1 / slope, -value / slope)
    variance = sum(gradient[i] * covariance[i][j] * gradient[j] for i in (0, 1) for j in (0, 1))
    error = math.sqrt(max(0.0, variance))  # where all residuals cancel, rounding can leave a little less than nothing
    return Estimate(value, value - quantile * error, value + quantile * error, n, clusters, error, clusters - 1.0)


def _not_estimable(severities: Sequence[float], marks: Sequence[float], clusters: int) -> str:
    """Why no finite curve fits best, or nothing; separation after Albert and Anderson (1984, Biometrika 71:1)."""
    if len(set(severities)) < 2 or clusters < FEWEST:
        return f"fewer than two severities or {FEWEST} messages"
    if not 0 < sum(marks) < len(marks):
        return "nothing was marked" if sum(marks) == 0 else "everything was marked"
    hit = [severity for severity, mark in zip(severities, marks, strict=True) if mark > 0]
    missed = [severity for severity, mark in zip(severities, marks, strict=True) if mark < 1]
    if max(missed) <= min(hit):
        return f"nothing is marked below {min(hit):g} and everything above {max(missed):g}; half lies somewhere between"
    return NOT_RISING if max(hit) <= min(missed) else ""


def _logistic(
    severities: Sequence[float], marks: Sequence[float], meanings: Sequence[str]
) -> tuple[tuple[float, float], list[list[float]]]:
    """Maximum likelihood of (intercept, slope), and their cluster-robust covariance (2 x 2; Liang and Zeger 1986)."""
    import numpy as np

    x = np.column_stack([np.ones(len(severities)), np.asarray(severities)])
    y, beta = np.asarray(marks), np.zeros(2)
    for _ in range(STEPS):
        p, information = _expected(x, beta)
        step = np.linalg.solve(information, x.T @ (y - p))
        beta = beta + step / max(1.0, float(np.abs(step).max()))  # short steps: a nearly separated fit overshoots
        if float(np.abs(step).max()) < 1e-10:
            break
    p, information = _expected(x, beta)
    place: dict[str, int] = {}
    where = [place.setdefault(meaning, len(place)) for meaning in meanings]
    scores = np.zeros((len(place), 2))
    np.add.at(scores, where, x * (y - p)[:, None])
    inverse = np.linalg.inv(information)
    covariance = inverse @ (scores.T @ scores) @ inverse * len(place) / (len(place) - 1)
    return (float(beta[0]), float(beta[1])), [[float(item) for item in row] for row in covariance]


def _expected(x: Array, beta: Array) -> tuple[Array, Array]:
    """Fitted shares (n) and the information matrix (2, 2), kept invertible far out."""
    import numpy as np

    p = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
    return p, x.T @ (x * (p * (1 - p))[:, None]) + 1e-9 * np.eye(2)


def operating_points(ledger: Ledger, design: Design) -> tuple[OperatingPoint, ...]:
    """Sensitivity and false alarms of each arm over all scenarios."""
    found = []
    for arm in ("hidden", "open"):
        hits, alarms = rates(ledger, arm_cases(ledger, design, arm))
        found.append(OperatingPoint(arm, hits, alarms))
    return tuple(found)


def scenario_rates(ledger: Ledger, design: Design) -> Mapping[str, tuple[Rate, Rate]]:
    """Sensitivity and false alarms of every hidden-tag scenario."""
    found: dict[str, list[Case]] = defaultdict(list)
    for case in arm_cases(ledger, design, "hidden"):
        found[case.scenario].append(case)
    return {scenario: rates(ledger, cases) for scenario, cases in found.items()}


def rates(ledger: Ledger, cases: Iterable[Case], counts: Mapping[str, int] | None = None) -> tuple[Rate, Rate]:
    """Marked share of must-flag and of must-not-flag cases; an unusable answer marks nothing, missing ones are left out.

    `counts`: by code, how many cases come out like this one; cases without an entry do not count. Without it each counts once.
    """
    hits: dict[str, float] = {"flag": 0, "leave": 0}
    trials = {"flag": 0, "leave": 0}
    for case in cases:
        count = 1 if counts is None else counts.get(case.code, 0)
        mark = marked(ledger, case) if count and case.gold in hits else None
        if mark is not None:
            hits[case.gold] += count * mark
            trials[case.gold] += count
    return Rate(hits["flag"], trials["flag"]), Rate(hits["leave"], trials["leave"])
