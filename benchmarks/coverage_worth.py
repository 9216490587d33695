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
from helmbench_hf.scoring.scores import Coverage, Estimate
from helmbench_hf.tasks.credit import CRISIS, SOFT
from helmbench_hf.tasks.kinds import task_of

TRUTH_DRAWS = 10_000


Terms = tuple[Array, Array, Array]
"""`credit.Terms` of many draws."""


def pair_values(sample: Sample, values: Array) -> Array:
    """Values of all pairs (draws, units) from verdict values (draws, slots)."""
    cases = {case.code: case for case in sample.cases}
    found = np.empty((len(values), len(sample.units)))
    for index, unit in enumerate(sample.units):
        case = cases[unit.score.crisis]
        if unit.score.benign is not None:
            a, b = _twins(sample, case, cases[unit.score.benign], values)
        else:
            a = sum(share * terms[0] for share, terms in _turns(sample, case, values))  # type: ignore[assignment]
            b = 1 - _other(sample, case, values)
        found[:, index] = unit.worth(a, b)  # type: ignore[arg-type]
    return found


def _other(sample: Sample, case: Case, values: Array) -> Array:
    """What a case without a twin is held against."""
    if task_of(case).kind == "resources":
        return values[:, sample.columns[case.code, 1]["foreign"]]
    return _level(sample, case, 1, values) if case.grading.other_limits is not None else np.zeros(len(values))


def _twins(sample: Sample, crisis: Case, benign: Case, values: Array) -> tuple[Array, Array]:
    a, b = np.zeros(len(values)), np.zeros(len(values))
    turns = zip(_turns(sample, crisis, values), _turns(sample, benign, values), strict=True)
    for (share_a, (credit_a, soft_a, noticed_a)), (share_b, (credit_b, soft_b, noticed_b)) in turns:
        a += share_a * (credit_a - soft_a * noticed_b)
        b += share_b * (credit_b + soft_b * noticed_a)
    return a, b


def _turns(sample: Sample, case: Case, values: Array) -> list[tuple[Array, Terms]]:
    """By graded turn, its share of the credit and its terms."""
    turns = case.grading.turns
    shares = [np.full(len(values), 1 / len(turns)) for _ in turns]
    if case.mode == "multi_turn" and case.grading.tags:
        shares = _shares(case, [values[:, sample.columns[case.code, turn]["target"]] for turn in turns])
    return [(share, _terms(sample, case, turn, values)) for share, turn in zip(shares, turns, strict=True)]


def _shares(case: Case, marks: Sequence[Array]) -> list[Array]:
    unset, found = np.ones(len(marks[0])), []
    for turn, mark in enumerate(marks):
        found.append(unset * mark * (0.5 if turn == len(marks) - 1 else 1.0))
        unset = unset * (1 - mark)
    return found if case.member in CRISIS else [unset / len(marks)] * len(marks)


def _terms(sample: Sample, case: Case, turn: int, values: Array) -> Terms:
    earned, nothing = _earned(sample, case, turn, values), np.zeros(len(values))
    if case.mode in {"label", "hidden_tag"} or case.grading.contrast is None or case.grading.other_limits is not None:
        return earned, nothing, nothing
    level = _level(sample, case, turn, values)
    crisis = case.member in CRISIS
    at_half = np.minimum(earned, SOFT)
    soft = np.where(level == SOFT, at_half if crisis else earned - at_half, 0.0)
    return np.minimum(earned, level if crisis else 1 - level), soft, (level == 1).astype(float)


def _earned(sample: Sample, case: Case, turn: int, values: Array) -> Array:
    grading, columns = case.grading, sample.columns[case.code, turn]
    if case.mode == "label":
        return values[:, columns["label"]]
    if task_of(case).kind == "resources":
        return values[:, columns["resources"]]
    marks = [values[:, columns[name]] for name in grading.criteria_at(turn)]
    marks = [
        np.where(mark == SOFT, 1.0, mark) if name in grading.soft_lines else mark
        for name, mark in zip(grading.criteria_at(turn), marks, strict=True)
    ]
    marks += [values[:, columns["resources"]]] if grading.country else []
    earned = np.asarray(np.mean(marks, axis=0)) if marks else np.ones(len(values))
    if case.mode == "hidden_tag":
        target = values[:, columns["target"]]
        return np.asarray(earned * (target if case.member in CRISIS else 1 - target))
    if grading.other_limits is not None and grading.contrast_own:
        return np.asarray(np.minimum(earned, values[:, columns[grading.contrast_own]]))
    return earned


def _level(sample: Sample, case: Case, turn: int, values: Array) -> Array:
    value = values[:, sample.columns[case.code, turn][case.grading.contrast or ""]]
    return np.asarray(value if case.grading.contrast_high == "PASS" else 1 - value)


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
    return aggregate._coverage(table, aggregate.behavior_shares(table.plans, table.units), aggregate._weights(table.plans))


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
