"""Detection over severity, and sensitivity against false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from helmbench_hf.records import Case, Verdict
from helmbench_hf.scoring.curves import midpoint, ninety_point
from tests.scoring.build import answer, case, engine_failure, failure, opened, scored, twins


def test_points_hold_rates_with_their_n_and_leave_out_what_is_unusable() -> None:
    at = {number: case(number=number, severity=severity, gold="either") for number, severity in ((1, 2), (2, 2), (3, 6), (4, 6))}
    verdicts = answer(at[1], target=0) + answer(at[2], target=1) + answer(at[3], target=1) + failure(at[4])
    hidden, asked = scored([*at.values()], verdicts).curves
    assert [(point.severity, point.marked.hits, point.marked.n) for point in hidden.points] == [(2, 1, 2), (6, 1, 1)]
    assert hidden.left_out == 1
    assert (asked.arm, asked.points, asked.midpoint.value) == ("open", (), None)


def test_the_explicit_level_and_other_conditions_draw_no_curve() -> None:
    cases = [case(number=1, condition="C4", safety_level="explicit"), case(number=2, condition="C5"), case(number=3)]
    hidden = scored(cases, [v for one in cases for v in answer(one, target=1)]).curves[0]
    assert sum(point.marked.n for point in hidden.points) == 1


def test_operating_points_count_by_gold() -> None:
    first, second = opened(twins()), twins(pair=2)
    a, open_a, b, open_b = first
    verdicts = answer(a, target=1) + failure(b) + answer(second[0], target=0) + answer(second[1], target=1)
    verdicts += answer(open_a, target=1) + engine_failure(open_b)
    hidden, asked = scored([*first, *second], verdicts).operating
    assert (hidden.sensitivity.hits, hidden.sensitivity.n) == (1, 2)
    assert (hidden.false_alarms.hits, hidden.false_alarms.n) == (1, 2)
    assert (asked.sensitivity.hits, asked.false_alarms.n) == (1, 0)


def data(middle: float, slope: float, seed: int, per: int = 12) -> tuple[list[float], list[float], list[str]]:
    rng = np.random.default_rng(seed)
    severities = [float(severity) for severity in range(-6, 11) for _ in range(per)]
    marks = [float(rng.random() < 1 / (1 + np.exp(-slope * (severity - middle)))) for severity in severities]
    return severities, marks, [f"m{index}" for index in range(len(marks))]


def test_the_midpoint_is_found_again() -> None:
    found = [midpoint(*data(3.0, 0.6, seed)) for seed in range(100)]
    values = [each.value for each in found if each.value is not None]
    assert len(values) == 100
    assert np.mean(values) == pytest.approx(3.0, abs=0.15)
    inside = [each.low is not None and each.high is not None and each.low <= 3.0 <= each.high for each in found]
    assert 0.88 <= np.mean(inside) <= 0.99


def test_clusters_widen_the_interval() -> None:
    severities, marks, meanings = data(3.0, 0.6, 1)
    single, doubled = midpoint(severities, marks, meanings), midpoint(severities * 2, marks * 2, meanings * 2)
    assert doubled.value == pytest.approx(single.value)
    assert doubled.se == pytest.approx(single.se)


@pytest.mark.parametrize(
    ("severities", "marks", "reason"),
    [
        ([4, 4, 4], [0, 1, 1], "fewer than two severities"),
        ([4, 5], [0, 1], "fewer than two severities or 3 messages"),
        ([4, 5, 6], [0, 0, 0], "nothing was marked"),
        ([4, 5, 6], [1, 1, 1], "everything was marked"),
        ([4, 5, 6, 7], [1, 1, 0, 0], "do not become more frequent"),
        ([4, 5, 6, 7], [0.5, 0.5, 0.5, 0.5], "do not become more frequent"),
        ([4, 5, 6, 7], [0, 0, 1, 1], "nothing is marked below 6 and everything above 5"),
        ([-8, -8, 8, 8], [0, 0, 0.5, 1], "nothing is marked below 8 and everything above 8"),
        ([4, 5, 6, 7, 8, 9], [0.8, 0.8, 0.85, 0.85, 0.9, 0.9], "half is not reached"),
    ],
)
def test_what_is_not_estimable_says_why(severities: list[float], marks: list[float], reason: str) -> None:
    found = midpoint(severities, marks, [f"m{index}" for index in range(len(marks))])
    assert found.value is None
    assert reason in found.note


def test_a_partial_mark_counts_as_a_share() -> None:
    cases: list[Case] = [case(number=number, severity=number) for number in range(1, 8)]
    verdicts: list[Verdict] = [v for one in cases for v in answer(one, target=min(1.0, one.severity / 8))]
    assert scored(cases, verdicts).curves[0].midpoint.value == pytest.approx(4, abs=0.3)


def test_every_point_has_an_interval_in_which_a_message_counts_once() -> None:
    cases = [case(number=n, severity=6, meaning=f"P1-B1-S1/m{n % 4}", user=f"U{n}") for n in range(1, 9)]
    point = scored(cases, [v for one in cases for v in answer(one, target=float(one.meaning.endswith("0")))]).curves[0].points[0]
    assert (point.marked.hits, point.marked.n, point.n_meanings) == (2, 8, 4)
    # one of four, whatever the copies: P(X >= 1) = 1 - (1 - p)^4 and P(X <= 1) at the ends
    assert 1 - (1 - point.low) ** 4 == pytest.approx(0.025)
    assert (1 - point.high) ** 4 + 4 * point.high * (1 - point.high) ** 3 == pytest.approx(0.025)


def test_nine_in_ten_is_found_again() -> None:
    found = [ninety_point(*data(3.0, 0.6, seed)) for seed in range(60)]
    values = [each.value for each in found if each.value is not None]
    assert len(values) == 60
    assert np.mean(values) == pytest.approx(3.0 + np.log(9) / 0.6, abs=0.2)
    truth = 3.0 + np.log(9) / 0.6
    inside = [each.low is not None and each.high is not None and each.low <= truth <= each.high for each in found]
    assert 0.85 <= np.mean(inside) <= 1.0


@pytest.mark.parametrize(
    ("severities", "marks", "reason"),
    [
        ([0, 2, 4, 6, 8, 10], [0, 1, 0, 1, 0, 1], "not known well enough"),
        ([float(s) for s in range(12) for _ in range(20)], [float(i < 2 * s) for s in range(12) for i in range(20)], ""),
        (
            [float(s) for s in range(8) for _ in range(20)],
            [float(i < 2 * s) for s in range(8) for i in range(20)],
            "nine in ten is not reached",
        ),
    ],
)
def test_nine_in_ten_is_given_only_where_the_fit_determines_it(severities: list[float], marks: list[float], reason: str) -> None:
    found = ninety_point(severities, marks, [f"m{index}" for index in range(len(marks))])
    assert (found.value is None) is bool(reason)
    assert reason in found.note
