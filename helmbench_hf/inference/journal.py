"""The journal: append-only JSONL segments in a folder, one writer per file, nothing ever rewritten.

What a line is stands in `stored.py`. Every opening writes a new segment, so a line that a kill tore in two is always the
last of its file and never swallows the next record. What is read is indexed, and stays on disk.

What survives: a record is handed to the kernel before `append` returns, so every other process sees it and a killed process
loses nothing. The disk is synced (fsync) with every 64th record, with the first record after a second, and at close; the
folder is synced when a segment is made. A power failure loses at most 63 whole records: those that came in the second after
the last sync. A resume runs them again (docs/durability.md).
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from helmbench_hf.inference.stored import (
    JournalError,
    Passed,
    Records,
    Segments,
    Stored,
    completion_of,
    line_of,
    parse,
    place_of,
    row_of,
)
from helmbench_hf.records import Completion

__all__ = ["Journal", "JournalError", "ReadReport", "Records", "RunLock", "Stored", "read_rows"]

SYNC_RECORDS = 64
SYNC_SECONDS = 1.0


@dataclass(slots=True)
class ReadReport:
    """What `read_rows` passed over."""

    torn: int = 0
    malformed: int = 0

    def add(self, kind: Passed) -> None:
        """Count one line."""
        self.torn += kind == "torn"
        self.malformed += kind == "malformed"


@dataclass(slots=True)
class Journal:
    """One writer's open segment. Use it as a context manager, or call `close`."""

    folder: Path
    path: Path
    _file: int
    written: Stored = field(default_factory=lambda: Stored(Segments()))
    """What `append` has written, by key."""
    _length: int = 0
    _unsynced: int = 0
    _synced: float = field(default_factory=time.monotonic)

    @classmethod
    def open(cls, folder: Path, writer: str) -> Self:
        """Begin a new segment `NNNNN-<writer>.jsonl` in `folder`, which is made where it is missing.

        Raises `JournalError` where the folder cannot be written.
        """
        if not writer or not all(letter.isalnum() or letter in "-_" for letter in writer):
            raise ValueError(f"A writer's name is letters, digits, - and _; {writer!r} is not.")
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
                journal = cls(folder, path, file)
                journal.written.segments.extend([path])
                return journal
        except OSError as error:
            raise _unwritable(folder, error) from error

    def append(self, completion: Completion) -> None:
        """Write one completion; it survives a kill of this process as soon as this returns."""
        begin = self._length
        self.append_row(row_of(completion))
        self.written.places[completion.key] = place_of(0, begin)

    def append_row(self, row: dict[str, Any]) -> None:
        """Write one row of plain JSON values.

        Raises `JournalError` where the disk is full or gone: what was written before stays valid, and the segment is closed,
        so that nothing is ever written behind a torn line.
        """
        line = line_of(row)
        try:
            while line:
                done = os.write(self._file, line)
                self._length += done
                line = line[done:]
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
        passed over (`Records.passed`).
        """
        records = Records()
        for path in _segments(folder):
            first = place_of(records.segments.extend([path]), 0)

            def pass_over(kind: Passed, offset: int, first: int = first) -> None:
                records.passed.add(kind, first + offset)

            for offset, row in _rows(path, pass_over):
                try:
                    records.add(completion_of(row), first + offset)
                except (TypeError, ValueError):
                    pass_over("malformed", offset)
        return records


def read_rows(folder: Path, report: ReadReport) -> Iterator[dict[str, Any]]:
    """Yield the rows of every segment in the order of writing; count in `report` what was passed over.

    Raises `JournalError` for a segment that a later version of this program wrote.
    """
    for path in _segments(folder):
        yield from (row for _, row in _rows(path, lambda kind, _: report.add(kind)))


def _rows(path: Path, pass_over: Callable[[Passed, int], None]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Offset and row of every sound line; `pass_over` hears of every other."""
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            content = line.rstrip(b"\n")
            if content and (row := parse(content, f"{path}, line {number}")) is not None:
                yield offset, row
            elif content and line.endswith(b"\n"):
                pass_over("malformed", offset)
            elif content:  # no newline after it: the write was cut short
                pass_over("torn", offset)
            offset += len(line)


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


def _segments(folder: Path) -> list[Path]:
    """List the segments in the order of writing: their names begin with five digits."""
    return sorted(path for path in folder.glob("*.jsonl") if path.name[:5].isdigit() and path.name[5:6] == "-")


@dataclass(slots=True)
class RunLock:
    """The right to write a run's folder. The kernel gives it back when the holder dies, however it dies."""

    path: Path
    _file: int

    @classmethod
    def acquire(cls, folder: Path, wait: float = 3.0) -> Self:
        """Take the lock of `folder`, which is made where it is missing.

        Raises `JournalError` where another run still holds it after `wait` seconds: an orphan of a run that was just
        killed needs a moment to die.
        """
        path = folder / "run.lock"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)  # not inherited by what we start
        except OSError as error:
            raise _unwritable(folder, error) from error
        deadline = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    os.close(file)
                    raise JournalError(
                        f"The folder {folder} cannot be locked ({error.strerror}): its file system keeps no locks, so two runs "
                        "could mix there. Give a folder on a local disk."
                    ) from error
                if time.monotonic() < deadline:
                    time.sleep(0.02)
                    continue
                holder = os.pread(file, 32, 0).decode("ascii", "replace").strip() or "unknown"
                os.close(file)
                raise JournalError(
                    f"Another run (process {holder}) is writing to {folder}. Wait for it or stop it (kill {holder}), "
                    "or give another output folder."
                ) from error
        try:
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode("ascii"), 0)
        except OSError as error:
            os.close(file)
            raise _unwritable(folder, error) from error
        return cls(path, file)

    def release(self) -> None:
        """Give the lock back; the file stays, because removing it would let two runs hold two locks."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
