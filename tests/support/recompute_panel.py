"""What several judges say together, and how far they agree, once more: from docs/judges.md, by counting.

As in `recompute.py`, nothing of `helmbench_hf/scoring` is imported.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scipy.stats import t

from helmbench_hf.records import Case, Verdict

if TYPE_CHECKING:
    from tests.support.recompute import Book

Json = dict[str, Any]
Seen = tuple[str, dict[str, float]]
"""Meaning of a case, and by judge the rank of what was said of one reply to it."""


def stands(book: Book, case: Case, turn: int, draw: int, criterion: str, *, high_earns_less: bool = False) -> Verdict | None:
    """The panel's verdict. What earns less is the low end of the scale, unless said otherwise."""
    given = []
    for judge, _, _ in book.judges:
        verdict = book.find(case, turn, draw, criterion, judge)
        if verdict is not None and verdict.status == "scored":
            given.append(verdict)
        elif book.panel == "worst" or (book.panel == "first" and judge == book.judges[0][0]):
            return None
    if not given or book.panel == "first":
        return given[0] if given else None
    if book.panel == "majority" and len(given) <= len(book.judges) / 2:
        return None
    by_height: dict[tuple[float, int], list[Verdict]] = {}
    for verdict in given:
        by_height.setdefault((verdict.value or 0.0, verdict.detail.get("level", 0)), []).append(verdict)
    if book.panel == "worst":
        return by_height[max(by_height) if high_earns_less else min(by_height)][0]
    for own in by_height.values():
        if len(own) > len(given) / 2:
            return own[0]
    # half of the verdicts or more are at or below a median, and half or more at or above: with a tie there are two of them
    medians = [
        height
        for height in by_height
        if 2 * sum(len(own) for other, own in by_height.items() if other <= height) >= len(given)
        and 2 * sum(len(own) for other, own in by_height.items() if other >= height) >= len(given)
    ]
    return by_height[max(medians) if high_earns_less else min(medians)][0]


# --- Agreement --------------------------------------------------------------------------------------------------------


def agreement(book: Book) -> Json:
    judges = [judge for judge, _, _ in book.judges]
    if len(judges) < 2:
        return {"judge_pairs": [], "panel": []}
    scales = {code for code, criterion in book.benchmark.criteria.items() if criterion.kind == "appraisal"}
    found: dict[str, dict[tuple[str, int, int], Seen]] = {}
    for verdict in book.all.values():
        rank = rank_of(verdict, scales) if verdict.grader in judges else None
        if rank is not None:
            place = verdict.case, verdict.turn, verdict.draw
            meaning = book.by_code[verdict.case].meaning
            found.setdefault(verdict.criterion, {}).setdefault(place, (meaning, {}))[1][verdict.grader] = rank
    tables = {code: list(found[code].values()) for code in sorted(found)}
    tables["all"] = [seen for code, rows in tables.items() if code not in scales for seen in rows]
    pairs = [pair_row(code, *both, tables[code]) for code in tables for both in itertools.combinations(judges, 2)]
    return {"judge_pairs": pairs, "panel": [panel_row(code, tables[code]) for code in tables]}


def rank_of(verdict: Verdict, scales: set[str]) -> float | None:
    if verdict.status != "scored":
        return None
    return verdict.detail.get("level") if verdict.criterion in scales else verdict.value


def pair_row(code: str, first: str, second: str, rows: Sequence[Seen]) -> Json:
    both = [(said[first], said[second]) for _, said in rows if first in said and second in said]
    same = sum(one == two for one, two in both) / len(both) if both else None
    row = {"criterion": code, "first": first, "second": second, "n": len(both), "same": same}
    return {**row, "kappa": kappa(both, weighted=False), "weighted_kappa": kappa(both, weighted=True)}


def kappa(both: Sequence[tuple[float, float]], *, weighted: bool) -> float | None:
    """1 minus the disagreement seen over that of the same two judges on replies that were drawn by chance."""

    def apart(one: float, two: float) -> float:
        return abs(one - two) if weighted else float(one != two)

    if not both:
        return None
    ones, twos = Counter(one for one, _ in both), Counter(two for _, two in both)
    seen = sum(apart(one, two) for one, two in both) / len(both)
    chance = sum(ones[one] * twos[two] * apart(one, two) for one in ones for two in twos) / len(both) ** 2
    return None if chance == 0 else 1.0 - seen / chance


def panel_row(code: str, rows: Sequence[Seen]) -> Json:
    several = [(meaning, sorted(said.values())) for meaning, said in rows if len(said) >= 2]
    by_meaning: dict[str, Counter[tuple[float, ...]]] = {}
    for meaning, said in several:
        by_meaning.setdefault(meaning, Counter())[tuple(said)] += 1
    whole: Counter[tuple[float, ...]] = Counter()
    for own in by_meaning.values():
        whole.update(own)
    value, m = alpha(whole), len(by_meaning)
    row: Json = {"value": value, "low": None, "high": None, "n_pairs": len(several), "n_meanings": m, "se": None, "df": None}
    if value is not None and m > 1:
        without = [alpha(whole - own) for own in by_meaning.values()]
        known = [each for each in without if each is not None]
        if len(known) == m:
            center = sum(known) / m
            se = ((m - 1) / m * sum((each - center) ** 2 for each in known)) ** 0.5
            half = float(t.ppf(0.975, m - 1)) * se
            flat = se < 1e-10
            row |= {"se": 0.0 if flat else se, "df": m - 1.0}
            row |= {"low": value, "high": value} if flat else {"low": max(-1.0, value - half), "high": min(1.0, value + half)}
    return {"criterion": code, "verdicts": sum(len(said) for _, said in several), "alpha": row}


def alpha(units: Mapping[tuple[float, ...], int]) -> float | None:
    """Krippendorff's alpha for ordered values, of replies given as (verdicts, how many replies were judged so)."""
    counts: Counter[float] = Counter()
    for said, times in units.items():
        for each in said:
            counts[each] += times
    if len(counts) < 2:
        return None
    n = sum(counts.values())

    def apart(one: float, two: float) -> float:
        between = sum(count for value, count in counts.items() if min(one, two) <= value <= max(one, two))
        return (between - (counts[one] + counts[two]) / 2) ** 2

    table = {(one, two): apart(one, two) for one in counts for two in counts}
    seen = sum(
        times * sum(table[one, two] for one, two in itertools.permutations(said, 2)) / (len(said) - 1)
        for said, times in units.items()
    )
    chance = sum(counts[one] * counts[two] * table[one, two] for one in counts for two in counts) / (n - 1)
    return 1.0 - seen / chance
