"""Completions that stay on disk are those that were written, and nobody may change the file underneath."""

from __future__ import annotations

from pathlib import Path

import pytest

from helmbench_hf.inference.journal import Journal, JournalError
from helmbench_hf.records import Completion


def written(folder: Path, *rows: Completion) -> Path:
    with Journal.open(folder, "w") as journal:
        for row in rows:
            journal.append(row)
        assert dict(journal.written) == {row.key: row for row in rows}, "the writer finds what it has written"
    return journal.path


def test_a_line_longer_than_one_look_is_read_whole(tmp_path: Path) -> None:
    rows = [Completion(name, name, "ok", text * 3000) for name, text in (("a", "long "), ("b", "x"), ("c", "é\n"))]
    path = written(tmp_path, *rows)
    stored = Journal.read(tmp_path)
    assert [stored[row.key] for row in rows] == rows
    assert {stored.file(key) for key in stored} == {path}


def test_answers_and_failures_together(tmp_path: Path) -> None:
    rows = [Completion("a", "a", "ok"), Completion("b", "b", "engine_error")]
    written(tmp_path, *rows)
    stored = Journal.read(tmp_path)
    assert (list(stored), list(stored.failures)) == (["a"], ["b"])
    assert dict(stored.everything()) == {row.key: row for row in rows}


def test_a_journal_that_was_rewritten_is_a_sentence(tmp_path: Path) -> None:
    path = written(tmp_path, Completion("a", "a", "ok", "as it was"))
    stored = Journal.read(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"as it was", b"otherwise"))
    with pytest.raises(JournalError, match="has changed since it was read"):
        stored["a"]
