"""A hostile folder: links, odd names, sizes, bombs, and JSON that is none."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from helmbench_hf.leaderboard import files
from helmbench_hf.leaderboard.files import RejectedError, json_lines, parse_json
from helmbench_hf.leaderboard.verify import UnreadableError
from tests.leaderboard.made import checked, codes, sign


def link_to(target: str) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        (folder / "scores.json").unlink()
        (folder / "scores.json").symlink_to(target)

    return make


def link_folder(folder: Path) -> None:
    (folder / "judgments").rename(folder.parent / "elsewhere")
    (folder / "judgments").symlink_to(folder.parent / "elsewhere")


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (link_to("/etc/passwd"), "files.link"),
        (link_to("manifest.json"), "files.link"),
        (link_to("nowhere"), "files.link"),
        (link_folder, "files.link"),
        (lambda folder: os.mkfifo(folder / "fifo"), "files.kind"),
        (lambda folder: (folder / "checks" / "deeper").mkdir(parents=True), "files.kind"),
        (lambda folder: (folder / "data").mkdir(), "files.kind"),
        (lambda folder: (folder / "run.sh").write_text("#!"), "files.unknown"),
        (lambda folder: (folder / "model.pkl").write_bytes(b"\x80\x04."), "files.unknown"),
        (lambda folder: (folder / "a\x1b]0;b\x07").write_text(""), "files.unknown"),
        (lambda folder: (folder / "judgments" / "judge-b.jsonl.gz").write_bytes(gzip.compress(b"")), "files.unknown"),
        (lambda folder: (folder / "scores.json").unlink(), "files.missing"),
        (lambda folder: (folder / "manifest.json").unlink(), "files.missing"),
        (lambda folder: (folder / "manifest.json").write_bytes(b" " * (1 << 20) + b"{}"), "files.size"),
        (lambda folder: [(folder / "judgments" / f"j{n}.jsonl.gz").write_bytes(b"") for n in range(40)], "files.many"),
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
        (b"no gzip", "files.packed"),
        (b"", "files.packed"),
        (gzip.compress(ROW)[:-4], "files.packed"),
        (gzip.compress(ROW) + gzip.compress(ROW), "files.packed"),
        (gzip.compress(ROW) + b"\x00", "files.packed"),
        (gzip.compress(ROW[:-1]), "files.packed"),
        (gzip.compress(b" " * (5 << 20) + b"\n"), "rows.long"),
        (gzip.compress(b" " * (4 << 20) + b"1\n"), "rows.long"),
        (gzip.compress(ROW * 2000), "rows.many"),
        (gzip.compress(b"{\n"), "json.syntax"),
        (gzip.compress(b"\n"), "json.syntax"),
        (gzip.compress(b'"\xff"\n'), "json.encoding"),
    ],
    ids=itertools.count(),
)
def test_a_hostile_archive(copy: Path, content: bytes, code: str) -> None:
    with pytest.raises(RejectedError) as refused:
        list(json_lines(content, "rows", 1000))
    assert refused.value.code == code
    (copy / "completions.jsonl.gz").write_bytes(content)
    assert not checked(sign(copy)).accepted


def test_a_bomb_is_put_down_early() -> None:
    packer = zlib.compressobj(9, wbits=31)
    piece = b"[" + b" " * 1022 + b"\n"
    bomb = b"".join(packer.compress(piece * 1024) for _ in range(300)) + packer.flush()
    assert len(bomb) < files.MOST_UNPACKED // 100
    with pytest.raises(RejectedError) as refused:
        for _ in files._lines(bomb, "bomb"):
            pass
    assert refused.value.code == "files.bomb"


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
        (b"[" * 100 + b"]" * 100, "json.deep"),
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


def test_rows_are_read_one_at_a_time() -> None:
    assert list(json_lines(gzip.compress(b'{"a": 1}\n[2]\n'), "rows", 2)) == [{"a": 1}, [2]]
    assert list(json_lines(gzip.compress(b""), "rows", 0)) == []
