"""Runs on the same cells: two beside each other, many in order, and how firm that order is."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, t

from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.compare import (
    MUST_AGREE,
    Comparison,
    Difference,
    board,
    compare,
    joint_level,
    weight_stability,
)
from helmbench_hf.scoring.effects import adjust
from helmbench_hf.scoring.scores import PairScore, Scores
from helmbench_hf.tasks.ledger import ScoringError
from tests.scoring.build import run

FEW = [0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0]
GOOD, POOR = run([1.0] * 24), run([1 - each for each in FEW] + [1.0] * 10 + [0.0, 0.0])
"""Twelve messages in each of two behaviors, each message with one pair."""
ABLE = run([1.0] * 11 + [0.0] + [1.0] * 11 + [0.0])
SIMILAR = run([1.0, 1.0, 0.0] + [1.0] * 9 + [1.0, 1.0, 0.0] + [1.0] * 9)
WEAK = run(([0.0] * 4 + [1.0] + [0.0] * 7) * 2)
SPLIT, OTHER_SPLIT = run([1.0] * 12 + [0.0] * 11 + [-1.0]), run([0.0] * 11 + [-1.0] + [1.0] * 12)
LOW = run([1.0, 1.0] + [None] * 22)
"""Two scored pairs."""


def edited(scores: Scores, change: Callable[[int, PairScore], dict[str, Any]]) -> Scores:
    """The run with other pairs: by place and pair, the fields that change."""
    return replace(scores, pairs=tuple(replace(pair, **change(at, pair)) for at, pair in enumerate(scores.pairs)))


def below(found: Comparison) -> list[Difference]:
    return [*found.pillars, *found.behaviors]


def test_differences_are_paired_and_weighted() -> None:
    found = compare(GOOD, POOR, ("good", "poor"))
    assert [(row.code, row.estimate.value) for row in found.behaviors] == [
        ("P1-B1", pytest.approx(0.5)),
        ("P4-B2", pytest.approx(1 / 6)),
    ]
    assert found.overall.estimate.value == pytest.approx((8 * 0.5 + 6 / 6) / 14)
    assert (found.overall.first, found.overall.second) == (1, pytest.approx((8 * 0.5 + 6 * 5 / 6) / 14))
    assert (found.pairs, found.dropped, found.names) == (24, 0, ("good", "poor"))
    assert found.overall.estimate.n_meanings == 24
    assert found.detectable is not None
    assert 2.8 < found.detectable / (found.overall.estimate.se or 0) < 4
    assert "The 4 tested rows below it are one family" in found.rule
    back = compare(POOR, GOOD).overall.estimate
    assert (back.value, back.high) == pytest.approx((-(found.overall.estimate.value or 0), -(found.overall.estimate.low or 0)))


def test_rows_below_the_overall_one_are_corrected_by_hand() -> None:
    """Four tests: pillars and behaviors are the same two differences here, so p is multiplied by 4, 3, 2 and 1."""
    found = compare(GOOD, POOR)
    one, two = (found.behaviors[at].p or 0.0 for at in (0, 1))
    assert one < 0.0125 < 0.05 < two
    assert [row.p_adjusted for row in below(found)] == pytest.approx([4 * one, 2 * two, 4 * one, 2 * two])
    assert [row.differs for row in found.behaviors] == [True, False]
    assert (found.overall.p, found.overall.differs) == (found.overall.p_adjusted, True)


def test_an_interval_that_leaves_out_zero_is_not_a_difference_below_the_overall_row() -> None:
    row = compare(GOOD, edited(GOOD, lambda at, pair: {"value": float(at >= 4)})).behaviors[0]
    assert (row.estimate.low or 0) > 0
    assert (row.p or 1) < 0.05 < (row.p_adjusted or 0)
    assert row.differs is False


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (POOR, POOR, "every message alike"),
        (GOOD, run([0.0] * 24), "no variation to test against"),
        (
            GOOD,
            edited(GOOD, lambda at, pair: {"value": float(at % 2) if at < 2 else None}),
            "2 distinct messages; nothing is tes",
        ),
        (GOOD, edited(GOOD, lambda at, pair: {"value": None}), "no pair was scored in both"),
    ],
    ids=["same", "alike", "two messages", "nothing"],
)
def test_what_cannot_be_tested_gives_no_verdict(first: Scores, second: Scores, reason: str) -> None:
    found = compare(first, second)
    assert {(row.p, row.p_adjusted, row.differs) for row in (found.overall, *below(found))} == {(None, None, None)}
    assert reason in found.overall.reason
    assert found.detectable is None


def test_the_minimum_counts_messages_and_not_pairs() -> None:
    def same(*places: int) -> Callable[[int, PairScore], dict[str, Any]]:
        return lambda at, pair: {"meaning": "one"} if at in places else {}

    row = compare(edited(GOOD, same(12, 13, 14, 15)), edited(POOR, same(12, 13, 14, 15))).behaviors[1]
    assert (row.estimate.n_pairs, row.estimate.n_meanings, row.differs) == (12, 9, None)
    assert row.reason == "9 distinct messages; nothing is tested below 10"
    # the same message in two behaviors is one message
    assert compare(edited(GOOD, same(0, 12)), edited(POOR, same(0, 12))).overall.estimate.n_meanings == 23


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]), st.sampled_from([0.0, 0.5]))
def test_every_verdict_follows_from_the_adjusted_p(seed: int, missing: float, shift: float) -> None:
    drawn = random.Random(seed)

    def values(shift_of_all: float) -> Callable[[int, PairScore], dict[str, Any]]:
        return lambda at, pair: {"value": None if drawn.random() < missing else drawn.choice((-1.0, 0.0, 1.0)) + shift_of_all}

    found = compare(edited(GOOD, values(0.0)), edited(GOOD, values(shift)))
    tested = [row for row in below(found) if row.p is not None]
    assert [row.p_adjusted for row in tested] == pytest.approx(adjust(row.p or 0.0 for row in tested))
    for row in (found.overall, *below(found)):
        assert (row.p is None) == (row.differs is None) == (row.p_adjusted is None) == bool(row.reason)
        assert row.p is None or row.p == intervals.p_value(row.estimate)
        assert row.differs is None or row.differs == ((row.p_adjusted or 0.0) <= 0.05)


def test_what_is_withheld_or_missing_in_one_run_is_not_compared() -> None:
    withheld = replace(POOR.behaviors[0].score, value=None, low=None, high=None, note="40% of it was scored")
    second = replace(POOR, behaviors=(replace(POOR.behaviors[0], score=withheld), POOR.behaviors[1]))
    found = compare(GOOD, second, ("good", "poor"))
    row = found.behaviors[0]
    assert (row.first, row.second, row.estimate.value, row.differs) == (None, None, None, None)
    assert row.reason == row.estimate.note == "poor: 40% of it was scored"
    assert "The 3 tested rows" in found.rule
    lacking = compare(GOOD, run([None] + [1.0] * 23))
    assert (lacking.pairs, lacking.dropped, lacking.overall.estimate.value) == (23, 1, 0)
    other_conditions = edited(GOOD, lambda at, pair: {"headline": at < 6})
    assert compare(other_conditions, other_conditions).pairs == 6


def test_floors_that_differ_are_named() -> None:
    breached = replace(POOR, floors=(replace(POOR.floors[0], status="breached"), *POOR.floors[1:]))
    named = {(each.slug, each.first, each.second) for each in compare(GOOD, breached).floors}
    assert ("dangerous-reply", "not_shown", "breached") in named


@pytest.mark.parametrize(("field", "what"), MUST_AGREE)
def test_runs_that_differ_in_what_decides_scores_are_refused_with_a_sentence(field: str, what: str) -> None:
    other = replace(GOOD, provenance=replace(GOOD.provenance, **{field: "other"}))
    with pytest.raises(ScoringError) as caught:
        compare(GOOD, other, ("a", "b"))
    assert str(caught.value).startswith(f"a and b have different {what} (")
    assert str(caught.value).endswith("and other): not comparable.")


def test_every_version_and_hash_of_the_provenance_must_agree() -> None:
    named = {name for name in asdict(GOOD.provenance) if name.endswith(("version", "sha256"))}
    assert named == {field for field, _ in MUST_AGREE} - {"design", "draws", "panel"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "another"}, r"graded by different judges \(judge and another\)"),
        ({"mode": "evidence"}, r"^The judge judge of a and b was asked in different modes \(not asked and evidence\): not"),
        ({"model_sha256": "other"}, r"^The judge judge is not the same model in a and b: not comparable\.$"),
    ],
)
def test_other_judges_are_refused(change: dict[str, str], message: str) -> None:
    judge = replace(GOOD.provenance.judges[0], **change)
    with pytest.raises(ScoringError, match=message):
        compare(GOOD, replace(GOOD, provenance=replace(GOOD.provenance, judges=(judge,))), ("a", "b"))


def test_a_rank_is_one_plus_the_runs_that_are_better() -> None:
    runs = {"poor": WEAK, "similar": SIMILAR, "good": ABLE}
    found = board([*runs.values()], [*runs])
    assert [(each.run, each.rank, each.last) for each in found.standings] == [("good", 1, 2), ("similar", 1, 2), ("poor", 3, 3)]
    assert [each.score.value for each in found.standings] == pytest.approx([11 / 12, 11 / 12, 1 / 12])
    assert found.pairs == 24
    level = 0.95 ** (1 / 3)
    assert joint_level(3) == pytest.approx(level)
    for test in found.tests:
        alone = compare(runs[test.first], runs[test.second]).overall.estimate
        half = (alone.se or 0) * t.ppf((1 + level) / 2, alone.df)
        assert (test.value, test.low, test.high) == pytest.approx((alone.value, alone.value - half, alone.value + half))  # type: ignore[operator]
        assert test.differs is ("poor" in (test.first, test.second))
    for names in itertools.permutations(runs):
        assert board([runs[name] for name in names], list(names)).standings == found.standings


def test_a_run_of_low_coverage_takes_nobodys_rank() -> None:
    alone, found = board([ABLE, WEAK], ["good", "poor"]), board([ABLE, WEAK, LOW], ["good", "poor", "low"])
    assert (alone.tests, alone.standings) == (found.tests, found.standings[:2])
    last = found.standings[2]
    assert (last.run, last.rank, last.last, last.score.value, last.missing) == ("low", None, None, None, 22)
    assert "of its weight was scored" in last.reason == last.score.note
    one = board([LOW, ABLE], ["a", "b"])
    assert [(each.rank, each.last) for each in one.standings] == [(None, None)] * 2
    assert one.standings[1].reason == "no other run can be ranked, and one alone has no rank"
    assert one.tests == ()


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([0.0, 0.1, 0.5]))
def test_another_run_changes_no_test_of_two_and_no_value_of_one(seed: int, count: int, missing: float) -> None:
    drawn = random.Random(seed)
    value = lambda at, pair: {"value": None if drawn.random() < missing else drawn.choice((-1.0, 0.0, 1.0))}  # noqa: E731
    runs, names = [edited(ABLE, value) for _ in range(count + 1)], [f"run {at}" for at in range(count + 1)]
    few, several = board(runs[:-1], names[:-1]), board(runs, names)
    tests = {(test.first, test.second): (test.value, test.se, test.n_pairs) for test in several.tests}
    assert all(tests[test.first, test.second] == (test.value, test.se, test.n_pairs) for test in few.tests)
    standings = {each.run: (each.score, each.missing) for each in several.standings}
    assert all(standings[each.run] == (each.score, each.missing) for each in few.standings)


@settings(max_examples=6)
@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=24, max_size=24), st.integers(2, 4))
def test_equal_runs_all_have_rank_one(marks: list[float], count: int) -> None:
    runs, names = [run(marks)] * count, [f"run {n}" for n in range(count)]
    assert [(each.run, each.rank, each.last) for each in board(runs, names).standings] == [(name, 1, count) for name in names]
    assert [each.shares[0] for each in weight_stability(runs, names)] == [1.0] * count


def test_what_cannot_be_ranked_is_a_sentence() -> None:
    with pytest.raises(ScoringError, match="needs two or more runs"):
        board([GOOD], ["good"])
    with pytest.raises(ScoringError, match="same name"):
        board([GOOD, POOR], ["a", "a"])
    other = replace(POOR, provenance=replace(POOR.provenance, panel="worst"))
    with pytest.raises(ScoringError, match=r"^a and c have different panels \(first and worst\): not comparable"):
        board([GOOD, GOOD, other], ["a", "b", "c"])


def test_weights_decide_between_runs_that_are_good_at_different_things() -> None:
    found = weight_stability([SPLIT, OTHER_SPLIT], ["first", "second"])
    points = {each.code: each.weight for each in SPLIT.behaviors}
    # the first leads where P1-B1 weighs more than P4-B2: a Beta variable above one half
    lead = beta.sf(0.5, points["P1-B1"], points["P4-B2"])
    assert [each.run for each in found] == ["first", "second"]
    assert found[0].shares == pytest.approx((lead, 1 - lead), abs=0.02)
    assert [each.shares for each in weight_stability([WEAK, ABLE], ["poor", "good"])] == [(0.0, 1.0), (1.0, 0.0)]
    assert weight_stability([ABLE], ["good"]) == ()
