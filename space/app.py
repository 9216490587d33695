"""The board as a Space: `helmbench leaderboard` on the results repository that the variable RESULTS names."""

from __future__ import annotations

import os

from helmbench_hf.cli.board import open_board
from helmbench_hf.leaderboard.app import serve

RESULTS = os.environ.get("RESULTS", "helmbench/results")


def main() -> None:
    """Verify what is new, then serve where the Space's environment says."""
    test = os.environ.get("TEST_BOARD") == "1"
    data, reports = open_board(RESULTS, os.environ.get("RESULTS_REVISION"), test=test)
    serve(data, reports.page, reports.index, host=None)


if __name__ == "__main__":
    main()
