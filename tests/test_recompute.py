"""Every number of scores.json against a slow, independent recomputation (tests/support/recompute.py)."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.matrix.design import designs
from helmbench_hf.matrix.expand import expand
from helmbench_hf.records import Case, JudgeInfo, Verdict
from helmbench_hf.scoring.result import to_json
from helmbench_hf.scoring.run import score
from helmbench_hf.scoring.verdicts import PANELS, Panel
from tests.support.recompute import NOT_COMPUTED, SHUFFLED, differences, recheck, recompute

Json = dict[str, Any]
FIRST = JudgeInfo("judge-a", "family-x", {"K01": True, "K06": False})
SAME_FAMILY = JudgeInfo("judge-b", "family-x", {"K01": True})
OTHER_FAMILY = JudgeInfo("judge-c", "family-y", {})
LEVELS = {5: 1.0, 4: 2 / 3, 3: 1 / 3, 2: 0.0, 1: 0.0}
"""What a judge's level on the appraisal scale is worth."""
REASONS = ("empty", "truncated", "unparseable", "reasoning_truncated")


@dataclass(frozen=True)
class Model:
    """How a synthetic run comes out. `faults` of the replies have no usable answer."""

    good: float = 0.7
    danger: float = 0.12
    faults: float = 0.1
    unjudged: float = 0.25
    """Times `faults`: share of the verdicts that a judge leaves unscored."""
    skipped: float = 0.0
    """Share of cases that were never run."""
    slope: float = 0.35
    """Logits by which a mark becomes more frequent per severity point."""
    unscored_vetoes: bool = False
    """The first judge leaves vetoes unscored as often as anything else."""
    unlevelled: float = 0.0
    """Share of appraisals that say what they are worth but not their level."""


class Simulation:
    """Random verdicts, with every kind of missing value, as the graders would leave them."""

    def __init__(self, cases: Sequence[Case], judges: Sequence[JudgeInfo], model: Model, seed: int) -> None:
        self.cases, self.judges, self.model = cases, judges, model
        self.chance = random.Random(seed)
        self.countries = sorted({case.grading.country for case in cases if case.grading.country})

    def run(self, draws: int) -> list[Verdict]:
        found = []
        for case in self.cases:
            if self.chance.random() < self.model.skipped:
                continue
            for draw in range(draws):
                noticed = self._notice(case)
                for turn in case.grading.turns:
                    rows = self._missing() or self._answer(case, noticed=noticed is not None and turn >= noticed)
                    found += [Verdict(case.code, turn, draw, *row) for row in rows]
        return [verdict for verdict in found if verdict.criterion != "nothing"]

    def _missing(self) -> list[tuple[Any, ...]]:
        """A reply that was not run, an engine's failure, a model's failure; empty for a usable answer."""
        luck, faults = self.chance.random(), self.model.faults
        if luck < faults / 3:
            return [("nothing", "code", "scored", 1.0, {})]
        if luck < 2 * faults / 3:
            return [("answer", "code", "engine_failure", None, {"reason": self.chance.choice(("missing", "refused"))})]
        if luck < faults:
            return [("answer", "code", "model_failure", None, {"reason": self.chance.choice(REASONS)})]
        return []

    def _notice(self, case: Case) -> int | None:
        """The turn from which the model sees what the case is about, if it ever does; often the last, where it is worth half."""
        share = 1 / (1 + 2.718281828 ** min(600.0, -self.model.slope * case.severity))
        turns = case.grading.turns
        return self.chance.choice((*turns, *turns[-1:] * 4)) if self._happens(share) else None

    def _answer(self, case: Case, *, noticed: bool) -> list[tuple[Any, ...]]:
        grading = case.grading
        found: list[tuple[Any, ...]] = [("answer", "code", "scored", 1.0, {"truncated": True} if self._happens(0.1) else {})]
        right = self._happens(self.model.good)
        if grading.options:
            wrong = [option for option in grading.options if option != grading.label]
            said = grading.label if right else self.chance.choice(wrong)
            found.append(("label", "code", "scored", float(right), {"answer": said}))
        if grading.target is not None:
            found.append(("target", "code", "scored", self._mark(case, noticed=noticed), {"tags": []}))
            found.append(("control", "code", "scored", float(self._happens(0.7 if case.control_present else 0.2)), {}))
        if grading.task_key:
            found.append(("task", "code", "scored", self.chance.choice((0.0, 0.5, 1.0)), {"wrong": []}))
        if grading.country is not None:
            matches = {country: self.chance.choice((0.0, 0.0, 0.5, 1.0)) for country in self.countries}
            detail = {"matches": matches, "dead_end": self._happens(self.model.danger / 2)}
            found.append(("resources", "code", "scored", matches[grading.country], detail))
        return found + self._judged(case, right)

    def _mark(self, case: Case, *, noticed: bool) -> float:
        """A model that has noticed says so; in a conversation it can forget, and a reference policy gives a probability."""
        luck = self.chance.random()
        if case.mode != "multi_turn" or luck < 0.7:
            return float(noticed)
        return 0.25 if luck < 0.8 else 0.0

    def _judged(self, case: Case, right: bool) -> list[tuple[Any, ...]]:
        grading, found = case.grading, []
        contrast = [grading.contrast] if grading.contrast else []
        for criterion in dict.fromkeys([*grading.criteria, *grading.vetoes, *grading.reported, *contrast]):
            dangerous = self._happens(self.model.danger)
            for judge in self.judges:
                veto = criterion in grading.vetoes
                sure = veto and judge is self.judges[0] and not self.model.unscored_vetoes
                if not sure and self._happens(self.model.faults * self.model.unjudged):
                    found.append((criterion, judge.id, "judge_failure", None, {}))
                elif veto:
                    found.append((criterion, judge.id, "scored", float(not self._happens(0.8 if dangerous else 0.02)), {}))
                elif criterion.startswith("A"):  # an appraisal, 5 to 1
                    level = self.chance.choice((5, 5, 4, 3) if right else (4, 3, 2, 1))
                    found.append((criterion, judge.id, "scored", LEVELS[level], {} if self._unlevelled() else {"level": level}))
                else:
                    value = self.chance.choice((1.0, 1.0, 0.5) if right else (1.0, 0.5, 0.0))
                    found.append((criterion, judge.id, "scored", value, {}))
        return found

    def _unlevelled(self) -> bool:
        return self.model.unlevelled > 0 and self._happens(self.model.unlevelled)

    def _happens(self, share: float) -> bool:
        return self.chance.random() < share


COMPARED = (
    "P1-B5-S2", "P1-B6-S1", "P1-B6-S3", "P1-B8-S1", "P2-B3-S1", "P2-B6-S1", "P2-B6-S2", "P3-B3-S1", "P3-B5-S1", "P3-B7-S1",
)  # fmt: skip
"""Scenarios with what `trust`, `crisis` and `repeats` compare: registers, noise, stubs, labels, appraisals, plain ones."""


@pytest.fixture(scope="module")
def cases_of(real: Benchmark) -> dict[str, list[Case]]:
    found = designs(real, expand(real))
    found["compared"] = [case for case in found["full"] if case.scenario in COMPARED]
    found["stubs"] = [case for case in found["full"] if case.scenario == "P3-B5-S1"]
    found["crises"] = [case for case in found["core"] if case.behavior in ("P1-B6", "P2-B6", "P3-B5")] + found["taxonomy"]
    return found


def scored(
    cases: list[Case],
    verdicts: list[Verdict],
    real: Benchmark,
    judges: list[JudgeInfo],
    draws: int = 1,
    panel: Panel = "first",
) -> dict[str, Any]:
    """scores.json, as a reader of the file gets it."""
    scores = score(cases, verdicts, benchmark=real, judges=judges, draws=draws, panel=panel)
    found: dict[str, Any] = json.loads(json.dumps(to_json(scores)))
    return found


ALL_THREE = [FIRST, SAME_FAMILY, OTHER_FAMILY]
RUNS = {
    "nothing is missing": ("core", [FIRST], 1, Model(faults=0.0)),
    "two families": ("core", [FIRST, OTHER_FAMILY], 1, Model(skipped=0.02)),
    "two judges of one family": ("core", [FIRST, SAME_FAMILY], 1, Model(unscored_vetoes=True)),
    "three judges, three draws": ("core", ALL_THREE, 3, Model(faults=0.04, skipped=0.02)),
    "no judge": ("core", [], 1, Model()),
    "little was scored": ("core", [FIRST], 1, Model(good=0.3, faults=0.6, skipped=0.3, unscored_vetoes=True)),
    "nothing was run": ("core", [FIRST], 1, Model(skipped=1.0)),
    "a safe model": ("core", [FIRST, OTHER_FAMILY], 3, Model(good=1.0, danger=0.0, faults=0.0, slope=0.8)),
    "a dangerous model": ("core", [FIRST, OTHER_FAMILY], 1, Model(good=0.1, danger=0.9, faults=0.02, slope=-0.1)),
    "smoke": ("smoke", [FIRST, OTHER_FAMILY], 1, Model()),
    "crisis taxonomy": ("taxonomy", [FIRST, OTHER_FAMILY], 1, Model()),
    "crisis taxonomy, three draws": ("taxonomy", [FIRST], 3, Model(faults=0.15, skipped=0.1, unlevelled=0.1)),
    "one message in two scenarios": ("crises", [FIRST, OTHER_FAMILY], 2, Model(skipped=0.1)),
    "what is compared, two draws": ("compared", [OTHER_FAMILY, FIRST], 2, Model(faults=0.03, unlevelled=0.3)),
    "what is compared, five draws": ("compared", ALL_THREE, 5, Model(good=0.85, faults=0.02, skipped=0.05)),
    "full": ("full", [FIRST, OTHER_FAMILY], 1, Model(faults=0.05, skipped=0.02)),
}


@pytest.mark.parametrize("name", RUNS)
def test_every_number_is_recomputed(real: Benchmark, cases_of: dict[str, list[Case]], name: str) -> None:
    design, judges, draws, model = RUNS[name]
    cases = cases_of[design]
    verdicts = Simulation(cases, judges, model, seed=3).run(draws)
    found = recheck(scored(cases, verdicts, real, judges, draws), cases, verdicts, real)
    assert not found, f"{len(found)} numbers differ:\n" + "\n".join(found[:60])


FOURTH = JudgeInfo("judge-d", "family-z", {})
PANEL_RUNS: dict[str, tuple[str, list[JudgeInfo], Panel, Model]] = {
    "majority of three": ("core", ALL_THREE, "majority", Model(faults=0.05, unjudged=2.0, unscored_vetoes=True)),
    "majority of four, split evenly": ("crises", [*ALL_THREE, FOURTH], "majority", Model(faults=0.05, unlevelled=0.2)),
    "majority of two": ("compared", [OTHER_FAMILY, FIRST], "majority", Model(faults=0.05, unscored_vetoes=True)),
    "worst of three": ("core", ALL_THREE, "worst", Model(faults=0.05, unscored_vetoes=True)),
    "worst on the crisis taxonomy": ("taxonomy", [FIRST, OTHER_FAMILY], "worst", Model(unlevelled=0.1)),
    "majority without a judge": ("smoke", [], "majority", Model()),
}


@pytest.mark.parametrize("name", PANEL_RUNS)
def test_every_number_of_a_panel_is_recomputed(real: Benchmark, cases_of: dict[str, list[Case]], name: str) -> None:
    design, judges, panel, model = PANEL_RUNS[name]
    cases = cases_of[design]
    verdicts = Simulation(cases, judges, model, seed=4).run(2)
    found = recheck(scored(cases, verdicts, real, judges, 2, panel), cases, verdicts, real)
    assert not found, f"{len(found)} numbers differ:\n" + "\n".join(found[:60])


FEW = ("P1-B7-S3", "P1-B7-S53", "P2-B2-S2", "P2-B2-S3", "P2-B6-S1")
"""Scenarios with a rule of their own: tags at every turn and their open twins, a registry beside a judge, another person's
limits, appraisals. They are few cases of `core`, so that one run of it does not meet every way in which they come out."""
APART = ("P1-B4-S2", "P1-B4-S52")
FEW_RUNS = [  # seldom dangerous, because six turns soon hold one that voids them all; marks often false, so that twins have them
    Model(faults=0.03, danger=0.05, slope=0.1, unscored_vetoes=True),
    Model(faults=0.03, danger=0.05, slope=0.1, unscored_vetoes=True, unjudged=5.0),
    Model(faults=0.12, danger=0.2, slope=0.1, unscored_vetoes=True, unjudged=1.0),
]


def test_scenarios_with_a_rule_of_their_own_meet_every_outcome(real: Benchmark, cases_of: dict[str, list[Case]]) -> None:
    cases = [case for case in cases_of["full"] if case.scenario in FEW + APART]
    earned: dict[str, set[float | None]] = {}
    for seed, (draws, panel, model) in enumerate(itertools.product((1, 2), PANELS, FEW_RUNS)):
        verdicts = Simulation(cases, ALL_THREE, model, seed).run(draws)
        scores = scored(cases, verdicts, real, ALL_THREE, draws, panel)
        found = recheck(scores, cases, verdicts, real)
        assert not found, f"seed {seed}: {len(found)} numbers differ:\n" + "\n".join(found[:60])
        for pair in scores["pairs"]:
            earned.setdefault(pair["scenario"], set()).update((pair["a"], pair["b"]))
    assert set(earned) == {code for code in FEW if not code.endswith("-S53")}  # neither what is apart nor an open twin
    for code, seen in earned.items():
        assert {None, 0.0} <= seen, code
        assert any(credit is not None and 0 < credit < 1 for credit in seen), code


ALL_SLUGS = {"score", "repeats", "wordings", "every-wording", "swaps", "under-noise", "noise-change"}


def test_whatever_trust_and_crisis_hold_is_met(real: Benchmark, cases_of: dict[str, list[Case]]) -> None:
    verdicts = Simulation(cases_of["compared"], ALL_THREE, Model(good=0.4, faults=0.03), seed=5).run(2)
    mine = recompute(cases_of["compared"], verdicts, real, ALL_THREE, 2)
    assert {row["slug"] for row in mine["trust"]} == ALL_SLUGS
    assert all(row["estimate"]["value"] is not None for row in mine["trust"])
    assert [row["scenario"] for row in mine["crisis"]["classification"]] == ["P1-B6-S1"]
    assert {row["scenario"] for row in mine["crisis"]["appraisal"]} == {"P2-B6-S1", "P3-B5-S1"}
    (table,) = mine["crisis"]["knew_handled"]
    assert min(table[name] for name in ("knew_handled", "knew_not_handled", "missed_handled", "missed_not_handled")) > 0
    several = mine["repeats"]
    assert 0 < several["passes"][0]["estimate"]["value"] < several["handled"]["value"] < 1
    assert min(several["spread"], several["left_out"]) > 0
    twins = {row["scenario"] for row in mine["pairs"] if row["headline"] and row["benign"] and row["value"] is not None}
    assert {"P1-B6-S3", "P3-B3-S1", "P1-B5-S2"} <= twins, "tags, replies and labels are among the pairs of the rerun spread"


STUB_RUNS = [
    Model(),
    Model(good=1.0, danger=0.0, faults=0.0),
    Model(faults=0.5, unjudged=0.1, skipped=0.3),
    Model(faults=0.3, unjudged=0.1, skipped=0.85),
    Model(faults=0.1, unjudged=0.1, skipped=0.95),
]


def test_swaps_with_hardly_anybody_left(real: Benchmark, cases_of: dict[str, list[Case]]) -> None:
    cases, met = cases_of["stubs"], set()
    for seed, (draws, model) in enumerate(itertools.product((1, 2), STUB_RUNS * 3)):
        verdicts = Simulation(cases, [FIRST], model, seed).run(draws)
        scores = scored(cases, verdicts, real, [FIRST], draws)
        found = recheck(scores, cases, verdicts, real)
        assert not found, f"seed {seed}: {len(found)} numbers differ:\n" + "\n".join(found[:60])
        met |= {row["estimate"]["n_meanings"] for row in scores["trust"] if row["slug"] == "swaps"} or {0}
    assert {0, 2, 6} <= met


@pytest.mark.parametrize(
    ("spread", "value", "expected", "p_value"),
    [
        ({}, 0.0, 0.0, 1.0),  # everybody is answered alike
        ({"U801": 0.0}, (11 / 144) ** 0.5, (11 / 288) ** 0.5, 1 / 12),  # both shuffles have to meet in one user
    ],
)
def test_swaps_by_hand(
    real: Benchmark, cases_of: dict[str, list[Case]], spread: dict[str, float], value: float, expected: float, p_value: float
) -> None:
    cases = [case for case in cases_of["stubs"] if case.member == "ambiguous"]
    assert len(cases) == 24  # two messages, twelve users
    verdicts = []
    for case in cases:
        verdicts.append(Verdict(case.code, 1, 0, "answer", "code", "scored", 1.0))
        for criterion in case.grading.criteria:
            verdicts.append(Verdict(case.code, 1, 0, criterion, FIRST.id, "scored", spread.get(case.user, 1.0)))
    (row,) = [row for row in recompute(cases, verdicts, real, [FIRST])["trust"] if row["slug"] == "swaps"]
    assert row["estimate"]["value"] == pytest.approx(value)
    assert row["expected"] == pytest.approx(expected)
    assert row["p_value"] == pytest.approx(p_value, abs=0.03)
    assert not recheck(scored(cases, verdicts, real, [FIRST]), cases, verdicts, real)


def test_a_reply_with_the_wrong_country_is_not_handled(real: Benchmark, cases_of: dict[str, list[Case]]) -> None:
    case = next(each for each in cases_of["core"] if each.scenario == "P2-B2-S1" and each.country == "NL")
    verdicts = []
    for draw, match in enumerate((1.0, 0.0)):
        verdicts.append(Verdict(case.code, 1, draw, "answer", "code", "scored", 1.0))
        detail = {"matches": {"NL": match}, "dead_end": False}
        verdicts.append(Verdict(case.code, 1, draw, "resources", "code", "scored", match, detail))
    assert not recheck(scored([case], verdicts, real, [FIRST], 2), [case], verdicts, real)


def test_a_reply_beyond_the_persons_limits_is_not_handled(real: Benchmark, cases_of: dict[str, list[Case]]) -> None:
    case = next(each for each in cases_of["core"] if each.scenario == "P2-B2-S3" and each.grading.contrast_own)
    verdicts = []
    for draw, marks in enumerate(({"K11": 0.0}, dict.fromkeys(case.grading.criteria, 0.0))):
        verdicts.append(Verdict(case.code, 1, draw, "answer", "code", "scored", 1.0))
        for criterion in (*case.grading.criteria, *case.grading.vetoes, case.grading.contrast or ""):
            verdicts.append(Verdict(case.code, 1, draw, criterion, FIRST.id, "scored", marks.get(criterion, 1.0)))
    assert not recheck(scored([case], verdicts, real, [FIRST], 2), [case], verdicts, real)


def test_verdicts_outside_the_plan_change_nothing(real: Benchmark, cases_of: dict[str, list[Case]]) -> None:
    cases = cases_of["core"]
    verdicts = Simulation(cases, [FIRST], Model(), seed=8).run(2)
    half = [case for number, case in enumerate(cases) if number % 9]
    found = recheck(scored(half, verdicts, real, [FIRST], draws=1), half, verdicts, real)
    assert not found, "\n".join(found[:60])


def test_an_unscored_veto_that_could_count_makes_the_case_missing(real: Benchmark, cases_of: dict[str, list[Case]]) -> None:
    cases, judges = cases_of["core"], [FIRST, OTHER_FAMILY]
    verdicts = Simulation(cases, judges, Model(unscored_vetoes=True), seed=9).run(1)
    assert not recheck(scored(cases, verdicts, real, judges), cases, verdicts, real)


def test_marks_that_are_a_step_have_no_midpoint(real: Benchmark, cases_of: dict[str, list[Case]]) -> None:
    cases = cases_of["core"]
    verdicts = Simulation(cases, [FIRST], Model(faults=0.0, slope=1000.0), seed=10).run(1)
    assert not recheck(scored(cases, verdicts, real, [FIRST]), cases, verdicts, real)


def test_one_failure_of_one_does_not_lie_above_five_percent(real: Benchmark, cases_of: dict[str, list[Case]]) -> None:
    case = next(each for each in cases_of["core"] if each.code.startswith("P1-B1-S51") and each.message_severity >= 8)
    values = {"answer": 1.0, "target": 0.0, "control": 0.0}
    verdicts = [Verdict(case.code, 1, 0, name, "code", "scored", value) for name, value in values.items()]
    assert not recheck(scored([case], verdicts, real, []), [case], verdicts, real)


def test_the_comparer_sees_every_number(real: Benchmark, cases_of: dict[str, list[Case]]) -> None:
    cases, judges = cases_of["core"], [FIRST, OTHER_FAMILY]
    verdicts = Simulation(cases, judges, Model(), seed=7).run(1)
    scores, mine = scored(cases, verdicts, real, judges), recompute(cases, verdicts, real, judges)
    places = list(numbers(scores, ()))
    assert len(places) > 1500
    for place in random.Random(1).sample(places, 40):
        changed = copy.deepcopy(scores)
        inner = changed
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] += 1e-6
        assert differences(changed, mine), place


def numbers(value: Any, place: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Where every number of a parsed scores.json stands."""
    if isinstance(value, dict):
        return [found for key in value if key not in {*NOT_COMPUTED, *SHUFFLED} for found in numbers(value[key], (*place, key))]
    if isinstance(value, list):
        return [found for index, item in enumerate(value) for found in numbers(item, (*place, index))]
    return [place] if isinstance(value, int | float) and not isinstance(value, bool) else []


def test_the_comparer_names_what_is_missing_or_too_much() -> None:
    row = {"code": "P1-B1", "value": 1.0}
    assert not differences({"pillars": [row], "note": "a"}, {"pillars": [dict(row)], "note": "b"})
    assert not differences({"p_value": 0.3}, {"p_value": 0.32})
    for theirs, mine in (
        ({"pillars": [row]}, {"pillars": []}),
        ({"pillars": []}, {"pillars": [row]}),
        ({"pillars": [row, row]}, {"pillars": [row]}),
        ({"pillars": [row]}, {"pillars": [{**row, "value": None}]}),
        ({"pillars": [row], "new": 1}, {"pillars": [row]}),
        ({"pillars": [row]}, {"pillars": [row], "new": 1}),
        ({"parts": ["a"]}, {"parts": ["b"]}),
        ({"scenarios": ["a"]}, {"scenarios": ["b"]}),
        ({"p_value": 0.3}, {"p_value": 0.4}),
        ({"confusion": [{"category": "a"}, {"category": "b"}]}, {"confusion": [{"category": "b"}, {"category": "a"}]}),
    ):
        assert len(differences(theirs, mine)) == 1
