"""Fixtures of the command line's tests."""

from __future__ import annotations

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.records import Case
from helmbench_hf.tasks.expand import expand
from tests.support.checkpoints import smollm2

__all__ = ["smollm2"]


@pytest.fixture(scope="session")
def real_case(real: Benchmark) -> Case:
    """One hidden-tag case under the explicit safety text."""
    return next(case for case in expand(real) if case.code == "P1-B1-S1-C4-U11-PT4")
