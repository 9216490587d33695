"""The examples run as they stand, without the network, and the notebook is kept without outputs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.waiting import PATIENCE

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOK = EXAMPLES / "first_look.ipynb"


def test_the_notebook_is_kept_without_outputs() -> None:
    cells = [cell for cell in nbformat.read(NOTEBOOK, 4).cells if cell.cell_type == "code"]
    assert cells
    assert [cell.id for cell in cells if cell.outputs or cell.execution_count] == []


@pytest.mark.slow
def test_the_script_prints_scores(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    command = [sys.executable, str(EXAMPLES / "ten_lines.py")]
    said = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert "P1-B1-S1 +0.00 Notes and handovers" in said, "one canned reply earns nothing"
    assert "No judge graded this run" in said


@pytest.mark.slow
def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES.parent))
    notebook = nbformat.read(NOTEBOOK, 4)
    NotebookClient(notebook, timeout=PATIENCE, resources={"metadata": {"path": str(EXAMPLES)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    said = "".join(output.get("text", "") for output in outputs)
    assert "always     0 of 100" in said
    assert "severity -8" in said
    assert any("image/png" in output.get("data", {}) for output in outputs)
