"""`core`: a balanced fraction of the matrix (blueprint, section e, parts a to m; measurement review, 9.13 and 9.19).

Every message stands at the headline cell. What the blueprint rotates by pair number is drawn by seed, balanced over
severity, register, cue and control state within the scenario.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from helmbench_hf.content.load import TAXONOMY, Benchmark, Loaded
from helmbench_hf.content.schema import Pair, Single
from helmbench_hf.matrix.balance import balanced
from helmbench_hf.matrix.cells import Cells, keeps_signal, units
from helmbench_hf.matrix.expand import is_opened

STUBS = 6
"""Demographic stubs at which each message stands, the reference among them."""


def core(benchmark: Benchmark) -> list[str]:
    """Codes of the cases of `core`, in matrix order of their parts."""
    return list(
        dict.fromkeys(
            code for loaded in benchmark.scenarios if loaded.source != TAXONOMY for code in _scenario(benchmark, loaded)
        )
    )


def _scenario(benchmark: Benchmark, loaded: Loaded) -> Iterator[str]:
    scenario, cells = loaded.scenario, Cells(benchmark, loaded)
    seed = f"{benchmark.file.seed}/{scenario.code}/core"
    yield from _headline(benchmark, loaded, cells, seed)
    if scenario.mode == "hidden_tag":
        yield from _hidden(benchmark, loaded, cells, seed)
    elif scenario.mode == "judged":
        yield from _second_condition(benchmark, loaded, cells, seed)
    elif scenario.mode == "multi_turn":
        yield from _conversations(benchmark, loaded, cells, seed)


def _headline(benchmark: Benchmark, loaded: Loaded, cells: Cells, seed: str) -> Iterator[str]:
    """Every message once; country stubs all, demographic stubs in turn, half of the questions without a twin."""
    scenario, users, rows = loaded.scenario, loaded.scenario.users, cells.rows
    if scenario.mode == "label" and not loaded.pairs:
        yield from (cells.one(row) for row in _half(loaded, seed))
    elif scenario.resources and not loaded.pairs:
        yield from (cells.one(row, user=user) for user in users for row in rows)
    elif all(801 <= int(user[1:]) < 900 for user in users):
        yield from _stubs(loaded, cells, rows)
    elif scenario.by_history:
        yield from _histories(loaded, cells)
    else:
        yield from (cells.one(row) for row in rows)
        if scenario.notes_decide:
            yield from (cells.one(row, user=users[0]) for row in rows)


def _half(loaded: Loaded, seed: str) -> list[int]:
    """Half of the questions, of every right letter alike, among those that are scored and those that are not."""
    chosen: list[int] = []
    groups: tuple[tuple[int, Sequence[Single]], ...] = (
        (0, loaded.messages.singles),
        (len(loaded.messages.singles), loaded.messages.ambiguous),
    )
    for offset, items in groups:
        for key in sorted({item.message.key or "" for item in items}):
            same = sorted(item.number for item in items if (item.message.key or "") == key)
            chosen += [offset + number for number in same[::2]]
    return sorted(chosen)


def _stubs(loaded: Loaded, cells: Cells, rows: Sequence[int]) -> Iterator[str]:
    """The reference and five of the others, in turn by pair, so that all of them occur."""
    reference, *others = loaded.scenario.users
    for row in rows:
        pair = (row - 1) % cells.count if row <= 2 * cells.count else row
        shown = [others[(pair * (STUBS - 1) + step) % len(others)] for step in range(min(STUBS - 1, len(others)))]
        yield from (cells.one(row, user=user) for user in (reference, *shown))


def _histories(loaded: Loaded, cells: Cells) -> Iterator[str]:
    """Each pair, and each of the tail, at one person's ordinary notes and again at that person's history; persons in turn."""
    people = list(dict.fromkeys(int(user[1:]) // 10 for user in loaded.scenario.users))
    for row in cells.rows:
        turn = (row - 1) % cells.count if row <= 2 * cells.count else row - 1
        person = people[turn % len(people)]
        yield from (cells.one(row, user=user) for user in loaded.scenario.users if int(user[1:]) // 10 == person)


def _hidden(benchmark: Benchmark, loaded: Loaded, cells: Cells, seed: str) -> Iterator[str]:
    """One thing changed (user or condition) for every pair, and the open twins of all pairs.

    Where a scenario is made of copies, none stands a second time, and only fluent pairs have their open twins.
    """
    scenario = loaded.scenario
    if scenario.noise:
        yield from (code for p in loaded.pairs if p.speech == "fluent" for code in cells.pair(p.pair, opened=True))
        return
    if scenario.by_history:
        first = {pair.pair: list(_first_user(loaded, cells, pair)) for pair in loaded.pairs}
        yield from (code for pair in loaded.pairs for code in cells.pair(pair.pair, user=first[pair.pair][0], opened=True))
        return
    moved = _changed_users(benchmark, loaded, cells, seed)
    yield from (code for pair, user in moved.items() for code in cells.pair(pair, user=user))
    yield from changed_conditions(cells, [pair for pair in loaded.pairs if pair.pair not in moved], seed)
    yield from (code for pair in loaded.pairs for code in cells.pair(pair.pair, opened=True))


def _first_user(loaded: Loaded, cells: Cells, pair: Pair) -> Iterator[str]:
    people = list(dict.fromkeys(int(user[1:]) // 10 for user in loaded.scenario.users))
    person = people[(pair.pair - 1) % len(people)]
    yield from (user for user in loaded.scenario.users if int(user[1:]) // 10 == person)


def _second_condition(benchmark: Benchmark, loaded: Loaded, cells: Cells, seed: str) -> Iterator[str]:
    """The open twins there are, and half of the pairs, or of the messages without a twin, once more at another condition.

    Appraisals stand once.
    """
    if loaded.scenario.appraisal or (loaded.scenario.resources and not loaded.pairs):
        return
    yield from (
        code for pair in loaded.pairs if is_opened(benchmark, loaded, pair) for code in cells.pair(pair.pair, opened=True)
    )
    if loaded.pairs:
        half = balanced(units(loaded.pairs), (True, False), f"{seed}/second")
        yield from changed_conditions(cells, [pair for pair in loaded.pairs if half[str(pair.pair)]], seed)
    elif others := cells.other_conditions:
        singles = sorted(loaded.messages.singles, key=lambda single: single.number)[::2]
        yield from (cells.one(item.number, condition=others[turn % len(others)]) for turn, item in enumerate(singles))


def _conversations(benchmark: Benchmark, loaded: Loaded, cells: Cells, seed: str) -> Iterator[str]:
    """Once more at another condition; in a critical behavior at all of them, because its floor rests on few scripts."""
    critical = {behavior.code for pillar in benchmark.file.pillars for behavior in pillar.behaviors if behavior.critical}
    if loaded.behavior in critical:
        for condition in cells.other_conditions:
            yield from (code for pair in loaded.pairs for code in cells.pair(pair.pair, condition=condition))
    else:
        yield from changed_conditions(cells, loaded.pairs, seed)
    if loaded.scenario.tags:
        yield from (code for pair in loaded.pairs for code in cells.pair(pair.pair, opened=True))


def changed_conditions(cells: Cells, pairs: Sequence[Pair], seed: str) -> Iterator[str]:
    """The pairs once more at the same user, the other conditions balanced over them."""
    others = cells.other_conditions
    drawn = balanced(units(pairs), others, f"{seed}/condition") if others and pairs else {}
    for pair in pairs:
        if str(pair.pair) in drawn:
            yield from cells.pair(pair.pair, condition=drawn[str(pair.pair)])


def _changed_users(benchmark: Benchmark, loaded: Loaded, cells: Cells, seed: str) -> dict[int, str]:
    """A quarter of the pairs at another user, chosen so that both twins keep their signal there."""
    pairs = loaded.pairs
    others = [user for user in loaded.scenario.users if user != cells.first_user]
    keeps: dict[int, list[str]] = {
        pair.pair: [user for user in others if keeps_signal(benchmark, loaded, pair, user)] for pair in pairs
    }
    eligible = [pair for pair in pairs if keeps[pair.pair]]
    wanted = round(len(pairs) / 4)
    if not eligible or wanted == 0:
        return {}
    quarters = tuple(range(max(1, round(len(eligible) / wanted))))
    drawn = balanced(units(eligible), quarters, f"{seed}/user")
    chosen = [pair.pair for pair in eligible if drawn[str(pair.pair)] == 0][:wanted]
    used = dict.fromkeys(others, 0)
    moved: dict[int, str] = {}
    for number in sorted(chosen, key=lambda number: len(keeps[number])):
        user = min(keeps[number], key=lambda each: (used[each], others.index(each)))
        used[user] += 1
        moved[number] = user
    return moved
