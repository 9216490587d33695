"""What chance decides about a scenario: held-out meanings, the order of its tags, which question comes first.

Every draw is made per meaning (register copies go together), by the benchmark's seed, balanced over severity, register,
cue and control state within the scenario (measurement review, 9.13 and 9.16).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, TypeVar

from helmbench_hf.content.load import TAXONOMY, Benchmark, Loaded
from helmbench_hf.content.schema import Common, Pair
from helmbench_hf.matrix.balance import DRAWS, Unit, balanced
from helmbench_hf.records import Split

Choice = TypeVar("Choice")
INNER = (1, 2, 3, 4)
"""Target and control stand at list positions 2 to 5: never first, never last."""


def units(pairs: Sequence[Pair]) -> list[Unit]:
    """Meanings as units of assignment; covariates: severity, share of register copies, explicit share, control share."""
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(pair.meaning, []).append(pair)
    return [
        Unit(
            meaning,
            len(group),
            tuple(
                sum(values) / len(group)
                for values in (
                    [float(pair.crisis.severity) for pair in group],
                    [float(pair.speech != "fluent") for pair in group],
                    [float(pair.cue == "explicit") for pair in group],
                    [float(bool(pair.control)) for pair in group],
                )
            ),
        )
        for meaning, group in groups.items()
    ]


def splits(seed: int, loaded: Loaded) -> dict[str, Split]:
    """A quarter of the meanings is held out; where a scenario has control states, from both of them."""
    messages, name = loaded.messages, f"{seed}/{loaded.source}/split"
    strata: dict[str, list[Unit]] = {}
    for pair in loaded.pairs:
        strata.setdefault(f"pairs {pair.control}", [])
    for key in strata:
        strata[key] = units([pair for pair in loaded.pairs if f"pairs {pair.control}" == key])
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
        held: list[Unit] = []
        while sum(unit.size for unit in held) < quarter:
            held.append(order[len(held)])
        size = sum(unit.size for unit in held)
        own = sum(unit.covariates[0] * unit.size for unit in held) / size
        score = 4.0 * abs(size - quarter) + abs(own - mean)
        if score < best[0] - 1e-12:
            best = (score, {unit.name for unit in held})
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
