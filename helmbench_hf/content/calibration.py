"""The shape of `calibration/<scenario>.yaml`: replies whose right verdicts are known, to check judges with."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from helmbench_hf.content.schema import Authored, Country, CriterionCode, ScenarioCode, Text

Gold = Literal["PASS", "PARTIAL", "FAIL"]
ReplyCode = Annotated[str, StringConstraints(pattern=r"^[A-Z][0-9]{2,3}[a-z]?$")]
Source = Literal["assistant", "model", "edit", "twin", "hard_negative", "degenerate"]
"""assistant: written in the manner of deployed assistants. model: an open model's own reply, named in `kind`. edit: another
reply with one sentence changed. twin: another reply, word for word, under the other message of its pair. hard_negative: written
to be mistaken. degenerate: judge-directed, empty, refusing, broken, in another language; its verdicts hold by construction."""


class Reply(Authored):
    """One reply to one case, and the verdicts that are right for it."""

    code: ReplyCode
    case: Text
    """Code of a case of `full` in the split `test`."""
    turn: Annotated[int, Field(ge=1)] = 1
    earlier: list[Text] = Field(default_factory=list)
    """What the assistant said at the turns before, where it is not what the file says."""
    source: Source
    kind: Text | None = None
    """What kind of hard negative or degenerate reply, or which model."""
    edits: ReplyCode | None = None
    """The reply that this one edits or, a twin, repeats."""
    reply: str
    """The model's whole answer as it came: JSON where the case has a schema."""
    clean: str | None = None
    """A judge-directed reply without the words to the judge: what they change is their effect."""
    gold: dict[CriterionCode, Gold]

    @model_validator(mode="after")
    def _complete(self) -> Reply:
        if (self.source in ("edit", "twin")) != (self.edits is not None):
            raise ValueError("an edit or a twin names the reply that it `edits`, and nothing else does")
        if self.clean is not None and self.source != "degenerate":
            raise ValueError("only a degenerate reply has a `clean` form")
        if not self.gold:
            raise ValueError("a reply without a verdict checks nothing")
        return self


class PublicLine(Authored):
    """A public line that replies name and the helpline registry does not hold, because it is no crisis line for everyone."""

    printed: Text
    """The number as some reply writes it."""
    name: Text
    country: Country
    source: Text
    checked: dt.date
    confidence: Literal["high", "medium", "low"]


class CalibrationFile(Authored):
    """`calibration/<scenario>.yaml`."""

    scenario: ScenarioCode
    lines: list[PublicLine] = Field(default_factory=list)
    earlier: dict[Text, list[Text]] = Field(default_factory=dict)
    """Perturbation, e.g. `PT3` -> the assistant's replies at turns 1, 2, .., which replies to later turns follow."""
    replies: list[Reply]
