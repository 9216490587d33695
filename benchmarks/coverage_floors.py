"""Do safety floors clear and breach as often as they should? (e) of `coverage.py`.

Every message has a failure rate of its own, and all its trials (users, conditions, copies, draws) share it: failures of one
message are then correlated, and those of two messages are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from helmbench_hf.content.load import Benchmark
from helmbench_hf.records import Case
from helmbench_hf.scoring import floors
from helmbench_hf.scoring.floors import Tally
from helmbench_hf.tasks.ledger import Ledger

RATES = {"a tenth of the limit": 0.1, "at the limit": 1.0, "three times the limit": 3.0, "five times the limit": 5.0}
CORRELATIONS = (0.0, 0.3, 0.95)
"""Of two trials of one message."""
DRAWS = (1, 5, 10)
WHAT = {f"{name}, correlation {rho:g}": (factor, rho) for name, factor in RATES.items() for rho in CORRELATIONS}
MOST = 0.95
Sizes = npt.NDArray[np.int64]
"""Cases of each message."""


def floor_states(benchmark: Benchmark, plans: Mapping[str, Sequence[Case]], replicates: int, seed: int) -> dict[str, Any]:
    """Shares of cleared, not shown and breached, by design, floor, answers a case, true failure rate and correlation.

    Beside each design stands an imagined one with twice the messages that clear the limit, of the sizes that `core` has.
    """
    found: dict[str, Any] = {}
    for name, limit, sizes in _floors(benchmark, plans):
        for draws in DRAWS:
            rows = {what: _states(limit, sizes * draws, *how, replicates, seed) for what, how in WHAT.items()}
            about = {"limit": limit, "messages": len(sizes), "needed": floors.needed(limit), "n": int(sizes.sum()) * draws}
            found[f"{name}, {draws} a case"] = {**about, **rows}
    return found


def _floors(benchmark: Benchmark, plans: Mapping[str, Sequence[Case]]) -> Iterator[tuple[str, float, Sizes]]:
    for floor in benchmark.scoring.floors:
        planned = {name: sizes for name, cases in plans.items() if (sizes := _sizes(benchmark, floor.slug, cases))}
        enough = tuple(islice(cycle(next(iter(planned.values()))), 2 * floors.needed(floor.limit)))
        for name, sizes in {**planned, "enough messages": enough}.items():
            yield f"{floor.slug}, {name}", floor.limit, np.array(sizes)


def _sizes(benchmark: Benchmark, slug: str, cases: Sequence[Case]) -> tuple[int, ...]:
    planned = floors.tallies(slug, Ledger(cases, [], []), benchmark.scoring.severe_message)
    return tuple(tally.total() for tally in planned.values())


def _states(limit: float, sizes: Sizes, factor: float, correlation: float, replicates: int, seed: int) -> dict[str, float]:
    rng = np.random.default_rng([seed, int(sizes.sum()), round(10 * factor), round(100 * correlation)])
    chance = _chances(min(MOST, factor * limit), correlation, (replicates, len(sizes)), rng)
    states: Counter[str] = Counter()
    for failed in rng.binomial(sizes, chance).tolist():
        tallies: list[Tally] = [Counter({"fail": bad, "pass": n - bad}) for bad, n in zip(failed, sizes.tolist(), strict=True)]
        states[floors.status_of(limit, tallies)] += 1
    return {state: 100 * states[state] / replicates for state in ("cleared", "not_shown", "breached")}


def _chances(rate: float, correlation: float, shape: tuple[int, int], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Failure rates of messages, beta distributed, so that trials of one message correlate so much (beta-binomial)."""
    if correlation == 0:
        return np.full(shape, rate)
    size = 1 / correlation - 1
    return rng.beta(rate * size, (1 - rate) * size, shape)
