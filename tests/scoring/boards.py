"""Scores of several runs on the same cells, as small as a board needs them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from helmbench_hf.records import Verdict
from helmbench_hf.scoring.result import to_json
from tests.scoring.build import answer, engine_failure, scored, twins

LINES = tuple([twins(scenario, number) for number in range(1, 13)] for scenario in ("P1-B1-S1", "P4-B2-S1"))
"""Twelve hidden-tag pairs in each of two behaviors, each its own message."""
CODES = [pair[0].code for line in LINES for pair in line[:8]]
"""Of the first eight of each."""
Json = dict[str, Any]
LEAST = 0.09
"""Coverage of nine tenths: the two behaviors carry a tenth of the benchmark, P1-B1 with one of its two scenarios."""


def run(marks: Sequence[float | None]) -> Json:
    """A run by what each pair is worth: 1 right, 0 nothing tagged, -1 the wrong half tagged; None: the engine failed.

    The first half of the marks is for the first behavior, the second half for the second.
    """
    pairs = [pair for line in LINES for pair in line[: len(marks) // 2]]
    verdicts: list[Verdict] = []
    for (a, b), mark in zip(pairs, marks, strict=True):
        verdicts += engine_failure(a) if mark is None else answer(a, target=float(mark > 0))
        verdicts += answer(b, target=float(mark is not None and mark < 0))
    cases = [one for pair in pairs for one in pair]
    found: Json = json.loads(json.dumps(to_json(scored(cases, verdicts, minimum_coverage=LEAST))))
    return found
