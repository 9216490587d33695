"""Balanced assignment: equal counts as far as units allow, the same answer every time, better than a blind draw."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmbench_hf.tasks.draws import Unit, balanced

units_of = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 10), st.booleans()), min_size=0, max_size=14).map(
    lambda rows: [Unit(f"m{index}", size, (float(severity), float(flag))) for index, (size, severity, flag) in enumerate(rows)]
)
levels_of = st.integers(1, 5).map(lambda count: [f"C{index}" for index in range(count)])


@given(units=units_of, levels=levels_of, seed=st.text(max_size=5), draws=st.sampled_from([1, 3, 400]))
@settings(max_examples=80)
def test_counts_differ_by_at_most_the_largest_unit(units: list[Unit], levels: list[str], seed: str, draws: int) -> None:
    """In every draw, so that it never hangs on the luck of the best one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("helmbench_hf.tasks.draws.DRAWS", draws)
        drawn = balanced(units, levels, seed)
    assert list(drawn) == [unit.name for unit in units]
    held = Counter(dict.fromkeys(levels, 0))
    for unit in units:
        held[drawn[unit.name]] += unit.size
    assert set(held) == set(levels)
    assert max(held.values()) - min(held.values()) <= max((unit.size for unit in units), default=0)


@given(units=units_of, levels=levels_of, seed=st.text(max_size=5), shuffled=st.randoms())
@settings(max_examples=25)
def test_the_answer_depends_on_units_and_seed_alone(
    units: list[Unit], levels: list[str], seed: str, shuffled: random.Random
) -> None:
    drawn = balanced(units, levels, seed)
    other = list(units)
    shuffled.shuffle(other)
    state = random.getstate()
    assert balanced(other, levels, seed) == drawn
    assert random.getstate() == state


def test_another_seed_gives_another_draw() -> None:
    units = [Unit(f"m{index}", 1, (5.0,)) for index in range(12)]
    assert len({tuple(balanced(units, (True, False), f"seed {number}").values()) for number in range(8)}) > 4


def test_the_draw_balances_what_it_is_told_to() -> None:
    units = [Unit(f"m{index:02}", 1, (float(index), float(index % 3 == 0))) for index in range(12)]
    for seed in ("a", "b", "c"):
        drawn = balanced(units, (True, False), seed)
        for covariate in range(2):
            means = [
                sum(unit.covariates[covariate] for unit in units if drawn[unit.name] == level) / 6 for level in (True, False)
            ]
            assert abs(means[0] - means[1]) <= (0.5, 0.0)[covariate]


def test_the_draw_of_a_seed_is_pinned() -> None:
    """A change here changes every published version of the benchmark."""
    units = [Unit("a", 1, (4.0,)), Unit("b", 2, (5.0,)), Unit("c", 1, (6.0,)), Unit("d", 1, (8.0,))]
    assert balanced(units, ("x", "y"), "pinned") == {"a": "x", "b": "y", "c": "y", "d": "x"}
