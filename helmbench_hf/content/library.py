"""The shape of the libraries that scenarios draw on: conditions, people, helplines, criteria."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from helmbench_hf.content.schema import (
    Authored,
    ConditionCode,
    Country,
    CriterionCode,
    Review,
    ScenarioCode,
    Slug,
    Text,
    Track,
)


class Condition(Authored):
    """A deployment persona with a safety-prompt level. `tag_rule` is added in hidden-tag scenarios and may hold {target}."""

    code: ConditionCode
    slug: Slug
    persona: Slug
    level: Literal["none", "product", "developer", "explicit"]
    text: Text
    safety: Text | None = None
    tag_rule: Text | None = None
    review: Review = "unreviewed"


class Notes(Authored):
    """What the app remembers at one level (1 ordinary .. 5 an earlier near-explicit statement)."""

    notes: Annotated[list[Text], Field(min_length=3, max_length=6)]
    shift: Annotated[int, Field(ge=0, le=6)] | None = None
    shift_reason: Text | None = None

    @model_validator(mode="after")
    def _reason(self) -> Notes:
        if (self.shift is None) != (self.shift_reason is None):
            raise ValueError("a `shift` that differs from the rule of its level needs a `shift_reason`, and the other way round")
        return self


class Person(Authored):
    """A user of the apps. Code of a context: U + number x 10 + level."""

    number: Annotated[int, Field(ge=1, le=79)]
    slug: Slug
    name: Text
    age: Annotated[int, Field(ge=13, le=99)]
    country: Country
    track: Track
    groups: list[Slug] = []
    profile: Text
    voice: Text
    levels: dict[int, Notes] = {}
    review: Review = "unreviewed"


class Stub(Authored):
    """A demographic stub: the same profile line with one attribute changed; 801 is the reference."""

    number: Annotated[int, Field(ge=801, le=899)]
    slug: Slug
    profile: Text
    country: Country = "GB"


class StubsFile(Authored):
    """`stubs.yaml`."""

    stubs: list[Stub] = []

    @model_validator(mode="after")
    def _once(self) -> StubsFile:
        if len({stub.number for stub in self.stubs}) < len(self.stubs):
            raise ValueError("two `stubs` have the same number")
        return self


class Planned(Authored):
    """What one scenario should hold, what the blueprint said (rows A, B, ambiguous, cases, open twins), and why they differ."""

    pairs: int
    singles: int
    ambiguous: int
    full: int
    open_twins: int
    blueprint: Annotated[list[int], Field(min_length=5, max_length=5)]
    why: str = ""


class PlanFile(Authored):
    """`plan.yaml`: the counts that the matrix is held to."""

    totals: dict[str, int]
    scenarios: dict[ScenarioCode, Planned]


class Channel(Authored):
    """One way to reach a service."""

    kind: Literal["phone", "text", "chat", "email", "whatsapp"]
    printed: Text
    e164: Annotated[str, StringConstraints(pattern=r"^\+[0-9]{6,15}$")] | None = None
    short_code: Annotated[str, StringConstraints(pattern=r"^[0-9]{3,6}$")] | None = None
    aliases: list[Text] = []


class Service(Authored):
    """A crisis service, or a retired number kept as a trap."""

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
            raise ValueError("an emergency number is never a retired entry")
        return self


class CountryFile(Authored):
    """`helplines/<country>.yaml`: the registry of one country and the stub of a user who lives there."""

    country: Country
    name: Text
    number: Annotated[int, Field(ge=901, le=999)]
    match: Literal["must", "listed_or_directory", "apart"]
    dialing_prefix: Annotated[str, StringConstraints(pattern=r"^\+[0-9]{1,3}$")]
    profile: Text
    services: list[Service]


class Criterion(Authored):
    """One atomic thing a judge decides. Anchors are our own wording."""

    code: CriterionCode
    slug: Slug
    title: Text
    kind: Literal["credit", "veto", "contrast", "appraisal"]
    question: Text
    passes: Text | None = None
    partial: Text | None = None
    fails: Text | None = None
    levels: dict[Literal[1, 2, 3, 4, 5], Text] = {}
    """Appraisals: the anchor of every level, 5 the best."""
    notes: Text | None = None
    soft_line: bool = False
    """PARTIAL is a soft line, which costs nothing on an everyday message."""
    review: Review = "unreviewed"

    @model_validator(mode="after")
    def _levels(self) -> Criterion:
        if self.kind == "appraisal":
            if sorted(self.levels) != [1, 2, 3, 4, 5] or self.passes or self.partial or self.fails:
                raise ValueError("an appraisal has the five `levels` and no `passes`, `partial` and `fails`")
            return self
        if self.levels or not self.passes or not self.fails:
            raise ValueError("a criterion has `passes` and `fails`; `levels` are for appraisals")
        if (self.kind == "veto") != (self.partial is None):
            raise ValueError("a veto has no `partial`; every other criterion has one")
        return self
