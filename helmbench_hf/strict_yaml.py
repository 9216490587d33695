"""Read YAML without its traps: what YAML 1.1 would silently turn into something else is refused, with its line.

An unquoted value is text, unless it is `true`, `false`, `null`, a decimal number or a date. Everything that YAML reads in some
other way is refused: yes/no/on/off (`NO` is Norway), octal, hexadecimal and base-60 numbers, infinity, times, merge keys. So are
duplicate keys, anchors and aliases (alias bombs), tags, several documents, byte order marks, tabs and control characters.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.reader import Reader

MAX_BYTES = 1_000_000
MAX_DEPTH = 12
TOO_DEEP = "nested too deep"
FieldPath = tuple[str | int, ...]
"""Keys and list indices that lead to a field."""

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml takes a twentieth of the time
_RESOLVER: Any = yaml.resolver.Resolver()
_TEXT = "tag:yaml.org,2002:str"
_CLEAR = re.compile(r"|~|null|true|false|-?(0|[1-9][0-9]*)(\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}")
_UNCLEAR = re.compile(r"[yn]|[-+]?0[0-9_]+|[-+]?0[xob].*", re.IGNORECASE)
"""Text to PyYAML, but not to every reader of YAML."""
_UNSEEN = re.compile(f"{Reader.NON_PRINTABLE.pattern}|[\t\ufeff]")
_LOOKALIKES = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH", "MATHEMATICAL")
"""Scripts and blocks with letters that look like Latin ones."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with the authored files: where it is, what it is, how to fix it."""

    file: str
    line: int
    """0 where the problem is the file as a whole."""
    field: str
    what: str
    fix: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        said = f"{self.field + ': ' if self.field else ''}{self.what}"
        return f"{where}: {''.join(map(_unmistakable, said))}. Fix: {self.fix}."


def _unmistakable(letter: str) -> str:
    """The letter, followed by its code point if it is invisible or may be taken for another one."""
    plain = letter.isascii() or not (unicodedata.category(letter) == "Cf" or unicodedata.name(letter, "").startswith(_LOOKALIKES))
    return letter if plain else f"{letter}(U+{ord(letter):04X})"


def dotted(path: FieldPath) -> str:
    """A path as problems print it: `pairs.3.crisis`."""
    return ".".join(map(str, path))


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: its data, the line of every field by path, and its name in problems."""

    data: Any
    lines: dict[FieldPath, int]
    file: str = ""

    def line(self, path: FieldPath) -> int:
        """Line of the field, or of the nearest field that holds it; 1 if there is none."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def at(self, path: FieldPath) -> Any:
        """The value of the field."""
        value = self.data
        for part in path:
            value = value[part]
        return value

    def problem(self, field: str, what: str, fix: str) -> Problem:
        """A problem at the line of a field such as `pairs.3.crisis`."""
        path = tuple(int(part) if part.isdigit() else part for part in field.split("."))
        return Problem(self.file, self.line(path), field, what, fix)


class TrapError(Exception):
    """Something that is not allowed: its line, its path, what is wrong, how to fix it."""


def read(path: Path, shown: str) -> Document | Problem:
    """Parse one file; `shown` is its name in messages."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        return Problem(shown, 0, "", f"the file cannot be read ({error.strerror})", "check that it exists and is readable")
    try:
        return _parse(_decode(raw), shown)
    except TrapError as trap:
        line, field, what, fix = trap.args
        return Problem(shown, line, dotted(field), what, fix)
    except yaml.MarkedYAMLError as error:
        at_end = "end of stream" in (error.problem or "")  # then the place where the value began helps more
        mark = (error.context_mark if at_end else None) or error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        if "nesting depth" in (error.problem or ""):  # libyaml's limit, which newer versions reach before ours is seen
            return Problem(shown, line, "", TOO_DEEP, f"use at most {MAX_DEPTH} levels")
        what = f"not valid YAML ({error.problem or error.context})"
        return Problem(shown, line, "", what, "check indentation, colons and quotes at that line")


def _decode(raw: bytes) -> str:
    if len(raw) > MAX_BYTES:
        raise TrapError(0, (), f"the file has {len(raw)} bytes, more than {MAX_BYTES}", "split it")
    if raw.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise TrapError(1, (), "the file starts with a byte order mark", "save it as UTF-8 without BOM")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise TrapError(line, (), "the file is not UTF-8", "save it as UTF-8") from None
    if found := _UNSEEN.search(text):
        line = text.count("\n", 0, found.start()) + 1
        what = f"the file holds the character U+{ord(found.group()):04X}"
        raise TrapError(line, (), what, "remove it; indent with spaces and save as UTF-8")
    return text


def _parse(text: str, shown: str) -> Document:
    events: Iterator[Any] = iter(yaml.parse(text, Loader=_PARSER))
    lines: dict[FieldPath, int] = {}
    data = None
    next(events)  # the stream starts
    if isinstance(next(events), yaml.DocumentStartEvent):
        data = _value(next(events), events, (), lines)
        next(events)  # the document ends
        second = next(events)
        if not isinstance(second, yaml.StreamEndEvent):
            raise TrapError(second.start_mark.line + 1, (), "the file holds 2 documents or more", "write exactly one")
    if data is None:
        raise TrapError(1, (), "the file is empty", "write exactly one document")
    return Document(data, lines, shown)


def _value(event: Any, events: Iterator[Any], path: FieldPath, lines: dict[FieldPath, int]) -> Any:
    """The value that begins with `event`; its lines and those of what it holds are noted."""
    line = _line(event, path)
    lines.setdefault(path, line)
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event, path)
    if len(path) >= MAX_DEPTH:
        raise TrapError(line, (), TOO_DEEP, f"use at most {MAX_DEPTH} levels")
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Any] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(_value(event, events, (*path, len(items)), lines))
        return items
    fields: dict[Any, Any] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        line = _line(event, path)
        if not isinstance(event, yaml.ScalarEvent):
            raise TrapError(line, path, "a key must be a plain word", "write the key as text")
        key = _scalar(event, path)
        if key in fields:
            raise TrapError(line, (*path, key), "the key stands twice", "keep one of the two")
        lines[(*path, key)] = line
        fields[key] = _value(next(events), events, (*path, key), lines)
    return fields


def _line(event: Any, path: FieldPath) -> int:
    """The line of an event, which must not have an anchor or a tag."""
    line = int(event.start_mark.line) + 1
    if event.anchor is not None:  # an alias carries the name of its anchor
        raise TrapError(line, path, "anchors and aliases are not allowed", "write the value out")
    if event.tag is not None:
        raise TrapError(line, path, f"a value has the tag {event.tag}", "remove it, or put the value in quotes")
    return line


def _scalar(event: Any, path: FieldPath) -> Any:
    text: str = event.value
    if not event.implicit[0]:  # it is quoted, or a block of text
        return text
    line = event.start_mark.line + 1
    if not _CLEAR.fullmatch(text):
        if _UNCLEAR.fullmatch(text) or _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) != _TEXT:
            fix = "put it in quotes, or write true, false, a finite decimal number or a date such as 2026-01-05"
            raise TrapError(line, path, f"the unquoted value `{text}` is ambiguous", fix)
        return text
    if text in ("true", "false"):
        return text == "true"
    if text in ("", "~", "null"):
        return None
    try:
        if "-" in text[1:]:
            return dt.date.fromisoformat(text)
        return float(text) if "." in text else int(text)
    except ValueError as error:
        raise TrapError(line, path, f"the value `{text}` is impossible ({error})", "correct it or quote it") from None
