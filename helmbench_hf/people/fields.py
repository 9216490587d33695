"""An answer's fields on paper: a JSON schema of the cases as lines of a table, and what was written there as JSON.

A list has one entry a line; the cells of a row are separated by bars, in the order of the schema.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

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
                number = int(text) if kind == "integer" or text.lstrip("-").isdecimal() else float(text)
            except ValueError:
                number = math.nan
            if not math.isfinite(number):
                raise PeopleError(f"{text[:40]!r} is not {how(schema)}")
            return number


def misfit(case: Case, value: Any) -> str | None:
    """Why a value does not fit the fields of a case; None where it fits."""
    properties = fields_of(case)
    schema = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    error = best_match(Draft202012Validator(schema).iter_errors(value))
    return None if error is None else str(error.message)[:200]
