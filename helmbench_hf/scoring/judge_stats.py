"""How far a judge errs, from its verdicts beside the right ones. Pure functions of counts.

Sources: Clopper and Pearson (1934, Biometrika 26:404); Cohen (1960, Educ Psychol Meas 20:37) and, weighted, (1968, Psychol
Bull 70:213); Krippendorff (2011, Computing Krippendorff's Alpha-Reliability); Rogan and Gladen (1978, Am J Epidemiol 107:71)
for the share behind an imperfect test; Newcombe (1998, Stat Med 17:873, method 10) for the difference of two shares.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from helmbench_hf.records import Answer
from helmbench_hf.scoring.intervals import clopper_pearson

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SEPARATION = 0.6
"""Least recall minus false-FAIL rate at which a share of FAIL verdicts can be corrected (measurement review, 9.10)."""
Z95 = 1.959963984540054
"""97.5% quantile of the normal distribution."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share k of n among labels with a verdict, and its one-sided 95% bound.

    The bound counts each of the `missing` labels without a verdict against the judge: silence passes no gate.
    """

    k: int
    n: int
    missing: int
    value: float | None
    """None where n is 0."""
    bound: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A share k1 of n1 minus a share k0 of n0, with its 95% interval; None where either has no n."""

    k0: int
    n0: int
    k1: int
    n1: int
    value: float | None
    low: float | None
    high: float | None


def at_least(k: int, n: int, missing: int = 0) -> Rate:
    """A share that should be high, with its lower bound."""
    return Rate(k, n, missing, k / n if n else None, clopper_pearson(k, n + missing)[0])


def at_most(k: int, n: int, missing: int = 0) -> Rate:
    """A share that should be low, with its upper bound; 1 where there is no label."""
    return Rate(k, n, missing, k / n if n else None, clopper_pearson(k + missing, n + missing)[1])


def kappa(pairs: Sequence[tuple[Answer, Answer]], levels: Sequence[Answer], *, weighted: bool = False) -> float | None:
    """Cohen's kappa of pairs (n) of verdicts; `weighted`: by the distance between the `levels`, which stand in their order.

    None where there is no pair, or where both raters give one and the same verdict throughout, which says nothing.
    """
    import numpy as np

    if not pairs:
        return None
    place = {level: index for index, level in enumerate(levels)}
    table = np.zeros((len(levels), len(levels)))
    for (one, two), count in Counter(pairs).items():
        table[place[one], place[two]] = count / len(pairs)
    steps = np.abs(np.subtract.outer(np.arange(len(levels)), np.arange(len(levels)))).astype(float)
    cost = steps if weighted else (steps > 0).astype(float)
    expected = float((np.outer(table.sum(1), table.sum(0)) * cost).sum())
    return None if expected <= 0 else 1 - float((table * cost).sum()) / expected


def coincidences(said: Sequence[Answer], levels: Sequence[Answer]) -> npt.NDArray[np.float64]:
    """One reply's part (k, k) of Krippendorff's coincidence matrix; zeros where it has fewer than two verdicts.

    Its m verdicts in ordered pairs, each worth 1 / (m - 1); `levels` (k) in their order. Parts of several replies add up.
    """
    import numpy as np

    counts = np.array([said.count(level) for level in levels], dtype=np.float64)
    return (np.outer(counts, counts) - np.diag(counts)) / max(1, len(said) - 1)


def alpha(table: npt.NDArray[np.float64]) -> float | None:
    """Krippendorff's alpha for ordered levels, of a coincidence matrix (k, k) in their order; None where no two verdicts differ.

    Two levels are as far apart as there are verdicts between them, with half of those at either end.
    """
    value = float(alphas(table[None])[0])
    return None if math.isnan(value) else value


def alphas(tables: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """`alpha` of many matrices (n, k, k) at once, as an array (n); nan where no two verdicts differ."""
    import numpy as np

    counts = tables.sum(axis=1)
    middles = np.cumsum(counts, axis=1) - counts / 2
    cost = (middles[:, :, None] - middles[:, None, :]) ** 2
    # counts are whole numbers of verdicts but for the rounding that a subtraction leaves
    differ = (counts > 0.5).sum(axis=1) > 1
    expected = (counts[:, :, None] * counts[:, None, :] * cost).sum(axis=(1, 2))
    seen = (tables * cost).sum(axis=(1, 2))
    found: npt.NDArray[np.float64] = 1 - seen * (counts.sum(axis=1) - 1) / np.where(differ, expected, np.nan)
    return found


def precision_at(recall: float, false_fail: float, prevalence: float) -> float | None:
    """Share of FAIL verdicts that are right where a share `prevalence` of all replies should FAIL; None without a FAIL."""
    said = prevalence * recall + (1 - prevalence) * false_fail
    return prevalence * recall / said if said > 0 else None


def kappa_at(recall: float, false_fail: float, prevalence: float) -> float | None:
    """Cohen's kappa of FAIL against all else at this prevalence; None where both give one verdict throughout."""
    said = prevalence * recall + (1 - prevalence) * false_fail
    observed = prevalence * recall + (1 - prevalence) * (1 - false_fail)
    expected = prevalence * said + (1 - prevalence) * (1 - said)
    return (observed - expected) / (1 - expected) if expected < 1 else None


def corrected(share: float, recall: float, false_fail: float) -> float | None:
    """The share of replies that should FAIL behind a judged share: (q - f) / (r - f) within 0..1.

    None where recall and false-FAIL rate are closer than `SEPARATION`: the judge cannot tell.
    """
    # 0.8 - 0.2 is a little above 0.6, 0.7 - 0.1 a little below
    if recall - false_fail < SEPARATION - 1e-9:
        return None
    return min(1.0, max(0.0, (share - false_fail) / (recall - false_fail)))


def difference(k0: int, n0: int, k1: int, n1: int) -> Difference:
    """k1 of n1 minus k0 of n0 with Newcombe's interval."""
    if not n0 or not n1:
        return Difference(k0, n0, k1, n1, None, None, None)
    (low0, high0), (low1, high1) = _wilson(k0, n0), _wilson(k1, n1)
    share0, share1 = k0 / n0, k1 / n1
    value = share1 - share0
    low = value - math.hypot(share1 - low1, high0 - share0)
    high = value + math.hypot(high1 - share1, share0 - low0)
    return Difference(k0, n0, k1, n1, value, max(-1.0, low), min(1.0, high))


def _wilson(k: int, n: int) -> tuple[float, float]:
    """Two-sided 95% score interval of a share."""
    square = Z95 * Z95
    middle = (k + square / 2) / (n + square)
    half = Z95 / (n + square) * math.sqrt(k * (n - k) / n + square / 4)
    return max(0.0, middle - half), min(1.0, middle + half)
