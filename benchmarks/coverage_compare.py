"""Are differences between runs called as often as they should be? (d) of `coverage.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from coverage_few import template
from coverage_model import Array, Sample, World, chunks
from coverage_worth import pair_values, truths

from helmbench_hf.scoring.compare import Board, Comparison, Difference, board, compare
from helmbench_hf.scoring.run import score
from helmbench_hf.scoring.scores import Estimate, Scores

ABILITY = 1.0
BOARD = 20
WEAK = 1.0
"""Logits by which the second respondent is worse in one behavior."""
MISSING = 0.05
LOW = 25
"""Pairs that a run of low coverage has."""


def comparisons(sample: Sample, replicates: int, seed: int) -> dict[str, Any]:
    """Two equal respondents on the same messages; one that is worse by what `compare` calls detectable; one weak behavior."""
    world, run = sample.world(np.random.default_rng([seed, 0]), equal=True), template(sample)
    equal = list(_compared(sample, run, (world, world), (ABILITY, ABILITY), replicates, [seed, 1]))
    detectable = float(np.mean([found.detectable for found in equal if found.detectable is not None]))
    errors = [found.overall.estimate.se for found in equal if found.overall.estimate.se is not None]
    worse = _ability_below(sample, world, detectable, seed)
    apart = list(_compared(sample, run, (world, world), (ABILITY, worse), replicates, [seed, 2]))
    return {
        "equal_called_different": _called(equal),
        "standard_error": 100 * float(np.mean(errors)),
        "detectable": 100 * detectable,
        "power_at_detectable": _called(apart),
        "ability_of_the_worse": worse,
        "one_weak_behavior": _weak(sample, run, world, max(20, replicates // 10), seed),
    }


def _called(found: Sequence[Comparison]) -> dict[str, float]:
    """Percent of comparisons that call a difference; of the rows below overall also by their single intervals."""
    tested = [[row for row in _below(each) if row.differs is not None] for each in found]
    return {
        "overall": 100 * float(np.mean([bool(each.overall.differs) for each in found])),
        "any_row_below": 100 * float(np.mean([any(row.differs for row in rows) for rows in tested])),
        "any_row_below_by_its_interval": 100 * float(np.mean([any(map(_by_interval, _below(each))) for each in found])),
        "rows_below": float(np.mean([sum(bool(row.differs) for row in rows) for rows in tested])),
        "rows_below_by_their_intervals": float(np.mean([sum(map(_by_interval, _below(each))) for each in found])),
        "rows_tested": float(np.mean([len(rows) for rows in tested])),
    }


def _below(found: Comparison) -> tuple[Difference, ...]:
    return (*found.pillars, *found.behaviors)


def _by_interval(row: Difference) -> bool:
    """Whether the row's single interval leaves out 0, which was the verdict before rows were corrected."""
    found = row.estimate
    return found.low is not None and found.high is not None and not found.low <= 0 <= found.high


def _weak(sample: Sample, run: Scores, world: World, replicates: int, seed: int) -> dict[str, float]:
    """How often a behavior that is worse by `WEAK` logits is found, over all behaviors that have messages enough."""
    behaviors = sorted({unit.case.behavior for unit in sample.units})
    found, gaps, others = [], [], []
    for at, code in enumerate(behaviors):
        shift = np.array([-WEAK if name.startswith(f"{code}-") else 0.0 for name in sample.scenarios])
        weak = replace(world, scenarios=world.scenarios + shift)
        for each in _compared(sample, run, (world, weak), (ABILITY, ABILITY), replicates, [seed, 6, at]):
            row = next(row for row in each.behaviors if row.code == code)
            if row.differs is None or row.estimate.value is None:
                break
            found.append((row.differs, _by_interval(row)))
            gaps.append(row.estimate.value)
            others.append(any(row.differs for row in each.behaviors if row.code != code))
    after, before = np.mean(found, axis=0)
    return {
        "points": 100 * float(np.mean(gaps)),
        "found": 100 * float(after),
        "found_by_its_interval": 100 * float(before),
        "another_behavior_called": 100 * float(np.mean(others)),
    }


def _compared(
    sample: Sample, run: Scores, worlds: tuple[World, World], abilities: tuple[float, float], replicates: int, seed: list[int]
) -> Iterator[Comparison]:
    rng = np.random.default_rng(seed)
    for size in chunks(replicates):
        messages = sample.messages(size, rng)
        sides = zip(worlds, abilities, strict=True)
        one, two = (pair_values(sample, sample.draw(ability, size, rng, world, messages)) for world, ability in sides)
        for first, second in zip(one, two, strict=True):
            yield compare(_run(run, first), _run(run, second))


def _run(run: Scores, values: Array) -> Scores:
    kept = [None if np.isnan(value) else value for value in values.tolist()]
    return replace(run, pairs=tuple(replace(row, value=value) for row, value in zip(run.pairs, kept, strict=True)))


def _ability_below(sample: Sample, world: World, difference: float, seed: int) -> float:
    """The ability whose true score is lower by `difference`, by secants on common random numbers."""

    def true(ability: float) -> float:
        return truths(sample, ability, np.random.default_rng([seed, 3]), world)["all"]

    goal, one, two = true(ABILITY) - difference, ABILITY - 0.3, ABILITY - 0.6
    low, high = true(one), true(two)
    for _ in range(3):
        one, two = two, two + (goal - high) * (two - one) / (high - low)
        low, high = high, true(two)
        if abs(high - goal) < 1e-4:
            break
    return two


def boards(sample: Sample, replicates: int, seed: int) -> dict[str, Any]:
    """Boards of equal respondents on the same messages: how often any two are called different at a joint 95%, with all pairs
    and where every run lacks some of its own; and a board with one run of low coverage."""
    rng, run = np.random.default_rng([seed, 4]), template(sample)
    world = sample.world(np.random.default_rng([seed, 0]), equal=True)
    called: dict[str, list[bool]] = {"any_pair_called": [], "any_pair_called_with_missing_pairs": [], "one_by_one": []}
    for _ in range(replicates):
        messages = np.repeat(sample.messages(1, rng), BOARD, axis=0)
        values = pair_values(sample, sample.draw(ABILITY, BOARD, rng, world, messages))
        lacking = np.where(rng.random(values.shape) < MISSING, np.nan, values)
        found = _ranked([_run(run, row) for row in values])
        called["any_pair_called"].append(_any(found))
        called["any_pair_called_with_missing_pairs"].append(_any(_ranked([_run(run, row) for row in lacking])))
        called["one_by_one"].append(any(abs(test.value or 0) > 1.96 * (test.se or np.inf) for test in found.tests))
    shares = {name: 100 * float(np.mean(each)) for name, each in called.items()}
    return {"boards": replicates, **shares, "with_a_run_of_low_coverage": low_coverage(sample, seed)}


def _ranked(runs: Sequence[Scores]) -> Board:
    return board(runs, [f"run {at:02}" for at in range(len(runs))])


def _any(found: Board) -> bool:
    return any(bool(test.differs) for test in found.tests)


def low_coverage(sample: Sample, seed: int) -> dict[str, str]:
    """A good run, a poor one, and one with few pairs: places of the first two alone, then of all three."""
    rng, runs = np.random.default_rng([seed, 7]), []
    world = sample.world(np.random.default_rng([seed, 0]))
    for ability, least in ((2.0, 0), (0.0, 0), (2.0, LOW)):
        row = sample.draw(ability, 1, rng, world)[0].tolist()
        keep = {unit.case.code for unit in sample.units[:least]} | {unit.score.benign for unit in sample.units[:least]}
        kept = [not least or slot.case in keep for slot in sample.slots]
        judges = sample.ledger(row).judges
        runs.append(score(sample.cases, sample.verdicts(row, kept), benchmark=sample.benchmark, judges=judges))
    names = ("good", "poor", "few")
    return {"two runs": _places(board(runs[:2], names[:2])), "and one more": _places(board(runs, names))}


def _places(found: Board) -> str:
    return "; ".join(
        f"{each.run} {_points(each.score)} " + (f"off the ranking ({each.reason})" if each.rank is None else f"rank {each.rank}")
        for each in found.standings
    )


def _points(found: Estimate) -> str:
    return "-" if found.value is None else f"{100 * found.value:.1f}"
