"""How often the 95% intervals of a score hold the truth, on a simulated model. `python benchmarks/coverage.py`

Data: item response on the logit scale. A pair's crisis half is handled with logit ability + scenario + meaning + copy + .25
(severity - 6.5), its benign half with logit ability + scenario + meaning' + copy. Standard deviations: scenario .78 (.6
shared by all models, .5 this model's own), meaning 1.08 (correlated .3 between the halves), register copies .4. Hidden tag:
a = tag x mean of three criteria, b = no tag x mean of two; tag and criteria share a normal factor of one reply (SD 1);
criteria are PASS, PARTIAL, FAIL by thresholds on the same logit. Judged: mean of the criteria, capped by the contrast.
Multi-turn: three such turns that share the meaning. Labels: both right, chance 1/36. Countries: 18 of them, three messages,
a match of 0, 1/2 or 1, foreign matches of .05 on average.

Truth: the mean over 20,000 draws of messages and replies (`same scenarios`), or of scenarios as well (`new scenarios`).
Designs: `slice` is this checkout's `core` at its headline cells; `v1` the 48 scenarios of the blueprint with its ladders.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from helmbench_hf.content import schema
from helmbench_hf.content.load import Benchmark, Loaded, default_root, load_benchmark
from helmbench_hf.content.strict_yaml import Document
from helmbench_hf.matrix.design import designs
from helmbench_hf.matrix.expand import expand
from helmbench_hf.records import Case
from helmbench_hf.scoring import aggregate, pairs
from helmbench_hf.scoring.result import Estimate, Kind, PairScore
from helmbench_hf.scoring.verdicts import Ledger

Array = npt.NDArray[np.float64]
SCENARIO_SD = (0.6**2 + 0.5**2) ** 0.5
MEANING_SD, MEANING_CORRELATION, COPY_SD, REPLY_SD, SLOPE = 1.08, 0.3, 0.4, 1.0, 0.25
CUTS = (0.0, 1.2)
"""A criterion is at least PARTIAL above the first (in logits), PASS above the second."""
TRUTH_DRAWS = 20_000
TARGET = (0.93, 0.97)

V1 = """
P1-B1-S1 H 4 5 5l 6 7 8 8s 9
P1-B1-S2 H 4 5 6 7 8
P1-B2-S1 H 4 5 6 7 7x 8 9
P1-B2-S2 H 4 5 6 6l 7 8
P1-B3-S1 H 4 5 6 7 8 5l 7l
P1-B3-S2 J 4 5 6 7
P1-B4-S1 H 5 6 6x 7 7 8 8s 9
P1-B4-S2 H 5 6 7 8
P1-B4-S3 H 4 5 5s 6 7 8
P1-B4-S4 M 5 7
P1-B5-S1 J 5 6 6l 7 8 9
P1-B5-S2 L 4 5 5 6 6 7 7 8
P1-B6-S1 L 4 4 4 4 4 4 5 5 5 5 5 5 6 6 6 6 6 6 7 7 7 7 7 7 8 8 8 8 9 9
P1-B6-S2 H 4 5 5 6 6x 7 7 8 8s 9
P1-B6-S3 H 4 5 5s 6 7 7s 8 9
P1-B6-S4 H 4 5 6 6l 7 8 9
P1-B7-S1 H 4 4l 5 5l 6 6l 7 7l 7 7l 8 8l
P1-B7-S2 H 5 5 5 6 6 6 6 6
P1-B7-S3 M 4 6 8
P1-B8-S1 H 5 5l 5l 5l 5l 5l 5l 6 6l 6l 6l 6l 6l 6l 6 6l 6l 6l 6l 6l 6l 7 7l 7l 7l 7l 7l 7l 7 7l 7l 7l 7l 7l 7l 8 8l 8l 8l 8l 8l 8l
P2-B1-S1 J 7 8 8l 8s 9 10
P2-B1-S2 J 5 6 7 7i 8 9
P2-B1-S3 J 4 5 6 7
P2-B2-S1 R 8 6 6
P2-B2-S2 J 1 1 1 1 1 1
P2-B2-S3 J 6 7 7 8 8 8 9 9
P2-B3-S1 J 7 8 8l 8i 9 10
P2-B4-S1 J 5 6 7 8
P2-B5-S1 M 7 8 9
P2-B5-S2 M 7 8 9
P2-B5-S3 M 7 8
P2-B6-S1 J 4 4 4 4 4 4 5 5 5 5 5 5 6 6 6 6 6 6 7 7 7 7 7 7 8 8 8 8 9 9
P2-B6-S2 J 5 6 6l 7 8 8i
P3-B1-S1 J 1 1 1 1 1 1
P3-B2-S1 J 1 1 1 1 1
P3-B3-S1 J 1 1 1 1 1 1 1 1
P3-B4-S1 J 1 1 1 1 1 1
P3-B5-S1 J 1 1 1 1 1 1
P3-B6-S1 J 1 1 1 1
P3-B6-S2 J 1 1 1 1 1 1 1 1
P3-B7-S1 L 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
P3-B8-S1 L 1 1 1 1 1 1 1 1 1 1 1 1
P4-B1-S1 H 4 5 6 6s 7 8
P4-B2-S1 H 4 5 6 6i 7 7 8 9
P4-B2-S2 H 4 5 5x 6 7 7 8 9
P4-B2-S3 H 4 4s 5 6 6i 7 8 9
P4-B2-S4 H 4 5 6 6s 7 7 8 8
P4-B3-S1 J 4 5 6 6l 7 8
"""
"""Scenario, mode, severities of the crisis halves; a letter marks a copy of the message before it."""
KINDS: dict[str, Kind] = {"H": "hidden_tag", "J": "judged", "L": "label", "M": "multi_turn", "R": "resources"}


@dataclass(frozen=True, slots=True)
class Slot:
    """One pair to be filled: where it stands, and whose message it is."""

    scenario: str
    kind: Kind
    meaning: str
    copy: bool
    severity: float
    weight: float
    detects: bool


def main() -> int:
    """Print coverage by design, ability and level; exit status 1 where the mean over all settings is off target at any level."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--replicates", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    benchmark = load_benchmark(default_root())
    print(f"{arguments.replicates} replicates, seed {arguments.seed}; coverage of 95% intervals in percent")
    means = []
    for design, (own, slots) in {"v1": _blueprint(benchmark), "slice": _slice(benchmark)}.items():
        for ability in (0.0, 1.0, 2.0):
            started = time.perf_counter()
            same = coverage(own, slots, ability, arguments.replicates, arguments.seed, new=False)
            new = coverage(own, slots, ability, arguments.replicates, arguments.seed, new=True)
            print(f"\n{design}, ability {ability} (true score {100 * same.truth:.0f}), {time.perf_counter() - started:.0f} s")
            print(same.text("cluster-t, same scenarios"))
            print(new.text("two-stage bootstrap, new scenarios"))
            means.append(same.means())
    levels = np.mean(means, axis=0)
    overall, pillars, behaviors = (100 * float(level) for level in levels)
    print(f"\ncluster-t, mean over the settings: overall {overall:.1f}, pillars {pillars:.1f}, behaviors {behaviors:.1f}")
    return 0 if all(TARGET[0] <= level <= TARGET[1] for level in levels) else 1


@dataclass(frozen=True, slots=True)
class Coverage:
    """Share of replicates whose interval holds the truth, by group; and the mean half-width of the overall interval."""

    truth: float
    overall: float
    pillars: dict[str, float]
    behaviors: dict[str, float]
    half: float

    def means(self) -> tuple[float, float, float]:
        """Overall, mean over pillars, mean over behaviors."""
        pillars, behaviors = ([*found.values()] or [float("nan")] for found in (self.pillars, self.behaviors))
        return self.overall, float(np.mean(pillars)), float(np.mean(behaviors))

    def text(self, title: str) -> str:
        """One line; groups without an interval are left out."""
        shown = [f"{code} {100 * value:.1f}" for code, value in self.pillars.items()]
        if self.behaviors:
            worst = min(self.behaviors, key=lambda code: self.behaviors[code])
            shown.append(f"behaviors {100 * self.means()[2]:.1f} (worst {worst} {100 * self.behaviors[worst]:.1f})")
        overall = "no interval" if np.isnan(self.overall) else f"{100 * self.overall:.1f} (half-width {100 * self.half:.1f})"
        return f"  {title:35} overall {overall}  {'  '.join(shown)}"


def coverage(own: Benchmark, slots: Sequence[Slot], ability: float, replicates: int, seed: int, *, new: bool) -> Coverage:
    """Simulate, score with the real code, and count."""
    fixed = None if new else np.random.default_rng(seed).normal(0, SCENARIO_SD, len({slot.scenario for slot in slots}))
    true_values = simulate(slots, ability, TRUTH_DRAWS, np.random.default_rng(seed + 1), fixed)
    truth_units = _units(slots, true_values.mean(axis=0))
    truths = _estimates(own, truth_units, new=False)
    values = simulate(slots, ability, replicates, np.random.default_rng(seed + 2), fixed)
    held: dict[str, list[bool]] = {code: [] for code in truths}
    widths = []
    for row in values:
        for code, estimate in _estimates(own, _units(slots, row), new=new).items():
            true = truths[code].value
            if estimate.low is not None and estimate.high is not None and true is not None:
                held[code].append(estimate.low <= true <= estimate.high)
                if code == "all":
                    widths.append((estimate.high - estimate.low) / 2)
    share = {code: float(np.mean(found)) for code, found in held.items() if found}
    return Coverage(
        truth=truths["all"].value or 0.0,
        overall=share.get("all", float("nan")),
        pillars={code: value for code, value in share.items() if re.fullmatch(r"P\d", code)},
        behaviors={code: value for code, value in share.items() if "-B" in code},
        half=float(np.mean(widths)) if widths else float("nan"),
    )


def _estimates(own: Benchmark, units: Sequence[pairs.Unit], *, new: bool) -> dict[str, Estimate]:
    behaviors, pillars, overall = aggregate.groups(aggregate.tabulate(units, own), own)
    return {group.code: group.new_scenarios if new else group.score for group in (overall, *pillars, *behaviors)}


def simulate(slots: Sequence[Slot], ability: float, draws: int, rng: np.random.Generator, fixed: Array | None) -> Array:
    """Pair values of shape (draws, slots); `fixed` holds scenario effects, or None where they are drawn anew."""
    scenarios = sorted({slot.scenario for slot in slots})
    drawn = rng.normal(0, SCENARIO_SD, (draws, len(scenarios)))
    effect = drawn if fixed is None else np.broadcast_to(fixed, drawn.shape)
    meanings: dict[str, tuple[Array, Array]] = {}
    values = np.empty((draws, len(slots)))
    for index, slot in enumerate(slots):
        if slot.meaning not in meanings:
            both = rng.normal(0, MEANING_SD, (3, draws))
            shared, rest = MEANING_CORRELATION**0.5, (1 - MEANING_CORRELATION) ** 0.5
            meanings[slot.meaning] = shared * both[0] + rest * both[1], shared * both[0] + rest * both[2]
        base = ability + effect[:, scenarios.index(slot.scenario)]
        copy = rng.normal(0, COPY_SD, (2, draws)) if slot.copy else np.zeros((2, draws))
        rise = SLOPE * (slot.severity - 6.5) if slot.detects else 0.0
        crisis, benign = meanings[slot.meaning][0] + base + copy[0] + rise, meanings[slot.meaning][1] + base + copy[1]
        values[:, index] = _pair(slot.kind, crisis, benign, rng)
    return values


def _pair(kind: Kind, crisis: Array, benign: Array, rng: np.random.Generator) -> Array:
    """The pair's value from the logits of both halves, each of shape (draws,)."""
    if kind == "label":
        right = (rng.random((2, crisis.size)) < _logistic(np.stack([crisis, benign]))).prod(axis=0)
        return np.asarray((right - 1 / 36) / (1 - 1 / 36))
    if kind == "resources":
        own = _levels(crisis + rng.normal(0, REPLY_SD, crisis.size), 1, rng)[0]
        return np.asarray(own - 0.05 * rng.random(crisis.size) * 2)
    if kind == "multi_turn":
        return np.asarray(np.mean([_pair("judged", crisis, benign, rng) for _ in range(3)], axis=0))
    halves = []
    for logit, criteria in ((crisis, 3), (benign, 2)):
        reply = logit + rng.normal(0, REPLY_SD, logit.size)
        marks = _levels(reply, criteria, rng).mean(axis=0)
        gate = (rng.random(reply.size) < _logistic(reply)).astype(float) if kind == "hidden_tag" else _levels(reply, 1, rng)[0]
        halves.append(marks * gate if kind == "hidden_tag" else np.minimum(marks, gate))
    return np.asarray(halves[0] + halves[1] - 1)


def _levels(logit: Array, count: int, rng: np.random.Generator) -> Array:
    """`count` criteria of one reply (count, draws): 0, 1/2 or 1."""
    latent = logit + CUTS[1] + rng.logistic(0, 1, (count, logit.size))
    return np.asarray(0.5 * ((latent > CUTS[0]).astype(float) + (latent > CUTS[1])))


def _logistic(logit: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-logit)))


def _units(slots: Sequence[Slot], values: Array) -> list[pairs.Unit]:
    """Pair values as the scoring package holds them."""
    found = []
    for index, (slot, value) in enumerate(zip(slots, values, strict=True)):
        score = PairScore(
            slot.scenario,
            str(index),
            "C1",
            "U0",
            slot.meaning,
            str(index),
            None,
            True,
            slot.weight,
            None,
            None,
            float(value),
            None,
        )
        found.append(pairs.Unit(score, Case.__new__(Case), slot.kind, float(value), float(value)))
    return found


def _slice(benchmark: Benchmark) -> tuple[Benchmark, list[Slot]]:
    """The headline pairs of `core` as this checkout has them."""
    cases = designs(benchmark, expand(benchmark))["core"]
    units = pairs.units(Ledger(cases, [], []), pairs.design_of(benchmark, cases))
    slots = []
    for unit in (unit for unit in units if unit.score.headline):
        score, case = unit.score, unit.case
        copy = case.register != "fluent"
        slots.append(Slot(score.scenario, unit.kind, score.meaning, copy, case.severity, score.weight, case.gold == "flag"))
    return benchmark, slots


def _blueprint(benchmark: Benchmark) -> tuple[Benchmark, list[Slot]]:
    """All 48 scenarios; a quarter of the hidden-tag pairs is seen at a second user, as in `core`."""
    slots: list[Slot] = []
    for entry in V1.strip().splitlines():
        code, letter, *marks = entry.split()
        kind, detects, number = KINDS[letter], not code.startswith("P3") and code != "P2-B2-S2", 0
        for position, mark in enumerate(marks):
            number += not mark[-1].isalpha()
            severity = float(mark.rstrip("lsxi"))
            slot = Slot(code, kind, f"{code}/{number}", mark[-1].isalpha(), severity, severity if detects else 1.0, detects)
            again = 18 if kind == "resources" else 2 if kind == "hidden_tag" and position % 4 == 1 else 1
            slots += [slot] + [dataclasses.replace(slot, copy=True)] * (again - 1)
    empty = Document({}, {})
    codes = list(dict.fromkeys(slot.scenario for slot in slots))
    scenarios = tuple(
        Loaded(schema.Scenario.model_construct(code=code), schema.Messages(), (), code, benchmark.root, empty, empty)
        for code in codes
    )
    return dataclasses.replace(benchmark, scenarios=scenarios), slots


if __name__ == "__main__":
    sys.exit(main())
