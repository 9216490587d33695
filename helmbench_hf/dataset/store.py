"""The cases of a run on disk: one that asks a million of them holds the few that it is asking."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any

from helmbench_hf.disk_table import DiskTables
from helmbench_hf.records import Case

_NAMES = tuple(field.name for field in fields(Case))
_SHARED = tuple(_NAMES.index(name) for name in ("system", "response_schema", "grading"))
"""Long values that many cases have in common; each is stored once."""
_SYSTEM = _NAMES.index("system")
_KEPT = 512
"""Shared values that are held in memory."""
_GROUP_BITS = 32
"""A case's place is one number: its group's above its own within all cases."""


class CaseStore:
    """Cases by group: those with one system text. Groups stand in the order of their first cases, cases in their own order."""

    def __init__(self, cases: Iterable[Case]) -> None:
        """Take every case once. Raises `DiskTableError` where there is no room on disk."""
        self._tables = DiskTables(
            "CREATE TABLE shared (number INTEGER PRIMARY KEY, sha BLOB NOT NULL UNIQUE, value BLOB NOT NULL)",
            "CREATE TABLE cases (place INTEGER PRIMARY KEY, row BLOB NOT NULL)",
            "CREATE TABLE groups (number INTEGER PRIMARY KEY)",
        )
        self._number, self._value = lru_cache(_KEPT)(self._numbered), lru_cache(_KEPT)(self._read)
        values, self._count = attrgetter(*_NAMES), 0
        for case in cases:
            row = list(values(case))
            for index in _SHARED:
                row[index] = self._number(row[index])
            place = row[_SYSTEM] << _GROUP_BITS | self._count
            self._tables.run("INSERT INTO cases VALUES (?, ?)", (place, pickle.dumps(row, pickle.HIGHEST_PROTOCOL)))
            self._count += 1
        self._tables.run(f"INSERT INTO groups SELECT DISTINCT place >> {_GROUP_BITS} FROM cases")

    @classmethod
    def of(cls, cases: Iterable[Case]) -> CaseStore:
        """`cases` themselves where they are stored already."""
        return cases if isinstance(cases, CaseStore) else cls(cases)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Case]:
        """Every case, group by group."""
        for group in self.groups():
            yield from self.group(group)

    def groups(self) -> Iterator[int]:
        """The number of every group."""
        return (number for (number,) in self._tables.rows("SELECT number FROM groups ORDER BY number"))

    def group(self, number: int) -> Iterator[Case]:
        """The cases of one group, read as they are asked for."""
        first = number << _GROUP_BITS
        within = (first, first | (1 << _GROUP_BITS) - 1)
        for (packed,) in self._tables.rows("SELECT row FROM cases WHERE place BETWEEN ? AND ? ORDER BY place", within):
            row = pickle.loads(packed)  # our own bytes, from a file that has no name
            for index in _SHARED:
                row[index] = self._value(row[index])
            yield Case(*row)

    def _numbered(self, value: Any) -> int:
        packed = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        sha = hashlib.sha256(packed).digest()
        self._tables.run("INSERT OR IGNORE INTO shared (sha, value) VALUES (?, ?)", (sha, packed))
        return int(self._tables.one("SELECT number FROM shared WHERE sha = ?", (sha,)))

    def _read(self, number: int) -> Any:
        return pickle.loads(self._tables.one("SELECT value FROM shared WHERE number = ?", (number,)))
