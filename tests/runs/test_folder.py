"""What a run writes beside its journals: the old file or the new one, never a part."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.runs import folder as run_folder
from helmbench_hf.runs.folder import RunError, RunFolder, replacing, write_json
from tests.judging import runs


@pytest.mark.parametrize("number", [28, 30])
def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path)
    folder.write_manifest({"started": "then"})

    def failing(file: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(run_folder.os, "fsync", failing)
    with pytest.raises(RunError, match=rf"manifest.json cannot be written \({os.strerror(number)}\).*free up space"):
        folder.write_manifest({"started": "now"})
    assert json.loads((tmp_path / "manifest.json").read_text())["started"] == "then"
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_a_writer_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_text("old")
    with contextlib.suppress(ZeroDivisionError), replacing(path) as file:
        file.write("new")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(RunError, match="cannot be written"):
        write_json(path / "manifest.json", {})


def test_a_lone_surrogate_is_written_as_its_escape(tmp_path: Path) -> None:
    write_json(tmp_path / "file.json", {"text": "a \ud800 b"})
    assert json.loads((tmp_path / "file.json").read_text(encoding="utf-8")) == {"text": "a \ud800 b"}


def test_a_manifest_is_read_and_written_as_it_stands(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    written: dict[str, Any] = {**runs.manifest(runs.identity("1.0.0"), 3), "people": {"study": "s"}}
    folder.write_manifest(written)
    read = folder.manifest()
    assert (read.dataset.version, read.selection.cases, read.settings.draws, read.key) == ("1.0.0", 3, 1, None)
    assert read.to_json() == {"format": 1, **written}
    folder.write_manifest(read)
    assert folder.manifest() == read


@pytest.mark.parametrize(("text", "said"), [("", "cannot be read"), ('{"format": 99}', "update helmbench")])
def test_a_manifest_of_another_format_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(RunError, match=said):
        RunFolder(tmp_path).manifest()
