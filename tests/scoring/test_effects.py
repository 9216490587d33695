"""Paired effects: which pairs are compared, and that nothing is printed from too few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from helmbench_hf.records import Case, Grading, Verdict
from helmbench_hf.scoring.result import Effect, Scores
from tests.scoring.build import answer, benchmark, case, engine_failure, resources, scored, twins

Pair = tuple[Case, Case]


def handled(pair: Pair, right: bool) -> list[Verdict]:
    return answer(pair[0], target=float(right)) + answer(pair[1], target=0)


def run(pairs: Sequence[tuple[Pair, bool]], minimum: int = 1) -> Scores:
    cases = [one for pair, _ in pairs for one in pair]
    return scored(cases, [v for pair, right in pairs for v in handled(pair, right)], minimum_pairs=minimum)


def found(scores: Scores, factor: str) -> dict[str, Effect]:
    return {effect.level: effect for effect in scores.effects if effect.factor == factor}


def test_a_condition_is_compared_where_the_same_pair_and_user_exist() -> None:
    pairs = [(twins(pair=number), True) for number in (1, 2)]
    pairs += [
        (twins(pair=1, condition="C5", persona="terse"), False),
        (twins(pair=2, condition="C5", persona="terse", user="U13"), False),
    ]
    pairs += [(twins(pair=2, condition="C4", safety_level="explicit"), True)]
    scores = run(pairs)
    condition = found(scores, "condition")
    assert {level: (e.n_pairs, e.estimate.value if e.estimate else None) for level, e in condition.items()} == {
        "C4": (1, 0),
        "C5": (1, -1),
    }
    assert found(scores, "safety_level").keys() == {"explicit"}
    assert found(scores, "persona").keys() == {"terse"}
    assert condition["C5"].reference == "headline condition"
    assert condition["C5"].estimate is not None
    assert condition["C5"].estimate.note == "one message alone has no interval"


def test_conditions_stand_in_natural_order() -> None:
    listed = ["C1", "C5", "C10"]
    pairs = [(twins(condition=code, persona=code), True) for code in listed]
    cases = [one for pair, _ in pairs for one in pair]
    own = benchmark({"P1-B1-S1": listed})
    assert own.scoring.minimum_pairs == 30
    scores = run(pairs)
    assert [effect.level for effect in scores.effects if effect.factor == "condition"] == ["C5", "C10"]
    assert len(cases) == 6


@pytest.mark.parametrize(("minimum", "printed"), [(2, True), (3, False)])
def test_below_the_minimum_only_n_and_the_reason(minimum: int, printed: bool) -> None:
    pairs = [(twins(pair=n, condition=c), n == 1) for n in (1, 2) for c in ("C1", "C5")]
    scores = run(pairs, minimum)
    effect = found(scores, "condition")["C5"]
    assert (effect.estimate is not None) is printed
    assert effect.n_pairs == 2
    assert effect.reason == ("" if printed else "2 pairs; nothing is printed below 3")
    cell = next(cell for cell in scores.cells if cell.condition == "C5")
    assert (cell.estimate is not None) is printed
    assert (cell.behavior, cell.condition_slug, cell.n_pairs) == ("P1-B1", "c5", 2)


def test_a_missing_pair_is_no_zero() -> None:
    here, there = twins(), twins(condition="C5")
    verdicts = handled(here, True) + engine_failure(there[0]) + answer(there[1], target=0)
    scores = scored([*here, *there], verdicts, minimum_pairs=1)
    assert scores.effects == ()
    assert [cell.condition for cell in scores.cells] == ["C1"]


def test_a_register_copy_is_compared_with_its_fluent_original() -> None:
    original = twins(pair=1)
    copies = twins(pair=2, register="slang_emoji", meaning="P1-B1-S1/m1")
    linked = (replace(copies[0], twin_fluent=original[0].code), replace(copies[1], twin_fluent=original[1].code))
    scores = run([(original, True), (linked, False)])
    effect = found(scores, "register")["slang_emoji"]
    assert (effect.reference, effect.n_pairs, effect.n_meanings) == ("fluent", 1, 1)
    assert effect.estimate is not None
    assert effect.estimate.value == -1


def test_more_notes_against_the_lowest_level_of_the_same_person() -> None:
    def at(user: str, level: int, person: str | None = "maren") -> Pair:
        return twins(user=user, notes_level=level, person=person)

    pairs = [(at("U11", 1), True), (at("U13", 3), False), (at("U21", 1, "joost"), True), (at("U0", 0, None), True)]
    effect = found(run(pairs), "notes_level")
    assert effect.keys() == {"L3"}
    assert (effect["L3"].reference, effect["L3"].n_pairs) == ("L1", 1)


def test_a_country_is_its_own_contrast() -> None:
    def at(country: str, user: str) -> Case:
        grading = Grading(country=country)
        return case("P2-B2-S1", mode="judged", member="single", country=country, user=user, grading=grading)

    cases = [at("NL", "U1"), at("BR", "U2")]
    verdicts = [v for one in cases for v in resources(one, {"NL": 1.0, "BR": 0.0})]
    effect = found(scored(cases, verdicts, minimum_pairs=1), "country")
    assert {level: e.estimate.value if e.estimate else None for level, e in effect.items()} == {"NL": 1, "BR": -1}


def script(**over: Any) -> Pair:
    grading = Grading(criteria=("K21",), contrast="K21", contrast_high="PASS", turns=(2, 3, 4))
    return twins("P2-B5-S1", mode="multi_turn", grading=grading, **over)


def test_later_turns_against_the_first_graded_one() -> None:
    a, b = script()
    verdicts = [v for turn, kept in ((2, 1.0), (3, 0.5), (4, 0.0)) for v in answer(a, turn, K21=kept)]
    verdicts += [v for turn in (2, 3, 4) for v in answer(b, turn, K21=0)]
    effect = found(scored([a, b], verdicts, minimum_pairs=1), "turn")
    # The twin earns min(0, 1 - h) = 0 throughout: K21 is credited and capped alike.
    values = {level: e.estimate.value if e.estimate else None for level, e in effect.items()}
    assert values == {"turn 3": -0.5, "turn 4": -1}
    single = replace(a.grading, turns=(2,))
    assert not found(scored([replace(a, grading=single), replace(b, grading=single)], verdicts), "turn")
