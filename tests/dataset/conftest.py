"""One build of the tiny benchmark for all tests that only read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.build import Built, build


@pytest.fixture(scope="session")
def built(tiny: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Built]:
    folder = tmp_path_factory.mktemp("dataset") / "tiny"
    return folder, build(tiny, folder)
