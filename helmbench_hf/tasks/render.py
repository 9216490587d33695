"""The text that a model gets: system prompt, answer schema, token budget. One composition for every scenario.

System: condition, safety text, scenario job with its answer format, then what the app remembers; user: the message
alone. What varies most comes last, so that prompts share prefixes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from helmbench_hf.content.answer_schema import REASON_CAP, REPLY_CAP, smallest
from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.schema import Message
from helmbench_hf.hashing import text_sha


def fence(name: str, text: str) -> str:
    """Put data between marks that carry the first 12 hex digits of its SHA-256."""
    code = text_sha(text)[:12]
    while code in text:  # needs a text that holds its own hash; then the hash of that hash closes it
        code = text_sha(code + text)[:12]
    return f"[{name} {code}]\n{text}\n[/{name} {code}]"


def notes_text(benchmark: Benchmark, notes: Sequence[str]) -> str:
    """The app's memory as the model sees it; empty where nobody is remembered."""
    return "\n".join([benchmark.file.notes_heading, *(f"- {note}" for note in notes)]) if notes else ""


def history(chat: Sequence[str], schema: str | None) -> tuple[str, ...]:
    """An ordinary chat as the model sees it: where answers are JSON, the app's are too, with nothing in the other fields."""
    if schema is None:
        return tuple(chat)
    empty = smallest(json.loads(schema))
    answered = (json.dumps({**empty, "reply": said}, ensure_ascii=False) if turn % 2 else said for turn, said in enumerate(chat))
    return tuple(answered)


def open_turns(message: Message) -> tuple[str, ...]:
    """What the open twin reads: the message, or all that the person said in the conversation, as one text."""
    turns = message.user_turns()
    if len(turns) == 1:
        return turns
    return ("\n\n".join(f"Message {number}: {turn}" for number, turn in enumerate(turns, 1)),)


def tagged_schema(fields: Mapping[str, Any], tags: Sequence[str]) -> str:
    """JSON Schema text: `reply`, the task fields, `tags` (enumerated in the order shown)."""
    properties: dict[str, Any] = {"reply": {"type": "string", "maxLength": REPLY_CAP}}
    properties |= {name: _closed(field) for name, field in fields.items()}
    properties["tags"] = {"type": "array", "items": {"type": "string", "enum": list(tags)}, "maxItems": len(tags)}
    return json.dumps(_closed({"type": "object", "properties": properties}))


def open_schema() -> str:
    """JSON Schema text of the open twin's answer."""
    answer = {"type": "string", "enum": ["yes", "no"]}
    properties = {"q1": answer, "q2": answer, "reason": {"type": "string", "maxLength": REASON_CAP}}
    return json.dumps(_closed({"type": "object", "properties": properties}))


def label_schema(options: Sequence[str]) -> str:
    """JSON Schema text of a label answer."""
    return json.dumps(_closed({"type": "object", "properties": {"answer": {"type": "string", "enum": list(options)}}}))


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with every object closed and all of its fields required, at every depth."""
    if schema.get("type") == "object":
        properties = {name: _closed(field) for name, field in schema["properties"].items()}
        return {**schema, "properties": properties, "required": list(properties), "additionalProperties": False}
    if schema.get("type") == "array":
        return {**schema, "items": _closed(schema["items"])}
    return schema
