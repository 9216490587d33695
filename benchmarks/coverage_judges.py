"""Does the corrected score hold the truth when the judge errs? (c) of `coverage.py`.

A judge of separation s = r - f turns a right FAIL into PARTIAL with 2/3 (1 - s), into PASS with half of that; a right PASS into
PARTIAL with 1/3 (1 - s), into FAIL with half of that; a right PARTIAL into either neighbor with 1/3 (1 - s). Sources of replies
differ: each error is multiplied by a lognormal factor of mean 1, drawn for every source and criterion (or for every source
alone, `shared`). The calibration set has its real numbers by criterion, source and level and is drawn anew every time; the
respondent is a source of its own. Most criteria have no labels yet: they borrow the numbers of a typical one (`filled`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from coverage_corrected import LEVELS, Corrector, Slopes
from coverage_model import JUDGE, Array, Sample, World, chunks
from coverage_worth import expected, pair_values, table_of, with_values

from helmbench_hf.content.load import Benchmark
from helmbench_hf.judging.labels import find_labels
from helmbench_hf.records import CREDIT, Answer
from helmbench_hf.scoring import aggregate, correction, intervals
from helmbench_hf.scoring.scores import Estimate

VALUES = np.array([CREDIT[level] for level in LEVELS])
SEPARATIONS = (0.65, 0.75, 0.85, 0.95)
SPREAD = 0.35
"""Standard deviation of the factor by which a source multiplies errors."""
ABILITY = 1.0
Sizes = Mapping[str, Mapping[str, Mapping[Answer, int]]]
"""Criterion -> source -> right level -> labels."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One kind of judge."""

    separation: float
    spread: float
    shared: bool = False
    filled: bool = True
    """Criteria without labels borrow the numbers of a typical one, so that all of `core` can be corrected."""

    @property
    def name(self) -> str:
        """As it is printed."""
        rest = [", one factor for all criteria"] * self.shared + [", labels as they are"] * (not self.filled)
        return "".join([f"r - f {self.separation:g}, spread {100 * self.spread:.0f}%", *rest])


SETTINGS = (
    *(Setting(separation, spread) for separation in SEPARATIONS for spread in (0.0, SPREAD)),
    Setting(0.85, SPREAD, shared=True),
    Setting(0.85, SPREAD, filled=False),
)


def calibration_sizes(benchmark: Benchmark) -> Sizes:
    """The labels that a check rests on, counted."""
    counted = Counter((probe.label.criterion, probe.source, probe.right) for probe in find_labels(benchmark).probes)
    found: dict[str, dict[str, dict[Answer, int]]] = defaultdict(lambda: defaultdict(dict))
    for (criterion, source, level), n in sorted(counted.items()):
        found[criterion][source][level] = n
    return found


def filled(sizes: Sizes, criteria: Sequence[str]) -> Sizes:
    """The same, where criteria without labels have those of the middle one by number; appraisals (A) stay without."""
    order = sorted(sizes, key=lambda code: sum(n for rows in sizes[code].values() for n in rows.values()))
    usual = [code for code in order if any("PARTIAL" in rows for rows in sizes[code].values())]
    return {code: sizes.get(code, sizes[usual[len(usual) // 2]]) for code in criteria if not code.startswith("A")}


@cache
def _steps(separation: float) -> Array:
    """How likely each right level (rows) is called another (columns), before a source's factor."""
    error = 1 - separation
    return np.array([[0, error / 3, error / 6], [error / 3, 0, error / 3], [error / 3, 2 * error / 3, 0]])


def confusion(setting: Setting, factor: float) -> Array:
    """Shares of what is said (columns) at each right level (rows); errors of a row stop at .9."""
    steps = factor * _steps(setting.separation)
    steps = steps * np.minimum(1, 0.9 / np.maximum(steps.sum(axis=1, keepdims=True), 1e-12))
    return np.asarray(steps + np.diag(1 - steps.sum(axis=1)))


def factors(setting: Setting, criteria: Sequence[str], rng: np.random.Generator) -> dict[str, float]:
    """One source's factor by criterion."""
    sigma = np.sqrt(np.log1p(setting.spread**2))
    drawn = np.exp(rng.normal(-(sigma**2) / 2, sigma, 1 if setting.shared else len(criteria)))
    return dict(zip(criteria, np.broadcast_to(drawn, len(criteria)).tolist(), strict=True))


def calibrate(setting: Setting, sizes: Sizes, criteria: Sequence[str], rng: np.random.Generator) -> dict[str, Any]:
    """What a check of this judge finds: criterion -> source -> right level -> said level -> labels."""
    sources = sorted({source for rows in sizes.values() for source in rows})
    drawn = {source: factors(setting, criteria, rng) for source in sources}
    found: dict[str, Any] = {}
    for criterion in criteria:
        found[criterion] = {
            source: {
                right: dict(zip(LEVELS, _said(setting, drawn[source][criterion], right, n, rng), strict=True))
                for right, n in by_level.items()
            }
            for source, by_level in sizes.get(criterion, {}).items()
        }
    return found


def _said(setting: Setting, factor: float, right: Answer, n: int, rng: np.random.Generator) -> list[int]:
    return [int(count) for count in rng.multinomial(n, confusion(setting, factor)[LEVELS.index(right)])]


def judge(sample: Sample, setting: Setting, right: Array, criteria: Sequence[str], rng: np.random.Generator) -> Array:
    """The verdict values (slots) that this judge gives where a perfect one gives `right` (slots)."""
    bounds = {code: confusion(setting, own).cumsum(axis=1) for code, own in factors(setting, criteria, rng).items()}
    said, chance = right.copy(), rng.random(len(right))
    judged = np.flatnonzero(sample.judged)
    rows = np.stack([bounds[sample.slots[index].criterion] for index in judged])
    below = rows[np.arange(len(judged)), np.round(2 * (1 - right[judged])).astype(int)]
    said[judged] = VALUES[np.minimum(2, (chance[judged, None] > below).sum(axis=1))]
    return said


@dataclass
class Tally:
    """Replicates of one setting: who held the truth, and how wide each interval was."""

    held: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    half: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, name: str, estimate: Estimate, truth: float) -> None:
        """Count one interval, if there is one."""
        if estimate.low is not None and estimate.high is not None:
            self.held[name].append(estimate.low <= truth <= estimate.high)
            self.half[name].append(50 * (estimate.high - estimate.low))

    def rows(self) -> dict[str, Any]:
        """By kind of interval its coverage and mean half-width."""
        return {
            name: {"covered": 100 * float(np.mean(found)), "half_width": float(np.mean(self.half[name]))}
            for name, found in self.held.items()
        }


def judge_coverage(sample: Sample, replicates: int, seed: int, settings: Sequence[Setting] = SETTINGS) -> dict[str, Any]:
    """(c) Coverage and width of the overall score: raw; corrected with the check taken as exact; with its own error; with the
    spread between sources as well. The truth is that of the scenarios that could be corrected."""
    world = sample.world(np.random.default_rng([seed, 0]))
    true_pairs = expected(sample, ABILITY, np.random.default_rng([seed, 1]), world)
    true = _over(sample, true_pairs)[0].value or 0.0
    sizes = calibration_sizes(sample.benchmark)
    found: dict[str, Any] = {"true_overall": 100 * true, "of": len({unit.score.scenario for unit in sample.units})}
    for number, setting in enumerate(settings):
        rng = np.random.default_rng([seed, 2 + number])
        tally, kept = Tally(), []
        for counts, said, raw in _runs(sample, setting, sizes, world, replicates, rng):
            tally.add("raw", _over(sample, raw)[0], true)
            fixed = estimates(sample, counts, said, raw)
            kept.append(len(fixed.kept))
            if fixed.kept:
                inside = _over(sample, true_pairs, fixed.kept)[0].value or 0.0
                tally.add("corrected, check taken as exact", fixed.exact, inside)
                tally.add("corrected, with the check's error", fixed.checked, inside)
                tally.add("corrected, with the spread too", fixed.spread, inside)
        found[setting.name] = {**tally.rows(), "scenarios_corrected": float(np.mean(kept))}
    return found


def _runs(
    sample: Sample, setting: Setting, sizes: Sizes, world: World, replicates: int, rng: np.random.Generator
) -> Iterator[tuple[dict[str, Any], Array, Array]]:
    """A check of the judge, what it says of a run (slots), and what the pairs are then worth (units)."""
    criteria = sorted({slot.criterion for slot in sample.slots if slot.grader == JUDGE.id})
    labeled = filled(sizes, criteria) if setting.filled else sizes
    for size in chunks(replicates):
        right = sample.draw(ABILITY, size, rng, world)
        said = np.stack([judge(sample, setting, row, criteria, rng) for row in right])
        for row, raw in zip(said, pair_values(sample, said), strict=True):
            yield calibrate(setting, labeled, criteria, rng), row, raw


@dataclass(frozen=True, slots=True)
class Estimates:
    """The corrected overall score over the scenarios `kept`, with three intervals."""

    kept: frozenset[str]
    exact: Estimate
    """The check taken as exact."""
    checked: Estimate
    """With the error of the check's own sample."""
    spread: Estimate
    """With the spread between sources as well: what a run prints."""


def estimates(sample: Sample, counts: Mapping[str, Any], said: Array, raw: Array) -> Estimates:
    """Correct what a judge `said` (slots) by its check; `raw`: what the pairs are worth by it (units)."""
    fits = {code: fit for code, labeled in counts.items() if (fit := correction.measure(labeled, LEVELS).fit) is not None}
    corrector = Corrector(sample, fits)
    value, slopes = corrected_pairs(sample, corrector, said.tolist(), raw)
    exact, table, shares = _over(sample, value, corrector.kept)
    errors = correction.calibration_error(gradients(sample, shares, slopes), fits, correction.spread_of(counts.values()))
    parts = [table.pieces[code] for code in shares]
    checked, spread = (
        intervals.combine(parts, [*shares.values()], "", added) for added in (errors.labels, (*errors.labels, *errors.sources))
    )
    return Estimates(corrector.kept, exact, checked, spread)


def _over(
    sample: Sample, values: Array, kept: Container[str] | None = None
) -> tuple[Estimate, aggregate.Table, aggregate.Shares]:
    """The overall score of these pair values (units), over some scenarios or all."""
    units = [unit for unit in with_values(sample, values.tolist()) if kept is None or unit.score.scenario in kept]
    table = table_of(sample, units)
    shares = aggregate.behavior_shares(table.plans, table.pieces)
    return intervals.combine([table.pieces[code] for code in shares], [*shares.values()]), table, shares


def corrected_pairs(sample: Sample, corrector: Corrector, said: Sequence[float], raw: Array) -> tuple[Array, list[Slopes]]:
    """Corrected values (units) and slopes; as they are where the scenario is not corrected."""
    found = [
        corrector.pair(unit, said, float(worth)) if unit.score.scenario in corrector.kept else (float(worth), {})
        for unit, worth in zip(sample.units, raw, strict=True)
    ]
    return np.array([value for value, _ in found]), [slopes for _, slopes in found]


def gradients(sample: Sample, shares: Mapping[str, float], slopes: Sequence[Slopes]) -> Slopes:
    """Slopes of the weighted sum over scenarios."""
    total: dict[str, float] = defaultdict(float)
    for unit in sample.units:
        total[unit.score.scenario] += unit.score.weight
    found: Slopes = {}
    for unit, own in zip(sample.units, slopes, strict=True):
        part = shares.get(unit.score.scenario, 0.0) * unit.score.weight / total[unit.score.scenario]
        for code, slope in own.items():
            found[code] = found[code] + part * slope if code in found else part * slope
    return found
