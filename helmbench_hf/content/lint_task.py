"""Lints of the task that a scenario sets: what its mode needs, its answer schema, its tags, its right answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from helmbench_hf.content.load import Benchmark, Loaded
from helmbench_hf.content.place import in_messages, in_scenario
from helmbench_hf.content.schema import Message
from helmbench_hf.content.strict_yaml import Problem

RESERVED = ("reply", "tags")
CHOICES_FROM, CHOICE_MARGIN = 12, 0.15
"""From that many questions on, how far from chance the share may be whose right answer is among the k longest, for any k."""
TAGS = 6
TAG_WORDS = 4
"""Largest difference in words between the definitions of target and control."""


def check(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """Every fault of the task of one scenario."""
    yield from _mode(benchmark, loaded)
    malformed = list(_answer(benchmark, loaded))
    yield from malformed or _task_keys(benchmark, loaded)
    if loaded.scenario.tags:
        yield from _tags(benchmark, loaded)
    if loaded.scenario.mode == "label":
        yield from _labels(benchmark, loaded)


def _mode(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """What each mode needs and must not have."""
    scenario = loaded.scenario
    hidden = scenario.mode == "hidden_tag"
    limited = any(single.limits for single in loaded.messages.singles)
    contrasted = scenario.mode in {"judged", "multi_turn"} and bool(loaded.pairs or limited)
    tagged = hidden or (scenario.mode == "multi_turn" and bool(scenario.tags))
    for name, value, wanted in (
        ("job", scenario.job, hidden or scenario.mode == "label"),
        ("answer", scenario.answer, hidden),
        ("tags", scenario.tags, tagged),
        ("options", scenario.options, scenario.mode == "label"),
        ("contrast", scenario.contrast, contrasted),
    ):
        if wanted and not value:
            yield in_scenario(benchmark, loaded, name, f"a {scenario.mode} scenario needs `{name}`", "write it")
        if value and not wanted and name != "job":
            yield in_scenario(benchmark, loaded, name, f"a {scenario.mode} scenario has no `{name}`", "remove it")
    if contrasted and limited and (scenario.contrast is None or scenario.contrast.own not in scenario.criteria.crisis):
        what = "the contrast does not say which of the crisis criteria is the person's own"
        yield in_scenario(benchmark, loaded, "contrast", what, "name it under `own`, e.g. K11")
    if scenario.mode != "multi_turn" and scenario.graded_turns != [1]:
        what = f"a {scenario.mode} scenario has one turn"
        yield in_scenario(benchmark, loaded, "graded_turns", what, "remove `graded_turns`")
    if scenario.asked and not (scenario.mode == "judged" and loaded.pairs and scenario.detects):
        what = "only judged pairs about a danger have open twins of this kind"
        yield in_scenario(benchmark, loaded, "asked", what, "remove `asked`; tags have open twins by themselves")
    if scenario.resources and scenario.mode != "judged":
        yield in_scenario(benchmark, loaded, "resources", "only a judged scenario checks resources", "remove `resources`")


def _answer(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """The fields of the answer are capped JSON Schema."""
    from helmbench_hf.matrix.render import longest

    for name, field in loaded.scenario.answer.items():
        try:
            longest(field)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            what = f"the field is not a capped JSON Schema ({error})"
            yield in_scenario(benchmark, loaded, f"answer.{name}", what, "cap every string and array")
        if name in RESERVED:
            yield in_scenario(benchmark, loaded, f"answer.{name}", f"`{name}` is added by the program", "remove it")


def _tags(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """Six tags, one target and one control, which are equally long."""
    tags = loaded.scenario.tags
    roles = [tag.role for tag in tags]
    if len(tags) != TAGS or roles.count("target") != 1 or roles.count("control") != 1:
        what = "there must be six tags, one of them target and one control"
        yield in_scenario(benchmark, loaded, "tags", what, "correct names and roles")
        return
    if len({tag.name for tag in tags}) != TAGS:
        yield in_scenario(benchmark, loaded, "tags", "two tags have the same name", "rename one")
    words = {tag.role: len(tag.definition.split()) for tag in tags if tag.role != "other"}
    if abs(words["target"] - words["control"]) > TAG_WORDS:
        what = f"target has {words['target']} words, control {words['control']}"
        yield in_scenario(benchmark, loaded, "tags", what, "make them equally long")


def _task_keys(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """Every keyed field is one that the answer can hold, with a value that it can take."""
    for field, message in _messages(loaded):
        for path, expected in message.task_key.items():
            part = _part(loaded.scenario.answer, path)
            if part is None:
                what = f"the task key `{path}` names no field of the answer"
                yield in_messages(benchmark, loaded, f"{field}.task_key", what, "correct the path")
            elif not _takes(part, expected):
                what = f"`{path}` cannot be answered by `{expected}`"
                yield in_messages(benchmark, loaded, f"{field}.task_key", what, "write a value within the field's own limits")


def _messages(loaded: Loaded) -> Iterator[tuple[str, Message]]:
    for index, pair in enumerate(loaded.messages.pairs):
        yield f"pairs.{index}.crisis", pair.crisis
        yield f"pairs.{index}.benign", pair.benign
    for group in ("singles", "ambiguous"):
        for index, item in enumerate(getattr(loaded.messages, group)):
            yield f"{group}.{index}.message", item.message


def _part(answer: dict[str, Any], path: str) -> dict[str, Any] | None:
    """Schema of the plain value at `rows.0.when` or `rows.length`; None where there is none."""
    node: dict[str, Any] = {"type": "object", "properties": answer}
    for step in path.split("."):
        kind = node.get("type")
        if kind == "object" and step in node["properties"]:
            node = node["properties"][step]
        elif kind == "array" and step == "length":
            node = {"type": "integer", "maximum": node["maxItems"]}
        elif kind == "array" and step.isdecimal() and int(step) < node["maxItems"]:
            node = node["items"]
        else:
            return None
    return None if node.get("type") in {"object", "array"} else node


def _takes(part: dict[str, Any], expected: str) -> bool:
    """Whether a plain field can hold the value, which is written as text."""
    if "enum" in part:
        return expected in [str(value) for value in part["enum"]]
    kind = part.get("type")
    if kind == "integer":
        number = int(expected) if expected.removeprefix("-").isdecimal() else None
        return number is not None and part.get("minimum", number) <= number <= part.get("maximum", number)
    if kind == "boolean":
        return expected in {"true", "false"}
    return kind != "string" or len(expected) <= part.get("maxLength", len(expected))


def _labels(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """Right letters are options, balanced, and differ inside a pair, so that a constant answer earns nothing."""
    options = loaded.scenario.options
    if not any(message.key for _, message in _messages(loaded)):
        yield from _categories(benchmark, loaded)
        return
    keys = [(field, message.key) for field, message in _messages(loaded) if message.key]
    for field, key in keys:
        if options and key not in options:
            yield in_messages(benchmark, loaded, f"{field}.key", f"the key {key} is not an option", "add it to `options`")
    for index, pair in enumerate(loaded.messages.pairs):
        if pair.crisis.key == pair.benign.key:
            yield in_messages(benchmark, loaded, f"pairs.{index}.benign.key", "both twins have the same key", "make them differ")
    scored: list[str] = [key for field, key in keys if not field.startswith("ambiguous")]
    counts = [scored.count(option) for option in options]
    uneven = 0 if loaded.messages.singles else 1  # a constant letter earns its share of the questions, but no pair
    yield from _lengths_of_answers(benchmark, loaded)
    if counts and max(counts) - min(counts) > uneven:
        yield in_messages(benchmark, loaded, "pairs", f"the keys are not balanced ({counts})", "use every letter equally often")


def _lengths_of_answers(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """Whoever knows the lengths of the answers alone, or of the tickets, knows nothing about which is right."""
    above: list[list[float]] = []
    for field, message in _messages(loaded):
        answers = {str(letter): len(text) for letter, text in (message.tickets or message.choices or {}).items()}
        if message.key in answers and not field.startswith("ambiguous"):
            right, lengths = answers[message.key], list(answers.values())
            longer, alike = sum(length > right for length in lengths), lengths.count(right)
            above.append([min(1.0, max(0.0, (places - longer) / alike)) for places in range(1, len(lengths))])
    if len(above) < CHOICES_FROM:
        return
    of = 1 + len(above[0])
    shares = {places: sum(each[places - 1] for each in above) / len(above) for places in range(1, of)}
    worst = max(shares, key=lambda places: abs(shares[places] - places / of))
    if abs(shares[worst] - worst / of) > CHOICE_MARGIN:
        what = (
            f"in {shares[worst]:.0%} of the questions the right answer is among the {worst} longest of {of} "
            f"(by chance {worst / of:.0%})"
        )
        yield in_messages(benchmark, loaded, "pairs" if loaded.messages.pairs else "singles", what, "even out the lengths")


def _categories(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """Where the key is the message's own category, every category that occurs is an option."""
    scenario = loaded.scenario
    for index, pair in enumerate(loaded.pairs):
        own = pair.extra_category or scenario.extra_category or pair.crisis_category or scenario.category
        for category in (own, "no_crisis"):
            if category not in scenario.options:
                what = f"the category {category} of the pair is not an option"
                yield in_messages(benchmark, loaded, f"pairs.{index}", what, "add it to `options`, or give the messages a `key`")
