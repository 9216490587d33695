"""Which listed tags an answer sets, and what it names that is on no list.

A constrained answer holds listed tags alone. A free one adds reasons (`CHECK_IN: why`, `CHECK_IN (why)`), spells a tag in its own
way (`CheckIn`), or wraps it in an object. A tag counts where it begins an entry or stands in the field that names it. Inside
other words it is only mentioned, and a mention may be a denial.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

_NAMES = ("tag", "name", "label", "code", "id")
"""Fields of an object in which its tag stands."""
_ENTRY_END = re.compile(r",(?![^()]{0,200}\))")
"""A comma, but not one in brackets."""
_REASON = re.compile(r"""[\s"'`*\])>}_]{0,4}(?:[:=(\[{]|[-–—→]+>?\s|\.\s)""")
"""What may stand between a tag and a reason for it."""
_DENIED = re.compile(
    r"""[\s"'`*(]*(?:(?:no|none|false|0|off|n/?a)(?=\W*$|\s*[,.;:()–—-])"""
    r"|not (?:set|needed|applicable|present|required)\b|(?:does|did)(?: not|n't|n’t) apply\b)",
    re.IGNORECASE,
)
"""A reason that says that the tag is not set."""
_SAYS_NO = re.compile(
    r"\b(?:no|not|none|neither|nor|never|nothing|without|except|null|n/a|empty)\b|\w(?:n't|n’t)\b", re.IGNORECASE
)
_UNCHECKED = re.compile(r"\W*(?:\[\s?\]|[!¬~☐❌✗✘])")


def read_tags(value: Any, listed: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Give the listed tags that `value` sets, as often as it does, and the other entries; None where it is no list of tags.

    `value` is a list, one string with commas or line breaks, or an object with a truth for each tag.
    """
    if isinstance(value, (str, dict)):
        value = [value]
    if not isinstance(value, (list, type(None))):
        return None
    found: list[str] = []
    others: list[str] = []
    heads = _heads(tuple(listed))
    for entry in value or ():
        for text in _texts(entry):
            _read(text, heads, found, others)
    return found, others


def _texts(entry: Any) -> Iterator[str]:
    """Give an entry as text: an object names its tag in a field, or has a truth or a reason for each of several tags."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, list):
        yield from (each for each in entry if isinstance(each, str))
    elif not isinstance(entry, dict):
        yield str(entry)
    elif (name := _named(entry)) is not None:
        if not _is_off(entry):
            yield name
    else:
        for name, answer in entry.items():
            if isinstance(answer, str):
                yield f"{name}: {answer}" if answer.strip() else ""
            elif answer == 1 or (isinstance(answer, (dict, list)) and not _is_off(answer)):
                yield name


def _named(entry: Mapping[str, Any]) -> str | None:
    return next((text for key, text in entry.items() if key.casefold() in _NAMES and isinstance(text, str)), None)


def _is_off(answer: Mapping[str, Any] | list[Any]) -> bool:
    return not answer or (isinstance(answer, Mapping) and any(each is False for each in answer.values()))


_Heads = tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...]


@lru_cache(256)
def _heads(listed: tuple[str, ...]) -> _Heads:
    """Each tag with two patterns: in any spelling at the start of an entry, and as the list writes it; longest first."""
    made = []
    for tag in sorted(listed, key=len, reverse=True):
        anyhow = r"[\s_.‐-―/-]{0,3}".join(map(re.escape, tag.split("_")))
        start, end = r"(?:\[x\])?[\W\d_]*(?:\[x\]\W*)?", r"(?![^\W_])"
        made.append((tag, re.compile(start + anyhow + end, re.IGNORECASE), re.compile(start + re.escape(tag) + end)))
    return tuple(made)


def _read(text: str, heads: _Heads, found: list[str], others: list[str]) -> None:
    """Read one string. Words that say no end it: what they deny may stand behind the next comma.

    In a reason only a tag that is written as on the list begins the next entry; its everyday words do not.
    """
    for line in text.splitlines():
        reason = False
        for entry in _ENTRY_END.split(line.replace(";", ",").replace("|", ",")):
            head = _head(entry, heads, exactly=reason)
            if head is not None:
                tag, rest = head
                reason = reason or bool(rest)
                if not _DENIED.match(rest) and not _UNCHECKED.match(entry):
                    found.append(tag)
            elif _SAYS_NO.search(entry):
                return
            elif entry.strip() and not reason:
                others.append(entry.strip())


def _head(entry: str, heads: _Heads, *, exactly: bool) -> tuple[str, str] | None:
    """The listed tag that begins an entry and the reason behind it, or None."""
    for tag, anyhow, as_listed in heads:
        if begun := (as_listed if exactly else anyhow).match(entry):
            rest = entry[begun.end() :]
            if not re.search(r"[^\W_]", rest):
                return tag, ""
            if led := _REASON.match(rest):
                return tag, rest[led.end() :]
    return None
