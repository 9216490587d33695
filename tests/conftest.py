"""Fixtures that several stages share: the tiny authored benchmark and the real one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from helmbench_hf.content.load import Benchmark, default_benchmark, load_benchmark
from helmbench_hf.dataset.design import designs
from helmbench_hf.records import Case
from helmbench_hf.tasks.expand import expand
from tests.support.dates import newest_date
from tests.support.hub import Hub
from tests.support.tree import Tree, plant

settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("searching", settings.get_profile("steady"), derandomize=False)
settings.load_profile("steady")  # the same examples each time: the same code passes or fails


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A fresh copy of the tiny benchmark, to be damaged."""
    return plant(tmp_path / "authored")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """The tiny benchmark, read."""
    return load_benchmark(plant(tmp_path_factory.mktemp("tiny")).root)


@pytest.fixture(scope="session")
def tiny_cases(tiny: Benchmark) -> list[Case]:
    """Every case of the tiny benchmark."""
    return expand(tiny)


@pytest.fixture(scope="session")
def real() -> Benchmark:
    """The benchmark of this checkout."""
    return default_benchmark()


@pytest.fixture(scope="session")
def real_designs(real: Benchmark) -> dict[str, list[Case]]:
    """The cases of every design of the benchmark."""
    return designs(real, expand(real))


@pytest.fixture(scope="session")
def real_day(real: Benchmark) -> dt.date:
    """The day that the real content is held against, whatever day it is."""
    return newest_date(real)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A Hub on the loopback, empty; what this process fetches lands in a cache of its own."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    with Hub() as running:
        yield running
