"""YAML without its traps: every value that YAML 1.1 would silently turn into something else is refused, with its line.

Refused: duplicate keys, anchors and aliases (alias bombs), several documents, a byte order mark, unquoted yes/no/on/off
(`NO` is Norway), numbers with a leading zero (octal), numbers with colons (base 60), explicit tags.
"""

from __future__ import annotations

import contextlib
import math
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import yaml
from yaml.reader import Reader

MAX_BYTES = 1_000_000
MAX_DEPTH = 12
_TRAPS = (
    (re.compile(r"^(yes|no|on|off|y|n)$", re.I), "YAML reads this word as true or false; put it in quotes"),
    (re.compile(r"^[-+]?0[0-9_]+$"), "YAML reads a leading zero as octal; put it in quotes or drop the zero"),
    (re.compile(r"^[-+]?[0-9]+(:[0-9]+)+(\.[0-9]*)?$"), "YAML reads colons as base 60; put it in quotes"),
    (re.compile(r"^[-+]?\.(inf|nan)$", re.I), "write a finite number"),
    (re.compile(r"^[-+]?0[xob]", re.I), "write the number in decimal, or put it in quotes"),
)
_SCALARS = {"str", "int", "float", "bool", "null", "timestamp"}
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class _Loader(yaml.SafeLoader):
    """A loader of our own: lmformatenforcer, which vLLM imports, lets every other `SafeLoader` read dates as text."""

    yaml_constructors: ClassVar[dict[str | None, Any]] = {
        **yaml.SafeLoader.yaml_constructors,
        _TIMESTAMP: yaml.SafeLoader.construct_yaml_timestamp,
    }


_FAST: Any = getattr(yaml, "CSafeLoader", None)
"""libyaml's reader, where PyYAML brings it: a fifth of the time."""
_APART = re.compile("[\t\ufeff]")
"""Where these stand, libyaml takes what PyYAML's own reader refuses, or reads something else."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with the authored content: where it is, what it is, how to mend it."""

    file: str
    line: int
    field: str
    what: str
    mend: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        said = f"{self.field + ': ' if self.field else ''}{self.what}"
        return f"{where}: {spelled(said)}. Mend: {self.mend}."


_ALIKE = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH", "MATHEMATICAL")
"""Scripts and blocks with letters that look like Latin ones."""


def spelled(text: str) -> str:
    """The text with its code point behind each letter that may be taken for another one, and for each that is not seen."""
    return "".join(f"{letter}(U+{ord(letter):04X})" if _deceives(letter) else letter for letter in text)


def _deceives(letter: str) -> bool:
    return not letter.isascii() and (unicodedata.category(letter) == "Cf" or unicodedata.name(letter, "").startswith(_ALIKE))


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: its data, and the line of every field by path."""

    data: Any
    lines: dict[tuple[str | int, ...], int]

    def line(self, path: tuple[str | int, ...]) -> int:
        """Line of the field, or of the nearest field that holds it; 1 where nothing is known."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def at(self, path: tuple[str | int, ...]) -> Any:
        """The value of the field."""
        value = self.data
        for part in path:
            value = value[part]
        return value


class TrapError(Exception):
    """A construct that is not allowed, at a line."""

    def __init__(self, line: int, field: str, what: str, mend: str) -> None:
        super().__init__(what)
        self.line, self.field, self.what, self.mend = line, field, what, mend


def read(path: Path, shown: str) -> Document | Problem:
    """Parse one file; `shown` is its name in messages."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        return Problem(shown, 0, "", f"the file cannot be read ({error.strerror})", "check that it exists and is readable")
    try:
        return _parse(_decode(raw))
    except TrapError as trap:
        return Problem(shown, trap.line, trap.field, trap.what, trap.mend)
    except yaml.MarkedYAMLError as error:
        at_end = "end of stream" in (error.problem or "")  # then the place where it began helps more
        mark = (error.context_mark if at_end else None) or error.problem_mark or error.context_mark
        what = f"not valid YAML ({error.problem or error.context})"
        return Problem(shown, mark.line + 1 if mark else 0, "", what, "check indentation, colons and quotes at that line")


def _decode(raw: bytes) -> str:
    if len(raw) > MAX_BYTES:
        raise TrapError(0, "", f"the file has {len(raw)} bytes, more than {MAX_BYTES}", "split it")
    if raw.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise TrapError(1, "", "the file starts with a byte order mark", "save it as UTF-8 without BOM")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise TrapError(line, "", "the file is not UTF-8", "save it as UTF-8") from None
    if found := Reader.NON_PRINTABLE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        what = f"the file holds the control character U+{ord(found.group()):04X}"
        raise TrapError(line, "", what, "remove it, or save as UTF-8")
    return text


def _parse(text: str) -> Document:
    if _FAST is not None and not _APART.search(text):
        with contextlib.suppress(yaml.YAMLError):  # the other reader says it in the same words everywhere
            return _parse_by(_FAST, text)
    return _parse_by(_Loader, text)


def _parse_by(reader: Any, text: str) -> Document:
    documents = depth = 0
    for event in yaml.parse(text, Loader=reader):
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise TrapError(_line(event), "", "anchors and aliases are not allowed", "write the value out")
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
            raise TrapError(_line(event), "", f"a value has the tag {event.tag}", "remove it, or put the value in quotes")
        if documents > 1:
            raise TrapError(_line(event), "", "the file holds 2 documents or more", "write exactly one")
        if depth > MAX_DEPTH:  # before anything recursive reads it
            raise TrapError(_line(event), "", "nested too deep", f"use at most {MAX_DEPTH} levels")
    root = yaml.compose(text, Loader=reader)
    lines: dict[tuple[str | int, ...], int] = {}
    data = None if root is None else _construct(root, (), lines)
    if data is None:
        raise TrapError(1, "", "the file is empty", "write exactly one document")
    return Document(data, lines)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _construct(node: yaml.Node, path: tuple[str | int, ...], lines: dict[tuple[str | int, ...], int]) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, path)
    if isinstance(node, yaml.SequenceNode):
        return [_construct(item, (*path, index), lines) for index, item in enumerate(node.value)]
    result: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise TrapError(line, _dotted(path), "a key must be a plain word", "write the key as text")
        key = _scalar(key_node, path)
        if key in result:
            raise TrapError(line, _dotted((*path, key)), "the key stands twice", "keep one of the two")
        lines[(*path, key)] = line
        result[key] = _construct(value_node, (*path, key), lines)
    return result


def _scalar(node: yaml.ScalarNode, path: tuple[str | int, ...]) -> Any:
    line = node.start_mark.line + 1
    kind = node.tag.rpartition(":")[2]
    if kind not in _SCALARS:
        raise TrapError(line, _dotted(path), f"`{node.value}` has a meaning of its own in YAML", "remove it, or put it in quotes")
    if not node.style:  # None, or '' from libyaml: unquoted
        for pattern, mend in _TRAPS:
            if pattern.match(node.value):
                raise TrapError(line, _dotted(path), f"the unquoted value `{node.value}` is ambiguous", mend)
    try:
        value = _Loader("").construct_object(node)
    except ValueError as error:
        what = f"the value `{node.value}` is impossible ({error})"
        raise TrapError(line, _dotted(path), what, "correct it or quote it") from None
    if isinstance(value, float) and not math.isfinite(value):
        raise TrapError(line, _dotted(path), f"the value `{node.value}` is not finite", "write a finite number")
    return value


def _dotted(path: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in path)
