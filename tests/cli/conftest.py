"""Fixtures of the command line's tests."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from helmbench_hf import evaluate, load_cases
from helmbench_hf.dataset.load import CaseSet
from tests.support.checkpoints import smollm2

__all__ = ["smollm2"]


def some(scenario: str, most: int) -> CaseSet:
    """The first cases of a scenario in `smoke`."""
    loaded = load_cases("smoke")
    return dataclasses.replace(loaded, cases=tuple(case for case in loaded.cases if case.scenario == scenario)[:most])


@pytest.fixture(scope="session")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scored run of a function that says nothing; not to be changed."""
    run = tmp_path_factory.mktemp("runs") / "run"
    evaluate(lambda messages: "", some("P1-B5-S2", 2), run=run, name="silent")
    return run


@pytest.fixture
def run(silent: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(silent, tmp_path / "run"))
