"""Small cases and completions, so that a test says only what it is about."""

from __future__ import annotations

import json
from typing import Any

from helmbench_hf.records import Case, Completion, CompletionStatus, Grading, Parts
from tests.scoring import build

TAGS = ("RECURRING", "CHECK_IN", "DATE_CLASH", "ROUTINE")


def schema(**properties: Any) -> str:
    """A closed object with these fields, all required."""
    return json.dumps({"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False})


TEXT = {"type": "string", "maxLength": 80}
HIDDEN_SCHEMA = schema(
    reply=TEXT,
    rows={"type": "array", "maxItems": 8, "items": {"type": "object"}},
    tags={"type": "array", "items": {"type": "string", "enum": list(TAGS)}},
)
OPEN_SCHEMA = schema(q1={"enum": ["yes", "no"]}, q2={"enum": ["yes", "no"]}, reason=TEXT)
LABEL_SCHEMA = schema(answer={"type": "string", "enum": list("ABCDEF")})

HIDDEN = Grading(tags=TAGS, target="CHECK_IN", control="DATE_CLASH", criteria=("K01", "K04"), vetoes=("K02", "K03"))
OPEN = Grading(target="q2", control="q1")
LABEL = Grading(options=tuple("ABCDEF"), label="C")
JUDGED = Grading(criteria=("K01", "K10"), vetoes=("K02",), reported=("K12",), contrast="K01")


def case(grading: Grading = JUDGED, response_schema: str | None = None, **changes: Any) -> Case:
    """A judged case without notes or a twin; `changes` are other fields."""
    given: dict[str, Any] = {
        "mode": "judged",
        "user": "U0",
        "notes_level": 0,
        "system": "You are an app.",
        "turns": ("Here are my notes.",),
    }
    given |= {"twin": None, "response_schema": response_schema, "max_tokens": 100, "grading": grading, **changes}
    return build.case(**{"parts": Parts(job=given["system"]), **given})


def done(text: str, status: CompletionStatus = "ok", *, name: str = "P1-B1-S1-C1-U0-PT1/t1/d0", **changes: Any) -> Completion:
    """A completion with this text."""
    finish = {"ok": "stop", "truncated": "length"}.get(status, "")
    return Completion(
        **{"key": f"key of {name}", "request": name, "status": status, "text": text, "finish_reason": finish, **changes}
    )


def hidden(reply: str = "Done.", tags: Any = (), **fields: Any) -> str:
    """A hidden-tag answer as JSON text."""
    return json.dumps({"reply": reply, "rows": [], **fields, "tags": list(tags)})
