"""What chance decides about a scenario: held-out meanings, the order of its tags, which question comes first.

Every draw is made per meaning (register copies go together), by the benchmark's seed, balanced over severity, register,
cue and control state within the scenario.

Method: rerandomization (Morgan and Rubin 2012, Annals of Statistics 40(2)). Many random assignments with equal counts are
drawn, and the one whose levels differ least in their covariates is kept.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from helmbench_hf.content.load import TAXONOMY, Benchmark, Loaded
from helmbench_hf.content.schema import Common, Pair
from helmbench_hf.records import Split

Choice = TypeVar("Choice")
Level = TypeVar("Level", bound=Hashable)
DRAWS = 400
INNER = (1, 2, 3, 4)
"""Target and control stand at list positions 2 to 5: never first, never last."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What is assigned as one: all pairs of one meaning, for example. `covariates` are means over its pairs."""

    name: str
    size: int
    covariates: tuple[float, ...]


def units(pairs: Sequence[Pair], name: Callable[[Pair], str] = lambda pair: pair.meaning) -> list[Unit]:
    """Pairs of one name as one unit; covariates: severity, share of register copies, explicit share, control share."""
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(name(pair), []).append(pair)
    return [Unit(key, len(group), _means([_covariates(pair) for pair in group])) for key, group in groups.items()]


def _covariates(pair: Pair) -> tuple[float, ...]:
    return float(pair.crisis.severity), float(pair.speech != "fluent"), float(pair.cue == "explicit"), float(bool(pair.control))


def _means(rows: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(sum(column) / len(rows) for column in zip(*rows, strict=True))


def balanced(units: Sequence[Unit], levels: Sequence[Level], seed: str) -> dict[str, Level]:
    """Give every unit a level, equally often as far as sizes allow, balanced over the covariates.

    `seed` names the draw (benchmark seed, scenario, what is drawn). The same seed and units give the same answer on every
    machine.
    """
    import numpy as np

    if not units:
        return {}
    generator, order = random.Random(seed), sorted(units, key=lambda unit: unit.name)
    sizes, values = np.array([unit.size for unit in order]), np.array([unit.covariates for unit in order])
    mean = np.average(values, axis=0, weights=sizes)
    variance = np.average((values - mean) ** 2, axis=0, weights=sizes)
    varies = variance > 1e-12  # a constant covariate has a variance of rounding errors

    def imbalance(drawn: Sequence[int]) -> float:
        """Range of the levels' sizes, plus the squared difference of each level's means from the overall means, in variances."""
        held = np.bincount(drawn, sizes, len(levels))
        means = np.array([np.bincount(drawn, sizes * column, len(levels)) for column in values.T[varies]]).T
        apart = (means[held > 0] / held[held > 0, None] - mean[varies]) ** 2 / variance[varies] if varies.any() else 0.0
        return float(held.max() - held.min() + np.sum(apart))

    places, best, least = list(range(len(order))), list[int](), float("inf")
    for _ in range(DRAWS):
        generator.shuffle(places)
        drawn = _filled(places, [unit.size for unit in order], len(levels), generator)
        if (score := imbalance(drawn)) < least - 1e-12:
            best, least = drawn, score
    by_name = {unit.name: levels[level] for unit, level in zip(order, best, strict=True)}
    return {unit.name: by_name[unit.name] for unit in units}


def _filled(places: Sequence[int], sizes: Sequence[int], levels: int, generator: random.Random) -> list[int]:
    """The level of each unit: in the order of `places`, each goes to a level that holds least so far."""
    held, drawn = [0] * levels, [0] * len(sizes)
    for place in places:
        least = min(held)
        drawn[place] = generator.choice([level for level, size in enumerate(held) if size == least])
        held[drawn[place]] += sizes[place]
    return drawn


def splits(seed: int, loaded: Loaded) -> dict[str, Split]:
    """A quarter of the meanings is held out; where a scenario has control states, from both of them."""
    messages, name = loaded.messages, f"{seed}/{loaded.source}/split"
    states = dict.fromkeys(pair.control for pair in loaded.pairs)
    strata = {f"pairs {state}": units([pair for pair in loaded.pairs if pair.control == state]) for state in states}
    for label, items in (("singles", messages.singles), ("tail", messages.ambiguous)):
        strata[label] = [Unit(item.meaning, 1, (float(item.message.severity),)) for item in items]
    drawn: dict[str, Split] = {}
    for key, stratum in sorted(strata.items()):
        total = sum(unit.size for unit in stratum)
        quarter = max(1, round(total / 4)) if key.startswith("pairs") else round(total / 4)
        held = _held_out(stratum, quarter, f"{name}/{key}")
        drawn |= {unit.name: "heldout" if unit.name in held else "test" for unit in stratum}
    return drawn


def all_splits(benchmark: Benchmark, loaded: Loaded) -> dict[str, Split]:
    """The splits of a scenario's meanings; those of the taxonomy follow the scenarios that its messages come from."""
    seed = benchmark.file.seed
    if loaded.source != TAXONOMY:
        return splits(seed, loaded)
    drawn = {
        f"{each.source}/{meaning}": split
        for each in benchmark.scenarios
        if each.source == each.scenario.code
        for meaning, split in splits(seed, each).items()
    }
    own = [single for single in loaded.messages.singles if single.meaning not in drawn]
    stratum = [Unit(single.meaning, 1, (float(single.message.severity),)) for single in own]
    held = _held_out(stratum, round(len(stratum) / 4), f"{seed}/{TAXONOMY}/split")
    return drawn | {unit.name: "heldout" if unit.name in held else "test" for unit in stratum}


def _held_out(stratum: Sequence[Unit], quarter: int, seed: str) -> set[str]:
    """The meanings, about `quarter` pairs in all, whose severities are nearest to those of the rest."""
    generator = random.Random(seed)
    order = sorted(stratum, key=lambda unit: unit.name)
    total = sum(unit.size for unit in order)
    if quarter == 0 or quarter >= total:
        return set()
    mean = sum(unit.covariates[0] * unit.size for unit in order) / total
    best: tuple[float, set[str]] = (float("inf"), set())
    for _ in range(DRAWS):
        generator.shuffle(order)
        count, size, severities = 0, 0, 0.0
        while size < quarter:
            size, severities = size + order[count].size, severities + order[count].covariates[0] * order[count].size
            count += 1
        score = 4.0 * abs(size - quarter) + abs(severities / size - mean)
        if score < best[0] - 1e-12:
            best = (score, {unit.name for unit in order[:count]})
    return best[1]


def tag_orders(seed: int, loaded: Loaded) -> dict[str, tuple[int, ...]]:
    """Per meaning, the order (indices into the authored list) in which the six tags are shown; the same for both twins.

    Four orders: the target at positions 2, 3, 4, 5 in turn, the control two places on within the same range.
    """
    tags = loaded.scenario.tags
    roles = {tag.role: index for index, tag in enumerate(tags)}
    if "target" not in roles or "control" not in roles:
        return {common.meaning: tuple(range(len(tags))) for common in _all(loaded)}
    others = [index for index, tag in enumerate(tags) if tag.role == "other"]
    orders: list[tuple[int, ...]] = []
    for step, place in enumerate(INNER):
        fixed = {place: roles["target"], INNER[(step + 2) % len(INNER)]: roles["control"]}
        rest = iter(others[step % len(others) :] + others[: step % len(others)])
        orders.append(tuple(fixed[position] if position in fixed else next(rest) for position in range(len(tags))))
    return _per_meaning(loaded, orders, f"{seed}/{loaded.scenario.code}/tag order")


def first_questions(seed: int, loaded: Loaded) -> dict[str, Literal["target", "control"]]:
    """Per meaning, which question the open twin asks first."""
    choices: list[Literal["target", "control"]] = ["target", "control"]
    return _per_meaning(loaded, choices, f"{seed}/{loaded.scenario.code}/question order")


def _per_meaning(loaded: Loaded, choices: Sequence[Choice], seed: str) -> dict[str, Choice]:
    """Choices balanced over the meanings of pairs; singles and tails take them in turn."""
    positions = list(range(len(choices)))
    drawn = balanced(units(loaded.pairs), positions, seed)
    for turn, item in enumerate([*loaded.messages.singles, *loaded.messages.ambiguous]):
        drawn.setdefault(item.meaning, positions[turn % len(positions)])
    return {meaning: choices[position] for meaning, position in drawn.items()}


def _all(loaded: Loaded) -> list[Common]:
    return [*loaded.pairs, *loaded.messages.singles, *loaded.messages.ambiguous]
