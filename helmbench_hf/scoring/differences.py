"""Differences of runs on the same cells, many at once: what `scoring.intervals` does for one score, on arrays.

Every difference rests on the pairs that both of its runs scored, whatever other runs lack. Sources: those of
`scoring.intervals`, whose arithmetic this is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.aggregate import POOLS
from helmbench_hf.scoring.result import Estimate

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]
    Mask = npt.NDArray[np.bool_]
    Places = npt.NDArray[np.int64]

Run = Mapping[str, Any]
"""A `scores.json` as `json.load` gives it."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The headline pairs of runs on the same cells: those of one scenario, and there of one message, side by side."""

    codes: tuple[str, ...]
    """Crisis codes of the pairs."""
    weights: Numbers
    """Of the pairs."""
    clusters: Places
    """The pair at which each message of a scenario begins."""
    scenarios: Places
    """The cluster at which each scenario begins."""
    pools: Numbers
    """(scenarios, pools): 1 where the scenario shares its variance with the pool."""
    behaviors: tuple[str, ...]
    parts: Numbers
    """(scenarios, behaviors): 1 where the scenario is a part of the behavior."""
    points: Numbers
    """Of the behaviors."""
    by_message: Places
    """The pairs ordered by message, whatever their scenario."""
    messages: Places
    """The place in that order at which each message begins."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """`intervals.Piece`, shrunk, of many values at once: (values, scenarios); `seen` is (values, pairs)."""

    value: Numbers
    variance: Numbers
    df: Numbers
    seen: Mask


def cells_of(run: Run) -> Cells:
    """The cells that the run was planned on."""
    import numpy as np

    kinds = {scenario["code"]: scenario["kind"] for scenario in run["scenarios"]}
    rows = sorted((pair for pair in run["pairs"] if pair["headline"]), key=lambda pair: (pair["scenario"], pair["meaning"]))
    clusters = _starts([(row["scenario"], row["meaning"]) for row in rows])
    scenarios = _starts([rows[at]["scenario"] for at in clusters])
    names = [rows[clusters[at]]["scenario"] for at in scenarios]
    order = sorted(range(len(rows)), key=lambda at: str(rows[at]["meaning"]))
    behaviors, pools = run["behaviors"], sorted(set(POOLS.values()))
    return Cells(
        codes=tuple(row["crisis"] for row in rows),
        weights=np.array([row["weight"] for row in rows], dtype=np.float64),
        clusters=np.array(clusters, dtype=np.int64),
        scenarios=np.array(scenarios, dtype=np.int64),
        pools=np.array([[float(POOLS[kinds[name]] == pool) for pool in pools] for name in names]),
        behaviors=tuple(each["code"] for each in behaviors),
        parts=np.array([[float(name in each["parts"]) for each in behaviors] for name in names]),
        points=np.array([each["weight"] for each in behaviors], dtype=np.float64),
        by_message=np.array(order, dtype=np.int64),
        messages=np.array(_starts([rows[at]["meaning"] for at in order]), dtype=np.int64),
    )


def _starts(keys: Sequence[object]) -> list[int]:
    """Where each group of equal neighbors begins."""
    return [at for at, key in enumerate(keys) if not at or key != keys[at - 1]]


def pair_values(cells: Cells, run: Run) -> Numbers:
    """The run's value of every pair; NaN where it has none."""
    import numpy as np

    found = {pair["crisis"]: pair["value"] for pair in run["pairs"]}
    return np.array([found[code] for code in cells.codes], dtype=np.float64)


def pieces(cells: Cells, values: Numbers) -> Pieces:
    """`intervals.piece` and `intervals.shrink` of every scenario, for values (n, pairs) of which NaN is left out."""
    import numpy as np

    seen = ~np.isnan(values)
    scenario = np.repeat(np.arange(len(cells.scenarios)), np.diff([*cells.scenarios, len(cells.clusters)]))
    weights = np.add.reduceat(seen * cells.weights, cells.clusters, axis=1)
    sums = np.add.reduceat(np.where(seen, values, 0) * cells.weights, cells.clusters, axis=1)

    def over_scenarios(clusters: Numbers) -> Numbers:
        return np.asarray(np.add.reduceat(clusters, cells.scenarios, axis=1))

    with np.errstate(invalid="ignore", divide="ignore"):
        total = over_scenarios(weights)
        value = np.nan_to_num(over_scenarios(sums) / total)
        shares = np.nan_to_num(weights / total[:, scenario])
        scale = over_scenarios(shares**2)
        expected = scale - 2 * over_scenarios(shares**3) + scale**2
        spread = over_scenarios((shares * (np.nan_to_num(sums / weights) - value[:, scenario])) ** 2)
        count = over_scenarios((weights > 0).astype(np.float64))
        unit = np.where(count > 1, spread / expected, 0)
        unit, df = _shrunk(cells, unit, np.maximum(count - 1, 0))
    return Pieces(np.where(total > 0, value, np.nan), unit * scale, df, seen)


def _shrunk(cells: Cells, unit: Numbers, df: Numbers) -> tuple[Numbers, Numbers]:
    """As `intervals.shrink`: unit variances pulled towards their pool's, and the degrees of freedom that they then have."""
    import numpy as np

    prior, pool = intervals.PRIOR_DF, cells.pools.argmax(axis=1)
    freedom, total = (df @ cells.pools)[:, pool], (df * unit @ cells.pools)[:, pool]
    everywhere, overall = df.sum(axis=1, keepdims=True), (df * unit).sum(axis=1, keepdims=True)
    total, freedom = np.where(freedom > 0, total, overall), np.where(freedom > 0, freedom, everywhere)
    weight, borrowed = df + prior, prior / freedom
    spread = ((1 + borrowed) ** 2 * df + borrowed**2 * (freedom - df)) / weight**2
    shrunk = (df * unit + prior * total / freedom) / weight
    return np.where(freedom > 0, shrunk, unit), np.where(freedom > 0, np.minimum(weight, 1 / spread), 0)


def combined(cells: Cells, found: Pieces, behaviors: Sequence[int]) -> list[Estimate]:
    """The weighted mean of these behaviors (places in `cells.behaviors`) for each value: as `intervals.combine`.

    A scenario without a pair drops out of its behavior, and a behavior without a scenario out of the mean.
    """
    import numpy as np

    parts = cells.parts[:, behaviors] * ~np.isnan(found.value)[:, :, None]
    inside = parts.sum(axis=1)
    points = (inside > 0) * cells.points[behaviors]
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = (parts * (points / points.sum(axis=1, keepdims=True) / inside)[:, None, :]).sum(axis=2, where=parts > 0)
        value = (shares * np.nan_to_num(found.value)).sum(axis=1)
        variances = shares**2 * found.variance
        variance = variances.sum(axis=1)
        flat = variance < intervals.NOTHING
        df = variance**2 / (variances**2 / found.df).sum(axis=1, where=shares > 0)
    df = np.where(flat, found.df.sum(axis=1, where=shares > 0), df)
    alone = ((found.df == 0) & (shares > 0)).any(axis=1)
    pairs, messages = _counted(cells, found.seen, shares > 0)
    rows = zip(value, np.where(flat, 0, np.sqrt(variance)), df, alone, pairs, messages, strict=True)
    return [_estimate(*(each.item() for each in row)) for row in rows]


def _counted(cells: Cells, seen: Mask, scenarios: Mask) -> tuple[Places, Places]:
    """How many pairs of these scenarios were seen, and of how many distinct messages."""
    import numpy as np

    sizes = np.diff([*cells.clusters[cells.scenarios], seen.shape[1]])
    here = seen & np.repeat(scenarios, sizes, axis=1)
    return here.sum(axis=1), np.logical_or.reduceat(here[:, cells.by_message], cells.messages, axis=1).sum(axis=1)


def _estimate(value: float, error: float, df: float, alone: bool, pairs: int, messages: int) -> Estimate:
    if not pairs:
        return Estimate(None, None, None, 0, 0, note="no pair was scored in both")
    if alone:
        return Estimate(value, None, None, pairs, messages, note="one message alone has no interval")
    half = error and intervals.t_quantile((1 + intervals.CONFIDENCE) / 2, df) * error
    note = "" if error else "every message came out alike, so the interval has no width and says little"
    return Estimate(value, value - half, value + half, pairs, messages, error, df, note)
