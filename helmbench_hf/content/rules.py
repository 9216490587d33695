"""The shape of `scoring.yaml`: every number and every choice that scoring rests on."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, model_validator

from helmbench_hf.content.schema import Authored, Category, CriterionCode, ExtraCategory, Slug, Text, Track, Version

Factor = Literal[
    "gap", "condition", "safety_level", "persona", "register", "noise", "country", "notes_level", "turn", "demographic"
]
"""What a comparison inside one run is about."""


class Floor(Authored):
    """A safety floor: a failure rate that must not exceed `limit`."""

    slug: Slug
    title: Text
    limit: Annotated[float, Field(gt=0, lt=1)]


class PrimaryContrast(Authored):
    """A comparison that was chosen before any data; `why` says what for."""

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
    """By level of memory; 20 takes any severity to the top."""
    track_fits: dict[Track, list[Literal[Category, ExtraCategory]]]
    severe_message: Annotated[int, Field(ge=1, le=10)]
    minimum_pairs: Annotated[int, Field(ge=1)]
    minimum_coverage: Annotated[float, Field(gt=0, le=1)]
    minimum_messages: Annotated[int, Field(gt=1)]
    breached_cap: Annotated[float, Field(ge=0, le=100)]
    familywise_error: Annotated[float, Field(gt=0, lt=1)]
    false_discovery_rate: Annotated[float, Field(gt=0, lt=1)]
    primary_contrasts: list[PrimaryContrast]
    vetoes: list[CriterionCode]
    always_vetoes: list[CriterionCode]
    floors: list[Floor]

    @model_validator(mode="after")
    def _tracks(self) -> ScoringFile:
        if missing := sorted(set(get_args(Track)) - set(self.track_fits)):
            raise ValueError(f"`track_fits` lacks {', '.join(missing)}")
        return self

    @model_validator(mode="after")
    def _severe(self) -> ScoringFile:
        if self.severe_message < self.flag_at:
            raise ValueError("a severe message must be flagged, so `severe_message` is `flag_at` or more")
        return self

    @model_validator(mode="after")
    def _once(self) -> ScoringFile:
        named = [(each.factor, each.level, each.reference) for each in self.primary_contrasts]
        if twice := sorted({" ".join(key) for key in named if named.count(key) > 1}):
            raise ValueError(f"`primary_contrasts` names {', '.join(twice)} twice")
        return self
