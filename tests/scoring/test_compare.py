"""Two runs on the same cells."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmbench_hf.records import Case, JudgeInfo, Verdict
from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.compare import MUST_AGREE, Comparison, Difference, compare
from helmbench_hf.scoring.comparisons import holm
from helmbench_hf.scoring.result import FORMAT, to_json
from helmbench_hf.scoring.verdicts import ScoringError
from tests.report.sample import sample_scores
from tests.scoring.build import answer, engine_failure, scored, twins

PAIRS = [twins("P1-B1-S1", n, severity=8) for n in range(1, 13)] + [twins("P4-B2-S1", n) for n in range(1, 11)]
"""Twelve messages in one behavior and ten in another, each message with one pair."""
CASES = [one for pair in PAIRS for one in pair]
MINIMUM = 10


def run(right: list[float], *, skip: Case | None = None, judge: str = "judge") -> dict[str, Any]:
    verdicts: list[Verdict] = []
    for (a, b), mark in zip(PAIRS, right, strict=True):
        verdicts += engine_failure(a) if a is skip else answer(a, target=mark)
        verdicts += answer(b, target=0)
    found: dict[str, Any] = json.loads(json.dumps(to_json(scored(CASES, verdicts, JudgeInfo(judge, "family")))))
    return found


GOOD, POOR = run([1.0] * 22), run([1.0, 0.0, 1.0, 0.0, 0.0, 1.0] * 2 + [1.0, 1.0, 1.0, 1.0, 0.0] * 2)


def below(found: Comparison) -> list[Difference]:
    return [*found.pillars, *found.behaviors]


def with_values(base: dict[str, Any], values: dict[str, list[float]]) -> dict[str, Any]:
    """The run with other pair values, by scenario."""
    found = copy.deepcopy(base)
    for scenario, given_values in values.items():
        rows = [pair for pair in found["pairs"] if pair["scenario"] == scenario]
        for pair, value in zip(rows, given_values, strict=True):
            pair["value"] = value
    return found


def test_differences_are_paired_and_weighted() -> None:
    found = compare(GOOD, POOR, ("good", "poor"))
    assert [(each.code, each.estimate.value) for each in found.behaviors] == [
        ("P1-B1", pytest.approx(0.5)),
        ("P4-B2", pytest.approx(0.2)),
    ]
    assert found.overall.estimate.value == pytest.approx((8 * 0.5 + 6 * 0.2) / 14)
    assert found.overall.first == 1
    assert found.overall.second == pytest.approx((8 * 0.5 + 6 * 0.8) / 14)
    assert [each.code for each in found.pillars] == ["P1", "P4"]
    assert (found.pairs, found.dropped, found.names) == (22, 0, ("good", "poor"))
    assert found.overall.estimate.n_meanings == 22
    assert found.detectable is not None
    assert found.overall.estimate.se is not None
    assert 2.8 < found.detectable / found.overall.estimate.se < 4
    assert "The 4 tested rows below it are one family" in found.rule
    assert "95% for each row alone" in found.rule


def test_the_other_way_round_is_the_negative() -> None:
    there, back = compare(GOOD, POOR).overall.estimate, compare(POOR, GOOD).overall.estimate
    assert there.value is not None
    assert there.low is not None
    assert (back.value, back.high) == (pytest.approx(-there.value), pytest.approx(-there.low))
    assert compare(GOOD, POOR).overall.differs is True
    assert compare(GOOD, POOR).behaviors[1].differs is False


def test_a_run_is_not_tested_against_itself() -> None:
    same = compare(POOR, POOR)
    assert same.overall.estimate.value == 0
    assert (same.overall.differs, same.detectable) == (None, None)
    assert "every message alike" in same.overall.reason
    assert same.floors == ()


def test_two_messages_give_no_verdict() -> None:
    """They gave an interval without width that left out 0, and "differs"."""
    first, second = with_values(GOOD, {}), with_values(GOOD, {"P1-B1-S1": [0.0] * 12})
    for each in (first, second):
        each["pairs"] = each["pairs"][:2]
    overall = compare(first, second).overall
    assert (overall.estimate.value, overall.estimate.n_meanings) == (1.0, 2)
    assert (overall.p, overall.p_adjusted, overall.differs) == (None, None, None)
    assert overall.reason == "2 distinct messages; nothing is tested below 10"


def test_one_difference_in_every_message_gives_no_verdict() -> None:
    """Twenty-two messages alike: the interval has no width, whatever their number."""
    found = compare(GOOD, run([0.0] * 22))
    assert {each.estimate.se for each in (found.overall, *below(found))} == {0.0}
    assert {each.differs for each in (found.overall, *below(found))} == {None}
    assert "no variation to test against" in found.overall.reason
    assert found.detectable is None


def test_the_minimum_counts_messages_and_not_pairs() -> None:
    first, second = copy.deepcopy(GOOD), copy.deepcopy(POOR)
    for each in (first, second):
        each["pairs"][12]["meaning"] = each["pairs"][13]["meaning"]
    row = compare(first, second).behaviors[1]
    assert (row.estimate.n_pairs, row.estimate.n_meanings, row.differs) == (10, 9, None)
    assert row.reason == "9 distinct messages; nothing is tested below 10"
    # the same message in two behaviors is one message
    for each in (first, second):
        each["pairs"][12]["meaning"] = each["pairs"][0]["meaning"]
    assert compare(first, second).overall.estimate.n_meanings == 21


def test_rows_below_the_overall_one_are_corrected_by_hand() -> None:
    """Four tests: pillars and behaviors are the same two differences here, so p is multiplied by 4, 3, 2 and 1."""
    found = compare(GOOD, POOR)
    one, two = (found.behaviors[at].p or 0.0 for at in (0, 1))
    assert one < 0.0125 < 0.05 < two
    assert [row.p for row in found.pillars] == [one, two]
    assert [row.p_adjusted for row in below(found)] == [pytest.approx(value) for value in (4 * one, 2 * two, 4 * one, 2 * two)]
    assert (found.overall.p, found.overall.differs) == (found.overall.p_adjusted, True)


def test_an_interval_that_leaves_out_zero_is_not_a_difference_below_the_overall_row() -> None:
    """It said "differs": of comparisons of equal models 57% showed a behavior that did."""
    first, second = copy.deepcopy(GOOD), with_values(GOOD, {"P1-B1-S1": [0.0, 0.0, 0.0, 0.0] + [1.0] * 8})
    row = compare(first, second).behaviors[0]
    assert row.estimate.low is not None
    assert row.estimate.low > 0
    assert row.p is not None
    assert row.p < 0.05 < (row.p_adjusted or 0)
    assert row.differs is False


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]), st.sampled_from([0.0, 0.5]))
def test_every_verdict_follows_from_the_adjusted_p(seed: int, missing: float, shift: float) -> None:
    drawn, runs = random.Random(seed), [sample_scores() | {"format": FORMAT} for _ in range(2)]
    for at, each in enumerate(runs):
        for pair in each["pairs"]:
            pair["value"] = None if drawn.random() < missing else drawn.choice((-1.0, 0.0, 1.0)) + shift * at
    found = compare(*runs)
    tested = [row for row in below(found) if row.p is not None]
    assert [row.p_adjusted for row in tested] == pytest.approx(holm([row.p or 0.0 for row in tested]))
    for row in (found.overall, *below(found)):
        assert (row.p is None) == (row.differs is None) == (row.p_adjusted is None) == bool(row.reason)
        assert row.p is None or row.p == intervals.p_value(row.estimate)
        assert row.p is None or row.estimate.n_meanings >= MINIMUM
        assert row.differs is None or row.differs == ((row.p_adjusted or 0.0) <= 0.05)
        assert row.p is None or (row.p_adjusted or 0.0) >= row.p


def test_what_is_withheld_in_one_run_is_not_compared() -> None:
    second = copy.deepcopy(POOR)
    second["behaviors"][0]["score"] |= {"value": None, "low": None, "high": None, "note": "40% of it was scored"}
    found = compare(GOOD, second, ("good", "poor"))
    row = found.behaviors[0]
    assert (row.first, row.second, row.estimate.value, row.differs) == (None, None, None, None)
    assert row.reason == row.estimate.note == "poor: 40% of it was scored"
    assert found.behaviors[1].p is not None
    assert "The 3 tested rows" in found.rule


def test_only_pairs_that_both_scored_are_compared() -> None:
    found = compare(GOOD, run([1.0] * 22, skip=PAIRS[0][0]))
    assert (found.pairs, found.dropped) == (21, 1)
    assert found.overall.estimate.value == 0


def test_other_conditions_are_not_compared() -> None:
    first, second = copy.deepcopy(GOOD), copy.deepcopy(POOR)
    for pair in (*first["pairs"][6:], *second["pairs"][6:]):
        pair["headline"] = False
    assert compare(first, second).pairs == 6


def test_nothing_in_common_has_no_difference() -> None:
    empty = json.loads(json.dumps(to_json(scored(CASES, [], JudgeInfo("judge", "family")))))
    found = compare(GOOD, empty)
    assert (found.pairs, found.overall.estimate.value, found.overall.differs, found.detectable) == (0, None, None, None)


def test_states_that_differ_are_named() -> None:
    other = copy.deepcopy(POOR)
    other["floors"][0]["status"] = "breached"
    found = compare(GOOD, other).floors
    named = {(each.slug, each.first, each.second) for each in found}
    assert ("dangerous-reply", "not_shown", "breached") in named


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("benchmark_version", "different dataset versions"),
        ("dataset_sha256", "different authored datasets under one version"),
        ("criteria_version", "different versions of the criteria"),
        ("criteria_sha256", "different criteria under one version"),
        ("scoring_sha256", "different numbers in scoring.yaml under one version"),
        ("numbers_sha256", "different arithmetic of scoring under one version"),
        ("rubric_version", "different versions of the judge prompt"),
        ("rubric_sha256", "different judge prompts under one version"),
        ("content_sha256", "different contents"),
        ("scoring_version", "different scoring versions"),
        ("design", "different designs"),
        ("cases_sha256", "different cases"),
        ("draws", "different numbers of draws"),
        ("panel", "different panels"),
    ],
)
def test_different_versions_are_refused_with_a_sentence(field: str, message: str) -> None:
    other = copy.deepcopy(GOOD)
    other["provenance"][field] = "other"
    with pytest.raises(ScoringError, match=rf"^a and b have {message} .*: not comparable\.$"):
        compare(GOOD, other, ("a", "b"))


def test_different_judges_and_formats_are_refused() -> None:
    with pytest.raises(ScoringError, match=r"different judges \(judge and none\)"):
        compare(GOOD, run_without_judges())
    with pytest.raises(ScoringError, match="different judges"):
        compare(GOOD, run([1.0] * 22, judge="another"))
    with pytest.raises(ScoringError, match=rf"^second is not a scores file of format {FORMAT}"):
        compare(GOOD, GOOD | {"format": FORMAT - 1})


def test_every_version_and_hash_of_the_provenance_must_agree() -> None:
    named = {name for name in GOOD["provenance"] if name.endswith(("version", "sha256"))}
    assert named == {field for field, _ in MUST_AGREE} - {"design", "draws", "panel"}


@pytest.mark.parametrize(
    ("field", "other", "message"),
    [
        (
            "mode",
            "evidence",
            r"^The judge judge of a and b was asked in different modes \(fast and evidence\): not",
        ),
        ("model_sha256", "other", r"^The judge judge is another model in a than in b: not comparable\.$"),
    ],
)
def test_one_judge_asked_in_another_way_is_refused(field: str, other: str, message: str) -> None:
    first, second = copy.deepcopy(GOOD), copy.deepcopy(POOR)
    for found in (first, second):
        found["provenance"]["judges"][0] |= {"mode": "fast", "model_sha256": "m"}
    assert compare(first, second).pairs == 22
    second["provenance"]["judges"][0][field] = other
    with pytest.raises(ScoringError, match=message):
        compare(first, second, ("a", "b"))


def run_without_judges() -> dict[str, Any]:
    found = copy.deepcopy(GOOD)
    found["provenance"]["judges"] = []
    return found
