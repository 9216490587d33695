"""What a design can estimate: pairs, meanings and planning standard errors of the main figures, for the card.

Planning values, not results: a pair's a + b - 1 varies by .7 x .3 + .9 x .1 = .30 (blueprint, section e), and the difference of
a pair between two cells by .50, which gives the half-widths of the simulation (measurement review, section 4 and 9.12).
Clusters are meanings, so copies and repeated cells add nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from helmbench_hf.content.load import Benchmark
from helmbench_hf.matrix.expand import first_condition
from helmbench_hf.records import Case

PAIR, DIFFERENCE = 0.30, 0.50
"""Planning variances."""
Z = 1.96


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure in one design. `half_width` of a 95% interval on the scale 0 to 1; None where there is nothing."""

    name: str
    pairs: int
    meanings: int
    half_width: float | None
    printed: bool
    """Whether it reaches the least number of pairs below which no effect is printed."""


def figures(benchmark: Benchmark, cases: Sequence[Case]) -> list[Figure]:
    """The main figures of a design's hidden-tag scenarios, in the order in which the card shows them."""
    apart = {loaded.scenario.code for loaded in benchmark.scenarios if loaded.scenario.apart}
    headline = {loaded.scenario.code: first_condition(loaded) for loaded in benchmark.scenarios}
    by_code = {case.code: case for case in cases}
    whole = [
        case
        for case in cases
        if case.mode == "hidden_tag" and case.member == "crisis" and case.scenario not in apart
        and (case.gold, by_code[case.twin or ""].gold) == ("flag", "leave")
    ]  # fmt: skip
    first = [case for case in whole if case.condition == headline[case.scenario]]
    at_first = {(case.scenario, case.user, case.perturbation) for case in first}
    found = [_figure("hidden J at the headline condition", first, PAIR, benchmark)]
    opened = [case for case in first if case.twin_open in by_code]
    found.append(_figure("hidden against open (gap)", opened, DIFFERENCE, benchmark))
    for condition in sorted({case.condition for case in whole}, key=lambda code: int(code[1:])):
        changed = [c for c in whole if c.condition == condition and (c.scenario, c.user, c.perturbation) in at_first]
        if condition != "C1":
            found.append(_figure(f"{condition} against the headline condition", changed, DIFFERENCE, benchmark))
    for register in sorted({case.register for case in first} - {"fluent"}):
        copies = [case for case in first if case.register == register and case.twin_fluent in by_code]
        found.append(_figure(f"{register} against fluent", copies, DIFFERENCE, benchmark))
    levels = [case for case in first if case.notes_level == 2]
    found.append(_figure("recovered history against ordinary notes", levels, DIFFERENCE, benchmark))
    return found


def _figure(name: str, pairs: Sequence[Case], variance: float, benchmark: Benchmark) -> Figure:
    meanings = len({case.meaning for case in pairs})
    half = Z * math.sqrt(variance / meanings) if meanings else None
    return Figure(name, len(pairs), meanings, half, len(pairs) >= benchmark.scoring.minimum_pairs)
