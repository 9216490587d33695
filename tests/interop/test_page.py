"""The examples on the page run."""

from __future__ import annotations

from pathlib import Path

import pytest

from helmbench_hf.interop.replies import FIGURES
from tests.docs.pages import DOCS, fences


def test_the_first_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    examples = fences((DOCS / "interop.md").read_text(encoding="utf-8"), "python")
    [body] = [body for title, body in examples if not title]
    exec(compile(body, "interop.md", "exec"), {})
    assert "'answers': " in capsys.readouterr().out
    assert (tmp_path / "runs" / "function" / "scores.json").is_file()


def test_every_figure_is_on_the_page() -> None:
    page = (DOCS / "interop.md").read_text(encoding="utf-8")
    assert [name for name in FIGURES if f"`{name}`" not in page] == []
