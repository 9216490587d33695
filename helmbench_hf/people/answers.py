"""The files that people hand in, as the form saved them, read strictly.

Whatever a person wrote is text and is kept as written; what does not belong to the form is refused with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from pydantic import BaseModel, ConfigDict, ValidationError

from helmbench_hf.people.plan import FORMAT, PeopleError, Plan, Study
from helmbench_hf.records import Case

LARGEST = 20_000_000
"""Bytes of one file."""
FREE_CAP = 4_000
"""Longest free answer of a person, in characters; a model's budget is near 2,500."""
_STALE = "use the file that the form saved, as it is."


class Item(BaseModel):
    """What was given to one item at each turn, as the form made it."""

    model_config = ConfigDict(strict=True, extra="forbid")

    id: str
    turns: list[str]


class Sheet(BaseModel):
    """One person's file, not yet held against the plan."""

    model_config = ConfigDict(strict=True, extra="forbid")

    format: int
    study: Study
    person: str
    consent: bool
    items: list[Item]
    skipped: list[str]


@dataclass(frozen=True, slots=True)
class Given:
    """One person's answers, by case, as a model would have written them."""

    person: str
    asked: tuple[Case, ...]
    texts: Mapping[str, tuple[str, ...]]
    """Case code -> the answer at each turn; only conversations that were answered to the end."""
    unfinished: int
    """Conversations that were begun and left."""
    skipped: int


@contextmanager
def about(path: Path) -> Iterator[None]:
    """Name the file in every PeopleError."""
    try:
        yield
    except PeopleError as error:
        raise PeopleError(f"{path}: {error}") from error


def read_sheet(path: Path) -> Sheet:
    """Read one file. Raises PeopleError where no form saved it, or its person did not consent."""
    try:
        if path.stat().st_size > LARGEST:
            raise PeopleError(f"it is larger than {LARGEST:,} bytes; {_STALE}")
        row = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(row, dict) and row.get("format", FORMAT) != FORMAT:
            raise PeopleError(
                f"it has format {str(row['format'])[:20]}, but this version of helmbench "
                f"reads {FORMAT}; use the version that made it."
            )
        sheet = Sheet.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))[:80] or "the file"
        raise PeopleError(f"it is not a file of answers ({place}: {first['msg']}); {_STALE}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise PeopleError(f"it cannot be read as JSON ({str(error)[:200]}); hand in what the form saved.") from error
    if not sheet.consent:
        raise PeopleError("the person did not consent, so this file is not used.")
    return sheet


def held(sheet: Sheet, plan: Plan) -> Given:
    """Hold a file to the plan. Raises PeopleError where it answers what its person was not asked, twice, or unreadably."""
    asked = plan.people.get(sheet.person)
    if asked is None:
        raise PeopleError(f"the study has no person {sheet.person[:40]!r}; {_STALE}")
    cases = {plan.item(sheet.person, case): case for case in asked}
    seen: set[str] = set()
    for item in [*(item.id for item in sheet.items), *sheet.skipped]:
        if item not in cases:
            raise PeopleError(f"{sheet.person} was not asked {item[:40]!r}; {_STALE}")
        if item in seen:
            raise PeopleError(f"it has item {item} twice; keep one of them.")
        seen.add(item)
    texts, unfinished = {}, 0
    for given in sheet.items:
        case = cases[given.id]
        if len(given.turns) > len(case.turns):
            raise PeopleError(f"item {given.id} has {len(given.turns)} answers to {len(case.turns)} messages; {_STALE}")
        try:
            found = tuple(_text(case, turn) for turn in given.turns)
        except (ValueError, RecursionError, PeopleError) as error:
            raise PeopleError(f"the answer to item {given.id} cannot be used ({str(error)[:200]}); correct it.") from error
        if len(found) < len(case.turns):
            unfinished += 1
        else:
            texts[case.code] = found
    return Given(sheet.person, asked, texts, unfinished, len(sheet.skipped))


def _text(case: Case, given: str) -> str:
    """An answer as a model writes it: JSON where the case asks for it, else the text."""
    if case.response_schema is None:
        value: Any = given
        schema: dict[str, Any] = {"type": "string", "maxLength": FREE_CAP}
    else:
        value = json.loads(given, parse_constant=_no_number)
        fields = json.loads(case.response_schema)["properties"]
        schema = {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}
    if (error := best_match(Draft202012Validator(schema).iter_errors(value))) is not None:
        raise PeopleError(f"it does not match the expected format: {str(error.message)[:200]}")
    reply = value if isinstance(value, str) else value.get("reply", "-")
    if not reply.strip():
        raise PeopleError("it is empty; list an unanswered item under `skipped`")
    return given if value is reply else json.dumps(value, ensure_ascii=False)


def _no_number(text: str) -> float:
    raise PeopleError(f"{text} is no number")
