"""The answer schemas that scenarios author: JSON Schema with a cap on every string and array, so that answers are capped too."""

from __future__ import annotations

import json
import math
from typing import Any

REPLY_CAP = 600
"""Longest `reply` of a hidden-tag answer, in characters."""
REASON_CAP = 160
"""Longest `reason` of an open twin's answer, in characters."""
CHARACTERS_PER_TOKEN = 2.5
"""Pessimistic: English has about 4, but names, dates and other scripts have fewer."""


def token_budget(schema: str) -> int:
    """Tokens for the longest answer that a schema (JSON text) allows, rounded up to 50."""
    characters = longest(json.loads(schema))
    return max(50, math.ceil(characters / CHARACTERS_PER_TOKEN / 50) * 50)


def longest(schema: dict[str, Any]) -> int:
    """Characters of the longest JSON text that a schema allows; ValueError if a string or an array has no cap."""
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


def plain_field(answer: dict[str, Any], path: str) -> dict[str, Any] | None:
    """Schema of the plain value at a path such as `rows.0.when` or `rows.length`; None if there is none."""
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


def can_hold(field: dict[str, Any], value: str) -> bool:
    """Whether a plain field can hold the value, which is written as text."""
    if "enum" in field:
        return value in map(str, field["enum"])
    kind = field.get("type")
    if kind == "integer":
        number = int(value) if value.removeprefix("-").isdecimal() else None
        return number is not None and field.get("minimum", number) <= number <= field.get("maximum", number)
    if kind == "boolean":
        return value in {"true", "false"}
    return kind != "string" or len(value) <= field.get("maxLength", len(value))


def smallest(schema: dict[str, Any]) -> Any:
    """The smallest value that a schema of the cases allows. Raises ValueError for a type that they do not use."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: smallest(field) for name, field in schema["properties"].items()}
        case "array":
            return [smallest(schema["items"]) for _ in range(schema.get("minItems", 0))]
        case "string":
            return "2026-01-01" if schema.get("format") == "date" else "-" * schema.get("minLength", 0)
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
    raise ValueError(f"the schema type {schema.get('type')!r} is not one that cases use")
