"""Intervals: cluster-t by meaning with scenario variances shrunk to their kind's, two-stage bootstrap, Clopper-Pearson.

A *meaning* is one message whatever its copies, users and conditions; only meanings are independent (review, 9.9).

Sources: linearized ratio with the small-sample correction of Bell and McCaffrey (2002, Survey Methodology 28:169) for
unequal clusters; shrinking variances towards a pool with nu0 prior degrees of freedom as Smyth (2004, SAGMB 3:3);
Satterthwaite (1946, Biometrics Bulletin 2:110); bootstrap of m - 1 clusters, Rao and Wu (1988, JASA 83:231);
Clopper and Pearson (1934, Biometrika 26:404), for shares over distinct messages as Korn and Graubard (1998).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from helmbench_hf.scoring.result import Estimate

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Draws: TypeAlias = dict[str, npt.NDArray[np.float64]]
    """Bootstrap values by behavior, each of shape (replicates,)."""

PRIOR_DF = 4.0
CONFIDENCE = 0.95
REPLICATES = 2000
NOTHING = 1e-20
"""A variance below this is rounding, not variation."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """A weighted mean over clusters: per meaning its total weight and its weighted mean; `pairs` is the number of values."""

    weights: tuple[float, ...]
    means: tuple[float, ...]
    pairs: int

    @property
    def value(self) -> float:
        """The weighted mean."""
        total = sum(self.weights)
        return sum(w * v for w, v in zip(self.weights, self.means, strict=True)) / total


@dataclass(frozen=True, slots=True)
class Piece:
    """One scenario's part of a sum: its value, and its variance as `unit` (variance of one cluster) x `scale`."""

    value: float
    unit: float
    scale: float
    df: float
    pool: str
    """Scenarios of one pool lend each other their variance."""
    pairs: int
    meanings: int

    @property
    def variance(self) -> float:
        """Sampling variance of `value`."""
        return self.unit * self.scale


def cluster(values: Sequence[float], weights: Sequence[float], meanings: Sequence[str]) -> Clusters:
    """Gather values (n) with positive weights (n) by meaning (n)."""
    totals: dict[str, float] = defaultdict(float)
    sums: dict[str, float] = defaultdict(float)
    for value, weight, meaning in zip(values, weights, meanings, strict=True):
        totals[meaning] += weight
        sums[meaning] += weight * value
    names = sorted(totals)
    return Clusters(tuple(totals[name] for name in names), tuple(sums[name] / totals[name] for name in names), len(values))


def piece(clusters: Clusters, pool: str) -> Piece:
    """Linearized ratio: residuals of cluster means, corrected for having estimated their mean."""
    total, value = sum(clusters.weights), clusters.value
    shares = [weight / total for weight in clusters.weights]
    scale = sum(share**2 for share in shares)
    residual = sum((p * (v - value)) ** 2 for p, v in zip(shares, clusters.means, strict=True))
    expected = scale - 2 * sum(share**3 for share in shares) + scale**2
    count = len(shares)
    unit = residual / expected if count > 1 else 0.0
    return Piece(value, unit, scale, count - 1.0, pool, clusters.pairs, count)


def shrink(pieces: Sequence[Piece]) -> list[Piece]:
    """Pull every unit variance towards its pool's: (df s2 + nu0 pool) / (df + nu0).

    A pool without any degree of freedom borrows from all pieces; where there is none at all, `df` stays 0 and no interval
    can be given.
    """
    pools: dict[str, list[Piece]] = defaultdict(list)
    for item in pieces:
        pools[item.pool].append(item)
    return [_shrunk(item, pools[item.pool] if sum(p.df for p in pools[item.pool]) else pieces) for item in pieces]


def _shrunk(item: Piece, pool: Sequence[Piece]) -> Piece:
    total = sum(member.df for member in pool)
    if total == 0:
        return item
    pooled = sum(member.df * member.unit for member in pool) / total
    unit = (item.df * item.unit + PRIOR_DF * pooled) / (item.df + PRIOR_DF)
    borrowed = PRIOR_DF / total
    spread = ((1 + borrowed) ** 2 * item.df + borrowed**2 * (total - item.df)) / (item.df + PRIOR_DF) ** 2
    return replace(item, unit=unit, df=min(item.df + PRIOR_DF, 1 / spread))


def combine(
    pieces: Sequence[Piece], coefficients: Sequence[float], note: str = "", errors: Sequence[tuple[float, float]] = ()
) -> Estimate:
    """The weighted sum of pieces that have been shrunk (or not), with a t interval on Satterthwaite's degrees of freedom.

    `errors`: variances of the whole sum that do not come from the choice of messages, each with its degrees of freedom. They
    never narrow the interval, although they can raise the degrees of freedom.
    """
    pairs, meanings = sum(item.pairs for item in pieces), sum(item.meanings for item in pieces)
    if not pieces:
        return Estimate(None, None, None, 0, 0, note=note or "nothing was scored")
    value = sum(c * item.value for c, item in zip(coefficients, pieces, strict=True))
    if any(item.df == 0 for item in pieces):
        return Estimate(value, None, None, pairs, meanings, note=_joined(note, "one message alone has no interval"))
    parts = [(c**2 * item.variance, item.df) for c, item in zip(coefficients, pieces, strict=True)]
    alike = sum(part for part, _ in parts) < NOTHING
    variance = sum(part for part, _ in (*parts, *errors))
    if variance < NOTHING:
        same = _joined(note, "every message came out alike, so the interval has no width and says little")
        return Estimate(value, value, value, pairs, meanings, 0.0, sum(item.df for item in pieces), same)
    error, df, half = _satterthwaite([*parts, *errors])
    if errors and not alike:
        half = max(half, _satterthwaite(parts)[2])
    note = _joined(note, "every message came out alike, so the interval carries the judge's errors alone") if alike else note
    return Estimate(value, value - half, value + half, pairs, meanings, error, df, note)


def _satterthwaite(parts: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Standard error, degrees of freedom and half-width of a sum of variances, each with its degrees of freedom."""
    variance = sum(part for part, _ in parts)
    df = variance**2 / sum(part**2 / own for part, own in parts)
    error = math.sqrt(variance)
    return error, df, t_quantile((1 + CONFIDENCE) / 2, df) * error


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def pooled(values: Sequence[float], weights: Sequence[float], meanings: Sequence[str], note: str = "") -> Estimate:
    """A plain weighted mean over all given values with its cluster-t interval; nothing is shrunk."""
    if not values:
        return combine([], [], note)
    return combine([piece(cluster(values, weights, meanings), "")], [1.0], note)


def t_quantile(probability: float, df: float) -> float:
    """Quantile of Student's t; `df` may be fractional."""
    from scipy.special import stdtrit

    return float(stdtrit(df, probability))


def clopper_pearson(failures: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """One-sided lower and one-sided upper bound of a rate, each at `confidence`; 0 and 1 where n is 0.

    Effective numbers need not be whole: the beta quantiles take them as they are.
    """
    from scipy.special import betaincinv

    # 1 - 0.95 is a little above 0.05: unrounded, one failure in one trial would lie above a limit of 0.05
    lower = float(betaincinv(failures, n - failures + 1, round(1 - confidence, 12))) if failures > 0 else 0.0
    upper = float(betaincinv(failures + 1, n - failures, confidence)) if failures < n else 1.0
    return lower, upper


def p_value(estimate: Estimate) -> float | None:
    """Two-sided p of "the true value is 0" by the estimate's own cluster-t; None where it has no standard error above 0."""
    from scipy.special import stdtr

    if estimate.value is None or not estimate.se or not estimate.df:
        return None
    return min(1.0, 2 * float(stdtr(estimate.df, -abs(estimate.value) / estimate.se)))


def share_interval(share: float, messages: int) -> tuple[float, float]:
    """Two-sided `CONFIDENCE` interval of a share over `messages` distinct messages; 0 and 1 where there is none.

    Clopper-Pearson with the effective sample size in the place of n (Korn and Graubard 1998, Survey Methodology 24:193). Every
    message counts once, as if its cases all came out alike: the interval is never too narrow for that, and may be too wide.
    """
    from scipy.special import betaincinv

    tail, hits = (1 - CONFIDENCE) / 2, share * messages
    lower = float(betaincinv(hits, messages - hits + 1, tail)) if hits > 0 else 0.0
    upper = float(betaincinv(hits + 1, messages - hits, 1 - tail)) if hits < messages else 1.0
    return lower, upper


def bootstrap(behaviors: Mapping[str, Sequence[Clusters]], seed: int, replicates: int = REPLICATES) -> Draws:
    """Two stages, seeded: scenarios within their behavior, then meanings within the scenario. Arrays of shape (replicates,).

    Both stages draw one fewer than there are, which makes the variance of small numbers right (Rao and Wu).
    """
    import numpy as np

    generator = np.random.default_rng(seed)
    found = {}
    for behavior, scenarios in behaviors.items():
        total = np.zeros(replicates)
        picks = max(1, len(scenarios) - 1)
        for _ in range(picks):
            drawn = np.stack([_resampled(each, generator, replicates) for each in scenarios])
            total += drawn[generator.integers(0, len(scenarios), replicates), np.arange(replicates)]
        found[behavior] = total / picks
    return found


def _resampled(clusters: Clusters, generator: np.random.Generator, replicates: int) -> npt.NDArray[np.float64]:
    """The scenario's value over m - 1 of its m clusters drawn with replacement."""
    import numpy as np

    weights: Any = np.asarray(clusters.weights)
    products: Any = weights * np.asarray(clusters.means)
    count = len(clusters.weights)
    drawn = generator.integers(0, count, (replicates, max(1, count - 1)))
    values: npt.NDArray[np.float64] = products[drawn].sum(axis=1) / weights[drawn].sum(axis=1)
    return values


def percentile_interval(draws: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The middle `CONFIDENCE` of bootstrap draws."""
    import numpy as np

    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(draws, [tail, 100 - tail])
    return float(low), float(high)
