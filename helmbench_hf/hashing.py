"""Hashes of plain values: one canonical form, so that the same content has the same hash on every machine."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def canonical(value: Any) -> str:
    """Write plain JSON values in the one form that is hashed: sorted keys, no spaces, ASCII only.

    Raises `TypeError` for what is not JSON or has a key that is not a string (1 and "1" would collide), and
    `ValueError` for NaN and infinities.
    """
    _check_keys(value)
    return _ENCODER.encode(value)


def digest(value: Any) -> str:
    """SHA-256 of the canonical form, 64 hex digits."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()


def text_sha(text: str) -> str:
    """SHA-256 of a text as UTF-8, 64 hex digits; lone surrogates pass, because models and templates can hold them."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def tokens_sha(tokens: Sequence[int]) -> str:
    """SHA-256 of token ids as little-endian unsigned 32-bit numbers, 64 hex digits."""
    return hashlib.sha256(struct.pack(f"<{len(tokens)}I", *tokens)).hexdigest()


def _check_keys(value: Any) -> None:
    if isinstance(value, str):  # before the rest: most values are, and an abstract class is slow to ask
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise TypeError(f"A key of a hashed mapping must be a string, not {key!r}.")
            _check_keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_keys(inner)
