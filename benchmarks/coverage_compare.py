"""Are differences between runs called as often as they should be? (d) of `coverage.py`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from coverage_model import Array, Sample, World, chunks, shares
from coverage_worth import levels, pair_values, truths

from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.compare import Comparison, compare
from helmbench_hf.scoring.ranks import joint_level
from helmbench_hf.scoring.result import Estimate, to_json
from helmbench_hf.scoring.run import score

ABILITY = 1.0
BOARD = 20


def comparisons(sample: Sample, replicates: int, seed: int) -> dict[str, Any]:
    """Two equal respondents on the same messages; then one that is worse by the difference that `compare` calls detectable."""
    world = sample.world(np.random.default_rng([seed, 0]), equal=True)
    equal = list(_compared(sample, world, (ABILITY, ABILITY), replicates, [seed, 1]))
    detectable = float(np.mean([found.detectable for found in equal if found.detectable is not None]))
    errors = [found.overall.estimate.se for found in equal if found.overall.estimate.se is not None]
    worse = _ability_below(sample, world, detectable, seed)
    apart = list(_compared(sample, world, (ABILITY, worse), replicates, [seed, 2]))
    return {
        "equal_called_different": levels(shares(_differ(equal))),
        "standard_error": 100 * float(np.mean(errors)),
        "detectable": 100 * detectable,
        "power_at_detectable": levels(shares(_differ(apart)))["overall"],
        "ability_of_the_worse": worse,
    }


def _differ(found: list[Comparison]) -> dict[str, list[bool]]:
    called: dict[str, list[bool]] = defaultdict(list)
    for each in found:
        for row in (each.overall, *each.pillars, *each.behaviors):
            if row.differs is not None:
                called[row.code].append(row.differs)
    return called


def _compared(
    sample: Sample, world: World, abilities: tuple[float, float], replicates: int, seed: list[int]
) -> Iterator[Comparison]:
    rng, template = np.random.default_rng(seed), _template(sample)
    for size in chunks(replicates):
        messages = sample.messages(size, rng)
        one, two = (pair_values(sample, sample.draw(ability, size, rng, world, messages)) for ability in abilities)
        for first, second in zip(one, two, strict=True):
            yield compare(_run(template, first), _run(template, second))


def _template(sample: Sample) -> dict[str, Any]:
    """A `scores.json` of this sample, whose pair values are then put in."""
    values = [1.0] * len(sample.slots)
    return to_json(score(sample.cases, sample.verdicts(values), benchmark=sample.benchmark, judges=sample.ledger(values).judges))


def _run(template: dict[str, Any], values: Array) -> dict[str, Any]:
    rows = [{**row, "value": value} for row, value in zip(template["pairs"], values.tolist(), strict=True)]
    return {**template, "pairs": rows}


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
    """Boards of equal respondents on the same messages: how often any two of them are called different at a joint 95%."""
    level = joint_level(BOARD)
    rng, template = np.random.default_rng([seed, 4]), _template(sample)
    world = sample.world(np.random.default_rng([seed, 0]), equal=True)
    wrong, plain = [], []
    for _ in range(replicates):
        messages = sample.messages(1, rng)
        repeated = np.repeat(messages, BOARD, axis=0)
        runs = [_run(template, row) for row in pair_values(sample, sample.draw(ABILITY, BOARD, rng, world, repeated))]
        found = [compare(one, two).overall for one, two in combinations(runs, 2)]
        wrong.append(any(_beyond(row.estimate, level) for row in found))
        plain.append(any(bool(row.differs) for row in found))
    return {
        "boards": replicates,
        "any_pair_called": 100 * float(np.mean(wrong)),
        "any_pair_called_one_by_one": 100 * float(np.mean(plain)),
    }


def _beyond(found: Estimate, level: float) -> bool:
    """Whether an interval of this confidence leaves out 0."""
    if found.value is None or found.se is None or found.df is None:
        return False
    return abs(found.value) > intervals.t_quantile((1 + level) / 2, found.df) * found.se
