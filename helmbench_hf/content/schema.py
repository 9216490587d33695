"""The shape of the authored files: what a clinician reads and edits under `configs/benchmark/v1`.

`scoring.yaml` and `incidents.yaml` are described in `content/rules.py` and `content/incidents.py`.

Every model refuses unknown fields. What crosses files (twins, slugs, counts, wording) is checked in `content/lint.py`.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Country = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+(\.dev[0-9]+|rc[0-9]+)?$")]
"""0.x and what has a suffix (`1.1.0.dev1`, `1.1.0rc1`) is not released."""
CriterionCode = Annotated[str, StringConstraints(pattern=r"^[AKX][0-9]{2}$")]
ConditionCode = Annotated[str, StringConstraints(pattern=r"^C[1-9][0-9]?$")]
UserCode = Annotated[str, StringConstraints(pattern=r"^U(0|[1-9][0-9]{0,2})$")]
ScenarioCode = Annotated[str, StringConstraints(pattern=r"^P[1-4]-B[1-9]-S[1-9]$")]
TagName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z_]*[A-Z]$")]

CATEGORIES = (
    "suicidal_ideation",
    "self_harm",
    "anxiety_crisis",
    "violent_thoughts",
    "substance_abuse_or_withdrawal",
    "risk_taking_behaviours",
    "no_crisis",
)
Category = Literal[
    "suicidal_ideation",
    "self_harm",
    "anxiety_crisis",
    "violent_thoughts",
    "substance_abuse_or_withdrawal",
    "risk_taking_behaviours",
    "no_crisis",
]
ExtraCategory = Literal["delusional_thinking", "abuse_by_others"]
EXTRA_CATEGORIES = get_args(ExtraCategory)
Register = Literal["fluent", "second_language", "slang_emoji", "code_switched", "idiom"]
Trust = Literal["REL", "CIE", "SAF", "FAI", "PRI", "ROB", "SYC", "ETH"]
TRUST_DIMENSIONS: dict[Trust, str] = {
    "REL": "Reliability",
    "CIE": "Crisis identification and escalation",
    "SAF": "Safety",
    "FAI": "Fairness",
    "PRI": "Privacy",
    "ROB": "Robustness",
    "SYC": "Anti-sycophancy",
    "ETH": "Ethics",
}
"""The dimensions of TrustMH-Bench (2026, arXiv 2603.03047), in its order."""
Track = Literal["risk", "belief", "attachment", "abuse"]


def reviewed_on(review: str) -> dt.date | None:
    """The day of a review; None for a text that names no review. ValueError for a day that no calendar has."""
    return dt.date.fromisoformat(review[-10:]) if review.startswith("reviewed by ") else None


def _on_a_day(review: str) -> str:
    try:
        reviewed_on(review)
    except ValueError as error:
        raise ValueError(f"there is no day {review[-10:]} ({error})") from error
    return review


_NAMED = r"[^()]*\p{L}[^()]*"
"""Who, and in which role: a text with a letter in it."""
Review = Annotated[
    str,
    StringConstraints(pattern=rf"^(unreviewed|reviewed by {_NAMED} \({_NAMED}\), [0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})$"),
    AfterValidator(_on_a_day),
]


class Authored(BaseModel):
    """Base of every authored record: frozen, no unknown field, no silent conversion of types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


# --- messages.yaml -------------------------------------------------------------------------------------------------


class Message(Authored):
    """One perturbation: what the person sends. Exactly one of `text`, `turns` and `tickets`.

    Where the pair names a `host`, `text` is the aside that is set into it.
    """

    severity: Annotated[int, Field(ge=-10, le=10)]
    text: Text | None = None
    turns: list[Text] | None = None
    tickets: dict[Literal["A", "B", "C", "D", "E", "F"], Text] | None = None
    choices: dict[Literal["A", "B", "C", "D"], Text] | None = None
    key: Literal["A", "B", "C", "D", "E", "F"] | None = None
    task_key: dict[str, str] = {}

    @model_validator(mode="after")
    def _one_body(self) -> Message:
        if sum(body is not None for body in (self.text, self.turns, self.tickets)) != 1:
            raise ValueError("give exactly one of `text`, `turns` (a conversation) and `tickets` (a queue)")
        if (self.tickets is None and self.choices is None) != (self.key is None):
            raise ValueError("`key` (the right letter) goes with `tickets` or `choices`")
        if self.choices is not None and (self.text is None or self.key not in self.choices):
            raise ValueError("`choices` need a question in `text` and a `key` that is one of them")
        if self.tickets is not None and len(self.tickets) != 6:
            raise ValueError("a queue has the six tickets A to F")
        return self


class Common(Authored):
    """What a pair, a single or an ambiguous message carries besides its text."""

    meaning: Slug
    speech: Register = Field("fluent", alias="register")  # pydantic's BaseModel has a method of that name
    cue: Literal["explicit", "implicit"] = "implicit"
    crisis_category: Category | None = None
    extra_category: ExtraCategory | None = None
    control: bool | None = None
    twin_fluent: Annotated[int, Field(ge=1)] | None = None
    user: UserCode | None = None
    """The only context in which the message is used, where the scenario does not cross messages with users."""
    criteria: list[CriterionCode] = []
    """Credit criteria of the crisis half beyond the scenario's, where they fit this message alone."""
    contains_method_query: bool = False
    sources: list[Text] = []
    review: Review = "unreviewed"


class Pair(Common):
    """Two twins: the same task, register and control cue; only the facts that carry the risk differ."""

    pair: Annotated[int, Field(ge=1)]
    host: Slug | None = None
    crisis: Message
    benign: Message


class Single(Common):
    """A message without a twin (country scenarios), or one of the ambiguous tail."""

    number: Annotated[int, Field(ge=1)]
    limits: Text | None = None
    """What bars the person from the usual route; the reply is graded against these limits and against another person's."""
    message: Message


class Host(Authored):
    """A long document that asides are set into: `{aside}` stands once in `text`, `{more}` where the long form grows."""

    slug: Slug
    text: Text
    more: Annotated[list[Slug], Field(min_length=1)]
    """Neutral segments of the long form, in order, shared out over the `{more}` places."""

    @model_validator(mode="after")
    def _places(self) -> Host:
        if self.text.count("{aside}") != 1 or "{more}" not in self.text:
            raise ValueError("`text` holds `{aside}` once and `{more}` at least once")
        return self


class Messages(Authored):
    """`messages.yaml`: PT1..n are the crisis halves, PT(n+1)..2n their twins, then the tail; singles stand alone."""

    pairs: list[Pair] = []
    singles: list[Single] = []
    ambiguous: list[Single] = []
    hosts: list[Host] = []
    segments: dict[Slug, Text] = {}


class TaxonomyItem(Common):
    """A message beyond the matrix, written to fill a category."""

    number: Annotated[int, Field(ge=1)]
    severity: Annotated[int, Field(ge=-10, le=10)]
    text: Text


class TaxonomyFile(Authored):
    """`taxonomy/<category>.yaml`."""

    category: Category
    sources: list[Text] = []
    """The public guidance behind every item that names none of its own."""
    items: list[TaxonomyItem]


# --- scenario.yaml -------------------------------------------------------------------------------------------------


class Tag(Authored):
    """One side observation a hidden-tag answer may set."""

    name: TagName
    definition: Text
    role: Literal["target", "control", "other"] = "other"


class Criteria(Authored):
    """Which judged criteria apply to which half, besides the vetoes that the rules of the benchmark add."""

    crisis: list[CriterionCode] = []
    benign: list[CriterionCode] = []
    ambiguous: list[CriterionCode] = []
    vetoes: list[CriterionCode] = []
    reported: list[CriterionCode] = []


class Contrast(Authored):
    """The criterion graded by the same anchors on both twins, and its verdict that means full handling (h = 1)."""

    criterion: CriterionCode
    high: Literal["PASS", "FAIL"]
    own: CriterionCode | None = None
    """Scenarios with `limits`: the credit criterion that says of the person's own limits what the contrast says of another's."""


class Asked(Authored):
    """The two questions of the open twins of a scenario that has no tags: the observation that matters, and a neutral one."""

    target: Text
    control: Text


class Scenario(Authored):
    """`scenario.yaml`: one deployment situation."""

    code: ScenarioCode
    slug: Slug
    title: Text
    mode: Literal["hidden_tag", "judged", "label", "multi_turn"]
    tier: Literal["core", "stretch"]
    summary: Text
    why_hard: Text
    category: Category
    extra_category: ExtraCategory | None = None
    trust_dimensions: Annotated[list[Trust], Field(min_length=1)]
    detects: bool = True
    track: Track | None = None
    conditions: Annotated[list[ConditionCode], Field(min_length=1)]
    users: Annotated[list[UserCode], Field(min_length=1)]
    job: Text | None = None
    answer: dict[str, dict[str, Any]] = {}
    tags: list[Tag] = []
    options: list[Text] = []
    criteria: Criteria = Criteria()
    contrast: Contrast | None = None
    asked: Asked | None = None
    """Judged scenarios: the severe pairs have open twins, which ask these (measurement review, 9.19)."""
    sources: list[Text] = []
    """The public guidance behind every message that names none of its own."""
    resources: bool = False
    graded_turns: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=1)] = [1]
    blind_question: Text | None = None
    """What a blind reader is asked about a message, where yes means the crisis half; else about safety, or the target tag."""
    messages_from: ScenarioCode | Literal["taxonomy"] | None = None
    """The scenario whose messages this one uses too, or `taxonomy`: every single message there is, and those of `taxonomy/`.
    It has no `messages.yaml` then."""
    unlike_twins: bool = False
    """Twins are different requests (one that must be met and one that must not), so length and facts may differ."""
    noise: bool = False
    """Every fluent pair stands once more with character, word and sentence noise, made by seed."""
    appraisal: bool = False
    """Replies are also rated 1 to 5 on the anchors of the message's own category (criteria A01 to A09)."""
    notes_decide: bool = False
    """The crisis half is ordinary by itself (severity 0 to 2); only with what the app remembers must it be flagged."""
    by_history: bool = False
    """Users come as one person's ordinary notes and the same person's recovered history."""
    apart: bool = False
    """Reported apart and in no score: messages on which reasonable readers differ."""
    review: Review = "unreviewed"


# --- benchmark.yaml -------------------------------------------------------------------------------------------------


class Behavior(Authored):
    """A claim that the benchmark tests. Weights of all behaviors sum to 100."""

    code: Annotated[str, StringConstraints(pattern=r"^P[1-4]-B[1-9]$")]
    slug: Slug
    title: Text
    weight: Annotated[int, Field(ge=1, le=100)]
    critical: bool = False


class Pillar(Authored):
    """One of the four capabilities."""

    code: Literal["P1", "P2", "P3", "P4"]
    slug: Slug
    title: Text
    behaviors: list[Behavior]


class BenchmarkFile(Authored):
    """`benchmark.yaml`: identity, pillars, the wording shared by every prompt."""

    name: Text
    version: Version
    """Of the dataset: messages, scenarios, conditions, people, helplines, weights and prompts."""
    criteria_version: Version
    """Of the criteria's words."""
    calibration_version: Version
    """Of the replies with known verdicts that judges are checked with."""
    canary: Text
    license: Text
    seed: int
    pillars: list[Pillar]
    reply_tokens: Annotated[int, Field(ge=64)]
    tag_instruction: Text
    label_instruction: Text
    notes_heading: Text
    open_job: Text
    private: bool = False
    """A holdout: kept outside the repository, built with --private, never published (docs/holdout.md)."""
