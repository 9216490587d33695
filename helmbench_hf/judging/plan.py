"""What judging a run will ask, before any weights load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from helmbench_hf.content.load import Benchmark
from helmbench_hf.judging import rubric
from helmbench_hf.judging.judge import criteria_of
from helmbench_hf.records import Case
from helmbench_hf.runs.plan import PREFILL_SPEED, longest_lines
from helmbench_hf.tasks.answers import Answer


def judging_figures(
    cases: Sequence[Case],
    benchmark: Benchmark,
    count: Callable[[str], int],
    *,
    draws: int,
    orders: int,
    tokens_per_second: float | None,
) -> dict[str, Any]:
    """Upper bounds for one judge in fast mode: every reply is usable and as long as it may be.

    `count` gives the tokens of a text, 0 where a server counts; the few of the judge's chat template are left out. The criteria
    of one reply share all that stands before them, which a prefix cache reads once. `orders`: letter orders that are asked, 1
    or 2. `tokens_per_second`: output speed of the judge, None where it is not known.
    """
    count = cache(count)
    calls = tokens = fresh = 0
    for case in cases:
        told = replace(case, turns=longest_lines(case))
        for turn in case.grading.turns:
            asked = [benchmark.criteria[code] for code in criteria_of(case, turn) if code in benchmark.criteria]
            empty = rubric.Exchange(told, turn, 0, Answer("scored"), ("",) * (turn - 1), "")
            before = count(rubric.RULES) + count(rubric.material(empty)) + turn * case.max_tokens
            behind = sum(count(rubric.question(each, rubric.verdicts(each), rubric.limits(case, each))) for each in asked)
            calls += orders * len(asked)
            tokens += orders * (len(asked) * before + behind)
            fresh += bool(asked) * before + orders * behind
    counted = {
        "prompt tokens, at most": tokens * draws,
        "prompt tokens that no cache holds, at most": fresh * draws,
        "seconds, at most": (fresh / PREFILL_SPEED + calls) * draws / tokens_per_second if tokens_per_second else None,
    }
    return {"calls, at most": calls * draws, **(counted if count(rubric.RULES) else dict.fromkeys(counted))}
