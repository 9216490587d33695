"""How far judges agree, as it stands in `scores.json`; `scoring/agreement.py` computes it."""

from __future__ import annotations

from dataclasses import dataclass

from helmbench_hf.scoring.tables import Estimate


@dataclass(frozen=True, slots=True)
class JudgePair:
    """Two judges on the replies that both graded on one criterion."""

    criterion: str
    """A code, or `all`: every criterion with PASS, PARTIAL and FAIL together."""
    title: str
    first: str
    second: str
    n: int
    """Verdicts that both gave."""
    same: float | None
    """Share of equal verdicts. None without any, likewise below."""
    kappa: float | None
    """Cohen's; None also where both judges give one and the same verdict throughout."""
    weighted_kappa: float | None
    """With linear weights over PASS, PARTIAL, FAIL or over the levels 5 to 1."""


@dataclass(frozen=True, slots=True)
class PanelAlpha:
    """Krippendorff's alpha of all judges on one criterion, for ordered levels."""

    criterion: str
    title: str
    verdicts: int
    """Verdicts behind it: those on replies with two verdicts or more."""
    alpha: Estimate
    """`n_pairs` counts these replies; jackknife interval over meanings. No value where no two verdicts differ."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Empty where fewer than two judges graded the run."""

    judge_pairs: tuple[JudgePair, ...]
    panel: tuple[PanelAlpha, ...]
