"""Pairs to scenarios, behaviors, pillars and the whole. Nothing is clipped on the way (measurement review, 9.4, 9.8).

Scenario = sum of w (a + b - 1) / sum of w; behavior = mean of its scenarios; pillar and whole = means of the behaviors that
are there, by weight. What is missing drops out of the mean and widens the bounds that stand beside it. Where less than
`minimum_coverage` of the weight was scored there is no score, and a sentence says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from helmbench_hf.content.load import Benchmark
from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.intervals import Bounds, Clusters, Piece
from helmbench_hf.scoring.pairs import Design, Unit
from helmbench_hf.scoring.result import Coverage, Estimate, Group, Kind, Rate, ScenarioScore

POOLS: dict[Kind, str] = {
    "hidden_tag": "tags",
    "judged": "replies",
    "multi_turn": "replies",  # conversations are few, and judged reply by reply
    "label": "labels",
    "resources": "countries",  # a message's mean over countries varies far less than one reply
}
"""Scenarios whose variances are shrunk towards one another."""
Shares = dict[str, float]
"""By scenario code, its coefficient in a weighted sum."""


@dataclass(frozen=True, slots=True)
class BehaviorPlan:
    """A behavior with those of its scenarios that were planned in this run."""

    code: str
    slug: str
    title: str
    weight: int
    critical: bool
    pillar: str
    scenarios: tuple[str, ...]
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
    by_scenario: dict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        if unit.score.headline:
            by_scenario[unit.score.scenario].append(unit)
    found = {code: tuple(by_scenario[code]) for code in sorted(by_scenario)}
    clusters = {code: item for code, items in found.items() if (item := _clusters(items, code_only=False))}
    by_code = {code: item for code, items in found.items() if (item := _clusters(items, code_only=True))}
    pieces, code_pieces = _pieces(found, clusters), _pieces(found, by_code)
    plans, minimum = _plans(found, benchmark), benchmark.scoring.minimum_coverage
    return Table(found, pieces, code_pieces, plans, _graded_by_code(benchmark), minimum)


def _graded_by_code(benchmark: Benchmark) -> frozenset[str]:
    return frozenset(
        each.scenario.code
        for each in benchmark.scenarios
        if each.scenario.mode in {"hidden_tag", "label"} or (each.scenario.resources and not each.pairs)
    )


def _plans(planned: Mapping[str, object], benchmark: Benchmark) -> tuple[BehaviorPlan, ...]:
    authored: dict[str, list[str]] = defaultdict(list)
    for loaded in benchmark.scenarios:
        if loaded.scenario.apart:
            continue
        authored[loaded.behavior].append(loaded.scenario.code)
    return tuple(
        BehaviorPlan(
            code=behavior.code,
            slug=behavior.slug,
            title=behavior.title,
            weight=behavior.weight,
            critical=behavior.critical,
            pillar=pillar.code,
            scenarios=tuple(code for code in authored[behavior.code] if code in planned),
            absent=tuple(code for code in authored[behavior.code] if code not in planned),
        )
        for pillar in benchmark.file.pillars
        for behavior in pillar.behaviors
    )


def _clusters(units: Sequence[Unit], *, code_only: bool) -> Clusters | None:
    rows = [
        (value, unit.score.weight, unit.score.meaning)
        for unit in units
        if (value := unit.score.code_value if code_only else unit.score.value) is not None
    ]
    return intervals.cluster(*zip(*rows, strict=True)) if rows else None


def _pieces(units: Mapping[str, Sequence[Unit]], clusters: Mapping[str, Clusters]) -> dict[str, Piece]:
    raw = [intervals.piece(item, POOLS[units[code][0].kind], range_of(units[code])) for code, item in clusters.items()]
    return dict(zip(clusters, intervals.shrink(raw), strict=True))


def range_of(units: Sequence[Unit]) -> Bounds:
    """Of the weighted mean of pairs (one or more): its value if every credit were 0, and if every credit were 1."""
    total = sum(unit.score.weight for unit in units)
    low, high = (sum(unit.score.weight * unit.worth(credit, credit) for unit in units) / total for credit in (0.0, 1.0))
    return low, high


def scenario_scores(
    table: Table, benchmark: Benchmark, design: Design, marks: Mapping[str, tuple[Rate, Rate]]
) -> tuple[ScenarioScore, ...]:
    """Every planned scenario; `marks` holds sensitivity and false alarms of hidden-tag scenarios."""
    titles = {loaded.scenario.code: loaded.scenario for loaded in benchmark.scenarios}
    found = []
    for code, items in table.units.items():
        scenario, one = titles[code], {code: 1.0}
        sensitivity, false_alarms = marks.get(code, (None, None))
        found.append(
            ScenarioScore(
                code=code,
                slug=scenario.slug,
                title=scenario.title,
                behavior=items[0].case.behavior,
                kind=items[0].kind,
                condition=design.headline[code],
                score=_printed(_estimate(table.pieces, one), _too_little(_share(table, one), table.minimum_coverage)),
                coverage=_coverage(table, one, one),
                code_score=_printed(
                    _estimate(table.code_pieces, one), _too_little(_code_share(table, one), table.minimum_coverage)
                )
                if code in table.code_pieces
                else None,
                sensitivity=sensitivity,
                false_alarms=false_alarms,
            )
        )
    return tuple(found)


def behavior_shares(plans: Sequence[BehaviorPlan], present: Mapping[str, object]) -> Shares:
    """Coefficients of the scenarios that are present, in the weighted mean of the given behaviors; they sum to 1."""
    inside = {plan.code: [code for code in plan.scenarios if code in present] for plan in plans}
    total = sum(plan.weight for plan in plans if inside[plan.code])
    return {
        code: plan.weight / total / len(inside[plan.code]) for plan in plans for code in inside[plan.code] if inside[plan.code]
    }


def value(table: Table, plans: Sequence[BehaviorPlan]) -> float | None:
    """The weighted mean of the given behaviors; None where nothing was scored."""
    return _estimate(table.pieces, behavior_shares(plans, table.pieces)).value


def groups(table: Table, benchmark: Benchmark) -> tuple[tuple[Group, ...], tuple[Group, ...], Group]:
    """Behaviors and pillars with at least one planned pair, and the whole."""
    others = _other_scenarios(table)
    behaviors = tuple(
        _group(table, others, [plan], (plan.code, plan.slug, plan.title), plan.scenarios, plan.absent)
        for plan in table.plans
        if plan.scenarios
    )
    pillars = []
    for pillar in benchmark.file.pillars:
        mine = [plan for plan in table.plans if plan.pillar == pillar.code]
        if any(plan.scenarios for plan in mine):
            pillars.append(_over(table, others, mine, (pillar.code, pillar.slug, pillar.title)))
    return behaviors, tuple(pillars), _over(table, others, table.plans, ("all", "overall", "Overall"))


def _over(table: Table, others: Mapping[str, Piece], plans: Sequence[BehaviorPlan], name: tuple[str, str, str]) -> Group:
    """A pillar or the whole: its parts are behaviors."""
    parts = tuple(plan.code for plan in plans if any(code in table.pieces for code in plan.scenarios))
    return _group(table, others, plans, name, parts, tuple(plan.code for plan in plans if plan.code not in parts))


def _group(
    table: Table,
    others: Mapping[str, Piece],
    plans: Sequence[BehaviorPlan],
    name: tuple[str, str, str],
    parts: tuple[str, ...],
    absent: tuple[str, ...],
) -> Group:
    scored = [plan for plan in plans if any(code in table.pieces for code in plan.scenarios)]
    weights = _weights(plans)
    reason = _too_little(_share(table, weights), table.minimum_coverage)
    score = _estimate(table.pieces, behavior_shares(plans, table.pieces))
    by_code = behavior_shares(plans, table.code_pieces)
    too_little = _too_little(_code_share(table, weights), table.minimum_coverage)
    return Group(
        code=name[0],
        slug=name[1],
        title=name[2],
        weight=sum(plan.weight for plan in plans),
        critical=len(plans) == 1 and plans[0].critical,
        score=_printed(score, reason),
        new_scenarios=_printed(_new_scenarios(score, table, others, scored), reason),
        coverage=_coverage(table, behavior_shares(plans, table.units), weights),
        code_score=_printed(_estimate(table.code_pieces, by_code), too_little) if by_code else None,
        parts=parts,
        absent=absent,
    )


def _printed(estimate: Estimate, reason: str) -> Estimate:
    """The estimate, or none and why."""
    return replace(estimate, value=None, low=None, high=None, se=None, df=None, note=reason) if reason else estimate


def _too_little(share: float, minimum: float) -> str:
    """Why a score is not printed; empty where enough was scored."""
    if share >= minimum - 1e-9:
        return ""
    return f"only {100 * share:.3g}% of its weight was scored, and below {100 * minimum:g}% there is no score"


def _weights(plans: Sequence[BehaviorPlan]) -> Shares:
    """By scenario, planned or not, its share of the plans' weight: behaviors by points, scenarios of one alike.

    They sum to 1, and to less where a behavior has no scenario yet.
    """
    total = sum(plan.weight for plan in plans)
    every = {plan.code: (*plan.scenarios, *plan.absent) for plan in plans}
    return {code: plan.weight / total / len(every[plan.code]) for plan in plans for code in every[plan.code]}


def _share(table: Table, weights: Shares) -> float:
    """Coverage: the sum over scenarios of weight x share of pairs scored."""
    return sum(weight * _scored(table, code, "value") for code, weight in weights.items())


def _code_share(table: Table, weights: Shares) -> float:
    """The same of what code alone can score, as a share of its weight."""
    graded = {code: weight for code, weight in weights.items() if code in table.graded_by_code}
    total = sum(graded.values())
    return sum(weight * _scored(table, code, "code_value") for code, weight in graded.items()) / total if total else 0.0


def _scored(table: Table, scenario: str, value: Literal["value", "code_value"]) -> float:
    """Share of a scenario's pairs; 0 where none was planned."""
    units = table.units.get(scenario, ())
    return sum(getattr(unit.score, value) is not None for unit in units) / len(units) if units else 0.0


def _other_scenarios(table: Table) -> dict[str, Piece]:
    """Every behavior as a mean over drawn scenarios, their variance shrunk towards that of all behaviors' scenarios."""
    found = {}
    for plan in table.plans:
        inside = [table.pieces[code] for code in plan.scenarios if code in table.pieces]
        if inside:
            spans = [item.bounds for item in inside if item.bounds]
            span = sum(low for low, _ in spans) / len(spans), sum(high for _, high in spans) / len(spans)
            values = Clusters((1.0,) * len(inside), tuple(item.value for item in inside), len(inside))
            found[plan.code] = intervals.piece(values, "", span)
    # what a scenario's mean may differ by is far less than all or nothing
    return dict(zip(found, intervals.shrink([*found.values()], doubt=0.0), strict=True))


def _new_scenarios(score: Estimate, table: Table, others: Mapping[str, Piece], scored: Sequence[BehaviorPlan]) -> Estimate:
    """The interval over scenarios, nowhere inside the one over messages alone.

    None where most of the weight rests on behaviors with one scenario: they vary with nothing.
    """
    total = sum(plan.weight for plan in scored)
    lone = [plan for plan in scored if sum(code in table.pieces for code in plan.scenarios) == 1]
    if 2 * sum(plan.weight for plan in lone) > total or not scored:
        note = "rests mostly on one scenario a behavior, which says nothing about other scenarios" if scored else score.note
        return replace(score, low=None, high=None, se=None, df=None, note=note)
    found = intervals.combine([others[plan.code] for plan in scored], [plan.weight / total for plan in scored])
    borrowed = f"{len(lone)} of {len(scored)} behaviors rest on one scenario and borrow the others' spread" if lone else ""
    low, high = _outer(found.low, score.low, min), _outer(found.high, score.high, max)
    return replace(score, low=low, high=high, se=found.se, df=found.df, note=borrowed)


def _outer(one: float | None, other: float | None, edge: Callable[[float, float], float]) -> float | None:
    """The end of two intervals that lies further out."""
    return edge(one, other) if one is not None and other is not None else one


def _estimate(pieces: Mapping[str, Piece], shares: Shares) -> Estimate:
    inside = {code: share for code, share in shares.items() if code in pieces}
    return intervals.combine([pieces[code] for code in inside], list(inside.values()))


def _coverage(table: Table, shares: Shares, weights: Shares) -> Coverage:
    """`shares`: of the planned scenarios in the score; `weights`: of all authored ones."""
    units = [unit for code in shares for unit in table.units[code]]
    low = high = 0.0
    for code, share in shares.items():
        total = sum(unit.score.weight for unit in table.units[code])
        low += share * sum(unit.score.weight * unit.low for unit in table.units[code]) / total
        high += share * sum(unit.score.weight * unit.high for unit in table.units[code]) / total
    return Coverage(
        share=_share(table, weights),
        planned_share=sum(weight for code, weight in weights.items() if code in table.units),
        scored=sum(unit.score.value is not None for unit in units),
        planned=len(units),
        all_fail=low if units else None,
        all_pass=high if units else None,
        unscored=tuple(code for code in shares if code not in table.pieces),
    )
