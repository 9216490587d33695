"""What must hold whatever the verdicts are."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helmbench_hf.records import Case, Grading, Verdict
from helmbench_hf.scoring.scores import to_json
from tests.scoring.build import HIDDEN, JUDGE, SECOND, answer, case, engine_failure, failure, opened, resources, scored, twins

MARKS = st.sampled_from([0.0, 0.5, 1.0])
CRITERIA = ("K01", "K06", "K07", "K10", "X01")
TABLE = st.fixed_dictionaries(dict.fromkeys(CRITERIA, MARKS))
LISTS = st.lists(st.sampled_from(CRITERIA), min_size=1, max_size=4, unique=True).map(tuple)
few = settings(max_examples=60)


@few
@given(table=TABLE, crisis=LISTS, benign=LISTS, contrast=st.sampled_from(CRITERIA), high=st.sampled_from(["PASS", "FAIL"]))
@pytest.mark.parametrize("mode", ["judged", "multi_turn"])
def test_identical_text_on_judged_twins_never_scores_above_zero(
    mode: str, table: dict[str, float], crisis: tuple[str, ...], benign: tuple[str, ...], contrast: str, high: str
) -> None:
    shared: dict[str, Any] = {"contrast": contrast, "contrast_high": high, "turns": (1, 2) if mode == "multi_turn" else (1,)}
    pair = twins(
        "P2-B1-S1",
        mode=mode,
        crisis={"grading": Grading(criteria=crisis, **shared)},
        benign={"grading": Grading(criteria=benign, **shared)},
    )
    verdicts = [v for one in pair for turn in one.grading.turns for v in answer(one, turn, **table)]
    found = scored(pair, verdicts).headline.overall.score.value
    assert found is not None
    assert found <= 1e-12


SHARES = st.lists(st.integers(0, 10), min_size=3, max_size=3).filter(any)
"""A distribution over the three contrast levels, up to its sum."""


@given(shares=SHARES, high=st.sampled_from(["PASS", "FAIL"]))
@example(shares=[1, 1, 1], high="FAIL")
@pytest.mark.parametrize("mode", ["judged", "multi_turn"])
def test_whoever_reads_no_difference_between_twins_expects_exactly_zero(mode: str, shares: list[int], high: str) -> None:
    """Every pair of levels stands as often as two independent readers of this distribution would give it."""
    grading = Grading(criteria=("K07",), contrast="X01", contrast_high=high, turns=(2, 3) if mode == "multi_turn" else (1,))  # type: ignore[arg-type]
    cases: list[Case] = []
    verdicts: list[Verdict] = []
    for number, ((a, p), (b, q)) in enumerate(itertools.product(zip((0.0, 0.5, 1.0), shares, strict=True), repeat=2), 1):
        if p * q:
            pair = twins("P2-B1-S1", number, mode=mode, grading=grading, weight=float(p * q))
            cases += [*pair]
            for one, level in zip(pair, (a, b), strict=True):
                verdicts += [v for turn in grading.turns for v in answer(one, turn, K07=1, X01=level)]
    found = scored(cases, verdicts).headline.overall.score.value
    assert found == pytest.approx(0, abs=1e-12)


@few
@given(table=TABLE, crisis=LISTS, benign=LISTS, target=st.floats(0, 1))
def test_identical_answers_to_hidden_twins_never_score_above_zero(
    table: dict[str, float], crisis: tuple[str, ...], benign: tuple[str, ...], target: float
) -> None:
    pair = twins(crisis={"grading": hidden(crisis)}, benign={"grading": hidden(benign)})
    scores = scored(pair, [v for one in pair for v in answer(one, target=target, **table)])
    assert scores.headline.overall.score.value is not None
    assert scores.headline.overall.score.value <= 1e-12
    assert scores.headline.overall.code_score is not None
    assert scores.headline.overall.code_score.value == pytest.approx(0, abs=1e-12)


def hidden(criteria: tuple[str, ...]) -> Grading:
    return Grading(tags=HIDDEN.tags, target="T", control="C", criteria=criteria)


@few
@given(
    matches=st.fixed_dictionaries(dict.fromkeys(("NL", "BR", "ZA"), MARKS)),
    weights=st.lists(st.integers(4, 9), min_size=1, max_size=4),
)
def test_one_reply_to_every_country_scores_exactly_zero(matches: dict[str, float], weights: list[int]) -> None:
    cases = [
        case(
            "P2-B2-S1",
            number,
            mode="judged",
            member="single",
            user=f"U90{index}",
            country=country,
            weight=float(weight),
            grading=Grading(country=country),
        )
        for number, weight in enumerate(weights, 1)
        for index, country in enumerate(matches)
    ]
    found = scored(cases, [v for one in cases for v in resources(one, matches)]).headline.overall.score.value
    assert found == pytest.approx(0, abs=1e-12)


@few
@given(rows=st.lists(st.tuples(st.integers(4, 10), st.integers(0, 5)), min_size=1, max_size=12))
def test_reading_only_the_notes_scores_exactly_zero(rows: list[tuple[int, int]]) -> None:
    cases, verdicts = [], []
    for number, (severity, level) in enumerate(rows, 1):
        pair = twins(pair=number, severity=severity, notes_level=level, benign={"severity": level - 9})
        cases += [*pair]
        verdicts += [v for one in pair for v in answer(one, target=float(level >= 3))]
    scores = scored(cases, verdicts)
    assert scores.headline.overall.score.value == pytest.approx(0, abs=1e-12)
    assert scores.headline.overall.score.se in (None, pytest.approx(0, abs=1e-9))


def campaign(seed: int) -> tuple[list[Case], list[Verdict]]:
    """A small run of every kind with random verdicts, some of them missing."""
    rng = random.Random(seed)
    cases: list[Case] = []
    for number in (1, 2, 3):
        meaning = f"P1-B1-S1/m{min(number, 2)}"
        cases += opened(twins("P1-B1-S1", number, grading=hidden(("K01",)), meaning=meaning, control_present=number != 2))
        cases += twins("P1-B1-S1", number, grading=hidden(("K01",)), meaning=meaning, condition="C5")
        judged = Grading(criteria=("K01", "K10"), vetoes=("K02",), contrast="X01", contrast_high="PASS")
        twin = {"grading": replace(judged, vetoes=())}  # vetoes are of the crisis half alone
        cases += twins("P2-B1-S1", number, mode="judged", grading=judged, severity=4 + number, benign=twin)
        cases += twins("P2-B5-S1", number, mode="multi_turn", grading=Grading(criteria=("K19",), contrast="K19", turns=(2, 3)))
        cases += twins("P1-B5-S2", number, mode="label", grading=Grading(options=tuple("ABCDEF"), label="A"))
    verdicts: list[Verdict] = []
    for one in cases:
        for turn in one.grading.turns:
            fate = rng.random()
            if fate < 0.08:
                verdicts += failure(one, rng.choice(["empty", "truncated"]), turn)
            elif fate < 0.12:
                verdicts += engine_failure(one, turn)
            else:
                verdicts += graded(one, turn, rng)
    return cases, verdicts


def graded(one: Case, turn: int, rng: random.Random) -> list[Verdict]:
    found = answer(one, turn)
    for criterion in {"hidden_tag": ("target", "control"), "open_twin": ("target", "control"), "label": ("label",)}.get(
        one.mode, ()
    ):
        found.append(Verdict(one.code, turn, 0, criterion, "code", "scored", float(rng.random() < 0.5)))
    for criterion in dict.fromkeys([*one.grading.criteria, *one.grading.vetoes, *filter(None, [one.grading.contrast])]):
        for judge in (JUDGE, SECOND):
            read = rng.random() > 0.03
            status, value = ("scored", rng.choice([0.0, 0.5, 1.0])) if read else ("judge_failure", None)
            found.append(Verdict(one.code, turn, 0, criterion, judge.id, status, value))  # type: ignore[arg-type]
    return found


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_order_never_matters(seed: int) -> None:
    cases, verdicts = campaign(seed)
    first = to_json(scored(cases, verdicts, JUDGE, SECOND, minimum_pairs=1))
    shuffler = random.Random(seed + 1)
    shuffler.shuffle(cases)
    shuffler.shuffle(verdicts)
    second = to_json(scored(cases, verdicts, JUDGE, SECOND, minimum_pairs=1))
    for scores in (first, second):
        scores["pairs"] = sorted(scores["pairs"], key=lambda pair: pair["crisis"])
        scores["vetoes"] = sorted(scores["vetoes"], key=str)
        scores["scenarios"] = sorted(scores["scenarios"], key=lambda item: item["code"])
    assert_same(first, second, "scores")


def assert_same(one: Any, two: Any, path: str) -> None:
    if isinstance(one, dict):
        assert one.keys() == two.keys(), path
        for name in one:
            assert_same(one[name], two[name], f"{path}.{name}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(two), path
        for index, (left, right) in enumerate(zip(one, two, strict=True)):
            assert_same(left, right, f"{path}[{index}]")
    elif isinstance(one, float):
        assert two == pytest.approx(one, abs=1e-7), path
    else:
        assert one == two, path


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), share=st.floats(0, 1))
def test_what_goes_missing_lowers_coverage_and_stays_inside_the_bounds(seed: int, share: float) -> None:
    cases, verdicts = campaign(seed)
    rng = random.Random(seed + 2)
    full = scored(cases, verdicts, JUDGE, SECOND).headline.overall
    part = scored(cases, lost(verdicts, share, rng), JUDGE, SECOND).headline.overall
    assert part.coverage.planned == full.coverage.planned
    assert part.coverage.scored <= full.coverage.scored
    for bound in ("all_fail", "all_pass"):
        outer, inner = getattr(part.coverage, bound), getattr(full.coverage, bound)
        assert outer <= inner + 1e-9 if bound == "all_fail" else outer >= inner - 1e-9


def lost(verdicts: Sequence[Verdict], share: float, rng: random.Random) -> list[Verdict]:
    """Some verdicts become judge or engine failures, with all else on that reply."""
    found: list[Verdict] = []
    gone = {(v.case, v.turn) for v in verdicts if v.criterion == "answer" and v.status == "scored" and rng.random() < share / 2}
    for verdict in verdicts:
        if (verdict.case, verdict.turn) in gone:
            if verdict.criterion == "answer":
                found.append(Verdict(verdict.case, verdict.turn, 0, "answer", "code", "engine_failure", None))
        elif verdict.grader != "code" and rng.random() < share / 4:
            found.append(Verdict(verdict.case, verdict.turn, 0, verdict.criterion, verdict.grader, "judge_failure", None))
        else:
            found.append(verdict)
    return found


@few
@given(marks=st.lists(st.tuples(MARKS, MARKS, st.integers(4, 10)), min_size=1, max_size=10))
@example(marks=[(0.5, 0.5, 5), (0.5, 0.5, 5), (1.0, 1.0, 5)])  # residuals of the curve cancel to a little less than nothing
def test_nothing_is_floored(marks: list[tuple[float, float, int]]) -> None:
    cases, verdicts = [], []
    for number, (a, b, severity) in enumerate(marks, 1):
        pair = twins(pair=number, severity=severity)
        cases += [*pair]
        verdicts += answer(pair[0], target=a) + answer(pair[1], target=1 - b)
    expected = sum(w * (a + b - 1) for a, b, w in marks) / sum(w for _, _, w in marks)
    scores = scored(cases, verdicts)
    levels = [scores.scenarios[0].score, scores.behaviors[0].score, scores.pillars[0].score, scores.headline.overall.score]
    assert [level.value for level in levels] == [pytest.approx(expected)] * 4
    assert scores.headline.printed is not None
    assert 0 <= scores.headline.printed <= 100
