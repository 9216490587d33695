"""A finished run on `smoke` through the real pipeline, its engines fakes: that of the leaderboard's tests."""

import copy

import pytest

from helmbench_hf.leaderboard.submission import Submission
from tests.leaderboard.conftest import checkpoint, run, submission

__all__ = ["checkpoint", "run", "submission"]


@pytest.fixture
def whole(submission: Submission) -> Submission:
    """As if enough had been scored for the composite and every pillar; behaviors keep what smoke gives them."""
    scores = copy.deepcopy(dict(submission.scores))
    for place, group in enumerate([scores["headline"]["overall"], *scores["pillars"]]):
        group["score"] |= {"value": 0.41257 - 0.15 * place, "low": -0.2, "high": 0.61, "se": 0.2}
    scores["headline"]["printed"] = 41.257
    return Submission(submission.manifest, submission.content, scores)
