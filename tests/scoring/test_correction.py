"""A judge's known errors taken out of its verdicts: exact where errors are independent, with the error of what is known."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmbench_hf.records import CREDIT, Answer
from helmbench_hf.scoring.correction import (
    Counts,
    Fit,
    Measured,
    Spread,
    calibration_error,
    measure,
    spread_of,
    unbiased,
)

THREE: tuple[Answer, ...] = ("PASS", "PARTIAL", "FAIL")
TWO: tuple[Answer, ...] = ("PASS", "FAIL")
GOOD = ((90, 8, 2), (12, 76, 12), (4, 6, 90))
FAIR = ((80, 12, 8), (20, 60, 20), (5, 15, 80))


def table(rows: Sequence[Sequence[int]], levels: Sequence[Answer] = THREE, source: str = "assistant") -> Counts:
    """Labels by right level (rows) and said level (columns), all of one source."""
    return {source: {right: dict(zip(levels, row, strict=True)) for right, row in zip(levels, rows, strict=True)}}


def fitted(counts: Counts, levels: Sequence[Answer] = THREE) -> Fit:
    found = measure(counts, levels).fit
    assert found is not None
    return found


def chances(rows: Sequence[Sequence[int]]) -> Any:
    return np.array(rows, float) / np.sum(rows, axis=1, keepdims=True)


def credits_of(fits: Sequence[Fit], rule: Any) -> Any:
    """The credit of every combination of right levels."""
    made = np.empty([len(fit.levels) for fit in fits])
    for index in np.ndindex(made.shape):
        made[index] = rule([CREDIT[fit.levels[at]] for fit, at in zip(fits, index, strict=True)])
    return made


RULES = {
    "mean": lambda marks: sum(marks) / len(marks),
    "product": np.prod,
    "capped": lambda marks: min(sum(marks[:-1]) / (len(marks) - 1), 1 - marks[-1]),
}


@pytest.mark.parametrize("rule", RULES)
def test_the_mean_over_all_errors_is_the_true_credit(rule: str) -> None:
    tables = [(table(GOOD), THREE, GOOD), (table(FAIR), THREE, FAIR), (table(((45, 5), (8, 52)), TWO), TWO, ((45, 5), (8, 52)))]
    fits = [fitted(counts, levels) for counts, levels, _ in tables]
    made = credits_of(fits, RULES[rule])
    for right in itertools.product(*(range(len(levels)) for _, levels, _ in tables)):
        expected = 0.0
        for said in itertools.product(*(range(len(levels)) for _, levels, _ in tables)):
            chance = np.prod([chances(rows)[r, s] for (_, _, rows), r, s in zip(tables, right, said, strict=True)])
            expected += chance * unbiased(made, [levels[s] for (_, levels, _), s in zip(tables, said, strict=True)], fits)[0]
        assert expected == pytest.approx(made[right])


def test_two_levels_are_rogan_and_gladen() -> None:
    found = measure(table(((90, 10), (15, 85)), TWO), TWO)
    assert (found.fail_loss, found.pass_loss, found.method) == (pytest.approx(0.85), pytest.approx(0.10), "matrix")
    fit = fitted(table(((90, 10), (15, 85)), TWO), TWO)
    shares = [0.6, 0.4]  # q = .4 of the replies were called FAIL
    failing = sum(share * fit.weights[place, 1] for place, share in enumerate(shares))
    assert failing == pytest.approx((0.4 - 0.10) / (0.85 - 0.10))


@pytest.mark.parametrize("partial", [(4, 3, 2), (15, 9, 6)], ids=["few labels", "not told apart"])
def test_partial_that_is_not_told_apart_falls_back_to_the_affine_form(partial: tuple[int, int, int]) -> None:
    found = measure(table((GOOD[0], partial, GOOD[2]) if sum(partial) < 10 else ((80, 10, 10), partial, (10, 20, 70))), THREE)
    assert (found.method, bool(found.reason)) == ("affine", True)
    assert found.fit is not None
    assert found.fit.levels == TWO
    r, f = found.fail_loss or 0.0, found.pass_loss or 0.0
    for place, level in enumerate(THREE):
        assert found.fit.weights[place, 1] == pytest.approx((1 - CREDIT[level] - f) / (r - f))
        assert found.fit.weights[place].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (((7, 3), (3, 17)), "r - f = 0.55; at least 0.60 is needed"),
        (((9, 0), (0, 30)), "9 labels should PASS; 10 are needed"),
        (((30, 0), (0, 4)), "4 labels should FAIL; 10 are needed"),
        (((0, 0), (0, 0)), "no cited check has labels of it"),
    ],
)
def test_what_cannot_be_corrected_says_why(rows: Sequence[Sequence[int]], said: str) -> None:
    found = measure(table(rows, TWO), TWO)
    assert (found.fit, found.method) == (None, None)
    assert found.reason.startswith(said)


def test_a_separation_of_exactly_point_six_is_enough() -> None:
    assert measure(table(((16, 4), (4, 16)), TWO), TWO).fit is not None


def variance_by_differences(counts: Counts, said: Answer, rule: Any, levels: Sequence[Answer], told: int) -> float:
    """The delta method with numerical slopes: corrected credit of one reply under matrices that differ in one cell."""

    def value(changed: Mapping[tuple[int, int], float]) -> float:
        matrix = chances([[counts["assistant"][a][b] for b in levels] for a in levels])
        for place, by in changed.items():
            matrix[place] += by
        if told == 2 and len(levels) == 3:
            values = np.array([CREDIT[level] for level in levels])
            low, high = matrix[2] @ values, matrix[0] @ values
            passing = (CREDIT[said] - low) / (high - low)
            return float(passing * rule([1.0]) + (1 - passing) * rule([0.0]))
        weights = np.linalg.inv(matrix)[levels.index(said)]
        return float(sum(weights[place] * rule([CREDIT[level]]) for place, level in enumerate(levels)))

    total, step = 0.0, 1e-6
    for row, right in enumerate(levels):
        if told == 2 and right == "PARTIAL":
            continue
        n = sum(counts["assistant"][right].values())
        share = np.array([(counts["assistant"][right][s] + 0.5) / (n + 0.5 * len(levels)) for s in levels])
        slope = np.array([(value({(row, s): step}) - value({(row, s): -step})) / (2 * step) for s in range(len(levels))])
        total += float(slope @ (np.diag(share) - np.outer(share, share)) @ slope) / n
    return total


@pytest.mark.parametrize("said", THREE)
@pytest.mark.parametrize(("rows", "told"), [(FAIR, 3), ((GOOD[0], (4, 3, 2), GOOD[2]), 2)], ids=["matrix", "affine"])
def test_the_slopes_are_those_of_finite_differences(said: Answer, rows: Any, told: int) -> None:
    counts, rule = table(rows), lambda marks: marks[0] ** 2 + 0.3
    fit = fitted(counts)
    _, (slope,) = unbiased(credits_of([fit], rule), [said], [fit])
    gradient = np.zeros(fit.weights.shape)
    gradient[fit.said.index(said)] = slope
    errors = calibration_error({"K01": gradient}, {"K01": fit}, Spread(None, 0))
    assert errors.sources == ()
    mine = variance_by_differences(counts, said, rule, THREE, told)
    assert sum(part for part, _ in errors.labels) == pytest.approx(mine, rel=1e-6)
    assert [df for _, df in errors.labels] == [n - 1 for n in fit.labels]


def test_a_perfect_judge_changes_nothing_and_still_has_an_error() -> None:
    fit = fitted(table(((40, 0, 0), (0, 20, 0), (0, 0, 30))))
    made = credits_of([fit], RULES["mean"])
    for level in THREE:
        value, (slope,) = unbiased(made, [level], [fit])
        assert value == pytest.approx(CREDIT[level])
        gradient = np.zeros(fit.weights.shape)
        gradient[fit.said.index(level)] = slope
        assert sum(part for part, _ in calibration_error({"K": gradient}, {"K": fit}, Spread(0.0, 3)).labels) > 1e-5


def test_the_spread_is_that_of_the_sources() -> None:
    rng = np.random.default_rng(2)
    for rho in (0.0, 0.1, 0.3):
        tables = []
        for _ in range(150):
            sources = {}
            for source in "abcde":
                chance = 0.8 if rho == 0 else rng.beta(0.8 * (1 - rho) / rho, 0.2 * (1 - rho) / rho)
                hits = int(rng.binomial(12, chance))
                sources[source] = {"PASS": {"PASS": hits, "FAIL": 12 - hits}}
            tables.append(sources)
        found = spread_of(tables)
        assert found.df == 600
        assert found.rho == pytest.approx(rho, abs=0.05)


def test_sources_that_differ_more_widen_the_error_and_one_source_says_nothing() -> None:
    assert spread_of([table(FAIR)]) == Spread(None, 0)
    even = {source: rows for source in "ab" for rows in table(FAIR).values()}
    assert spread_of([even]).rho == 0  # sources that agree better than chance are no negative spread
    fit = fitted(even)
    gradient = {"K01": np.ones(fit.weights.shape) * [[1.0, 0.4, 0.0]] * [[0.2], [0.5], [0.3]]}
    none, some = (calibration_error(gradient, {"K01": fit}, Spread(rho, 6)) for rho in (0.0, 0.2))
    assert none.sources == ((0.0, 6.0),)
    (spread, df), *rest = some.sources
    assert (df, rest) == (6.0, [])
    whole = sum(part * n for (part, _), n in zip(none.labels, fit.labels, strict=True))
    assert spread == pytest.approx(whole * 0.2 * 1.5)  # two sources of one size: sum of squared shares is 1/2
    assert sum(part for part, _ in some.labels) == pytest.approx(0.8 * sum(part for part, _ in none.labels))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.lists(st.lists(st.integers(0, 40), min_size=3, max_size=3), min_size=3, max_size=3), min_size=1, max_size=3),
    st.lists(st.sampled_from(THREE), min_size=1, max_size=3),
)
def test_whatever_the_labels(tables: list[list[list[int]]], said: list[Answer]) -> None:
    counts: Counts = {f"s{n}": table(rows)["assistant"] for n, rows in enumerate(tables)}
    found: Measured = measure(counts, THREE)
    rho = spread_of([counts]).rho
    assert rho is None or 0 <= rho <= 1
    assert (found.fit is None) == (found.method is None)
    if found.fit is None:
        assert found.reason
        return
    fits = [found.fit] * len(said)
    assert np.allclose(found.fit.weights.sum(axis=1), 1)
    assert unbiased(credits_of(fits, lambda marks: 0.7), said, fits)[0] == pytest.approx(0.7)  # what is certain stays
    value, slopes = unbiased(credits_of(fits, np.prod), said, fits)
    for own, (level, slope) in enumerate(zip(said, slopes, strict=True)):
        assert slope @ found.fit.weights[found.fit.said.index(level)] == pytest.approx(value), own
