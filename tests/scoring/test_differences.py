"""Differences on arrays are those of `scoring.intervals`, scenario by scenario."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import random
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.aggregate import POOLS
from helmbench_hf.scoring.compare import compare
from helmbench_hf.scoring.differences import Run
from helmbench_hf.scoring.ranks import board
from helmbench_hf.scoring.result import FORMAT, Estimate
from tests.report.sample import sample_scores
from tests.scoring.boards import run

BASES = {"small": run([1.0] * 24), "large": sample_scores() | {"format": FORMAT}}


def made(base: dict[str, Any], seed: int, count: int, missing: float, steps: bool, alike: float) -> list[dict[str, Any]]:
    """Runs on the same cells: uneven weights, messages of several pairs, some pairs without a score, some runs alike."""
    drawn = random.Random(seed)
    cells = copy.deepcopy(base)
    for pair in cells["pairs"]:
        pair["weight"] = drawn.choice((1.0, 2.0, 9.0))
        pair["meaning"] = f"{drawn.choice((pair['scenario'], 'shared'))}/{drawn.randrange(4)}"
    runs = [copy.deepcopy(cells) for _ in range(count)]
    for each in runs:
        same = drawn.random() < alike
        for pair in each["pairs"]:
            value = 0.5 if same else drawn.choice((-1.0, 0.0, 0.5, 1.0)) if steps else drawn.uniform(-1, 1)
            pair["value"] = None if drawn.random() < missing else value
    return runs


def one_by_one(one: Run, other: Run, behaviors: list[dict[str, Any]]) -> Estimate:
    """The difference over these behaviors by the functions that score a single run."""
    second = {pair["crisis"]: pair["value"] for pair in other["pairs"]}
    kinds = {scenario["code"]: scenario["kind"] for scenario in one["scenarios"]}
    rows: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for pair in one["pairs"]:
        if pair["headline"] and None not in (pair["value"], second[pair["crisis"]]):
            rows[pair["scenario"]].append((pair["value"] - second[pair["crisis"]], pair["weight"], pair["meaning"]))
    raw = [intervals.piece(intervals.cluster(*zip(*each, strict=True)), POOLS[kinds[code]]) for code, each in rows.items()]
    pieces = dict(zip(rows, intervals.shrink(raw), strict=True))
    inside = {each["code"]: [part for part in each["parts"] if part in pieces] for each in behaviors}
    total = sum(each["weight"] for each in behaviors if inside[each["code"]])
    shares = {part: b["weight"] / total / len(inside[b["code"]]) for b in behaviors for part in inside[b["code"]]}
    found = intervals.combine([pieces[part] for part in shares], list(shares.values()))
    meanings = {meaning for part in shares for _, _, meaning in rows[part]}
    return dataclasses.replace(found, n_meanings=len(meanings), note="" if found.value is None else found.note)


def alike(found: Estimate, wanted: Estimate) -> None:
    for name, value in dataclasses.asdict(wanted).items():
        mine = getattr(found, name)
        if name == "note" and wanted.value is None:
            assert mine == "no pair was scored in both"
        else:
            assert mine == (pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value), name


CASES = given(
    st.sampled_from(sorted(BASES)),
    st.integers(0, 10**6),
    st.integers(2, 5),
    st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
    st.booleans(),
    st.sampled_from([0.0, 0.5, 1.0]),
)


@settings(max_examples=40, deadline=None)
@CASES
def test_every_row_of_compare_is_that_of_the_functions_for_one_score(
    base: str, seed: int, count: int, missing: float, steps: bool, same: float
) -> None:
    one, other = made(BASES[base], seed, 2, missing, steps, same)
    found = compare(one, other)
    alike(found.overall.estimate, one_by_one(one, other, one["behaviors"]))
    for row in (*found.pillars, *found.behaviors):
        alike(row.estimate, one_by_one(one, other, [each for each in one["behaviors"] if each["code"].startswith(row.code)]))


@settings(max_examples=40, deadline=None)
@CASES
def test_every_two_runs_of_a_board_are_tested_as_compare_does(
    base: str, seed: int, count: int, missing: float, steps: bool, same: float
) -> None:
    runs = made(BASES[base], seed, count, missing, steps, same)
    tests = board(runs, [f"run {at}" for at in range(count)]).tests
    for test, (one, other) in zip(tests, itertools.combinations(runs, 2), strict=True):
        wanted = compare(one, other).overall
        assert (test.n_pairs, test.n_meanings, test.reason) == (
            wanted.estimate.n_pairs,
            wanted.estimate.n_meanings,
            wanted.reason,
        )
        for name in ("value", "se"):
            value = getattr(wanted.estimate, name)
            assert getattr(test, name) == (value if value is None else pytest.approx(value, rel=1e-9, abs=1e-12))
