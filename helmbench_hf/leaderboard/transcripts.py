"""The transcripts of a run in a SQLite file of their own, so that a page reads the cases that it shows and no others.

What is stored has passed `report.transcripts`: texts are harmless as text, and every decision about what they mean is made.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helmbench_hf.leaderboard.query import FACTORS, Query
from helmbench_hf.report.model import Transcript
from helmbench_hf.report.text import visible
from helmbench_hf.report.transcripts import MEMBERS, OUTCOMES, payload
from helmbench_hf.run_folder import RunError

PAGE = 20
STATES = {
    "passed": "Passed: nothing failed, nothing is missing",
    "not-passed": "Failed: a tag, criterion or label failed, or the answer was unusable",
    "unscored": "Unscored: an answer or a verdict is missing",
}
"""Coarse outcomes. A case may have failed in one verdict and lack another, and then it is both of the last two."""
_MISSING = {"engine", "judge"}
_FAILED = {"missed", "alarm", "failed", "veto", "truncated", "unparseable", "empty", "withheld"}
_TABLE = """
CREATE TABLE cases (
  number INTEGER PRIMARY KEY, code TEXT, draw INTEGER, twin TEXT, title TEXT, chips TEXT, outcomes TEXT,
  scenario TEXT, behavior TEXT, condition TEXT, member TEXT
);
CREATE INDEX of_case ON cases (code, draw);
CREATE TABLE bodies (number INTEGER PRIMARY KEY, body BLOB);
CREATE TABLE words (factor TEXT, value TEXT, title TEXT, PRIMARY KEY (factor, value));
"""
_ROWS = "INSERT INTO cases VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Row:
    """One answer to one case in a list."""

    number: int
    code: str
    draw: int
    """From 1 on."""
    title: str
    chips: tuple[tuple[str, str], ...]
    """(words, tone) of what happened."""


@dataclass(frozen=True, slots=True)
class Found:
    """A page of a list."""

    rows: tuple[Row, ...]
    count: int
    """Answers on all pages."""
    page: int
    pages: int


@dataclass(frozen=True, slots=True)
class Shown:
    """One answer to one case, whole."""

    row: Row
    twin: str
    draws: int
    before: Row | None
    """The one before it in the list that was asked for."""
    after: Row | None
    body: Mapping[str, Any]
    """As `report.transcripts.payload` gives a case, with the text of its system prompt."""


def write_index(path: Path, transcripts: Iterable[Transcript], twins: Mapping[str, str]) -> None:
    """Write the transcripts of a run, whole or not at all; `twins`: the code of a case's twin."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(temporary)) as table, table:
            table.executescript(_TABLE)
            for entry in transcripts:
                _write(table, entry, twins)
        temporary.replace(path)
    except (sqlite3.Error, OSError) as error:
        raise RunError(f"the transcripts cannot be kept ({error}); make room in the folder of --cache") from error
    finally:
        temporary.unlink(missing_ok=True)


def _write(table: sqlite3.Connection, entry: Transcript, twins: Mapping[str, str]) -> None:
    made = payload([entry])
    [case] = made["cases"]
    body = {**case, "system": made["systems"][0] if made["systems"] else ""}
    code, member = case["case"], visible(entry.get("member", ""), 40)
    scenario = visible(entry.get("scenario", ""), 80)
    values = (scenario, case["behavior"], case["condition"], member)
    titles = (case["title"], visible(entry.get("behavior_title", ""), 200), visible(entry.get("condition_title", ""), 200), "")
    words = (f"{scenario} {titles[0]}", f"{values[1]} {titles[1]}", f"{values[2]} {titles[2]}", MEMBERS.get(member, member))
    table.executemany("INSERT OR IGNORE INTO words VALUES (?, ?, ?)", zip(FACTORS, values, words, strict=True))
    table.execute(
        _ROWS,
        (
            code, entry.get("draw", 0) + 1, twins.get(code, ""), case["title"], json.dumps(case["chips"]),
            f" {' '.join([*case['outcomes'], *_states(case['outcomes'])])} ", *values,
        ),
    )  # fmt: skip
    # apart, so that a list is found without passing every conversation
    table.execute("INSERT INTO bodies VALUES (last_insert_rowid(), ?)", (zlib.compress(json.dumps(body).encode()),))


def _states(outcomes: Sequence[str]) -> list[str]:
    failed, missing = _FAILED & set(outcomes), _MISSING & set(outcomes)
    held = (not failed and not missing, bool(failed), bool(missing))
    return [name for name, holds in zip(STATES, held, strict=True) if holds]


class Index:
    """The transcripts of one run, read from their file."""

    def __init__(self, path: Path) -> None:
        """`path`: what `write_index` wrote."""
        self._path = path

    def options(self) -> dict[str, list[tuple[str, str]]]:
        """By factor, what this run can be narrowed to: (value, words)."""
        with self._open() as table:
            rows = table.execute("SELECT factor, value, title FROM words ORDER BY factor, value").fetchall()
            held = {word for (text,) in table.execute("SELECT DISTINCT outcomes FROM cases") for word in text.split()}
        found = {factor: [(value, title) for name, value, title in rows if name == factor] for factor in FACTORS}
        return {**found, "outcome": [(slug, words) for slug, words in {**STATES, **OUTCOMES}.items() if slug in held]}

    def find(self, query: Query) -> Found:
        """The page of the list that the query asks for; a page behind the last one is the last."""
        where, values = _narrowed(query)
        with self._open() as table:
            count = int(table.execute(f"SELECT count(*) FROM cases WHERE {where}", values).fetchone()[0])
            pages = max(1, -(-count // PAGE))
            page = min(query.page, pages)
            rows = table.execute(
                f"{_SELECT} WHERE {where} ORDER BY number LIMIT {PAGE} OFFSET ?", (*values, PAGE * (page - 1))
            ).fetchall()
        return Found(tuple(map(_row, rows)), count, page, pages)

    def same(self, rows: Sequence[Row]) -> dict[tuple[str, int], Row]:
        """The answers of this run to the same cases and draws."""
        with self._open() as table:
            found = (self._one(table, row.code, row.draw) for row in rows)
            return {(row.code, row.draw): row for row in found if row}

    def case(self, query: Query) -> Shown | None:
        """The case and draw that the query names, with its neighbors in the list; None where this run has no such answer."""
        where, values = _narrowed(query)
        with self._open() as table:
            row = self._one(table, query.case, query.draw)
            if row is None:
                return None
            twin, body = table.execute(
                "SELECT twin, body FROM cases NATURAL JOIN bodies WHERE number = ?", (row.number,)
            ).fetchone()
            draws = int(table.execute("SELECT count(*) FROM cases WHERE code = ?", (row.code,)).fetchone()[0])
            order = (("number < ?", "DESC"), ("number > ?", "ASC"))
            before, after = (
                table.execute(
                    f"{_SELECT} WHERE {where} AND {side} ORDER BY number {way} LIMIT 1", (*values, row.number)
                ).fetchone()
                for side, way in order
            )
        read = json.loads(zlib.decompress(body))
        return Shown(row, twin, draws, _row(before) if before else None, _row(after) if after else None, read)

    def _one(self, table: sqlite3.Connection, code: str, draw: int) -> Row | None:
        found = table.execute(f"{_SELECT} WHERE code = ? AND draw = ?", (code, draw)).fetchone()
        return _row(found) if found else None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(f"{self._path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as table:
                yield table
        except sqlite3.Error as error:
            raise RunError(f"the transcripts {self._path.name} cannot be read ({error}); remove that file") from error


_SELECT = "SELECT number, code, draw, title, chips FROM cases"


def _narrowed(query: Query) -> tuple[str, list[str]]:
    """A condition in SQL, with its values; names of columns come from the list of factors alone."""
    given = [(f"{factor} = ?", getattr(query, factor)) for factor in FACTORS if getattr(query, factor)]
    if query.outcome:
        given.append(("instr(outcomes, ?) > 0", f" {query.outcome} "))
    return " AND ".join(["1", *(text for text, _ in given)]), [value for _, value in given]


def _row(found: tuple[Any, ...]) -> Row:
    number, code, draw, title, chips = found
    return Row(number, code, draw, title, tuple((words, tone) for words, tone in json.loads(chips)))
