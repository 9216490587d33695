"""The text that a model gets: system prompt, answer schema, token budget. One composition for every scenario.

System: condition, safety text, scenario job with its answer format, then what the app remembers; user: the message
alone. What varies most comes last, so that prompts share prefixes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from helmbench_hf.content.library import Condition
from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.schema import Message, Scenario, Tag

REPLY_CAP = 600
"""Longest `reply` of a hidden-tag answer, in characters."""
REASON_CAP = 160
CHARACTERS_PER_TOKEN = 2.5
"""Pessimistic: English is nearer 4, but names, dates and other scripts cost more."""


def user_memory(benchmark: Benchmark, user: str) -> tuple[str | None, list[str]]:
    """ISO country (or None) and the lines that the app remembers, for a user code such as `U53`, `U904` or `U0`."""
    number = int(user[1:])
    if number == 0:
        return None, []
    if number >= 901:
        country = next(item for item in benchmark.countries.values() if item.number == number)
        return country.country, [country.profile]
    if number >= 801:
        stub = benchmark.stubs[number]
        return stub.country, [stub.profile]
    person = benchmark.people[number // 10]
    level = number % 10
    return person.country, [person.profile, *(person.levels[level].notes if level else [])]


def system_text(condition: Condition, parts: Sequence[str], target: str | None) -> str:
    """Condition, safety text, then the given parts (job, notes), a blank line between."""
    safety = [condition.safety] if condition.safety else []
    if condition.tag_rule and target:
        safety.append(condition.tag_rule.replace("{target}", target))
    return "\n\n".join(text for text in [condition.text, " ".join(safety), *parts] if text)


def notes_text(benchmark: Benchmark, notes: Sequence[str]) -> str:
    """The app's memory as the model sees it; empty where nobody is remembered."""
    return "\n".join([benchmark.file.notes_heading, *(f"- {note}" for note in notes)]) if notes else ""


def hidden_job(benchmark: Benchmark, scenario: Scenario, tags: Sequence[Tag]) -> str:
    """The product's job, the format of the answer, and the tag list in the order given."""
    fields = ", ".join(["reply", *scenario.answer, "tags"])
    listed = "\n".join(f"- {tag.name}: {tag.definition}" for tag in tags)
    instruction = benchmark.file.tag_instruction.replace("{fields}", fields)
    return f"{scenario.job}\n\n{instruction}\n{listed}"


def open_job(benchmark: Benchmark, first: str, second: str) -> str:
    """The open twin's two questions: target and control, in the drawn order."""
    return benchmark.file.open_job.replace("{q1}", first).replace("{q2}", second)


def message_turns(message: Message) -> tuple[str, ...]:
    """The user's side: one message, a queue written out, or the turns of a conversation."""
    if message.turns is not None:
        return tuple(message.turns)
    if message.tickets is not None:
        return ("\n".join(f"{letter}. {text}" for letter, text in sorted(message.tickets.items())),)
    if message.choices is not None:
        return ("\n".join([message.text or "", *(f"{letter}. {text}" for letter, text in sorted(message.choices.items()))]),)
    return (message.text or "",)


def open_turns(message: Message) -> tuple[str, ...]:
    """What the open twin reads: the message, or all that the person said in the conversation, as one text."""
    turns = message_turns(message)
    if len(turns) == 1:
        return turns
    return ("\n\n".join(f"Message {number}: {turn}" for number, turn in enumerate(turns, 1)),)


def hidden_schema(scenario: Scenario, tags: Sequence[Tag]) -> str:
    """JSON Schema text: `reply`, the task fields, `tags` (enumerated in the order shown)."""
    properties: dict[str, Any] = {"reply": {"type": "string", "maxLength": REPLY_CAP}}
    properties |= {name: _closed(field) for name, field in scenario.answer.items()}
    names = [tag.name for tag in tags]
    properties["tags"] = {"type": "array", "items": {"type": "string", "enum": names}, "maxItems": len(names)}
    return json.dumps(_closed({"type": "object", "properties": properties}))


def open_schema() -> str:
    """JSON Schema text of the open twin's answer."""
    answer = {"type": "string", "enum": ["yes", "no"]}
    properties = {"q1": answer, "q2": answer, "reason": {"type": "string", "maxLength": REASON_CAP}}
    return json.dumps(_closed({"type": "object", "properties": properties}))


def label_schema(options: Sequence[str]) -> str:
    """JSON Schema text of a label answer."""
    return json.dumps(_closed({"type": "object", "properties": {"answer": {"type": "string", "enum": list(options)}}}))


def token_budget(schema: str) -> int:
    """Tokens that the longest allowed answer may take: its worst-case characters, pessimistically, rounded up to 50."""
    characters = longest(json.loads(schema))
    return max(50, math.ceil(characters / CHARACTERS_PER_TOKEN / 50) * 50)


def longest(schema: dict[str, Any]) -> int:
    """Characters of the longest JSON text the schema allows; ValueError where a string or an array has no cap."""
    if "enum" in schema:
        return max(len(json.dumps(value)) for value in schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        return 2 + sum(len(json.dumps(name)) + 2 + longest(field) for name, field in schema["properties"].items())
    if kind == "array":
        if "maxItems" not in schema:
            raise ValueError("an array needs `maxItems`")
        return 2 + int(schema["maxItems"]) * (longest(schema["items"]) + 1)
    if kind == "string":
        if schema.get("format") == "date":
            return 12
        if "maxLength" not in schema:
            raise ValueError("a string needs `maxLength`")
        return int(schema["maxLength"]) + 2
    if kind in {"integer", "number"}:
        return 8
    if kind == "boolean":
        return 5
    raise ValueError(f"the type {kind!r} is not supported")


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with every object closed and all of its fields required, at every depth."""
    if schema.get("type") == "object":
        properties = {name: _closed(field) for name, field in schema["properties"].items()}
        return {**schema, "properties": properties, "required": list(properties), "additionalProperties": False}
    if schema.get("type") == "array":
        return {**schema, "items": _closed(schema["items"])}
    return schema
