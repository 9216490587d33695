"""A short run of the coverage benchmark: intervals hold the truth about as often as they say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from helmbench_hf.content.load import Benchmark


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_intervals_cover(simulation: ModuleType, real: Benchmark) -> None:
    own, slots = simulation._slice(real)
    found = simulation.coverage(own, slots, 1.0, 300, 11, new=False)
    assert 0.91 <= found.overall <= 0.99
    assert 0.92 <= found.means()[2] <= 0.98
