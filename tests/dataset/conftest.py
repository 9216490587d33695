"""One build of the tiny benchmark, and one of this checkout, for all tests that only read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.build import Built, build


@pytest.fixture(scope="session")
def built(tiny: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Built]:
    folder = tmp_path_factory.mktemp("dataset") / "tiny"
    return folder, build(tiny, folder)


@pytest.fixture(scope="session")
def real_built(real: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Built]:
    folder = tmp_path_factory.mktemp("dataset") / "real"
    return folder, build(real, folder)
