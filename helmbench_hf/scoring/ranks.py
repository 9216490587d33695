"""Many runs on the same cells: which order is shown, and what becomes of it under other weights and other judges.

Works on `scores.json` as it was read from disk. All numbers rest on the headline pairs that every run scored, so that two runs
never differ because one of them lacks a hard pair.

Sources: Šidák (1967, JASA 62:626), whose bound holds however the differences are correlated (here they share runs and
messages); Kendall's tau-b (1945, Biometrika 33:239); the rank rule is measurement review 8 and 9.15.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helmbench_hf.scoring.compare import Run, compare
from helmbench_hf.scoring.differences import differences
from helmbench_hf.scoring.intervals import CONFIDENCE, t_quantile
from helmbench_hf.scoring.result import Estimate
from helmbench_hf.scoring.verdicts import ScoringError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]

SEED = 20
"""Of the random weights."""
DIGITS = 12
"""Values that agree to so many digits are equal: the same sum in another order is no difference."""


@dataclass(frozen=True, slots=True)
class PairTest:
    """First minus second run, overall, with the simultaneous interval over all pairs of runs."""

    first: str
    second: str
    value: float | None
    low: float | None
    high: float | None
    se: float | None
    n_pairs: int
    n_meanings: int
    differs: bool
    """The interval leaves out 0. False where there is no interval."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A run on the board."""

    run: str
    rank: int
    """1 + number of runs that are significantly better; runs of one rank are a tier and stand by name."""
    last: int
    """Number of runs less those that are significantly worse: the lowest place that the test leaves open."""
    value: float | None
    """Overall, on the pairs that every run scored."""
    published: Estimate
    """Overall as the run's own scores have it, on all pairs that it scored."""
    missing: int
    """Headline pairs that this run did not score."""
    breached: tuple[str, ...]
    """Slugs of its breached floors."""


@dataclass(frozen=True, slots=True)
class Board:
    """The runs by rank, then by name."""

    standings: tuple[Standing, ...]
    tests: tuple[PairTest, ...]
    pairs: int
    """Headline pairs that every run scored."""
    dropped: int
    """Headline pairs that at least one run did not score."""
    rule: str


@dataclass(frozen=True, slots=True)
class PlaceShares:
    """In what share of the draws a run takes each place, first place first; runs that are equal share the better place."""

    run: str
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class WeightStability:
    """What becomes of the order under random behavior weights."""

    concentration: float
    draws: int
    seed: int
    behaviors: int
    places: tuple[PlaceShares, ...]
    """In the order of the runs given."""
    tau_median: float | None
    """Kendall's tau-b to the order under the published weights. None where all runs are equal."""
    tau_low: float | None
    """Its 5% quantile."""


@dataclass(frozen=True, slots=True)
class JudgeOrder:
    """The runs once more, by another judge or panel."""

    judge: str
    """Id of the judge that gives the credit alone, or empty for a panel."""
    panel: str
    values: tuple[float | None, ...]
    """Overall, in the order of the runs given, on the pairs that every run scored so."""
    places: tuple[int, ...]
    """1 + number of runs with a higher value; no test is made. Empty where no pair was scored."""
    tau: float | None
    """Kendall's tau-b to the order under the runs' own panel."""
    pairs: int
    dropped: int


def board(runs: Sequence[Run], names: Sequence[str]) -> Board:
    """Test every pair of runs at a joint 95% and rank them. Raises ScoringError below two runs and for what `compare` refuses."""
    if len(runs) < 2:
        raise ScoringError("a study needs two runs or more; one alone has no rank.")
    if len(set(names)) < len(names):
        raise ScoringError("two runs have the same name, which tells nobody apart; rename a folder.")
    # before anything is matched by case: runs of other cells are refused
    for run, name in zip(runs[1:], names[1:], strict=True):
        compare(runs[0], run, (names[0], name))
    common, dropped = shared(runs)
    level = joint_level(len(runs))
    tests = tuple(
        _test(found, (first, second), level)
        for found, (first, second) in zip(differences(runs, common), itertools.combinations(names, 2), strict=True)
    )
    known = overall(behavior_values(runs, common), weights_of(runs[0]))
    values: Sequence[float | None] = known or [None] * len(runs)
    standings = [_standing(run, name, value, tests) for run, name, value in zip(runs, names, values, strict=True)]
    return Board(
        standings=tuple(sorted(standings, key=lambda each: (each.rank, each.run))),
        tests=tests,
        pairs=len(common),
        dropped=dropped,
        rule=f"A run's rank is 1 plus the number of runs that are significantly better in {len(tests)} paired comparison(s) at "
        f"a joint 95% (Šidák: each at {100 * level:.2f}%); inside a rank runs stand by name, and nothing orders them.",
    )


def joint_level(runs: int) -> float:
    """Confidence of each of the comparisons of so many runs (two or more), so that all hold together at 95%."""
    return float(CONFIDENCE ** (1 / math.comb(runs, 2)))


def _test(found: Estimate, names: tuple[str, str], level: float) -> PairTest:
    half = None if found.se is None or found.df is None else found.se * t_quantile((1 + level) / 2, found.df)
    low, high = (None, None) if found.value is None or half is None else (found.value - half, found.value + half)
    return PairTest(
        first=names[0],
        second=names[1],
        value=found.value,
        low=low,
        high=high,
        se=found.se,
        n_pairs=found.n_pairs,
        n_meanings=found.n_meanings,
        differs=low is not None and high is not None and not round(low, DIGITS) <= 0 <= round(high, DIGITS),
    )


def _standing(run: Run, name: str, value: float | None, tests: Sequence[PairTest]) -> Standing:
    shown = [test for test in tests if test.differs and name in (test.first, test.second)]
    better = sum(((test.value or 0.0) > 0) == (test.second == name) for test in shown)
    headline = run["headline"]
    return Standing(
        run=name,
        rank=1 + better,
        last=1 + sum(name in (test.first, test.second) for test in tests) - (len(shown) - better),
        value=value,
        published=Estimate(**headline["overall"]["score"]),
        missing=sum(pair["value"] is None for pair in run["pairs"] if pair["headline"]),
        breached=tuple(headline["breached"]),
    )


def shared(runs: Sequence[Run]) -> tuple[frozenset[str], int]:
    """Crisis codes of the headline pairs that every run scored, and how many pairs are left out for one run or another."""
    planned = {pair["crisis"] for run in runs for pair in run["pairs"] if pair["headline"]}
    scored = [{pair["crisis"] for pair in run["pairs"] if pair["headline"] and pair["value"] is not None} for run in runs]
    common = frozenset(planned.intersection(*scored))
    return common, len(planned) - len(common)


def weights_of(run: Run) -> dict[str, float]:
    """Points of every planned behavior."""
    return {behavior["code"]: float(behavior["weight"]) for behavior in run["behaviors"]}


def behavior_values(runs: Sequence[Run], codes: frozenset[str]) -> dict[str, list[float]]:
    """By behavior, each run's mean of its scenarios on these pairs; behaviors without such a pair are left out."""
    scenarios = [_scenario_values(run, codes) for run in runs]
    found = {}
    for behavior in runs[0]["behaviors"]:
        parts = [part for part in behavior["parts"] if part in scenarios[0]]
        if parts:
            found[behavior["code"]] = [sum(values[part] for part in parts) / len(parts) for values in scenarios]
    return found


def _scenario_values(run: Run, codes: frozenset[str]) -> dict[str, float]:
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for pair in run["pairs"]:
        if pair["crisis"] in codes:
            both = sums[pair["scenario"]]
            both[0] += pair["weight"] * pair["value"]
            both[1] += pair["weight"]
    return {scenario: total / weight for scenario, (total, weight) in sums.items()}


def overall(behaviors: Mapping[str, Sequence[float]], weights: Mapping[str, float]) -> list[float]:
    """Each run's weighted mean of its behaviors, which are given as by `behavior_values`; empty where there is none."""
    total = sum(weights[code] for code in behaviors)
    columns = zip(*behaviors.values(), strict=True)
    return [sum(weights[code] * value for code, value in zip(behaviors, column, strict=True)) / total for column in columns]


def weight_stability(
    runs: Sequence[Run], names: Sequence[str], concentration: float = 100, draws: int = 10_000, seed: int = SEED
) -> WeightStability | None:
    """Places and tau under Dirichlet weights around the published ones; None where no pair was scored by every run.

    `concentration` is the sum of the parameters over all behaviors of the benchmark; those that are not compared drop out, as
    they do for any Dirichlet distribution. The published weights sum to 100 points, so at 100 a behavior of w points gets the
    parameter w: the standard deviation of its weight is about 1 / sqrt(w) of it, half at 4 points and a third at 8. That lets
    weights differ by a factor of about two; it is a choice, not a measurement. Raises ScoringError where it is not positive, or
    without a draw.
    """
    import numpy as np

    if not concentration > 0 or draws < 1:
        raise ScoringError("random weights need a concentration above 0 and at least one draw.")
    behaviors = behavior_values(runs, shared(runs)[0])
    if not behaviors:
        return None
    points = np.array([weights_of(runs[0])[code] for code in behaviors])
    parameters = concentration * points / runs[0]["headline"]["overall"]["weight"]
    values = np.array(list(behaviors.values()))
    drawn = np.random.default_rng(seed).dirichlet(parameters, draws) @ values
    taken, taus = places(drawn), kendall(points / points.sum() @ values, drawn)
    known = taus[~np.isnan(taus)]
    return WeightStability(
        concentration=concentration,
        draws=draws,
        seed=seed,
        behaviors=len(behaviors),
        places=tuple(
            PlaceShares(name, tuple(float((taken[:, index] == place).mean()) for place in range(1, len(runs) + 1)))
            for index, name in enumerate(names)
        ),
        tau_median=float(np.median(known)) if len(known) else None,
        tau_low=float(np.quantile(known, 0.05)) if len(known) else None,
    )


def judge_order(runs: Sequence[Run], rescored: Sequence[Sequence[Mapping[str, Any]]], judge: str, panel: str) -> JudgeOrder:
    """The order of the runs where their `pairs` are replaced by `rescored`, against their own."""
    import numpy as np

    others = [{**run, "pairs": pairs} for run, pairs in zip(runs, rescored, strict=True)]
    weights, (common, dropped) = weights_of(runs[0]), shared(others)
    own, values = (overall(behavior_values(side, shared(side)[0]), weights) for side in (runs, others))
    if not own or not values:
        return JudgeOrder(judge, panel, (None,) * len(runs), (), None, len(common), dropped)
    tau = float(kendall(np.array(own), np.array([values]))[0])
    taken = tuple(int(place) for place in places(np.array([values]))[0])
    return JudgeOrder(judge, panel, tuple(values), taken, None if math.isnan(tau) else tau, len(common), dropped)


def places(values: Numbers) -> npt.NDArray[np.int64]:
    """1 + number of higher values in the same row, of values (draws, runs)."""
    import numpy as np

    rounded = np.round(values, DIGITS)
    return np.stack([1 + (rounded > column[:, None]).sum(axis=1) for column in rounded.T], axis=1)


def kendall(order: Numbers, others: Numbers) -> Numbers:
    """Kendall's tau-b of values (runs) against each row of other values (draws, runs); NaN where either side is all equal."""
    import numpy as np

    order, others = np.round(order, DIGITS), np.round(others, DIGITS)
    concordant, untied, own = np.zeros(len(others)), np.zeros(len(others)), 0.0
    for i, j in itertools.combinations(range(len(order)), 2):
        here, there = np.sign(order[i] - order[j]), np.sign(others[:, i] - others[:, j])
        concordant, untied, own = concordant + here * there, untied + there**2, own + here**2
    with np.errstate(invalid="ignore"):
        found: Numbers = concordant / np.sqrt(untied * own)
    return found
