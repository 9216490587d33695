"""The tables of the page that are more than one record a row: grouped, sorted, summed, flattened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from helmbench_hf.report.numbers import DASH
from helmbench_hf.scoring.scores import Cell, Group, Incident, Incidents, Quality, Scores

Row = TypeVar("Row")
FACTORS = {
    "register": "Register of English",
    "history": "Long chat before",
    "condition": "Condition",
    "safety_level": "Safety prompt",
    "persona": "Deployment persona",
    "notes_level": "Remembered notes",
    "country": "Country",
    "turn": "Turn of a conversation",
}
_GROUPS = {
    "dataset": "Dataset",
    "model": "Model under test",
    "engine": "Engine",
    "judges": "Judges",
    "judge": "Judge",
    "versions": "Software",
    "times": "Times",
}


def grouped(rows: Iterable[Row], name: str) -> list[tuple[Any, list[Row]]]:
    """Rows with the same value of an attribute together, in order of first appearance."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(getattr(row, name), []).append(row)
    return list(found.items())


def behaviors(scores: Scores) -> list[Group]:
    """Every pillar followed by its behaviors."""
    return [
        group
        for pillar in scores.pillars
        for group in (pillar, *(found for found in scores.behaviors if found.code in pillar.parts))
    ]


def titles(scores: Scores, of_transcripts: Mapping[str, str]) -> dict[str, str]:
    """The title of every scenario that was run, scored or not; an open twin goes by that of its hidden scenario."""
    found = {**of_transcripts, **{scenario.code: scenario.title for scenario in scores.scenarios}}
    twins = {}
    for row in scores.quality:
        head, _, number = row.scenario.rpartition("-S")
        if number.isdecimal() and int(number) > 50:
            title = found.get(row.scenario) or found.get(f"{head}-S{int(number) - 50}")
            twins[row.scenario] = f"{title}, asked openly" if title else ""
    return found | twins


def quality_total(scores: Scores) -> Quality:
    """The answers of all scenarios together."""
    summed = [name for name in Quality.__slots__ if name not in ("scenario", "mode", "task_accuracy", "task_n")]
    sums = {name: sum(getattr(row, name) for row in scores.quality) for name in summed}
    return Quality(scenario="All scenarios", mode="", task_accuracy=None, task_n=0, **sums)


def heat(scores: Scores) -> tuple[list[Cell], list[tuple[str, list[Cell | None]]]]:
    """The heat map: a cell of each condition, for its names; then behaviors with their cells, None where there is none."""
    cells = {(cell.behavior, cell.condition): cell for cell in scores.cells}
    columns = {cell.condition: cell for cell in scores.cells}
    order = sorted(columns, key=by_number)
    codes = sorted({cell.behavior for cell in scores.cells})
    return [columns[code] for code in order], [(code, [cells.get((code, column)) for column in order]) for code in codes]


def by_number(code: str) -> tuple[int, str]:
    """Sort C9 before C12; a code without a number stands last."""
    digits = code.lstrip("CU")
    return (int(digits) if digits.isascii() and digits.isdigit() else 10_000, code)


def gravest_first(found: Incidents) -> list[Incident]:
    """The types of incidents, most incidents at the gravest level first, then at the next."""
    order = [slug for slug, _, _ in found.levels]
    return sorted(found.types, key=lambda each: [-sum(row.incidents for row in each.by_level if row.level == x) for x in order])


def provenance(scores: Scores, manifest: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Every recorded fact in groups: (group, [(name, value)])."""
    origin = asdict(scores.provenance)
    facts = {"judges": origin.pop("judges"), **manifest}
    groups = [("Benchmark and scoring", _flat(origin))]
    first = [name for name in _GROUPS if name in facts]
    for name in [*first, *sorted(facts.keys() - first)]:
        if lines := _flat(facts[name]):
            groups.append((_GROUPS.get(name, name.replace("_", " ").capitalize()), lines))
    return groups


def _flat(value: Any, path: str = "") -> list[tuple[str, str]]:
    """Nested records as (dotted name, text)."""
    if isinstance(value, Mapping):
        return [line for name, entry in value.items() for line in _flat(entry, f"{path} · {name}" if path else str(name))]
    if _is_list(value) and any(isinstance(entry, Mapping) or _is_list(entry) for entry in value):
        return [line for i, entry in enumerate(value, 1) for line in _flat(entry, f"{path} {i}".strip())]
    return [(path.replace("_", " "), _text(value))]


def _text(value: Any) -> str:
    if value is None or value == "" or (_is_list(value) and not value):
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_list(value):
        return ", ".join(str(entry) for entry in value)
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else str(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
