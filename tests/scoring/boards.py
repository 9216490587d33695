"""Scores of several runs on the same cells, as small as a board needs them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from helmbench_hf.records import Verdict
from helmbench_hf.scoring.result import to_json
from tests.scoring.build import answer, engine_failure, scored, twins

PAIRS = [twins("P1-B1-S1", number) for number in range(1, 9)] + [twins("P4-B2-S1", number) for number in range(1, 9)]
"""Eight hidden-tag pairs in each of two behaviors, each its own message."""
CASES = [one for pair in PAIRS for one in pair]
CODES = [pair[0].code for pair in PAIRS]
Json = dict[str, Any]


def run(marks: Sequence[float | None]) -> Json:
    """A run by what each pair is worth: 1 right, 0 nothing tagged, -1 the wrong half tagged; None: the engine failed."""
    verdicts: list[Verdict] = []
    for (a, b), mark in zip(PAIRS, marks, strict=True):
        verdicts += engine_failure(a) if mark is None else answer(a, target=float(mark > 0))
        verdicts += answer(b, target=float(mark is not None and mark < 0))
    found: Json = json.loads(json.dumps(to_json(scored(CASES, verdicts))))
    return found
