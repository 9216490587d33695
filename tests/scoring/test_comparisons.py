"""Which differences stand: worked examples of both corrections, and what belongs to which family."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.content.rules import PrimaryContrast, ScoringFile
from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.comparisons import benjamini_hochberg, comparisons, holm
from helmbench_hf.scoring.result import Comparisons, Effect, Estimate, Gap
from helmbench_hf.scoring.tables import TrustRow
from helmbench_hf.scoring.tables_more import Comparison, Demographic
from tests.scoring.build import answer, benchmark, scored, twins

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)
NOTHING = Estimate(None, None, None, 0, 0)


def test_holm_by_hand() -> None:
    # 0.01 x 4, 0.02 x 3, 0.03 x 2 = 0.06 again, 0.5 x 1
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([0.6, 0.4]) == pytest.approx([0.8, 0.8])
    assert holm([]) == []


def test_benjamini_hochberg_by_hand() -> None:
    # 0.01 x 4 / 1, 0.02 x 4 / 2, 0.03 x 4 / 3, 0.5 x 4 / 4: all of the first three are 0.04
    assert benjamini_hochberg([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.04, 0.04, 0.5, 0.04])
    assert benjamini_hochberg([]) == []


@given(values=P_VALUES)
def test_a_correction_never_helps_and_keeps_the_order(values: list[float]) -> None:
    for adjusted in (holm(values), benjamini_hochberg(values)):
        assert all(after >= before - 1e-12 for before, after in zip(values, adjusted, strict=True))
        assert all(after <= 1 for after in adjusted)
        ranked = [after for _, after in sorted(zip(values, adjusted, strict=True))]
        assert ranked == pytest.approx(sorted(ranked))
    assert all(a >= b - 1e-12 for a, b in zip(holm(values), benjamini_hochberg(values), strict=True))


@given(values=P_VALUES)
def test_one_more_test_never_makes_another_easier(values: list[float]) -> None:
    more = holm([*values, 1.0])
    assert all(a >= b - 1e-12 for a, b in zip(more, holm(values), strict=False))


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


def test_what_does_not_vary_is_outside_the_family() -> None:
    flat = Effect("persona", "a", "neutral", 40, 40, Estimate(0.5, 0.5, 0.5, 40, 40, 0.0, 39.0))
    found = compared([flat, effect("b", 0.3)])
    assert found.families[1].size == 1
    assert "no variation" in rows(found)["a"].reason


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


def test_a_run_tests_what_it_holds() -> None:
    cases, verdicts = [], []
    for number in range(1, 41):
        for condition, persona in (("C1", "neutral"), ("C5", "terse-expert")):
            a, b = twins(pair=number, condition=condition, persona=persona)
            cases += [a, b]
            verdicts += answer(a, target=float(condition == "C1" or number % 4 == 0)) + answer(b, target=0)
    found = scored(cases, verdicts).comparisons
    table = {(row.factor, row.level): row for row in found.contrasts}
    assert table["persona", "terse-expert"].differs
    assert table["persona", "terse-expert"].family == "exploratory"
    assert table["gap", "asked openly"].family == "primary"
    assert table["persona", "companion"].reason == "this run holds no such pairs"
    assert found.families[0].size == 0
