"""The designs `smoke`, `core` and `full`: which cells of the matrix each holds.

`full` is the whole matrix. `core` is a balanced fraction of it: every message stands at the headline cell, and what is changed
beside it (condition, user) is drawn by seed, balanced over severity, register, cue and control state within the scenario.
`smoke` only tests the plumbing: each mode, grader and register once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from helmbench_hf.content.load import TAXONOMY, Benchmark, Loaded
from helmbench_hf.content.schema import Pair
from helmbench_hf.records import Case
from helmbench_hf.tasks.draws import Unit, balanced, units
from helmbench_hf.tasks.expand import (
    case_severity,
    expand,
    expand_long,
    expand_taxonomy,
    first_condition,
    is_opened,
    open_code,
    perturbations,
)
from helmbench_hf.tasks.kinds import task_of_mode

STUBS = 6
"""Demographic stubs at which each message of `core` stands, the reference among them."""
SMOKE_HIDDEN, SMOKE_OPEN, SMOKE_EXPLICIT, SMOKE_JUDGED, SMOKE_LABELS = 12, 6, 3, 9, 4
SMOKE_REGISTER = ("P1-B1-S1", "P1-B4-S1", "P1-B6-S3", "P4-B2-S3")
SMOKE_COUNTRIES = ("NL", "BR")
SMOKE_REACTIVE = ("P1-B7-S4", "P2-B5-S4")


def designs(benchmark: Benchmark, cases: Sequence[Case]) -> dict[str, list[Case]]:
    """The cases of `smoke`, `core`, `full` (which is `cases`), of the crisis taxonomy, and those behind a long chat."""
    return {name: _of(benchmark, name, cases) for name in ("smoke", "core", "full", *BESIDE)}


def design_cases(benchmark: Benchmark, design: str) -> list[Case]:
    """The cases of one design, without the work that only the others take."""
    return _of(benchmark, design, () if design in BESIDE else expand(benchmark))


def _of(benchmark: Benchmark, design: str, full: Sequence[Case]) -> list[Case]:
    if design in BESIDE:
        return BESIDE[design](benchmark)
    if design == "full":
        return list(full)
    by_code = {case.code: case for case in full}
    return [by_code[code] for code in (smoke if design == "smoke" else core)(benchmark)]


BESIDE: dict[str, Callable[[Benchmark], list[Case]]] = {"taxonomy": expand_taxonomy, "long": expand_long}
"""Designs of their own, which are no part of `full`."""


class Cells:
    """Writes case codes of one scenario at its headline cell, or with one thing changed. Twins always share a cell."""

    def __init__(self, benchmark: Benchmark, loaded: Loaded) -> None:
        self.benchmark, self.loaded, self.scenario, self.pairs = benchmark, loaded, loaded.scenario, loaded.pairs
        self.hides_question = task_of_mode(loaded.scenario.mode).hides_question
        self.is_scripted = any(message.turns for *_, message in loaded.messages.written())
        self.answers_back = loaded.scenario.route is not None
        self.asks_services = loaded.scenario.resources and not loaded.pairs
        self.is_judged = not (
            self.hides_question or self.is_scripted or self.answers_back or self.asks_services or self.scenario.options
        )
        self.numbers = [pt.number for pt in perturbations(loaded)]
        self.seed = f"{benchmark.file.seed}/{loaded.scenario.code}/core"
        self.condition = first_condition(loaded)
        self.other_conditions = [code for code in self.scenario.conditions if code != self.condition]
        self.user = self._headline_user()
        self._fixed_users = {pt.number: pt.common.user for pt in perturbations(loaded) if pt.common.user}

    def one(self, number: int, *, condition: str | None = None, user: str | None = None, opened: bool = False) -> str:
        """The code of one message's case."""
        scenario = open_code(self.scenario.code) if opened else self.scenario.code
        shown_to = self._fixed_users.get(number) or user or self.user
        return f"{scenario}-{condition or self.condition}-{shown_to}-PT{number}"

    def pair(self, number: int, *, condition: str | None = None, user: str | None = None, opened: bool = False) -> list[str]:
        """The codes of both twins."""
        twins = (number, number + len(self.pairs))
        return [self.one(each, condition=condition, user=user, opened=opened) for each in twins]

    def keeps_signal(self, pair: Pair, user: str) -> bool:
        """Whether the crisis half must be flagged and the twin must not, with what this user's notes add."""
        categories: set[str] = {category or "" for category in self.scenario.categories(pair)}
        crisis, benign = (
            case_severity(self.benchmark, categories, half.severity, user, ambiguous=False) for half in (pair.crisis, pair.benign)
        )
        return crisis >= self.benchmark.scoring.flag_at and benign <= self.benchmark.scoring.leave_at

    def history_users(self, number: int) -> list[str]:
        """Scenarios of histories: the users of the person to whom this message is shown, persons in turn."""
        people = list(dict.fromkeys(int(user[1:]) // 10 for user in self.scenario.users))
        turn = (number - 1) % len(self.pairs) if number <= 2 * len(self.pairs) else number - 1
        return [user for user in self.scenario.users if int(user[1:]) // 10 == people[turn % len(people)]]

    def _headline_user(self) -> str:
        """The first listed user; where notes decide, the first at whom the twins have opposite signals."""
        users = self.scenario.users
        if not self.scenario.notes_decide:
            return users[0]
        return next((user for user in users if all(self.keeps_signal(pair, user) for pair in self.pairs)), users[0])


def core(benchmark: Benchmark) -> list[str]:
    """Codes of the cases of `core`, in matrix order of their parts."""
    every = (Cells(benchmark, loaded) for loaded in benchmark.scenarios if loaded.source != TAXONOMY)
    return list(dict.fromkeys(code for cells in every for code in _core_of(cells)))


def _core_of(cells: Cells) -> Iterator[str]:
    yield from _headline(cells)
    if cells.hides_question:
        yield from _hidden(cells)
    elif cells.is_scripted:
        yield from _conversations(cells)
    elif cells.answers_back:
        yield from _changed_conditions(cells, cells.pairs)
    elif cells.is_judged:
        yield from _judged(cells)


def _headline(cells: Cells) -> Iterator[str]:
    """Every message once; country stubs all, demographic stubs in turn, half of the questions without a twin."""
    scenario, users = cells.scenario, cells.scenario.users
    if scenario.options and not cells.pairs:
        yield from (cells.one(number) for number in _half_of_each_key(cells.loaded))
    elif cells.asks_services:
        yield from (cells.one(number, user=user) for user in users for number in cells.numbers)
    elif all(801 <= int(user[1:]) < 900 for user in users):
        yield from _stubs(cells)
    elif scenario.by_history:
        # each message at one person's ordinary notes and again at that person's history
        yield from (cells.one(number, user=user) for number in cells.numbers for user in cells.history_users(number))
    else:
        yield from (cells.one(number) for number in cells.numbers)
        if scenario.notes_decide:
            yield from (cells.one(number, user=users[0]) for number in cells.numbers)


def _half_of_each_key(loaded: Loaded) -> list[int]:
    """Half of the questions, of every right letter alike, among those that are scored and those that are not."""
    chosen: list[int] = []
    for offset, items in ((0, loaded.messages.singles), (len(loaded.messages.singles), loaded.messages.ambiguous)):
        for key in {item.message.key or "" for item in items}:
            same = sorted(item.number for item in items if (item.message.key or "") == key)
            chosen += [offset + number for number in same[::2]]
    return sorted(chosen)


def _stubs(cells: Cells) -> Iterator[str]:
    """The reference and five of the others, in turn by pair, so that all of them occur."""
    reference, *others = cells.scenario.users
    for number in cells.numbers:
        turn = (number - 1) % len(cells.pairs) if number <= 2 * len(cells.pairs) else number
        shown = [others[(turn * (STUBS - 1) + step) % len(others)] for step in range(min(STUBS - 1, len(others)))]
        yield from (cells.one(number, user=user) for user in (reference, *shown))


def _hidden(cells: Cells) -> Iterator[str]:
    """One thing changed (user or condition) for every pair, and the open twins of all pairs.

    Where a scenario is made of copies, none stands a second time, and only fluent pairs have their open twins.
    """
    if cells.scenario.noise:
        yield from _open_twins(cells, [pair for pair in cells.pairs if pair.speech == "fluent"])
    elif cells.scenario.by_history:
        for pair in cells.pairs:
            yield from cells.pair(pair.pair, user=cells.history_users(pair.pair)[0], opened=True)
    else:
        moved = _changed_users(cells)
        yield from (code for number, user in moved.items() for code in cells.pair(number, user=user))
        yield from _changed_conditions(cells, [pair for pair in cells.pairs if pair.pair not in moved])
        yield from _open_twins(cells, cells.pairs)


def _open_twins(cells: Cells, pairs: Sequence[Pair]) -> Iterator[str]:
    yield from (code for pair in pairs for code in cells.pair(pair.pair, opened=True))


def _judged(cells: Cells) -> Iterator[str]:
    """The open twins there are, and half of the pairs, or of the messages without a twin, once more at another condition.

    Appraisals stand once.
    """
    if cells.scenario.appraisal:
        return
    yield from _open_twins(cells, [pair for pair in cells.pairs if is_opened(cells.benchmark, cells.loaded, pair)])
    if cells.pairs:
        half = balanced(_by_number(cells.pairs), (True, False), f"{cells.seed}/second")
        yield from _changed_conditions(cells, [pair for pair in cells.pairs if half[str(pair.pair)]])
    elif others := cells.other_conditions:
        singles = sorted(cells.loaded.messages.singles, key=lambda single: single.number)[::2]
        yield from (cells.one(item.number, condition=others[turn % len(others)]) for turn, item in enumerate(singles))


def _conversations(cells: Cells) -> Iterator[str]:
    """Once more at another condition; in a critical behavior at all of them, because its floor rests on few scripts."""
    _, behavior = cells.benchmark.file.behaviors[cells.loaded.behavior]
    if behavior.critical:
        for condition in cells.other_conditions:
            yield from (code for pair in cells.pairs for code in cells.pair(pair.pair, condition=condition))
    else:
        yield from _changed_conditions(cells, cells.pairs)
    if cells.scenario.tags:
        yield from _open_twins(cells, cells.pairs)


def _changed_conditions(cells: Cells, pairs: Sequence[Pair]) -> Iterator[str]:
    """The pairs once more at the same user, the other conditions balanced over them."""
    if cells.other_conditions:
        drawn = balanced(_by_number(pairs), cells.other_conditions, f"{cells.seed}/condition")
        yield from (code for pair in pairs for code in cells.pair(pair.pair, condition=drawn[str(pair.pair)]))


def _changed_users(cells: Cells) -> dict[int, str]:
    """A quarter of the pairs at another user, chosen so that both twins keep their signal there."""
    others = [user for user in cells.scenario.users if user != cells.user]
    keeps = {pair.pair: [user for user in others if cells.keeps_signal(pair, user)] for pair in cells.pairs}
    eligible = [pair for pair in cells.pairs if keeps[pair.pair]]
    wanted = round(len(cells.pairs) / 4)
    if not eligible or wanted == 0:
        return {}
    quarters = range(max(1, round(len(eligible) / wanted)))
    drawn = balanced(_by_number(eligible), quarters, f"{cells.seed}/user")
    chosen = [pair.pair for pair in eligible if drawn[str(pair.pair)] == 0][:wanted]
    used = dict.fromkeys(others, 0)
    moved: dict[int, str] = {}
    for number in sorted(chosen, key=lambda number: len(keeps[number])):
        moved[number] = min(keeps[number], key=lambda user: (used[user], others.index(user)))
        used[moved[number]] += 1
    return moved


def _by_number(pairs: Sequence[Pair]) -> list[Unit]:
    return units(pairs, lambda pair: str(pair.pair))


def smoke(benchmark: Benchmark) -> list[str]:
    """Codes of `smoke`: one scenario of each behavior first, then others, in declared order.

    Long documents are left out, because `smoke` is to run on two cores in minutes. So is what is in no score.
    """
    scored = [
        Cells(benchmark, loaded)
        for loaded in benchmark.scenarios
        if not (loaded.source == TAXONOMY or loaded.messages.hosts or loaded.scenario.apart)
    ]
    codes: list[str] = []
    for index, cells in enumerate(_spread([each for each in scored if each.hides_question])[:SMOKE_HIDDEN]):
        number = _smoke_pair(cells)
        codes += cells.pair(number)
        codes += cells.pair(number, opened=True) if index < SMOKE_OPEN else []
        codes += cells.pair(number, condition="C4") if index < SMOKE_EXPLICIT and "C4" in cells.scenario.conditions else []
    codes += [cells.one(1) for cells in _spread([each for each in scored if each.is_judged])[:SMOKE_JUDGED]]
    for cells in [each for each in scored if each.scenario.options][:1]:
        codes += [code for pair in cells.pairs[: SMOKE_LABELS // 2] for code in cells.pair(pair.pair)]
    for cells in [each for each in scored if each.asks_services][:1]:
        stubs = [f"U{benchmark.countries[code].number}" for code in SMOKE_COUNTRIES if code in benchmark.countries]
        codes += [cells.one(1, user=user) for user in stubs if user in cells.scenario.users]
    for cells in scored:
        codes += {"P1-B7-S3": [cells.one(3)], "P2-B5-S1": cells.pair(1)}.get(cells.scenario.code, [])
        codes += cells.pair(1) if cells.scenario.code in SMOKE_REACTIVE else []
    return codes


def _spread(found: Sequence[Cells]) -> list[Cells]:
    """The first scenario of every behavior and those with a wanted register, then the rest."""
    first = {cells.loaded.behavior: cells.scenario.code for cells in reversed(found)}
    early = {*first.values(), *SMOKE_REGISTER}
    return sorted(found, key=lambda cells: (cells.scenario.code not in early, cells.scenario.code))


def _smoke_pair(cells: Cells) -> int:
    """The first register copy where one is wanted, else the first pair."""
    copies = [pair.pair for pair in cells.pairs if pair.speech != "fluent"]
    return copies[0] if copies and cells.scenario.code in SMOKE_REGISTER else 1
