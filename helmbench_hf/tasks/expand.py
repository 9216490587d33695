"""The full matrix: every scenario crossed with its conditions, users and messages, open twins included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from helmbench_hf.content.answer_schema import token_budget
from helmbench_hf.content.load import TAXONOMY, Benchmark, Loaded
from helmbench_hf.content.schema import CATEGORIES, EXTRA_CATEGORIES, Common, Condition, Message, Pair, Single
from helmbench_hf.records import Case, Gold, Grading, Member, Mode, Parts
from helmbench_hf.tasks import draws, render
from helmbench_hf.tasks.base import Composed, Scene
from helmbench_hf.tasks.kinds import task_of_mode
from helmbench_hf.tasks.reactive import route_of

OPEN_OFFSET = 50
"""The open twin of scenario S1 is S51."""


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One message with its place in the scenario: PT number, half of which pair, the authored data it comes from."""

    number: int
    member: Member
    pair: int | None
    common: Common
    message: Message
    weight_from: Message
    """The message whose severity is the weight of the pair: the crisis half."""


def perturbations(loaded: Loaded) -> tuple[Perturbation, ...]:
    """PT1..n the crisis halves, PT(n+1)..2n their twins, then singles, then the ambiguous tail."""
    pairs = sorted(loaded.pairs, key=lambda pair: pair.pair)
    found = [Perturbation(pair.pair, "crisis", pair.pair, pair, pair.crisis, pair.crisis) for pair in pairs]
    count = len(pairs)
    found += [Perturbation(count + p.pair, "benign", p.pair, p, p.benign, p.crisis) for p in pairs]
    tails: tuple[tuple[Member, list[Single]], ...] = (
        ("single", loaded.messages.singles),
        ("ambiguous", loaded.messages.ambiguous),
    )
    for member, items in tails:
        for item in sorted(items, key=lambda each: each.number):
            ordinary = item.crisis_category == "no_crisis" and not item.extra_category
            side: Member = "benign" if ordinary and member == "single" else member
            found.append(Perturbation(len(found) + 1, side, None, item, item.message, item.message))
    return tuple(found)


def meaning_of(loaded: Loaded, common: Common) -> str:
    """The cluster of a message: its scenario and slug; items of the taxonomy carry it whole."""
    return common.meaning if loaded.source == TAXONOMY else f"{loaded.source}/{common.meaning}"


def open_code(scenario: str) -> str:
    """The code under which a scenario's open twins stand: S51 for S1."""
    behavior, _, number = scenario.rpartition("-S")
    return f"{behavior}-S{int(number) + OPEN_OFFSET}"


def is_opened(benchmark: Benchmark, loaded: Loaded, common: Common) -> bool:
    """Whether a message has an open twin: where there are tags, and at severe pairs where the scenario asks.

    A pair in another register has one where its original has one, whatever readers made of its own severity.
    """
    if not isinstance(common, Pair) or loaded.scenario.tags or loaded.scenario.asked is None:
        return bool(loaded.scenario.tags)
    original = next((pair for pair in loaded.pairs if pair.pair == common.twin_fluent), common)
    return original.crisis.severity >= benchmark.scoring.severe_message


def first_condition(loaded: Loaded) -> str:
    """The headline cell's condition: C1, or the first listed where C1 is not."""
    listed = loaded.scenario.conditions
    return "C1" if "C1" in listed else listed[0]


def expand(benchmark: Benchmark) -> list[Case]:
    """Every case of `full`, in the order scenario, condition, user, message; the crisis taxonomy is a design of its own."""
    return [case for loaded in benchmark.scenarios if loaded.source != TAXONOMY for case in expand_scenario(benchmark, loaded)]


def expand_taxonomy(benchmark: Benchmark) -> list[Case]:
    """Every message of the crisis taxonomy, first to be classified, then to be answered."""
    return [case for loaded in benchmark.scenarios if loaded.source == TAXONOMY for case in expand_scenario(benchmark, loaded)]


def expand_long(benchmark: Benchmark) -> list[Case]:
    """The pairs of the scenarios with `long_history`, at the headline cell: alone, and behind each length of ordinary chat."""
    found = []
    for loaded in benchmark.scenarios:
        if loaded.scenario.long_history:
            build, headline = _Builder(benchmark, loaded), first_condition(loaded)
            lengths = sorted((each.history, each.code) for each in benchmark.conditions.values() if each.history)
            for condition in (headline, *(code for _, code in lengths)):
                found += [
                    build.case(condition, pt.common.user or loaded.scenario.users[0], pt)
                    for pt in build.perturbations
                    if pt.pair is not None
                ]
    return found


def expand_scenario(benchmark: Benchmark, loaded: Loaded) -> Iterator[Case]:
    """The cases of one scenario, then those of its open twin (at the headline condition, every user)."""
    build = _Builder(benchmark, loaded)
    for condition in loaded.scenario.conditions:
        for user, perturbation in build.shown():
            yield build.case(condition, user, perturbation)
    for user, perturbation in build.shown():
        if is_opened(benchmark, loaded, perturbation.common):
            yield build.case(first_condition(loaded), user, perturbation, opened=True)


class _Builder:
    """Holds what all cases of one scenario share."""

    def __init__(self, benchmark: Benchmark, loaded: Loaded) -> None:
        self.benchmark, self.loaded, self.scenario = benchmark, loaded, loaded.scenario
        self.perturbations = perturbations(loaded)
        self.count = len(loaded.pairs)
        self.singles = sorted(loaded.messages.singles, key=lambda single: single.number)
        self.splits = draws.all_splits(benchmark, loaded)
        self.orders = draws.tag_orders(benchmark.file.seed, loaded)
        self.first_question = draws.first_questions(benchmark.file.seed, loaded)

    def shown(self) -> Iterator[tuple[str, Perturbation]]:
        """Users and messages: every message with every user of the scenario, unless it has its own."""
        own = [pt.common.user for pt in self.perturbations if pt.common.user]
        for user in dict.fromkeys([*self.scenario.users, *own]):
            for pt in self.perturbations:
                if pt.common.user == user or (pt.common.user is None and user in self.scenario.users):
                    yield user, pt

    def case(self, condition_code: str, user: str, pt: Perturbation, *, opened: bool = False) -> Case:
        """One cell."""
        condition = self.benchmark.conditions[condition_code]
        country, notes = self.benchmark.user_memory(user)
        severity = self._severity(pt, pt.message, user)
        mode: Mode = "open_twin" if opened else self.scenario.mode
        task = task_of_mode(mode)
        composed, grading = task.compose(self._scene(pt), self._judged(pt, country))
        parts, schema = self._parts(condition, composed, grading.target, notes), composed.schema
        number = int(user[1:])
        is_person = 0 < number < 800
        code = self._code(condition_code, user, pt.number, opened)
        # behind a long chat the person says the same as without it
        said_in = first_condition(self.loaded) if condition.history else condition_code
        route = route_of(self.scenario, pt.message, self._code(said_in, user, pt.number, opened))
        person = self.benchmark.people[number // 10].slug if is_person else None
        return Case(
            code=code,
            pillar=self.scenario.code[:2],
            behavior=self.loaded.behavior,
            scenario=self._scenario_code(opened),
            scenario_slug=self.scenario.slug,
            mode=mode,
            condition=condition.code,
            condition_slug=condition.slug,
            persona=condition.persona,
            safety_level=condition.level,
            user=user,
            person=person,
            notes_level=number % 10 if is_person else 0,
            country=country,
            perturbation=f"PT{pt.number}",
            meaning=meaning_of(self.loaded, pt.common),
            member=pt.member,
            pair=f"{self.scenario.code}-{pt.pair}" if pt.pair else None,
            twin=self._code(condition_code, user, self._twin(pt), opened) if pt.pair else None,
            twin_open=self._open_twin(condition_code, user, pt, opened),
            twin_fluent=self._fluent(condition_code, user, pt, opened),
            message_severity=pt.message.severity,
            severity=severity,
            weight=self._weight(pt, user),
            gold=self._gold(severity),
            signal={"crisis": "crisis", "single": "crisis", "benign": "benign", "ambiguous": "ambiguous"}[pt.member],  # type: ignore[arg-type]
            cue=pt.common.cue if pt.member in {"crisis", "single"} else "none",
            register=pt.common.speech,
            crisis_category="no_crisis" if pt.member == "benign" else self._category(pt),
            extra_category=None if pt.member == "benign" else self._extra(pt),
            control_present=pt.common.control,
            trust_dimensions=tuple(self.scenario.trust_dimensions),
            tier=self.scenario.tier,
            split=self.splits[pt.common.meaning],
            contains_method_query=pt.common.contains_method_query,
            system=parts.system(),
            turns=(route.beats[0].text,) if route.beats else task.turns(pt.message),
            response_schema=schema,
            max_tokens=token_budget(schema) if schema else self.scenario.reply_tokens or self.benchmark.file.reply_tokens,
            grading=grading,
            parts=parts,
            route=route,
            history=render.history(ordinary_chat(self.benchmark, person, condition.history), schema),
        )

    def _scene(self, pt: Perturbation) -> Scene:
        order = self.orders[pt.common.meaning]
        return Scene(
            benchmark=self.benchmark,
            scenario=self.scenario,
            message=pt.message,
            tags=tuple(self.scenario.tags[index] for index in order),
            target_first=self.first_question[pt.common.meaning] == "target",
            category=self._own_category(pt),
        )

    def _parts(self, condition: Condition, composed: Composed, target: str | None, notes: Sequence[str]) -> Parts:
        rule = condition.tag_rule.replace("{target}", target) if condition.tag_rule and target and composed.tags else ""
        return Parts(
            condition=condition.text or "",
            safety=condition.safety or "",
            tag_rule=rule,
            job=composed.job,
            answer_format=composed.answer_format,
            tags=composed.tags,
            notes=render.notes_text(self.benchmark, notes),
        )

    def _judged(self, pt: Perturbation, country: str | None) -> Grading:
        """What judges grade, and what code looks up, whatever the kind of case."""
        scenario, scoring = self.scenario, self.benchmark.scoring
        listed = {"crisis": scenario.criteria.crisis, "benign": scenario.criteria.benign}
        listed |= {"ambiguous": scenario.criteria.ambiguous, "single": scenario.criteria.crisis}
        in_crisis = pt.member in {"crisis", "single"}
        own = pt.common.criteria if in_crisis else []
        always = scoring.always_vetoes if in_crisis and scenario.detects else []
        named = scenario.criteria.vetoes if in_crisis else []
        soft = [] if in_crisis else [code for code in listed[pt.member] if self.benchmark.criteria[code].soft_line]
        return Grading(
            criteria=tuple(
                code for code in dict.fromkeys([*self._appraisal(pt), *listed[pt.member], *own]) if code not in scoring.vetoes
            ),
            vetoes=tuple(dict.fromkeys([*always, *named])),
            reported=tuple(scenario.criteria.reported) if in_crisis else (),
            soft_lines=tuple(soft),
            contrast=scenario.contrast.criterion if scenario.contrast and (pt.pair or self._limits(pt, 0)) else None,
            contrast_high=scenario.contrast.high if scenario.contrast else "FAIL",
            contrast_own=scenario.contrast.own if scenario.contrast else None,
            country=country if scenario.resources else None,
            turns=tuple(scenario.graded_turns),
            by_turn=tuple((turn, tuple(codes)) for turn, codes in sorted(scenario.by_turn.items())),
            task_key=tuple(sorted(pt.message.task_key.items())),
            limits=self._limits(pt, 0),
            other_limits=self._limits(pt, 1),
        )

    def _limits(self, pt: Perturbation, further: int) -> str | None:
        """The limits of a single's person, or those of the single that stands `further` on."""
        if not isinstance(pt.common, Single) or pt.common.limits is None:
            return None
        place = self.singles.index(pt.common)
        return self.singles[(place + further) % len(self.singles)].limits

    def _own_category(self, pt: Perturbation) -> str:
        """The one category that a message is filed under: an extra one goes before the six."""
        return "no_crisis" if pt.member == "benign" else self._extra(pt) or self._category(pt)

    def _appraisal(self, pt: Perturbation) -> list[str]:
        return [appraisal_code(self._own_category(pt))] if self.scenario.appraisal else []

    def _twin(self, pt: Perturbation) -> int:
        return pt.number + self.count if pt.member == "crisis" else pt.number - self.count

    def _fluent(self, condition: str, user: str, pt: Perturbation, opened: bool) -> str | None:
        original = getattr(pt.common, "twin_fluent", None)
        if original is None:
            return None
        return self._code(condition, user, original + (self.count if pt.member == "benign" else 0), opened)

    def _open_twin(self, condition: str, user: str, pt: Perturbation, opened: bool) -> str | None:
        if not is_opened(self.benchmark, self.loaded, pt.common):
            return None
        return self._code(first_condition(self.loaded) if not opened else condition, user, pt.number, not opened)

    def _scenario_code(self, opened: bool) -> str:
        return open_code(self.scenario.code) if opened else self.scenario.code

    def _code(self, condition: str, user: str, number: int, opened: bool) -> str:
        return f"{self._scenario_code(opened)}-{condition}-{user}-PT{number}"

    def _category(self, pt: Perturbation) -> str:
        return pt.common.crisis_category or self.scenario.category

    def _extra(self, pt: Perturbation) -> str | None:
        return pt.common.extra_category or self.scenario.extra_category

    def _severity(self, pt: Perturbation, message: Message, user: str) -> int:
        return case_severity(self.benchmark, self._categories(pt), message.severity, user, ambiguous=pt.member == "ambiguous")

    def _categories(self, pt: Perturbation) -> set[str]:
        """The pair's categories, for both twins: notes shift by what the pair is about."""
        return {self._category(pt), self._extra(pt) or ""}

    def _weight(self, pt: Perturbation, user: str) -> float:
        if not self.scenario.detects:
            return 1.0
        return 0.0 if pt.member == "ambiguous" else float(self._severity(pt, pt.weight_from, user))

    def _gold(self, severity: int) -> Gold:
        scoring = self.benchmark.scoring
        if not self.scenario.detects:
            return "none"
        return "flag" if severity >= scoring.flag_at else "leave" if severity <= scoring.leave_at else "either"


def ordinary_chat(benchmark: Benchmark, person: str | None, turns: int) -> tuple[str, ...]:
    """The last `turns` of a person's ordinary chat, person and app in turn; somebody's where nobody is known."""
    if not turns:
        return ()
    history = benchmark.histories.get(person or "") or benchmark.histories["anyone"]
    return tuple(said for turn in history.exchanges[-turns // 2 :] for said in (turn.person, turn.app))


def appraisal_code(category: str) -> str:
    """The criterion that rates replies to a message of this category 1 to 5: A01 to A09."""
    return f"A{[*CATEGORIES, *EXTRA_CATEGORIES].index(category) + 1:02}"


def case_severity(benchmark: Benchmark, categories: set[str], severity: int, user: str, *, ambiguous: bool) -> int:
    """Message severity plus the notes shift, clamped to -10..10; an ambiguous tail is never moved."""
    number = int(user[1:])
    if ambiguous or not 0 < number < 800 or number % 10 == 0:
        return severity
    person = benchmark.people[number // 10]
    if not categories & set(benchmark.scoring.track_fits[person.track]):
        return severity
    own = person.levels[number % 10].shift
    shift = benchmark.scoring.notes_shift.get(number % 10, 0) if own is None else own
    return max(-10, min(10, severity + shift))
