"""The journal: append-only JSONL segments in a folder, one writer per file, nothing ever rewritten.

A line is `{"v":1,"sha":"<16 hex>","row":{...}}`; `sha` is the head of the SHA-256 of `[v, row]` as canonical JSON. Every
opening writes a new segment, so a line that a kill tore in two is always the last of its file and never swallows the next one.

What survives: a record is handed to the kernel before `append` returns, so every other process sees it and a killed process
loses nothing. The disk is synced (fsync) with every 64th record, with the first record after a second, and at close; the
folder is synced when a segment is made. A power failure loses at most 63 records: those that came in the second after
the last sync. A resume runs them again (docs/durability.md).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, get_args

from helmbench_hf.hashing import canonical, digest
from helmbench_hf.records import Completion, CompletionStatus

JOURNAL_VERSION = 1
SYNC_RECORDS = 64
SYNC_SECONDS = 1.0
_NAMES = tuple(item.name for item in fields(Completion))
Passed = Literal["torn", "malformed", "duplicates", "differing"]
_SAID: dict[Passed, str] = {
    "torn": "cut short",
    "malformed": "damaged",
    "duplicates": "with an answer that was there already",
    "differing": "of these with another text",
}
NAMED = 3
"""Lines of one kind that `ReadReport` names."""


class Place(NamedTuple):
    """Where a record stands; lines count from 1."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}"


class JournalError(RuntimeError):
    """The journal cannot be written or read, or another run holds the folder. The message is a sentence."""


def line_of(row: dict[str, Any]) -> bytes:
    """The line that holds a row of plain JSON values, with its newline."""
    head = f'{{"v":{JOURNAL_VERSION},"sha":"{_checksum(JOURNAL_VERSION, row)}","row":'
    return f"{head}{canonical(row)}}}\n".encode("ascii")


def row_of(completion: Completion) -> dict[str, Any]:
    """A completion as a row."""
    return {name: getattr(completion, name) for name in _NAMES}


def _checksum(version: object, row: dict[str, Any]) -> str:
    return digest([version, row])[:16]


def _parse(line: bytes, place: Place) -> dict[str, Any] | None:
    """The row of an intact line, or None. Raises `JournalError` for a line that a later version wrote."""
    try:
        entry = json.loads(line)
        version, row = entry["v"], entry["row"]
        if not isinstance(row, dict) or not isinstance(version, int) or entry["sha"] != _checksum(version, row):
            return None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if version > JOURNAL_VERSION:
        raise JournalError(
            f"{place}: written by a later version of helmbench (journal version {version}; this one reads up to "
            f"{JOURNAL_VERSION}). Update helmbench, or give another output folder."
        )
    return row


def _completion_of(row: dict[str, Any]) -> Completion:
    """Build a completion from a row; unknown fields are dropped. Raises TypeError or ValueError for a row of another shape."""
    values = {name: row[name] for name in _NAMES if name in row}
    if values.get("label_logprobs") is not None:
        values["label_logprobs"] = tuple(float(value) for value in values["label_logprobs"])
    completion = Completion(**values)
    if not (isinstance(completion.key, str) and isinstance(completion.text, str)):
        raise TypeError("the key and text of a completion must be strings")
    if completion.status not in get_args(CompletionStatus):
        raise ValueError(f"unknown status {completion.status!r}")
    return completion


@dataclass(slots=True)
class ReadReport:
    """The lines of a journal that add nothing to it, by kind, with where they stand."""

    places: dict[Passed, list[Place]] = field(default_factory=dict)

    def add(self, kind: Passed, place: Place) -> None:
        """Note one line."""
        self.places.setdefault(kind, []).append(place)

    def count(self, kind: Passed) -> int:
        """Lines of a kind."""
        return len(self.places.get(kind, ()))

    def __str__(self) -> str:
        """One sentence with counts, files and lines; empty where no line was passed over."""
        said = [f"{self.count(kind)} {words} ({self._named(kind)})" for kind, words in _SAID.items() if self.count(kind)]
        if not said:
            return ""
        return (
            f"Lines of the journal that were passed over: {', '.join(said)}. "
            "The first answer stands; what a lost line held is asked again by the command that wrote it."
        )

    def _named(self, kind: Passed) -> str:
        named = [str(place) for place in self.places[kind][:NAMED]]
        rest = self.count(kind) - len(named)
        return "; ".join([*named, f"and {rest} others"] if rest else named)


class Records(dict[str, Completion]):
    """The answers of a journal by key: `ok`, `truncated`, `withheld` and `refused` rows, which a resume does not run again.

    Engine failures are records too, but not answers: they stand in `failures`, and a resume tries them again.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failures: dict[str, Completion] = {}
        self.passed = ReadReport()
        self._places: dict[str, Place] = {}

    def add(self, completion: Completion, place: Place) -> None:
        """Take the next record in the order of writing, from its place.

        The first answer of a key stands. An answer replaces a refusal (the context was too short then), and either
        replaces a failure; never the other way round.
        """
        key, stored = completion.key, self.get(completion.key)
        if completion.status == "engine_error":
            if stored is not None:
                return
            self.failures.pop(key, None)
            self.failures[key] = completion
        elif stored is None or (stored.status == "refused" and completion.status != "refused"):
            self.pop(key, None)  # so that the order stays that of the lines
            self.failures.pop(key, None)
            self[key] = completion
        else:
            self.passed.add("duplicates", place)
            if (stored.status, stored.text) != (completion.status, completion.text):
                self.passed.add("differing", place)
            return
        self._places[key] = place

    def everything(self) -> dict[str, Completion]:
        """Answers and engine failures by key."""
        return {**self, **self.failures}

    def place(self, key: str) -> Place:
        """File and line of a record."""
        return self._places[key]


@dataclass(slots=True)
class Journal:
    """One writer's open segment. Use it as a context manager, or call `close`."""

    folder: Path
    path: Path
    _file: int
    _unsynced: int = 0
    _synced: float = field(default_factory=time.monotonic)

    @classmethod
    def open(cls, folder: Path, writer: str) -> Self:
        """Begin a new segment `NNNNN-<writer>.jsonl` in `folder`, which is made where it is missing.

        Raises `JournalError` where the folder cannot be written.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            number = max((int(path.name[:5]) for path in _segments(folder)), default=0)
            while True:
                number += 1
                path = folder / f"{number:05d}-{writer}.jsonl"
                try:
                    # O_EXCL: two writers that count at once never share a file.
                    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
                except FileExistsError:
                    continue
                sync_folder(folder)
                return cls(folder, path, file)
        except OSError as error:
            raise _unwritable(folder, error) from error

    def append(self, completion: Completion) -> None:
        """Write one completion; it survives a kill of this process as soon as this returns. Raises what `append_row` raises."""
        self.append_row(row_of(completion))

    def append_row(self, row: dict[str, Any]) -> None:
        """Write one row of plain JSON values.

        Raises `JournalError` where the disk is full or gone: what was written before stays valid, and the segment is closed,
        so that nothing is ever written behind a torn line.
        """
        line = line_of(row)
        try:
            while line:
                line = line[os.write(self._file, line) :]
            self._unsynced += 1
            if self._unsynced >= SYNC_RECORDS or time.monotonic() - self._synced >= SYNC_SECONDS:
                self._sync()
        except OSError as error:
            self._end()
            raise self._lost(error) from error

    def close(self) -> None:
        """Sync and close; a second call does nothing. Raises `JournalError` where the disk did not take what was written."""
        if self._file < 0:
            return
        try:
            self._sync()
            if not os.fstat(self._file).st_size:
                self.path.unlink()  # an engine that never answered leaves no empty segment behind
        except OSError as error:
            raise self._lost(error) from error
        finally:
            self._end()

    def _end(self) -> None:
        """Close the file without a sync."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _lost(self, error: OSError) -> JournalError:
        return JournalError(
            f"The journal {self.path} cannot be written ({error.strerror}). Everything before is safe: "
            "make room, then run the same command again."
        )

    def _sync(self) -> None:
        os.fsync(self._file)
        self._unsynced = 0
        self._synced = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def read(folder: Path) -> Records:
        """Read every completion of a folder; an absent folder is an empty journal.

        Rows of other shapes (no `key`, or fields that a completion has not) count as malformed. Whoever reads says what was
        passed over (`Records.passed`). Raises what `read_rows` raises.
        """
        records = Records()
        for place, row in _rows(folder, records.passed):
            try:
                completion = _completion_of(row)
            except (TypeError, ValueError):
                records.passed.add("malformed", place)
            else:
                records.add(completion, place)
        return records


def read_rows(folder: Path, report: ReadReport) -> Iterator[dict[str, Any]]:
    """Yield the rows of every segment in the order of writing; note in `report` what was passed over.

    Raises `JournalError` for a segment that a later version of this program wrote.
    """
    return (row for _, row in _rows(folder, report))


def _rows(folder: Path, report: ReadReport) -> Iterator[tuple[Place, dict[str, Any]]]:
    for path in _segments(folder):
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                content, place = line.rstrip(b"\n"), Place(path, number)
                if content and (row := _parse(content, place)) is not None:
                    yield place, row
                elif content:  # without a newline the write was cut short
                    report.add("malformed" if line.endswith(b"\n") else "torn", place)


def _segments(folder: Path) -> list[Path]:
    """List the segments in the order of writing: their names begin with five digits."""
    return sorted(path for path in folder.glob("*.jsonl") if path.name[:5].isdigit() and path.name[5:6] == "-")


def _unwritable(folder: Path, error: OSError) -> JournalError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    how = "Make room on its disk, then rerun to resume." if full else "Give another output folder, or fix its rights."
    return JournalError(f"The folder {folder} cannot be written ({error.strerror}). {how}")


def sync_folder(folder: Path) -> None:
    """Make the names of a folder's new files survive a power failure."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EROFS):  # some file systems sync no folders
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def run_lock(folder: Path, wait: float = 6.0) -> Iterator[None]:
    """Hold the right to write a run's folder, which is made where it is missing. It ends when the holder dies, however it dies.

    Raises `JournalError` where another run still holds it after `wait` seconds: an orphan of a run that was just killed needs a
    moment to die, and on a busy machine more. The file stays behind, because removing it would let two runs hold two locks.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder / "run.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)  # not inherited by what we start
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        _take_lock(file, folder, wait)
        try:
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode("ascii"), 0)
        except OSError as error:
            raise _unwritable(folder, error) from error
        yield
    finally:
        os.close(file)


def _take_lock(file: int, folder: Path, wait: float) -> None:
    deadline = time.monotonic() + wait
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise JournalError(
                    f"The folder {folder} cannot be locked ({error.strerror}): its file system does not support locks, so two "
                    f"runs could get mixed up there. Give a folder on a local disk."
                ) from error
            if time.monotonic() >= deadline:
                holder = os.pread(file, 32, 0).decode("ascii", "replace").strip() or "unknown"
                raise JournalError(
                    f"Another run (process {holder}) is writing to {folder}. Wait for it or stop it "
                    f"(kill {holder}), or give another output folder."
                ) from error
        time.sleep(0.02)
