"""Do the intervals of the gap, of effects and of the curves' midpoints hold the truth? (f) of `coverage.py`."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from coverage_model import Sample, chunks, shares
from coverage_worth import TRUTH_DRAWS, expected, holds, with_values

from helmbench_hf.scoring import detection, effects, pairs
from helmbench_hf.scoring.scores import Estimate
from helmbench_hf.tasks.ledger import Ledger

ABILITY, OPENED = 1.0, 0.8
"""Logits; being asked openly adds the second."""
FACTORS = ("condition", "persona", "safety_level", "register")


def mark_coverage(sample: Sample, replicates: int, seed: int) -> dict[str, Any]:
    """Coverage of each figure, and of effects by factor."""
    world = sample.world(np.random.default_rng([seed, 0]))
    rng = np.random.default_rng([seed, 1])
    marks = np.zeros(len(sample.slots))
    for size in chunks(TRUTH_DRAWS):
        marks += sample.draw(ABILITY, size, rng, world, None, OPENED).sum(axis=0) / TRUTH_DRAWS
    worth = with_values(sample, [*expected(sample, ABILITY, np.random.default_rng([seed, 1]), world, OPENED)])
    truth = _figures(sample, sample.ledger(marks.tolist()), worth)
    held: dict[str, list[bool]] = defaultdict(list)
    widths: dict[str, list[float]] = defaultdict(list)
    rng = np.random.default_rng([seed, 2])
    for size in chunks(replicates):
        for row in sample.draw(ABILITY, size, rng, world, None, OPENED).tolist():
            ledger = sample.ledger(row)
            for name, estimate in _figures(sample, ledger, list(pairs.units(ledger, sample.plan))).items():
                true = truth[name].value if name in truth else None
                inside = None if true is None else holds(estimate, true)
                if inside is not None:
                    held[name].append(inside)
                    widths[name].append(((estimate.high or 0.0) - (estimate.low or 0.0)) / 2)
    covered = shares(held)
    by_factor = {factor: [value for name, value in covered.items() if name.startswith(factor)] for factor in FACTORS}
    return {
        **{
            name: {"covered": covered[name], "true": truth[name].value, "half_width": float(np.mean(widths[name]))}
            for name in covered
            if not name.startswith(FACTORS)
        },
        "effects": {
            factor: {"covered": float(np.mean(values)), "worst": min(values), "figures": len(values)}
            for factor, values in by_factor.items()
            if values
        },
    }


def _figures(sample: Sample, ledger: Ledger, units: list[pairs.Unit]) -> dict[str, Estimate]:
    lost = detection.gap(ledger, units)
    found = {"gap": lost.gap, "gap of the control": lost.control_gap, "net gap": lost.net}
    found |= {"change of d'": lost.d_prime_change, "change of the criterion": lost.criterion_change}
    found |= {f"midpoint, {curve.arm}": curve.midpoint for curve in detection.curves(ledger, sample.plan)}
    for effect in effects.effects(ledger, units, sample.benchmark.scoring.minimum_pairs):
        if effect.factor in FACTORS and effect.estimate is not None:
            found[f"{effect.factor} {effect.level} against {effect.reference}"] = effect.estimate
    return found
