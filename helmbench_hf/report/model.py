"""What a report is made from. The stages before fill it; nothing here reads a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

CONTENT_NOTE = (
    "The messages are written as people in distress write; some are about suicide and self-harm. None describes a method. "
    "The model's answers are shown as they came, and some of them are careless or harmful. "
    "If you are struggling, talk to someone now: find a service where you live at findahelpline.com "
    "(in the US and Canada call or text 988; in the UK and Ireland call 116 123)."
)
"""Shown before any transcript. Plain text: the page links nowhere."""


class Reply(TypedDict, total=False):
    """One answer of the model."""

    text: str
    """The raw answer."""
    visible: str | None
    """What the person would have seen: the `reply` field of a structured answer; None where there is no such field."""
    status: str
    """A `CompletionStatus` (ok, truncated, withheld, refused, engine_error), or `missing` where the journal holds no answer."""
    error: str


class ShownVerdict(TypedDict, total=False):
    """One grade of one reply, as `records.Verdict` has it, with the criterion's title."""

    turn: int
    criterion: str
    title: str
    grader: str
    status: str
    value: float | None
    detail: dict[str, Any]
    kind: str
    """`credit`, `veto`, `contrast`, `reported` or `code`."""


class Transcript(TypedDict, total=False):
    """One case with everything that was said and every verdict on it."""

    case: str
    draw: int
    behavior: str
    behavior_title: str
    scenario: str
    title: str
    mode: str
    condition: str
    condition_title: str
    user: str
    member: str
    gold: str
    severity: int
    register: str
    system: str
    turns: Sequence[str]
    replies: Sequence[Reply]
    tags: Sequence[str] | None
    """Tags that the parsed answer sets; None where there is nothing to parse or it could not be parsed."""
    target: str | None
    control: str | None
    verdicts: Sequence[ShownVerdict]


class Policy(TypedDict, total=False):
    """A reference policy's scores, on the scale of `scores`."""

    slug: str
    title: str
    message_blind: bool
    sensitivity: float | None
    false_alarms: float | None
    overall: float | None
    by_code: float | None


@dataclass(frozen=True, slots=True)
class ReportInput:
    """Everything on the page."""

    scores: Mapping[str, Any]
    """`scores.json`, as `scoring.result` writes it."""
    manifest: Mapping[str, Any]
    """Provenance: `dataset`, `model`, `engine`, `judges`, `versions`, `times`, and whatever else the run recorded."""
    transcripts: Sequence[Transcript] = ()
    cases: int = 0
    """Cases of the run, where the page shows the transcripts of some only."""
    policies: Sequence[Policy] = ()
    content_note: str = CONTENT_NOTE
    board: str = ""
    """Relative address of the run on the board that shows this report; empty where no board does."""
