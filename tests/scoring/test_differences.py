"""Differences of many runs at once are those of `compare`, one by one."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmbench_hf.scoring.compare import compare
from helmbench_hf.scoring.differences import differences
from helmbench_hf.scoring.ranks import shared
from tests.report.sample import sample_scores
from tests.scoring.boards import run

SMALL, LARGE = run([1.0] * 16), sample_scores()


def made(base: dict[str, Any], seed: int, count: int, missing: float, steps: bool, alike: float) -> list[dict[str, Any]]:
    """Runs on the same cells: uneven weights, messages of several pairs, some pairs without a score, some runs alike."""
    drawn = random.Random(seed)
    cells = copy.deepcopy(base)
    for pair in cells["pairs"]:
        pair["weight"] = drawn.choice((1.0, 2.0, 9.0))
        pair["meaning"] = f"{pair['scenario']}/{drawn.randrange(4)}"
    runs = [copy.deepcopy(cells) for _ in range(count)]
    for each in runs:
        same = drawn.random() < alike
        for pair in each["pairs"]:
            value = 0.5 if same else drawn.choice((-1.0, 0.0, 0.5, 1.0)) if steps else drawn.uniform(-1, 1)
            pair["value"] = None if drawn.random() < missing else value
    return runs


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([SMALL, LARGE]),
    st.integers(0, 10**6),
    st.integers(2, 5),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_every_difference_is_the_one_of_compare(
    base: dict[str, Any], seed: int, count: int, missing: float, steps: bool, alike: float
) -> None:
    runs = made(base, seed, count, missing, steps, alike)
    codes, _ = shared(runs)
    for each in runs:
        for pair in each["pairs"]:
            if pair["crisis"] not in codes:
                pair["value"] = None
    found = list(differences(runs, codes))
    assert len(found) == count * (count - 1) // 2
    for estimate, (one, other) in zip(found, itertools.combinations(runs, 2), strict=True):
        alone = dataclasses.asdict(compare(one, other).overall.estimate)
        mine = dataclasses.asdict(estimate)
        for name, value in alone.items():
            assert mine[name] == (pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value), name


def test_without_a_common_pair_there_is_no_difference() -> None:
    [found] = differences([SMALL, SMALL], frozenset())
    assert (found.value, found.low, found.n_pairs) == (None, None, 0)
