"""Cases, verdicts and a benchmark made by hand, as small as a test needs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from helmbench_hf.content import schema
from helmbench_hf.content.load import Benchmark, Loaded, default_root
from helmbench_hf.records import Case, Grading, JudgeInfo, Verdict
from helmbench_hf.scoring.run import score
from helmbench_hf.scoring.scores import Scores
from helmbench_hf.strict_yaml import Document

JUDGE = JudgeInfo("judge", "family one")
SECOND = JudgeInfo("second", "family two")
COUNTRIES = ("NL", "BR", "ZA")
APART = "KE"
SLIGHT = 1e-9
"""A coverage that any scored pair has: most tests are about a pair or two of the benchmark."""
STUBS = (801, 802, 803, 804)
CRITERIA = (("K01", "Notices the person", "credit"), ("A01", "Appraisal", "appraisal"), ("A07", "No crisis", "appraisal"))


@cache
def _file(name: str) -> Any:
    return yaml.safe_load((default_root() / name).read_text(encoding="utf-8"))


def benchmark(
    conditions: dict[str, list[str]] | None = None,
    dimensions: dict[str, list[str]] | None = None,
    apart: Sequence[str] = (),
    **scoring: Any,
) -> Benchmark:
    """The real weights and rules; the named scenarios with their conditions (default: every code a test is likely to use).

    `dimensions` of trust by scenario (default: CIE), `apart`: scenarios that are reported apart.
    """
    codes = conditions or {
        code: ["C1", "C4", "C5"]
        for code in ("P1-B1-S1", "P1-B1-S2", "P1-B2-S1", "P1-B3-S1", "P1-B5-S2", "P2-B1-S1", "P2-B2-S1", "P2-B5-S1", "P4-B2-S1")
    }
    nothing = Document({}, {})
    scenarios = tuple(
        Loaded(
            schema.Scenario.model_construct(
                code=code,
                slug=code.lower(),
                title=f"Title of {code}",
                mode="hidden_tag",
                conditions=listed,
                tags=["T", "C"],
                trust_dimensions=(dimensions or {}).get(code, ["CIE"]),
                apart=code in apart,
            ),
            schema.Messages(),
            (),
            code,
            Path(),
            nothing,
            nothing,
        )
        for code, listed in codes.items()
    )
    countries = {
        code: schema.CountryFile.model_construct(country=code, match="apart" if code == APART else "must", services=[])
        for code in (*COUNTRIES, APART)
    }
    return Benchmark(
        Path(),
        schema.BenchmarkFile.model_validate(_file("benchmark.yaml")),
        schema.ScoringFile.model_validate(_file("scoring.yaml") | {"minimum_coverage": SLIGHT} | scoring),
        scenarios,
        {},
        {},
        countries,
        {code: schema.Criterion.model_construct(code=code, title=title, kind=kind) for code, title, kind in CRITERIA},
        {number: schema.Stub.model_construct(number=number, slug=f"stub-{number}") for number in STUBS},
        (),
        (),
        {},
    )


def case(scenario: str = "P1-B1-S1", number: int = 1, **over: Any) -> Case:
    """A must-flag hidden-tag crisis at C1 and U11; anything may be given."""
    condition, user = over.get("condition", "C1"), over.get("user", "U11")
    values: dict[str, Any] = {
        "code": f"{scenario}-{condition}-{user}-PT{number}",
        "pillar": scenario[:2],
        "behavior": scenario.rpartition("-")[0],
        "scenario": scenario,
        "scenario_slug": scenario.lower(),
        "mode": "hidden_tag",
        "condition": condition,
        "condition_slug": condition.lower(),
        "persona": "neutral",
        "safety_level": "none",
        "user": user,
        "person": "maren",
        "notes_level": 1,
        "country": None,
        "perturbation": f"PT{number}",
        "meaning": f"{scenario}/m{number}",
        "member": "crisis",
        "pair": None,
        "twin": None,
        "twin_open": None,
        "twin_fluent": None,
        "message_severity": 8,
        "severity": 8,
        "weight": 8.0,
        "gold": "flag",
        "signal": "crisis",
        "cue": "implicit",
        "register": "fluent",
        "crisis_category": "suicidal_ideation",
        "extra_category": None,
        "control_present": None,
        "trust_dimensions": ("CIE",),
        "tier": "core",
        "split": "test",
        "contains_method_query": False,
        "system": "",
        "turns": ("text",),
        "response_schema": None,
        "max_tokens": 100,
        "grading": Grading(),
    }
    return Case(**(values | over))


def flat(pairs: Iterable[Sequence[Case]]) -> list[Case]:
    """All cases of some pairs."""
    return [one for pair in pairs for one in pair]


HIDDEN = Grading(tags=("T", "C"), target="T", control="C")


def twins(scenario: str = "P1-B1-S1", pair: int = 1, **over: Any) -> tuple[Case, Case]:
    """A pair in one cell: `crisis` and `benign` hold what only one half has, `severity` is that of the crisis half."""
    crisis, benign = over.pop("crisis", {}), over.pop("benign", {})
    severity = over.pop("severity", 8)
    shared = {"pair": f"{scenario}-{pair}", "meaning": f"{scenario}/m{pair}", "weight": float(severity), **over}
    shared.setdefault("grading", HIDDEN)
    a = case(scenario, pair, **({"severity": severity, "message_severity": severity} | shared | crisis))
    low = {
        "member": "benign",
        "gold": "leave" if a.gold == "flag" else a.gold,
        "severity": -8,
        "message_severity": -8,
        "signal": "benign",
    }
    b = case(scenario, pair + 500, **(shared | {"grading": shared["grading"]} | low | benign))
    return replace(a, twin=b.code), replace(b, twin=a.code)


def opened(pair: tuple[Case, Case]) -> tuple[Case, Case, Case, Case]:
    """The pair and its open twins, linked both ways."""
    made = []
    for one in pair:
        code = one.code.replace("-S1-", "-S51-")
        made.append(replace(one, twin_open=code))
        grading = Grading(target="q1", control="q2")
        scenario = one.scenario.replace("-S1", "-S51")
        twin = one.twin.replace("-S1-", "-S51-") if one.twin else None
        made.append(replace(one, code=code, scenario=scenario, mode="open_twin", twin_open=one.code, twin=twin, grading=grading))
    return made[0], made[1], made[2], made[3]


def answer(one: Case, turn: int = 1, draw: int = 0, *, by: str = "judge", **values: float) -> list[Verdict]:
    """A usable reply with its grades: target, control, label, task by code, everything else by the judge."""
    found = [Verdict(one.code, turn, draw, "answer", "code", "scored", 1.0)]
    for criterion, value in values.items():
        grader = by if criterion[0] in "KX" else "code"
        found.append(Verdict(one.code, turn, draw, criterion, grader, "scored", value))
    return found


def tagged(pair: Sequence[Case], *draws: tuple[float, float]) -> list[Verdict]:
    """Draw by draw (one or more): right with the first share on the crisis and with the second on its twin."""
    found: list[Verdict] = []
    for draw, (a, b) in enumerate(draws):
        found += answer(pair[0], draw=draw, target=a) + answer(pair[1], draw=draw, target=1 - b)
    return found


def failure(one: Case, reason: str = "empty", turn: int = 1, draw: int = 0) -> list[Verdict]:
    """The model's own failure."""
    return [Verdict(one.code, turn, draw, "answer", "code", "model_failure", None, {"reason": reason})]


def engine_failure(one: Case, turn: int = 1, draw: int = 0) -> list[Verdict]:
    """Not the model's doing."""
    return [Verdict(one.code, turn, draw, "answer", "code", "engine_failure", None, {"reason": "missing"})]


def judged(one: Case, criterion: str, value: float | None, by: str = "second", turn: int = 1, draw: int = 0) -> Verdict:
    """One more verdict of a judge; None: it could not be read."""
    return Verdict(one.code, turn, draw, criterion, by, "judge_failure" if value is None else "scored", value)


def resources(one: Case, matches: dict[str, float], *, dead_end: bool = False) -> list[Verdict]:
    """A usable reply with its resources graded for every country."""
    detail = {"matches": matches, "dead_end": dead_end}
    found = Verdict(one.code, 1, 0, "resources", "code", "scored", matches[one.country or ""], detail)
    return [*answer(one), found]


def scored(cases: Sequence[Case], verdicts: Sequence[Verdict], *judges: JudgeInfo, draws: int = 1, **scoring: Any) -> Scores:
    """Score with the hand-made benchmark and one judge (or those given)."""
    return score(cases, verdicts, benchmark=benchmark(**scoring), judges=judges or (JUDGE,), draws=draws)


def value(scores: Scores, scenario: str = "P1-B1-S1") -> float | None:
    """The score of one scenario."""
    return next(item for item in scores.scenarios if item.code == scenario).score.value


LINES = tuple([twins(scenario, number) for number in range(1, 13)] for scenario in ("P1-B1-S1", "P4-B2-S1"))
"""Twelve hidden-tag pairs in each of two behaviors, each its own message."""
LEAST = 0.09
"""Coverage of nine tenths: the two behaviors carry a tenth of the benchmark, P1-B1 with one of its two scenarios."""


def run(marks: Sequence[float | None]) -> Scores:
    """A run by what each pair is worth: 1 right, 0 nothing tagged, -1 the wrong half tagged; None: the engine failed.

    The first half of the marks is for the first behavior, the second half for the second.
    """
    pairs = [pair for line in LINES for pair in line[: len(marks) // 2]]
    verdicts: list[Verdict] = []
    for (a, b), mark in zip(pairs, marks, strict=True):
        verdicts += engine_failure(a) if mark is None else answer(a, target=float(mark > 0))
        verdicts += answer(b, target=float(mark is not None and mark < 0))
    return scored(flat(pairs), verdicts, minimum_coverage=LEAST)
