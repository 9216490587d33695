"""Checks that cross files. `check` runs them all; each is a generator of problems, and none changes anything."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

from helmbench_hf.content import lint_library, lint_task, lint_text
from helmbench_hf.content.library import Person
from helmbench_hf.content.load import Benchmark, Loaded
from helmbench_hf.content.place import in_messages, in_scenario
from helmbench_hf.content.schema import Pair, Scenario
from helmbench_hf.content.strict_yaml import Problem
from helmbench_hf.matrix.render import user_memory

BODY = {"hidden_tag": "text", "judged": "text", "label": "tickets", "multi_turn": "turns"}
READ_ELSEWHERE = ("policies.yaml",)
"""Authored files that are no part of the dataset: content/policies.py reads them."""
CONTROL_GAP = 1.0
"""Largest difference of mean severity between pairs with and without the control fact."""


def check(benchmark: Benchmark, *, stale_after: int | None = None, today: dt.date | None = None) -> list[Problem]:
    """Every fault across the authored files; `stale_after` in days makes old helpline entries faults."""
    problems = [*_strays(benchmark), *_weights(benchmark), *lint_library.check(benchmark, stale_after, today or dt.date.today())]
    per_scenario: tuple[Callable[[Benchmark, Loaded], Iterator[Problem]], ...] = (
        _place,
        _references,
        lint_task.check,
        _numbering,
        _bodies,
        _severities,
        _copies,
        _control,
    )
    for loaded in benchmark.scenarios:
        for lint in per_scenario:
            problems += lint(benchmark, loaded)
    return problems + list(lint_text.check(benchmark))


def _strays(benchmark: Benchmark) -> Iterator[Problem]:
    """A file in the wrong place would be left out in silence."""
    known = {*benchmark.documents, *READ_ELSEWHERE}
    for path in sorted(benchmark.root.rglob("*")):
        if path.suffix in {".yaml", ".yml"} and benchmark.show(path) not in known:
            yield Problem(benchmark.show(path), 0, "", "the file is not read", "move it to its place, as .yaml, or remove it")


def _weights(benchmark: Benchmark) -> Iterator[Problem]:
    document, seen = benchmark.documents["benchmark.yaml"], set[str]()
    total = sum(behavior.weight for pillar in benchmark.file.pillars for behavior in pillar.behaviors)
    if total != 100:
        what = f"the weights sum to {total}"
        yield Problem("benchmark.yaml", document.line(("pillars",)), "pillars", what, "make them sum to 100")
    for place, pillar in enumerate(benchmark.file.pillars):
        for index, behavior in enumerate(pillar.behaviors):
            field = f"pillars.{place}.behaviors.{index}.code"
            line = document.line(("pillars", place, "behaviors", index, "code"))
            if not behavior.code.startswith(f"{pillar.code}-"):
                what = f"{behavior.code} stands under {pillar.code}"
                yield Problem("benchmark.yaml", line, field, what, "move it to its own pillar")
            if behavior.code in seen:
                yield Problem("benchmark.yaml", line, field, f"{behavior.code} stands here already", "keep one of the two")
            seen.add(behavior.code)


def _place(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """Folder names say what the files say; the behavior is declared and described."""
    pillars = {b.code: (p, b) for p in benchmark.file.pillars for b in p.behaviors}
    if loaded.behavior not in pillars:
        yield in_scenario(
            benchmark,
            loaded,
            "code",
            f"{loaded.behavior} is not in benchmark.yaml",
            "correct the code or add the behavior",
        )
        return
    pillar, behavior = pillars[loaded.behavior]
    number = loaded.scenario.code.rpartition("-")[2]
    expected = f"{pillar.code}-{pillar.slug}/{behavior.code[3:]}-{behavior.slug}/{number}-{loaded.scenario.slug}"
    if benchmark.show(loaded.folder) != expected:
        yield in_scenario(benchmark, loaded, "slug", f"the folder is {benchmark.show(loaded.folder)}", f"rename it to {expected}")
    if not (loaded.folder.parent / "behavior.md").is_file():
        where = benchmark.show(loaded.folder.parent / "behavior.md")
        yield Problem(where, 0, "", "the behavior has no description", "write its claim, rationale and pass line")


def _references(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """Conditions, users and criteria exist, once each."""
    scenario = loaded.scenario
    for index, code in enumerate(scenario.conditions):
        if code not in benchmark.conditions:
            yield in_scenario(
                benchmark,
                loaded,
                f"conditions.{index}",
                f"there is no condition {code}",
                "add it to conditions/ or correct it",
            )
        if code in scenario.conditions[:index]:
            yield in_scenario(benchmark, loaded, f"conditions.{index}", f"{code} is listed twice", "keep one")
    for index, user in enumerate(scenario.users):
        if reason := _unknown_user(benchmark, user):
            yield in_scenario(benchmark, loaded, f"users.{index}", reason, "add the context or correct the code")
        elif scenario.resources and user_memory(benchmark, user)[0] not in benchmark.countries:
            what = f"{user} lives in no country that has a helplines file"
            yield in_scenario(benchmark, loaded, f"users.{index}", what, "choose another user or write the file")
        if user in scenario.users[:index]:
            yield in_scenario(benchmark, loaded, f"users.{index}", f"{user} is listed twice", "keep one")
    for field, codes in _criteria_fields(scenario):
        for code in codes:
            if code not in benchmark.criteria:
                yield in_scenario(benchmark, loaded, field, f"there is no criterion {code}", "add it to criteria/ or correct it")
            elif (benchmark.criteria[code].kind == "veto") != (field == "criteria.vetoes"):
                yield in_scenario(
                    benchmark,
                    loaded,
                    field,
                    f"{code} is a {benchmark.criteria[code].kind}",
                    "vetoes go under `vetoes`, all others not",
                )


def _criteria_fields(scenario: Scenario) -> Iterator[tuple[str, list[str]]]:
    for name in ("crisis", "benign", "ambiguous", "vetoes", "reported"):
        yield f"criteria.{name}", getattr(scenario.criteria, name)
    if scenario.contrast:
        yield "contrast.criterion", [scenario.contrast.criterion]


def _unknown_user(benchmark: Benchmark, user: str) -> str | None:
    number = int(user[1:])
    if number == 0:
        return None
    if number >= 800:
        known = any(country.number == number for country in benchmark.countries.values())
        return None if known else f"no helplines file has the number {number}"
    person: Person | None = benchmark.people.get(number // 10)
    if person is None:
        return f"there is no person {number // 10}"
    return None if number % 10 in {0, *person.levels} else f"{person.slug} has no level {number % 10}"


def _numbering(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    messages = loaded.messages
    for field, numbers in (
        ("pairs", [pair.pair for pair in messages.pairs]),
        ("singles", [item.number for item in messages.singles]),
        ("ambiguous", [item.number for item in messages.ambiguous]),
    ):
        if sorted(numbers) != list(range(1, len(numbers) + 1)):
            yield in_messages(
                benchmark, loaded, field, f"the numbers are {numbers}", f"number them 1 to {len(numbers)}, each once"
            )
    if not messages.pairs and not messages.singles:
        yield in_messages(benchmark, loaded, "pairs", "the scenario has no message", "write pairs or singles")


def _halves(pair: Pair, index: int) -> Iterator[tuple[str, Any]]:
    yield f"pairs.{index}.crisis", pair.crisis
    yield f"pairs.{index}.benign", pair.benign


def _bodies(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    body = BODY[loaded.scenario.mode]
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
    crisis = (scoring.flag_at, 10) if detects else (-3, 3)
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
    if loaded.scenario.mode != "hidden_tag":
        for index, pair in enumerate(pairs):
            if pair.control is not None:
                yield in_messages(
                    benchmark, loaded, f"pairs.{index}.control", "only hidden-tag scenarios have a control", "remove it"
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
