"""What checks of judges say of the judges of a run, as `score` takes it; `judging.claims` makes it from `check.json` files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from helmbench_hf.records import Answer, JudgeInfo
from helmbench_hf.scoring.scores import Claim

Counts = Mapping[str, Mapping[Answer, Mapping[Answer, int]]]
"""Source of the reply -> right level -> said level -> labels."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a cited check says of one criterion, label by label."""

    check: str
    basis: Literal["gold", "human"]
    counts: Counts

    @property
    def rank(self) -> tuple[bool, int, str]:
        """Human labels count before gold, then more labels before fewer."""
        n = sum(n for rows in self.counts.values() for row in rows.values() for n in row.values())
        return self.basis == "human", n, self.check


@dataclass(frozen=True, slots=True)
class Claims:
    """What checks say of the judges of a run."""

    cited: tuple[Claim, ...] = ()
    refused: tuple[str, ...] = ()
    """Why a check says nothing of this run, in sentences."""
    calibrations: Mapping[str, Mapping[str, Calibration]] = field(default_factory=dict)
    """Judge -> criterion -> the labels to correct with: of one check alone, since two may rest on the same replies."""

    def judges(self, judges: Iterable[JudgeInfo]) -> tuple[JudgeInfo, ...]:
        """The judges with the criteria that they may be believed on: claim-ready, and failed in no check."""
        return tuple(replace(judge, validated=self._validated(judge.id)) for judge in judges)

    def _validated(self, judge: str) -> dict[str, bool]:
        mine = [claim for claim in self.cited if claim.judge == judge]
        failed = {code for claim in mine for code in claim.fails}
        return {code: True for claim in mine if claim.basis == "human" for code in claim.passes if code not in failed}
