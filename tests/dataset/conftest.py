"""One build of the tiny benchmark for all tests that only read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.build import Built, build
from helmbench_hf.dataset.load import CaseSet, load_cases


@pytest.fixture(scope="session")
def built(tiny: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Built]:
    folder = tmp_path_factory.mktemp("dataset") / "tiny"
    return folder, build(tiny, folder)


@pytest.fixture(scope="session")
def real_built(real: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Built]:
    """The dataset of this checkout."""
    folder = tmp_path_factory.mktemp("dataset") / "real"
    return folder, build(real, folder)


@pytest.fixture(scope="session")
def real_embedded() -> dict[str, CaseSet]:
    """What this checkout carries, without a folder."""
    return {design: load_cases(design) for design in ("core", "full", "smoke", "taxonomy")}
