"""Numbers as people read them. What is absent is a dash with its reason, never a 0.

Scores are shares in `scores.json`; on the page they are points of 100.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DASH = "–"
_NO_WIDTH = 1e-9
"""An interval narrower than this has no width: every message came out alike, which says little."""
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in words: what stands large, its interval, and why either is missing."""

    value: str
    interval: str = ""
    why: str = ""

    @property
    def known(self) -> bool:
        """Say whether there is a number."""
        return self.value != DASH

    @property
    def spoken(self) -> str:
        """Give all of it as one phrase."""
        if not self.known:
            return f"no number ({self.why})" if self.why else "no number"
        beside = self.interval or self.why
        return f"{self.value} ({beside})" if beside else self.value


def number(value: float, digits: int = 0) -> str:
    """Give a number with a real minus sign, and no minus before a zero."""
    text = f"{value:,.{digits}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.replace("-", "")


def points(value: float | None) -> str:
    """Give a share as whole points of 100."""
    return DASH if value is None else number(100 * value)


def percent(value: float | None, digits: int | None = None) -> str:
    """Give a share as a percentage; below 10% with one digit, where that says something."""
    if value is None:
        return DASH
    if digits is None:
        digits = 1 if 0 < value < 0.1 and round(value * 100, 1) % 1 else 0
    return f"{number(100 * value, digits)}%"


def figure(estimate: Json | None, why: str = "", *, scale: float = 100, digits: int = 0, unit: str = "") -> Figure:
    """Give an estimate as a figure; `why` is the reason where there is none."""
    if estimate is None or estimate.get("value") is None:
        return Figure(DASH, why=str((estimate or {}).get("note") or why or "no data"))
    low, high = estimate.get("low"), estimate.get("high")
    value = number(scale * estimate["value"], digits) + unit
    if low is None or high is None:
        return Figure(value, why=str(estimate.get("note") or "no interval"))
    if high - low < _NO_WIDTH:
        n = estimate["n_meanings"]
        return Figure(value, why="no interval: one message" if n == 1 else f"no interval: {n} messages alike")
    return Figure(
        value, f"{number(scale * low, digits)} to {number(scale * high, digits)}{unit}", str(estimate.get("note") or "")
    )


def share(estimate: Json, unit: str = "") -> Figure:
    """Give a share whose interval is drawn no further than 0 and 100; the scores hold it as it came out."""
    ends = {name: None if estimate[name] is None else min(1.0, max(0.0, estimate[name])) for name in ("low", "high")}
    return figure({**estimate, **ends}, unit=unit)


def rate(found: Json | None) -> Figure:
    """Give hits of n as a percentage with its counts."""
    if not found or not found.get("n"):
        return Figure(DASH, why="no cases")
    return Figure(percent(found["hits"] / found["n"]), f"{count(found['hits'])} of {found['n']}")


def count(value: float) -> str:
    """Give a count that need not be whole."""
    return number(value) if float(value).is_integer() else number(value, 1)


def plural(n: int, one: str, many: str = "") -> str:
    """Give `1 pair`, `2 pairs`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def joined(words: list[str]) -> str:
    """Give `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def sample_size(estimate: Json) -> str:
    """Give pairs and messages behind an estimate, each unbroken."""
    parts = (plural(estimate["n_pairs"], "pair"), plural(estimate["n_meanings"], "message"))
    return ", ".join(part.replace(" ", "\u00a0") for part in parts)
