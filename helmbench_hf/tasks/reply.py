"""Reply: free text that a judge grades, on a message and its twin; or a reply that has to fit what bars a person from help."""

from __future__ import annotations

from collections.abc import Sequence

from helmbench_hf.records import Case
from helmbench_hf.tasks.base import Task
from helmbench_hf.tasks.credit import Earned, End, PairCredits, Range, Reply, Terms, mean_range, range_of, youden
from helmbench_hf.tasks.ledger import Ledger, Place, mean


class LimitedReply(Task):
    """A reply to somebody whom something bars from the usual route, and graded against another person's limits as well.

    What fits anybody earns nothing: a reply's fit to another's limits is taken off. The rule for soft lines is not applied:
    persons stand in a ring, and only a plain difference of two fits sums to 0 around it.
    """

    def criteria(self, case: Case, turn: int | None = None) -> tuple[str, ...]:
        """The reply's criteria, and its fit to both persons' limits."""
        grading = case.grading
        listed = (*grading.criteria_at(turn), grading.contrast_own, grading.contrast)
        return tuple(dict.fromkeys(code for code in listed if code is not None))

    def factors(self, ledger: Ledger, case: Case, place: Place) -> list[float | None]:
        """How far the reply keeps within this person's limits; it caps the credit."""
        return [] if case.grading.contrast_own is None else [ledger.credit(place, case.grading.contrast_own)]

    def _with_factors(self, earned: Range, factors: Sequence[float | None]) -> Range:
        low, high = earned
        for factor in factors:
            low, high = min(low, range_of(factor)[0]), min(high, range_of(factor)[1])
        return low, high

    def _caps_low(self, case: Case) -> bool:
        return False  # fitting another person's limits earns nothing

    def terms(self, case: Case, reply: Reply, end: End) -> Terms:
        """The credit alone: the contrast is another person's."""
        return Terms(0.0 if end == "void" and reply.doubtful else reply.earned[end == "high"], 0.0, 0.0)

    def draw_credit(self, ledger: Ledger, case: Case, draw: int) -> float | None:
        """Mean credit of the draw's replies."""
        return mean([reply.earned[0] if reply.complete else None for reply in self.replies(ledger, case, draw)])

    def earned(self, ledger: Ledger, case: Case, twin: Case | None, countries: frozenset[str]) -> Earned | None:
        """Credit of the reply less its fit to another person's limits: at most 0 for a list that would suit anybody."""
        return Earned(limited_credits(ledger, case), youden) if case.gold in {"flag", "none"} else None


def limited_credits(ledger: Ledger, case: Case) -> PairCredits:
    """Of a reply to somebody with limits: its credit, capped by how far it keeps within them, and 1 less its fit to another's."""
    replies = [LIMITED.reply(ledger, case, place) for place in ledger.places(case)]
    low, high = mean_range([reply.earned for reply in replies])
    other = mean_range([reply.level for reply in replies])
    return PairCredits(
        a=low if all(reply.complete for reply in replies) else None,
        b=1.0 - other[0] if other[0] == other[1] else None,
        bounds_a=(low, high),
        bounds_b=(1.0 - other[1], 1.0 - other[0]),
        void=sum(0.0 if reply.doubtful else reply.earned[0] for reply in replies) / len(replies),
    )


TASK = Task()
LIMITED = LimitedReply()
