"""What the matrix contains, counted, and held against `plan.yaml`: the blueprint's counts and every amendment with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from helmbench_hf.content.library import PlanFile, Planned
from helmbench_hf.content.load import TAXONOMY, Benchmark, Loaded
from helmbench_hf.content.strict_yaml import Problem
from helmbench_hf.matrix.expand import expand_scenario

PLAN = "plan.yaml"


@dataclass(frozen=True, slots=True)
class Count:
    """One scenario: message rows by kind, and cases of `full`."""

    pairs: int
    singles: int
    ambiguous: int
    full: int
    open_twins: int


def scenario_counts(benchmark: Benchmark) -> dict[str, Count]:
    """By scenario code; the crisis taxonomy is a design of its own and is not counted here."""
    return {each.scenario.code: _count(benchmark, each) for each in benchmark.scenarios if each.source != TAXONOMY}


def _count(benchmark: Benchmark, loaded: Loaded) -> Count:
    modes = Counter(case.mode == "open_twin" for case in expand_scenario(benchmark, loaded))
    messages = loaded.messages
    return Count(len(loaded.pairs), len(messages.singles), len(messages.ambiguous), modes[False], modes[True])


def totals(benchmark: Benchmark) -> dict[str, int]:
    """The matrix as a whole. Texts are those that somebody wrote: no derived ones, and a conversation counts as one."""
    written = [each for each in benchmark.scenarios if each.source == each.scenario.code]
    texts = [each.messages for each in written]
    people = benchmark.people.values()
    return {
        "scenarios": sum(each.source != TAXONOMY for each in benchmark.scenarios),
        "behaviors": len({each.behavior for each in benchmark.scenarios}),
        "texts": sum(2 * len(m.pairs) + len(m.singles) + len(m.ambiguous) for m in texts),
        "conversations": sum(2 * len(e.messages.pairs) for e in written if e.scenario.mode == "multi_turn"),
        "conditions": len(benchmark.conditions),
        "people": len(people),
        "contexts": sum(len({0, *person.levels}) for person in people),
        "countries": len(benchmark.countries),
        "criteria": sum(code.startswith("K") for code in benchmark.criteria),
        "stubs": len(benchmark.stubs),
    }


def check(benchmark: Benchmark, plan: PlanFile) -> Iterator[Problem]:
    """Every count that differs from the plan."""
    found, document = scenario_counts(benchmark), benchmark.documents[PLAN]
    for code, planned in plan.scenarios.items():
        line = document.line(("scenarios", code))
        if code not in found:
            yield Problem(
                PLAN, line, f"scenarios.{code}", "the scenario is not there", "write it, or amend the plan with a reason"
            )
            continue
        for name in Count.__dataclass_fields__:
            if (has := getattr(found[code], name)) != (wants := getattr(planned, name)):
                what = f"{name} is {has}, planned are {wants}"
                yield Problem(
                    PLAN, line, f"scenarios.{code}.{name}", what, "complete the scenario, or amend the plan with a reason"
                )
    for code in sorted(set(found) - set(plan.scenarios)):
        yield Problem(PLAN, 1, f"scenarios.{code}", "the scenario is not planned", "add it with a reason")
    actual = totals(benchmark)
    for name, wanted in plan.totals.items():
        if actual.get(name) != wanted:
            what = f"{name} is {actual.get(name)}, planned are {wanted}"
            yield Problem(PLAN, document.line(("totals", name)), f"totals.{name}", what, "complete it, or amend the plan")


def table(benchmark: Benchmark, plan: PlanFile) -> list[list[str]]:
    """Rows of the coverage table: blueprint's counts, ours, and why they differ."""
    found = scenario_counts(benchmark)
    rows = [["scenario", "pairs", "singles", "ambiguous", "full", "open twins", "blueprint (A/B/T, n, +m)", "amended because"]]
    for code, planned in plan.scenarios.items():
        count = found.get(code, Count(0, 0, 0, 0, 0))
        rows.append([code, *(str(getattr(count, name)) for name in Count.__dataclass_fields__), _blueprint(planned), planned.why])
    return rows


def _blueprint(planned: Planned) -> str:
    a, b, tail, cases, twins = planned.blueprint
    return f"{a}/{b}/{tail}, {cases}" + (f", +{twins}" if twins else "")
