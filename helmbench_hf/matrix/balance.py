"""Seeded, balanced assignment: what the design decides by chance, decided once, the same on every machine.

Method: rerandomization (Morgan and Rubin 2012, Annals of Statistics 40(2)): many random assignments with equal counts
are drawn and the one whose levels differ least in severity, register and cue is kept.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Level = TypeVar("Level", bound=Hashable)
DRAWS = 400


@dataclass(frozen=True, slots=True)
class Unit:
    """What gets assigned as one: all pairs of one meaning. `covariates` are means over its pairs."""

    name: str
    size: int
    covariates: tuple[float, ...]


def balanced(units: Sequence[Unit], levels: Sequence[Level], seed: str) -> dict[str, Level]:
    """Give every unit a level, equally often as far as sizes allow, balanced over the covariates.

    `seed` names the draw (benchmark seed, scenario, what is drawn); the same seed and units give the same answer.
    """
    generator = random.Random(seed)
    order = sorted(units, key=lambda unit: unit.name)
    best: tuple[float, dict[str, Level]] | None = None
    moments = _moments(order)
    for _ in range(DRAWS):
        generator.shuffle(order)
        drawn = _fill(order, levels, generator)
        score = _imbalance(order, drawn, levels, moments)
        if best is None or score < best[0] - 1e-12:
            best = (score, drawn)
    return {} if best is None else {unit.name: best[1][unit.name] for unit in units}


def _fill(order: Sequence[Unit], levels: Sequence[Level], generator: random.Random) -> dict[str, Level]:
    """Each unit in turn goes to a level that holds least so far."""
    held = dict.fromkeys(range(len(levels)), 0)
    drawn: dict[str, Level] = {}
    for unit in order:
        least = min(held.values())
        level = generator.choice([index for index, size in held.items() if size == least])
        held[level] += unit.size
        drawn[unit.name] = levels[level]
    return drawn


def _imbalance(
    units: Sequence[Unit], drawn: dict[str, Level], levels: Sequence[Level], moments: Sequence[tuple[float, float]]
) -> float:
    """Sum over covariates of the squared difference of each level's mean from the whole, in units of the variance."""
    held = {level: [unit for unit in units if drawn[unit.name] == level] for level in levels}
    sizes = [sum(unit.size for unit in held[level]) for level in levels]
    score = float(max(sizes) - min(sizes))
    for index, (mean, variance) in enumerate(moments):
        for level, size in zip(levels, sizes, strict=True):
            if size and variance:
                own = sum(unit.covariates[index] * unit.size for unit in held[level]) / size
                score += (own - mean) ** 2 / variance
    return score


def _moments(units: Sequence[Unit]) -> list[tuple[float, float]]:
    """Mean and variance of every covariate over all units."""
    total, found = sum(unit.size for unit in units), list[tuple[float, float]]()
    for index in range(len(units[0].covariates) if units else 0):
        mean = sum(unit.covariates[index] * unit.size for unit in units) / total
        found.append((mean, sum((unit.covariates[index] - mean) ** 2 * unit.size for unit in units) / total))
    return found
