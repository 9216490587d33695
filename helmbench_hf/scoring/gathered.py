"""Rows by their key, as every table of this room begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def gathered(rows: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of each key; keys and values in the order in which they come."""
    found: dict[Key, list[Value]] = {}
    for key, value in rows:
        found.setdefault(key, []).append(value)
    return found
