"""Which differences inside one run stand after correcting for how many were looked at (measurement review, 8).

The primary contrasts are named in `scoring.yaml` before any data: Holm (1979, Scandinavian Journal of Statistics 6:65) keeps
the chance of any false finding among them at 5%. All others are *exploratory*: Benjamini and Hochberg (1995, JRSS B 57:289)
keeps the expected share of false findings among the findings at 10%. Every p is two-sided, from the same cluster-t that gives
the interval. What has no p (too few pairs, one message, every message alike) is outside its family.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from helmbench_hf.content.rules import PrimaryContrast, ScoringFile
from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.tables import Effect, Estimate, Gap, TrustRow
from helmbench_hf.scoring.tables_more import Comparison, Comparisons, Demographic, Family, FamilyName

Key = tuple[str, str, str]
"""Factor, level, reference."""
HOLM, BENJAMINI_HOCHBERG = "Holm", "Benjamini-Hochberg"
NOT_HERE = "this run holds no such pairs"
OTHERS = "the other stubs"
FLAT = "one message alone, or every message alike: there is no variation to test against"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A difference that may be tested."""

    key: Key
    estimate: Estimate | None
    n_pairs: int
    n_meanings: int
    reason: str


def comparisons(
    effects: Sequence[Effect], gap: Gap, trust: Sequence[TrustRow], people: Sequence[Demographic], scoring: ScoringFile
) -> Comparisons:
    """Test every difference; primary contrasts first, in the order of `scoring.yaml`, then the others as they come."""
    found = {each.key: each for each in _candidates(effects, gap, trust, people, scoring.minimum_pairs)}
    minimum = scoring.minimum_messages
    primary = [_primary(named, found, minimum) for named in scoring.primary_contrasts]
    named = {(row.factor, row.level, row.reference) for row in primary}
    others = [_row(each, "exploratory", minimum) for key, each in found.items() if key not in named]
    first, tested = _corrected(primary, "primary", HOLM, scoring.familywise_error)
    second, explored = _corrected(others, "exploratory", BENJAMINI_HOCHBERG, scoring.false_discovery_rate)
    return Comparisons((tested, explored), (*first, *second))


def _candidates(
    effects: Sequence[Effect], gap: Gap, trust: Sequence[TrustRow], people: Sequence[Demographic], minimum: int
) -> Iterator[Candidate]:
    yield _sized(("gap", "asked openly", "hidden"), gap.gap, minimum)
    yield _sized(("gap", "asked openly, net of the control", "hidden"), gap.net, minimum)
    for row in trust:
        if row.slug == "noise-change":
            yield _sized(("noise", "with noise", "without"), row.estimate, minimum)
    for effect in effects:
        key: Key = effect.factor, effect.level, effect.reference
        yield Candidate(key, effect.estimate, effect.n_pairs, effect.n_meanings, effect.reason)
    for person in people:
        key = "demographic", person.slug, OTHERS
        yield Candidate(key, person.estimate, person.n_messages, person.n_meanings, person.reason)


def _sized(key: Key, estimate: Estimate, minimum: int) -> Candidate:
    """Hold an estimate that is printed elsewhere to the same minimum of pairs."""
    n = estimate.n_pairs
    if n < minimum:
        return Candidate(key, None, n, estimate.n_meanings, f"{n} pairs; nothing is printed below {minimum}" if n else NOT_HERE)
    return Candidate(key, estimate, n, estimate.n_meanings, "")


def _primary(named: PrimaryContrast, found: dict[Key, Candidate], minimum: int) -> Comparison:
    key = named.factor, named.level, named.reference
    return replace(_row(found.get(key, Candidate(key, None, 0, 0, NOT_HERE)), "primary", minimum), title=named.title)


def _row(each: Candidate, family: FamilyName, minimum: int) -> Comparison:
    reason = each.reason if each.estimate is None else untested(each.estimate, minimum)
    p = None if each.estimate is None or reason else intervals.p_value(each.estimate)
    return Comparison(*each.key, family, "", each.n_pairs, each.n_meanings, each.estimate, p, None, None, reason)


def untested(found: Estimate, minimum: int) -> str:
    """Why nothing can be said of a difference, by the smallest number of distinct messages; empty where it can be tested."""
    if found.value is None:
        return found.note
    if found.n_meanings < minimum:
        return f"{found.n_meanings} distinct message{'s' * (found.n_meanings != 1)}; nothing is tested below {minimum}"
    return "" if found.se else FLAT


def _corrected(rows: Sequence[Comparison], name: FamilyName, method: str, level: float) -> tuple[tuple[Comparison, ...], Family]:
    """The rows with their adjusted p, and the family that these were adjusted over."""
    values = [row.p for row in rows if row.p is not None]
    adjusted = iter(holm(values) if method == HOLM else benjamini_hochberg(values))
    done = []
    for row in rows:
        p = None if row.p is None else next(adjusted)
        done.append(row if p is None else replace(row, p_adjusted=p, differs=p <= level))
    return tuple(done), Family(name, method, level, len(values), sum(row.differs is True for row in done))


def holm(values: Sequence[float]) -> list[float]:
    """Adjusted p-values (n) in the order given: the k-th smallest times n - k + 1, never below a smaller one's, at most 1."""
    found, least = [0.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        least = max(least, min(1.0, (len(values) - rank) * values[place]))
        found[place] = least
    return found


def benjamini_hochberg(values: Sequence[float]) -> list[float]:
    """Adjusted p-values (n) in the order given."""
    from scipy.stats import false_discovery_control

    return [float(p) for p in false_discovery_control(values, method="bh")] if values else []
