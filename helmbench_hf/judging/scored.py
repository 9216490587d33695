"""The scores of a graded run: what `helmbench score` writes, and what `helmbench verify` computes again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.identity import calibration
from helmbench_hf.judging.claims import cite
from helmbench_hf.judging.grade import judge_info
from helmbench_hf.records import Case, Verdict
from helmbench_hf.scoring.run import score
from helmbench_hf.scoring.scores import Scores
from helmbench_hf.tasks.ledger import Panel


def find_scores(
    cases: Sequence[Case],
    verdicts: Sequence[Verdict],
    judges: Sequence[Mapping[str, Any]],
    checks: Mapping[str, Mapping[str, Any]],
    *,
    benchmark: Benchmark,
    draws: int,
    design: str,
    content_sha256: str,
    panel: str,
) -> Scores:
    """Every number of a run. `judges`: rows of `judge.json`; `checks`: what `check.json` holds, by the name that scores cite.

    Raises ScoringError where the verdicts contradict themselves or the plan.
    """
    rows = [dict(row) for row in judges]
    return score(
        cases,
        verdicts,
        benchmark=benchmark,
        judges=tuple(map(judge_info, rows)),
        draws=draws,
        design=design,
        content_sha256=content_sha256,
        rubric=rows[0]["rubric"] if rows else {},
        claims=cite(checks, rows, calibration(benchmark) if checks else None),
        panel=cast("Panel", panel),
    )
