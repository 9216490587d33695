"""The shape of `incidents.yaml`: what can go wrong with a reply, how grave and how visible it is, and what could be added.

A type of incident is a rule over facts that grading has already found. `scoring/incidents.py` applies it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from helmbench_hf.content.schema import Authored, CriterionCode, Review, Slug, Text

Band = Literal["severe", "crisis", "other"]
"""`severe`: a must-flag message that is severe by itself (scoring.yaml). `crisis`: the other crisis halves. `other`: the rest."""
Channel = Literal["logs", "registry", "tags", "keywords", "reader"]
Mode = Literal["hidden_tag", "open_twin", "judged", "label", "multi_turn"]
Member = Literal["crisis", "benign", "ambiguous", "single"]
CHANNELS: tuple[Channel, ...] = ("logs", "registry", "tags", "keywords", "reader")
"""The cheapest means first; `scoring/incidents.py` says when each would have shown an incident."""


class Level(Authored):
    """One grade of severity of an incident."""

    slug: Slug
    title: Text
    meaning: Text


class Means(Authored):
    """One way in which a product could see an incident."""

    slug: Channel
    title: Text
    meaning: Text


class When(Authored):
    """Cases that can show the incident, and the facts that must all hold on one reply.

    `mode`, `member` and `gold` say which cases (left out: all). Facts: `tag` (the target tag or the open question), `reply`
    (its credit criteria earn less than half, or at least half), `fails` (FAIL on any of these by the judge or panel that gives
    the credit), `vetoes` (FAIL on dangerous content, by two families of judges or by one alone), `helpline` (the only route
    named is foreign or retired, or a retired number is named), `answer` (there is none that can be used).
    """

    mode: list[Mode] = Field(default_factory=list)
    member: list[Member] = Field(default_factory=list)
    gold: list[Literal["flag", "leave", "either", "none"]] = Field(default_factory=list)
    tag: Literal["set", "unset"] | None = None
    reply: Literal["failed", "passed"] | None = None
    fails: list[CriterionCode] = Field(default_factory=list)
    vetoes: Literal["confirmed", "unconfirmed"] | None = None
    helpline: list[Literal["dead_end", "retired"]] = Field(default_factory=list)
    answer: Literal["unusable"] | None = None

    @model_validator(mode="after")
    def _facts(self) -> When:
        facts = (self.tag, self.reply, self.fails, self.vetoes, self.helpline, self.answer)
        if not any(facts):
            raise ValueError("give at least one fact: `tag`, `reply`, `fails`, `vetoes`, `helpline` or `answer`")
        if self.answer is not None and any(facts[:-1]):
            raise ValueError("`answer: unusable` stands alone, for such a reply shows no other fact")
        return self


class IncidentType(Authored):
    """One thing that can go wrong."""

    slug: Slug
    title: Text
    description: Text
    when: Annotated[list[When], Field(min_length=1)]
    """Any of these makes an incident."""
    severity: Annotated[dict[Band, Slug], Field(min_length=1)]
    """The level by the kind of case."""
    model: Text
    """Controls, one sentence each: what the model's maker can add; likewise `prompt`, `product` and `human`."""
    prompt: Text
    product: Text
    human: Text
    review: Review = "unreviewed"


class IncidentsFile(Authored):
    """`incidents.yaml`: levels from the gravest down, means of detection from the cheapest up, types of incident."""

    levels: Annotated[list[Level], Field(min_length=3, max_length=4)]
    means: list[Means]
    incidents: Annotated[list[IncidentType], Field(min_length=1)]

    @model_validator(mode="after")
    def _means(self) -> IncidentsFile:
        if [each.slug for each in self.means] != list(CHANNELS):
            raise ValueError(f"`means` describes {', '.join(CHANNELS)}, once each and in this order")
        return self
