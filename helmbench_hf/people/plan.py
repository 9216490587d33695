"""Who answers what: an incomplete block design with equal replication, drawn from a seed.

Every chosen case is answered by the same number of people, and people's numbers of cases differ by one at most. A family is
all that shares a pair or a meaning: twins, their open twins, register copies. Nobody gets two cases of one family, so nobody
compares twins or is told by the open question what the hidden one was about. The plan is a function of its study alone: the
import draws it again and holds every file to it.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.load import CaseSet, select
from helmbench_hf.hashing import digest
from helmbench_hf.records import Case
from helmbench_hf.runs.folder import RunError
from helmbench_hf.tasks.expand import first_condition
from helmbench_hf.tasks.kinds import task_of

FORMAT = 1
"""Of forms and answer files."""
MOST = 10_000
"""Cases per person, and half of the people of a study."""


class PeopleError(RunError):
    """A study cannot be planned, or a file of answers cannot be used. The message is a sentence."""


class Study(BaseModel):
    """All that decides who answers what."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    design: str
    version: str
    content_sha256: str
    only: str | None
    people: int = Field(ge=2, le=2 * MOST)
    per_person: int = Field(ge=1, le=MOST)
    per_case: int = Field(ge=1, le=MOST)
    seed: int

    @property
    def id(self) -> str:
        """12 hex digits over all fields."""
        return digest({"format": FORMAT, **self.model_dump()})[:12]


@dataclass(frozen=True, slots=True)
class Plan:
    """The people of a study, each with the cases in the order of the form."""

    study: Study
    people: Mapping[str, tuple[Case, ...]]
    """Random code of a person -> cases."""

    @property
    def cases(self) -> set[str]:
        """Codes of all chosen cases."""
        return {case.code for cases in self.people.values() for case in cases}

    def item(self, person: str, case: Case) -> str:
        """What a case is called on a person's form: it says nothing of scenario, member or twin."""
        return digest([self.study.id, person, case.code])[:16]


def study_of(loaded: CaseSet, *, people: int, per_person: int, seed: int, per_case: int | None, only: str | None) -> Study:
    """A study of these cases; `per_case` None spreads the answers over as many cases as there are."""
    cases = askable(loaded, only)
    if max(people // 2, per_person) > MOST:
        raise PeopleError(f"A study can have at most {2 * MOST} people and {MOST} cases per person; give smaller numbers.")
    if people < 2:
        raise PeopleError("A study needs at least two people: twins never go to the same person. Give --people 2 or more.")
    spread = per_case or max(1, min(people * per_person // len(cases), people // 2))
    if people < 2 * spread:
        raise PeopleError(
            f"{spread} answers per case need {2 * spread} people or more, because twins go to different people; "
            f"give --people {2 * spread}, or a smaller --per-case."
        )
    return Study(**_content(loaded), only=only, people=people, per_person=per_person, per_case=spread, seed=seed)


def askable(loaded: CaseSet, only: str | None) -> tuple[Case, ...]:
    """The cases that a form can ask: it can't react, and shows no chat before. PeopleError where that leaves none."""
    cases = tuple(case for case in select(loaded.cases, only, None) if not (case.route.beats or case.history))
    if not cases:
        raise PeopleError(
            "These cases cannot be put in a form: they are reactive, or come after a long chat. Choose others with --only."
        )
    return cases


def _content(loaded: CaseSet) -> dict[str, str]:
    return {name: getattr(loaded.identity, name) for name in ("design", "version", "content_sha256")}


def plan(study: Study, loaded: CaseSet, benchmark: Benchmark) -> Plan:
    """Draw the plan. Raises PeopleError where the cases are not the study's, or too few for so many answers."""
    identity = loaded.identity
    if study.model_dump(include=set(_content(loaded))) != _content(loaded):
        raise PeopleError(
            f"it belongs to version {study.version} of the design {study.design} (content {study.content_sha256[:12]}), and this "
            f"is version {identity.version} (content {identity.content_sha256[:12]}); use "
            f"the version of helmbench that made the forms."
        )
    dice = random.Random(f"people/{study.id}")
    cases = askable(loaded, study.only)
    family = _families(cases)
    chosen = _chosen(cases, family, study, benchmark, dice)
    if not chosen:
        raise PeopleError(
            f"{study.people} people with {study.per_person} cases each cannot answer any pair {study.per_case} "
            f"times; raise --people or --per-person."
        )
    loads = _dealt(chosen, family, study, dice)
    codes = [digest(["person", study.id, number])[:8].upper() for number in range(study.people)]
    return Plan(study, {code: _ordered(load, dice) for code, load in zip(codes, loads, strict=True)})


def _families(cases: Sequence[Case]) -> Mapping[str, str]:
    """Case code -> name of its family: what is linked by a pair or a meaning, however far."""
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    for case in cases:
        for name in (case.meaning, case.pair):
            if name is not None:
                leader[find(f"g:{name}")] = find(case.code)
    return {case.code: find(case.code) for case in cases}


def _chosen(
    cases: Sequence[Case], family: Mapping[str, str], study: Study, benchmark: Benchmark, dice: random.Random
) -> list[Case]:
    """Whole pairs, scenario after scenario, those that enter the headline first, until the answers are used up."""
    queues = [deque(_by_use(found, benchmark, dice)) for found in _by_scenario(cases)]
    dice.shuffle(queues)
    room: dict[str, int] = defaultdict(lambda: study.people // study.per_case)
    left = study.people * study.per_person // study.per_case
    chosen: list[Case] = []
    while any(queues) and left:
        for queue in queues:
            while queue:
                pair = queue.popleft()
                if len(pair) <= left and len(pair) <= room[family[pair[0].code]]:
                    chosen += pair
                    left -= len(pair)
                    room[family[pair[0].code]] -= len(pair)
                    break
    return chosen


def _by_scenario(cases: Sequence[Case]) -> Iterator[list[list[Case]]]:
    """By scenario its pairs: a case with its twin in the same cell, or alone."""
    by_code = {case.code: case for case in cases}
    scenarios: dict[str, list[list[Case]]] = defaultdict(list)
    for case in cases:
        twin = by_code.get(case.twin or "")
        if twin is None or case.member != "benign":
            scenarios[case.scenario].append([case] if twin is None else [case, twin])
    yield from scenarios.values()


def _by_use(pairs: list[list[Case]], benchmark: Benchmark, dice: random.Random) -> list[list[Case]]:
    """In random order; first what can enter the headline, then what enters another score, then the rest."""
    headline = {loaded.scenario.code: first_condition(loaded) for loaded in benchmark.scenarios}

    def rank(pair: list[Case]) -> int:
        case = pair[0]
        scored = {each.gold for each in pair} in ({"flag", "leave"}, {"none"}) or task_of(case).kind == "label"
        return 2 * (not scored) + (case.condition != headline.get(case.scenario, "C1") or case.safety_level == "explicit")

    dice.shuffle(pairs)
    return sorted(pairs, key=rank)


def _dealt(chosen: Sequence[Case], family: Mapping[str, str], study: Study, dice: random.Random) -> list[list[Case]]:
    """Give each family to the people with the shortest lists, one case each, so that lengths differ by one at most."""
    families: dict[str, list[Case]] = defaultdict(list)
    for case in chosen:
        families[family[case.code]] += [case] * study.per_case
    groups = list(families.values())
    dice.shuffle(groups)
    loads: list[list[Case]] = [[] for _ in range(study.people)]
    for group in groups:
        dice.shuffle(group)
        least = sorted(loads, key=lambda load: (len(load), dice.random()))
        for case, load in zip(group, least[: len(group)], strict=True):
            load.append(case)
    return loads


def _ordered(load: list[Case], dice: random.Random) -> tuple[Case, ...]:
    """Random order, but what asks outright comes last: it teaches what is looked for."""
    dice.shuffle(load)
    return tuple(sorted(load, key=lambda case: task_of(case).asks_outright))
