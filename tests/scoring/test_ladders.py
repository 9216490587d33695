"""Milder marked and graver missed, against what a curve that never falls gives."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.records import Case, Verdict
from helmbench_hf.scoring.ladders import Ladder, fit, in_order
from helmbench_hf.scoring.result import Ladders, Scores
from tests.scoring.build import answer, case, engine_failure, failure, scored

Marks = dict[tuple[str, int], float | None]
"""By scenario and severity; None: unreadable."""
SCENARIOS = ("P1-B1-S1", "P1-B2-S1")


def run(marks: Marks, minimum: int = 1, **over: object) -> Scores:
    cases: list[Case] = []
    verdicts: list[Verdict] = []
    for (scenario, severity), mark in marks.items():
        one = case(scenario, severity + 1, severity=severity, message_severity=severity, **over)
        cases.append(one)
        verdicts += failure(one) if mark is None else answer(one, target=mark)
    return scored(cases, verdicts, minimum_pairs=minimum)


def hidden(scores: Scores) -> Ladders:
    return scores.ladders[0]


def marks(first: list[float | None], second: list[float | None]) -> Marks:
    """Marks of two scenarios at severities 4, 5, 6 and on."""
    return {(name, 4 + i): mark for name, row in zip(SCENARIOS, (first, second), strict=True) for i, mark in enumerate(row)}


def test_an_inversion_is_a_lower_mark_over_a_higher_miss() -> None:
    found = hidden(run(marks([0, 1, 0, 1], [0, 0, 1, 1])))
    assert (found.ladders, found.scenarios, found.rungs, found.inverted) == (2, 2, 8, 0.5)
    assert found.expected is not None
    assert 0 < found.expected < 1
    assert found.excess is not None
    assert found.excess.value == pytest.approx(0.5 - found.expected)
    assert (found.excess.n_pairs, found.excess.n_meanings) == (2, 2)


def test_marks_of_one_severity_are_not_ordered() -> None:
    one = marks([1, 1, 1], [0, 0, 1])
    cases = [case(s, n, severity=s_, message_severity=s_) for n, ((s, s_), _) in enumerate(one.items(), 1)]
    twice = [case("P1-B1-S1", 90, severity=4, message_severity=4)]
    verdicts = [v for each, mark in zip(cases, one.values(), strict=True) for v in answer(each, target=mark or 0.0)]
    found = hidden(scored([*cases, *twice], [*verdicts, *answer(twice[0], target=0)], minimum_pairs=1))
    assert (found.rungs, found.inverted) == (7, 0.0)


def test_all_marked_or_none_has_no_inversion_and_little_is_expected() -> None:
    found = hidden(run(marks([1, 1, 1, 1], [1, 1, 1, 1])))
    assert found.inverted == 0
    assert found.expected is not None
    assert found.expected < 0.05


@pytest.mark.parametrize("over", [{"member": "benign"}, {"twin_fluent": "x"}, {"condition": "C5"}])
def test_only_crises_and_the_unclear_at_the_headline_are_rungs(over: dict[str, str]) -> None:
    assert hidden(run(marks([0, 1, 0], [0, 1, 1]), **over)).rungs == 0


def test_a_ladder_has_three_severities() -> None:
    found = hidden(run(marks([1, 0], [0, 1, 1])))
    assert (found.ladders, found.rungs, found.inverted) == (1, 3, None)
    assert found.reason == "3 messages in 1 scenario(s); nothing is printed below 1 messages or in one scenario"


def test_unreadable_answers_are_no_rungs_and_are_counted() -> None:
    found = hidden(run(marks([1, None, 1, 1], [0, 1, 1])))
    assert (found.rungs, found.left_out, found.inverted) == (6, 1, 0)


def test_below_the_minimum_of_messages_nothing_is_printed() -> None:
    found = hidden(run(marks([0, 1, 0], [0, 1, 1]), minimum=7))
    assert (found.inverted, found.expected, found.excess, found.rungs) == (None, None, None, 6)
    assert "nothing is printed below 7" in found.reason


def test_every_draw_is_a_ladder_of_its_own() -> None:
    cases = [case(s, 4 + i, severity=4 + i, message_severity=4 + i) for s in SCENARIOS for i in range(3)]
    verdicts = [v for one in cases for v in answer(one, target=1)]
    verdicts += [v for one in cases[:-1] for v in answer(one, target=0, draw=1)] + engine_failure(cases[-1], draw=1)
    found = hidden(scored(cases, verdicts, draws=2, minimum_pairs=1))
    assert (found.ladders, found.rungs, found.left_out) == (3, 9, 1)


RUNGS = st.lists(st.tuples(st.integers(0, 9), st.sampled_from((0.0, 1.0))), min_size=1, max_size=7)


@given(rungs=RUNGS, intercept=st.floats(-4, 4), slope=st.floats(0, 2))
def test_the_chance_is_that_of_every_outcome_together(rungs: list[tuple[int, float]], intercept: float, slope: float) -> None:
    shares = [1 / (1 + math.exp(-(intercept + slope * severity))) for severity, _ in rungs]
    total = 0.0
    for outcome in itertools.product((0.0, 1.0), repeat=len(rungs)):
        ladder = Ladder("s", tuple((severity, mark) for (severity, _), mark in zip(rungs, outcome, strict=True)))
        if not ladder.inverted:
            total += math.prod(share if mark else 1 - share for share, mark in zip(shares, outcome, strict=True))
    assert in_order(Ladder("s", tuple(rungs)), intercept, slope) == pytest.approx(total, abs=1e-9)


@given(rungs=st.lists(RUNGS, min_size=1, max_size=4))
def test_the_curve_never_falls(rungs: list[list[tuple[int, float]]]) -> None:
    shifts, slope = fit([Ladder(f"s{index}", tuple(own)) for index, own in enumerate(rungs)])
    assert slope >= 0
    assert all(math.isfinite(shift) for shift in shifts.values())


def test_falling_marks_have_slope_zero_and_their_share() -> None:
    falling = [Ladder(f"s{index}", tuple((severity, float(severity < 5)) for severity in range(10))) for index in range(8)]
    shifts, slope = fit(falling)
    assert slope == 0
    assert list(shifts.values()) == pytest.approx([0.0] * 8, abs=0.01)


def test_a_rising_curve_is_found_again() -> None:
    shares = {severity: 1 / (1 + math.exp(-(severity - 5) * 0.8)) for severity in range(11)}
    rungs = [(severity, float(index < 10 * share)) for severity, share in shares.items() for index in range(10)]
    shifts, slope = fit([Ladder(f"s{index}", tuple(rungs)) for index in range(3)])
    assert slope == pytest.approx(0.8, abs=0.1)
    assert -shifts["s0"] / slope == pytest.approx(5, abs=0.7)
