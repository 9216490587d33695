"""Is a run the copy of another one? Replies that are nearly the same under another model's name are held for a person.

Each longer reply is reduced to the smallest hashes of its three-word pieces (Broder 1997, bottom-k sketch), so that a changed
word or sign hides nothing.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Mapping

from helmbench_hf.records import Completion

PIECE, KEPT = 3, 16
"""Words of a piece, and hashes kept of a reply."""
SHORTEST = 12
"""Words below which replies are alike by chance and say nothing."""
ALIKE = 0.6
"""Share of pieces in common from which two replies are nearly the same."""
LEAST_REPLIES, LEAST_SHARE = 10, 0.5
"""Replies that two runs must have in common, and the share that must be alike, before they are named."""
Sketch = Mapping[str, list[int]]
"""By request name."""


def sketch(answers: Mapping[str, Completion]) -> dict[str, list[int]]:
    """The reduced replies of a run."""
    return {name: found for name, each in answers.items() if (found := _reduced(each.text))}


def _reduced(text: str) -> list[int]:
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text[:20_000]).casefold())
    if len(words) < SHORTEST:
        return []
    pieces = {zlib.crc32(" ".join(words[at : at + PIECE]).encode("utf-8", "replace")) for at in range(len(words) - PIECE + 1)}
    return sorted(pieces)[:KEPT]


def share_alike(one: Sketch, other: Sketch) -> float:
    """The share of the replies in common that are nearly the same; 0 where there are too few to say."""
    common = one.keys() & other.keys()
    if len(common) < LEAST_REPLIES:
        return 0.0
    return sum(_overlap(one[name], other[name]) >= ALIKE for name in common) / len(common)


def _overlap(one: list[int], other: list[int]) -> float:
    first, second = set(one), set(other)
    smallest = sorted(first | second)[: min(KEPT, max(len(first), len(second)))]
    return sum(each in first and each in second for each in smallest) / len(smallest)
