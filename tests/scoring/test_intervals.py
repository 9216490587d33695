"""Intervals against textbook formulas and scipy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from helmbench_hf.scoring.intervals import (
    Piece,
    Row,
    clopper_pearson,
    combine,
    mean_bounds,
    piece,
    pooled,
    share_interval,
    shrink,
    t_quantile,
)
from helmbench_hf.scoring.scores import Estimate

VALUES = [0.5, -0.25, 1.0, 0.0, 0.75]


def rows(values: Sequence[float], clusters: Iterable[str]) -> list[Row]:
    """Values of equal weight."""
    return [(value, 1.0, cluster) for value, cluster in zip(values, clusters, strict=True)]


def test_equal_clusters_give_the_classic_t_interval() -> None:
    found = pooled(rows(VALUES, "abcde"))
    low, high = stats.t.interval(0.95, 4, np.mean(VALUES), stats.sem(VALUES))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert (found.se, found.df, found.n_pairs, found.n_meanings) == (pytest.approx(stats.sem(VALUES)), 4, 5, 5)


def test_copies_of_a_message_are_one_cluster() -> None:
    gathered = piece([(1.0, 2.0, "b"), (0.0, 2.0, "b"), (0.5, 4.0, "a")])
    assert (gathered.value, gathered.unit, gathered.scale, gathered.df) == (0.5, 0.0, 0.5, 1.0)
    assert (gathered.pairs, gathered.clusters) == (3, frozenset("ab"))
    copied = pooled(rows(VALUES * 2, "abcde" * 2))
    single = pooled(rows(VALUES, "abcde"))
    assert (copied.low, copied.high, copied.n_pairs) == (pytest.approx(single.low), pytest.approx(single.high), 10)


def made(unit: float, df: float, pool: str = "p", scale: float = 0.1) -> Piece:
    return Piece(0.0, unit, scale, df, pool, int(df) + 1, frozenset())


def test_variances_shrink_to_their_pool() -> None:
    one, two, other = shrink([made(1.0, 2), made(3.0, 6), made(9.0, 5, "q")])
    pool = (2 * 1 + 6 * 3) / 8
    assert one.unit == pytest.approx((2 * 1 + 4 * pool) / 6)
    assert two.unit == pytest.approx((6 * 3 + 4 * pool) / 10)
    assert other.unit == pytest.approx(9.0)
    # (2 (1 + 4/8)^2 + 6 (4/8)^2) / 6^2 = 1/6: as many as df + nu0; a pool of one has no more than it brought itself
    assert one.df == pytest.approx(6)
    assert other.df == pytest.approx(5)


def test_a_scenario_of_one_message_borrows() -> None:
    lone, other = shrink([made(0.0, 0), made(2.0, 3)])
    assert (lone.unit, lone.df) == (pytest.approx(2.0), pytest.approx(3))
    far, near = shrink([made(0.0, 0, "q"), made(2.0, 3)])
    assert (far.unit, near.unit) == (pytest.approx(2.0), pytest.approx(2.0))
    assert shrink([made(0.0, 0)]) == [made(0.0, 0)]
    assert other.df == pytest.approx(3)


def test_a_sum_has_satterthwaites_degrees_of_freedom() -> None:
    found = combine([made(2.0, 4), made(2.0, 4)], [0.5, 0.5])
    assert found.df == pytest.approx(8)
    assert found.se == pytest.approx(math.sqrt(2 * 0.25 * 0.2))
    half = stats.t.ppf(0.975, 8) * found.se
    assert (found.low, found.high) == pytest.approx((-half, half))


def test_what_has_no_interval_says_why() -> None:
    assert combine([], []).note == "nothing was scored"
    assert combine([], [], "because").note == "because"
    assert pooled([]).value is None
    alone = combine([made(0.0, 0)], [1.0])
    assert (alone.value, alone.low, alone.note) == (0.0, None, "one message alone has no interval")
    alike = pooled(rows([1.0, 1.0], "ab"))
    assert (alike.low, alike.high, alike.se) == (1, 1, 0)
    assert "no width" in alike.note


def test_errors_beside_the_messages_add_their_variance_and_never_narrow() -> None:
    mean = Piece(0.3, 1.0, 0.04, 3, "", 8, frozenset("abcd"))
    found = combine([mean], [0.5], errors=[(0.02, 11.0), (0.005, 40.0)])
    assert found.se == pytest.approx(math.sqrt(0.01 + 0.02 + 0.005))
    assert found.df == pytest.approx(0.035**2 / (0.01**2 / 3 + 0.02**2 / 11 + 0.005**2 / 40))
    messages = stats.t.ppf(0.975, 3) * 0.1
    beside = stats.t.ppf(0.975, 0.025**2 / (0.02**2 / 11 + 0.005**2 / 40)) * math.sqrt(0.025)
    assert found.high == pytest.approx(0.15 + math.hypot(messages, beside))
    alone, little = combine([mean], [0.5]), combine([mean], [0.5], errors=[(1e-5, 1000.0)])
    assert little.df is not None
    assert little.df > 3
    assert (little.low or 0) < (alone.low or 0)
    assert (little.low, little.high) == pytest.approx((alone.low, alone.high), abs=1e-3)
    flat = combine([Piece(0.3, 0.0, 0.04, 3, "", 8, frozenset("abcd"))], [1.0], errors=[(0.01, 9.0)])
    assert (flat.se, flat.df) == (pytest.approx(0.1), pytest.approx(9))
    assert flat.note == "every message came out alike, so the interval carries the judge's errors alone"
    assert "no width" in combine([Piece(0.3, 0.0, 0.04, 3, "", 8, frozenset("abcd"))], [1.0], errors=[(0.0, 9.0)]).note


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9), min_size=1, max_size=5))
def test_a_sum_counts_each_message_once_and_every_pair(scenarios: list[list[str]]) -> None:
    pieces = [piece(rows([0.5] * len(names), names)) for names in scenarios]
    found = combine(shrink(pieces), [1.0] * len(pieces))
    assert found.n_meanings == len({name for names in scenarios for name in names})
    assert found.n_pairs == sum(map(len, scenarios))


SHARES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=2, max_size=40)


def between(values: list[float], low: float = 0.0, high: float = 1.0) -> Estimate:
    return pooled(rows(values, map(str, range(len(values)))), (low, high))


@pytest.mark.parametrize(("right", "n"), [(1, 5), (1, 9), (8, 9), (5, 9), (20, 40)])
def test_yes_or_no_answers_have_wilsons_interval(right: int, n: int) -> None:
    found = between([1.0] * right + [0.0] * (n - right))
    as_wide = 2 * stats.norm.cdf(t_quantile(0.975, n - 1)) - 1
    wilson = stats.binomtest(right, n).proportion_ci(as_wide, method="wilson")
    assert (found.low, found.high) == pytest.approx((wilson.low, wilson.high), abs=0.01)


@pytest.mark.parametrize("n", [2, 5, 30])
def test_answers_without_spread_count_one_by_one_and_one_more(n: int) -> None:
    square = t_quantile(0.975, n - 1) ** 2
    assert between([1.0] * n).low == pytest.approx((n + 1) / (n + 1 + square))
    assert between([0.0] * n).high == pytest.approx(square / (n + 1 + square))


@given(values=SHARES)
def test_an_interval_between_bounds_holds_its_value_and_has_width(values: list[float]) -> None:
    found = between(values)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.high - found.low > 0.01


@given(values=SHARES)
def test_bounds_are_only_a_scale_and_both_ends_are_alike(values: list[float]) -> None:
    found, moved, mirrored = between(values), between([4 * v - 1 for v in values], -1.0, 3.0), between([1 - v for v in values])
    assert (moved.low, moved.high) == pytest.approx((4 * (found.low or 0) - 1, 4 * (found.high or 0) - 1), abs=1e-9)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - (found.high or 0), 1 - (found.low or 0)), abs=1e-9)


def test_a_scenario_where_all_is_right_takes_the_spread_of_its_kind() -> None:
    saturated = piece(rows([1.0] * 8, "abcdefgh"), "tags", (-1.0, 1.0))
    coarse = piece(rows([1.0, -1.0] * 4, "abcdefgh"), "tags", (-1.0, 1.0))
    fine = piece(rows([0.25, -0.25] * 4, "abcdefgh"), "tags", (-1.0, 1.0))
    among_coarse, among_fine = (combine([shrink([saturated, other])[0]], [1.0]) for other in (coarse, fine))
    assert (among_coarse.low or 0) < (among_fine.low or 0) < 1
    assert among_coarse.high == among_fine.high == 1


def test_other_errors_widen_an_interval_between_bounds_up_to_them() -> None:
    right = shrink([piece(rows([1.0] * 9, "abcdefghi"), "", (-1.0, 1.0))])
    alone, beside, far = (combine(right, [1.0], errors=errors) for errors in ([], [(0.01, 50.0)], [(9.0, 50.0)]))
    assert (alone.low or 0) > (beside.low or 0) > -1
    assert beside.low == pytest.approx(1 - math.hypot(1 - (alone.low or 0), t_quantile(0.975, 50) * 0.1))
    assert (alone.high, beside.high, far.low, far.high) == (1, 1, -1, 1)
    assert "the interval allows for one that would not" in alone.note


@given(n=st.integers(1, 400), data=st.data())
def test_clopper_pearson_is_scipys(n: int, data: st.DataObject) -> None:
    failures = data.draw(st.integers(0, n))
    lower, upper = clopper_pearson(failures, n)
    assert lower == pytest.approx(stats.binomtest(failures, n, alternative="greater").proportion_ci(0.95, "exact").low, abs=1e-9)
    assert upper == pytest.approx(stats.binomtest(failures, n, alternative="less").proportion_ci(0.95, "exact").high, abs=1e-9)


@given(hits=st.integers(0, 12), n=st.integers(1, 12))
def test_a_share_of_messages_has_the_exact_interval(hits: int, n: int) -> None:
    hits = min(hits, n)
    low, high = share_interval(hits / n, n)
    exact = stats.binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-9)


@given(n=st.integers(1, 60), data=st.data())
def test_mean_bounds_of_all_or_nothing_are_clopper_pearsons(n: int, data: st.DataObject) -> None:
    failures = data.draw(st.integers(0, n))
    assert mean_bounds([1.0] * failures + [0.0] * (n - failures)) == pytest.approx(clopper_pearson(failures, n), abs=1e-10)


def test_mean_bounds_by_hand() -> None:
    assert mean_bounds([]) == (0, 1)
    # one value: its weight is uniform; two equal ones: the weight of the third is 1 - sqrt(u)
    assert mean_bounds([0.4]) == pytest.approx((0.4 * 0.05, 1 - 0.6 * 0.05))
    assert mean_bounds([0.4, 0.4]) == pytest.approx((0.4 * 0.05**0.5, 1 - 0.6 * 0.05**0.5))


@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=12), data=st.data())
def test_mean_bounds_hold_the_mean_rise_with_every_value_and_forget_the_order(values: list[float], data: st.DataObject) -> None:
    low, high = mean_bounds(values)
    assert 0 <= low <= sum(values) / len(values) + 1e-9
    assert sum(values) / len(values) - 1e-9 <= high <= 1
    place = data.draw(st.integers(0, len(values) - 1))
    worse = [*values[:place], data.draw(st.floats(values[place], 1)), *values[place + 1 :]]
    assert mean_bounds(worse)[0] >= low - 1e-9
    assert mean_bounds(worse)[1] >= high - 1e-9
    assert mean_bounds(values[::-1]) == pytest.approx((low, high), abs=1e-9)
