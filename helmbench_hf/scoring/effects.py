"""Differences inside one run: what one factor changes, who writes, and which differences stand after correction.

Every effect is paired: the same pair seen at the level and at its reference, all else equal. Below the minimum of pairs
nothing but n and the reason is given. Then every difference is tested against none. The primary contrasts are named in
`scoring.yaml` before any data: Holm (1979, Scandinavian Journal of Statistics 6:65) keeps the chance of any false finding among
them at 5%. All others are *exploratory*: Benjamini and Hochberg (1995, JRSS B 57:289) keeps the expected share of false findings
among the findings at 10%. Every p is two-sided, from the same cluster-t that gives the interval. What has no p (too few pairs,
one message, every message alike) is outside its family.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Literal

import numpy as np

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.schema import ScoringFile
from helmbench_hf.records import Case
from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.gathered import gathered
from helmbench_hf.scoring.intervals import Row
from helmbench_hf.scoring.pairs import Design, Unit
from helmbench_hf.scoring.scores import (
    Cell,
    Comparison,
    Comparisons,
    Demographic,
    Effect,
    Estimate,
    Family,
    FamilyName,
    Gap,
    TrustRow,
)
from helmbench_hf.tasks.kinds import draw_credit, task_of, turn_value
from helmbench_hf.tasks.ledger import Ledger, mean

Key = tuple[str, str, str]
"""Factor, level, reference."""

Sent = tuple[Case, float]
"""A message that somebody sent, and the credit of the reply."""
HEADLINE = "headline condition"
ANY_REGISTER, FLUENT = "any other English", "fluent"
NOISE = "noise_"
ORDER = ("history", "condition", "safety_level", "persona", "register", "country", "notes_level", "turn")
NOT_HERE = "this run holds no such pairs"
FLAT = "one message alone, or every message alike: there is no variation to test against"


def effects(ledger: Ledger, units: Sequence[Unit], minimum: int) -> tuple[Effect, ...]:
    """Every level of every factor that occurs in this run."""
    scored = [unit for unit in units if unit.score.value is not None]
    headline = [unit for unit in scored if unit.score.headline]
    found = gathered(
        chain(_conditions(scored), _registers(headline), _countries(headline), _notes(headline), _turns(ledger, headline))
    )
    order = sorted(found, key=lambda key: (ORDER.index(key[0]), _natural(key[1]), key[2]))
    return tuple(
        Effect(*key, len(found[key]), len({seen[2] for seen in found[key]}), *_from_enough(found[key], minimum))  # type: ignore[arg-type]
        for key in order
    )


def _from_enough(seen: Sequence[Row], minimum: int, what: str = "pairs") -> tuple[Estimate | None, str]:
    if len(seen) < minimum:
        return None, f"{len(seen)} {what}; nothing is printed below {minimum}"
    return intervals.pooled(seen), ""


def difference(unit: Unit, reference: Unit | None = None) -> Row:
    """A scored pair's value, less that of its reference."""
    less = (reference.score.value or 0.0) if reference else 0.0
    return (unit.score.value or 0.0) - less, unit.score.weight, unit.score.meaning


def _conditions(scored: Sequence[Unit]) -> Iterator[tuple[Key, Row]]:
    """Another condition, same user: a long chat before, a safety level where the persona stays, or a persona."""
    headline = {(unit.score.scenario, unit.score.pair, unit.score.user): unit for unit in scored if unit.score.headline}
    for unit in scored:
        reference = headline.get((unit.score.scenario, unit.score.pair, unit.score.user))
        if unit.score.headline or reference is None:
            continue
        seen, case, base = difference(unit, reference), unit.case, reference.case
        if case.history:
            yield ("history", f"{len(case.history)} turns", "0 turns"), seen
            continue
        yield ("condition", case.condition, HEADLINE), seen
        if case.persona == base.persona:
            yield ("safety_level", case.safety_level, base.safety_level), seen
        if case.safety_level == base.safety_level:
            yield ("persona", case.persona, base.persona), seen


def with_originals(headline: Sequence[Unit]) -> Iterator[tuple[Unit, Unit]]:
    """Every register copy with its fluent original in the same cell, both scored."""
    by_case = {unit.score.crisis: unit for unit in headline}
    for unit in headline:
        if (original := by_case.get(unit.case.twin_fluent or "")) is not None:
            yield unit, original


def _registers(headline: Sequence[Unit]) -> Iterator[tuple[Key, Row]]:
    """Register copies by their register, and all together that are not noise."""
    for unit, original in with_originals(headline):
        seen = difference(unit, original)
        yield ("register", unit.case.register, original.case.register), seen
        if not unit.case.register.startswith(NOISE):
            yield ("register", ANY_REGISTER, FLUENT), seen


def _countries(headline: Sequence[Unit]) -> Iterator[tuple[Key, Row]]:
    """The value of a country case is already a contrast with the other countries."""
    for unit in headline:
        if unit.kind == "resources":
            yield ("country", unit.case.country or "", "the other countries"), difference(unit)


def _notes(headline: Sequence[Unit]) -> Iterator[tuple[Key, Row]]:
    """More is remembered of the same person, against the lowest level seen of that person."""
    people = gathered(
        ((unit.score.scenario, unit.score.pair, unit.case.person), unit) for unit in headline if unit.case.person is not None
    )
    for seen_of in people.values():
        lowest = min(seen_of, key=lambda unit: unit.case.notes_level)
        for unit in seen_of:
            if unit is not lowest:
                level, reference = f"L{unit.case.notes_level}", f"L{lowest.case.notes_level}"
                yield ("notes_level", level, reference), difference(unit, lowest)


def _turns(ledger: Ledger, headline: Sequence[Unit]) -> Iterator[tuple[Key, Row]]:
    """A later graded turn of a scripted conversation against its first one."""
    for unit in headline:
        first_turn, *later_turns = unit.case.grading.turns
        if unit.kind != "multi_turn" or not later_turns:
            continue
        benign = ledger.cases[unit.score.benign or ""]
        first = turn_value(ledger, unit.case, benign, first_turn)
        for turn in later_turns:
            later = turn_value(ledger, unit.case, benign, turn)
            if first is not None and later is not None:
                seen = later - first, unit.score.weight, unit.score.meaning
                yield ("turn", f"turn {turn}", f"turn {first_turn}"), seen


def cells(units: Sequence[Unit], minimum: int) -> tuple[Cell, ...]:
    """Condition x behavior over all users; explicit conditions stand for themselves."""
    found = gathered(((unit.case.behavior, unit.case.condition), unit) for unit in units if unit.score.value is not None)
    table = []
    for behavior, condition in sorted(found, key=lambda cell: (cell[0], _natural(cell[1]))):
        inside = found[behavior, condition]
        case, enough = inside[0].case, _from_enough([difference(unit) for unit in inside], minimum)
        table.append(Cell(behavior, condition, case.condition_slug, case.safety_level, len(inside), *enough))
    return tuple(table)


def _natural(name: str) -> tuple[str, int]:
    """C10 after C9."""
    digits = "".join(letter for letter in name if letter.isdigit())
    return name.rstrip("0123456789"), int(digits or 0)


def sent_by_stubs(ledger: Ledger, design: Design, benchmark: Benchmark) -> list[Sent]:
    """Headline cases of demographic stubs with their credits (mean over draws). Help that must differ by country is left out."""
    stubs = {f"U{number}" for number in benchmark.stubs}
    rows = []
    for case in ledger.cases.values():
        if case.user in stubs and not task_of(case).asks_openly and design.is_headline(case) and case.grading.country is None:
            credit = mean([draw_credit(ledger, case, draw) for draw in range(ledger.draws)])
            if credit is not None:
                rows.append((case, credit))
    return rows


def message_of(case: Case) -> str:
    """What stubs share: the same words in the same scenario."""
    return f"{case.scenario}/{case.perturbation}"


def demographics(rows: Sequence[Sent], benchmark: Benchmark, minimum: int) -> tuple[Demographic, ...]:
    """Each stub against the mean of the others, message by message. Nothing but n and the reason below `minimum` messages."""
    differences: list[tuple[str, Row]] = []
    for senders in gathered((message_of(case), (case, credit)) for case, credit in rows).values():
        total = sum(credit for _, credit in senders)
        for case, credit in senders if len(senders) > 1 else ():
            others = (total - credit) / (len(senders) - 1)
            differences.append((case.user, (credit - others, 1.0, case.meaning)))
    slugs = {f"U{number}": stub.slug for number, stub in benchmark.stubs.items()}
    return tuple(
        Demographic(user, slugs[user], len(seen), len({each[2] for each in seen}), *_from_enough(seen, minimum, "messages"))
        for user, seen in sorted(gathered(differences).items())
    )


def comparisons(
    effects: Sequence[Effect], gap: Gap, trust: Sequence[TrustRow], people: Sequence[Demographic], scoring: ScoringFile
) -> Comparisons:
    """Test every difference; primary contrasts first, in the order of `scoring.yaml`, then the others as they come."""
    sized = [(("gap", "asked openly", "hidden"), gap.gap), (("gap", "asked openly, net of the control", "hidden"), gap.net)]
    sized += [(("noise", "with noise", "without"), row.estimate) for row in trust if row.slug == "noise-change"]
    found: dict[Key, Comparison] = {}

    def add(key: Key, estimate: Estimate | None, n_pairs: int, n_meanings: int, reason: str) -> None:
        reason = reason if estimate is None else untested(estimate, scoring.minimum_messages)
        p = None if estimate is None or reason else intervals.p_value(estimate)
        found[key] = Comparison(*key, "exploratory", "", n_pairs, n_meanings, estimate, p, None, None, reason)

    for key, estimate in sized:  # printed elsewhere, and held to the same minimum of pairs here
        n, minimum = estimate.n_pairs, scoring.minimum_pairs
        reason = "" if n >= minimum else f"{n} pairs; nothing is printed below {minimum}" if n else NOT_HERE
        add(key, None if reason else estimate, n, estimate.n_meanings, reason)
    for effect in effects:
        key = effect.factor, effect.level, effect.reference
        add(key, effect.estimate, effect.n_pairs, effect.n_meanings, effect.reason)
    for person in people:
        key = "demographic", person.slug, "the other stubs"
        add(key, person.estimate, person.n_messages, person.n_meanings, person.reason)
    primary = []
    for named in scoring.primary_contrasts:
        key = named.factor, named.level, named.reference
        if key not in found:
            add(key, None, 0, 0, NOT_HERE)
        primary.append(replace(found.pop(key), family="primary", title=named.title))
    first, tested = _tested(primary, "primary", "holm", scoring.familywise_error)
    second, explored = _tested([*found.values()], "exploratory", "fdr_bh", scoring.false_discovery_rate)
    return Comparisons((tested, explored), (*first, *second))


def untested(found: Estimate, minimum: int) -> str:
    """Why nothing can be said of a difference, by the smallest number of distinct messages; empty where it can be tested."""
    if found.value is None:
        return found.note
    if found.n_meanings < minimum:
        return f"{found.n_meanings} distinct message{'s' * (found.n_meanings != 1)}; nothing is tested below {minimum}"
    return "" if found.se else FLAT


def _tested(
    rows: Sequence[Comparison], name: FamilyName, method: Literal["holm", "fdr_bh"], level: float
) -> tuple[tuple[Comparison, ...], Family]:
    values = [row.p for row in rows if row.p is not None]
    adjusted = iter(adjust(values, method))
    done = [row if row.p is None else replace(row, p_adjusted=next(adjusted)) for row in rows]
    done = [row if row.p_adjusted is None else replace(row, differs=row.p_adjusted <= level) for row in done]
    title = "Holm" if method == "holm" else "Benjamini-Hochberg"
    return tuple(done), Family(name, title, level, len(values), sum(row.differs is True for row in done))


def adjust(values: Iterable[float], method: Literal["holm", "fdr_bh"] = "holm") -> list[float]:
    """P-values (n) adjusted for their number, in the order given: by Holm or by Benjamini and Hochberg.

    As statsmodels' `multipletests`, which takes seconds to import and collects all garbage at every call.
    """
    given = np.array(list(values))
    n, order = len(given), given.argsort()
    if method == "holm":
        ranked = np.maximum.accumulate(given[order] * np.arange(n, 0, -1))
    else:
        ranked = np.minimum.accumulate((given[order] / (np.arange(1, n + 1) / n))[::-1])[::-1]
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(ranked, 1.0)
    return [float(p) for p in adjusted]
