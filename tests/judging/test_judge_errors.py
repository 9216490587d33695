"""What is said of a judge's errors agrees with the literature, with counting, and with itself."""

from __future__ import annotations

from itertools import chain, repeat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmbench_hf.judging.gate import at_least, at_most, corrected, difference, kappa_at, precision_at
from helmbench_hf.scoring.agreement import kappa
from helmbench_hf.scoring.correction import SEPARATION

LEVELS = ("PASS", "PARTIAL", "FAIL")
counts = st.integers(0, 60)
shares = st.floats(0.01, 0.99)
verdicts = st.lists(st.tuples(st.sampled_from(LEVELS), st.sampled_from(LEVELS)), max_size=40)


def pairs(table: list[list[int]]) -> list[tuple[str, str]]:
    rows = [repeat((LEVELS[i], LEVELS[j]), n) for i, row in enumerate(table) for j, n in enumerate(row)]
    return list(chain(*rows))


def test_bounds_need_as_many_labels_as_the_review_says() -> None:
    assert at_most(0, 59).bound <= 0.05 < at_most(0, 58).bound
    assert at_most(0, 299).bound <= 0.01 < at_most(0, 298).bound
    assert at_least(14, 14).bound >= 0.80 > at_least(13, 13).bound
    assert (at_least(0, 0).bound, at_most(0, 0).bound, at_least(0, 0).value) == (0, 1, None)


def test_kappa_of_the_textbooks() -> None:
    assert kappa(pairs([[20, 0, 5], [0, 0, 0], [10, 0, 15]]), LEVELS) == pytest.approx(0.4)
    # a row apart costs half as much as two rows apart
    near, far = pairs([[10, 5, 0], [5, 10, 0], [0, 0, 10]]), pairs([[10, 0, 5], [0, 10, 0], [5, 0, 10]])
    assert kappa(near, LEVELS, weighted=True) > kappa(far, LEVELS, weighted=True)
    assert kappa([], LEVELS) is None
    assert kappa([("PASS", "PASS")] * 5, LEVELS) is None


def test_difference_of_newcombes_first_example() -> None:
    found = difference(48, 80, 56, 70)
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)
    assert difference(0, 0, 1, 2).value is None


@given(k=counts, rest=counts, missing=counts)
def test_silence_never_helps(k: int, rest: int, missing: int) -> None:
    for made, sign in ((at_least, 1), (at_most, -1)):
        full, holed = made(k, k + rest), made(k, k + rest, missing)
        assert sign * holed.bound <= sign * full.bound
        assert full.value == holed.value
        if full.value is not None:
            assert sign * full.bound <= sign * full.value


@given(found=verdicts)
def test_kappa_is_symmetric_and_one_at_best(found: list[tuple[str, str]]) -> None:
    for weighted in (False, True):
        value, other = (kappa(each, LEVELS, weighted=weighted) for each in (found, [(b, a) for a, b in found]))
        assert value == (None if other is None else pytest.approx(other))
        assert value is None or -1 - 1e-9 <= value <= 1 + 1e-9
        same = kappa([(a, a) for a, _ in found], LEVELS, weighted=weighted)
        assert same is None or same == pytest.approx(1)


@settings(max_examples=60)
@given(hits=counts, misses=counts, false=counts, fine=counts)
def test_in_use_is_what_counting_gives(hits: int, misses: int, false: int, fine: int) -> None:
    fails, others = hits + misses, false + fine
    if not fails or not others:
        return
    prevalence, recall, rate = fails / (fails + others), hits / fails, false / others
    said = precision_at(recall, rate, prevalence)
    assert said == (pytest.approx(hits / (hits + false)) if hits + false else None)
    counted = kappa(pairs([[fine, 0, false], [0, 0, 0], [misses, 0, hits]]), LEVELS)
    assert kappa_at(recall, rate, prevalence) == pytest.approx(counted, abs=1e-9)


@given(prevalence=st.floats(0, 1), recall=shares, rate=shares)
def test_correction_undoes_the_judge(prevalence: float, recall: float, rate: float) -> None:
    judged = prevalence * recall + (1 - prevalence) * rate
    found = corrected(judged, recall, rate)
    if recall - rate < SEPARATION - 1e-6:
        assert found is None
    elif recall - rate > SEPARATION:
        assert found == pytest.approx(prevalence, abs=1e-9)


@given(k0=counts, r0=counts, k1=counts, r1=counts)
def test_difference_turns_with_its_sides(k0: int, r0: int, k1: int, r1: int) -> None:
    one, two = difference(k0, k0 + r0, k1, k1 + r1), difference(k1, k1 + r1, k0, k0 + r0)
    if one.value is None:
        assert two.value is None
        return
    assert one.low <= one.value + 1e-12
    assert one.value <= one.high + 1e-12
    assert (one.value, one.low, one.high) == (pytest.approx(-two.value), pytest.approx(-two.high), pytest.approx(-two.low))
