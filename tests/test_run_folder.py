"""What a run writes beside its journals: whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import pytest

from helmbench_hf import run_folder
from helmbench_hf.run_folder import RunError, RunFolder, replacing, write_json


@pytest.mark.parametrize("number", [28, 30])
def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path)
    folder.write_manifest({"started": "then"})

    def failing(file: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(run_folder.os, "fsync", failing)
    with pytest.raises(RunError, match=rf"manifest.json cannot be written \({os.strerror(number)}\).*make room"):
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


def test_a_file_in_place_of_the_folder_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        write_json(tmp_path / "file" / "manifest.json", {})


def test_a_lone_surrogate_is_written_as_its_escape(tmp_path: Path) -> None:
    write_json(tmp_path / "file.json", {"text": "a \ud800 b"})
    assert json.loads((tmp_path / "file.json").read_text(encoding="utf-8")) == {"text": "a \ud800 b"}
