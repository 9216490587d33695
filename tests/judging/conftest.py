"""A run on a few cases of the tiny benchmark, with an answer to everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.records import Case
from helmbench_hf.runs.folder import RunFolder
from tests.judging import runs


@pytest.fixture(scope="session")
def chosen(tiny_cases: list[Case]) -> list[Case]:
    """A few cases of every mode, both members, a country and a conversation."""
    picked: dict[tuple[str, str], Case] = {}
    for case in tiny_cases:
        picked.setdefault((case.scenario, case.member), case)
    return list(picked.values())


@pytest.fixture
def folder(tmp_path: Path, tiny: Benchmark, chosen: list[Case], monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run on the chosen cases."""
    runs.put(monkeypatch, tiny, chosen)
    made = RunFolder(tmp_path / "run")
    made.write_manifest(runs.manifest(runs.identity(tiny.file.version), len(chosen)))
    runs.answer_all(made, chosen, runs.good)
    return made
