"""The files of a submission, read as hostile input: a closed list of names, and limits on size, number, depth and numbers.

manifest.json, scores.json, verdicts.jsonl
completions/00001-submission.jsonl                  the model's answers, as a run's journal holds them
acts/00001-submission.jsonl                         what the router said of them, for reactive conversations
judgments/JUDGE/{judge.json,00001-submission.jsonl} each judge's answers
checks/NAME/judgments/JUDGE/...                     checks of judges that the scores cite: what the judge answered, and
checks/NAME/{labels.jsonl,replies.jsonl}            of a check on human labels, these

What is read is decided by a walk of the folder against this list, never by a name that a file gives.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MANIFEST, SCORES, VERDICTS = "manifest.json", "scores.json", "verdicts.jsonl"
JUDGMENTS, CHECKS, JUDGE = "judgments", "checks", "judge.json"
SEGMENT = "00001-submission.jsonl"
COMPLETIONS = f"completions/{SEGMENT}"
ACTS = f"acts/{SEGMENT}"
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}"
MIB = 1 << 20
_JUDGE = rf"{JUDGMENTS}/{NAME}"
LIMITS = {
    re.escape(MANIFEST): MIB,
    re.escape(SCORES): 32 * MIB,
    re.escape(VERDICTS): 128 * MIB,
    re.escape(COMPLETIONS): 128 * MIB,
    re.escape(ACTS): 32 * MIB,
    rf"({CHECKS}/{NAME}/)?{_JUDGE}/{re.escape(JUDGE)}": MIB,
    rf"({CHECKS}/{NAME}/)?{_JUDGE}/{re.escape(SEGMENT)}": 64 * MIB,
    rf"{CHECKS}/{NAME}/labels\.jsonl": 16 * MIB,
    rf"{CHECKS}/{NAME}/replies\.jsonl": 16 * MIB,
}
"""Most bytes of a file, by the form of its name. A run of the design `full` with one judge takes a fifth of it."""
FOLDERS = rf"completions|acts|{JUDGMENTS}|{_JUDGE}|{CHECKS}|{CHECKS}/{NAME}|{CHECKS}/{NAME}/{JUDGMENTS}|{CHECKS}/{NAME}/{_JUDGE}"
MOST_FILES = 48
MOST_BYTES = 320 * MIB
"""Of all files together."""
LONGEST_LINE = 4 * MIB


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
    """Every file of a submission by its relative name. Raises `RejectedError` for anything that does not belong there.

    Raises OSError where the folder itself cannot be read.
    """
    if stat.S_ISLNK(root.lstat().st_mode):
        raise RejectedError("files.link", "the submission's folder is a link; submit the folder itself")
    found: dict[str, bytes] = {}
    total = 0
    for number, (name, path) in enumerate(_walk(root, ""), start=1):
        if number > MOST_FILES:
            raise RejectedError("files.many", f"the submission holds more than {MOST_FILES} files")
        found[name] = _read(path, limit_of(name), name)
        total += len(found[name])
        if total > MOST_BYTES:
            raise RejectedError("files.size", f"the submission is larger than {MOST_BYTES // MIB} MiB")
    return dict(sorted(found.items()))


def _walk(root: Path, inside: str) -> Iterator[tuple[str, Path]]:
    with os.scandir(root / inside) as entries:
        for entry in entries:
            name = f"{inside}/{entry.name}" if inside else entry.name
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                raise RejectedError("files.link", f"{quoted(name)} is a link; a submission holds only plain files")
            if stat.S_ISDIR(mode) and re.fullmatch(FOLDERS, name):
                yield from _walk(root, name)
            elif not stat.S_ISREG(mode):
                raise RejectedError("files.kind", f"{quoted(name)} is not a plain file of a submission; remove it")
            elif not limit_of(name):
                raise RejectedError("files.unknown", f"{quoted(name)} is not a file of a submission; remove it")
            else:
                yield name, Path(entry.path)


def limit_of(name: str) -> int:
    """Most bytes of the file of that name; 0 for one that no submission holds."""
    return next((limit for form, limit in LIMITS.items() if re.fullmatch(form, name)), 0)


def _read(path: Path, limit: int, name: str) -> bytes:
    # the file may have been swapped since the walk: what was opened is looked at once more
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise RejectedError("files.kind", f"{quoted(name)} is not a plain file; remove it")
        content = opened.read(limit + 1)
    if len(content) > limit:
        raise RejectedError("files.size", f"{name} is larger than {limit // MIB} MiB")
    return content


def json_lines(content: bytes, name: str, most: int) -> Iterator[tuple[str, bytes]]:
    """(where it stands, content) of each line of a file of JSON lines, at most `most` of them. Raises `RejectedError`."""
    lines = content.split(b"\n")
    if lines.pop():
        raise RejectedError("rows.cut", f"{name} does not end with a line break: it was cut short")
    if len(lines) > most:
        raise RejectedError("rows.many", f"{name} holds more than the {most} rows that this design and these judges can have")
    if any(len(line) > LONGEST_LINE for line in lines):
        raise RejectedError("rows.long", f"{name} holds a line of more than {LONGEST_LINE // MIB} MiB")
    return ((f"{name}, line {number}", line) for number, line in enumerate(lines, start=1))


def parse_json(content: bytes, name: str) -> Any:
    """Strict JSON: UTF-8, no name twice in one object, finite numbers, limited depth. Raises `RejectedError`."""
    try:
        return json.loads(
            content.decode("utf-8"), object_pairs_hook=_object, parse_constant=_finite, parse_float=_finite, parse_int=_whole
        )
    except UnicodeDecodeError as error:
        raise RejectedError("json.encoding", f"{name} is not UTF-8") from error
    except RecursionError as error:
        raise RejectedError("json.deep", f"{name} nests too deep") from error
    except RejectedError as error:
        raise RejectedError(error.code, f"{name}: {error.said}") from error
    except ValueError as error:
        raise RejectedError("json.syntax", f"{name} is not JSON") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RejectedError("json.twice", "an object names a field twice")
    return found


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise RejectedError("json.number", f"{text[:20]} is not a finite number")
    return value


def _whole(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > 2**53:
        raise RejectedError("json.number", "a whole number is too large")
    return int(text)
