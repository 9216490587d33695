"""A hostile folder: links, odd names, sizes, bombs, and JSON that is none."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from helmbench_hf.board import files
from helmbench_hf.board.files import RejectedError, json_lines, parse_json
from helmbench_hf.board.verify import UnreadableError
from tests.board.made import checked, codes, sign


def link_to(target: str) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        (folder / "scores.json").unlink()
        (folder / "scores.json").symlink_to(target)

    return make


def link_folder(folder: Path) -> None:
    (folder / "judgments").rename(folder.parent / "elsewhere")
    (folder / "judgments").symlink_to(folder.parent / "elsewhere")


def many_files(folder: Path) -> None:
    for number in range(60):
        (folder / "checks" / f"c{number}").mkdir(parents=True)
        (folder / "checks" / f"c{number}" / "labels.jsonl").write_text("")


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (link_to("/etc/passwd"), "files.link"),
        (link_to("manifest.json"), "files.link"),
        (link_to("nowhere"), "files.link"),
        (link_folder, "files.link"),
        (lambda folder: os.mkfifo(folder / "fifo"), "files.kind"),
        (lambda folder: (folder / "checks" / "a" / "deeper").mkdir(parents=True), "files.kind"),
        (lambda folder: (folder / "data").mkdir(), "files.kind"),
        (lambda folder: (folder / "run.sh").write_text("#!"), "files.unknown"),
        (lambda folder: (folder / "model.pkl").write_bytes(b"\x80\x04."), "files.unknown"),
        (lambda folder: (folder / "a\x1b]0;b\x07").write_text(""), "files.unknown"),
        (lambda folder: (folder / "judgments" / "judge-b.jsonl").write_bytes(b""), "files.unknown"),
        (lambda folder: (folder / "scores.json").unlink(), "files.missing"),
        (lambda folder: (folder / "manifest.json").unlink(), "files.missing"),
        (lambda folder: (folder / "manifest.json").write_bytes(b" " * (1 << 20) + b"{}"), "files.size"),
        (many_files, "files.many"),
        (lambda folder: (folder / "verdicts.jsonl").write_bytes(gzip.compress(b"{}")), "files.hash"),
        (lambda folder: (folder / "completions" / "00002-more.jsonl").write_bytes(b""), "files.unknown"),
        (lambda folder: (folder / "scores.json").write_text("{}"), "files.hash"),
    ],
)
def test_a_hostile_folder(copy: Path, damage: Callable[[Path], object], code: str) -> None:
    damage(copy)
    report = checked(copy)
    assert codes(report) == {code}
    assert all(reason.said.isascii() and reason.said.isprintable() for reason in report.reasons)


def test_a_link_to_a_submission_and_a_folder_that_is_none(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(copy)
    assert codes(checked(tmp_path / "link")) == {"files.link"}
    with pytest.raises(UnreadableError):
        checked(tmp_path / "nothing")
    with pytest.raises(UnreadableError):
        checked(copy / "scores.json")


ROW = b'{"a": 1}\n'


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (ROW[:-1], "rows.cut"),
        (b" " * (5 << 20) + b"\n", "rows.long"),
        (ROW * 2000, "rows.many"),
    ],
    ids=itertools.count(),
)
def test_hostile_rows(content: bytes, code: str) -> None:
    with pytest.raises(RejectedError) as refused:
        list(json_lines(content, "rows", 1000))
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (ROW, "rows.shape"),
        (b"{\n", "json.syntax"),
        (b"\n", "json.syntax"),
        (b'"\xff"\n', "json.encoding"),
        (b'{"row": 1, "sha": "x", "v": 1}\n', "rows.shape"),
        (b'{"v":1,"row":' + b"[" * 3000 + b"]" * 3000 + b"}\n", "json.deep"),
    ],
    ids=itertools.count(),
)
def test_a_hostile_journal(copy: Path, content: bytes, code: str) -> None:
    (copy / files.COMPLETIONS).write_bytes(content)
    assert codes(checked(sign(copy))) == {code}


def test_a_wrong_checksum(copy: Path) -> None:
    path = copy / files.COMPLETIONS
    path.write_bytes(path.read_bytes().replace(b'"attempt":1', b'"attempt":2', 1))
    assert codes(checked(sign(copy))) == {"rows.shape"}


def test_all_files_together_have_a_limit(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 100_000)
    assert codes(checked(copy)) == {"files.size"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b'{"a": NaN}', "json.number"),
        (b'{"a": -Infinity}', "json.number"),
        (b'{"a": 1e999}', "json.number"),
        (b'{"a": 123456789012345678901234567890}', "json.number"),
        (b'{"a": ' + b"9" * 5000 + b"}", "json.number"),
        (b'{"a": 9007199254740994}', "json.number"),
        (b'{"a": 1, "a": 2}', "json.twice"),
        (b'{"b": {"a": 1, "\\u0061": 2}}', "json.twice"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "json.deep"),
        (b"[" * 100_000, "json.deep"),
        (b'{"a": 1}{', "json.syntax"),
        (b"\xef\xbb\xbf{}", "json.syntax"),
        (b"'a'", "json.syntax"),
        (b'"\xc3"', "json.encoding"),
        (b'{"a": 01}', "json.syntax"),
    ],
)
def test_hostile_json(text: bytes, code: str) -> None:
    with pytest.raises(RejectedError) as refused:
        parse_json(text, "file")
    assert refused.value.code == code


def test_random_bytes_are_json_or_rejected() -> None:
    dice = random.Random(5)
    for _ in range(2000):
        text = bytes(dice.choice(b'{}[]",:0123456789.eE-+truefalsn\\u \xff') for _ in range(dice.randrange(40)))
        try:
            found = parse_json(text, "file")
        except RejectedError:
            continue
        assert json.loads(text) == found
