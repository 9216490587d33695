"""The simulated respondent of `coverage.py`: real cases, known truth, verdicts that are as like as messages are.

Item response on the logit scale. A reply is handled well with logit ability + scenario + condition + message + copy + .25
(severity - 6.5 where there is something to detect) + a normal of its own, which its tag and its criteria share. Standard
deviations: scenario .78 (.6 shared by all respondents, .5 own), condition .4, message 1.08 (.9 shared, .6 own; correlated .3
between the twins), a further copy of a message .4 (register, user, country), reply 1. Tags and labels are right with that
chance; criteria are PASS, PARTIAL, FAIL by two thresholds on the same logit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from helmbench_hf.content.load import Benchmark
from helmbench_hf.records import Case, JudgeInfo, Verdict
from helmbench_hf.scoring import pairs
from helmbench_hf.tasks.expand import open_code
from helmbench_hf.tasks.ledger import ANSWER, CODE, Ledger

Array = npt.NDArray[np.float64]
SCENARIO_SHARED, SCENARIO_OWN, CONDITION_SD = 0.6, 0.5, 0.4
MESSAGE_SHARED, MESSAGE_OWN, TWINS, COPY_SD, REPLY_SD, SLOPE = 0.9, 0.6, 0.3, 0.4, 1.0, 0.25
CUTS = (0.0, 1.2)
"""A criterion is at least PARTIAL above the first (in logits), PASS above the second."""
FOREIGN = 0.1
"""Most that a reply's resources fit another country."""
JUDGE = JudgeInfo("judge", "one")
CHUNK = 500
"""Draws held at once."""
Role = Literal["mark", "level", "foreign"]


@dataclass(frozen=True, slots=True)
class Slot:
    """One verdict: of which reply, on what, and whether what is handled well is worth 0 here."""

    case: str
    turn: int
    criterion: str
    grader: str
    reply: int
    role: Role
    flipped: bool


@dataclass(frozen=True, slots=True)
class World:
    """What stays the same over replicates: effects of scenarios (K) and of scenarios in another condition (C)."""

    scenarios: Array
    conditions: Array


class Sample:
    """Cases with their verdicts as columns: (draws, slots)."""

    def __init__(self, benchmark: Benchmark, cases: Sequence[Case]) -> None:
        self.benchmark, self.cases = benchmark, tuple(cases)
        self.plan = pairs.design_of(benchmark, self.cases)
        self.units = pairs.units(Ledger(self.cases, [], []), self.plan)
        self.slots: list[Slot] = []
        self.columns: dict[tuple[str, int], dict[str, int]] = {}
        rows: list[tuple[Case, int]] = []
        for case in self.cases:
            for turn in case.grading.turns:
                self._add(case, turn, len(rows))
                rows.append((case, turn))
        self._index([case for case, _ in rows])
        self._slot_reply = np.array([slot.reply for slot in self.slots])
        self._marks = np.array([slot.role == "mark" for slot in self.slots])
        self._foreign = np.array([slot.role == "foreign" for slot in self.slots])
        self._flipped = np.array([slot.flipped for slot in self.slots])
        self.judged = np.array([slot.grader == JUDGE.id for slot in self.slots])

    def _add(self, case: Case, turn: int, reply: int) -> None:
        grading, benign = case.grading, case.member == "benign"
        columns = self.columns.setdefault((case.code, turn), {})

        def add(criterion: str, role: Role, *, judge: bool = False, flipped: bool = False) -> None:
            if criterion not in columns:
                columns[criterion] = len(self.slots)
                self.slots.append(Slot(case.code, turn, criterion, JUDGE.id if judge else CODE, reply, role, flipped))

        if grading.target is not None:
            add("target", "mark", flipped=benign)
        if grading.control is not None:
            add("control", "mark", flipped=not case.control_present)
        if case.mode == "label":
            add("label", "mark")
        if grading.country is not None:
            add("resources", "level")
            add("foreign", "foreign")
        for criterion in grading.criteria:
            add(criterion, "level", judge=True)
        if grading.contrast_own is not None:
            add(grading.contrast_own, "level", judge=True)
        if grading.contrast is not None:
            low = grading.contrast_high == "FAIL"
            add(grading.contrast, "level", judge=True, flipped=not low if grading.other_limits is not None else low != benign)

    def _index(self, cases: Sequence[Case]) -> None:
        """Arrays (replies): what each reply shares with others."""
        hidden = {open_code(code): code for code in self.plan.headline}
        scenario_of = [hidden.get(case.scenario, case.scenario) for case in cases]
        scenarios, meanings = sorted(set(scenario_of)), sorted({case.meaning for case in cases})
        first = self.plan.headline
        away = [
            (code, case.condition) if case.mode != "open_twin" and case.condition != first[code] else None
            for code, case in zip(scenario_of, cases, strict=True)
        ]
        others = sorted({key for key in away if key})
        seen: dict[tuple[str, bool], str] = {}
        for case in cases:
            seen.setdefault((case.meaning, case.member == "benign"), case.code)
        codes = sorted({case.code for case in cases})
        detects = [case.gold != "none" and case.member != "benign" for case in cases]
        self.sizes = (len(scenarios), len(others), len(meanings), len(codes), len(cases))
        self.scenarios = tuple(scenarios)
        self._scenario = np.array([scenarios.index(code) for code in scenario_of])
        self._away = np.array([others.index(key) if key else -1 for key in away])
        place = {meaning: index for index, meaning in enumerate(meanings)}
        self._meaning = np.array([place[case.meaning] for case in cases])
        self._half = np.array([int(case.member == "benign") for case in cases])
        self._code = np.searchsorted(codes, [case.code for case in cases])
        self._copy = np.array([COPY_SD * (seen[case.meaning, case.member == "benign"] != case.code) for case in cases])
        self._rise = np.array([SLOPE * (c.severity - 6.5) if d else 0.0 for c, d in zip(cases, detects, strict=True)])
        self._open = np.array([float(case.mode == "open_twin") for case in cases])

    def world(self, rng: np.random.Generator, *, equal: bool = False) -> World:
        """Effects of these scenarios; `equal`: without what only one respondent finds hard."""
        own = 0.0 if equal else SCENARIO_OWN
        return World(
            rng.normal(0, np.hypot(SCENARIO_SHARED, own), self.sizes[0]),
            np.append(rng.normal(0, CONDITION_SD, self.sizes[1]), 0.0),
        )

    def messages(self, draws: int, rng: np.random.Generator) -> Array:
        """What every respondent finds hard in the messages: standard normals (draws, 2 halves, meanings)."""
        shared, each = rng.standard_normal((draws, 1, self.sizes[2])), rng.standard_normal((draws, 2, self.sizes[2]))
        return np.asarray(TWINS**0.5 * shared + (1 - TWINS) ** 0.5 * each)

    def draw(
        self,
        ability: float,
        draws: int,
        rng: np.random.Generator,
        world: World | None,
        messages: Array | None = None,
        opened: float = 0.0,
    ) -> Array:
        """Verdict values (draws, slots) that a perfect judge gives.

        `world`: None draws scenarios anew. `messages`: shared with other respondents. `opened`: what being asked adds (logits).
        """
        common = self.messages(draws, rng) if messages is None else messages
        message = MESSAGE_SHARED * common + MESSAGE_OWN * self.messages(draws, rng)
        logit = ability + self._rise + opened * self._open + message[:, self._half, self._meaning]
        if world is None:
            logit += rng.normal(0, np.hypot(SCENARIO_SHARED, SCENARIO_OWN), (draws, self.sizes[0]))[:, self._scenario]
        else:
            logit += world.scenarios[self._scenario] + world.conditions[self._away]
        logit += self._copy * rng.standard_normal((draws, self.sizes[3]))[:, self._code]
        logit += REPLY_SD * rng.standard_normal((draws, self.sizes[4]))
        latent = logit[:, self._slot_reply]
        return self._outcomes(latent, rng.random(latent.shape))

    def _outcomes(self, latent: Array, chance: Array) -> Array:
        """Levels from the logit and a uniform draw: logistic noise lifts a criterion over its thresholds."""
        noisy = latent + CUTS[1] + np.log(chance / (1 - chance))
        good = np.where(self._marks, noisy > CUTS[1], 0.5 * ((noisy > CUTS[0]).astype(float) + (noisy > CUTS[1])))
        good = np.where(self._foreign, FOREIGN * chance, good)
        return np.asarray(np.where(self._flipped, 1 - good, good))

    def verdicts(self, row: Sequence[float], kept: Sequence[bool] | None = None) -> list[Verdict]:
        """One draw as the graders would write it; what is not `kept` has no verdict."""
        found = [Verdict(code, turn, 0, ANSWER, CODE, "scored", 1.0) for code, turn in self.columns]
        for index, (slot, value) in enumerate(zip(self.slots, row, strict=True)):
            if slot.role == "foreign" or (kept is not None and not kept[index]):
                continue
            detail = {}
            if slot.criterion == "resources":
                fits = float(row[self.columns[slot.case, slot.turn]["foreign"]])
                detail = {"matches": dict.fromkeys(self.benchmark.countries, fits)}
            found.append(Verdict(slot.case, slot.turn, 0, slot.criterion, slot.grader, "scored", float(value), detail))
        return found

    def ledger(self, row: Sequence[float], kept: Sequence[bool] | None = None) -> Ledger:
        """One draw as the scoring package reads it."""
        return Ledger(self.cases, self.verdicts(row, kept), [JUDGE])


def headline(benchmark: Benchmark, core: Sequence[Case]) -> Sample:
    """The pairs that make the headline of `core`."""
    plan = pairs.design_of(benchmark, core)
    units = pairs.units(Ledger(core, [], []), plan)
    wanted = {code for unit in units if unit.score.headline for code in (unit.score.crisis, unit.score.benign)}
    return Sample(benchmark, [case for case in core if case.code in wanted])


def chunks(draws: int) -> Sequence[int]:
    """Sizes of the parts in which so many draws are made."""
    return [min(CHUNK, draws - start) for start in range(0, draws, CHUNK)]


def shares(found: Mapping[str, Sequence[bool]]) -> dict[str, float]:
    """Percent of each that is true."""
    return {name: 100 * float(np.mean(values)) for name, values in found.items() if len(values)}
