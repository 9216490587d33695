"""The parts of `scores.json` that say what the judge's own errors do to the scores.

Import them from `scoring/result.py`, which says what the numbers mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from helmbench_hf.scoring.tables import Estimate


@dataclass(frozen=True, slots=True)
class Corrected:
    """A score with the judge's known errors taken out, over those scenarios in which that can be done."""

    estimate: Estimate
    """Its interval carries the choice of messages, the labels of the check and the difference between sources of replies."""
    uncorrected: float | None
    """The score of the same pairs as the judge gave it."""
    messages: float | None
    """Standard error from the choice of messages."""
    labels: float | None
    """Standard error from the number of labels that the check rests on."""
    sources: float | None
    """Standard error from the judge's erring differently on another model's replies; None where the check cannot say."""
    scenarios: tuple[str, ...]
    """Codes of the scenarios that it averages."""
    left_out: tuple[str, ...]
    """Codes of the planned scenarios that it cannot hold."""


def absent(reason: str, left_out: tuple[str, ...] = ()) -> Corrected:
    """No corrected figure, and why."""
    return Corrected(Estimate(None, None, None, 0, 0, note=reason), None, None, None, None, (), left_out)


NOT_CORRECTED = absent("not corrected")


@dataclass(frozen=True, slots=True)
class CorrectionRow:
    """One criterion that enters a headline score, and what a check says of the judge on it. Loss is 1 - value."""

    criterion: str
    title: str
    check: str
    """Name of the check's folder; empty where none has labels of it."""
    basis: Literal["gold", "human", ""]
    n_pass: int
    """Labels with a verdict that should PASS."""
    n_partial: int
    n_fail: int
    n_sources: int
    """Sources of replies (manners of writing) among them."""
    fail_loss: float | None
    """r: mean loss of replies that should FAIL."""
    pass_loss: float | None
    """f: mean loss of replies that should PASS."""
    separation: float | None
    """r - f."""
    method: Literal["matrix", "affine", ""]
    state: Literal["corrected", "unscored"]
    reason: str


@dataclass(frozen=True, slots=True)
class Correction:
    """How the corrected scores were made."""

    judge: str
    """The judge that gives the credit; empty where there is none."""
    reason: str
    """Why nothing is corrected; empty where something is."""
    rho: float | None
    """Intraclass correlation of the judge's errors within a source of replies, pooled over all labels."""
    rho_df: int
    rows: tuple[CorrectionRow, ...]
