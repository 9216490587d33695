"""The files that people hand in, read strictly: what a form saved, or its table filled in.

Whatever a person wrote is text and is kept as written; what does not belong to the form is refused with the reason.
"""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from helmbench_hf.people.fields import FREE, fields_of, misfit, written
from helmbench_hf.people.forms import COLUMNS, CONSENT
from helmbench_hf.people.plan import FORMAT, PeopleError, Plan, Study
from helmbench_hf.records import Case

LARGEST = 20_000_000
"""Bytes of one file."""
_STALE = "use the file that the form saved, as it is."


class Item(BaseModel):
    """What was given to one item at each turn: the text that the form made, or the cells of a table by field."""

    model_config = ConfigDict(strict=True, extra="forbid")

    id: str
    turns: list[str | dict[str, str]]


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
    """Read one file, `.json` or `.csv`. Raises PeopleError where it is neither, or its person did not consent."""
    try:
        if path.stat().st_size > LARGEST:
            raise PeopleError(f"it is larger than {LARGEST:,} bytes; {_STALE}")
        text = path.read_text(encoding="utf-8-sig")
        row = _table(text) if path.suffix.lower() == ".csv" else json.loads(text)
        if isinstance(row, dict) and row.get("format", FORMAT) != FORMAT:
            raise PeopleError(
                f"it has format {str(row['format'])[:20]}, this helmbench reads {FORMAT}; use the one that made it."
            )
        sheet = Sheet.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))[:80] or "the file"
        raise PeopleError(f"it is no file of answers ({place}: {first['msg']}); {_STALE}") from error
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        raise PeopleError(f"it cannot be read as JSON or CSV ({str(error)[:200]}); hand in what the form saved.") from error
    if not sheet.consent:
        raise PeopleError("its person did not consent, so it is not used.")
    return sheet


def _table(text: str) -> dict[str, Any]:
    """A filled-in table in the shape of a saved file; a turn is given as the cells of its fields."""
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    if not rows or any(set(row) != set(COLUMNS) or None in row.values() for row in rows) or rows[0]["item"] != CONSENT:
        raise PeopleError(f"its columns are not {', '.join(COLUMNS)} under a first row `{CONSENT}`; keep the table's shape.")
    head, body = rows[0], rows[1:]
    made = json.loads(head["job"])
    if not isinstance(made, dict):
        raise PeopleError(f"its first row does not name its study; {_STALE}")
    cells: dict[str, dict[str, dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for row in body:
        if row["field"] in cells[row["item"]][row["turn"]]:
            raise PeopleError(f"it has {row['field'][:40]} of item {row['item'][:20]} twice; keep one row.")
        cells[row["item"]][row["turn"]][row["field"]] = row["answer"]
    items, skipped = [], []
    for item, turns in cells.items():
        ordered = [turns[number] for number in map(str, range(1, len(turns) + 1)) if number in turns]
        if len(ordered) < len(turns):
            raise PeopleError(f"item {item[:20]} has turns of other numbers than 1 to {len(turns)}; keep the table's rows.")
        given = [turn for turn in ordered if any(cell.strip() for cell in turn.values())]
        if not given:
            skipped.append(item)
        elif given != ordered[: len(given)]:
            raise PeopleError(f"item {item[:20]} leaves out a message and answers a later one; answer in order.")
        else:
            items.append({"id": item, "turns": given})
    return {**made, "consent": head["answer"].strip().casefold() == "yes", "items": items, "skipped": skipped}


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


def _text(case: Case, given: str | Mapping[str, str]) -> str:
    """An answer as a model writes it: JSON where the case asks for it, else the text."""
    schemas, free = fields_of(case), case.response_schema is None
    if isinstance(given, str):
        value = {FREE: given} if free else json.loads(given, parse_constant=_no_number)
    elif set(given) != set(schemas):
        raise PeopleError(f"its fields are not {', '.join(schemas)}")
    else:
        value = {name: written(schema, given[name]) for name, schema in schemas.items()}
    if (why := misfit(case, value)) is not None:
        raise PeopleError(f"it does not fit: {why}")
    if not str(value.get(FREE if free else "reply", "-")).strip():
        raise PeopleError("it is empty; an item that is not answered is skipped")
    return str(value[FREE]) if free else json.dumps(value, ensure_ascii=False)


def _no_number(text: str) -> float:
    raise PeopleError(f"{text} is no number")
