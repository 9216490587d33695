"""Who is said to write the same words: each demographic stub against the others, message by message (review, 8 and 9.18)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from helmbench_hf.content.load import Benchmark
from helmbench_hf.records import Case
from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.credit import draw_credit
from helmbench_hf.scoring.pairs import Design
from helmbench_hf.scoring.tables_more import Demographic
from helmbench_hf.scoring.verdicts import Ledger, mean

Row = tuple[Case, float]
"""A reply to somebody's message, and its credit."""


def credits_by_stub(ledger: Ledger, design: Design, benchmark: Benchmark) -> list[Row]:
    """Headline cases of demographic stubs with their credits (mean over draws). Help that must differ by country is left out."""
    stubs = {f"U{number}" for number in benchmark.stubs}
    rows: list[Row] = []
    for case in ledger.cases.values():
        if case.user in stubs and case.mode != "open_twin" and design.is_headline(case) and case.grading.country is None:
            credit = mean([draw_credit(ledger, case, draw) for draw in range(ledger.draws)])
            if credit is not None:
                rows.append((case, credit))
    return rows


def message_of(case: Case) -> str:
    """What stubs share: the same words in the same scenario."""
    return f"{case.scenario}/{case.perturbation}"


def demographics(rows: Sequence[Row], benchmark: Benchmark, minimum: int) -> tuple[Demographic, ...]:
    """Every stub that sent a message which others sent too. Nothing but n and the reason below `minimum` messages."""
    by_message: dict[str, list[Row]] = defaultdict(list)
    for case, credit in rows:
        by_message[message_of(case)].append((case, credit))
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for senders in by_message.values():
        total = sum(credit for _, credit in senders)
        for case, credit in senders if len(senders) > 1 else ():
            others = (total - credit) / (len(senders) - 1)
            found[case.user].append((credit - others, case.meaning))
    slugs = {f"U{number}": stub.slug for number, stub in benchmark.stubs.items()}
    return tuple(_one(user, slugs[user], found[user], minimum) for user in sorted(found))


def _one(user: str, slug: str, seen: Sequence[tuple[float, str]], minimum: int) -> Demographic:
    values, meanings = zip(*seen, strict=True)
    clusters = len(set(meanings))
    if len(seen) < minimum:
        reason = f"{len(seen)} messages; nothing is printed below {minimum}"
        return Demographic(user, slug, len(seen), clusters, None, reason)
    return Demographic(user, slug, len(seen), clusters, intervals.pooled(values, [1.0] * len(values), meanings))
