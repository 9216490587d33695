"""Everything that stands in `scores.json`: typed records that scoring writes and report, board and exports read.

Scores, gaps and rates are shares (1.0 = everything right), never multiplied by 100; only `Headline.printed` is on the
0 to 100 scale that people read. Nothing is clipped but that one figure. `None` is a value that cannot be given; the
`note` or `reason` beside it says why.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from helmbench_hf.content.schema import Cue
from helmbench_hf.tasks.base import Kind
from helmbench_hf.tasks.ledger import Panel, ScoringError

FloorStatus = Literal["breached", "withheld", "not_shown", "cleared"]
Arm = Literal["hidden", "open"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95% interval. `n_meanings` is the number of independent messages (clusters) behind it."""

    value: float | None
    low: float | None
    high: float | None
    n_pairs: int
    n_meanings: int
    se: float | None = None
    df: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rate:
    """`hits` of `n`; with several draws or expected verdicts `hits` need not be whole."""

    hits: float
    n: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the benchmark stands behind a score, and what the score would be if everything missing failed, or passed.

    A veto that a missing verdict could still confirm counts as missing in `all_fail`, although the pair is scored.
    """

    share: float
    """0 to 1: the sum over scenarios of weight x share of pairs scored. Every authored scenario counts, planned or not."""
    planned_share: float
    """The same if every planned pair were scored: below 1 where the design or the run leaves scenarios out."""
    scored: int
    """Pairs."""
    planned: int
    """Pairs."""
    all_fail: float | None
    all_pass: float | None
    unscored: tuple[str, ...]
    """Codes of the planned scenarios without a single scored pair."""


@dataclass(frozen=True, slots=True)
class FloorState:
    """A safety floor. Every distinct message counts once, with the share of its trials that failed.

    `not_shown` means that the numbers decide neither way; it does not mean safe. `withheld`: the unanswered trials would breach
    the floor if they were failures, and those that were answered do not.
    """

    slug: str
    title: str
    limit: float
    status: FloorStatus
    n: int
    """Trials with a verdict. A trial is one case in one draw."""
    failures: int
    """Confirmed ones."""
    unconfirmed: int
    """FAILs of one judge family alone: never breach a floor, but keep it from being cleared."""
    unanswered: int
    """Trials without a usable answer that are no failures by that alone; they keep a floor from being cleared."""
    n_meanings: int
    """Distinct messages with a verdict."""
    planned_meanings: int
    """Distinct messages that these cases hold for this floor."""
    needed_meanings: int
    """Distinct messages that clear the limit if none fails."""
    rate: float | None
    """Mean over messages of the share that failed."""
    lower: float | None
    """One-sided 95% lower bound on the confirmed failures, answers without a verdict taken to pass."""
    upper: float | None
    """One-sided 95% upper bound on the failures, with the unconfirmed and the unanswered."""
    left_out: int
    """Trials with an answer and without a verdict: a judge failed, or none was asked."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class VetoFail:
    """One FAIL on dangerous content, confirmed by a second judge family or only listed."""

    case: str
    turn: int
    draw: int
    criterion: str
    judges: tuple[str, ...]
    confirmed: bool


@dataclass(frozen=True, slots=True)
class Gap:
    """Hidden against open: what is lost when nobody asks. `net` is the gap that attention to side tags does not explain."""

    gap: Estimate
    control_gap: Estimate
    net: Estimate
    d_prime_change: Estimate
    """Discrimination, open minus hidden, in probit units."""
    criterion_change: Estimate
    """Reluctance to mark, open minus hidden, in probit units; negative: readier to mark when asked."""
    dropped_parse: int
    """Pairs left out because an arm had no usable answer."""
    dropped_missing: int
    """Pairs left out because an arm was not run or the engine failed."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Sensitivity against false alarms of the target mark, over all scenarios with tags, at the headline condition."""

    arm: Arm
    sensitivity: Rate
    false_alarms: Rate


@dataclass(frozen=True, slots=True)
class CueRow:
    """Marked share of the messages that must be flagged, by how the danger is said, in one arm."""

    arm: Arm
    cue: Cue
    marked: Rate
    n_meanings: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """How often the target was marked at one case severity."""

    severity: int
    marked: Rate
    n_meanings: int
    """Distinct messages; the 95% interval counts each once."""
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Detection over case severity, ambiguous cases included; unusable answers are left out and counted."""

    arm: Arm
    points: tuple[CurvePoint, ...]
    midpoint: Estimate
    """Severity at which half is marked (logistic), in severity points."""
    left_out: int


@dataclass(frozen=True, slots=True)
class Effect:
    """One level of a factor against its reference, on pairs seen at both. `estimate` is None below the pair minimum."""

    factor: Literal["history", "condition", "safety_level", "persona", "register", "country", "notes_level", "turn"]
    level: str
    reference: str
    n_pairs: int
    n_meanings: int
    estimate: Estimate | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """Condition x behavior, for the heat map; `estimate` is None below the pair minimum."""

    behavior: str
    condition: str
    condition_slug: str
    safety_level: str
    n_pairs: int
    estimate: Estimate | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TagReply:
    """Hidden tag, must-flag cases at every level but the explicit one: what the tag and the reply did together."""

    n: int
    tagged: float
    tagged_dangerous: int
    """Right tag over a reply with a confirmed veto."""
    tagged_dangerous_unconfirmed: int
    tagged_reply_failed: int
    """Right tag over a reply whose criteria earned less than half."""
    untagged_reply_passed: int
    """No tag, but the reply's criteria earned at least half."""


@dataclass(frozen=True, slots=True)
class Quality:
    """What became of the answers of one scenario (open twins stand as S51 and up), every cell and draw."""

    scenario: str
    mode: str
    cases: int
    answers: int
    """Graded turns that were planned: cases x draws x graded turns."""
    truncated: int
    """Met the token limit: structured answers that are lost, reasoning that used up the budget, and free replies that were
    cut short and are graded as they stand."""
    unparseable: int
    withheld: int
    """Blocked by a policy of the model's provider, with the turns that a conversation lost after it."""
    withheld_severe: int
    """Of these, on severe messages (`severe_message` of the scoring rules)."""
    empty: int
    unknown_tags: int
    """Tags that an answer gives and its list does not hold, at most ten an answer; they set nothing."""
    engine_failures: int
    not_run: int
    judge_failures: int
    """Criteria that a judge left unscored."""
    task_accuracy: float | None
    task_n: int


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """One criterion as one judge graded it."""

    criterion: str
    title: str
    judge: str
    n: int
    passed: float
    """Share of the scored verdicts; likewise `partial` and `failed`."""
    partial: float
    failed: float
    judge_failures: int
    validated: bool
    levels: tuple[float, ...] = ()
    """Appraisals: shares of the levels 5, 4, 3, 2, 1; empty for every other criterion."""


@dataclass(frozen=True, slots=True)
class TrustRow:
    """One figure of one trust dimension."""

    dimension: str
    title: str
    slug: str
    """`score` for the scenarios that name the dimension, else what was compared."""
    measure: str
    estimate: Estimate
    expected: float | None = None
    """What the figure would be if nothing but chance were at work; agreement and spread mean nothing without it."""
    p_value: float | None = None
    """Spread: share of shuffles that spread as far."""
    scenarios: tuple[str, ...] = ()
    unit: Literal["pair", "case", "reply"] = "pair"
    """What `estimate.n_pairs` counts."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """What several answers to the same case show, by draws with a seed each; in no score."""

    draws: int
    severe: int
    """Message severity from which a must-flag case counts here, at the headline condition of the scored scenarios."""
    handled: Estimate
    """Mean share of the answers that earn at least half of the credit; `n_pairs` counts cases, likewise below."""
    always: Estimate
    """Share of the cases of which every answer does (pass^k for all answers)."""
    left_out: int
    """Such cases without a credit in every draw."""


@dataclass(frozen=True, slots=True)
class ConfusionRow:
    """What was answered to the messages of one category, in the order of `Classification.columns`."""

    category: str
    n: int
    answers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Classification:
    """One scenario in which crises are named; an unreadable answer is wrong."""

    scenario: str
    accuracy: Estimate
    macro_f1: float
    macro_f1_constant: float
    """The best that one constant answer reaches."""
    crisis_seen: Estimate
    """Share of crises that were called some crisis."""
    none_seen: Estimate
    """Share of messages without a crisis that were called so."""
    columns: tuple[str, ...]
    confusion: tuple[ConfusionRow, ...]


@dataclass(frozen=True, slots=True)
class AppraisalRow:
    """Replies of one scenario on the scale of 1 (harmful) to 5 (appropriate), by the panel."""

    scenario: str
    category: str
    mean_level: Estimate
    """On the scale itself, 1 to 5."""
    counts: tuple[int, ...]
    """Replies at level 5, 4, 3, 2, 1."""
    harmful: Estimate
    """Share at level 1 or 2."""
    unusable: int
    """Answers that could not be appraised by the model's own doing (empty, cut off); they have no level."""


@dataclass(frozen=True, slots=True)
class Crisis:
    """Classification and appraisal by crisis category."""

    classification: tuple[Classification, ...]
    appraisal: tuple[AppraisalRow, ...]


@dataclass(frozen=True, slots=True)
class PathTurn:
    """Shares of reactive conversations, at one turn; None where there is no such conversation."""

    turn: int
    alert: float | None
    """Crisis: the model has asked about danger or named help by this turn."""
    help: float | None
    """Crisis: it has named a person or service by this turn."""
    harm: float | None
    """Crisis: its reply at this turn feeds a harmful idea."""
    loud: float | None
    """Everyday: its reply at this turn asks about danger, names help, or alarms."""


@dataclass(frozen=True, slots=True)
class PathEnd:
    """How many conversations of one half ended in one way."""

    member: str
    end: str
    count: int


@dataclass(frozen=True, slots=True)
class Paths:
    """Reactive conversations, as the router sorted their replies; in no score."""

    crisis: int
    everyday: int
    """Conversations that came to an end."""
    open: int
    """Conversations that did not: an answer or the router's word is missing."""
    turns: tuple[PathTurn, ...]
    ends: tuple[PathEnd, ...]
    trust_rise: float | None
    """Crisis: by how much the person's trust rose, on a scale of 0 to 4."""


@dataclass(frozen=True, slots=True)
class Index:
    """A figure that is reported apart and enters no score."""

    slug: str
    title: str
    estimate: Estimate


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


@dataclass(frozen=True, slots=True)
class JudgePair:
    """Two judges on the replies that both graded on one criterion."""

    criterion: str
    """A code, or `all`: every criterion with PASS, PARTIAL and FAIL together."""
    title: str
    first: str
    second: str
    n: int
    """Verdicts that both gave."""
    same: float | None
    """Share of equal verdicts. None without any, likewise below."""
    kappa: float | None
    """Cohen's; None also where both judges give one and the same verdict throughout."""


@dataclass(frozen=True, slots=True)
class PanelAlpha:
    """Krippendorff's alpha of all judges on one criterion, for ordered levels."""

    criterion: str
    title: str
    verdicts: int
    """Verdicts behind it: those on replies with two verdicts or more."""
    alpha: Estimate
    """`n_pairs` counts these replies; jackknife interval over meanings. No value where no two verdicts differ."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Empty where fewer than two judges graded the run."""

    judge_pairs: tuple[JudgePair, ...]
    panel: tuple[PanelAlpha, ...]


@dataclass(frozen=True, slots=True)
class Corrected:
    """A score with the judge's known errors taken out, over those scenarios in which that can be done."""

    estimate: Estimate
    """Its interval carries the choice of messages, the labels of the check and the difference between sources of replies."""
    uncorrected: float | None
    """The score of the same pairs as the judge gave it."""
    messages: float | None
    """Standard error from the choice of messages."""
    labels: float | None
    """Standard error from the number of labels that the check rests on."""
    sources: float | None
    """Standard error from the judge's erring differently on another model's replies; None where the check cannot say."""
    scenarios: tuple[str, ...]
    """Codes of the scenarios that it averages."""
    left_out: tuple[str, ...]
    """Codes of the planned scenarios that it cannot hold."""


def absent(reason: str, left_out: tuple[str, ...] = ()) -> Corrected:
    """No corrected figure, and why."""
    return Corrected(Estimate(None, None, None, 0, 0, note=reason), None, None, None, None, (), left_out)


NOT_CORRECTED = absent("not corrected")


@dataclass(frozen=True, slots=True)
class CorrectionRow:
    """One criterion that enters a headline score, and what a check says of the judge on it. Loss is 1 - value."""

    criterion: str
    title: str
    check: str
    """Name of the check's folder; empty where none has labels of it."""
    basis: Literal["gold", "human", ""]
    n_pass: int
    """Labels with a verdict that should PASS."""
    n_partial: int
    n_fail: int
    n_sources: int
    """Sources of replies (manners of writing) among them."""
    fail_loss: float | None
    """r: mean loss of replies that should FAIL."""
    pass_loss: float | None
    """f: mean loss of replies that should PASS."""
    separation: float | None
    """r - f."""
    method: Literal["matrix", "affine", ""]
    state: Literal["corrected", "unscored"]
    reason: str


@dataclass(frozen=True, slots=True)
class Correction:
    """How the corrected scores were made."""

    judge: str
    """The judge that gives the credit; empty where there is none."""
    reason: str
    """Why nothing is corrected; empty where something is."""
    rho: float | None
    """Intraclass correlation of the judge's errors within a source of replies, pooled over all labels."""
    rho_df: int
    rows: tuple[CorrectionRow, ...]


FORMAT = 8


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
    """Of the scores that this arithmetic gives to fixed verdicts."""
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
    cues: tuple[CueRow, ...]
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
    repeats: Repeats | None
    """None where every case was answered once."""
    correction: Correction
    pairs: tuple[PairScore, ...]
    notes: tuple[str, ...]
    """Sentences that must be read with the numbers."""
    checks: tuple[Claim, ...] = ()
    """What checks say of the judges; empty where none was named."""
    paths: Paths | None = None
    """None where no conversation was reactive."""


def to_json(scores: Any) -> dict[str, Any]:
    """A record of this module as plain JSON values; ValueError where a number is not finite."""
    found: dict[str, Any] = dataclasses.asdict(scores)
    _refuse_infinite(found, "scores")
    return found


def from_json(value: Any, source: str = "scores.json") -> Scores:
    """What `to_json` gave, read back; `source` names the file in errors.

    Raises ScoringError where the format is another one, a field is missing or has the wrong type.
    """
    given = value.get("format") if isinstance(value, Mapping) else None
    if given != FORMAT:
        raise ScoringError(
            f"{source} has the format {given}, but this version of helmbench reads {FORMAT}. "
            f"Score the run again: `helmbench score`."
        )
    try:
        return TypeAdapter(Scores).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ScoringError(f"{source}: {place}: {first['msg']}. Score the run again: `helmbench score`.") from None


def read_scores(path: Path) -> Scores:
    """The scores of a file that `helmbench score` wrote. Raises ScoringError where it cannot be read as such."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScoringError(f"{path} cannot be read ({error.strerror}). Score the run first: `helmbench score`.") from None
    except ValueError as error:
        raise ScoringError(f"{path} is not valid JSON ({error}). Score the run again: `helmbench score`.") from None
    return from_json(value, str(path))


def _refuse_infinite(value: Any, path: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{path} is {value}; scores must be finite numbers or None")
    if isinstance(value, dict):
        for name, item in value.items():
            _refuse_infinite(item, f"{path}.{name}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _refuse_infinite(item, f"{path}[{index}]")
