"""How often equal models are called different on few messages: what `minimum_messages` of scoring.yaml rests on.

One behavior keeps n of its messages, drawn anew in every replicate; all others keep theirs. A row borrows its variance from
scenarios like it, so two settings: the others vary as it does, or far less (nearly every message comes out right).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from coverage_model import Array, Sample, World, chunks
from coverage_worth import pair_values

from helmbench_hf.scoring import compare, intervals
from helmbench_hf.scoring.compare import ERROR
from helmbench_hf.scoring.run import score
from helmbench_hf.scoring.scores import Group, Scores

MESSAGES = (2, 3, 4, 6, 8, 10, 12, 20)
BEHAVIORS = {"P4-B1": "tags", "P2-B3": "replies", "P3-B7": "labels", "P4-B2": "tags, four scenarios"}
ABILITY, EASIER = 0.5, 4.0
"""Logits: of both models; and how much easier the others are where they vary less."""
ROWS = 29
"""Below the overall row of `core`."""


def template(sample: Sample) -> Scores:
    """Scores of this sample."""
    values = [1.0] * len(sample.slots)
    return score(sample.cases, sample.verdicts(values), benchmark=sample.benchmark, judges=sample.ledger(values).judges)


def few_messages(sample: Sample, replicates: int, seed: int) -> dict[str, Any]:
    """Percent of single tests at 5%, and at the level that Holm's first step asks of one of 29 rows, by number of messages; and
    percent of whole comparisons, with all messages, that call any row below overall different."""
    run = template(sample)
    return {
        name: {
            f"{behavior} ({kind})": _false_positives(sample, run, behavior, easier, replicates, seed)
            for behavior, kind in BEHAVIORS.items()
        }
        for name, easier in (("others alike", 0.0), ("others nearly all right", EASIER))
    }


def _false_positives(
    sample: Sample, run: Scores, behavior: str, easier: float, replicates: int, seed: int
) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng([seed, 5])
    group = next(each for each in run.behaviors if each.code == behavior)
    effects = np.array([0.0 if name in group.parts else easier for name in sample.scenarios])
    world = World(effects, np.zeros(sample.sizes[1] + 1))
    gaps = _gaps(sample, world, replicates, rng)
    mine = np.array([at for at, unit in enumerate(sample.units) if unit.score.scenario in group.parts])
    names = sorted({sample.units[at].score.meaning for at in mine})
    which = np.array([names.index(sample.units[at].score.meaning) for at in mine])
    found = {"whole comparison": {"any row": _any_row(sample, run, gaps)}}
    for number in (each for each in MESSAGES if each <= len(names)):
        kept = np.argsort(rng.random((replicates, len(names))), axis=1) < number
        few = gaps.copy()
        few[:, mine] = np.where(kept[:, which], gaps[:, mine], np.nan)
        values = np.array([_values(sample, run, row, [[group]], 0)[0] for row in few])
        levels = {"at 5%": ERROR, "at Holm's first step": ERROR / ROWS}
        found[str(number)] = {name: 100 * float(np.mean(values <= level)) for name, level in levels.items()}
    return found


def _values(sample: Sample, run: Scores, gaps: Array, rows: list[list[Group]], minimum: int) -> list[float]:
    """The p of each row of behaviors; 1 where there is none, NaN below the minimum of messages."""
    scored = {unit.score.crisis: float(gap) for unit, gap in zip(sample.units, gaps, strict=True) if not np.isnan(gap)}
    pieces = compare._pieces(run, scored)
    found = [compare._mean(pieces, row) for row in rows]
    known = [(each, intervals.p_value(each)) for each in found]
    return [np.nan if each.n_meanings < minimum else 1.0 if p is None else p for each, p in known]


def _any_row(sample: Sample, run: Scores, gaps: Array) -> float:
    """Holm calls a row different wherever its smallest p, times the number of tests, is at most 5%."""
    codes = [group.code for group in (*run.pillars, *run.behaviors)]
    inside = [[each for each in run.behaviors if f"{each.code}-".startswith(f"{code}-")] for code in codes]
    rows = np.array([_values(sample, run, row, inside, run.provenance.minimum_messages) for row in gaps])
    tested = rows[:, ~np.isnan(rows[0])]
    return 100 * float(np.mean(tested.min(axis=1) * tested.shape[1] <= ERROR))


def _gaps(sample: Sample, world: World, replicates: int, rng: np.random.Generator) -> Array:
    """First minus second of two equal models (replicates, units)."""
    found = []
    for size in chunks(replicates):
        messages = sample.messages(size, rng)
        one, two = (pair_values(sample, sample.draw(ABILITY, size, rng, world, messages)) for _ in range(2))
        found.append(one - two)
    return np.asarray(np.concatenate(found))
