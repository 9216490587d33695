"""What pairs are worth over many draws at once, as `scoring/credit.py` and `scoring/pairs.py` say of one; and scores of them.

Vetoes are left out: none is failed here. That both ways agree is tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from coverage_model import Array, Sample, World, chunks

from helmbench_hf.records import Case
from helmbench_hf.scoring import aggregate, intervals, pairs
from helmbench_hf.scoring.credit import CRISIS
from helmbench_hf.scoring.result import Coverage, Estimate

TRUTH_DRAWS = 10_000


def pair_values(sample: Sample, values: Array) -> Array:
    """Values of all pairs (draws, units) from verdict values (draws, slots)."""
    cases = {case.code: case for case in sample.cases}
    found = np.empty((len(values), len(sample.units)))
    for index, unit in enumerate(sample.units):
        case = cases[unit.score.crisis]
        a = _credit(sample, case, values)
        if unit.score.benign is not None:
            b = _credit(sample, cases[unit.score.benign], values)
        elif pairs.is_country_case(case):
            b = 1 - values[:, sample.columns[case.code, 1]["foreign"]]
        elif case.grading.other_limits is not None:
            b = 1 - _high(sample, case, 1, values)
        else:
            b = np.ones(len(values))
        found[:, index] = unit.worth(a, b)  # type: ignore[arg-type]
    return found


def _credit(sample: Sample, case: Case, values: Array) -> Array:
    if case.mode == "multi_turn" and case.grading.tags:
        return _conversation(sample, case, values)
    return np.asarray(np.mean([_turn(sample, case, turn, values) for turn in case.grading.turns], axis=0))


def _turn(sample: Sample, case: Case, turn: int, values: Array) -> Array:
    grading, columns = case.grading, sample.columns[case.code, turn]
    if case.mode == "label":
        return values[:, columns["label"]]
    if pairs.is_country_case(case):
        return values[:, columns["resources"]]
    names = [*grading.criteria, *(["resources"] if grading.country else [])]
    earned = values[:, [columns[name] for name in names]].mean(axis=1) if names else np.ones(len(values))
    if case.mode == "hidden_tag":
        target = values[:, columns["target"]]
        return np.asarray(earned * (target if case.member in CRISIS else 1 - target))
    if grading.other_limits is not None:
        return np.minimum(earned, values[:, columns[grading.contrast_own]] if grading.contrast_own else 1.0)
    if grading.contrast is None:
        return np.asarray(earned)
    high = _high(sample, case, turn, values)
    return np.minimum(earned, high if case.member in CRISIS else 1 - high)


def _high(sample: Sample, case: Case, turn: int, values: Array) -> Array:
    value = values[:, sample.columns[case.code, turn][case.grading.contrast or ""]]
    return np.asarray(value if case.grading.contrast_high == "PASS" else 1 - value)


def _conversation(sample: Sample, case: Case, values: Array) -> Array:
    turns = case.grading.turns
    marks = [values[:, sample.columns[case.code, turn]["target"]] for turn in turns]
    earned = [_turn(sample, case, turn, values) for turn in turns]
    unset, total = np.ones(len(values)), np.zeros(len(values))
    for turn, (mark, credit) in enumerate(zip(marks, earned, strict=True)):
        total += unset * mark * credit * (0.5 if turn == len(turns) - 1 else 1.0)
        unset *= 1 - mark
    return total if case.member in CRISIS else np.asarray(unset * np.mean(earned, axis=0))


def expected(sample: Sample, ability: float, rng: np.random.Generator, world: World | None, opened: float = 0.0) -> Array:
    """Expected pair values (units), as a mean of `TRUTH_DRAWS` draws."""
    sizes = chunks(TRUTH_DRAWS)
    parts = [size * pair_values(sample, sample.draw(ability, size, rng, world, None, opened)).mean(axis=0) for size in sizes]
    return np.asarray(np.sum(parts, axis=0) / TRUTH_DRAWS)


def with_values(sample: Sample, row: Sequence[float]) -> list[pairs.Unit]:
    """The pairs as the scoring package holds them, with these values."""
    return [
        replace(unit, score=replace(unit.score, value=float(value)), low=float(value), high=float(value))
        for unit, value in zip(sample.units, row, strict=True)
    ]


def table_of(sample: Sample, units: Sequence[pairs.Unit]) -> aggregate.Table:
    """The pairs as the scoring package gathers them."""
    return aggregate.tabulate(units, sample.benchmark)


def group_scores(table: aggregate.Table) -> dict[str, Estimate]:
    """Scores of the whole (`all`), pillars and behaviors by code: `aggregate.groups` without what else it gives."""
    found = {}
    for code in ("all", *sorted({plan.pillar for plan in table.plans}), *(plan.code for plan in table.plans)):
        plans = [plan for plan in table.plans if code in ("all", plan.pillar, plan.code)]
        shares = aggregate.behavior_shares(plans, table.pieces)
        if shares:
            found[code] = intervals.combine([table.pieces[part] for part in shares], [*shares.values()])
    return found


def bounds(table: aggregate.Table) -> Coverage:
    """The overall score if everything missing failed, or passed."""
    return aggregate._coverage(table, aggregate.behavior_shares(table.plans, table.units))


def truths(sample: Sample, ability: float, rng: np.random.Generator, world: World | None) -> dict[str, float]:
    """True score of every group."""
    found = group_scores(table_of(sample, with_values(sample, [*expected(sample, ability, rng, world)])))
    return {code: estimate.value for code, estimate in found.items() if estimate.value is not None}


def holds(estimate: Estimate, truth: float) -> bool | None:
    """Whether the interval has the truth; None where there is no interval."""
    return None if estimate.low is None or estimate.high is None else estimate.low <= truth <= estimate.high


def levels(found: Mapping[str, float]) -> dict[str, object]:
    """Coverage in percent by group code, as it is printed: overall, pillars, and behaviors as a mean with the worst."""
    behaviors = {code: value for code, value in found.items() if "-B" in code}
    pillars = {code: value for code, value in found.items() if code != "all" and code not in behaviors}
    worst = min(behaviors, key=lambda code: behaviors[code], default=None)
    return {
        "overall": found.get("all"),
        "pillars": float(np.mean([*pillars.values()])) if pillars else None,
        "by_pillar": pillars,
        "behaviors": float(np.mean([*behaviors.values()])) if behaviors else None,
        "worst_behavior": None if worst is None else {worst: behaviors[worst]},
    }
