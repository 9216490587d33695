"""One finished run and its submission, made once; every test damages a copy."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from helmbench_hf.board import checks
from helmbench_hf.board.submission import Submission, prepare
from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.identity import Part
from helmbench_hf.judging import claims, labels, scored
from tests.board import made
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
    return prepare(run, submitter="Ann Example", text="The first of its kind.\nWe liked it.")


@pytest.fixture(scope="session")
def original(submission: Submission, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return submission.write(tmp_path_factory.mktemp("results"))


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    """The submission in a place of its own."""
    return Path(shutil.copytree(original, tmp_path / "submissions" / original.parent.name / original.name))


@pytest.fixture(scope="package", autouse=True)
def quick_calibration(real: Benchmark) -> Iterator[None]:
    """The calibration set is named without being hashed, and its labels are read once: each expands the whole matrix."""
    every = functools.cache(partial(labels.labels, real))
    part = Part(real.file.calibration_version, "0" * 64)
    with pytest.MonkeyPatch.context() as patch:
        for module in (checks, claims, scored):
            patch.setattr(module, "calibration", lambda _: part)
        patch.setattr(labels, "labels", lambda _: every())
        yield
