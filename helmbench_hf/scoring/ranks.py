"""Many runs on the same cells: which order is shown, and what becomes of it under other weights and other judges.

Works on `scores.json` as it was read from disk. Two runs are tested on the pairs that both scored, and what is said of one run
rests on its own pairs: no other run takes any of them away. Runs whose overall score is withheld stand off the ranking.

Sources: Šidák (1967, JASA 62:626), whose bound holds however the differences are correlated (here they share runs and
messages); Kendall's tau-b (1945, Biometrika 33:239); the rank rule is measurement review 8 and 9.15.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helmbench_hf.scoring import differences, intervals
from helmbench_hf.scoring.compare import refuse
from helmbench_hf.scoring.comparisons import untested
from helmbench_hf.scoring.differences import Run
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
ALONE = "no other run can be ranked, and one alone has no rank"


@dataclass(frozen=True, slots=True)
class PairTest:
    """First minus second run, overall, on the pairs that both scored, with the simultaneous interval over all tests."""

    first: str
    second: str
    value: float | None
    low: float | None
    high: float | None
    se: float | None
    n_pairs: int
    n_meanings: int
    differs: bool | None
    """The interval leaves out 0. None where the two are not tested."""
    reason: str
    """Why they are not."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A run on the board."""

    run: str
    rank: int | None
    """1 + number of runs that are significantly better; runs of one rank are a tier and stand by name. None: off the ranking."""
    last: int | None
    """Number of ranked runs less those that are significantly worse: the lowest place that the test leaves open."""
    score: Estimate
    """Overall as the run's own scores have it, on all pairs that it scored."""
    missing: int
    """Headline pairs that this run did not score."""
    breached: tuple[str, ...]
    """Slugs of its breached floors."""
    reason: str
    """Why it stands off the ranking."""


@dataclass(frozen=True, slots=True)
class Board:
    """The ranked runs by rank, then by name; then those off the ranking."""

    standings: tuple[Standing, ...]
    tests: tuple[PairTest, ...]
    """Every two of the ranked runs."""
    pairs: int
    """Headline pairs that were planned."""
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
class JudgePlace:
    """One run by another judge or panel, on the pairs that it has scored so."""

    run: str
    value: float | None
    """Overall; None where less than `minimum_coverage` is scored so."""
    place: int | None
    """1 + number of runs with a higher value; no test is made."""
    coverage: float
    """Share of the points that the pairs scored so carry."""


@dataclass(frozen=True, slots=True)
class JudgeOrder:
    """The runs once more, by another judge or panel."""

    judge: str
    """Id of the judge that gives the credit alone, or empty for a panel."""
    panel: str
    places: tuple[JudgePlace, ...]
    """In the order of the runs given."""
    tau: float | None
    """Kendall's tau-b to the order under the runs' own panel, over the runs with a value. None where either is all equal."""


def board(runs: Sequence[Run], names: Sequence[str]) -> Board:
    """Test every pair of runs at a joint 95% and rank them. Raises ScoringError below two runs and for what `compare` refuses."""
    if len(runs) < 2:
        raise ScoringError("a study needs two runs or more; one alone has no rank.")
    if len(set(names)) < len(names):
        raise ScoringError("two runs have the same name, which tells nobody apart; rename a folder.")
    # before anything is matched by case: runs of other cells are refused
    for run, name in zip(runs[1:], names[1:], strict=True):
        refuse(runs[0], run, (names[0], name))
    reasons = [off_ranking(run) for run in runs]
    if reasons.count("") == 1:
        reasons = [reason or ALONE for reason in reasons]
    ranked = [at for at, reason in enumerate(reasons) if not reason]
    level = joint_level(len(ranked))
    minimum = runs[0]["provenance"]["minimum_messages"]
    found = zip(_differences([runs[at] for at in ranked]), itertools.combinations(ranked, 2), strict=True)
    tests = tuple(_test(each, (names[first], names[second]), level, minimum) for each, (first, second) in found)
    standings = [_standing(run, name, reason, tests) for run, name, reason in zip(runs, names, reasons, strict=True)]
    return Board(
        standings=tuple(sorted(standings, key=lambda each: (each.rank is None, each.rank, each.run))),
        tests=tests,
        pairs=sum(pair["headline"] for pair in runs[0]["pairs"]),
        rule=f"A run's rank is 1 plus the number of runs that are significantly better in {len(tests)} paired comparison(s) at "
        f"a joint 95% (Šidák: each at {100 * level:.2f}%), each on the pairs that both runs scored; inside a rank runs stand by "
        "name, and nothing orders them.",
    )


def off_ranking(run: Run) -> str:
    """Why a run is not ranked: its overall score is withheld, or there is none. Empty where it is ranked."""
    overall = run["headline"]["overall"]["score"]
    return "" if overall["value"] is not None else str(overall["note"])


def joint_level(runs: int) -> float:
    """Confidence of each of the comparisons of so many runs, so that all hold together at 95%."""
    return float(intervals.CONFIDENCE ** (1 / max(1, math.comb(runs, 2))))


def _differences(runs: Sequence[Run]) -> Iterator[Estimate]:
    """First minus second overall for every two runs, in the order of `itertools.combinations`."""
    import numpy as np

    if len(runs) < 2:
        return
    cells = differences.cells_of(runs[0])
    behaviors = range(len(cells.behaviors))
    values = np.array([differences.pair_values(cells, run) for run in runs])
    for first in range(len(runs) - 1):
        yield from differences.combined(cells, differences.pieces(cells, values[first] - values[first + 1 :]), behaviors)


def _test(found: Estimate, names: tuple[str, str], level: float, minimum: int) -> PairTest:
    half = None if found.se is None or found.df is None else found.se * intervals.t_quantile((1 + level) / 2, found.df)
    low, high = (None, None) if found.value is None or half is None else (found.value - half, found.value + half)
    reason = untested(found, minimum)
    return PairTest(
        first=names[0],
        second=names[1],
        value=found.value,
        low=low,
        high=high,
        se=found.se,
        n_pairs=found.n_pairs,
        n_meanings=found.n_meanings,
        differs=None if reason or low is None or high is None else not low <= 0 <= high,
        reason=reason,
    )


def _standing(run: Run, name: str, reason: str, tests: Sequence[PairTest]) -> Standing:
    mine = [test for test in tests if name in (test.first, test.second)]
    shown = [test for test in mine if test.differs]
    better = sum(((test.value or 0.0) > 0) == (test.second == name) for test in shown)
    headline = run["headline"]
    return Standing(
        run=name,
        rank=None if reason else 1 + better,
        last=None if reason else 1 + len(mine) - (len(shown) - better),
        score=Estimate(**headline["overall"]["score"]),
        missing=sum(pair["value"] is None for pair in run["pairs"] if pair["headline"]),
        breached=tuple(headline["breached"]),
        reason=reason,
    )


def behavior_values(runs: Sequence[Run]) -> tuple[Numbers, Numbers]:
    """Each run's mean of every behavior (behaviors, runs) on its own pairs, NaN where it has none; and the behaviors' points."""
    import numpy as np

    cells = differences.cells_of(runs[0])
    found = differences.pieces(cells, np.array([differences.pair_values(cells, run) for run in runs])).value
    with np.errstate(invalid="ignore"):
        means = np.nan_to_num(found) @ cells.parts / (~np.isnan(found) @ cells.parts)
    return means.T, cells.points


def overall(behaviors: Numbers, weights: Numbers) -> Numbers:
    """(draws, runs): each run's mean of the behaviors (behaviors, runs) that it has, by weights (draws, behaviors)."""
    import numpy as np

    return np.asarray(weights @ np.nan_to_num(behaviors) / (weights @ ~np.isnan(behaviors)))


def weight_stability(
    runs: Sequence[Run], names: Sequence[str], concentration: float = 100, draws: int = 10_000, seed: int = SEED
) -> WeightStability | None:
    """Places and tau under Dirichlet weights around the published ones; None below two runs.

    Every run is weighted on its own pairs, as its published score is. Give ranked runs alone (`off_ranking`).
    `concentration` is the sum of the parameters over all behaviors of the benchmark; those that were not planned drop out, as
    they do for any Dirichlet distribution. The published weights sum to 100 points, so at 100 a behavior of w points gets the
    parameter w: the standard deviation of its weight is about 1 / sqrt(w) of it, half at 4 points and a third at 8. That lets
    weights differ by a factor of about two; it is a choice, not a measurement. Raises ScoringError where it is not positive, or
    without a draw.
    """
    import numpy as np

    if not concentration > 0 or draws < 1:
        raise ScoringError("random weights need a concentration above 0 and at least one draw.")
    if len(runs) < 2:
        return None
    behaviors, points = behavior_values(runs)
    parameters = concentration * points / runs[0]["headline"]["overall"]["weight"]
    drawn = overall(behaviors, np.random.default_rng(seed).dirichlet(parameters, draws))
    taken, taus = places(drawn), kendall(overall(behaviors, points[None])[0], drawn)
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


def judge_order(
    runs: Sequence[Run], names: Sequence[str], rescored: Sequence[Sequence[Mapping[str, Any]]], judge: str, panel: str
) -> JudgeOrder:
    """The order of the runs where their `pairs` are replaced by `rescored`, against their own."""
    import numpy as np

    others = [{**run, "pairs": pairs} for run, pairs in zip(runs, rescored, strict=True)]
    sides = (behavior_values(side) for side in (runs, others))
    own, values = (overall(behaviors, points[None])[0] for behaviors, points in sides)
    shares = [_coverage(run) for run in others]
    least = runs[0]["provenance"]["minimum_coverage"]
    values = np.where(np.array(shares) < least - 1e-9, np.nan, values)
    kept = ~np.isnan(values)
    tau = float(kendall(own[kept], values[None, kept])[0])
    taken = iter(places(values[None, kept])[0])
    rows = zip(names, values.tolist(), kept.tolist(), shares, strict=True)
    found = tuple(
        JudgePlace(name, value, int(next(taken)), share) if here else JudgePlace(name, None, None, share)
        for name, value, here, share in rows
    )
    return JudgeOrder(judge, panel, found, None if math.isnan(tau) else tau)


def _coverage(run: Run) -> float:
    """As `Coverage.share` of the overall score, for other pairs: the sum over scenarios of weight x share of pairs scored."""
    found: dict[str, list[bool]] = defaultdict(list)
    for pair in run["pairs"]:
        if pair["headline"]:
            found[pair["scenario"]].append(pair["value"] is not None)
    share = 0.0
    for behavior in run["behaviors"]:
        every = len(behavior["parts"]) + len(behavior["absent"])
        share += behavior["weight"] / every * sum(sum(found[part]) / len(found[part]) for part in behavior["parts"])
    return share / float(run["headline"]["overall"]["weight"])


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
