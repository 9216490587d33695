"""One finished run and its submission, made once; every test damages a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from helmbench_hf.leaderboard.submission import Submission, prepare
from tests.leaderboard import made
from tests.support.checkpoints import tiny_checkpoint


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory, checkpoint: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        return made.run(tmp_path_factory.mktemp("runs") / "run", checkpoint, patch)


@pytest.fixture(scope="session")
def submission(run: Path) -> Submission:
    return prepare(run, submitter="Ann Example", text="The first of its kind.\nWe liked it.", now=1.8e9)


@pytest.fixture(scope="session")
def original(submission: Submission, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return submission.write(tmp_path_factory.mktemp("results"))


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    """The submission in a place of its own."""
    return Path(shutil.copytree(original, tmp_path / "submissions" / original.parent.name / original.name))
