"""Rows of every config, their explicit Arrow schemas, and the content hash that identifies them.

A hash covers canonical JSON of the rows, not parquet bytes: those hold the writer's version (research/hf.md, 1.2).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from helmbench_hf.content.load import TAXONOMY, Benchmark
from helmbench_hf.matrix.expand import perturbations
from helmbench_hf.matrix.render import message_turns, user_memory
from helmbench_hf.records import Case, Grading

Row = dict[str, Any]
CASE_CONFIGS = ("core", "full", "smoke", "taxonomy")
COMPONENT_CONFIGS = (
    "scenarios",
    "conditions",
    "user_contexts",
    "perturbations",
    "criteria",
    "helplines",
    "crisis_taxonomy",
    "calibration",
)
SPLIT_CONFIGS = (*CASE_CONFIGS, "perturbations", "crisis_taxonomy")
"""Configs that have the splits `test` and `heldout`; the others have `test` alone."""
_ARROW = {
    "int": pa.int32(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "str": pa.string(),
    "list": pa.list_(pa.string()),
}
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
_EMPTY = {"control_present": "bool", "blind_agree": "int"}
"""Types of columns that are no text and may hold nothing."""
_COLUMNS = tuple(field.name for field in dataclasses.fields(Case))
GRADINGS = 1024
"""Gradings that are kept as they were read: `full` has less than half as many."""
_COMMON = ("license", "canary", "version")


def content_sha256(rows: Iterable[Row]) -> str:
    """SHA-256 over the rows as canonical JSON lines, in order."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(canonical_line(row))
    return digest.hexdigest()


def canonical_line(row: Row) -> bytes:
    """A row as a line of canonical JSON."""
    return _CANONICAL.encode(row).encode() + b"\n"


def case_row(case: Case, benchmark: Benchmark) -> Row:
    """A case as a flat row: every factor its own column, `grading` as JSON text."""
    row: Row = {field.name: getattr(case, field.name) for field in dataclasses.fields(case)}
    row |= {"turns": list(case.turns), "trust_dimensions": list(case.trust_dimensions)}
    row["grading"] = json.dumps(dataclasses.asdict(case.grading), ensure_ascii=False)
    return row | _identity(benchmark)


def case_of(row: Row, shared: dict[Any, Any] | None = None) -> Case:
    """The case that a row holds; ValueError where a column is missing.

    `shared` lends the texts of earlier cases to later ones and grows: prompts and messages of many cases are the same few.
    Without it nothing is kept but some gradings.
    """
    if missing := [name for name in _COLUMNS if name not in row]:
        raise ValueError(f"the row lacks the columns {', '.join(missing)}")
    values: Row = {name: tuple(row[name]) if name in ("turns", "trust_dimensions") else row[name] for name in _COLUMNS}
    grading = _grading(values.pop("grading"))
    if shared is not None:
        values = {name: shared.setdefault(_sort(value), value) for name, value in values.items()}
    return Case(**values, grading=grading)


def _sort(value: Any) -> Any:
    """What a value is known by: 1, 1.0 and True are equal and are not the same."""
    return value if isinstance(value, str | tuple) else (type(value), value)


@lru_cache(GRADINGS)
def _grading(text: str) -> Grading:
    values: Row = json.loads(text)
    frozen: Row = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    frozen["task_key"] = tuple((path, expected) for path, expected in values["task_key"])
    return Grading(**frozen)


def component_rows(benchmark: Benchmark, config: str) -> list[Row]:
    """The rows of a component table."""
    makers = {
        "scenarios": _scenarios,
        "conditions": _conditions,
        "user_contexts": _user_contexts,
        "perturbations": _perturbations,
        "criteria": _criteria,
        "helplines": _helplines,
        "crisis_taxonomy": _crisis_taxonomy,
        "calibration": _calibration,
    }
    return [row | _identity(benchmark) for row in makers[config](benchmark)]


def table_with(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """The rows as an Arrow table of that schema."""
    return pa.Table.from_pylist(list(rows), schema=schema)


def schema_of(rows: Sequence[Row]) -> pa.Schema:
    """One type per column, from its values: str, int, float, bool or list of str; all-null columns are strings.

    Columns have one type in every design and every build, also where one is left empty.
    """
    kinds = {}
    for name in rows[0]:
        empty = {_EMPTY.get(name, "str")}
        found = {type(row[name]).__name__ for row in rows if row[name] is not None} or empty
        if len(found) > 1:
            raise TypeError(f"the column {name} mixes {', '.join(sorted(found))}")
        kinds[name] = _ARROW[found.pop()]
    return pa.schema(list(kinds.items()))


def _identity(benchmark: Benchmark) -> Row:
    return dict(zip(_COMMON, (benchmark.file.license, benchmark.file.canary, benchmark.file.version), strict=True))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _scenarios(benchmark: Benchmark) -> list[Row]:
    titles = {b.code: (p.title, b.title, b.weight, b.critical) for p in benchmark.file.pillars for b in p.behaviors}
    rows = []
    for loaded in benchmark.scenarios:
        scenario = loaded.scenario
        pillar, behavior, weight, critical = titles[loaded.behavior]
        rows.append(
            {
                "code": scenario.code,
                "slug": scenario.slug,
                "title": scenario.title,
                "pillar": pillar,
                "behavior": loaded.behavior,
                "behavior_title": behavior,
                "behavior_weight": weight,
                "critical": critical,
                "mode": scenario.mode,
                "tier": scenario.tier,
                "category": scenario.category,
                "extra_category": scenario.extra_category,
                "summary": scenario.summary,
                "why_hard": scenario.why_hard,
                "job": scenario.job,
                "tags": _json([tag.model_dump() for tag in scenario.tags]),
                "criteria": _json(scenario.criteria.model_dump()),
                "contrast": _json(scenario.contrast.model_dump()) if scenario.contrast else None,
                "conditions": list(scenario.conditions),
                "users": list(scenario.users),
                "trust_dimensions": list(scenario.trust_dimensions),
                "review": scenario.review,
            }
        )
    return rows


def _conditions(benchmark: Benchmark) -> list[Row]:
    return [item.model_dump() for _, item in sorted(benchmark.conditions.items(), key=lambda pair: int(pair[0][1:]))]


def _user_contexts(benchmark: Benchmark) -> list[Row]:
    listed = {user for loaded in benchmark.scenarios for user in loaded.scenario.users}
    own = {item.user for loaded in benchmark.scenarios for item in (*loaded.pairs, *loaded.messages.singles) if item.user}
    used = sorted(listed | own, key=lambda user: int(user[1:]))
    rows = []
    for user in used:
        country, notes = user_memory(benchmark, user)
        number = int(user[1:])
        person = benchmark.people.get(number // 10) if 0 < number < 800 else None
        rows.append(
            {
                "code": user,
                "person": person.slug if person else None,
                "age": person.age if person else None,
                "country": country,
                "level": number % 10 if person else 0,
                "track": person.track if person else None,
                "groups": list(person.groups) if person else [],
                "notes": notes,
                "review": person.review if person else "unreviewed",
            }
        )
    return rows


def _perturbations(benchmark: Benchmark) -> list[Row]:
    from helmbench_hf.matrix.draws import splits
    from helmbench_hf.matrix.review import agreement

    blind = {(row["scenario"], row["perturbation"]): row for row in agreement(benchmark)}
    nobody: Row = {"readers": 0, "agree": None, "reads": [], "unreal": None}
    rows = []
    for loaded in benchmark.scenarios:
        if loaded.source == TAXONOMY:
            continue
        held = splits(benchmark.file.seed, loaded)
        for pt in perturbations(loaded):
            read = blind.get((loaded.scenario.code, f"PT{pt.number}"), nobody)
            rows.append(
                {
                    "scenario": loaded.scenario.code,
                    "perturbation": f"PT{pt.number}",
                    "pair": pt.pair,
                    "member": pt.member,
                    "meaning": f"{loaded.source}/{pt.common.meaning}",
                    "severity": pt.message.severity,
                    "register": pt.common.speech,
                    "cue": pt.common.cue if pt.member in {"crisis", "single"} else "none",
                    "control_present": pt.common.control,
                    "turns": list(message_turns(pt.message)),
                    "key": pt.message.key,
                    "task_key": _json(pt.message.task_key),
                    "contains_method_query": pt.common.contains_method_query,
                    "sources": list(pt.common.sources or loaded.scenario.sources),
                    "review": pt.common.review,
                    "blind_readers": read["readers"],
                    "blind_agree": read["agree"] if read["readers"] else None,
                    "blind_kinds": sorted({each["kind"] for each in read["reads"]}),
                    "looks_machine_written": read["unreal"],
                    "split": held[pt.common.meaning],
                }
            )
    return rows


def _crisis_taxonomy(benchmark: Benchmark) -> list[Row]:
    """Every single message with its category: those of the matrix and those written to fill the categories."""
    from helmbench_hf.matrix.draws import all_splits

    loaded = next((each for each in benchmark.scenarios if each.source == TAXONOMY), None)
    if loaded is None:
        return []
    held = all_splits(benchmark, loaded)
    return [
        {
            "number": single.number,
            "text": single.message.text,
            "category": single.crisis_category,
            "extra_category": single.extra_category,
            "severity": single.message.severity,
            "cue": "none" if single.crisis_category == "no_crisis" and not single.extra_category else single.cue,
            "register": single.speech,
            "meaning": single.meaning,
            "origin": "taxonomy" if single.meaning.startswith(f"{TAXONOMY}/") else "matrix",
            "contains_method_query": single.contains_method_query,
            "sources": list(single.sources),
            "review": single.review,
            "split": held[single.meaning],
        }
        for single in loaded.messages.singles
    ]


def _calibration(benchmark: Benchmark) -> list[Row]:
    """One row per reply and criterion, with the verdict that is right and what that rests on."""
    from helmbench_hf.matrix.calibration import agreement, labels

    found = labels(benchmark)
    return [
        {
            "reply_code": label.reply.code,
            "criterion": label.criterion,
            "gold": label.gold,
            "basis": label.basis,
            "readers": agreed.readers,
            "readers_agree": agreed.agree,
            "reader_kinds": list(agreed.kinds),
            "case": label.case.code,
            "turn": label.reply.turn,
            "earlier": list(label.earlier),
            "reply": label.reply.reply,
            "source": label.reply.source,
            "kind": label.reply.kind,
            "edits": label.reply.edits,
        }
        for label, agreed in zip(found, agreement(benchmark, found), strict=True)
    ]


def _criteria(benchmark: Benchmark) -> list[Row]:
    rows = []
    for _, criterion in sorted(benchmark.criteria.items()):
        row = criterion.model_dump()
        rows.append(row | {"levels": _json(row["levels"]) if row["levels"] else None})
    return rows


def _helplines(benchmark: Benchmark) -> list[Row]:
    rows = []
    for _, country in sorted(benchmark.countries.items()):
        for service in country.services:
            row = service.model_dump() | {"country": country.country, "match": country.match}
            row["channels"] = _json(row["channels"])
            row["checked"] = str(service.checked)
            row["retired_on"] = str(service.retired_on) if service.retired_on else None
            rows.append(row)
    return rows
