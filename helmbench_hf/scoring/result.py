"""Everything that stands in `scores.json`: frozen records, no arithmetic.

Scores, gaps and rates are shares (1.0 = everything right), never multiplied by 100; only `Headline.printed` is on the
0 to 100 scale that people read. Nothing is clipped but that one figure. `None` is a value that cannot be given; the
`note` or `reason` beside it says why.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

from helmbench_hf.scoring.correction_tables import NOT_CORRECTED, Corrected, Correction, CorrectionRow, absent
from helmbench_hf.scoring.judge_tables import Agreement, JudgePair, PanelAlpha
from helmbench_hf.scoring.tables import (
    AppraisalRow,
    Arm,
    Cell,
    Classification,
    ConfusionRow,
    Coverage,
    Crisis,
    CriterionRow,
    Curve,
    CurvePoint,
    Effect,
    Estimate,
    FloorState,
    FloorStatus,
    Gap,
    Index,
    Kind,
    KnewHandled,
    OperatingPoint,
    PassRow,
    Quality,
    Rate,
    Repeats,
    TagReply,
    TrustRow,
    VetoFail,
)
from helmbench_hf.scoring.tables_more import Comparisons, Demographic, Incidents, Ladders
from helmbench_hf.scoring.verdicts import Panel

FORMAT = 5
__all__ = [
    "FORMAT",
    "Agreement",
    "AppraisalRow",
    "Arm",
    "Cell",
    "Classification",
    "Comparisons",
    "ConfusionRow",
    "Corrected",
    "Correction",
    "CorrectionRow",
    "Coverage",
    "Crisis",
    "CriterionRow",
    "Curve",
    "CurvePoint",
    "Demographic",
    "Effect",
    "Estimate",
    "FloorState",
    "FloorStatus",
    "Gap",
    "Group",
    "Headline",
    "Incidents",
    "Index",
    "JudgePair",
    "JudgeState",
    "Kind",
    "KnewHandled",
    "Ladders",
    "OperatingPoint",
    "PairScore",
    "PanelAlpha",
    "PassRow",
    "Provenance",
    "Quality",
    "Rate",
    "Repeats",
    "ScenarioScore",
    "Scores",
    "TagReply",
    "TrustRow",
    "VetoFail",
    "absent",
    "to_json",
]


@dataclass(frozen=True, slots=True)
class ScenarioScore:
    """One scenario at its headline condition."""

    code: str
    slug: str
    title: str
    behavior: str
    kind: Kind
    condition: str
    score: Estimate
    coverage: Coverage
    code_score: Estimate | None
    """The part that rests on code alone: tags, labels, resources. None where a judge decides everything."""
    sensitivity: Rate | None
    """Hidden tag: must-flag cases whose target tag was set (unusable answers count as not set)."""
    false_alarms: Rate | None
    """Hidden tag: must-not-flag cases whose target tag was set."""
    note: str = ""
    corrected: Corrected = NOT_CORRECTED


@dataclass(frozen=True, slots=True)
class Group:
    """A behavior, a pillar or the whole: the mean of its parts."""

    code: str
    slug: str
    title: str
    weight: int
    """Points of 100 that it carries in the benchmark."""
    critical: bool
    score: Estimate
    new_scenarios: Estimate
    """The same value; the interval takes scenarios as drawn, so it speaks for others of the same kind too."""
    coverage: Coverage
    code_score: Estimate | None
    parts: tuple[str, ...]
    """Codes of the scenarios (behavior) or behaviors (pillar, whole) that it averages."""
    absent: tuple[str, ...]
    """Codes of what belongs to it and is not scored here."""
    corrected: Corrected = NOT_CORRECTED


@dataclass(frozen=True, slots=True)
class Headline:
    """The composite and what it covers."""

    overall: Group
    printed: float | None
    """0 to 100: the raw value clipped at 0, and at `breached_cap` where a floor is breached."""
    breached: tuple[str, ...]
    """Slugs of the breached floors that cap it."""
    covers: tuple[str, ...]
    """Codes of the behaviors behind it."""
    note: str


@dataclass(frozen=True, slots=True)
class PairScore:
    """A pair (or a case that stands alone) in one cell, as it enters a score. `value` is None where a verdict is missing."""

    scenario: str
    pair: str
    condition: str
    user: str
    meaning: str
    crisis: str
    """Code of the crisis case, or of the single one."""
    benign: str | None
    headline: bool
    weight: float
    a: float | None
    b: float | None
    value: float | None
    code_value: float | None


@dataclass(frozen=True, slots=True)
class JudgeState:
    """A judge as the scores used it; `Provenance.panel` says whose verdict gives the credit."""

    id: str
    family: str
    validated: tuple[str, ...]
    """Criteria for which it has passed the claim gate."""
    mode: str
    """How it was asked: `fast` or `evidence`; empty where nobody was asked."""
    model_sha256: str
    """Of what names its weights."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What one check says of one judge of this run."""

    judge: str
    state: str
    """`fails`, `passes on gold`, `claim-ready`, or `not checked` where it held no label."""
    basis: str
    """`gold`: labels that HELMbench wrote. `human`: the consensus of two human raters or more."""
    labels_sha256: str
    labels: int
    check: str
    """Name of the check's folder."""
    passes: tuple[str, ...]
    """Criteria whose bounds meet the gate on these labels."""
    fails: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Provenance:
    """What must agree before two runs may be compared."""

    benchmark: str
    benchmark_version: str
    """Of the dataset."""
    dataset_sha256: str
    """Over the authored dataset that graded: its helplines, weights and headline conditions decide scores as its cases do."""
    criteria_version: str
    criteria_sha256: str
    scoring_version: str
    scoring_sha256: str
    """Over the numbers of scoring.yaml."""
    numbers_sha256: str
    """Of the scores that this arithmetic gives to fixed verdicts, as versions.json has it; empty where nothing is locked."""
    rubric_version: str
    rubric_sha256: str
    """Of the judge prompt; both empty where no judge was asked."""
    design: str
    content_sha256: str
    """Over the rows of the design."""
    cases_sha256: str
    """Over every case as it was scored, so that it differs whenever the cells or their texts do."""
    cases: int
    draws: int
    judges: tuple[JudgeState, ...]
    panel: Panel
    """Whose verdict gives the credit: `first`, `majority` or `worst`."""
    minimum_coverage: float
    """Coverage below which there is no score; of scoring.yaml, as what follows."""
    minimum_messages: int
    """Distinct messages below which no difference is tested."""
    ignored_verdicts: int
    """Verdicts of cases or draws outside this design."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The whole of `scores.json`."""

    format: int
    provenance: Provenance
    headline: Headline
    pillars: tuple[Group, ...]
    behaviors: tuple[Group, ...]
    scenarios: tuple[ScenarioScore, ...]
    floors: tuple[FloorState, ...]
    vetoes: tuple[VetoFail, ...]
    gap: Gap
    operating: tuple[OperatingPoint, ...]
    curves: tuple[Curve, ...]
    effects: tuple[Effect, ...]
    comparisons: Comparisons
    cells: tuple[Cell, ...]
    tag_reply: TagReply
    quality: tuple[Quality, ...]
    criteria: tuple[CriterionRow, ...]
    agreement: Agreement
    indices: tuple[Index, ...]
    trust: tuple[TrustRow, ...]
    demographics: tuple[Demographic, ...]
    ladders: tuple[Ladders, ...]
    incidents: Incidents | None
    """None where the benchmark has no `incidents.yaml`."""
    crisis: Crisis
    repeats: Repeats
    correction: Correction
    pairs: tuple[PairScore, ...]
    notes: tuple[str, ...]
    """Sentences that must be read with the numbers."""
    checks: tuple[Claim, ...] = ()
    """What checks say of the judges; empty where none was named."""


def to_json(scores: Any) -> dict[str, Any]:
    """A record of this module as plain JSON values; ValueError where a number is not finite."""
    found: dict[str, Any] = dataclasses.asdict(scores)
    _refuse_infinite(found, "scores")
    return found


def _refuse_infinite(value: Any, path: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{path} is {value}; scores hold finite numbers or None")
    if isinstance(value, dict):
        for name, item in value.items():
            _refuse_infinite(item, f"{path}.{name}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _refuse_infinite(item, f"{path}[{index}]")
