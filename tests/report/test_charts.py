"""Numbers as people read them, and where they stand in a chart."""

from __future__ import annotations

from typing import Any

import pytest

from helmbench_hf.report import charts, numbers
from helmbench_hf.report.numbers import Figure
from helmbench_hf.report.page import environment
from helmbench_hf.report.policies import Policy
from helmbench_hf.scoring.scores import Curve, CurvePoint, Estimate, OperatingPoint, Rate
from tests.report.page import Page

NOTHING = Estimate(None, None, None, 0, 0)
NAN = float("nan")


def estimate(value: float | None, low: float | None = None, high: float | None = None, note: str = "", n: int = 7) -> Estimate:
    return Estimate(value, low, high, 8, n, note=note)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (numbers.number(-16.2), "−16"),
        (numbers.number(-0.3), "0"),
        (numbers.number(-0.04, 1), "0.0"),
        (numbers.number(1234.0), "1,234"),
        (numbers.number(None), "–"),
        (numbers.number(NAN), "–"),
        (numbers.points(None), "–"),
        (numbers.percent(None), "–"),
        (numbers.percent(NAN), "–"),
        (numbers.percent(0.0), "0%"),
        (numbers.percent(0.094), "9.4%"),
        (numbers.percent(0.12), "12%"),
        (numbers.percent(0.05), "5%"),
        (numbers.probability(0.0999), "0.100"),
        (numbers.probability(0.1), "0.10"),
        (numbers.probability(0.0005), "< 0.001"),
        (numbers.probability(None), "–"),
        (numbers.plural(0, "pair"), "0 pairs"),
        (numbers.plural(1, "reply"), "1 reply"),
        (numbers.plural(2, "reply"), "2 replies"),
        (numbers.joined(["a", "b", "c"]), "a, b and c"),
        (numbers.joined(["a"]), "a"),
        (numbers.rate(Rate(2.5, 8)).spoken, "31% (2.5 of 8)"),
        (numbers.rate(Rate(0, 0)), Figure("–", why="no cases")),
        (numbers.rate(None).known, False),
        (numbers.figure(None, "4 pairs"), Figure("–", why="4 pairs")),
        (numbers.figure(estimate(None, note="no pair was scored")).spoken, "no number (no pair was scored)"),
        (numbers.figure(estimate(NAN)).known, False),
        (numbers.figure(estimate(-0.162, -0.462, 0.138)).spoken, "−16 (−46 to 14)"),
        (numbers.figure(estimate(0.5)), Figure("50", why="no interval")),
        (numbers.figure(estimate(-0.125, -0.125, -0.125)).spoken, "−12 (no interval: 7 messages alike)"),
        (numbers.figure(estimate(0.1, 0.1, 0.1, n=1)).why, "no interval: one message"),
        (numbers.signed(estimate(0.08, -0.02, 0.18)).spoken, "+8 (−2 to 18)"),
        (numbers.signed(None, "12 pairs").why, "12 pairs"),
        ([charts.heat_step(x) for x in (0.049, 0.05, 0.2, 0.21, 1.0)], ["z0", "p1", "p1", "p2", "p5"]),
        ([charts.heat_step(x) for x in (-0.05, -0.41, -1.0)], ["n1", "n3", "n5"]),
        (numbers.share(estimate(0.98, 0.92, 1.04), unit="%").interval, "92 to 100%"),
    ],
)
def test_numbers_as_people_read_them(shown: object, expected: object) -> None:
    assert shown == expected


def test_the_axis_reaches_below_only_where_a_score_does_and_holds_what_lies_outside() -> None:
    assert charts.score_scale([estimate(0.1, -0.4, 0.6), None, NOTHING]).low == -0.5
    scale = charts.score_scale([estimate(-0.2, -0.6, 0.1)])
    assert [label for _, label in scale.ticks()] == ["−100", "−50", "0", "50", "100"]
    assert (scale.at(-7), scale.zero, scale.at(3)) == (0, 50, 100)


@pytest.mark.parametrize(
    ("score", "bar"),
    [
        (estimate(0.5, 0.2, 0.8), ("50.0%", "25.0%", "bar")),
        (estimate(-0.5), ("25.0%", "25.0%", "bar neg")),
        (NOTHING, None),
        (estimate(NAN), None),
    ],
)
def test_bars_grow_from_zero_to_either_side(score: Estimate, bar: tuple[str, str, str] | None) -> None:
    macros: Any = environment("helmbench_hf.report").get_template("macros.html.j2").module
    page = Page(str(macros.bar(charts.Scale(-1.0, 1.0, 0.5), "A <title>", score)))
    found = [(e.attributes["x"], e.attributes["width"], e.attributes["class"]) for e in page.all("rect")]
    assert found == ([bar] if bar else [])
    assert page.elements[0].attributes["aria-label"] == "A <title>"


def curve(arm: Any, *points: tuple[int, int]) -> Curve:
    """Severities, each with one hit of n."""
    return Curve(arm, tuple(CurvePoint(s, Rate(1, n), n, 0.1, 0.9) for s, n in points), NOTHING, 0)


def test_curves_draw_only_severities_with_cases_and_are_broken_where_some_are_missing() -> None:
    chart = charts.curves([curve("hidden", (6, 4), (-4, 0), (-8, 2)), curve("open")])
    assert chart is not None
    assert [(arm.arm, [(dot.point.severity, dot.y, dot.low, dot.high) for dot in arm.dots]) for arm in chart.arms] == [
        ("hidden", [(-8, 50, 90, 10), (6, 75, 90, 10)])
    ]
    assert chart.severities == (-8, 6)
    assert chart.leave < chart.flag
    assert charts.curves([curve("open")]) is None
    broken = charts.curves([curve("hidden", *((s, 2) for s in (-8, -6, -5, 0, 1, 9)))])
    assert broken is not None
    assert [len(line.split()) for line in broken.arms[0].lines] == [3, 2]


def policy(title: str, alarms: float | None, sensitivity: float | None) -> Policy:
    return Policy(title, True, sensitivity, alarms, None, None)


def test_policies_at_one_place_share_a_mark() -> None:
    found = charts.scatter([], [policy("a", 0, 0), policy("b", 0, 0), policy("c", 1, 1), policy("d", 0, None)])
    assert found is not None
    assert [(spot.number, spot.names, spot.x, spot.y) for spot in found.spots] == [(1, ("a", "b"), 0, 100), (2, ("c",), 100, 0)]
    assert found.off_plot == ("d",)
    assert charts.scatter([OperatingPoint("open", Rate(0, 0), Rate(0, 3))], []) is None
