"""Numbers as people read them. A missing number is a dash with its reason, never a 0.

Scores are shares in `scores.json`; on the page they are points of 100.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from helmbench_hf.scoring.scores import Estimate, Rate

DASH = "–"
_NO_WIDTH = 1e-9
"""An interval narrower than this has no width: every message had the same result, which says little."""
_PLURALS = {"try": "tries", "reply": "replies", "criterion": "criteria"}


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in words, its interval, and why either is missing."""

    value: str
    interval: str = ""
    why: str = ""

    @property
    def known(self) -> bool:
        """Whether there is a number."""
        return self.value != DASH

    @property
    def spoken(self) -> str:
        """All of it as one phrase."""
        if not self.known:
            return f"no number ({self.why})" if self.why else "no number"
        beside = self.interval or self.why
        return f"{self.value} ({beside})" if beside else self.value


def number(value: float | None, digits: int = 0) -> str:
    """The number with a real minus sign, and no minus before a zero; a dash for None, NaN and infinity."""
    if value is None or not math.isfinite(value):
        return DASH
    text = f"{value:,.{digits}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.replace("-", "")


def points(share: float | None, digits: int = 0) -> str:
    """A share as points of 100."""
    return number(None if share is None else 100 * share, digits)


def percent(share: float | None, digits: int | None = None) -> str:
    """A share as a percentage; below 10% with one digit where the digit is not 0."""
    if share is None or not math.isfinite(share):
        return DASH
    if digits is None:
        digits = 1 if 0 < share < 0.1 and round(share * 100, 1) % 1 else 0
    return f"{number(100 * share, digits)}%"


def figure(estimate: Estimate | None, why: str = "", *, scale: float = 100, digits: int = 0, unit: str = "") -> Figure:
    """An estimate times `scale`, with its interval; `why` is the reason where there is no number."""
    if estimate is None or estimate.value is None or not math.isfinite(estimate.value):
        return Figure(DASH, why=(estimate.note if estimate else "") or why or "no data")
    value = number(scale * estimate.value, digits) + unit
    if estimate.low is None or estimate.high is None:
        return Figure(value, why=estimate.note or "no interval")
    if estimate.high - estimate.low < _NO_WIDTH:
        n = estimate.n_meanings
        return Figure(value, why="no interval: one message" if n == 1 else f"no interval: {n} messages alike")
    return Figure(
        value, f"{number(scale * estimate.low, digits)} to {number(scale * estimate.high, digits)}{unit}", estimate.note
    )


def share(estimate: Estimate, unit: str = "") -> Figure:
    """A share whose interval is cut at 0 and 100; the scores hold it as it was computed."""
    low, high = (None if end is None else min(1.0, max(0.0, end)) for end in (estimate.low, estimate.high))
    return figure(replace(estimate, low=low, high=high), unit=unit)


def signed(estimate: Estimate | None, why: str = "") -> Figure:
    """A change with its sign."""
    found = figure(estimate, why or "n too small")
    positive = estimate is not None and (estimate.value or 0) > 0
    return replace(found, value=f"+{found.value}") if positive and found.known else found


def rate(found: Rate | None) -> Figure:
    """Hits of n as a percentage with its counts."""
    if found is None or not found.n:
        return Figure(DASH, why="no cases")
    return Figure(percent(found.hits / found.n), f"{count(found.hits)} of {found.n}")


def probability(value: float | None) -> str:
    """A p-value; three digits where it is small."""
    if value is not None and value < 0.001:
        return "< 0.001"
    return number(value, 3 if value is not None and value < 0.1 else 2)


def count(value: float) -> str:
    """A count that may have a fraction."""
    return number(value, 0 if float(value).is_integer() else 1)


def plural(n: int, one: str) -> str:
    """`1 pair`, `2 pairs`."""
    return f"{n:,} {one if n == 1 else _PLURALS.get(one, f'{one}s')}"


def joined(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def sample_size(estimate: Estimate) -> str:
    """Pairs and messages behind an estimate; each stays on one line."""
    sizes = (plural(estimate.n_pairs, "pair"), plural(estimate.n_meanings, "message"))
    return ", ".join(size.replace(" ", "\u00a0") for size in sizes)
