"""Rows of every config, their Arrow schemas, and the content hash that identifies them.

A hash covers canonical JSON of the rows, not parquet bytes, because those hold the version of the program that wrote them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from helmbench_hf.content.load import TAXONOMY, Benchmark
from helmbench_hf.dataset import calibration, review
from helmbench_hf.dataset.human_review import UNREVIEWED, column
from helmbench_hf.records import Beat, Case, Grading, Parts, Route, Step
from helmbench_hf.tasks.draws import all_splits
from helmbench_hf.tasks.expand import perturbations

Row = dict[str, Any]
Tables = dict[str, dict[str, list[Row]]]
"""Rows by config and split."""
CASE_CONFIGS = ("core", "full", "smoke", "taxonomy", "long")
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
_ARROW = {"int": pa.int32(), "float": pa.float64(), "bool": pa.bool_(), "str": pa.string(), "list": pa.list_(pa.string())}
_EMPTY = {"control_present": "bool"} | dict.fromkeys(("concern", "realism", "clarity", "called_a_person"), "float")
"""Types of the columns that are no text and may hold nothing."""
DECODED = 1024
"""Gradings and parts that are kept as they were read: `full` has fewer different ones."""
_CASE_COLUMNS = tuple(field.name for field in dataclasses.fields(Case))


def content_sha256(rows: Iterable[Row]) -> str:
    """SHA-256 over the rows as canonical JSON lines, in order."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(canonical_line(row))
    return digest.hexdigest()


def canonical_line(row: Row) -> bytes:
    """A row as a line of canonical JSON."""
    return _CANONICAL.encode(row).encode() + b"\n"


def schema_of(rows: Sequence[Row]) -> pa.Schema:
    """One type per column, from its values: str, int, float, bool or list of str.

    A column has the same type in every design and every build, also where nothing stands in it.
    """
    kinds = {}
    for name in rows[0]:
        found = {type(row[name]).__name__ for row in rows if row[name] is not None} or {_EMPTY.get(name, "str")}
        if len(found) > 1:
            raise TypeError(f"the column {name} mixes {', '.join(sorted(found))}")
        kinds[name] = _ARROW[found.pop()]
    return pa.schema(list(kinds.items()))


def column_types(schema: pa.Schema) -> dict[str, str]:
    """The types of the columns as the manifest names them."""
    return {field.name: str(field.type) for field in schema}


def case_row(case: Case, benchmark: Benchmark) -> Row:
    """A case as a flat row: every factor its own column, `grading` and `parts` as JSON text. `case_of` reads it back."""
    row = {name: _column(getattr(case, name)) for name in _CASE_COLUMNS}
    return row | _origin(benchmark)


def _column(value: Any) -> Any:
    """A field as a column: a tuple of texts is a list, a record is JSON text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _json(dataclasses.asdict(value))
    return list(value) if isinstance(value, tuple) else value


def case_of(row: Row) -> Case:
    """The case that a row holds. Raises ValueError where a column is missing.

    Equal texts are stored once, because the prompts and messages of many cases are the same few.
    """
    if missing := [name for name in _CASE_COLUMNS if name not in row]:
        raise ValueError(f"the row lacks the columns {', '.join(missing)}")
    values = {name: _shared(row[name]) for name in _CASE_COLUMNS if name not in ("grading", "parts", "route")}
    return Case(**values, grading=_grading(row["grading"]), parts=_parts(row["parts"]), route=_route(row["route"]))


def _shared(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(sys.intern, value))
    return sys.intern(value) if isinstance(value, str) else value


@lru_cache(DECODED)
def _grading(text: str) -> Grading:
    values: Row = json.loads(text)
    frozen: Row = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    frozen["task_key"] = tuple((path, expected) for path, expected in values["task_key"])
    frozen["by_turn"] = tuple((turn, tuple(codes)) for turn, codes in values["by_turn"])
    return Grading(**frozen)


@lru_cache(DECODED)
def _parts(text: str) -> Parts:
    values: Row = json.loads(text)
    return Parts(**{**values, "tags": tuple((name, definition) for name, definition in values["tags"])})


@lru_cache(DECODED)
def _route(text: str) -> Route:
    values: Row = json.loads(text)
    return Route(tuple(map(_beat, values.pop("beats"))), **values)


def _beat(values: Row) -> Beat:
    steps = tuple(
        (act, Step(step["trust"], tuple((least, slug) for least, slug in step["to"]))) for act, step in values.pop("steps")
    )
    return Beat(**values, steps=steps)


def by_split(config: str, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of a config by split (`test`, then `heldout`), in their order; components have `test` alone."""
    if config not in SPLIT_CONFIGS:
        return {"test": list(rows)}
    found = {split: [row for row in rows if row["split"] == split] for split in ("test", "heldout")}
    return {split: items for split, items in found.items() if items}


def design_rows(design: str, cases: Iterable[Case], benchmark: Benchmark) -> list[Row]:
    """The rows of a design in the order in which they are hashed."""
    splits = by_split(design, [case_row(case, benchmark) for case in cases])
    return [row for items in splits.values() for row in items]


def component_rows(benchmark: Benchmark, config: str) -> list[Row]:
    """The rows of a component table."""
    return [row | _origin(benchmark) for row in _COMPONENTS[config](benchmark)]


def _origin(benchmark: Benchmark) -> Row:
    """The columns at the end of every row."""
    return _fields(benchmark.file, "license", "canary", "version")


def _fields(record: object, *names: str) -> Row:
    return {name: _column(getattr(record, name)) for name in names}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _scenarios(benchmark: Benchmark) -> Iterator[Row]:
    reviewed = column(benchmark)
    for loaded in benchmark.scenarios:
        scenario = loaded.scenario
        pillar, behavior = benchmark.file.behaviors[loaded.behavior]
        yield {
            **_fields(scenario, "code", "slug", "title"),
            "pillar": pillar.title,
            "behavior": behavior.code,
            "behavior_title": behavior.title,
            "behavior_weight": behavior.weight,
            "critical": behavior.critical,
            **_fields(scenario, "mode", "tier", "category", "extra_category", "summary", "why_hard", "job"),
            "tags": _json([tag.model_dump() for tag in scenario.tags]),
            "criteria": _json(scenario.criteria.model_dump()),
            "contrast": _json(scenario.contrast.model_dump()) if scenario.contrast else None,
            **_fields(scenario, "conditions", "users", "trust_dimensions"),
            "review": reviewed.get(scenario.code, UNREVIEWED),
        }


def _conditions(benchmark: Benchmark) -> Iterator[Row]:
    reviewed = column(benchmark)
    for _, condition in sorted(benchmark.conditions.items(), key=lambda pair: int(pair[0][1:])):
        yield condition.model_dump() | {"review": reviewed.get(condition.code, UNREVIEWED)}


def _user_contexts(benchmark: Benchmark) -> Iterator[Row]:
    reviewed = column(benchmark)
    listed = {user for loaded in benchmark.scenarios for user in loaded.scenario.users}
    fixed = {item.user for loaded in benchmark.scenarios for item in (*loaded.pairs, *loaded.messages.singles) if item.user}
    for user in sorted(listed | fixed, key=lambda user: int(user[1:])):
        country, notes = benchmark.user_memory(user)
        number = int(user[1:])
        person = benchmark.people.get(number // 10)  # stubs and visitors from a country are no people
        yield {
            "code": user,
            "person": person.slug if person else None,
            "age": person.age if person else None,
            "country": country,
            "level": number % 10 if person else 0,
            "track": person.track if person else None,
            "groups": person.groups if person else [],
            "notes": notes,
            "review": reviewed.get(f"people/{person.slug}", UNREVIEWED) if person else UNREVIEWED,
        }


def _perturbations(benchmark: Benchmark) -> Iterator[Row]:
    reviewed = column(benchmark)
    blind = {(found.item.scenario, found.item.perturbation): found for found in review.agreement(benchmark)}
    for loaded in benchmark.scenarios:
        if loaded.source == TAXONOMY:
            continue
        held = all_splits(benchmark, loaded)
        for pt in perturbations(loaded):
            read = blind.get((loaded.scenario.code, f"PT{pt.number}"))
            yield {
                "scenario": loaded.scenario.code,
                "perturbation": f"PT{pt.number}",
                "pair": pt.pair,
                "member": pt.member,
                "meaning": f"{loaded.source}/{pt.common.meaning}",
                "severity": pt.message.severity,
                "register": pt.common.speech,
                "cue": pt.common.cue if pt.member in {"crisis", "single"} else "none",
                "control_present": pt.common.control,
                "turns": list(pt.message.user_turns()),
                "key": pt.message.key,
                "task_key": _json(pt.message.task_key),
                "contains_method_query": pt.common.contains_method_query,
                "sources": list(pt.common.sources or loaded.scenario.sources),
                "review": reviewed.get(f"{loaded.source}/{pt.common.meaning} {pt.common.speech}", UNREVIEWED),
                **_readings(read),
                "split": held[pt.common.meaning],
            }


def _readings(read: review.Agreement | None) -> Row:
    """What blind readers said of a message as it stands."""
    reads = read.reads if read else ()
    return {
        "readers": len({each.reader for each in reads}),
        "reader_kinds": sorted({each.kind for each in reads}),
        "concern": read.concern if read else None,
        "read_as": read.category if read else None,
        "realism": read.realism if read else None,
        "clarity": read.clarity if read else None,
        "called_a_person": read.person if read else None,
        "disputed": read.disputes() if read else [],
    }


def _crisis_taxonomy(benchmark: Benchmark) -> Iterator[Row]:
    """Every single message with its category: those of the matrix and those written to fill the categories."""
    reviewed = column(benchmark)
    # a second scenario of the taxonomy asks for replies to the same messages
    for loaded in [each for each in benchmark.scenarios if each.source == TAXONOMY][:1]:
        held = all_splits(benchmark, loaded)
        for single in loaded.messages.singles:
            yield {
                "number": single.number,
                "text": single.message.text,
                "category": single.crisis_category,
                "extra_category": single.extra_category,
                "severity": single.message.severity,
                "cue": "none" if single.crisis_category == "no_crisis" and not single.extra_category else single.cue,
                "register": single.speech,
                "meaning": single.meaning,
                "origin": "taxonomy" if single.meaning.startswith(f"{TAXONOMY}/") else "matrix",
                **_fields(single, "contains_method_query", "sources"),
                "review": reviewed.get(f"{single.meaning} {single.speech}", UNREVIEWED),
                "split": held[single.meaning],
            }


def _calibration(benchmark: Benchmark) -> Iterator[Row]:
    """One row per reply and criterion, with the verdict that is right and what that rests on."""
    found = calibration.labels(benchmark)
    for label, reads in zip(found, calibration.reads_of(benchmark, found), strict=True):
        yield {
            "reply_code": label.reply.code,
            **_fields(label, "criterion", "gold", "basis"),
            "readers": len(reads),
            "readers_agree": sum(read.verdict == label.gold for read in reads),
            "reader_kinds": sorted({read.kind for read in reads}),
            "case": label.case.code,
            "turn": label.reply.turn,
            "earlier": list(label.earlier),
            **_fields(label.reply, "reply", "source", "kind", "edits"),
        }


def _criteria(benchmark: Benchmark) -> Iterator[Row]:
    reviewed = column(benchmark)
    for _, criterion in sorted(benchmark.criteria.items()):
        row = criterion.model_dump() | {"review": reviewed.get(criterion.code, UNREVIEWED)}
        yield row | {"levels": _json(row["levels"]) if row["levels"] else None}


def _helplines(benchmark: Benchmark) -> Iterator[Row]:
    for _, country in sorted(benchmark.countries.items()):
        for service in country.services:
            row = service.model_dump() | {"country": country.country, "match": country.match}
            row |= {"channels": _json(row["channels"]), "checked": str(service.checked)}
            yield row | {"retired_on": str(service.retired_on) if service.retired_on else None}


_COMPONENTS: dict[str, Callable[[Benchmark], Iterator[Row]]] = {
    "scenarios": _scenarios,
    "conditions": _conditions,
    "user_contexts": _user_contexts,
    "perturbations": _perturbations,
    "criteria": _criteria,
    "helplines": _helplines,
    "crisis_taxonomy": _crisis_taxonomy,
    "calibration": _calibration,
}
COMPONENT_CONFIGS = tuple(_COMPONENTS)
SPLIT_CONFIGS = (*CASE_CONFIGS, "perturbations", "crisis_taxonomy")
"""Configs that have the splits `test` and `heldout`; the others have `test` alone."""
