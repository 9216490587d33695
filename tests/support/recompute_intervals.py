"""Intervals of `scores.json` once more: cluster-t, and the score interval of figures with bounds. Nothing of the package is used.

The score interval is written as what it means: every true value that the observed one could be, tried out by halving a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scipy.stats import t

Json = dict[str, Any]
Bounds = tuple[float, float]
NU0 = 4.0
"""Prior degrees of freedom of the mode's pooled variance (measurement.md 9.9)."""
ONE_MORE = 0.25
"""Variance of one message that is all or nothing, between bounds of 0 and 1: every run is taken to have one more of it."""


def piece_of(
    values: Sequence[float], weights: Sequence[float], meanings: Sequence[str], pool: str, bounds: Bounds | None = None
) -> Json:
    """A weighted mean with the variance of one cluster mean (`unit`) and what it is multiplied with (`scale`).

    theta = sum of p_j y_j over clusters j with shares p_j. If every y_j has variance s2, then var(theta) = s2 sum p_j^2, and
    E[(y_j - theta)^2] = s2 (1 - 2 p_j + sum p^2). So s2 is estimated without bias by
    sum p_j^2 (y_j - theta)^2 / sum p_j^2 (1 - 2 p_j + sum p^2).
    """
    total: dict[str, float] = {}
    product: dict[str, float] = {}
    for value, weight, meaning in zip(values, weights, meanings, strict=True):
        total[meaning] = total.get(meaning, 0.0) + weight
        product[meaning] = product.get(meaning, 0.0) + weight * value
    everything = sum(total.values())
    theta = sum(product.values()) / everything
    m = len(total)
    unit, scale = 0.0, 0.0
    for meaning in total:
        scale += (total[meaning] / everything) ** 2
    if m > 1:
        seen = expected = 0.0
        for meaning in total:
            share = total[meaning] / everything
            seen += share**2 * (product[meaning] / total[meaning] - theta) ** 2
            expected += share**2 * (1.0 - 2.0 * share + scale)
        unit = seen / expected
    binary = 0.0
    if bounds is not None:  # messages that lie on one bound or the other, in shares that give the same mean
        share_high = (theta - bounds[0]) / (bounds[1] - bounds[0])
        binary = max(0.0, share_high * (bounds[1] - theta) ** 2 + (1.0 - share_high) * (theta - bounds[0]) ** 2)
    found = {"value": theta, "unit": unit, "scale": scale, "df": float(m - 1), "pool": pool, "pairs": len(values)}
    return found | {"meanings": m, "bounds": bounds, "binary": binary, "doubt": 0.0}


def shrunk(pieces: Sequence[Json], one_more: float = ONE_MORE) -> list[Json]:
    """Each unit variance towards the pooled one of its kind: (df s2 + 4 pool) / (df + 4).

    The result is a weighted sum of all the pool's own estimates, each of variance 2 s^4 / df; its degrees of freedom are
    those of that sum, and at most df + 4. Where there are bounds, the variance that all-or-nothing messages with the same mean
    would have is pulled likewise; `doubt` is what either would gain if the pools had their share of one more such message.
    """
    found = []
    everywhere = sum(item["df"] for item in pieces)
    for item in pieces:
        pool = [other for other in pieces if other["pool"] == item["pool"]]
        if sum(other["df"] for other in pool) == 0:
            pool = list(pieces)
        degrees = sum(other["df"] for other in pool)
        if degrees == 0:
            found.append(dict(item))
            continue
        pulled = {"doubt": 0.0}
        for name in ("unit", "binary"):
            common = sum(other["df"] * other[name] for other in pool) / degrees
            pulled[name] = (item["df"] * item[name] + NU0 * common) / (item["df"] + NU0)
        if item["bounds"] is not None:
            width = item["bounds"][1] - item["bounds"][0]
            pulled["doubt"] = NU0 / (item["df"] + NU0) * one_more * width**2 / everywhere
        spread = 0.0
        own_counted = False
        for other in pool:
            if other["df"] == 0:
                continue
            weight = NU0 * other["df"] / degrees
            if other is item:
                weight += item["df"]
                own_counted = True
            spread += (weight / (item["df"] + NU0)) ** 2 / other["df"]
        assert own_counted or item["df"] == 0
        found.append({**item, **pulled, "df": min(item["df"] + NU0, 1.0 / spread)})
    return found


def combined(pieces: Sequence[Json], coefficients: Sequence[float]) -> Json:
    """Sum of coefficient times piece, with a t interval on Satterthwaite's degrees of freedom."""
    if not pieces:
        return estimate(None, 0, 0)
    value = variance = below = degrees = 0.0
    for item, coefficient in zip(pieces, coefficients, strict=True):
        own = coefficient**2 * item["unit"] * item["scale"]
        value += coefficient * item["value"]
        variance += own
        degrees += item["df"]
        below += own**2 / item["df"] if item["df"] > 0 else 0.0
    found = estimate(value, sum(item["pairs"] for item in pieces), sum(item["meanings"] for item in pieces))
    if any(item["df"] == 0 for item in pieces):
        return found  # one message alone has no interval
    if variance < 1e-20:
        found |= {"se": 0.0, "df": degrees, "low": value, "high": value}
    else:
        df = variance**2 / below
        half = float(t.ppf(0.975, df)) * math.sqrt(variance)
        found |= {"se": math.sqrt(variance), "df": df, "low": value - half, "high": value + half}
    if all(item["bounds"] is not None for item in pieces):
        found |= score_interval(pieces, coefficients, value)
    return found


def score_interval(pieces: Sequence[Json], coefficients: Sequence[float], value: float) -> dict[str, float]:
    """The true values, between the bounds, that lie within t of the standard errors that they would have themselves.

    A true value v has the variance of n messages that are all or nothing: (v - low) (high - v) / n. That n is the one at which
    such messages would vary as those seen did; it is one more than the ratio of the two, since the product of a sample's mean
    is smaller than that of the true one by the mean's own variance. What was seen has the doubt of one message more.
    """
    own = [c**2 * (item["unit"] + item["doubt"]) * item["scale"] for c, item in zip(coefficients, pieces, strict=True)]
    variance = sum(own)
    if variance < 1e-20:
        return {"low": value, "high": value}
    quantile = float(t.ppf(0.975, variance**2 / sum(v**2 / item["df"] for v, item in zip(own, pieces, strict=True))))
    low = sum(c * item["bounds"][0] for c, item in zip(coefficients, pieces, strict=True))
    high = sum(c * item["bounds"][1] for c, item in zip(coefficients, pieces, strict=True))
    product = 0.0  # of the whole on the scale 0 to 1: the mean of the parts' own, and how far the parts' means are apart
    for c, item in zip(coefficients, pieces, strict=True):
        bottom, top = item["bounds"]
        share = c * (top - bottom) / (high - low)
        apart = (item["value"] - bottom) / (top - bottom) - (value - low) / (high - low)
        product += share * ((item["binary"] + item["doubt"]) / (top - bottom) ** 2 + apart**2)
    n = 1.0 + product * (high - low) ** 2 / variance

    def possible(true: float) -> bool:
        return (value - true) ** 2 <= quantile**2 * (true - low) * (high - true) / n

    return {"low": furthest(possible, value, low), "high": furthest(possible, value, high)}


def furthest(possible: Callable[[float], bool], inside: float, outside: float) -> float:
    """The last possible value on the way from one that is possible to a bound that may not be."""
    for _ in range(200):
        middle = (inside + outside) / 2
        if possible(middle):
            inside = middle
        else:
            outside = middle
    return inside


def estimate(value: float | None, n_pairs: int, n_meanings: int) -> Json:
    return {"value": value, "low": None, "high": None, "n_pairs": n_pairs, "n_meanings": n_meanings, "se": None, "df": None}


def pooled(values: Sequence[float], weights: Sequence[float], meanings: Sequence[str], bounds: Bounds | None = None) -> Json:
    """A weighted mean by itself: it has nobody to borrow from but, within bounds, the one message more."""
    if not values:
        return estimate(None, 0, 0)
    return combined(shrunk([piece_of(values, weights, meanings, "", bounds)]), [1.0])


def other_scenarios(plans: Sequence[Json], pieces: Mapping[str, Json]) -> dict[str, Json]:
    """Behavior by behavior, its scenarios as a sample: how far their values are apart, pulled towards that of all behaviors."""
    codes, found = [], []
    for plan in plans:
        here = [pieces[code] for code in plan["scenarios"] if code in pieces]
        if here:
            codes.append(plan["code"])
            bounds = sum(item["bounds"][0] for item in here) / len(here), sum(item["bounds"][1] for item in here) / len(here)
            names = [str(number) for number in range(len(here))]
            found.append(piece_of([item["value"] for item in here], [1.0] * len(here), names, "", bounds))
    return dict(zip(codes, shrunk(found, one_more=0.0), strict=True))


def new_scenarios(score: Json, scored: Sequence[Json], pieces: Mapping[str, Json], others: Mapping[str, Json]) -> Json:
    """None where behaviors with one scenario carry more than half of the weight; never inside the interval over messages."""
    found = {**score, "low": None, "high": None, "se": None, "df": None}
    total = sum(plan["weight"] for plan in scored)
    lone = sum(plan["weight"] for plan in scored if sum(1 for code in plan["scenarios"] if code in pieces) == 1)
    if not scored or 2 * lone > total:
        return found
    over = combined([others[plan["code"]] for plan in scored], [plan["weight"] / total for plan in scored])
    low, high = over["low"], over["high"]
    if low is not None and score["low"] is not None:
        low, high = min(low, score["low"]), max(high, score["high"])
    return found | {"low": low, "high": high, "se": over["se"], "df": over["df"]}
