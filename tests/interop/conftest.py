"""A finished run on `smoke` through the real pipeline, its engines fakes: that of the board's tests."""

from dataclasses import replace
from typing import Any

import pytest

from helmbench_hf.board.submission import Submission
from helmbench_hf.scoring.scores import from_json, to_json
from tests.board.conftest import checkpoint, run, submission

__all__ = ["checkpoint", "rescored", "run", "submission"]


def rescored(made: Submission, change: Any) -> Submission:
    """The same run with other scores: `change` edits their plain JSON."""
    scores = to_json(made.scores)
    change(scores)
    return replace(made, scores=from_json(scores))


@pytest.fixture
def whole(submission: Submission) -> Submission:
    """As if enough had been scored for the composite and every pillar; behaviors keep what smoke gives them."""

    def enough(scores: dict[str, Any]) -> None:
        for place, group in enumerate([scores["headline"]["overall"], *scores["pillars"]]):
            group["score"] |= {"value": 0.41257 - 0.15 * place, "low": -0.2, "high": 0.61, "se": 0.2}
        scores["headline"]["printed"] = 41.257

    return rescored(submission, enough)
