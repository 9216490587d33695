"""A finished run on `smoke` through the real pipeline, its engines fakes: that of the leaderboard's tests."""

from tests.leaderboard.conftest import checkpoint, run, submission

__all__ = ["checkpoint", "run", "submission"]
