"""Intervals of weighted means over clusters: a score interval for figures with bounds, cluster-t for all others.

A cluster is one message, whatever its copies, users and conditions; only clusters are independent.

Sources: linearized ratio with the small-sample correction of Bell and McCaffrey (2002, Survey Methodology 28:169) for
unequal clusters; shrinking variances towards a pool with nu0 prior degrees of freedom as Smyth (2004, SAGMB 3:3);
Satterthwaite (1946, Biometrics Bulletin 2:110); score interval (Wilson 1927, JASA 22:209) with an effective sample size
(Korn and Graubard 1998, Survey Methodology 24:193; Dean and Pagano 2015, JSSAM 3:484); Clopper and Pearson (1934,
Biometrika 26:404), for shares over distinct messages as Korn and Graubard.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from helmbench_hf.scoring.gathered import gathered
from helmbench_hf.scoring.scores import Estimate

Row = tuple[float, float, str]
"""A value, its weight (above 0) and its cluster."""
Bounds = tuple[float, float]
"""The lowest and the highest value that a figure can have."""
SHARE: Bounds = (0.0, 1.0)
PRIOR_DF = 4.0
CONFIDENCE = 0.95
LARGEST_VARIANCE = 0.25
"""Of a value between 0 and 1 (Popoviciu 1935, Mathematica 9:129)."""
NOTHING = 1e-20
"""A variance below this is rounding, not variation."""
ROUNDING = 1e-9
"""Chances nearer to each other than this are equal."""


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
    clusters: frozenset[str]
    """By name, because two scenarios may hold the same message."""
    bounds: Bounds | None = None
    """None for a difference or a corrected score."""
    binary: float = 0.0
    """Variance of one cluster if each of them lay on one bound or the other, with the same mean."""
    doubt: float = 0.0
    """Share of the variance of one more message, which is all or nothing: part of the score interval, not of the error."""

    @property
    def variance(self) -> float:
        """Sampling variance of `value`."""
        return self.unit * self.scale


def piece(rows: Sequence[Row], pool: str = "", bounds: Bounds | None = None) -> Piece:
    """The weighted mean of some values (one or more), and its variance as a linearized ratio.

    The residuals of the cluster means are corrected for having estimated their mean. `bounds`: of the mean.
    """
    weight: dict[str, float] = defaultdict(float)
    weighted: dict[str, float] = defaultdict(float)
    for value, factor, name in rows:
        weight[name] += factor
        weighted[name] += factor * value
    names = sorted(weight)
    total = sum(weight[name] for name in names)
    mean = sum(weighted[name] for name in names) / total
    shares = [weight[name] / total for name in names]
    scale = sum(share**2 for share in shares)
    residual = sum((weighted[name] / total - share * mean) ** 2 for name, share in zip(names, shares, strict=True))
    expected = scale - 2 * sum(share**3 for share in shares) + scale**2
    unit = residual / expected if len(names) > 1 else 0.0
    binary = max(0.0, (mean - bounds[0]) * (bounds[1] - mean)) if bounds else 0.0
    return Piece(mean, unit, scale, len(names) - 1.0, pool, len(rows), frozenset(names), bounds, binary)


def shrink(pieces: Sequence[Piece], *, doubt: float = LARGEST_VARIANCE) -> list[Piece]:
    """Pull every unit variance towards its pool's: (df s2 + nu0 pool) / (df + nu0); and `binary` in the same way.

    A pool without any degree of freedom borrows from all pieces; where there is none at all, `df` stays 0 and no interval
    can be given. `doubt`: variance, between bounds of 0 and 1, of one message more that the pieces share by their degrees of
    freedom: messages that all came out alike do not show that no other will differ.
    """
    degrees = sum(item.df for item in pieces)
    spare = doubt / degrees if degrees else 0.0
    pools = gathered((item.pool, item) for item in pieces)
    lenders = {name: pool if sum(item.df for item in pool) else pieces for name, pool in pools.items()}
    return [_shrunk(item, lenders[item.pool], spare) for item in pieces]


def _shrunk(item: Piece, pool: Sequence[Piece], spare: float) -> Piece:
    total = sum(member.df for member in pool)
    if total == 0:
        return item
    pooled = sum(member.df * member.unit for member in pool) / total
    pooled_binary = sum(member.df * member.binary for member in pool) / total
    weight = item.df + PRIOR_DF
    unit = (item.df * item.unit + PRIOR_DF * pooled) / weight
    binary = (item.df * item.binary + PRIOR_DF * pooled_binary) / weight
    doubt = PRIOR_DF / weight * spare * (item.bounds[1] - item.bounds[0]) ** 2 if item.bounds else 0.0
    borrowed = PRIOR_DF / total
    spread = ((1 + borrowed) ** 2 * item.df + borrowed**2 * (total - item.df)) / weight**2
    return replace(item, unit=unit, binary=binary, doubt=doubt, df=min(weight, 1 / spread))


def combine(
    pieces: Sequence[Piece], coefficients: Sequence[float], note: str = "", errors: Sequence[tuple[float, float]] = ()
) -> Estimate:
    """The weighted sum of pieces that have been shrunk (or not), with an interval on Satterthwaite's degrees of freedom.

    Where every piece has bounds (coefficients are then above 0) the interval is `_score_interval`, else value +- t x se.
    `errors`: variances of the whole sum that do not come from the choice of messages, each with its degrees of freedom. Their
    half-width is added in squares to either side (Howe 1974, JASA 69:789), so that they never narrow the interval.
    """
    pairs, clusters = sum(item.pairs for item in pieces), len(frozenset[str]().union(*(item.clusters for item in pieces)))
    if not pieces:
        return Estimate(None, None, None, 0, 0, note=note or "nothing was scored")
    value = sum(c * item.value for c, item in zip(coefficients, pieces, strict=True))
    if any(item.df == 0 for item in pieces):
        return Estimate(value, None, None, pairs, clusters, note=_joined(note, "one message alone has no interval"))
    variances = [(c**2 * item.variance, item.df) for c, item in zip(coefficients, pieces, strict=True)]
    error, df, _ = _satterthwaite([*variances, *errors])
    _, _, half = _satterthwaite(variances)
    _, _, beside = _satterthwaite(errors)
    spans = [item.bounds for item in pieces if item.bounds]
    lowest, highest = -math.inf, math.inf
    low, high = value - half, value + half
    if len(spans) == len(pieces):
        lowest, highest = (sum(c * span[end] for c, span in zip(coefficients, spans, strict=True)) for end in (0, 1))
        low, high = _score_interval(pieces, coefficients, value, (lowest, highest))
    low, high = value - math.hypot(value - low, beside), value + math.hypot(high - value, beside)
    if half == 0:
        alone = "carries the judge's errors alone" if beside else "has no width and says little"
        rest = f", so the interval {alone}" if math.isinf(lowest) else "; the interval allows for one that would not"
        note = _joined(note, f"every message came out alike{rest}")
    return Estimate(value, min(value, max(low, lowest)), max(value, min(high, highest)), pairs, clusters, error, df, note)


def _score_interval(pieces: Sequence[Piece], coefficients: Sequence[float], value: float, bounds: Bounds) -> Bounds:
    """All true values from which `value` lies within t standard errors, each with the error that it would have itself.

    Between bounds a mean varies less the nearer it is to one of them: as phi (mean - low) (high - mean) / m (quasi-likelihood,
    Wedderburn 1974, Biometrika 61:439). The error that was seen is therefore kept as an effective number n of all-or-nothing
    messages, n - 1 = (value - low) (high - value) / error^2, and the interval is Wilson's with that n: inside the bounds,
    longer on the side away from the nearer bound, and value +- t x error where n is large. The product is the mean of those
    of the pieces, which were shrunk like their variances, plus what the pieces' means differ by.
    """
    variances = [(c**2 * (item.unit + item.doubt) * item.scale, item.df) for c, item in zip(coefficients, pieces, strict=True)]
    error, _, half = _satterthwaite(variances)
    if error == 0:
        return value, value
    floor, width = bounds[0], bounds[1] - bounds[0]
    place = min(1.0, max(0.0, (value - floor) / width))
    product = 0.0
    for c, item in zip(coefficients, pieces, strict=True):
        low, high = item.bounds or bounds
        here = (item.value - low) / (high - low)
        product += c * (high - low) / width * ((item.binary + item.doubt) / (high - low) ** 2 + (here - place) ** 2)
    ratio = (half / error) ** 2 / (1 + product * (width / error) ** 2)
    middle = (place + ratio / 2) / (1 + ratio)
    reach = math.sqrt(ratio * place * (1 - place) + ratio**2 / 4) / (1 + ratio)
    return min(value, floor + width * (middle - reach)), max(value, floor + width * (middle + reach))


def _satterthwaite(variances: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Standard error, degrees of freedom and half-width of a sum of variances, each with its degrees of freedom."""
    variance = sum(part for part, _ in variances)
    if variance < NOTHING:
        return 0.0, sum(df for _, df in variances), 0.0
    df = variance**2 / sum(part**2 / part_df for part, part_df in variances)
    error = math.sqrt(variance)
    return error, df, t_quantile((1 + CONFIDENCE) / 2, df) * error


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def pooled(rows: Sequence[Row], bounds: Bounds | None = None) -> Estimate:
    """A weighted mean of values by itself, with its interval; `bounds`: of the values, if they have any."""
    pieces = shrink([piece(rows, bounds=bounds)]) if rows else []
    return combine(pieces, [1.0] * len(pieces))


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


def mean_bounds(values: Sequence[float]) -> tuple[float, float]:
    """One-sided lower and upper bound, each at `CONFIDENCE`, of the mean of what values between 0 and 1 were drawn from.

    Values are independent and of any distribution; 0 and 1 where there is none. Random weights (flat Dirichlet) are laid on the
    values and on one value more, the worst there is: the bound is a quantile of that mean (Gaffke 2005, Mathematical Methods of
    Statistics 14:451; Learned-Miller and Thomas 2019, arXiv 1905.06208). It is Clopper and Pearson's where all values are 0 or 1,
    and tighter where they are alike. That it holds for every distribution is a conjecture that no simulation has refuted.
    """
    return _lower_mean(values), 1 - _lower_mean([1 - value for value in values])


def mean_is_above(limit: float, values: Sequence[float]) -> bool:
    """Whether the lower bound of `mean_bounds` lies above the limit."""
    # 1 - 0.95 is a little above 0.05: one failure in one trial would lie above a limit of 0.05
    return _chance_above(limit, [0.0, *values]) > CONFIDENCE + ROUNDING


def mean_is_at_most(limit: float, values: Sequence[float]) -> bool:
    """Whether the upper bound of `mean_bounds` is the limit or less."""
    return _chance_above(1 - limit, [0.0, *(1 - value for value in values)]) >= CONFIDENCE - ROUNDING


def _lower_mean(values: Sequence[float]) -> float:
    from scipy.optimize import brentq

    highest = max(values, default=0.0)
    if highest == 0:
        return 0.0
    return float(brentq(lambda mean: _chance_above(mean, [0.0, *values]) - CONFIDENCE, 0.0, highest))


def _chance_above(mean: float, values: Sequence[float]) -> float:
    """The chance that the mean of these values, with flat Dirichlet weights, lies above `mean`.

    Such weights are exponential times over their sum, so it is the chance that the values above outlast those below in a race of
    stages, each as long on average as its value lies far from `mean`. Of two stages under way, the shorter tends to end first.
    """
    above = [value - mean for value in values if value > mean]
    below = [mean - value for value in values if value <= mean]
    chances = [0.0] * len(below)  # that so many stages below have ended before those above that were looked at
    for up in above:
        chance = 1.0
        for place, down in enumerate(below):
            chance = chances[place] = (up * chance + down * chances[place]) / (up + down)
    return chances[-1] if below else 1.0


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
    return clopper_pearson(share * messages, messages, (1 + CONFIDENCE) / 2)
