"""A run on a few real cases, with an answer to everything."""

from __future__ import annotations

import pytest

from helmbench_hf.grading import exchanges, judging, run
from helmbench_hf.matrix.expand import expand
from helmbench_hf.records import Case
from helmbench_hf.run_folder import RunFolder
from tests.grading import runs
from tests.grading.runs import answer_all, good


@pytest.fixture(scope="session")
def chosen(real) -> list[Case]:
    """A few real cases of every mode, both members, a country and a conversation."""
    picked: dict[tuple[str, str], Case] = {}
    for case in expand(real):
        picked.setdefault((case.scenario, case.member), case)
    return list(picked.values())


@pytest.fixture
def folder(tmp_path, real, chosen, monkeypatch) -> RunFolder:
    """A run on the chosen cases, with an answer to everything."""
    version = real.file.version
    for module in (exchanges, judging, run):
        monkeypatch.setattr(module, "default_benchmark", lambda: real)
    monkeypatch.setattr(exchanges, "load_cases", lambda *_: runs.case_set(chosen, version))
    made = RunFolder(tmp_path / "run")
    made.write_manifest(runs.manifest(runs.identity(version), len(chosen)))
    answer_all(made, chosen, good)
    return made
