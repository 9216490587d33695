"""Lints of a scenario's own messages: numbers, bodies, severities, copies, control facts, fixed users."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from helmbench_hf.content.library import Person
from helmbench_hf.content.load import Benchmark, Loaded
from helmbench_hf.content.place import in_messages
from helmbench_hf.content.schema import Message, Pair
from helmbench_hf.content.strict_yaml import Problem

BODY = {"hidden_tag": "text", "judged": "text", "multi_turn": "turns"}
"""What a message is written as; a label scenario has queues, or texts with choices or categories."""
CONTROL_GAP = 1.0
"""Largest difference of mean severity between pairs with and without the control fact."""


def check(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """Every fault of the messages that this scenario wrote; shared ones are checked where they were written."""
    if loaded.source != loaded.scenario.code:
        return
    lints: tuple[Callable[[Benchmark, Loaded], Iterator[Problem]], ...] = (
        _numbering,
        _bodies,
        _severities,
        _copies,
        _control,
        _users,
    )
    for lint in lints:
        yield from lint(benchmark, loaded)


def _numbering(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    messages = loaded.messages
    for field, name, numbers in (
        ("pairs", "pair", [pair.pair for pair in messages.pairs]),
        ("singles", "number", [item.number for item in messages.singles]),
        ("ambiguous", "number", [item.number for item in messages.ambiguous]),
    ):
        mend = f"number them 1 to {len(numbers)}, each once"
        twice = [index for index, number in enumerate(numbers) if number in numbers[:index]]
        for index in twice:
            first = loaded.lines.line((field, numbers.index(numbers[index]), name))
            what = f"the number {numbers[index]} stands on line {first} already"
            yield in_messages(benchmark, loaded, f"{field}.{index}.{name}", what, mend)
        if not twice and sorted(numbers) != list(range(1, len(numbers) + 1)):
            yield in_messages(benchmark, loaded, field, f"the numbers are {numbers}", mend)
    if not messages.pairs and not messages.singles:
        yield in_messages(benchmark, loaded, "pairs", "the scenario has no message", "write pairs or singles")


def _halves(pair: Pair, index: int) -> Iterator[tuple[str, Any]]:
    yield f"pairs.{index}.crisis", pair.crisis
    yield f"pairs.{index}.benign", pair.benign


def _all_messages(loaded: Loaded) -> Iterator[Message]:
    for pair in loaded.messages.pairs:
        yield from (pair.crisis, pair.benign)
    yield from (item.message for item in (*loaded.messages.singles, *loaded.messages.ambiguous))


def _bodies(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    body = BODY.get(loaded.scenario.mode) or ("tickets" if any(m.tickets for m in _all_messages(loaded)) else "text")
    found = [half for index, pair in enumerate(loaded.messages.pairs) for half in _halves(pair, index)]
    for group in ("singles", "ambiguous"):
        found += [(f"{group}.{index}.message", item.message) for index, item in enumerate(getattr(loaded.messages, group))]
    for field, message in found:
        if getattr(message, body) is None:
            yield in_messages(
                benchmark, loaded, field, f"a {loaded.scenario.mode} message has `{body}`", f"write it under `{body}`"
            )
        elif message.turns is not None and len(message.turns) < max(loaded.scenario.graded_turns):
            yield in_messages(
                benchmark,
                loaded,
                field,
                f"turn {max(loaded.scenario.graded_turns)} is graded but not there",
                "write the turn",
            )
    for index, pair in enumerate(loaded.messages.pairs):
        if pair.crisis.turns and pair.benign.turns and len(pair.crisis.turns) != len(pair.benign.turns):
            yield in_messages(
                benchmark, loaded, f"pairs.{index}", "the twins have different numbers of turns", "give both the same"
            )


def _severities(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """Sign of severity against signal."""
    scoring, detects = benchmark.scoring, loaded.scenario.detects
    crisis = (0, 2) if loaded.scenario.notes_decide else (scoring.flag_at, 10) if detects else (-3, 3)
    bounds = {
        "crisis": crisis,
        "benign": (-10, scoring.leave_at),
        "ambiguous": (scoring.leave_at + 1, scoring.flag_at - 1),
    }
    found = [
        (half.rpartition(".")[2], half, message.severity)
        for index, pair in enumerate(loaded.messages.pairs)
        for half, message in _halves(pair, index)
    ]
    found += [("crisis", f"singles.{i}.message", item.message.severity) for i, item in enumerate(loaded.messages.singles)]
    found += [("ambiguous", f"ambiguous.{i}.message", item.message.severity) for i, item in enumerate(loaded.messages.ambiguous)]
    for member, field, severity in found:
        low, high = bounds[member]
        if not low <= severity <= high:
            what = f"the severity {severity} does not fit {'an' if member == 'ambiguous' else 'a'} {member} message"
            yield in_messages(benchmark, loaded, f"{field}.severity", what, f"write {low} to {high}, or move the message")


def _copies(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """Register copies point at a fluent pair of the same meaning, severity, cue and control state."""
    pairs = {pair.pair: pair for pair in loaded.messages.pairs}
    by_meaning: dict[str, list[Pair]] = {}
    for index, pair in enumerate(loaded.messages.pairs):
        by_meaning.setdefault(pair.meaning, []).append(pair)
        if pair.twin_fluent is None:
            continue
        field, original = f"pairs.{index}.twin_fluent", pairs.get(pair.twin_fluent)
        if original is None or original is pair:
            yield in_messages(benchmark, loaded, field, f"there is no other pair {pair.twin_fluent}", "name the fluent original")
            continue
        same = ("meaning", "cue", "control", "crisis_category", "extra_category")
        differing = [name for name in same if getattr(pair, name) != getattr(original, name)]
        if original.speech != "fluent" or pair.speech == "fluent":
            differing.append("register")
        if (pair.crisis.severity, pair.benign.severity) != (original.crisis.severity, original.benign.severity):
            differing.append("severity")
        if differing:
            what = f"the copy of pair {original.pair} differs from it in {', '.join(differing)}"
            yield in_messages(benchmark, loaded, field, what, "make them equal (register: original fluent, copy not)")
    for meaning, group in by_meaning.items():
        if sum(pair.twin_fluent is None for pair in group) > 1:
            yield in_messages(
                benchmark,
                loaded,
                "pairs",
                f"two pairs have the meaning {meaning} and neither is a register copy",
                "rename one",
            )
    for group_name in ("singles", "ambiguous"):
        for index, item in enumerate(getattr(loaded.messages, group_name)):
            field = f"{group_name}.{index}"
            if item.meaning in by_meaning:
                what = f"the meaning {item.meaning} belongs to a pair or an earlier message"
                yield in_messages(benchmark, loaded, f"{field}.meaning", what, "give the message its own")
            if item.twin_fluent is not None:
                what = "only pairs are copies of one another"
                yield in_messages(benchmark, loaded, f"{field}.twin_fluent", what, "remove it")
            by_meaning.setdefault(item.meaning, [])


def _control(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """The control fact is in half of the pairs, in both twins, and tells nothing about severity."""
    pairs = loaded.messages.pairs
    if not loaded.scenario.tags:
        for index, pair in enumerate(pairs):
            if pair.control is not None:
                yield in_messages(
                    benchmark, loaded, f"pairs.{index}.control", "only scenarios with tags have a control", "remove it"
                )
        return
    for index, pair in enumerate(pairs):
        if pair.control is None:
            yield in_messages(benchmark, loaded, f"pairs.{index}.control", "the control state is missing", "write true or false")
    present = [pair.crisis.severity for pair in pairs if pair.control]
    absent = [pair.crisis.severity for pair in pairs if pair.control is False]
    if pairs and abs(len(present) - len(absent)) > 1:
        yield in_messages(
            benchmark,
            loaded,
            "pairs",
            f"{len(present)} pairs have the control fact, {len(absent)} don't",
            "balance them",
        )
    elif present and absent and abs(sum(present) / len(present) - sum(absent) / len(absent)) > CONTROL_GAP:
        yield in_messages(
            benchmark,
            loaded,
            "pairs",
            "the control fact goes with severity",
            "draw it again (helmbench_hf.matrix.balance)",
        )


def _users(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """A message's own user exists; limits stand on all singles or on none."""
    messages = loaded.messages
    for group in ("pairs", "singles", "ambiguous"):
        for index, item in enumerate(getattr(messages, group)):
            if item.user is not None and (reason := unknown_user(benchmark, item.user)):
                yield in_messages(benchmark, loaded, f"{group}.{index}.user", reason, "add the context or correct the code")
    limited = [single.limits is not None for single in messages.singles]
    if any(limited) and not all(limited):
        index = limited.index(False)
        yield in_messages(benchmark, loaded, f"singles.{index}.limits", "the limits are missing", "write them, or none at all")


def unknown_user(benchmark: Benchmark, user: str) -> str | None:
    """Why a user code names nobody, or None."""
    number = int(user[1:])
    if number == 0:
        return None
    if 801 <= number < 900:
        return None if number in benchmark.stubs else f"stubs.yaml has no number {number}"
    if number >= 800:
        known = any(country.number == number for country in benchmark.countries.values())
        return None if known else f"no helplines file has the number {number}"
    person: Person | None = benchmark.people.get(number // 10)
    if person is None:
        return f"there is no person {number // 10}"
    return None if number % 10 in {0, *person.levels} else f"{person.slug} has no level {number % 10}"
