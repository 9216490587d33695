"""The files that people hand in, read strictly: what a form saved, or its table filled in.

Whatever a person wrote is text and is kept as written; what does not belong to the form is refused with the reason.
"""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helmbench_hf.people.fields import FREE, fields_of, misfit, written
from helmbench_hf.people.forms import COLUMNS, CONSENT
from helmbench_hf.people.plan import FORMAT, PeopleError, Plan, Study
from helmbench_hf.records import Case

LARGEST = 20_000_000
"""Bytes of one file."""
_FILE_KEYS = {"format", "study", "person", "consent", "items", "skipped"}
_STALE = "use the file that the form saved, as it is."


@dataclass(frozen=True, slots=True)
class Sheet:
    """One person's file, not yet held against the plan."""

    path: Path
    study: Study
    person: str
    items: Sequence[tuple[str, Sequence[Any]]]
    """Item and what was given at each turn: the text that the form made, or from a table the cells of each field by name."""
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """One person's whole answers, by case, as a model would have written them."""

    person: str
    asked: tuple[Case, ...]
    texts: Mapping[str, tuple[str, ...]]
    """Case code -> the answer at each turn; only conversations that were answered to the end."""
    unfinished: int
    """Conversations that were begun and left."""
    skipped: int


def read_sheet(path: Path) -> Sheet:
    """Read one file, `.json` or `.csv`. Raises PeopleError where it is neither, or its person did not consent."""
    try:
        if path.stat().st_size > LARGEST:
            raise PeopleError(f"it is larger than {LARGEST:,} bytes; {_STALE}")
        text = path.read_text(encoding="utf-8-sig")
        row = _table(text) if path.suffix.lower() == ".csv" else json.loads(text)
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        raise PeopleError(f"{path} cannot be read as JSON or CSV ({str(error)[:200]}); hand in what the form saved.") from error
    except PeopleError as error:
        raise PeopleError(f"{path}: {error}") from error
    try:
        return _sheet(path, row)
    except PeopleError as error:
        raise PeopleError(f"{path}: {error}") from error


def _sheet(path: Path, row: object) -> Sheet:
    if not isinstance(row, dict) or set(row) != _FILE_KEYS:
        raise PeopleError(f"it is no file of answers; {_STALE}")
    if row["format"] != FORMAT:
        raise PeopleError(
            f"it has format {str(row['format'])[:20]}, this helmbench reads {FORMAT}; use the helmbench that made it."
        )
    study, items, skipped = Study.of(row["study"]), row["items"], row["skipped"]
    if row["consent"] is not True:
        raise PeopleError("its person did not consent, so it is not used.")
    sound = isinstance(items, list) and all(_is_item(each) for each in items) and isinstance(row["person"], str)
    if not sound or not isinstance(skipped, list) or not all(isinstance(each, str) for each in skipped):
        raise PeopleError(f"its items are not of the form that is saved; {_STALE}")
    return Sheet(path, study, row["person"], [(each["id"], each["turns"]) for each in items], tuple(skipped))


def _is_item(row: object) -> bool:
    if not isinstance(row, dict) or set(row) != {"id", "turns"} or not isinstance(row["id"], str):
        return False
    return isinstance(row["turns"], list) and all(isinstance(turn, str | dict) for turn in row["turns"])


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
        raise PeopleError(f"{sheet.path}: the study has no person {sheet.person[:40]!r}; {_STALE}")
    known = {plan.item(sheet.person, case): case for case in asked}
    seen: set[str] = set()
    for item in [*(item for item, _ in sheet.items), *sheet.skipped]:
        if item not in known:
            raise PeopleError(f"{sheet.path}: {sheet.person} was not asked {item[:40]!r}; {_STALE}")
        if item in seen:
            raise PeopleError(f"{sheet.path}: item {item} stands there twice; keep one of them.")
        seen.add(item)
    texts, unfinished = {}, 0
    for item, turns in sheet.items:
        case = known[item]
        if len(turns) > len(case.turns):
            raise PeopleError(f"{sheet.path}: item {item} has {len(turns)} answers to {len(case.turns)} messages; {_STALE}")
        found = tuple(_text(sheet.path, item, case, turn) for turn in turns)
        if len(found) < len(case.turns):
            unfinished += 1
        else:
            texts[case.code] = found
    return Given(sheet.person, asked, texts, unfinished, len(sheet.skipped))


def _text(path: Path, item: str, case: Case, given: str | Mapping[str, str]) -> str:
    """An answer as a model writes it: JSON where the case asks for it, else the text."""
    schemas = fields_of(case)
    try:
        if isinstance(given, str):
            value = {FREE: given} if case.response_schema is None else json.loads(given)
        elif set(given) != set(schemas):
            raise PeopleError(f"its fields are not {', '.join(schemas)}")
        else:
            value = {name: written(schema, given[name]) for name, schema in schemas.items()}
        why = misfit({"type": "object", "properties": schemas}, value)
    except (ValueError, RecursionError, PeopleError) as error:
        raise PeopleError(f"{path}: the answer to item {item} cannot be read ({str(error)[:200]}); correct it.") from error
    said = value.get(FREE if case.response_schema is None else "reply", "-") if why is None else "-"
    if not str(said).strip():
        why = "it is empty; an item that is not answered is skipped"
    if why is not None:
        raise PeopleError(f"{path}: the answer to item {item} does not fit ({why}); correct it.")
    return str(value[FREE]) if case.response_schema is None else json.dumps(value, ensure_ascii=False)
