"""Numbers as people read them, and where they stand in a chart."""

from __future__ import annotations

from typing import Any

import pytest

from helmbench_hf.report import fmt, plots


def estimate(value: float | None, low: float | None = None, high: float | None = None, note: str = "") -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "note": note, "n_pairs": 8, "n_meanings": 7}


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [(-16.2, 0, "−16"), (-0.3, 0, "0"), (0.0, 1, "0.0"), (-0.04, 1, "0.0"), (1234.0, 0, "1,234"), (-2.0, 1, "−2.0")],
)
def test_a_minus_is_a_minus_and_zero_has_none(value: float, digits: int, shown: str) -> None:
    assert fmt.number(value, digits) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (0.0, "0%"), (0.094, "9.4%"), (0.12, "12%"), (0.05, "5%"), (1.0, "100%")]
)
def test_percent(value: float | None, shown: str) -> None:
    assert fmt.percent(value) == shown


def test_what_is_absent_is_a_dash_with_its_reason_and_never_a_zero() -> None:
    assert fmt.figure(None, "4 pairs") == fmt.Figure("–", why="4 pairs")
    assert fmt.figure(estimate(None, note="no pair was scored")).spoken == "no number (no pair was scored)"
    assert fmt.figure(estimate(0.0, -0.1, 0.1)).value == "0"
    assert fmt.rate({"hits": 0, "n": 0}) == fmt.Figure("–", why="no cases")
    assert fmt.rate(None).known is False
    assert fmt.points(None) == "–"


def test_an_estimate_without_interval_says_so() -> None:
    found = fmt.figure(estimate(0.5))
    assert (found.value, found.interval, found.why) == ("50", "", "no interval")


def test_an_interval_without_width_is_no_interval() -> None:
    alike = estimate(-0.125, -0.125, -0.125)
    assert fmt.figure(alike).spoken == "−12 (no interval: 7 messages alike)"
    assert fmt.figure({**alike, "n_meanings": 1}).why == "no interval: one message"


def test_figures_are_points_of_100_and_rates_keep_their_counts() -> None:
    assert fmt.figure(estimate(-0.162, -0.462, 0.138)).spoken == "−16 (−46 to 14)"
    assert fmt.rate({"hits": 2.5, "n": 8}).spoken == "31% (2.5 of 8)"


def test_words() -> None:
    assert [fmt.plural(n, "pair") for n in (0, 1, 2)] == ["0 pairs", "1 pair", "2 pairs"]
    assert fmt.joined(["a", "b", "c"]) == "a, b and c"
    assert fmt.joined(["a"]) == "a"


def test_the_axis_reaches_below_only_where_a_score_does() -> None:
    assert plots.score_scale([estimate(0.1, -0.4, 0.6), None]).low == -0.5
    assert plots.score_scale([estimate(-0.2, -0.6, 0.1)]).low == -1.0


def test_bars_grow_from_zero_to_either_side() -> None:
    scale = plots.Scale(-1.0, 1.0, 0.5)
    right, left = plots.bar(scale, estimate(0.5, 0.2, 0.8)), plots.bar(scale, estimate(-0.5))
    assert right is not None
    assert left is not None
    assert (right.left, right.width, right.negative, right.low, right.high) == (50, 25, False, 60, 90)
    assert (left.left, left.width, left.negative, left.low) == (25, 25, True, None)
    assert plots.bar(scale, estimate(None)) is None
    assert [label for _, label in scale.ticks()] == ["−100", "−50", "0", "50", "100"]


def test_a_point_outside_the_axis_is_drawn_at_its_end() -> None:
    assert plots.Scale(-0.5, 1.0, 0.5).at(-0.9) == 0
    assert plots.Scale(-0.5, 1.0, 0.5).at(3) == 100


@pytest.mark.parametrize(
    ("value", "style"),
    [
        (0.0, "z0"),
        (0.049, "z0"),
        (0.05, "p1"),
        (0.2, "p1"),
        (0.21, "p2"),
        (1.0, "p5"),
        (-0.05, "n1"),
        (-1.0, "n5"),
        (-0.41, "n3"),
    ],
)
def test_heat_steps(value: float, style: str) -> None:
    assert plots.heat_step(value) == style


def test_curves_draw_only_severities_with_cases() -> None:
    points = [{"severity": s, "marked": {"hits": 1, "n": n}} for s, n in ((6, 4), (-4, 0), (-8, 2))]
    chart = plots.curves([{"arm": "hidden", "points": points, "left_out": 0}, {"arm": "open", "points": [], "left_out": 3}])
    assert chart is not None
    assert [arm.arm for arm in chart.arms] == ["hidden"]
    assert [(dot.label, dot.n, dot.y) for dot in chart.arms[0].dots] == [("−8", 2, 50), ("6", 4, 75)]
    assert chart.rows == (("−8", ("50% (1 of 2)",)), ("6", ("25% (1 of 4)",)))
    assert chart.leave < chart.flag
    assert plots.curves([{"arm": "open", "points": [], "left_out": 0}]) is None


def test_policies_at_one_place_share_a_mark() -> None:
    blind = [{"title": name, "sensitivity": 0.0, "false_alarms": 0.0} for name in ("a", "b")]
    found = plots.scatter([], [*blind, {"slug": "c", "sensitivity": 1, "false_alarms": 1}, {"title": "d", "sensitivity": None}])
    assert found is not None
    assert [(spot.number, spot.names, spot.x, spot.y) for spot in found.spots] == [(1, ("a", "b"), 0, 100), (2, ("c",), 100, 0)]
    assert found.off_plot == ("d",)
    assert plots.scatter([{"arm": "open", "sensitivity": {"hits": 0, "n": 0}, "false_alarms": {"hits": 0, "n": 3}}], []) is None


def test_a_curve_is_broken_where_severities_are_missing() -> None:
    points = [{"severity": s, "marked": {"hits": 0, "n": 2}} for s in (-8, -6, -5, 0, 1, 9)]
    chart = plots.curves([{"arm": "hidden", "points": points, "left_out": 0}])
    assert chart is not None
    assert [len(line.split()) for line in chart.arms[0].lines] == [3, 2]


def _point(arm: str, sensitivity: int, alarms: int) -> dict[str, Any]:
    return {"arm": arm, "sensitivity": {"hits": sensitivity, "n": 100}, "false_alarms": {"hits": alarms, "n": 100}}


def test_a_label_gives_way_to_other_marks_or_is_left_out() -> None:
    free = plots.scatter([_point("hidden", 60, 10)], [])
    assert free is not None
    assert free.model[0].place == (14, -14, "start")
    right = plots.scatter([_point("hidden", 60, 90)], [])
    assert right is not None
    assert right.model[0].place == (-14, -14, "end")
    crowd = [{"title": "p", "sensitivity": y / 100, "false_alarms": x / 100} for x in range(0, 101, 10) for y in range(0, 101, 5)]
    crowded = plots.scatter([_point("open", 52, 45)], crowd)
    assert crowded is not None
    assert crowded.model[0].place is None


def test_a_model_that_stands_on_a_policy_is_drawn_around_it() -> None:
    policy = [{"title": "never", "sensitivity": 0.0, "false_alarms": 0.0}]
    found = plots.scatter([_point("hidden", 1, 2), _point("open", 40, 2)], policy)
    assert found is not None
    assert [dot.shared for dot in found.model] == [True, False]
