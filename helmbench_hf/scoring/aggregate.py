"""Pairs to scenarios, behaviors, pillars and the overall score. Nothing is clipped on the way.

Scenario = sum of w (a + b - 1) / sum of w; behavior = mean of its scenarios; pillar and overall = means of the behaviors that
are there, by weight. What is missing drops out of the mean and widens the bounds that stand beside it. Where less than
`minimum_coverage` of the weight was scored there is no score, and a sentence says so.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.schema import Behavior, Pillar
from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.gathered import gathered
from helmbench_hf.scoring.intervals import Bounds, Piece
from helmbench_hf.scoring.pairs import Design, Unit
from helmbench_hf.scoring.scores import Coverage, Estimate, Group, Rate, ScenarioScore
from helmbench_hf.tasks.base import Kind
from helmbench_hf.tasks.kinds import task_of_mode

POOLS: dict[Kind, str] = {
    "hidden_tag": "tags",
    "judged": "replies",
    "multi_turn": "replies",  # conversations are few, and judged reply by reply
    "reactive": "replies",
    "label": "labels",
    "resources": "countries",  # a message's mean over countries varies far less than one reply
}
"""Scenarios whose variances are shrunk towards one another."""
Shares = dict[str, float]
"""By scenario code, its coefficient in a weighted sum."""


@dataclass(frozen=True, slots=True)
class BehaviorPlan:
    """A behavior, and the codes of its scenarios: those planned in this run, and the others."""

    behavior: Behavior
    code: str
    weight: int
    """Points of 100."""
    pillar: str
    parts: tuple[str, ...]
    absent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The headline pairs by scenario, and every scenario's estimate (shrunk) for the score and for its code-only part."""

    units: Mapping[str, tuple[Unit, ...]]
    pieces: Mapping[str, Piece]
    code_pieces: Mapping[str, Piece]
    plans: tuple[BehaviorPlan, ...]
    graded_by_code: frozenset[str]
    """Scenarios, planned or not, of which code alone can score a part."""
    minimum_coverage: float


def tabulate(units: Sequence[Unit], benchmark: Benchmark) -> Table:
    """Gather the headline pairs; a scenario without a scored pair is planned but has no piece."""
    by_scenario = gathered((unit.score.scenario, unit) for unit in units if unit.score.headline)
    planned = {code: tuple(by_scenario[code]) for code in sorted(by_scenario)}
    by_code = frozenset(
        each.scenario.code
        for each in benchmark.scenarios
        if task_of_mode(each.scenario.mode).graded_by_code or (each.scenario.resources and not each.pairs)
    )
    authored = gathered((each.behavior, each.scenario.code) for each in benchmark.scenarios if not each.scenario.apart)
    plans = []
    for pillar in benchmark.file.pillars:
        for behavior in pillar.behaviors:
            codes = authored.get(behavior.code, [])
            parts = tuple(code for code in codes if code in planned)
            absent = tuple(code for code in codes if code not in planned)
            plans.append(BehaviorPlan(behavior, behavior.code, behavior.weight, pillar.code, parts, absent))
    pieces, code_pieces = _pieces(planned), _pieces(planned, code_only=True)
    return Table(planned, pieces, code_pieces, tuple(plans), by_code, benchmark.scoring.minimum_coverage)


def _pieces(units: Mapping[str, Sequence[Unit]], *, code_only: bool = False) -> dict[str, Piece]:
    raw = {}
    for code, items in units.items():
        scored = [
            (value, unit.score.weight, unit.score.meaning)
            for unit in items
            if (value := unit.score.code_value if code_only else unit.score.value) is not None
        ]
        if scored:
            raw[code] = intervals.piece(scored, POOLS[items[0].kind], range_of(items))
    return dict(zip(raw, intervals.shrink([*raw.values()]), strict=True))


def range_of(units: Sequence[Unit]) -> Bounds:
    """Of the weighted mean of pairs (one or more): its value if every credit were 0, and if every credit were 1."""
    total = sum(unit.score.weight for unit in units)
    low, high = (sum(unit.score.weight * unit.worth(credit, credit) for unit in units) / total for credit in (0.0, 1.0))
    return low, high


def behavior_shares(behaviors: Sequence[BehaviorPlan | Group], present: Container[str]) -> Shares:
    """Coefficients of the scenarios that are present, in the weighted mean of these behaviors; they sum to 1.

    A scenario that is not present drops out of its behavior, and a behavior without any out of the mean.
    """
    inside = [(each.weight, [code for code in each.parts if code in present]) for each in behaviors]
    total = sum(weight for weight, codes in inside if codes)
    return {code: weight / total / len(codes) for weight, codes in inside for code in codes}


def weighted(pieces: Mapping[str, Piece], shares: Shares, note: str = "") -> Estimate:
    """The sum of the pieces by their shares; scenarios without a piece are left out."""
    inside = {code: share for code, share in shares.items() if code in pieces}
    return intervals.combine([pieces[code] for code in inside], list(inside.values()), note)


def value(pieces: Mapping[str, Piece], plans: Sequence[BehaviorPlan]) -> float | None:
    """The weighted mean of the given behaviors; None where nothing was scored."""
    return weighted(pieces, behavior_shares(plans, pieces)).value


def scenario_scores(
    table: Table, benchmark: Benchmark, design: Design, marks: Mapping[str, tuple[Rate, Rate]]
) -> tuple[ScenarioScore, ...]:
    """Every planned scenario; `marks` holds sensitivity and false alarms of hidden-tag scenarios."""
    authored = {loaded.scenario.code: loaded.scenario for loaded in benchmark.scenarios}
    found = []
    for code, items in table.units.items():
        one = {code: 1.0}
        sensitivity, false_alarms = marks.get(code, (None, None))
        found.append(
            ScenarioScore(
                code=code,
                slug=authored[code].slug,
                title=authored[code].title,
                behavior=items[0].case.behavior,
                kind=items[0].kind,
                condition=design.headline[code],
                score=_withheld(weighted(table.pieces, one), _too_little(table, one)),
                coverage=_coverage(table, one, one),
                code_score=_code_score(table, one, one),
                sensitivity=sensitivity,
                false_alarms=false_alarms,
            )
        )
    return tuple(found)


def groups(table: Table, benchmark: Benchmark) -> tuple[tuple[Group, ...], tuple[Group, ...], Group]:
    """Behaviors and pillars with at least one planned pair, and the overall score."""
    spread = _spread_of_scenarios(table)
    behaviors = [_group(table, spread, [plan], plan.behavior) for plan in table.plans if plan.parts]
    pillars = []
    for pillar in benchmark.file.pillars:
        plans = [plan for plan in table.plans if plan.pillar == pillar.code]
        if any(plan.parts for plan in plans):
            pillars.append(_group(table, spread, plans, pillar))
    return tuple(behaviors), tuple(pillars), _group(table, spread, table.plans, None)


def _group(table: Table, spread: Mapping[str, Piece], plans: Sequence[BehaviorPlan], of: Behavior | Pillar | None) -> Group:
    """A behavior, whose parts are scenarios; a pillar, or with None the overall score, whose parts are behaviors."""
    scored = [plan for plan in plans if plan.code in spread]
    parts, absent = tuple(plan.code for plan in scored), tuple(plan.code for plan in plans if plan not in scored)
    if isinstance(of, Behavior):
        parts, absent = plans[0].parts, plans[0].absent
    weights = _weights(plans)
    score, reason = weighted(table.pieces, behavior_shares(plans, table.pieces)), _too_little(table, weights)
    return Group(
        code=of.code if of else "all",
        slug=of.slug if of else "overall",
        title=of.title if of else "Overall",
        weight=sum(plan.weight for plan in plans),
        critical=isinstance(of, Behavior) and of.critical,
        score=_withheld(score, reason),
        new_scenarios=_withheld(_new_scenarios(score, table, spread, scored), reason),
        coverage=_coverage(table, behavior_shares(plans, table.units), weights),
        code_score=_code_score(table, behavior_shares(plans, table.code_pieces), weights),
        parts=parts,
        absent=absent,
    )


def _code_score(table: Table, shares: Shares, weights: Shares) -> Estimate | None:
    found = weighted(table.code_pieces, shares)
    return _withheld(found, _too_little(table, weights, code_only=True)) if found.value is not None else None


def _withheld(estimate: Estimate, reason: str) -> Estimate:
    return replace(estimate, value=None, low=None, high=None, se=None, df=None, note=reason) if reason else estimate


def _too_little(table: Table, weights: Shares, *, code_only: bool = False) -> str:
    """Why a score is not printed; empty where enough of the weight, or of what code can score of it, was scored."""
    share = _covered(table, weights)
    if code_only:
        graded = {code: weight for code, weight in weights.items() if code in table.graded_by_code}
        share = _covered(table, graded, code_only=True) / sum(graded.values()) if graded else 0.0
    if share >= table.minimum_coverage - 1e-9:
        return ""
    return f"only {100 * share:.3g}% of its weight was scored, and below {100 * table.minimum_coverage:g}% there is no score"


def _weights(plans: Sequence[BehaviorPlan]) -> Shares:
    """By scenario, planned or not, its share of the plans' weight: behaviors by points, scenarios of one alike.

    They sum to 1, and to less where a behavior has no scenario yet.
    """
    total = sum(plan.weight for plan in plans)
    every = [(plan.weight, (*plan.parts, *plan.absent)) for plan in plans]
    return {code: weight / total / len(codes) for weight, codes in every for code in codes}


def _covered(table: Table, weights: Shares, *, code_only: bool = False) -> float:
    """The sum over scenarios of weight x share of pairs scored."""
    found = 0.0
    for code, weight in weights.items():
        scores = [unit.score for unit in table.units.get(code, ())]
        scored = sum((score.code_value if code_only else score.value) is not None for score in scores)
        found += weight * scored / len(scores) if scores else 0.0
    return found


def _spread_of_scenarios(table: Table) -> dict[str, Piece]:
    """Every behavior with a score as a mean over drawn scenarios, its variance shrunk towards that of all behaviors."""
    found = {}
    for plan in table.plans:
        inside = {code: table.pieces[code] for code in plan.parts if code in table.pieces}
        if inside:
            spans = [item.bounds for item in inside.values() if item.bounds]
            span = sum(low for low, _ in spans) / len(spans), sum(high for _, high in spans) / len(spans)
            found[plan.code] = intervals.piece([(item.value, 1.0, code) for code, item in inside.items()], bounds=span)
    # what a scenario's mean may differ by is far less than all or nothing
    return dict(zip(found, intervals.shrink([*found.values()], doubt=0.0), strict=True))


def _new_scenarios(score: Estimate, table: Table, spread: Mapping[str, Piece], scored: Sequence[BehaviorPlan]) -> Estimate:
    """The score with an interval over scenarios, which is never narrower than the one over messages alone.

    None where most of the weight rests on behaviors with one scenario, which say nothing about how scenarios vary.
    """
    total = sum(plan.weight for plan in scored)
    lone = [plan for plan in scored if sum(code in table.pieces for code in plan.parts) == 1]
    if 2 * sum(plan.weight for plan in lone) > total or not scored:
        note = "rests mostly on one scenario a behavior, which says nothing about other scenarios" if scored else score.note
        return replace(score, low=None, high=None, se=None, df=None, note=note)
    found = intervals.combine([spread[plan.code] for plan in scored], [plan.weight / total for plan in scored])
    borrowed = f"{len(lone)} of {len(scored)} behaviors rest on one scenario and borrow the others' spread" if lone else ""
    low, high = found.low, found.high
    if low is not None and high is not None and score.low is not None and score.high is not None:
        low, high = min(low, score.low), max(high, score.high)
    return replace(score, low=low, high=high, se=found.se, df=found.df, note=borrowed)


def _coverage(table: Table, shares: Shares, weights: Shares) -> Coverage:
    """`shares`: of the planned scenarios in the score; `weights`: of all authored ones."""
    units = [unit for code in shares for unit in table.units[code]]
    low = high = 0.0
    for code, share in shares.items():
        inside = table.units[code]
        total = sum(unit.score.weight for unit in inside)
        low += share * sum(unit.score.weight * unit.low for unit in inside) / total
        high += share * sum(unit.score.weight * unit.high for unit in inside) / total
    return Coverage(
        share=_covered(table, weights),
        planned_share=sum(weight for code, weight in weights.items() if code in table.units),
        scored=sum(unit.score.value is not None for unit in units),
        planned=len(units),
        all_fail=low if units else None,
        all_pass=high if units else None,
        unscored=tuple(code for code in shares if code not in table.pieces),
    )
