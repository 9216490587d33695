"""A run of one's own, held against its own rows before anybody else sees a number of it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from helmbench_hf.grading.exchanges import run_dataset
from helmbench_hf.leaderboard.files import RejectedError
from helmbench_hf.leaderboard.submission import Submission, prepare
from helmbench_hf.leaderboard.verify import verify
from helmbench_hf.run_folder import RunError, RunFolder


def check_own(run: Path, made: Submission) -> None:
    """Verify as the board would, on the dataset of the run. Raises RunError with the reasons where it is not accepted."""
    folder = RunFolder(run)
    with tempfile.TemporaryDirectory(prefix="helmbench-") as scratch:
        report = verify(made.write(Path(scratch)), lambda design: run_dataset(folder.manifest(), folder))
    if not report.accepted:
        raise RunError(f"this run would be rejected:\n{report.summary()}")


def verified(run: Path, checks: Sequence[Path] = (), panel: str = "first") -> Submission:
    """What a finished run amounts to, verified. RunError for a run that is no model's, not whole, or not as its rows say."""
    try:
        made = prepare(run, checks=checks, panel=panel)
    except RejectedError as error:
        raise RunError(f"{error.said} ({error.code})") from error
    check_own(run, made)
    return made
