"""An answer's fields on paper: a JSON schema of the cases as lines of a table, and what was written there as JSON.

A list stands one entry a line; a row's cells stand between bars, in the order of the schema.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from helmbench_hf.people.plan import PeopleError
from helmbench_hf.records import Case

Schema = Mapping[str, Any]
BAR = " | "
FREE = "answer"
"""The one field of a case that asks for free text."""
FREE_CAP = 4_000
"""Longest free answer of a person, in characters; a model's budget is near 2,500."""


def fields_of(case: Case) -> dict[str, Schema]:
    """The fields to be filled in, in their order."""
    if case.response_schema is None:
        return {FREE: {"type": "string", "maxLength": FREE_CAP}}
    found: dict[str, Schema] = json.loads(case.response_schema)["properties"]
    return found


def how(schema: Schema) -> str:
    """One line that says how a field is written in a table."""
    if "enum" in schema:
        return f"one of: {', '.join(schema['enum'])}"
    match schema["type"]:
        case "array" if "enum" in schema["items"]:
            return f"any of these, one a line, or empty: {', '.join(schema['items']['enum'])}"
        case "array":
            return f"at most {schema['maxItems']} lines, each: {how(schema['items'])}"
        case "object":
            return BAR.join(schema["properties"])
        case "string":
            return f"text, at most {schema['maxLength']} characters"
        case kind:
            return "a whole number" if kind == "integer" else "a number"


def written(schema: Schema, text: str) -> Any:
    """The value that a cell holds. Raises PeopleError where it holds none."""
    text = text.strip()
    if "enum" in schema:
        found = next((each for each in schema["enum"] if each.casefold() == text.casefold()), None)
        if found is None:
            raise PeopleError(f"{text[:40]!r} is not {how(schema)}")
        return found
    match schema["type"]:
        case "array":
            return [written(schema["items"], line) for line in text.splitlines() if line.strip()]
        case "object":
            cells = text.split("|", len(schema["properties"]) - 1)
            if len(cells) < len(schema["properties"]):
                raise PeopleError(f"{text[:40]!r} is not of the form {how(schema)}")
            return {name: written(each, cell) for (name, each), cell in zip(schema["properties"].items(), cells, strict=True)}
        case "string":
            return text
        case kind:
            try:
                return int(text) if kind == "integer" or text.lstrip("-").isdecimal() else float(text)
            except ValueError:
                raise PeopleError(f"{text[:40]!r} is not {how(schema)}") from None


def misfit(schema: Schema, value: Any, place: str = "the answer") -> str | None:
    """Why a value does not fit a schema of the cases; None where it fits."""
    if "enum" in schema:
        return None if value in schema["enum"] else f"{place} is not {how(schema)}"
    match schema["type"]:
        case "object":
            if not isinstance(value, dict) or set(value) != set(schema["properties"]):
                return f"{place} does not have exactly the fields {', '.join(schema['properties'])}"
            inner = [misfit(each, value[name], name) for name, each in schema["properties"].items()]
        case "array":
            if not isinstance(value, list) or len(value) > schema["maxItems"]:
                return f"{place} is not a list of at most {schema['maxItems']} entries"
            inner = [misfit(schema["items"], each, place) for each in value]
        case "string":
            fits = isinstance(value, str) and len(value) <= schema["maxLength"]
            return None if fits else f"{place} is not {how(schema)}"
        case kind:
            known = (int,) if kind == "integer" else (int, float)
            fits = isinstance(value, known) and not isinstance(value, bool) and math.isfinite(value)
            fits = fits and schema.get("minimum", value) <= value <= schema.get("maximum", value)
            return None if fits else f"{place} is not {how(schema)} within its bounds"
    return next((why for why in inner if why), None)
