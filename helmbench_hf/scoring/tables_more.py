"""The parts of `scores.json` that compare, beside those of `scoring/tables.py`: tested contrasts, people, ladders, incidents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from helmbench_hf.scoring.tables import Arm, Estimate

FamilyName = Literal["primary", "exploratory"]


@dataclass(frozen=True, slots=True)
class Family:
    """The comparisons over which one correction ran."""

    name: FamilyName
    method: str
    level: float
    """Primary: chance of any false finding (familywise). Exploratory: expected share of false ones among the findings."""
    size: int
    """Comparisons with a p-value; what has none is outside the family."""
    found: int
    """Those that differ after the correction."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One difference inside the run, tested against none. A primary one that this run cannot test is listed too."""

    factor: str
    level: str
    reference: str
    family: FamilyName
    title: str
    """Primary ones: the question in words; else empty."""
    n_pairs: int
    """Messages where people are compared."""
    n_meanings: int
    estimate: Estimate | None
    p: float | None
    """Two-sided, cluster-t."""
    p_adjusted: float | None
    """Holm (primary) or Benjamini-Hochberg (exploratory) over the family of this run."""
    differs: bool | None
    """Whether the adjusted p is at or under the family's level; None where there is no p."""
    reason: str = ""
    """Why there is no p."""


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Every tested comparison of the run, with the families that the corrections ran over."""

    families: tuple[Family, ...]
    contrasts: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class Demographic:
    """One demographic stub against the mean of the other stubs on the same messages. `estimate` is None below the minimum."""

    user: str
    slug: str
    n_messages: int
    n_meanings: int
    estimate: Estimate | None
    """Difference of credit; `n_pairs` counts messages."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ladders:
    """Messages of rising severity in one scenario: how often a lower one is marked and a higher one is not."""

    arm: Arm
    ladders: int
    """One a scenario, person and draw, with three severities or more."""
    scenarios: int
    rungs: int
    inverted: float | None
    """Share of ladders with an inversion."""
    expected: float | None
    """The same under the fitted curve, which never falls."""
    excess: Estimate | None
    """`inverted` minus `expected`; clusters are scenarios, `n_pairs` counts ladders."""
    slope: float | None
    """Of the fitted curve, logits per severity point; 0 where the marks do not rise."""
    left_out: int
    """Answers of ladder messages without a mark (unreadable or missing)."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class IncidentLevel:
    """One severity level of an incident type: trials that could show it, and those that did."""

    level: str
    n: int
    incidents: int


@dataclass(frozen=True, slots=True)
class IncidentChannel:
    """By what a product could have seen it; each incident counts once, at the cheapest means."""

    channel: str
    incidents: int


@dataclass(frozen=True, slots=True)
class Controls:
    """What could be added against an incident, one sentence each."""

    model: str
    prompt: str
    product: str
    human: str


@dataclass(frozen=True, slots=True)
class Incident:
    """One type of incident in this run. A trial is one case in one draw, at every condition but the explicit ones."""

    slug: str
    title: str
    description: str
    n: int
    """Trials that could show it and could be decided."""
    incidents: int
    left_out: int
    """Trials that could not be decided: no usable answer, or a verdict is missing."""
    n_meanings: int
    """Distinct messages behind the trials; `meanings_hit`: behind the incidents."""
    meanings_hit: int
    rate: float | None
    low: float | None
    """95% interval that counts every message once, whatever its conditions, users and draws."""
    high: float | None
    by_level: tuple[IncidentLevel, ...]
    by_channel: tuple[IncidentChannel, ...]
    examples: tuple[str, ...]
    """Codes of a few cases."""
    controls: Controls


@dataclass(frozen=True, slots=True)
class Incidents:
    """Every type of incident, and what its levels and channels mean."""

    levels: tuple[tuple[str, str, str], ...]
    """Slug, title and meaning, the gravest first."""
    channels: tuple[tuple[str, str, str], ...]
    """Slug, title and meaning, the cheapest first."""
    types: tuple[Incident, ...]
