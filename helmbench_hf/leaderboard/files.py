"""The files of a submission, read as hostile input: no link, no name of their own, no size and no depth without a limit.

What to read is decided by a walk of the folder against a list of allowed names, never by a name that a file gives.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MANIFEST, SCORES = "manifest.json", "scores.json"
COMPLETIONS, VERDICTS = "completions.jsonl.gz", "verdicts.jsonl.gz"
JUDGMENTS, CHECKS = "judgments", "checks"
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}"
MIB = 1 << 20
LIMITS = {
    re.escape(MANIFEST): MIB,
    re.escape(SCORES): 32 * MIB,
    re.escape(COMPLETIONS): 64 * MIB,
    re.escape(VERDICTS): 64 * MIB,
    rf"{JUDGMENTS}/{NAME}\.jsonl\.gz": 64 * MIB,
    rf"{CHECKS}/{NAME}\.json": 4 * MIB,
}
"""Most bytes of a file, by the form of its name. A whole run of the design `full` with one judge takes a tenth of it."""
MOST_FILES = 24
MOST_UNPACKED = 256 * MIB
"""Bytes of one compressed file when it is unpacked; what holds more is a bomb."""
LONGEST_LINE = 4 * MIB
DEEPEST = 24
"""Levels of nested JSON; `scores.json` has 6."""
LARGEST_WHOLE = 2**53


class RejectedError(Exception):
    """The submission is not accepted: a stable code and a sentence."""

    def __init__(self, code: str, said: str) -> None:
        super().__init__(said)
        self.code = code
        self.said = said


def quoted(text: object) -> str:
    """Hostile text for a sentence: ASCII, quoted, at most 80 characters."""
    return ascii(str(text)[:80])


def read_folder(root: Path) -> dict[str, bytes]:
    """Every file of a submission by its relative name. Raises `RejectedError` for whatever does not belong there.

    Raises OSError where the folder itself cannot be read.
    """
    if stat.S_ISLNK(root.lstat().st_mode):
        raise RejectedError("files.link", "the submission's folder is a link; submit the folder itself")
    return {name: _read(path, limit_of(name), name) for name, path in _walk(root)}


def _walk(root: Path) -> list[tuple[str, Path]]:
    found: list[tuple[str, Path]] = []
    for folder in ("", JUDGMENTS, CHECKS):
        if folder and not (root / folder).exists():
            continue
        with os.scandir(root / folder) as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}" if folder else entry.name
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISLNK(mode):
                    raise RejectedError("files.link", f"{quoted(name)} is a link; a submission holds plain files alone")
                if stat.S_ISDIR(mode) and not folder and name in (JUDGMENTS, CHECKS):
                    continue
                if not stat.S_ISREG(mode):
                    raise RejectedError("files.kind", f"{quoted(name)} is no plain file; take it out")
                if not limit_of(name):
                    raise RejectedError("files.unknown", f"{quoted(name)} is no file of a submission; take it out")
                found.append((name, Path(entry.path)))
                if len(found) > MOST_FILES:
                    raise RejectedError("files.many", f"the submission holds more than {MOST_FILES} files")
    return sorted(found)


def limit_of(name: str) -> int:
    """Most bytes of the file of that name; 0 for one that no submission holds."""
    return next((limit for form, limit in LIMITS.items() if re.fullmatch(form, name)), 0)


def _read(path: Path, limit: int, name: str) -> bytes:
    # the file may have been swapped since the walk: what was opened is looked at once more
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise RejectedError("files.kind", f"{quoted(name)} is no plain file; take it out")
        content = opened.read(limit + 1)
    if len(content) > limit:
        raise RejectedError("files.size", f"{name} is larger than {limit // MIB} MiB")
    return content


def json_lines(content: bytes, name: str, most: int) -> Iterator[Any]:
    """The rows of a gzip file of JSON lines, one at a time; at most `most` of them."""
    for number, line in enumerate(_lines(content, name), start=1):
        if number > most:
            raise RejectedError("rows.many", f"{name} holds more than the {most} rows that this design and these judges can have")
        yield parse_json(line, f"{name}, line {number}")


def _lines(content: bytes, name: str) -> Iterator[bytes]:
    rest, total = b"", 0
    for piece in _unpacked(content, name):
        total += len(piece)
        if total > MOST_UNPACKED:
            raise RejectedError("files.bomb", f"{name} unpacks to more than {MOST_UNPACKED // MIB} MiB")
        *whole, rest = (rest + piece).split(b"\n")
        if any(len(line) > LONGEST_LINE for line in (*whole, rest)):
            raise RejectedError("rows.long", f"{name} holds a line of more than {LONGEST_LINE // MIB} MiB")
        yield from whole
    if rest:
        raise RejectedError("files.packed", f"{name} does not end with a line break: it was cut short")


def _unpacked(content: bytes, name: str) -> Iterator[bytes]:
    """Pieces of at most 1 MiB of a single gzip stream that ends where the file ends."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        while not unpacker.eof:
            piece = unpacker.decompress(content, MIB)
            content = unpacker.unconsumed_tail
            if not piece and not content and not unpacker.eof:
                break
            yield piece
    except zlib.error as error:
        raise RejectedError("files.packed", f"{name} is no sound gzip file") from error
    if not unpacker.eof or unpacker.unused_data:
        raise RejectedError("files.packed", f"{name} is no single gzip stream that ends with the file")


def parse_json(content: bytes, name: str) -> Any:
    """Strict JSON: UTF-8, no name twice in one object, finite numbers, limited depth. Raises `RejectedError`."""
    try:
        found = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_no_number,
            parse_float=_float,
            parse_int=_whole,
        )
        _check_depth(found)
    except UnicodeDecodeError as error:
        raise RejectedError("json.encoding", f"{name} is not UTF-8") from error
    except RecursionError as error:
        raise RejectedError("json.deep", f"{name} nests deeper than {DEEPEST} levels") from error
    except RejectedError as error:
        raise RejectedError(error.code, f"{name}: {error.said}") from error
    except ValueError as error:
        raise RejectedError("json.syntax", f"{name} is no JSON") from error
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RejectedError("json.twice", "an object names a field twice")
    return found


def _no_number(text: str) -> float:
    raise RejectedError("json.number", f"{text} is no number of JSON")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise RejectedError("json.number", "a number is too large")
    return value


def _whole(text: str) -> int:
    if len(text) > 20 or abs(int(text)) > LARGEST_WHOLE:
        raise RejectedError("json.number", "a whole number is too large")
    return int(text)


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise RejectedError("json.deep", f"nests deeper than {DEEPEST} levels")
