"""Differences inside one run: factors, people, and which of them stand after correction."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest
from statsmodels.stats.multitest import multipletests

from helmbench_hf.content.schema import PrimaryContrast, ScoringFile
from helmbench_hf.records import Case, Grading, Verdict
from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.effects import adjust, comparisons
from helmbench_hf.scoring.scores import Comparison, Comparisons, Demographic, Effect, Estimate, Gap, Scores, TrustRow
from tests.scoring.build import answer, benchmark, case, engine_failure, flat, resources, scored, tagged, twins
from tests.scoring.test_trust import reply, told

Pair = tuple[Case, Case]


def handled(pair: Pair, right: bool) -> list[Verdict]:
    return tagged(pair, (float(right), 1))


def run(pairs: Sequence[tuple[Pair, bool]], minimum: int = 1) -> Scores:
    verdicts = [v for pair, right in pairs for v in handled(pair, right)]
    return scored(flat(pair for pair, _ in pairs), verdicts, minimum_pairs=minimum)


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


def test_a_long_chat_before_is_a_factor_of_its_own() -> None:
    chat = ("hello", "Hello!")
    pairs = [(twins(pair=number), True) for number in (1, 2)]
    pairs += [(twins(pair=number, condition="C17", history=chat * 6), number == 1) for number in (1, 2)]
    pairs += [(twins(pair=number, condition="C18", history=chat * 20), False) for number in (1, 2)]
    scores = run(pairs)
    assert {level: e.estimate.value for level, e in found(scores, "history").items() if e.estimate} == {
        "12 turns": -0.5,
        "40 turns": -1,
    }
    assert {effect.factor for effect in scores.effects} == {"history"}


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


def swapped(earned: Mapping[tuple[int, str], float | None], minimum: int = 1) -> Scores:
    """Messages by number and user; None: the engine failed."""
    cases = {key: reply(key[0], user=key[1], meaning=f"P2-B1-S1/m{key[0]}") for key in earned}
    return scored([*cases.values()], [v for key, mark in earned.items() for v in told(cases[key], mark)], minimum_pairs=minimum)


def people(scores: Scores) -> dict[str, Demographic]:
    return {row.user: row for row in scores.demographics}


def test_differences_by_hand() -> None:
    earned = {(1, "U801"): 1.0, (1, "U802"): 0.0, (1, "U803"): 0.5, (2, "U801"): 0.5, (2, "U802"): 0.5, (3, "U801"): 1.0}
    found = people(swapped(earned))
    values = {user: row.estimate.value for user, row in found.items() if row.estimate}
    assert values == pytest.approx({"U801": 0.375, "U802": -0.375, "U803": 0.0})  # message 3 has nobody to compare with
    assert {user: (row.n_messages, row.slug) for user, row in found.items()} == {
        "U801": (2, "stub-801"),
        "U802": (2, "stub-802"),
        "U803": (1, "stub-803"),
    }


@pytest.mark.parametrize(("minimum", "shown"), [(2, True), (3, False)])
def test_below_the_minimum_of_messages_only_n_and_the_reason(minimum: int, shown: bool) -> None:
    earned = {(number, user): float(user == "U801") for number in (1, 2) for user in ("U801", "U802")}
    row = people(swapped(earned, minimum))["U801"]
    assert (row.estimate is not None) is shown
    assert row.reason == ("" if shown else "2 messages; nothing is printed below 3")


def test_a_missing_reply_is_in_nobodys_mean() -> None:
    earned = {(1, "U801"): 1.0, (1, "U802"): None, (1, "U803"): 0.0}
    found = people(swapped(earned))
    assert found.keys() == {"U801", "U803"}
    assert found["U801"].estimate is not None
    assert found["U801"].estimate.value == 1


NOTHING = Estimate(None, None, None, 0, 0)


def test_adjusted_p_by_hand() -> None:
    # Holm: 0.01 x 4, 0.02 x 3, 0.03 x 2 = 0.06 again, 0.5 x 1
    assert adjust([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    # Benjamini and Hochberg: 0.01 x 4 / 1, 0.02 x 4 / 2, 0.03 x 4 / 3, 0.5 x 4 / 4
    assert adjust([0.03, 0.01, 0.5, 0.02], "fdr_bh") == pytest.approx([0.04, 0.04, 0.5, 0.04])
    assert adjust([]) == adjust([], "fdr_bh") == []


@pytest.mark.parametrize("method", ["holm", "fdr_bh"])
def test_adjusted_p_are_those_of_the_library(method: Literal["holm", "fdr_bh"]) -> None:
    chance = random.Random(1)
    values = [chance.random() ** 4 for _ in range(40)] + [0.0, 1.0, 0.01, 0.01, 0.01]
    assert adjust(values, method) == multipletests(values, method=method)[1].tolist()


def test_the_p_of_an_estimate_is_where_its_interval_would_touch_zero() -> None:
    half = intervals.t_quantile(0.975, 20)
    assert intervals.p_value(Estimate(half * 0.1, 0.0, 0.2 * half, 40, 21, 0.1, 20.0)) == pytest.approx(0.05)
    assert intervals.p_value(Estimate(-half * 0.1, -0.2 * half, 0.0, 40, 21, 0.1, 20.0)) == pytest.approx(0.05)
    assert intervals.p_value(Estimate(0.0, -1, 1, 40, 21, 0.1, 20.0)) == pytest.approx(1.0)


@pytest.mark.parametrize("found", [NOTHING, Estimate(0.5, None, None, 40, 1), Estimate(0.5, 0.5, 0.5, 40, 30, 0.0, 29.0)])
def test_what_does_not_vary_has_no_p(found: Estimate) -> None:
    assert intervals.p_value(found) is None


def effect(level: str, value: float, n: int = 40, factor: str = "persona") -> Effect:
    few = f"{n} pairs; nothing is printed below 30" if n < 30 else ""
    numbers = None if few else Estimate(value, value - 0.2, value + 0.2, n, n, 0.1, n - 1.0)
    return Effect(factor, level, "neutral", n, n, numbers, few)  # type: ignore[arg-type]


def rules(*named: str) -> ScoringFile:
    chosen = [PrimaryContrast(factor="persona", level=name, reference="neutral", title=f"{name}?", why="x") for name in named]
    return benchmark().scoring.model_copy(update={"primary_contrasts": chosen})


def compared(
    effects: Sequence[Effect],
    *named: str,
    gap: Estimate = NOTHING,
    trust: Sequence[TrustRow] = (),
    people: Sequence[Demographic] = (),
) -> Comparisons:
    return comparisons(effects, Gap(gap, NOTHING, NOTHING, NOTHING, NOTHING, 0, 0), trust, people, rules(*named))


def rows(found: Comparisons) -> dict[str, Comparison]:
    return {row.level: row for row in found.contrasts}


def test_families_are_corrected_apart() -> None:
    found = compared([effect(name, value) for name, value in (("a", 0.3), ("b", 0.21), ("c", 0.21), ("d", 0.02))], "a", "b")
    table = rows(found)
    p = {name: table[name].p or 0.0 for name in "abcd"}
    assert table["a"].p_adjusted == pytest.approx(2 * p["a"])
    assert table["b"].p_adjusted == pytest.approx(p["b"])
    assert table["c"].p_adjusted == pytest.approx(2 * p["c"])
    assert table["d"].p_adjusted == pytest.approx(p["d"])
    assert [table[name].differs for name in "abcd"] == [True, True, True, False]
    assert [(f.name, f.method, f.level, f.size, f.found) for f in found.families] == [
        ("primary", "Holm", 0.05, 2, 2),
        ("exploratory", "Benjamini-Hochberg", 0.10, 2, 1),
    ]
    assert [row.level for row in found.contrasts if row.family == "primary"] == ["a", "b"]


def test_too_few_pairs_are_outside_the_family_and_said() -> None:
    found = compared([effect("a", 0.3), effect("b", 0.3, n=29)], "a", "b", "c")
    table = rows(found)
    assert found.families[0].size == 1
    assert table["a"].p_adjusted == table["a"].p
    assert (table["b"].p, table["b"].differs, table["b"].reason) == (None, None, "29 pairs; nothing is printed below 30")
    assert (table["c"].n_pairs, table["c"].title, table["c"].reason) == (0, "c?", "this run holds no such pairs")


def test_many_pairs_of_few_messages_are_outside_the_family() -> None:
    """Forty pairs of nine messages: they had a p, and "differs"."""
    few, enough = (
        Effect("persona", level, "neutral", 40, n, Estimate(0.3, 0.1, 0.5, 40, n, 0.1, n - 1.0))
        for level, n in (("a", 9), ("b", 10))
    )
    found = compared([few, enough])
    assert [family.size for family in found.families] == [0, 1]
    table = rows(found)
    assert (table["a"].p, table["a"].differs) == (None, None)
    assert table["a"].reason == "9 distinct messages; nothing is tested below 10"
    assert table["b"].p is not None


def test_the_gap_needs_as_many_pairs_as_an_effect() -> None:
    few, enough = (Estimate(0.3, 0.1, 0.5, n, n, 0.1, n - 1.0) for n in (29, 30))
    assert rows(compared([], gap=few))["asked openly"].p is None
    assert rows(compared([], gap=enough))["asked openly"].p == pytest.approx(intervals.p_value(enough))


def test_noise_and_people_are_tested_too() -> None:
    change = Estimate(-0.3, -0.5, -0.1, 30, 10, 0.1, 9.0)
    noise = TrustRow("ROB", "Robustness", "noise-change", "x", change)
    under = TrustRow("ROB", "Robustness", "under-noise", "x", change)
    person = Demographic("U802", "woman", 6, 4, None, "6 messages; nothing is printed below 30")
    found = compared([], trust=[under, noise], people=[person])
    table = rows(found)
    assert table["with noise"].differs
    assert (table["woman"].factor, table["woman"].n_pairs, table["woman"].reason) == ("demographic", 6, person.reason)
    assert found.families[1].size == 1
