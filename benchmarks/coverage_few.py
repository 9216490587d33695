"""How often equal models are called different on few messages: what `minimum_messages` of scoring.yaml rests on.

One behavior keeps n of its messages, drawn anew in every replicate; all others keep theirs. A row borrows its variance from
scenarios like it, so two settings: the others vary as it does, or far less (nearly every message comes out right).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from coverage_model import Array, Sample, World, chunks
from coverage_worth import pair_values

from helmbench_hf.scoring import differences, intervals
from helmbench_hf.scoring.compare import ERROR
from helmbench_hf.scoring.differences import Cells, Pieces
from helmbench_hf.scoring.result import to_json
from helmbench_hf.scoring.run import score

MESSAGES = (2, 3, 4, 6, 8, 10, 12, 20)
BEHAVIORS = {"P4-B1": "tags", "P2-B3": "replies", "P3-B7": "labels", "P4-B2": "tags, four scenarios"}
ABILITY, EASIER = 0.5, 4.0
"""Logits: of both models; and how much easier the others are where they vary less."""
ROWS = 29
"""Below the overall row of `core`."""


def template(sample: Sample) -> dict[str, Any]:
    """A `scores.json` of this sample."""
    values = [1.0] * len(sample.slots)
    return to_json(score(sample.cases, sample.verdicts(values), benchmark=sample.benchmark, judges=sample.ledger(values).judges))


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
    sample: Sample, run: dict[str, Any], behavior: str, easier: float, replicates: int, seed: int
) -> dict[str, dict[str, float]]:
    rng, cells = np.random.default_rng([seed, 5]), differences.cells_of(run)
    parts = next(each["parts"] for each in run["behaviors"] if each["code"] == behavior)
    effects = np.array([0.0 if name in parts else easier for name in sample.scenarios])
    world = World(effects, np.zeros(sample.sizes[1] + 1))
    gaps = _gaps(sample, cells, world, replicates, rng)
    meaning = {pair["crisis"]: pair["meaning"] for pair in run["pairs"] if pair["scenario"] in parts}
    mine = np.array([at for at, code in enumerate(cells.codes) if code in meaning])
    names = sorted(set(meaning.values()))
    which = np.array([names.index(meaning[cells.codes[at]]) for at in mine])
    found = {"whole comparison": {"any row": _any_row(run, cells, gaps)}}
    for number in (each for each in MESSAGES if each <= len(names)):
        kept = np.argsort(rng.random((replicates, len(names))), axis=1) < number
        few = gaps.copy()
        few[:, mine] = np.where(kept[:, which], gaps[:, mine], np.nan)
        values = _values(cells, differences.pieces(cells, few), [cells.behaviors.index(behavior)], 0)
        levels = {"at 5%": ERROR, "at Holm's first step": ERROR / ROWS}
        found[str(number)] = {name: 100 * float(np.mean(values <= level)) for name, level in levels.items()}
    return found


def _values(cells: Cells, pieces: Pieces, behaviors: Sequence[int], minimum: int) -> Array:
    """The p of these behaviors together in every replicate; 1 where there is none, NaN below the minimum of messages."""
    found = differences.combined(cells, pieces, behaviors)
    if found[0].n_meanings < minimum:
        return np.full(len(found), np.nan)
    return np.array([1.0 if (p := intervals.p_value(each)) is None else p for each in found])


def _any_row(run: dict[str, Any], cells: Cells, gaps: Array) -> float:
    """Holm calls a row different wherever its smallest p, times the number of tests, is at most 5%."""
    pieces, minimum = differences.pieces(cells, gaps), run["provenance"]["minimum_messages"]
    codes = [group["code"] for group in (*run["pillars"], *run["behaviors"])]
    inside = [[at for at, behavior in enumerate(cells.behaviors) if f"{behavior}-".startswith(f"{code}-")] for code in codes]
    rows = np.array([_values(cells, pieces, behaviors, minimum) for behaviors in inside])
    tested = rows[~np.isnan(rows[:, 0])]
    return 100 * float(np.mean(tested.min(axis=0) * len(tested) <= ERROR))


def _gaps(sample: Sample, cells: Cells, world: World, replicates: int, rng: np.random.Generator) -> Array:
    """First minus second of two equal models (replicates, pairs), in the order of the cells."""
    places = {unit.score.crisis: at for at, unit in enumerate(sample.units)}
    found = []
    for size in chunks(replicates):
        messages = sample.messages(size, rng)
        one, two = (pair_values(sample, sample.draw(ABILITY, size, rng, world, messages)) for _ in range(2))
        found.append(one - two)
    return np.asarray(np.concatenate(found)[:, [places[code] for code in cells.codes]])
