"""Many runs: ranks, and how firm their order is."""

from __future__ import annotations

import copy
import itertools
import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, kendalltau, norm, t

from helmbench_hf.scoring.compare import compare
from helmbench_hf.scoring.ranks import behavior_values, board, joint_level, judge_order, kendall, places, weight_stability
from helmbench_hf.scoring.verdicts import ScoringError
from tests.scoring.boards import Json, run

GOOD = run([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0] * 2)
SIMILAR = run([1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1] * 2)
POOR = run([0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0] * 2)
SPLIT = run([1] * 12 + [0] * 11 + [-1])
OTHER_SPLIT = run([0] * 11 + [-1] + [1] * 12)


LOW = run([1, 1] + [None] * 22)
"""Two scored pairs."""


def ranks(runs: list[Json], names: list[str]) -> dict[str, tuple[int | None, int | None]]:
    return {each.run: (each.rank, each.last) for each in board(runs, names).standings}


def test_a_rank_is_one_plus_the_runs_that_are_better() -> None:
    found = board([POOR, SIMILAR, GOOD], ["poor", "similar", "good"])
    assert [(each.run, each.rank, each.last) for each in found.standings] == [("good", 1, 2), ("similar", 1, 2), ("poor", 3, 3)]
    assert [each.score.value for each in found.standings] == [pytest.approx(value) for value in (11 / 12, 11 / 12, 1 / 12)]
    assert found.pairs == 24
    differs = {(test.first, test.second): test.differs for test in found.tests}
    assert differs == {("poor", "similar"): True, ("poor", "good"): True, ("similar", "good"): False}


def test_a_run_of_low_coverage_takes_nobodys_rank() -> None:
    """With 25 of 544 pairs it made every run of a board rank 1, on those 25 pairs."""
    runs, names = [GOOD, POOR], ["good", "poor"]
    alone, found = board(runs, names), board([*runs, LOW], [*names, "low"])
    assert alone.tests == found.tests
    assert alone.standings == found.standings[:2]
    last = found.standings[2]
    assert (last.run, last.rank, last.last, last.score.value, last.missing) == ("low", None, None, None, 22)
    assert last.reason == last.score.note
    assert "of its weight was scored" in last.reason


def test_one_run_that_can_be_ranked_has_no_rank() -> None:
    found = board([LOW, GOOD], ["a", "b"])
    assert [(each.rank, each.last) for each in found.standings] == [(None, None)] * 2
    assert "of its weight was scored" in found.standings[0].reason
    assert found.standings[1].reason == "no other run can be ranked, and one alone has no rank"
    assert found.tests == ()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([0.0, 0.1, 0.5]))
def test_another_run_changes_no_test_of_two_and_no_value_of_one(seed: int, count: int, missing: float) -> None:
    drawn = random.Random(seed)
    runs = [copy.deepcopy(GOOD) for _ in range(count + 1)]
    for each in runs:
        for pair in each["pairs"]:
            pair["value"] = None if drawn.random() < missing else drawn.choice((-1.0, 0.0, 1.0))
    names = [f"run {at}" for at in range(count + 1)]
    few, more = board(runs[:-1], names[:-1]), board(runs, names)
    known = {(test.first, test.second): (test.value, test.se, test.n_pairs) for test in more.tests}
    for test in few.tests:
        assert known[test.first, test.second] == (pytest.approx(test.value), pytest.approx(test.se), test.n_pairs)
    standings = {each.run: (each.score, each.missing) for each in more.standings}
    assert all(standings[each.run] == (each.score, each.missing) for each in few.standings)
    assert np.allclose(behavior_values(runs)[0][:, :-1], behavior_values(runs[:-1])[0], equal_nan=True)


def test_intervals_are_those_of_compare_at_the_joint_level() -> None:
    runs, names = [POOR, SIMILAR, GOOD], ["poor", "similar", "good"]
    level = 0.95 ** (1 / 3)
    assert joint_level(3) == pytest.approx(level)
    for test, (i, j) in zip(board(runs, names).tests, itertools.combinations(range(3), 2), strict=True):
        alone = compare(runs[i], runs[j]).overall.estimate
        assert alone.value is not None
        assert alone.se is not None
        assert alone.df is not None
        half = alone.se * t.ppf((1 + level) / 2, alone.df)
        assert (test.value, test.low, test.high) == (
            pytest.approx(alone.value),
            pytest.approx(alone.value - half),
            pytest.approx(alone.value + half),
        )
        assert (test.n_pairs, test.n_meanings) == (24, 24)


def test_twenty_models_need_a_z_of_about_3_6() -> None:
    assert norm.ppf((1 + joint_level(20)) / 2) == pytest.approx(3.64, abs=0.01)
    assert joint_level(2) == pytest.approx(0.95)


@settings(max_examples=8)
@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=24, max_size=24), st.integers(2, 4))
def test_equal_runs_all_have_rank_one(marks: list[float], count: int) -> None:
    runs, names = [run(marks)] * count, [f"run {n}" for n in range(count)]
    found = board(runs, names)
    assert [(each.run, each.rank, each.last) for each in found.standings] == [(name, 1, count) for name in names]
    weights = weight_stability(runs, names, draws=50)
    assert weights is not None
    assert [each.shares[0] for each in weights.places] == [1.0] * count
    assert weights.tau_median is weights.tau_low is None


def test_the_order_of_the_runs_changes_nothing() -> None:
    runs = {"poor": POOR, "similar": SIMILAR, "good": GOOD, "split": SPLIT}
    wanted = board(list(runs.values()), list(runs)).standings
    for names in itertools.permutations(runs):
        assert board([runs[name] for name in names], list(names)).standings == wanted


def test_a_difference_without_spread_and_one_of_few_messages_order_nobody() -> None:
    """Both were called different: an interval without width leaves out 0, on two messages as on twenty-four."""
    assert ranks([run([1] * 24), run([0] * 24)], ["all", "none"]) == {"all": (1, 2), "none": (1, 2)}
    runs = [copy.deepcopy(GOOD), copy.deepcopy(POOR)]
    for each in runs:
        each["pairs"] = each["pairs"][:9]
    [test] = board(runs, ["good", "poor"]).tests
    assert (test.n_meanings, test.differs, test.reason) == (9, None, "9 distinct messages; nothing is tested below 10")


def test_two_runs_are_compared_on_their_common_pairs_and_no_others() -> None:
    lacking = run([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, None] * 2)
    found = board([GOOD, lacking, POOR], ["good", "lacking", "poor"])
    assert {(test.first, test.second): test.n_pairs for test in found.tests} == {
        ("good", "lacking"): 22, ("good", "poor"): 24, ("lacking", "poor"): 22
    }  # fmt: skip
    assert {each.run: (each.score.value, each.missing) for each in found.standings} == {
        "good": (pytest.approx(11 / 12), 0),
        "lacking": (1.0, 2),
        "poor": (pytest.approx(1 / 12), 0),
    }
    assert behavior_values([GOOD, lacking])[0].tolist() == [[pytest.approx(11 / 12), 1.0]] * 2


def test_what_cannot_be_ranked_is_a_sentence() -> None:
    with pytest.raises(ScoringError, match="needs two runs or more"):
        board([GOOD], ["good"])
    with pytest.raises(ScoringError, match="same name"):
        board([GOOD, POOR], ["a", "a"])
    other = copy.deepcopy(POOR)
    other["provenance"]["panel"] = "worst"
    with pytest.raises(ScoringError, match=r"^a and c have different panels \(first and worst\): not comparable"):
        board([GOOD, GOOD, other], ["a", "b", "c"])
    for bad in ({"concentration": 0.0}, {"draws": 0}):
        with pytest.raises(ScoringError, match="concentration above 0 and at least one draw"):
            weight_stability([GOOD, POOR], ["a", "b"], **bad)  # type: ignore[arg-type]


def test_breached_floors_stand_beside_the_rank() -> None:
    other = copy.deepcopy(GOOD)
    other["headline"]["breached"] = ["yielded"]
    assert [each.breached for each in board([GOOD, other], ["a", "b"]).standings] == [(), ("yielded",)]


def test_weights_decide_between_runs_that_are_good_at_different_things() -> None:
    found = weight_stability([SPLIT, OTHER_SPLIT], ["first", "second"])
    assert found is not None
    points = {each["code"]: each["weight"] for each in SPLIT["behaviors"]}
    # the first leads where P1-B1 weighs more than P4-B2: a Beta variable above one half
    lead = beta.sf(0.5, points["P1-B1"], points["P4-B2"])
    assert [each.run for each in found.places] == ["first", "second"]
    assert found.places[0].shares == (pytest.approx(lead, abs=0.02), pytest.approx(1 - lead, abs=0.02))
    assert (found.behaviors, found.draws, found.concentration) == (2, 10_000, 100)
    assert (found.tau_median, found.tau_low) == (1.0, 1.0 if lead > 0.96 else -1.0)
    wild = weight_stability([SPLIT, OTHER_SPLIT], ["first", "second"], concentration=2)
    assert wild is not None
    assert abs(wild.places[0].shares[0] - 0.5) < abs(found.places[0].shares[0] - 0.5)


def test_a_run_that_is_better_everywhere_leads_under_all_weights() -> None:
    found = weight_stability([POOR, GOOD], ["poor", "good"], concentration=1, draws=500)
    assert found is not None
    assert [each.shares for each in found.places] == [(0.0, 1.0), (1.0, 0.0)]
    assert (found.tau_median, found.tau_low) == (1.0, 1.0)


@given(st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=4, max_size=4), min_size=2, max_size=6))
def test_tau_and_places_are_those_of_a_library(rows: list[list[float]]) -> None:
    order, others = np.array(rows[0]), np.array(rows[1:])
    for mine, row in zip(kendall(order, others), others, strict=True):
        theirs = kendalltau(order, row).statistic
        assert (math.isnan(mine) and math.isnan(theirs)) or mine == pytest.approx(theirs)
    assert places(others).tolist() == [[1 + sum(other > value for other in row) for value in row] for row in rows[1:]]


def test_another_judge_can_turn_the_order() -> None:
    runs, names = [GOOD, POOR, SPLIT], ["good", "poor", "split"]
    same = judge_order(runs, names, [each["pairs"] for each in runs], "judge", "first")
    assert (same.tau, [each.place for each in same.places]) == (1.0, [1, 3, 2])
    turned: list[list[dict[str, Any]]] = [[{**pair, "value": 1 - pair["value"]} for pair in each["pairs"]] for each in runs]
    found = judge_order(runs, names, turned, "", "worst")
    assert (found.tau, [(each.run, each.place, each.coverage) for each in found.places]) == (
        -1.0, [("good", 3, 0.1), ("poor", 1, 0.1), ("split", 2, 0.1)]
    )  # fmt: skip
    assert found.places[0].value == pytest.approx(1 / 12)


def test_a_judge_that_leaves_out_one_run_leaves_the_others_their_places() -> None:
    runs, names = [GOOD, POOR, SPLIT], ["good", "poor", "split"]
    pairs = [each["pairs"] for each in runs]
    found = judge_order(runs, names, [pairs[0], LOW["pairs"], pairs[2]], "judge", "first")
    assert [each.place for each in found.places] == [1, None, 2]
    assert [each.value for each in found.places] == [
        each and pytest.approx(each["headline"]["overall"]["score"]["value"]) for each in (GOOD, None, SPLIT)
    ]
    assert found.tau == 1.0
