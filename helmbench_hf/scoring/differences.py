"""The overall difference of every two of many runs, in seconds where `compare` one by one takes minutes.

Sources: those of `scoring.intervals`, whose functions do all but the residuals.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.aggregate import POOLS
from helmbench_hf.scoring.compare import Run
from helmbench_hf.scoring.intervals import Piece
from helmbench_hf.scoring.result import Estimate

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Block:
    """One scenario of all runs: what they share, and each run's own part."""

    piece: Piece
    """Without value and variance, which belong to two runs."""
    means: Numbers
    """Each run's score, (runs)."""
    residuals: Numbers
    """(runs, meanings), scaled so that the unit variance of a difference of two runs is the sum of its squares."""


def differences(runs: Sequence[Run], codes: frozenset[str]) -> Iterator[Estimate]:
    """First minus second overall for every two runs in the order of `itertools.combinations`: what `compare` gives, at once.

    A difference of two runs has the clusters, weights and degrees of freedom of either, and the shrinking is linear in the
    unit variances, so that both are worked out once; only the residuals differ from one pair of runs to the next.
    """
    import numpy as np

    pairs: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for pair in runs[0]["pairs"]:
        if pair["crisis"] in codes:
            pairs[pair["scenario"]].append(pair)
    if not pairs:
        yield from (intervals.combine([], []) for _ in itertools.combinations(runs, 2))
        return
    kinds = {item["code"]: item["kind"] for item in runs[0]["scenarios"]}
    values = [{pair["crisis"]: pair["value"] for pair in run["pairs"] if pair["crisis"] in codes} for run in runs]
    blocks = [_scenario(rows, values, POOLS[kinds[scenario]]) for scenario, rows in pairs.items()]
    shrunk = intervals.shrink([block.piece for block in blocks])
    units = np.array([
        [item.unit for item in intervals.shrink([replace(b.piece, unit=float(b is block)) for b in blocks])] for block in blocks
    ])  # fmt: skip
    shares = _shares(runs[0]["behaviors"], list(pairs))
    starts = np.cumsum([0, *(block.residuals.shape[1] for block in blocks[:-1])])
    means, residuals = np.stack([block.means for block in blocks], axis=1), np.hstack([block.residuals for block in blocks])
    for first in range(len(runs) - 1):
        gaps = means[first] - means[first + 1 :]
        spread = np.add.reduceat((residuals[first] - residuals[first + 1 :]) ** 2, starts, axis=1) @ units
        for gap, unit in zip(gaps.tolist(), spread.tolist(), strict=True):
            pieces = [replace(shrunk[at], value=gap[at], unit=unit[at]) for at in shares]
            yield intervals.combine(pieces, list(shares.values()))


def _scenario(rows: Sequence[Mapping[str, Any]], values: Sequence[Mapping[str, float]], pool: str) -> _Block:
    import numpy as np

    weights, meanings = [row["weight"] for row in rows], [row["meaning"] for row in rows]
    clusters = [intervals.cluster([run[row["crisis"]] for row in rows], weights, meanings) for run in values]
    own = np.array(clusters[0].weights)
    shares, means = own / own.sum(), np.array([each.means for each in clusters])
    scores, scale = means @ shares, float((shares**2).sum())
    # as in `intervals.piece`: what the squared residuals come to on average where a cluster has the variance 1
    expected = scale - 2 * float((shares**3).sum()) + scale**2
    residuals = shares * (means - scores[:, None]) / math.sqrt(expected) if len(own) > 1 else np.zeros_like(means)
    return _Block(replace(intervals.piece(clusters[0], pool), value=0.0, unit=0.0), scores, residuals)


def _shares(behaviors: Sequence[Mapping[str, Any]], scenarios: Sequence[str]) -> dict[int, float]:
    """By number of a scenario, its share of the overall score: behaviors by weight, scenarios of one alike."""
    inside = {each["code"]: [scenarios.index(part) for part in each["parts"] if part in scenarios] for each in behaviors}
    total = sum(each["weight"] for each in behaviors if inside[each["code"]])
    return {at: each["weight"] / total / len(inside[each["code"]]) for each in behaviors for at in inside[each["code"]]}
