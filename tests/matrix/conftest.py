"""The rules of the matrix hold for the tiny benchmark and for the real one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from helmbench_hf.content.load import Benchmark, Loaded
from helmbench_hf.matrix.design import designs
from helmbench_hf.matrix.expand import expand
from helmbench_hf.records import Case


@dataclass(frozen=True)
class Matrix:
    """A benchmark with its cases."""

    benchmark: Benchmark
    full: list[Case]
    core: list[Case]
    smoke: list[Case]

    @property
    def by_code(self) -> dict[str, Case]:
        return {case.code: case for case in self.full}

    def of(self, loaded: Loaded, design: list[Case], *, opened: bool = False) -> list[Case]:
        """The cases of one scenario in a design, or those of its open twin."""
        return [
            case
            for case in design
            if case.meaning.startswith(f"{loaded.scenario.code}/") and (case.mode == "open_twin") == opened
        ]

    def hidden(self) -> list[Loaded]:
        return [loaded for loaded in self.benchmark.scenarios if loaded.scenario.mode == "hidden_tag"]


@pytest.fixture(scope="session", params=["tiny", "real"])
def matrix(request: pytest.FixtureRequest) -> Matrix:
    benchmark: Benchmark = request.getfixturevalue(request.param)
    full = expand(benchmark)
    by_design = designs(benchmark, full)
    return Matrix(benchmark, full, by_design["core"], by_design["smoke"])
