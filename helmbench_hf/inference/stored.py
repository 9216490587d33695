"""A line of the journal, and the completions of a journal that stay on disk, as do their keys and where they stand.

A line is `{"v":1,"sha":"<16 hex>","row":{...}}`; `sha` is the head of the SHA-256 of `[v, row]` as canonical JSON.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args

from helmbench_hf.disk_table import DiskTables
from helmbench_hf.inference.keys import canonical
from helmbench_hf.records import Completion, CompletionStatus

JOURNAL_VERSION = 1
_NAMES = tuple(item.name for item in fields(Completion))
_HEAD = b'{"v":%d,"sha":"' % JOURNAL_VERSION
_ROW = b'","row":'
_SHA = 16
_CHUNK = 4096
"""Bytes of one look at a line; most lines fit."""
_OFFSET_BITS = 40
"""A place is one number of 63 bits: the segment's above the offset in it, which counts to a terabyte."""


class JournalError(RuntimeError):
    """The journal cannot be written or read, or another run holds the folder. The message is a sentence."""


def line_of(row: dict[str, Any]) -> bytes:
    """The line that holds a row of plain JSON values, with its newline."""
    text = canonical(row).encode("ascii")
    return b"".join((_HEAD, _checksum(JOURNAL_VERSION, text), _ROW, text, b"}\n"))


def row_of(completion: Completion) -> dict[str, Any]:
    """A completion as a row."""
    return {name: getattr(completion, name) for name in _NAMES}


def parse(line: bytes, where: str) -> dict[str, Any] | None:
    """The row of a sound line, or None. Raises `JournalError`, which says `where`, for a line of a later version."""
    try:
        if (row := _as_written(line)) is not None:
            return row
        entry = json.loads(line)
        found: dict[str, Any] = entry["row"]
        version = entry["v"]
        sound = isinstance(found, dict) and entry["sha"].encode() == _checksum(version, canonical(found).encode("ascii"))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if not sound or not isinstance(version, int):
        return None
    if version > JOURNAL_VERSION:
        raise JournalError(
            f"{where}: written by a later helmbench (journal version {version}, this one reads up to "
            f"{JOURNAL_VERSION}). Update helmbench, or give another output folder."
        )
    return found


def _as_written(line: bytes) -> dict[str, Any] | None:
    """The row of a line of our own form whose very bytes have its checksum; None for any other."""
    begin = len(_HEAD) + _SHA + len(_ROW)
    if not line.startswith(_HEAD) or line[begin - len(_ROW) : begin] != _ROW or not line.endswith(b"}"):
        return None
    text = line[begin:-1]
    if line[len(_HEAD) : len(_HEAD) + _SHA] != _checksum(JOURNAL_VERSION, text):
        return None
    row = json.loads(text)
    return row if isinstance(row, dict) else None


def _checksum(version: Any, text: bytes) -> bytes:
    """Head of the SHA-256 of `[version, row]`, `text` being the row as canonical JSON."""
    head = canonical(version).encode("ascii")
    return hashlib.sha256(b"[" + head + b"," + text + b"]").hexdigest()[:_SHA].encode("ascii")


def completion_of(row: dict[str, Any]) -> Completion:
    """Build a completion from a row; fields of later minor versions are dropped.

    Raises TypeError or ValueError for a row of another shape.
    """
    known = {name: row[name] for name in _NAMES if name in row}
    if known.get("label_logprobs") is not None:
        known["label_logprobs"] = tuple(float(value) for value in known["label_logprobs"])
    completion = Completion(**known)
    if not (isinstance(completion.key, str) and isinstance(completion.text, str)):
        raise TypeError("key and text of a completion are strings")
    if completion.status not in get_args(CompletionStatus):
        raise ValueError(f"unknown status {completion.status!r}")
    return completion


class Segments:
    """The files of a journal, opened when something is read from them and closed with this object."""

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self._files: dict[int, int] = {}

    def extend(self, paths: Iterable[Path]) -> int:
        """Add files and give the number of the first."""
        first = len(self.paths)
        self.paths.extend(paths)
        return first

    def line(self, place: int) -> bytes:
        """Read the line that begins at a place, without its newline."""
        number, offset = place >> _OFFSET_BITS, place & ((1 << _OFFSET_BITS) - 1)
        if number not in self._files:
            try:
                self._files[number] = os.open(self.paths[number], os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                raise JournalError(f"{self.paths[number]} cannot be read again ({error.strerror}); restore it.") from error
        parts: list[bytes] = []
        while chunk := os.pread(self._files[number], _CHUNK, offset):
            head, newline, _ = chunk.partition(b"\n")
            parts.append(head)
            if newline:
                break
            offset += len(chunk)
        return b"".join(parts)

    def where(self, place: int) -> str:
        """Name the file and the line that begins at a place, for people."""
        path, left, line = self.paths[place >> _OFFSET_BITS], place & ((1 << _OFFSET_BITS) - 1), 1
        with path.open("rb") as file:
            while left and (chunk := file.read(min(left, 1 << 20))):
                line += chunk.count(b"\n")
                left -= len(chunk)
        return f"{path}, line {line}"

    def __del__(self) -> None:
        for file in self._files.values():
            with contextlib.suppress(OSError):
                os.close(file)


def place_of(number: int, offset: int) -> int:
    """The place of a line: its segment's number and its offset there in bytes."""
    return number << _OFFSET_BITS | offset


class Places(MutableMapping[str, int]):
    """Where the completion of a key stands. Keys are kept whole and on disk: no number of them fills the memory."""

    def __init__(self) -> None:
        self._table = DiskTables("CREATE TABLE places (key TEXT PRIMARY KEY, place INTEGER NOT NULL) WITHOUT ROWID")
        self._count = 0

    def __getitem__(self, key: str) -> int:
        place: int | None = self._table.one("SELECT place FROM places WHERE key = ?", (key,))
        if place is None:
            raise KeyError(key)
        return place

    def __setitem__(self, key: str, place: int) -> None:
        if self._table.run("INSERT OR IGNORE INTO places VALUES (?, ?)", (key, place)):
            self._count += 1
        else:
            self._table.run("UPDATE places SET place = ? WHERE key = ?", (place, key))

    def __delitem__(self, key: str) -> None:
        if not self._table.run("DELETE FROM places WHERE key = ?", (key,)):
            raise KeyError(key)
        self._count -= 1

    def __iter__(self) -> Iterator[str]:
        """The keys in the order of their places; what changes meanwhile changes nothing in it."""
        # ordered, so that SQLite has found all of them before it gives the first
        return (key for (key,) in self._table.rows("SELECT key FROM places ORDER BY place"))

    def __len__(self) -> int:
        return self._count


Passed = Literal["torn", "malformed", "duplicates", "differing"]
_SAID: Mapping[Passed, str] = {
    "torn": "cut short",
    "malformed": "damaged",
    "duplicates": "with an answer that was there already",
    "differing": "of these with another text",
}


class PassedOver:
    """The lines of a journal that add nothing to it: how many of each kind, and where the first of them stand."""

    NAMED = 3
    """Lines of one kind that are named."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self.counts: Counter[Passed] = Counter()
        self._first: defaultdict[Passed, list[int]] = defaultdict(list)

    def add(self, kind: Passed, place: int) -> None:
        """Count a line of a kind at its place."""
        self.counts[kind] += 1
        if len(self._first[kind]) < self.NAMED:
            self._first[kind].append(place)

    def __str__(self) -> str:
        """One sentence with counts, files and lines; empty where no line was passed over."""
        said = [f"{self.counts[kind]} {words} ({self._where(kind)})" for kind, words in _SAID.items() if self.counts[kind]]
        if not said:
            return ""
        return (
            f"Lines of the journal that were passed over: {', '.join(said)}. "
            "The first answer stands; what a lost line held is asked again by the command that wrote it."
        )

    def _where(self, kind: Passed) -> str:
        named = [self._segments.where(place) for place in self._first[kind]]
        rest = self.counts[kind] - len(named)
        return "; ".join([*named, f"and {rest} others"] if rest else named)


class Stored(Mapping[str, Completion]):
    """Completions by key, read from disk whenever one is asked for."""

    def __init__(self, segments: Segments) -> None:
        self.segments = segments
        self.places = Places()

    def __getitem__(self, key: str) -> Completion:
        place = self.places[key]
        path = self.segments.paths[place >> _OFFSET_BITS]
        row = parse(self.segments.line(place), str(path))
        if row is None or row.get("key") != key:
            raise JournalError(f"{path} has changed since it was read; nothing may rewrite a journal. Restore it.")
        return completion_of(row)

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __contains__(self, key: object) -> bool:
        return key in self.places

    def file(self, key: str) -> Path:
        """The segment that holds a completion."""
        return self.segments.paths[self.places[key] >> _OFFSET_BITS]

    def where(self, key: str) -> str:
        """Name the file and the line of a completion, for people."""
        return self.segments.where(self.places[key])


class Records(Stored):
    """The journal's answers by key: `ok`, `truncated`, `withheld` and `refused` rows, which a resume does not run again.

    Engine failures are records too, but no answers: they stand in `failures` and a resume tries them again.
    """

    failures: Stored
    passed: PassedOver

    def __init__(self) -> None:
        super().__init__(Segments())
        self.failures = Stored(self.segments)
        self.passed = PassedOver(self.segments)

    @property
    def duplicates(self) -> int:
        """Answers beyond the first of their key; the first one stands."""
        return self.passed.counts["duplicates"]

    @property
    def differing(self) -> int:
        """Duplicates whose text is another one: a free estimate of how far the engine repeats itself."""
        return self.passed.counts["differing"]

    @property
    def torn(self) -> int:
        """Last lines that a kill cut short."""
        return self.passed.counts["torn"]

    @property
    def malformed(self) -> int:
        """Inner lines that are no record: damaged, or not ours."""
        return self.passed.counts["malformed"]

    def add(self, completion: Completion, place: int) -> None:
        """Take the next record in the order of writing, from its place.

        The first answer of a key stands. An answer replaces a refusal (the context was too short then), and either
        replaces a failure; never the other way round.
        """
        key, status = completion.key, completion.status
        known = self[key] if key in self.places else None
        if status == "engine_error":
            if known is None:
                self.failures.places[key] = place
        elif known is None or (known.status == "refused" and status != "refused"):
            self.places[key] = place
            self.failures.places.pop(key, None)
        else:
            self.passed.add("duplicates", place)
            if (known.status, known.text) != (status, completion.text):
                self.passed.add("differing", place)

    def everything(self) -> Stored:
        """Answers and engine failures by key."""
        if not self.failures:
            return self
        together = Stored(self.segments)
        for each in (self.failures, self):
            together.places.update(each.places)
        return together
