"""Do intervals of scores hold the truth: with every verdict, and with some missing? (a) and (b) of `coverage.py`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from coverage_model import Array, Sample, World, chunks, shares
from coverage_worth import bounds, group_scores, holds, levels, table_of, truths

from helmbench_hf.scoring import aggregate, pairs
from helmbench_hf.scoring.scores import Coverage, Estimate

ABILITIES = (0.0, 1.5, 3.0)
ROUNDING = 1e-9
Missing = Callable[[Array, np.random.Generator], npt.NDArray[np.bool_]]
"""Which of the right verdicts (draws, slots) a judge leaves out."""


def at_random(share: float) -> Missing:
    """Every verdict is missing with the same chance."""
    return lambda values, rng: np.asarray(rng.random(values.shape) < share)


def where_unsure(partial: float, other: float) -> Missing:
    """The judge is unsure between its levels: a right PARTIAL is missing more often than a right PASS or FAIL."""
    return lambda values, rng: np.asarray(rng.random(values.shape) < np.where(values == 0.5, partial, other))


MISSING: dict[str, Missing] = {
    "5% at random": at_random(0.05),
    "20% at random": at_random(0.20),
    "40% of PARTIAL, 5% of the rest": where_unsure(0.40, 0.05),
}


def score_coverage(sample: Sample, replicates: int, seed: int) -> dict[str, Any]:
    """(a) Verdicts to pairs to groups by the scoring package, at three abilities; and the interval for new scenarios."""
    rows: dict[str, Any] = {}
    for number, ability in enumerate(ABILITIES):
        world = sample.world(np.random.default_rng([seed, number, 0]))
        truth = truths(sample, ability, np.random.default_rng([seed, number, 1]), world)
        estimates = (group_scores(table) for table in _tables(sample, ability, world, replicates, [seed, number, 2]))
        rows[f"ability {ability:g}"] = {"true_overall": 100 * truth["all"], **_covered(estimates, truth)}
    mean = {level: float(np.mean([row[level] for row in rows.values()])) for level in ("overall", "pillars", "behaviors")}
    return {"by_ability": rows, "mean": mean, "new_scenarios": _new_scenarios(sample, max(1, replicates // 2), seed)}


def _new_scenarios(sample: Sample, replicates: int, seed: int) -> dict[str, Any]:
    """The interval for other scenarios where scenarios are drawn anew each time, in half as many replicates."""
    truth = truths(sample, ABILITIES[1], np.random.default_rng([seed, 9, 1]), None)
    tables = _tables(sample, ABILITIES[1], None, replicates, [seed, 9, 2])
    found = (aggregate.groups(table, sample.benchmark) for table in tables)
    estimates = ({group.code: group.new_scenarios for group in (overall, *pillars)} for _, pillars, overall in found)
    return {"replicates": replicates, **_covered(estimates, truth)}


def _covered(replicates: Iterable[Mapping[str, Estimate]], truth: Mapping[str, float]) -> dict[str, Any]:
    held: dict[str, list[bool]] = defaultdict(list)
    halves = []
    for estimates in replicates:
        for code, estimate in estimates.items():
            if (inside := holds(estimate, truth[code])) is not None:
                held[code].append(inside)
        overall = estimates["all"]
        if overall.low is not None and overall.high is not None:
            halves.append(50 * (overall.high - overall.low))
    return {**levels(shares(held)), "half_width": float(np.mean(halves)) if halves else None}


def _tables(sample: Sample, ability: float, world: World | None, replicates: int, seed: list[int]) -> Iterator[aggregate.Table]:
    rng = np.random.default_rng(seed)
    for size in chunks(replicates):
        for row in sample.draw(ability, size, rng, world).tolist():
            yield _table(sample, row)


def _table(sample: Sample, row: list[float], kept: list[bool] | None = None) -> aggregate.Table:
    return table_of(sample, pairs.units(sample.ledger(row, kept), sample.plan))


def missing_coverage(sample: Sample, replicates: int, seed: int) -> dict[str, Any]:
    """(b) Coverage and bias where verdicts are missing, and whether the bounds hold the score of all verdicts and the truth."""
    world = sample.world(np.random.default_rng([seed, 0]))
    truth = truths(sample, ABILITIES[1], np.random.default_rng([seed, 1]), world)
    found: dict[str, Any] = {"true_overall": 100 * truth["all"]}
    for number, (name, missing) in enumerate(MISSING.items()):
        rows = [*_with_missing(sample, world, missing, replicates, [seed, 2 + number])]
        bounds_of = [(bound.all_fail or 0.0, bound.all_pass or 0.0) for *_, bound in rows]
        full, part = ([scores["all"].value or 0.0 for scores in side] for side in ([r[0] for r in rows], [r[1] for r in rows]))
        found[name] = {
            **_covered((scores for _, scores, _ in rows), truth),
            "no_overall_interval": 100 * float(np.mean([scores["all"].low is None for _, scores, _ in rows])),
            "bias": 100 * float(np.mean(np.subtract(part, full))),
            "pairs_scored": 100 * float(np.mean([bound.scored / bound.planned for *_, bound in rows])),
            "bounds_hold_the_full_score": _within(bounds_of, full),
            "bounds_hold_the_truth": _within(bounds_of, [truth["all"]] * len(rows)),
            "bounds_width": 100 * float(np.mean([high - low for low, high in bounds_of])),
        }
    return found


def _within(found: Sequence[tuple[float, float]], values: Sequence[float]) -> float:
    """Percent of values (n) inside their bounds (n)."""
    inside = [low - ROUNDING <= value <= high + ROUNDING for (low, high), value in zip(found, values, strict=True)]
    return 100 * float(np.mean(inside))


def _with_missing(
    sample: Sample, world: World, missing: Missing, replicates: int, seed: list[int]
) -> Iterator[tuple[dict[str, Estimate], dict[str, Estimate], Coverage]]:
    """Scores with every verdict, scores without what is missing, and the bounds."""
    rng = np.random.default_rng(seed)
    for size in chunks(replicates):
        values = sample.draw(ABILITIES[1], size, rng, world)
        kept = ~(missing(values, rng) & sample.judged)
        for row, known in zip(values.tolist(), kept.tolist(), strict=True):
            table = _table(sample, row, known)
            yield group_scores(_table(sample, row)), group_scores(table), bounds(table)
