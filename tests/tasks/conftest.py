"""The rules of the matrix hold for the tiny benchmark and for the real one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from helmbench_hf.content.load import TAXONOMY, Benchmark, Loaded
from helmbench_hf.dataset.design import designs
from helmbench_hf.records import Case
from helmbench_hf.tasks.expand import expand


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
        behavior, _, number = loaded.scenario.code.rpartition("-S")
        code = f"{behavior}-S{int(number) + 50}" if opened else loaded.scenario.code
        return [case for case in design if case.scenario == code]

    def scenarios(self) -> list[Loaded]:
        """All but the crisis taxonomy, which is a design of its own."""
        return [loaded for loaded in self.benchmark.scenarios if loaded.source != TAXONOMY]

    def hidden(self) -> list[Loaded]:
        return [loaded for loaded in self.benchmark.scenarios if loaded.scenario.mode == "hidden_tag"]

    def plain(self, mode: str) -> list[Loaded]:
        """Scenarios of a mode whose messages are crossed with users and conditions by the general rule."""
        found = []
        for loaded in self.scenarios():
            scenario = loaded.scenario
            special = scenario.noise or scenario.by_history or scenario.notes_decide or scenario.appraisal
            lone = not loaded.pairs or any(pair.user for pair in loaded.pairs)
            if scenario.mode == mode and not (special or lone or scenario.resources):
                found.append(loaded)
        return found


@pytest.fixture(scope="session", params=["tiny", "real"])
def matrix(request: pytest.FixtureRequest) -> Matrix:
    benchmark: Benchmark = request.getfixturevalue(request.param)
    full = expand(benchmark)
    by_design = designs(benchmark, full)
    return Matrix(benchmark, full, by_design["core"], by_design["smoke"])
