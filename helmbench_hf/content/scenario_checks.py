"""Checks of one scenario against the rest: its references, its task, and its messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from statistics import mean

from helmbench_hf.content.answer_schema import can_hold, longest, plain_field
from helmbench_hf.content.load import Benchmark, Faults, Loaded
from helmbench_hf.content.schema import Message, Pair

RESERVED = ("reply", "tags")
TAGS = 6
TAG_WORDS = 4
"""Largest difference in words between the definitions of target and control."""
CONTROL_GAP = 1.3
"""Largest difference of mean severity between pairs with and without the control fact."""
CHOICES_FROM, CHOICE_MARGIN = 12, 0.15
"""With that many questions, how far from chance the share may be whose right answer is among the k longest, for any k."""
BODY = {"hidden_tag": "text", "judged": "text", "multi_turn": "turns", "reactive": "beats"}
"""Where the text of a message stands; a label scenario has queues of tickets, or texts."""


# --- scenario.yaml -------------------------------------------------------------------------------------------------


def place(benchmark: Benchmark, loaded: Loaded) -> Faults:
    """The behavior is declared, and the folder is named after it."""
    if loaded.behavior not in benchmark.file.behaviors:
        yield "code", f"{loaded.behavior} is not in benchmark.yaml", "correct the code or add the behavior"
        return
    pillar, behavior = benchmark.file.behaviors[loaded.behavior]
    number = loaded.scenario.code.rpartition("-")[2]
    expected = f"{pillar.code}-{pillar.slug}/{behavior.code[3:]}-{behavior.slug}/{number}-{loaded.scenario.slug}"
    if benchmark.show(loaded.folder) != expected:
        yield "slug", f"the folder is {benchmark.show(loaded.folder)}", f"rename it to {expected}"


def references(benchmark: Benchmark, loaded: Loaded) -> Faults:
    """Conditions, users and criteria exist."""
    scenario = loaded.scenario
    for index, code in enumerate(scenario.conditions):
        if code not in benchmark.conditions:
            yield f"conditions.{index}", f"there is no condition {code}", "add it to conditions/ or correct it"
    for index, user in enumerate(scenario.users):
        if reason := _unknown_user(benchmark, user):
            yield f"users.{index}", reason, "add the context or correct the code"
        elif scenario.resources and benchmark.user_memory(user)[0] not in benchmark.countries:
            what = f"{user} lives in no country that has a helplines file"
            yield f"users.{index}", what, "choose another user or write the file"
    used = {f"criteria.{name}": codes for name, codes in scenario.criteria}
    used |= {"contrast.criterion": [scenario.contrast.criterion]} if scenario.contrast else {}
    for field, codes in used.items():
        for code in codes:
            if code not in benchmark.criteria:
                yield field, f"there is no criterion {code}", "add it to criteria/ or correct it"
            elif ((kind := benchmark.criteria[code].kind) == "veto") != (field == "criteria.vetoes"):
                yield field, f"{code} is a {kind}", "vetoes go under `vetoes`, all others not"


def mode(_: Benchmark, loaded: Loaded) -> Faults:
    """The scenario has what its mode needs, and nothing that its mode does not use."""
    scenario = loaded.scenario
    hidden = scenario.mode == "hidden_tag"
    limited = any(single.limits for single in loaded.messages.singles)
    contrasted = scenario.mode in {"judged", "multi_turn", "reactive"} and bool(loaded.pairs or limited)
    for name, value, wanted in (
        ("job", scenario.job, hidden or scenario.mode == "label"),
        ("answer", scenario.answer, hidden),
        ("tags", scenario.tags, hidden or (scenario.mode == "multi_turn" and bool(scenario.tags))),
        ("options", scenario.options, scenario.mode == "label"),
        ("contrast", scenario.contrast, contrasted),
        ("route", scenario.route, scenario.mode == "reactive"),
    ):
        if wanted and not value:
            yield name, f"a {scenario.mode} scenario needs `{name}`", "write it"
        if value and not wanted and name != "job":
            yield name, f"a {scenario.mode} scenario has no `{name}`", "remove it"
    if contrasted and limited and (scenario.contrast is None or scenario.contrast.own not in scenario.criteria.crisis):
        what = "the contrast does not say which of the crisis criteria is about the person's own limits"
        yield "contrast", what, "name it under `own`, e.g. K11"
    if scenario.mode not in {"multi_turn", "reactive"} and scenario.graded_turns != [1]:
        yield "graded_turns", f"a {scenario.mode} scenario has one turn", "remove `graded_turns`"
    listed = {*scenario.criteria.crisis, *scenario.criteria.benign}
    for turn, codes in scenario.by_turn.items():
        if turn not in scenario.graded_turns or not listed.issuperset(codes):
            what = f"turn {turn} is not graded, or one of {', '.join(codes)} is not among the criteria"
            yield f"by_turn.{turn}", what, "name graded turns and criteria that stand under `criteria`"
    if scenario.asked and not (scenario.mode == "judged" and loaded.pairs and scenario.detects):
        what = "only judged pairs about a danger have open twins of this kind"
        yield "asked", what, "remove `asked`; scenarios with tags have open twins without it"
    if scenario.resources and scenario.mode != "judged":
        yield "resources", "only a judged scenario checks resources", "remove `resources`"


def route(_: Benchmark, loaded: Loaded) -> Faults:
    """Every beat can be reached and leads on, no path goes around in a circle, and every path has the turns that are graded."""
    table, graded = loaded.scenario.route, loaded.scenario.graded_turns
    if table is None:
        return
    onward: dict[str, set[str]] = {}
    for slug, beat in table.beats.items():
        onward[slug] = {
            to for step in beat.after.values() for to in ([step.to] if isinstance(step.to, str) else step.to.values())
        }
        if unknown := sorted(onward[slug] - set(table.beats)):
            yield f"route.beats.{slug}", f"it leads to {unknown[0]}, which is no beat", "correct the name or write the beat"
            return
        for act, step in beat.after.items():
            if isinstance(step.to, dict) and 0 not in step.to:
                yield f"route.beats.{slug}.after.{act}", "it leads nowhere at trust 0", "name a beat for 0"
    try:
        order = list(TopologicalSorter(onward).static_order())[::-1]
    except CycleError as error:
        circle = " to ".join(reversed(error.args[1]))
        yield "route.beats", f"the person could go around for ever: {circle}", "lead one of these beats on"
        return
    start = next(iter(table.beats))
    turns: dict[str, set[int]] = {slug: set() for slug in table.beats}
    turns[start] = {1}
    for slug in order:
        for to in onward[slug]:
            turns[to] |= {turn + 1 for turn in turns[slug]}
    for slug in table.beats:
        if not turns[slug]:
            yield f"route.beats.{slug}", "no reply leads to it", "lead to it from another beat, or remove it"
    ends = {turn for slug, beat in table.beats.items() if beat.end for turn in turns[slug]}
    if ends and min(ends) < max(graded):
        yield "graded_turns", f"turn {max(graded)} is graded and a path ends at turn {min(ends)}", "grade what every path has"


def answer(_: Benchmark, loaded: Loaded) -> Faults:
    """The fields of the answer are JSON Schema with caps."""
    for name, field in loaded.scenario.answer.items():
        try:
            longest(field)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            yield f"answer.{name}", f"the field is not a capped JSON Schema ({error})", "cap every string and array"
        if name in RESERVED:
            yield f"answer.{name}", f"`{name}` is added by the program", "remove it"


def tags(_: Benchmark, loaded: Loaded) -> Faults:
    """There are six tags, of which one is the target and one the control; these two are equally long."""
    listed = loaded.scenario.tags
    roles = [tag.role for tag in listed]
    if not listed:
        return
    if len(listed) != TAGS or roles.count("target") != 1 or roles.count("control") != 1:
        yield "tags", "there must be six tags, one of them target and one control", "correct names and roles"
        return
    words = {tag.role: len(tag.definition.split()) for tag in listed if tag.role != "other"}
    if abs(words["target"] - words["control"]) > TAG_WORDS:
        yield "tags", f"target has {words['target']} words, control {words['control']}", "make them equally long"


def sources(_: Benchmark, loaded: Loaded) -> Faults:
    """Every message rests on public guidance: its own, or its scenario's."""
    bare = sum(not item.sources for _, item in loaded.messages.items())
    if bare and loaded.authored and not loaded.scenario.sources:
        fix = "name it here (author, year, title, section), or at each message"
        yield "sources", f"{bare} messages rest on no public guidance", fix


def _unknown_user(benchmark: Benchmark, user: str) -> str | None:
    """Why a user code names nobody, or None."""
    try:
        benchmark.user_memory(user)
    except LookupError as error:
        return str(error)
    return None


# --- messages.yaml -------------------------------------------------------------------------------------------------


def numbers(_: Benchmark, loaded: Loaded) -> Faults:
    """Pairs, singles and ambiguous messages are numbered from 1."""
    messages = loaded.messages
    for group, found in (
        ("pairs", [pair.pair for pair in messages.pairs]),
        ("singles", [item.number for item in messages.singles]),
        ("ambiguous", [item.number for item in messages.ambiguous]),
    ):
        if sorted(found) != list(range(1, len(found) + 1)):
            yield group, f"the numbers are {found}", f"number them 1 to {len(found)}"
    if not messages.pairs and not messages.singles:
        yield "pairs", "the scenario has no message", "write pairs or singles"


def bodies(_: Benchmark, loaded: Loaded) -> Faults:
    """Messages are written in the form that the mode needs, with every turn that is graded."""
    scenario, written = loaded.scenario, list(loaded.messages.written())
    body = BODY.get(scenario.mode) or ("tickets" if any(each.message.tickets for each in written) else "text")
    graded = max(scenario.graded_turns)
    for each in written:
        if getattr(each.message, body) is None:
            yield each.field, f"a {scenario.mode} message has `{body}`", f"write it under `{body}`"
        elif each.message.beats is not None and scenario.route and list(each.message.beats) != list(scenario.route.beats):
            what = "the beats are not those of the scenario's route, in its order"
            yield each.field, what, f"write {', '.join(scenario.route.beats)}"
        elif each.message.beats is not None and any(len(set(lines)) < len(lines) for lines in each.message.beats.values()):
            yield each.field, "a beat has the same wording twice", "write three different ones"
        elif each.message.turns is not None and len(each.message.turns) < graded:
            yield each.field, f"turn {graded} is graded but not there", "write the turn"
    for index, pair in enumerate(loaded.messages.pairs):
        if pair.crisis.turns and pair.benign.turns and len(pair.crisis.turns) != len(pair.benign.turns):
            yield f"pairs.{index}", "the twins have different numbers of turns", "give both the same"


def severities(benchmark: Benchmark, loaded: Loaded) -> Faults:
    """The severity of a message fits its member."""
    scoring = benchmark.scoring
    crisis = (scoring.flag_at, 10) if loaded.scenario.detects else (-3, 3)
    bounds = {
        "crisis": (0, 2) if loaded.scenario.notes_decide else crisis,
        "benign": (-10, scoring.leave_at),
        "ambiguous": (scoring.leave_at + 1, scoring.flag_at - 1),
    }
    for each in loaded.messages.written():
        kind = "crisis" if each.member == "single" else each.member
        (low, high), severity = bounds[kind], each.message.severity
        if not low <= severity <= high:
            what = f"the severity {severity} does not fit {'an' if kind == 'ambiguous' else 'a'} {kind} message"
            yield f"{each.field}.severity", what, f"write {low} to {high}, or move the message"


def copies(_: Benchmark, loaded: Loaded) -> Faults:
    """Only copies in other registers share a meaning; a copy names a fluent pair that is like it in all but the words."""
    pairs = {pair.pair: pair for pair in loaded.messages.pairs}
    originals = Counter(pair.meaning for pair in pairs.values() if pair.twin_fluent is None)
    for meaning, times in originals.items():
        if times > 1:
            yield "pairs", f"{times} pairs have the meaning {meaning} and are no register copies", "rename one"
    taken = {pair.meaning for pair in pairs.values()}
    for field, item in loaded.messages.items():
        if isinstance(item, Pair):
            if item.twin_fluent is not None:
                original = pairs.get(item.twin_fluent)
                for what, fix in _copy(item, original):
                    yield f"{field}.twin_fluent", what, fix
            continue
        if item.meaning in taken:
            what = f"the meaning {item.meaning} belongs to a pair or an earlier message"
            yield f"{field}.meaning", what, "give the message its own"
        if item.twin_fluent is not None:
            yield f"{field}.twin_fluent", "only pairs are copies of one another", "remove it"
        taken.add(item.meaning)


def _copy(pair: Pair, original: Pair | None) -> Iterator[tuple[str, str]]:
    """What is wrong with a copy of `original` in another register."""
    if original is None or original is pair:
        yield f"there is no other pair {pair.twin_fluent}", "name the fluent original"
        return
    same = ("meaning", "cue", "control", "crisis_category", "extra_category")
    differing = [name for name in same if getattr(pair, name) != getattr(original, name)]
    if original.speech != "fluent" or pair.speech == "fluent":
        differing.append("register")
    if differing:
        what = f"the copy of pair {original.pair} differs from it in {', '.join(differing)}"
        yield what, "make them equal (register: original fluent, copy not)"


def control(_: Benchmark, loaded: Loaded) -> Faults:
    """The control fact is in half of the pairs, in both twins, and tells nothing about severity."""
    pairs, tagged = loaded.messages.pairs, bool(loaded.scenario.tags)
    for index, pair in enumerate(pairs):
        if tagged and pair.control is None:
            yield f"pairs.{index}.control", "the control state is missing", "write true or false"
        if not tagged and pair.control is not None:
            yield f"pairs.{index}.control", "only scenarios with tags have a control", "remove it"
    present = [pair.crisis.severity for pair in pairs if pair.control]
    absent = [pair.crisis.severity for pair in pairs if pair.control is False]
    if tagged and abs(len(present) - len(absent)) > 1:
        yield "pairs", f"{len(present)} pairs have the control fact, {len(absent)} don't", "balance them"
    elif tagged and present and absent and abs(mean(present) - mean(absent)) > CONTROL_GAP:
        yield "pairs", "the control fact goes with severity", "give it to other pairs, so that both sides are equally severe"


def items(benchmark: Benchmark, loaded: Loaded) -> Faults:
    """A message's own user and criteria exist; limits stand on all singles or on none."""
    for field, item in loaded.messages.items():
        if item.user is not None and (reason := _unknown_user(benchmark, item.user)):
            yield f"{field}.user", reason, "add the context or correct the code"
        for code in item.criteria:
            if code not in benchmark.criteria or benchmark.criteria[code].kind != "credit":
                yield f"{field}.criteria", f"{code} is no criterion that earns credit", "correct it"
    limited = [single.limits is not None for single in loaded.messages.singles]
    if any(limited) and not all(limited):
        yield f"singles.{limited.index(False)}.limits", "the limits are missing", "write them, or none at all"


# --- right answers, in messages.yaml --------------------------------------------------------------------------------


def task_keys(benchmark: Benchmark, loaded: Loaded) -> Faults:
    """Every keyed field is one that the answer has, with a value that it can hold."""
    if any(answer(benchmark, loaded)):
        return
    for each in loaded.messages.written():
        for path, expected in each.message.task_key.items():
            part = plain_field(loaded.scenario.answer, path)
            if part is None:
                yield f"{each.field}.task_key", f"the task key `{path}` names no field of the answer", "correct the path"
            elif not can_hold(part, expected):
                what = f"`{path}` cannot be answered by `{expected}`"
                yield f"{each.field}.task_key", what, "write a value within the field's own limits"


def labels(_: Benchmark, loaded: Loaded) -> Faults:
    """Right labels are options, balanced, and differ inside a pair, so that a constant answer earns nothing."""
    scenario, options = loaded.scenario, loaded.scenario.options
    keyed = [each for each in loaded.messages.written() if each.message.key]
    if scenario.mode != "label":
        return
    if not keyed:  # then the right label is the message's own category
        for index, pair in enumerate(loaded.pairs):
            category, extra = scenario.categories(pair)
            for label in (extra or category, "no_crisis"):
                if label not in options:
                    what = f"the category {label} of the pair is not an option"
                    yield f"pairs.{index}", what, "add it to `options`, or give the messages a `key`"
        return
    for each in keyed:
        if options and each.message.key not in options:
            yield f"{each.field}.key", f"the key {each.message.key} is not an option", "add it to `options`"
    for index, pair in enumerate(loaded.messages.pairs):
        if pair.crisis.key == pair.benign.key:
            yield f"pairs.{index}.benign.key", "both twins have the same key", "make them differ"
    scored = [each.message for each in keyed if each.member != "ambiguous"]
    counts = [sum(message.key == option for message in scored) for option in options]
    uneven = 0 if loaded.messages.singles else 1  # a constant letter earns its share of the questions, but no pair
    if counts and max(counts) - min(counts) > uneven:
        yield "pairs", f"the keys are not balanced ({counts})", "use every letter equally often"
    if told := _told_by_length(scored):
        yield "pairs" if loaded.messages.pairs else "singles", told, "even out the lengths"


def _told_by_length(questions: Sequence[Message]) -> str | None:
    """How the lengths of the lettered answers give the right ones away, or None."""
    among: list[list[float]] = []  # by question, the chance that the right answer is among the 1, 2, ... longest
    for message in questions:
        lengths = {letter: len(text) for letter, text in message.answers.items()}
        if message.key in lengths:
            right, every = lengths[message.key], list(lengths.values())
            longer, alike = sum(length > right for length in every), every.count(right)
            among.append([min(1.0, max(0.0, (first - longer) / alike)) for first in range(1, len(every))])
    if len(among) < CHOICES_FROM:
        return None
    answers = 1 + len(among[0])
    shares = {first: mean(each[first - 1] for each in among) for first in range(1, answers)}
    worst = max(shares, key=lambda first: abs(shares[first] - first / answers))
    if abs(shares[worst] - worst / answers) <= CHOICE_MARGIN:
        return None
    return (
        f"in {shares[worst]:.0%} of the questions the right answer is among the {worst} longest of {answers} "
        f"(by chance {worst / answers:.0%})"
    )


SCENARIO = (place, references, mode, route, answer, tags, sources)
"""What must hold in a `scenario.yaml` before the matrix can be expanded."""
MESSAGES = (numbers, bodies, severities, copies, control, items)
"""What must hold in a `messages.yaml`."""
ANSWERS = (task_keys, labels)
"""What must hold between a scenario and its messages, which may be those of another scenario."""
