"""Do intervals hold the truth where a score comes near its bounds? The t interval of the same error beside what is printed.

`respondents`: three who have nearly everything right. `figures`: one figure of n messages alone, with yes-or-no or graded
values, each message once or in four copies that are alike, from a share of .5 that is right to all of it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from coverage_model import Array, Sample, chunks
from coverage_worth import group_scores, levels, pair_values, table_of, truths, with_values

from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.scores import Estimate

ABILITIES = (4.5, 6.0, 8.0)
MESSAGES = (6, 9, 12, 20, 40)
RIGHT = (0.5, 0.8, 0.9, 0.95, 0.98, 1.0)
COPIES = 4
"""How often each message comes where there are copies; they share what is hard about it."""
COPY_SD, MESSAGE_SD = 0.5, 1.5
DRAWS = 200_000


def bounds_coverage(sample: Sample, replicates: int, seed: int) -> dict[str, Any]:
    """(f) Coverage and mean width, printed and by t."""
    return {"respondents": _respondents(sample, replicates, seed), "figures": _figures(5 * replicates, seed)}


class _Tally:
    """Whether an interval held the truth and how wide it was, by name, for both kinds of interval."""

    def __init__(self) -> None:
        self.held: dict[str, dict[str, list[bool]]] = {"printed": defaultdict(list), "t": defaultdict(list)}
        self.widths: dict[str, dict[str, list[float]]] = {"printed": defaultdict(list), "t": defaultdict(list)}

    def add(self, name: str, found: Estimate, truth: float) -> None:
        if found.value is None or found.low is None or found.high is None or found.se is None or found.df is None:
            return
        half = intervals.t_quantile((1 + intervals.CONFIDENCE) / 2, found.df) * found.se
        ends = {"printed": (found.low, found.high), "t": (found.value - half, found.value + half)}
        for kind, (low, high) in ends.items():
            self.held[kind][name].append(low - 1e-12 <= truth <= high + 1e-12)
            self.widths[kind][name].append(high - low)

    def covered(self, kind: str) -> dict[str, float]:
        return {name: 100 * float(np.mean(seen)) for name, seen in self.held[kind].items()}

    def width(self, kind: str, names: str = "") -> float:
        return 100 * float(np.mean([np.mean(seen) for name, seen in self.widths[kind].items() if names in name]))


def _respondents(sample: Sample, replicates: int, seed: int) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for number, ability in enumerate(ABILITIES):
        world = sample.world(np.random.default_rng([seed, 20 + number, 0]))
        truth = truths(sample, ability, np.random.default_rng([seed, 20 + number, 1]), world)
        rng, tally = np.random.default_rng([seed, 20 + number, 2]), _Tally()
        for size in chunks(replicates):
            for values in pair_values(sample, sample.draw(ability, size, rng, world)).tolist():
                for code, found in group_scores(table_of(sample, with_values(sample, values))).items():
                    tally.add(code, found, truth[code])
        rows[f"ability {ability:g}"] = {"true_overall": 100 * truth["all"]} | {
            kind: {**levels(tally.covered(kind)), "width_of_behaviors": tally.width(kind, "-B")} for kind in ("printed", "t")
        }
    return rows


def _figures(replicates: int, seed: int) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for graded in (False, True):
        for copies in (1, COPIES):
            name = f"{'graded' if graded else 'yes or no'}, {'copies' if copies > 1 else 'no copies'}"
            rows[name] = {f"right {right:g}": _figure(right, copies, graded, replicates, seed) for right in RIGHT}
    return rows


def _figure(right: float, copies: int, graded: bool, replicates: int, seed: int) -> dict[str, Any]:
    """Coverage over all n together, and the worst n."""
    rng, tally = np.random.default_rng([seed, round(1000 * right), copies, graded]), _Tally()
    shift = _shift(right)
    truth = right if not graded else float(_values(rng, shift, DRAWS, 1, graded).mean())
    for n in MESSAGES:
        drawn = _values(rng, shift, replicates * n, copies, graded).reshape(replicates, n * copies)
        meanings = [str(message) for message in range(n) for _ in range(copies)]
        for values in drawn.tolist():
            tally.add(
                str(n),
                intervals.pooled(
                    [(value, 1.0, meaning) for value, meaning in zip(values, meanings, strict=True)], intervals.SHARE
                ),
                truth,
            )
    return {"true": 100 * truth} | {
        kind: {
            "covered": float(np.mean([*tally.covered(kind).values()])),
            "worst_n": min(tally.covered(kind).items(), key=lambda item: item[1]),
            "width": tally.width(kind),
        }
        for kind in ("printed", "t")
    }


def _shift(right: float) -> float:
    """The logit at which so large a share of messages comes out right, by bisection on a fine grid of normals."""
    from scipy.special import expit, ndtri

    if right == 1:
        return float("inf")
    spread = np.hypot(MESSAGE_SD, COPY_SD) * ndtri((np.arange(20_000) + 0.5) / 20_000)
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(middle + spread).mean() < right else (low, middle)
    return low


def _values(rng: np.random.Generator, shift: float, messages: int, copies: int, graded: bool) -> Array:
    """Values (messages, copies): 0 or 1; or, graded, the mean of three such marks that share a logit."""
    hard = MESSAGE_SD * rng.standard_normal((messages, 1)) + COPY_SD * rng.standard_normal((messages, copies))
    chance = 1 / (1 + np.exp(-(shift + hard)))
    marks = [rng.random((messages, copies)) < chance for _ in range(3 if graded else 1)]
    return np.asarray(np.mean(marks, axis=0))
