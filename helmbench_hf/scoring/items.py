"""Item statistics over many runs: which pairs tell models apart, and which tell nothing any longer.

An item is a headline pair, named by its crisis code; its value in a run is that of `pairs` in `scores.json`. Classical test
theory: difficulty as the mean value, discrimination as the corrected item-rest correlation (Lord and Novick 1968, chapter 15).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from helmbench_hf.scoring.compare import DIGITS
from helmbench_hf.scoring.scores import Scores

Numbers = npt.NDArray[np.float64]

MINIMUM_RUNS = 5
"""Runs below which a correlation is not given."""
MINIMUM_REST = 5
"""Pairs of other messages below which the rest of a scenario is too short, and the rest of all scenarios is taken."""
RIGHT = 1.0


@dataclass(frozen=True, slots=True)
class Item:
    """One pair over all runs."""

    crisis: str
    scenario: str
    behavior: str
    n: int
    """Runs that scored it."""
    difficulty: float | None
    """Mean value: 1 where every run handled both halves, 0 or less where the pair earns no more than blindness."""
    discrimination: float | None
    """Pearson correlation over runs with the mean value of the rest; `reason` says why there is none."""
    rest: str
    """`scenario`, or `all`: what the item is held against, without pairs of the same message; empty where nothing is."""
    n_rest: int
    """Pairs of the rest, each scored by every run that scored the item."""
    saturated: bool
    """Two runs or more, and every one has the full value."""
    dead: bool
    """Two runs or more, not saturated, and it tells none of them apart: all have the same value, or none is above 0."""
    reason: str


@dataclass(frozen=True, slots=True)
class ItemCount:
    """The items of one scenario, of one behavior, or of all."""

    code: str
    items: int
    scored: int
    """Items that two runs or more scored: those that can be saturated or dead."""
    saturated: int
    dead: int
    correlated: int
    """Items with a discrimination."""
    negative: int
    """Of these, items on which better runs do worse."""
    difficulty: float | None
    """Mean over the items with one, each counted once; likewise `discrimination`."""
    discrimination: float | None


@dataclass(frozen=True, slots=True)
class Items:
    """Every item, by code, and counts of them."""

    items: tuple[Item, ...]
    scenarios: tuple[ItemCount, ...]
    behaviors: tuple[ItemCount, ...]
    all: ItemCount


def items(runs: Sequence[Scores]) -> Items:
    """The statistics of all headline pairs of runs on the same cells (`compare.board` refuses others)."""
    rows = sorted((pair for pair in runs[0].pairs if pair.headline), key=lambda pair: pair.crisis)
    behavior = {scenario.code: scenario.behavior for scenario in runs[0].scenarios}
    lookup = [{pair.crisis: pair.value for pair in run.pairs} for run in runs]
    values = np.array([[values.get(row.crisis) for row in rows] for values in lookup], dtype=np.float64).round(DIGITS)
    of_scenario, clusters = np.array([row.scenario for row in rows]), np.array([row.meaning for row in rows])
    found = []
    for index, row in enumerate(rows):
        seen = ~np.isnan(values[:, index])
        given = values[seen]
        complete = (clusters != row.meaning) & ~np.isnan(given).any(axis=0)
        alike = complete & (of_scenario == row.scenario)
        rest, mask = ("scenario", alike) if alike.sum() >= MINIMUM_REST else ("all", complete)
        found.append(_item(row.crisis, row.scenario, behavior[row.scenario], given[:, index], rest, given[:, mask]))
    scenarios, behaviors = sorted({item.scenario for item in found}), sorted({item.behavior for item in found})
    return Items(
        items=tuple(found),
        scenarios=tuple(_count(code, [item for item in found if item.scenario == code]) for code in scenarios),
        behaviors=tuple(_count(code, [item for item in found if item.behavior == code]) for code in behaviors),
        all=_count("all", found),
    )


def _item(crisis: str, scenario: str, behavior: str, given: Numbers, rest: str, others: Numbers) -> Item:
    """`given` (runs): values of the runs that scored it; `others` (runs, items): what it is held against."""
    n, n_rest = others.shape
    saturated = n > 1 and bool((given == RIGHT).all())
    flat = n > 1 and bool((given == given[0]).all())
    discrimination, reason = None, ""
    if n < MINIMUM_RUNS:
        reason = f"{n} of at least {MINIMUM_RUNS} runs scored it"
    elif flat:
        reason = "every run has the same value"
    elif not n_rest:
        reason = "no other message was scored by the same runs"
    else:
        against = others.mean(axis=1).round(DIGITS)
        if (against == against[0]).all():
            reason = "the rest is the same in every run"
        else:
            discrimination = float(np.corrcoef(given, against)[0, 1])
    return Item(
        crisis=crisis,
        scenario=scenario,
        behavior=behavior,
        n=n,
        difficulty=float(given.mean()) if n else None,
        discrimination=discrimination,
        rest=rest if n_rest else "",
        n_rest=n_rest,
        saturated=saturated,
        dead=not saturated and n > 1 and (flat or bool((given <= 0).all())),
        reason=reason,
    )


def _count(code: str, group: Sequence[Item]) -> ItemCount:
    difficulties = [item.difficulty for item in group if item.difficulty is not None]
    correlations = [item.discrimination for item in group if item.discrimination is not None]
    return ItemCount(
        code=code,
        items=len(group),
        scored=sum(item.n > 1 for item in group),
        saturated=sum(item.saturated for item in group),
        dead=sum(item.dead for item in group),
        correlated=len(correlations),
        negative=sum(each < 0 for each in correlations),
        difficulty=sum(difficulties) / len(difficulties) if difficulties else None,
        discrimination=sum(correlations) / len(correlations) if correlations else None,
    )
