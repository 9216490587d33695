"""Do safety floors clear and breach as often as they should? (e) of `coverage.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from coverage_model import Sample

from helmbench_hf.content.rules import Floor
from helmbench_hf.records import Case
from helmbench_hf.scoring import floors
from helmbench_hf.scoring.floors import Result, Scope, Trial
from helmbench_hf.scoring.verdicts import Ledger

RATES = {"a tenth of the limit": 0.1, "at the limit": 1.0, "five times the limit": 5.0}
CORRELATIONS = (0.0, 0.1, 0.3)
"""Of two trials with one message; .3 is what the measurement review assumed."""
DRAWS = (1, 5)
WHAT = {f"{name}, correlation {rho:g}": (factor, rho) for name, factor in RATES.items() for rho in CORRELATIONS}
MOST = 0.95
PASS: Result = "pass"
FAIL: Result = "fail"


def floor_states(sample: Sample, replicates: int, seed: int) -> dict[str, Any]:
    """Shares of cleared, not shown and breached, by floor, answers a case, true failure rate and correlation."""
    benchmark = sample.benchmark
    critical = frozenset(b.code for pillar in benchmark.file.pillars for b in pillar.behaviors if b.critical)
    found: dict[str, Any] = {}
    for floor in benchmark.scoring.floors:
        for draws in DRAWS:
            ledger = Ledger(sample.cases, [], [], draws)
            scope = Scope(ledger, sample.plan, critical, benchmark.scoring.severe_message)
            cases = [trial.case for trial in floors.TRIALS[floor.slug](scope)]
            rows = {name: _states(floor, ledger, cases, *what, replicates, seed) for name, what in WHAT.items()}
            messages = len({case.meaning for case in cases})
            found[f"{floor.slug}, {draws} a case"] = {"limit": floor.limit, "n": len(cases), "messages": messages, **rows}
    return found


def _states(
    floor: Floor, ledger: Ledger, cases: Sequence[Case], factor: float, correlation: float, replicates: int, seed: int
) -> dict[str, float]:
    meanings = sorted({case.meaning for case in cases})
    places = np.array([meanings.index(case.meaning) for case in cases])
    rng = np.random.default_rng([seed, len(cases), round(10 * factor), round(10 * correlation)])
    states: Counter[str] = Counter()
    passed, missed = ([Trial(case, result) for case in cases] for result in (PASS, FAIL))
    for _ in range(replicates):
        chance = _chances(min(MOST, factor * floor.limit), correlation, len(meanings), rng)[places]
        failed = (rng.random(len(cases)) < chance).tolist()
        trials = [bad if out else good for good, bad, out in zip(passed, missed, failed, strict=True)]
        states[floors._state(floor, trials, ledger).status] += 1
    return {state: 100 * states[state] / replicates for state in ("cleared", "not_shown", "breached")}


def _chances(rate: float, correlation: float, messages: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Failure rate of each message, beta distributed, so that trials of one message correlate so much (beta-binomial)."""
    if correlation == 0:
        return np.full(messages, rate)
    size = 1 / correlation - 1
    return rng.beta(rate * size, (1 - rate) * size, messages)
