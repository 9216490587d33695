"""Two runs on the same cells."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from helmbench_hf.records import Case, JudgeInfo, Verdict
from helmbench_hf.scoring.compare import MUST_AGREE, RANK_RULE, compare
from helmbench_hf.scoring.result import FORMAT, to_json
from helmbench_hf.scoring.verdicts import ScoringError
from tests.scoring.build import answer, engine_failure, scored, twins

PAIRS = [twins("P1-B1-S1", number, severity=8) for number in range(1, 7)] + [twins("P4-B2-S1", n) for n in (1, 2, 3)]
CASES = [one for pair in PAIRS for one in pair]


def run(right: list[float], *, skip: Case | None = None, judge: str = "judge") -> dict[str, Any]:
    verdicts: list[Verdict] = []
    for (a, b), mark in zip(PAIRS, right, strict=True):
        verdicts += engine_failure(a) if a is skip else answer(a, target=mark)
        verdicts += answer(b, target=0)
    found: dict[str, Any] = json.loads(json.dumps(to_json(scored(CASES, verdicts, JudgeInfo(judge, "family")))))
    return found


GOOD, POOR = run([1.0] * 9), run([1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0])


def test_differences_are_paired_and_weighted() -> None:
    found = compare(GOOD, POOR, ("good", "poor"))
    assert [(each.code, each.estimate.value) for each in found.behaviors] == [
        ("P1-B1", pytest.approx(0.5)),
        ("P4-B2", pytest.approx(1 / 3)),
    ]
    assert found.overall.estimate.value == pytest.approx((8 * 0.5 + 6 / 3) / 14)
    assert found.overall.first == 1
    assert found.overall.second == pytest.approx((8 * 0.5 + 6 * 2 / 3) / 14)
    assert [each.code for each in found.pillars] == ["P1", "P4"]
    assert (found.pairs, found.dropped, found.names) == (9, 0, ("good", "poor"))
    assert found.overall.estimate.n_meanings == 9
    assert found.detectable is not None
    assert found.overall.estimate.se is not None
    assert 2.8 < found.detectable / found.overall.estimate.se < 4
    assert found.rank_rule == RANK_RULE


def test_the_other_way_round_is_the_negative() -> None:
    there, back = compare(GOOD, POOR).overall.estimate, compare(POOR, GOOD).overall.estimate
    assert there.value is not None
    assert there.low is not None
    assert (back.value, back.high) == (pytest.approx(-there.value), pytest.approx(-there.low))
    assert compare(GOOD, POOR).overall.differs is True
    assert compare(GOOD, POOR).behaviors[1].differs is False


def test_a_run_does_not_differ_from_itself() -> None:
    same = compare(POOR, POOR)
    assert same.overall.estimate.value == 0
    assert same.overall.differs is False
    assert same.floors == ()


def test_only_pairs_that_both_scored_are_compared() -> None:
    found = compare(GOOD, run([1.0] * 9, skip=PAIRS[0][0]))
    assert (found.pairs, found.dropped) == (8, 1)
    assert found.overall.estimate.value == 0


def test_other_conditions_are_not_compared() -> None:
    first, second = copy.deepcopy(GOOD), copy.deepcopy(POOR)
    for pair in first["pairs"][6:]:
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
        compare(GOOD, run([1.0] * 9, judge="another"))
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
    assert compare(first, second).pairs == 9
    second["provenance"]["judges"][0][field] = other
    with pytest.raises(ScoringError, match=message):
        compare(first, second, ("a", "b"))


def run_without_judges() -> dict[str, Any]:
    found = copy.deepcopy(GOOD)
    found["provenance"]["judges"] = []
    return found
