"""Intervals against textbook formulas and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from helmbench_hf.scoring.intervals import (
    Clusters,
    Piece,
    bootstrap,
    clopper_pearson,
    cluster,
    combine,
    percentile_interval,
    piece,
    pooled,
    share_interval,
    shrink,
    t_quantile,
)

VALUES = [0.5, -0.25, 1.0, 0.0, 0.75]


def test_equal_clusters_give_the_classic_t_interval() -> None:
    found = pooled(VALUES, [1.0] * 5, list("abcde"))
    low, high = stats.t.interval(0.95, 4, np.mean(VALUES), stats.sem(VALUES))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert (found.se, found.df, found.n_pairs, found.n_meanings) == (pytest.approx(stats.sem(VALUES)), 4, 5, 5)


def test_copies_of_a_message_are_one_cluster() -> None:
    gathered = cluster([1.0, 0.0, 0.5], [2.0, 2.0, 4.0], ["b", "b", "a"])
    assert gathered == Clusters((4.0, 4.0), (0.5, 0.5), 3)
    assert gathered.value == 0.5
    copied = pooled(VALUES * 2, [1.0] * 10, list("abcde") * 2)
    single = pooled(VALUES, [1.0] * 5, list("abcde"))
    assert (copied.low, copied.high, copied.n_pairs) == (pytest.approx(single.low), pytest.approx(single.high), 10)


def test_unequal_clusters_are_unbiased_under_equal_variances() -> None:
    generator = np.random.default_rng(3)
    weights = (1.0, 1.0, 2.0, 5.0)
    units = [piece(Clusters(weights, tuple(generator.normal(0, 2, 4)), 4), "").unit for _ in range(20_000)]
    assert np.mean(units) == pytest.approx(4.0, rel=0.03)


def made(unit: float, df: float, pool: str = "p", scale: float = 0.1) -> Piece:
    return Piece(0.0, unit, scale, df, pool, int(df) + 1, int(df) + 1)


def test_variances_shrink_to_their_pool() -> None:
    one, two, other = shrink([made(1.0, 2), made(3.0, 6), made(9.0, 5, "q")])
    pool = (2 * 1 + 6 * 3) / 8
    assert one.unit == pytest.approx((2 * 1 + 4 * pool) / 6)
    assert two.unit == pytest.approx((6 * 3 + 4 * pool) / 10)
    assert other.unit == pytest.approx(9.0)
    # (2 (1 + 4/8)^2 + 6 (4/8)^2) / 6^2 = 1/6: as many as df + nu0; a pool of one has no more than it brought itself
    assert one.df == pytest.approx(6)
    assert other.df == pytest.approx(5)


def test_degrees_of_freedom_never_exceed_their_own_and_the_prior() -> None:
    many = shrink([made(1.0, 3), *[made(1.0, 50) for _ in range(20)]])
    assert many[0].df == 7


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
    assert pooled([], [], []).value is None
    alone = combine([made(0.0, 0)], [1.0])
    assert (alone.value, alone.low, alone.note) == (0.0, None, "one message alone has no interval")
    alike = pooled([1.0, 1.0], [1.0, 1.0], ["a", "b"])
    assert (alike.low, alike.high, alike.se) == (1, 1, 0)
    assert "no width" in alike.note


def test_errors_beside_the_messages_add_their_variance_and_never_narrow() -> None:
    own = Piece(0.3, 1.0, 0.04, 3, "", 8, 4)
    found = combine([own], [0.5], errors=[(0.02, 11.0), (0.005, 40.0)])
    assert found.se == pytest.approx(math.sqrt(0.01 + 0.02 + 0.005))
    assert found.df == pytest.approx(0.035**2 / (0.01**2 / 3 + 0.02**2 / 11 + 0.005**2 / 40))
    assert found.high == pytest.approx(0.15 + stats.t.ppf(0.975, found.df) * found.se)
    alone, little = combine([own], [0.5]), combine([own], [0.5], errors=[(1e-5, 1000.0)])
    assert little.df is not None
    assert little.df > 3
    assert (little.low, little.high) == (alone.low, alone.high)
    flat = combine([Piece(0.3, 0.0, 0.04, 3, "", 8, 4)], [1.0], errors=[(0.01, 9.0)])
    assert (flat.se, flat.df) == (pytest.approx(0.1), pytest.approx(9))
    assert flat.note == "every message came out alike, so the interval carries the judge's errors alone"
    assert "no width" in combine([Piece(0.3, 0.0, 0.04, 3, "", 8, 4)], [1.0], errors=[(0.0, 9.0)]).note


def test_t_quantile_of_fractional_degrees() -> None:
    assert t_quantile(0.975, 3.7) == pytest.approx(stats.t.ppf(0.975, 3.7))


@given(n=st.integers(1, 400), data=st.data())
def test_clopper_pearson_is_scipys(n: int, data: st.DataObject) -> None:
    failures = data.draw(st.integers(0, n))
    lower, upper = clopper_pearson(failures, n)
    assert lower == pytest.approx(stats.binomtest(failures, n, alternative="greater").proportion_ci(0.95, "exact").low, abs=1e-9)
    assert upper == pytest.approx(stats.binomtest(failures, n, alternative="less").proportion_ci(0.95, "exact").high, abs=1e-9)


@pytest.mark.parametrize(("limit", "n"), [(0.01, 299), (0.02, 149), (0.05, 59), (0.20, 14)])
def test_zero_failures_clear_a_limit_at_the_known_n(limit: float, n: int) -> None:
    assert clopper_pearson(0, n)[1] <= limit < clopper_pearson(0, n - 1)[1]


def test_bounds_without_trials() -> None:
    assert clopper_pearson(0, 0) == (0, 1)


def test_the_bootstrap_is_seeded_and_centered() -> None:
    scenarios = [Clusters((1.0,) * 8, tuple(np.linspace(-0.5, 0.9, 8)), 8), Clusters((2.0,) * 5, (0.1, 0.2, 0.3, 0.4, 0.5), 5)]
    first, again = bootstrap({"b": scenarios}, 7)["b"], bootstrap({"b": scenarios}, 7)["b"]
    assert np.array_equal(first, again)
    assert first.mean() == pytest.approx(np.mean([each.value for each in scenarios]), abs=0.02)
    low, high = percentile_interval(first)
    assert low < 0.2 < high
    lone = bootstrap({"b": [Clusters((1.0,), (0.3,), 1)]}, 7)["b"]
    assert np.all(lone == 0.3)


@given(hits=st.integers(0, 12), n=st.integers(1, 12))
def test_a_share_of_messages_has_the_exact_interval(hits: int, n: int) -> None:
    hits = min(hits, n)
    low, high = share_interval(hits / n, n)
    exact = stats.binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high), abs=1e-9)


@given(share=st.integers(0, 1000).map(lambda part: part / 1000), few=st.integers(1, 20), more=st.integers(1, 20))
def test_more_messages_never_widen_the_interval_and_it_holds_the_share(share: float, few: int, more: int) -> None:
    low, high = share_interval(share, few)
    assert 0 <= low <= share <= high <= 1
    narrow = share_interval(share, few + more)
    assert narrow[1] - narrow[0] <= high - low + 1e-9
