"""What verification found: reasons with stable codes, and notes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from helmbench_hf.leaderboard.manifest import Manifest

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a submission is rejected."""

    code: str
    said: str
    """The first cases in sentences."""
    count: int


@dataclass(slots=True)
class Report:
    """What was found."""

    reasons: list[Reason] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What the rows cannot show, and what a reader should know."""
    manifest: Manifest | None = None
    scores: dict[str, Any] | None = None
    """As computed from the rows."""

    @property
    def accepted(self) -> bool:
        """Whether there is no reason against it."""
        return self.manifest is not None and not self.reasons

    def as_row(self) -> dict[str, Any]:
        """Plain JSON."""
        manifest, headline = self.manifest, (self.scores or {}).get("headline", {})
        return {
            "accepted": self.accepted,
            "reasons": [{"code": each.code, "said": each.said, "count": each.count} for each in self.reasons],
            "notes": self.notes,
            "model": manifest.model.id if manifest else None,
            "run_id": manifest.run_id if manifest else None,
            "place": manifest.place if manifest else None,
            "design": manifest.dataset.design if manifest else None,
            "printed": headline.get("printed"),
        }

    def summary(self) -> str:
        """For a terminal or a comment under a pull request; printable ASCII, whatever the submission holds."""
        head = "accepted" if self.accepted else "REJECTED"
        if self.manifest is not None:
            head += f": {self.manifest.model.id}, run {self.manifest.run_id}"
        lines = [head, *(f"- {each.code}: {each.said}" for each in self.reasons), *(f"  note: {note}" for note in self.notes)]
        return re.sub(r"[^\x20-\x7e\n]", "?", "\n".join(lines))


@dataclass(slots=True)
class Found:
    """Faults by code, so that a thousand of one kind are one reason."""

    said: dict[str, list[str]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, code: str, said: str) -> None:
        """Count a fault; the first few of a code are told."""
        self.counts[code] += 1
        if len(examples := self.said.setdefault(code, [])) < EXAMPLES:
            examples.append(said)

    def reasons(self) -> list[Reason]:
        """One for each code, in the order in which they were found."""
        found = []
        for code, said in self.said.items():
            more = self.counts[code] - len(said)
            found.append(Reason(code, "; ".join(said) + (f"; and {more} more" if more else ""), self.counts[code]))
        return found
