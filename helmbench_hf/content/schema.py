"""The shape of the authored files: what a clinician reads and edits under `configs/benchmark/v1`.

Every model refuses unknown fields. What crosses files (references, twins, wording) is checked in `content/lint.py`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from helmbench_hf.records import Act, Answer, Level, Member, Mode

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

Severity = Annotated[int, Field(ge=-10, le=10)]
"""How worrying a message is: -10 everyday life, 10 a life in immediate danger."""
Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, lt=1)]

Category = Literal[
    "suicidal_ideation",
    "self_harm",
    "anxiety_crisis",
    "violent_thoughts",
    "substance_abuse_or_withdrawal",
    "risk_taking_behaviours",
    "no_crisis",
]
CATEGORIES = get_args(Category)
ExtraCategory = Literal["delusional_thinking", "abuse_by_others"]
EXTRA_CATEGORIES = get_args(ExtraCategory)
Register = Literal["fluent", "second_language", "slang_emoji", "code_switched", "idiom"]
Cue = Literal["explicit", "implicit", "oblique"]
"""How a danger is said: in those words; plainly in others; only as a tone or a fact that a friend would ask about."""
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


def fault(what: str, *place: str | int) -> PydanticCustomError:
    """An error at a field of the record (or of the list) that is validated."""
    return PydanticCustomError("value_error", "{what}", {"what": what, "place": place})


def unlike(*names: str) -> AfterValidator:
    """For a list: no two of its records agree in these fields; without names, no two of its values are the same."""

    def check(items: list[Any]) -> list[Any]:
        seen = set[tuple[Any, ...]]()
        for index, item in enumerate(items):
            value = tuple(getattr(item, name) for name in names) or (item,)
            if value in seen:
                what = f"the {' '.join(names) or 'entry'} {' '.join(map(str, value))} stands twice"
                raise fault(what, index, *(names if len(names) == 1 else ()))
            seen.add(value)
        return items

    return AfterValidator(check)


class Authored(BaseModel):
    """Base of every authored record: frozen, no unknown field, no silent conversion of types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


# --- messages.yaml ---------------------------------------------------------------------------------------------------


class Message(Authored):
    """One perturbation: what the person sends. Exactly one of `text`, `turns`, `tickets` and `beats`.

    Where the pair names a `host`, `text` is the aside that is set into it.
    """

    severity: Severity
    text: Text | None = None
    turns: list[Text] | None = None
    tickets: dict[Literal["A", "B", "C", "D", "E", "F"], Text] | None = None
    beats: dict[Slug, Annotated[list[Text], Field(min_length=3, max_length=3)]] | None = None
    """A reactive conversation: three wordings of each beat of the scenario's `route`, the opening first."""
    choices: dict[Literal["A", "B", "C", "D"], Text] | None = None
    key: Literal["A", "B", "C", "D", "E", "F"] | None = None
    task_key: dict[str, str] = {}

    @model_validator(mode="after")
    def _one_body(self) -> Message:
        if sum(body is not None for body in (self.text, self.turns, self.tickets, self.beats)) != 1:
            raise ValueError("give exactly one of `text`, `turns` (a script), `tickets` (a queue) and `beats`")
        if (self.tickets is None and self.choices is None) != (self.key is None):
            raise ValueError("`tickets` and `choices` need a `key` (the right letter), and nothing else has one")
        if self.choices is not None and (self.text is None or self.key not in self.choices):
            raise ValueError("`choices` need a question in `text` and a `key` that is one of them")
        if self.tickets is not None and len(self.tickets) != 6:
            raise ValueError("a queue must have the six tickets A to F")
        return self

    @property
    def answers(self) -> dict[str, str]:
        """The lettered answers (choices or tickets) to choose from, in order; empty if there are none."""
        return {str(letter): text for letter, text in sorted((self.tickets or self.choices or {}).items())}

    def user_turns(self) -> tuple[str, ...]:
        """What the user types: one message, a question or queue with its lettered answers, or the turns of a conversation.

        Of a reactive one: every wording of every beat.
        """
        if self.turns is not None:
            return tuple(self.turns)
        if self.beats is not None:
            return tuple(line for lines in self.beats.values() for line in lines)
        question = [] if self.text is None else [self.text]
        return ("\n".join([*question, *(f"{letter}. {text}" for letter, text in self.answers.items())]),)


class Common(Authored):
    """What a pair, a single or an ambiguous message carries besides its text."""

    meaning: Slug
    """Shared by copies in other registers; otherwise its own."""
    speech: Register = Field("fluent", alias="register")  # pydantic's BaseModel has a method of that name
    cue: Cue = "implicit"
    crisis_category: Category | None = None
    extra_category: ExtraCategory | None = None
    control: bool | None = None
    twin_fluent: Count | None = None
    user: UserCode | None = None
    """The only user who sends it; by default every user of the scenario does."""
    criteria: list[CriterionCode] = []
    """Credit criteria for the crisis half of this message, in addition to the scenario's."""
    contains_method_query: bool = False
    sources: list[Text] = []


class Pair(Common):
    """Two twins: the same person, app and request; one is worrying, the other is everyday life."""

    pair: Count
    host: Slug | None = None
    crisis: Message
    benign: Message


class Single(Common):
    """A message without a twin (country scenarios), or one of the ambiguous tail."""

    number: Count
    limits: Text | None = None
    """What keeps the person from the usual help; the reply is graded against these limits and against another person's."""
    message: Message


class Host(Authored):
    """A long document around an aside: `text` holds `{aside}` once, and `{more}` where the long form adds segments."""

    slug: Slug
    text: Text
    more: Annotated[list[Slug], Field(min_length=1)]
    """Neutral segments of the long form, in order, spread evenly over the `{more}` places."""

    @model_validator(mode="after")
    def _places(self) -> Host:
        if self.text.count("{aside}") != 1 or "{more}" not in self.text:
            raise ValueError("`text` must contain `{aside}` once and `{more}` at least once")
        return self


class Messages(Authored):
    """`messages.yaml`. The crisis halves are PT1 to PTn, their twins PT(n+1) to PT2n, then the rest."""

    pairs: Annotated[list[Pair], unlike("pair")] = []
    singles: Annotated[list[Single], unlike("number")] = []
    ambiguous: Annotated[list[Single], unlike("number")] = []
    hosts: list[Host] = []
    segments: dict[Slug, Text] = {}

    @model_validator(mode="after")
    def _hosted(self) -> Messages:
        hosts = {host.slug for host in self.hosts}
        if strangers := [pair.pair for pair in self.pairs if (pair.host or hosts) and pair.host not in hosts]:
            raise ValueError(f"pair {strangers[0]} does not name a `host` listed under `hosts`")
        if missing := [slug for host in self.hosts for slug in host.more if slug not in self.segments]:
            raise ValueError(f"`segments` lacks {missing[0]}, which a host uses")
        return self

    def items(self) -> Iterator[tuple[str, Pair | Single]]:
        """Every pair, single and ambiguous message with its field, such as `pairs.3`."""
        for group in ("pairs", "singles", "ambiguous"):
            yield from ((f"{group}.{index}", item) for index, item in enumerate(getattr(self, group)))

    def written(self) -> Iterator[Written]:
        """Every message with its field, such as `pairs.3.crisis`."""
        for field, item in self.items():
            if isinstance(item, Pair):
                yield Written(f"{field}.crisis", "crisis", item, item.crisis)
                yield Written(f"{field}.benign", "benign", item, item.benign)
            else:
                member: Member = "ambiguous" if field.startswith("ambiguous") else "single"
                yield Written(f"{field}.message", member, item, item.message)


class Written(NamedTuple):
    """One message of a `messages.yaml`: its field there, which member it is, what it belongs to, and the message."""

    field: str
    member: Member
    item: Common
    message: Message


class TaxonomyItem(Common):
    """A message written to fill a category of the crisis taxonomy, outside any scenario."""

    number: Count
    severity: Severity
    text: Text


class TaxonomyFile(Authored):
    """`taxonomy/<category>.yaml`."""

    category: Category
    sources: list[Text] = []
    """Public guidance behind every item that names none of its own."""
    items: list[TaxonomyItem]


# --- scenario.yaml ---------------------------------------------------------------------------------------------------


class Tag(Authored):
    """One side observation a hidden-tag answer may set."""

    name: TagName
    definition: Text
    role: Literal["target", "control", "other"] = "other"


class Criteria(Authored):
    """Which judged criteria apply to which half, besides the vetoes of scoring.yaml."""

    crisis: list[CriterionCode] = []
    benign: list[CriterionCode] = []
    ambiguous: list[CriterionCode] = []
    vetoes: list[CriterionCode] = []
    reported: list[CriterionCode] = []


class Step(Authored):
    """Where a reply of one kind leads: a beat, or beats by the least trust that they need."""

    to: Slug | dict[Annotated[int, Field(ge=0, le=4)], Slug]
    trust: Annotated[int, Field(ge=-4, le=4)] = 0


class Beat(Authored):
    """One thing that the person may come to say, and what follows from each kind of reply."""

    after: dict[Act | Literal["any"], Step] = {}
    """`any` stands for every act that is not named. Without it the conversation ends here."""
    end: Text | None = None
    """How the person is left where it ends, such as `somebody knows`."""

    @model_validator(mode="after")
    def _leads_on(self) -> Beat:
        if (self.end is None) != bool(self.after):
            raise ValueError("a beat must either lead on (`after`) or end the conversation (`end`)")
        if (missing := sorted(set(get_args(Act)) - set(self.after))) and self.after and "any" not in self.after:
            raise ValueError(f"nothing follows {', '.join(missing)}: say what does, or add `any`")
        return self

    def step(self, act: Act) -> Step | None:
        """What follows from a reply of this kind; None where the conversation ends."""
        return self.after.get(act, self.after.get("any"))


class RouteTable(Authored):
    """The paths of a reactive conversation. The first beat opens it; twins share the table."""

    trust: Annotated[int, Field(ge=0, le=4)] = 1
    """The person's trust at the start."""
    beats: dict[Slug, Beat]


class Contrast(Authored):
    """The criterion that is judged by the same anchors on both twins, and the verdict that means full handling."""

    criterion: CriterionCode
    high: Literal["PASS", "FAIL"]
    own: CriterionCode | None = None
    """Scenarios with `limits`: the credit criterion on the person's own limits; the contrast is on another person's."""


class Asked(Authored):
    """The two questions of the open twins of a scenario that has no tags: the observation that matters, and a neutral one."""

    target: Text
    control: Text


class Scenario(Authored):
    """`scenario.yaml`: one deployment situation."""

    code: ScenarioCode
    slug: Slug
    title: Text
    mode: Literal["hidden_tag", "judged", "label", "multi_turn", "reactive"]
    tier: Literal["core", "stretch"]
    summary: Text
    why_hard: Text
    category: Category
    extra_category: ExtraCategory | None = None
    trust_dimensions: Annotated[list[Trust], Field(min_length=1)]
    detects: bool = True
    track: Track | None = None
    conditions: Annotated[list[ConditionCode], Field(min_length=1), unlike()]
    users: Annotated[list[UserCode], Field(min_length=1), unlike()]
    job: Text | None = None
    answer: dict[str, dict[str, Any]] = {}
    tags: Annotated[list[Tag], unlike("name")] = []
    options: list[Text] = []
    criteria: Criteria = Criteria()
    contrast: Contrast | None = None
    asked: Asked | None = None
    """Judged scenarios: the open twins of the severe pairs ask these two questions."""
    sources: list[Text] = []
    """Public guidance behind every message that names none of its own."""
    resources: bool = False
    reply_tokens: Annotated[int, Field(ge=64)] | None = None
    """Budget of a reply in free text, where it is not the benchmark's."""
    route: RouteTable | None = None
    """Reactive scenarios: what the person says after each kind of reply."""
    graded_turns: Annotated[list[Count], Field(min_length=1)] = [1]
    by_turn: dict[Count, list[CriterionCode]] = {}
    """Criteria of `crisis` and `benign` that are asked at one graded turn only."""
    blind_question: Text | None = None
    """What a blind reader is asked about a message; yes means the crisis half. Default: about safety, or the target tag."""
    messages_from: ScenarioCode | Literal["taxonomy"] | None = None
    """Use the messages of that scenario, or (`taxonomy`) all single messages of the matrix and those of `taxonomy/`.
    The scenario then has no `messages.yaml`."""
    unlike_twins: bool = False
    """Twins are different requests (one to meet and one to refuse), so their length and facts may differ."""
    noise: bool = False
    """Every fluent pair also comes with character, word and sentence noise, made from the seed."""
    appraisal: bool = False
    """Replies are also rated 1 to 5 on the anchors for the message's own category (criteria A01 to A09)."""
    notes_decide: bool = False
    """The crisis half alone is ordinary (severity 0 to 2); it must be flagged only because of what the app remembers."""
    by_history: bool = False
    """Users come in twos: one person with ordinary notes, and the same person with a history of recovery."""
    long_history: bool = False
    """The pairs also stand behind a long ordinary chat, in the design `long`."""
    apart: bool = False
    """Reported separately and in no score: messages on which reasonable readers differ."""

    @property
    def target(self) -> Tag | None:
        """The side tag that matters."""
        return next((tag for tag in self.tags if tag.role == "target"), None)

    def categories(self, item: Common) -> tuple[Category, ExtraCategory | None]:
        """The crisis category of a message and the extra one, if there is one: the message's, or else the scenario's."""
        return item.crisis_category or self.category, item.extra_category or self.extra_category


# --- benchmark.yaml --------------------------------------------------------------------------------------------------


class Behavior(Authored):
    """A claim that the benchmark tests. The weights of all behaviors sum to 100."""

    code: Annotated[str, StringConstraints(pattern=r"^P[1-4]-B[1-9]$")]
    slug: Slug
    title: Text
    weight: Annotated[int, Field(ge=1, le=100)]
    critical: bool = False


class Pillar(Authored):
    """One of the four capabilities; the codes of its behaviors begin with its own."""

    code: Literal["P1", "P2", "P3", "P4"]
    slug: Slug
    title: Text
    behaviors: Annotated[list[Behavior], unlike("code")]

    @model_validator(mode="after")
    def _codes(self) -> Pillar:
        for index, behavior in enumerate(self.behaviors):
            if not behavior.code.startswith(f"{self.code}-"):
                raise fault(f"{behavior.code} is listed under {self.code}, not under its own pillar", "behaviors", index, "code")
        return self


class BenchmarkFile(Authored):
    """`benchmark.yaml`: name, versions, pillars, and the wording that every prompt shares."""

    name: Text
    version: Version
    """Of the dataset: messages, scenarios, conditions, people, helplines, weights and prompts."""
    criteria_version: Version
    """Of the wording of the criteria."""
    calibration_version: Version
    """Of the replies with known verdicts, which judges are tested on."""
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
    """A holdout, which is kept outside the repository, built with --private and never published (docs/holdout.md)."""

    @model_validator(mode="after")
    def _weights(self) -> BenchmarkFile:
        total = sum(behavior.weight for _, behavior in self.behaviors.values())
        if total != 100:
            raise fault(f"the weights of all behaviors sum to {total}, not to 100", "pillars")
        return self

    @property
    def behaviors(self) -> dict[str, tuple[Pillar, Behavior]]:
        """By code, every behavior with its pillar."""
        return {behavior.code: (pillar, behavior) for pillar in self.pillars for behavior in pillar.behaviors}


# --- conditions, people, stubs, plan, helplines, criteria ------------------------------------------------------------


class Condition(Authored):
    """A deployment persona with a level of safety prompt. `tag_rule` is added in hidden-tag scenarios and names {target}."""

    code: ConditionCode
    slug: Slug
    persona: Slug
    level: Level
    text: Text
    safety: Text | None = None
    tag_rule: Annotated[str, StringConstraints(pattern=r"\{target\}")] | None = None
    history: Literal[0, 12, 40] = 0
    """Turns of ordinary chat with the app that come before the message, both sides counted."""

    @model_validator(mode="after")
    def _fits_level(self) -> Condition:
        if (self.level == "none") != (self.safety is None):
            raise fault("level none must not have `safety`, and every other level must have it", "safety")
        if (self.level == "explicit") != (self.tag_rule is not None):
            raise fault("level explicit must have a `tag_rule`, and no other level may have one", "tag_rule")
        return self


class Notes(Authored):
    """What the app remembers at one level, from 1 (ordinary) to 5 (an earlier, nearly explicit statement)."""

    notes: Annotated[list[Text], Field(min_length=3, max_length=6)]
    shift: Annotated[int, Field(ge=0, le=6)] | None = None
    shift_reason: Text | None = None

    @model_validator(mode="after")
    def _reason(self) -> Notes:
        if (self.shift is None) != (self.shift_reason is None):
            raise ValueError("a `shift` that differs from the rule of its level needs a `shift_reason`, and vice versa")
        return self


class Person(Authored):
    """A user of the apps. Their code is U, the number, and the level of notes: U53 is person 5 at level 3."""

    number: Annotated[int, Field(ge=1, le=79)]
    slug: Slug
    name: Text
    age: Annotated[int, Field(ge=13, le=99)]
    country: Country
    track: Track
    groups: list[Slug] = []
    profile: Text
    voice: Text
    levels: dict[Annotated[int, Field(ge=1, le=5)], Notes] = {}


class ChatTurns(Authored):
    """One thing that a person wrote to the app on an ordinary day, and the app's answer."""

    person: Text
    app: Text


class History(Authored):
    """`histories/<person>.yaml`: a long ordinary chat of a person with the app, in which nothing is wrong."""

    slug: Slug
    """The person's, or `anyone` for a user of whom nothing is remembered."""
    exchanges: Annotated[list[ChatTurns], Field(min_length=20, max_length=20)]


class Stub(Authored):
    """A user known by one profile line, which differs from that of 801 in one demographic attribute."""

    number: Annotated[int, Field(ge=801, le=899)]
    slug: Slug
    profile: Text
    country: Country = "GB"


class StubsFile(Authored):
    """`stubs.yaml`."""

    stubs: Annotated[list[Stub], unlike("number")] = []


class StyleRange(Authored):
    """What a feature of all our messages together must keep to."""

    feature: Text
    least: Annotated[float, Field(ge=0)]
    most: Annotated[float, Field(ge=0)]


class Corpus(Authored):
    """Messages that real people wrote, as figures. Their texts are in no file of this repository."""

    name: Text
    source: Text
    messages: Count
    counted: dt.date
    figures: dict[Text, float]


class StyleFile(Authored):
    """`style.yaml`: how real people type, and the ranges that the messages of the benchmark keep."""

    ranges: Annotated[list[StyleRange], unlike("feature")]
    corpora: Annotated[list[Corpus], unlike("name")]


class Channel(Authored):
    """One way to reach a service."""

    kind: Literal["phone", "text", "chat", "email", "whatsapp"]
    printed: Text
    e164: Annotated[str, StringConstraints(pattern=r"^\+[0-9]{6,15}$")] | None = None
    short_code: Annotated[str, StringConstraints(pattern=r"^[0-9]{3,6}$")] | None = None
    aliases: list[Text] = []


class Service(Authored):
    """A crisis service, or a retired number that replies must not give."""

    name: Text
    aliases: list[Text] = []
    kind: Literal["crisis_line", "directory", "emergency", "local_route"]
    audience: Text = "everyone"
    hours: Text
    languages: list[Text]
    url: Text | None = None
    channels: list[Channel] = []
    status: Literal["active", "retired"]
    retired_on: dt.date | None = None
    source: Text
    checked: dt.date
    confidence: Literal["high", "medium", "low"]

    @model_validator(mode="after")
    def _retired(self) -> Service:
        if self.status == "active" and self.retired_on is not None:
            raise ValueError("`retired_on` is for services whose status is retired")
        if self.status == "retired" and self.kind == "emergency":
            raise ValueError("an emergency number cannot be a retired entry")
        return self


class CountryFile(Authored):
    """`helplines/<country>.yaml`: the services of one country, and the profile line of a user who lives there."""

    country: Country
    name: Text
    number: Annotated[int, Field(ge=901, le=999)]
    match: Literal["must", "listed_or_directory", "apart"]
    dialing_prefix: Annotated[str, StringConstraints(pattern=r"^\+[0-9]{1,3}$")]
    profile: Text
    services: list[Service]


class Criterion(Authored):
    """One thing that a judge decides. The anchors are our own wording."""

    code: CriterionCode
    slug: Slug
    title: Text
    kind: Literal["credit", "veto", "contrast", "appraisal"]
    question: Text
    passes: Text | None = None
    partial: Text | None = None
    fails: Text | None = None
    levels: dict[Literal[1, 2, 3, 4, 5], Text] = {}
    """Appraisals: the anchor of every level; 5 is best."""
    notes: Text | None = None
    soft_line: bool = False
    """PARTIAL is a soft line, which costs nothing on an everyday message."""

    @model_validator(mode="after")
    def _levels(self) -> Criterion:
        if self.kind == "appraisal":
            if sorted(self.levels) != [1, 2, 3, 4, 5] or self.passes or self.partial or self.fails:
                raise ValueError("an appraisal must have the five `levels` and no `passes`, `partial` or `fails`")
            return self
        if self.levels or not self.passes or not self.fails:
            raise ValueError("a criterion must have `passes` and `fails`; `levels` are for appraisals")
        if (self.kind == "veto") != (self.partial is None):
            raise ValueError("a veto must not have `partial`; every other criterion must have it")
        return self


# --- scoring.yaml ----------------------------------------------------------------------------------------------------


Factor = Literal[
    "gap", "history", "condition", "safety_level", "persona", "register", "noise", "country", "notes_level", "turn", "demographic"
]
"""What differs between the two sides of a comparison."""


class Floor(Authored):
    """A safety floor: a failure rate that must not exceed `limit`."""

    slug: Slug
    title: Text
    limit: Share


class PrimaryContrast(Authored):
    """A comparison that was chosen before there was any data, and why."""

    factor: Factor
    level: Text
    reference: Text
    title: Text
    why: Text


class ScoringFile(Authored):
    """`scoring.yaml`: every number that scoring rests on."""

    version: Version
    flag_at: Annotated[int, Field(ge=1, le=10)]
    leave_at: Annotated[int, Field(ge=-10, le=-1)]
    notes_shift: dict[Annotated[int, Field(ge=1, le=5)], Annotated[int, Field(ge=0, le=20)]]
    """What each level of notes adds to the severity of a message; 20 lifts any message to the top."""
    track_fits: dict[Track, list[Literal[Category, ExtraCategory]]]
    severe_message: Annotated[int, Field(ge=1, le=10)]
    minimum_pairs: Count
    minimum_coverage: Annotated[float, Field(gt=0, le=1)]
    minimum_messages: Annotated[int, Field(gt=1)]
    breached_cap: Annotated[float, Field(ge=0, le=100)]
    familywise_error: Share
    false_discovery_rate: Share
    primary_contrasts: Annotated[list[PrimaryContrast], unlike("factor", "level", "reference")]
    vetoes: list[CriterionCode]
    always_vetoes: list[CriterionCode]
    floors: list[Floor]

    @model_validator(mode="after")
    def _consistent(self) -> ScoringFile:
        if missing := sorted(set(get_args(Track)) - set(self.track_fits)):
            raise ValueError(f"`track_fits` lacks {', '.join(missing)}")
        if self.severe_message < self.flag_at:
            raise ValueError("a severe message must be flagged, so `severe_message` must be `flag_at` or more")
        return self


# --- incidents.yaml --------------------------------------------------------------------------------------------------


Band = Literal["severe", "crisis", "other"]
"""`severe`: a message to flag that is severe by itself (scoring.yaml). `crisis`: other crisis halves. `other`: the rest."""
Detection = Literal["logs", "registry", "tags", "keywords", "reader"]
"""The means by which a product could see an incident, the cheapest first."""


class Grade(Authored):
    """One grade of severity of an incident."""

    slug: Slug
    title: Text
    meaning: Text


class Means(Grade):
    """One way in which a product could see an incident."""

    slug: Detection


class When(Authored):
    """Cases that can show the incident, and facts that must all hold for one reply.

    `mode`, `member` and `gold` select the cases (default: all). Facts: `tag` (the target tag or open question), `reply` (its
    credit criteria earn less than half, or at least half), `fails` (FAIL on any of these by the judge or panel that gives the
    credit), `vetoes` (FAIL on dangerous content, by two families of judges or only one), `helpline` (the only service named
    is foreign or retired, or a retired number is named), `answer` (no usable answer).
    """

    mode: list[Mode] = []
    member: list[Member] = []
    gold: list[Literal["flag", "leave", "either", "none"]] = []
    tag: Literal["set", "unset"] | None = None
    reply: Literal["failed", "passed"] | None = None
    fails: list[CriterionCode] = []
    vetoes: Literal["confirmed", "unconfirmed"] | None = None
    helpline: list[Literal["dead_end", "retired"]] = []
    answer: Literal["unusable"] | None = None

    @model_validator(mode="after")
    def _facts(self) -> When:
        facts = (self.tag, self.reply, self.fails, self.vetoes, self.helpline, self.answer)
        if not any(facts):
            raise ValueError("give at least one fact: `tag`, `reply`, `fails`, `vetoes`, `helpline` or `answer`")
        if self.answer is not None and any(facts[:-1]):
            raise ValueError("`answer: unusable` must stand alone, because nothing else can be read from such a reply")
        return self


class IncidentType(Authored):
    """One thing that can go wrong with a reply: a rule over facts that grading finds (applied by `scoring/incidents.py`)."""

    slug: Slug
    title: Text
    description: Text
    when: Annotated[list[When], Field(min_length=1)]
    """Any of these makes an incident."""
    severity: Annotated[dict[Band, Slug], Field(min_length=1)]
    """The level by the kind of case."""
    model: Text
    """What the maker of the model can do about it; likewise the writer of the `prompt`, the `product`, and a `human`."""
    prompt: Text
    product: Text
    human: Text


class IncidentsFile(Authored):
    """`incidents.yaml`: levels from the gravest down, means of detection from the cheapest up, and types of incident."""

    levels: Annotated[list[Grade], Field(min_length=3, max_length=4), unlike("slug")]
    means: list[Means]
    incidents: Annotated[list[IncidentType], Field(min_length=1), unlike("slug")]

    @model_validator(mode="after")
    def _means(self) -> IncidentsFile:
        if [each.slug for each in self.means] != list(get_args(Detection)):
            raise ValueError(f"`means` must describe {', '.join(get_args(Detection))}, once each and in this order")
        return self


# --- policies.yaml ---------------------------------------------------------------------------------------------------


class Policy(Authored):
    """A reference policy, which shows what a score is worth: it ignores the message, or knows only its length or some words.

    Its `verdicts` stand in a table because its text is the same for everybody; or it speaks like two others, or not at all.
    """

    slug: Slug
    title: Text
    message_blind: bool
    """It never looks at the message, so its expected score must not be above chance."""
    tags: Literal["never", "always", "random", "notes", "keyword", "length", "words"]
    """When it marks target and control: `notes` if level 3 or more is remembered, `keyword` by a list of words, `length` and
    `words` by what it learned from the other scenarios (scoring/cues.py)."""
    label: Literal["first", "random", "length", "words"] = "first"
    """Which label it chooses. `length` and `words` choose at random if the message does not spell out the answers."""
    answers: bool = True
    """False: the answer is always empty."""
    reply: Text | None = None
    """What it says, if that is one text for everybody."""
    helplines: Literal["every"] | list[Country] = []
    """Countries whose registered crisis lines it adds to the text."""
    act: Act = "job"
    """What its text does in a reactive conversation."""
    verdicts: dict[CriterionCode, Answer] = {}
    when_flagged: Slug | None = None
    """It speaks like this policy where it marks the target ..."""
    otherwise: Slug | None = None
    """... and like this one elsewhere."""

    @model_validator(mode="after")
    def _one_voice(self) -> Policy:
        if (self.when_flagged is None) != (self.otherwise is None):
            raise ValueError("`when_flagged` and `otherwise` go together")
        voices = [bool(self.verdicts), self.when_flagged is not None, not self.answers]
        if sum(voices) != 1:
            raise ValueError("give exactly one of `verdicts`, `when_flagged` with `otherwise`, and `answers: false`")
        if self.when_flagged is not None and self.tags == "random":
            raise ValueError("a policy whose reply depends on its marks cannot mark at random")
        if self.helplines and self.reply is None:
            raise ValueError("`helplines` are added to a `reply`; give a `reply` too")
        return self


class PoliciesFile(Authored):
    """`policies.yaml`."""

    policies: Annotated[list[Policy], unlike("slug")]


# --- calibration/<scenario>.yaml: replies with known verdicts, to test judges ----------------------------------------


Gold = Literal["PASS", "PARTIAL", "FAIL"]
"""The verdict that is right for a reply."""
ReplyCode = Annotated[str, StringConstraints(pattern=r"^[A-Z][0-9]{2,3}[a-z]?$")]
ReplySource = Literal["assistant", "model", "edit", "twin", "hard_negative", "degenerate"]
"""assistant: written like a deployed assistant. model: an open model's own reply (`kind` names the model). edit: another reply
with one sentence changed. twin: another reply, word for word, under the other message of its pair. hard_negative: written to
mislead judges. degenerate: addressed to the judge, empty, refusing, broken or in another language; its verdicts are certain."""


class Reply(Authored):
    """One reply to one case, and its right verdicts."""

    code: ReplyCode
    case: Text
    """Code of a case of the design `full`, in the split `test`."""
    turn: Count = 1
    earlier: list[Text] = []
    """The assistant's earlier turns, if they differ from the file's `earlier`."""
    source: ReplySource
    kind: Text | None = None
    """Which kind of hard negative or degenerate reply, or which model."""
    edits: ReplyCode | None = None
    """The reply that this one edits or, a twin, repeats."""
    reply: str
    """The model's raw answer: JSON if the case has a schema."""
    clean: str | None = None
    """A reply that addresses the judge, without the words to the judge, to measure what these words do."""
    gold: dict[CriterionCode, Gold]

    @model_validator(mode="after")
    def _complete(self) -> Reply:
        if (self.source in ("edit", "twin")) != (self.edits is not None):
            raise ValueError("an edit or a twin must name the reply that it `edits`, and no other reply may have `edits`")
        if self.clean is not None and self.source != "degenerate":
            raise ValueError("only a degenerate reply can have a `clean` form")
        if not self.gold:
            raise ValueError("a reply without a verdict checks nothing")
        return self


class PublicLine(Authored):
    """A public phone line that replies name, and that the helpline files lack because it is not a crisis line for everyone."""

    printed: Text
    """The number as a reply writes it."""
    name: Text
    country: Country
    source: Text
    checked: dt.date
    confidence: Literal["high", "medium", "low"]


class CalibrationFile(Authored):
    """`calibration/<scenario>.yaml`."""

    scenario: ScenarioCode
    lines: list[PublicLine] = []
    earlier: dict[Text, list[Text]] = {}
    """Message code such as `PT3` -> the assistant's replies at turns 1, 2 and so on, before the replies to later turns."""
    replies: list[Reply]
