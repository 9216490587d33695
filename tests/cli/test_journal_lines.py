"""Torn, damaged, repeated and differing lines of a journal are said in one sentence, with file and line."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

from helmbench_hf.runs.journal import Journal, line_of, row_of
from tests.support.checkpoints import tiny_checkpoint
from tests.support.commands import helmbench
from tests.support.tree import plant

ROOT = Path(__file__).parents[2]


def spoil(folder: Path) -> str:
    """Append to a journal what kills, broken disks and two writers leave behind; give the sentence that must be said."""
    [path] = folder.glob("*.jsonl")
    first = next(iter(Journal.read(folder).values()))
    lines = path.read_bytes().count(b"\n")
    again, other = line_of(row_of(first)), line_of(row_of(dataclasses.replace(first, text="another text")))
    path.write_bytes(path.read_bytes() + again + b"{damaged}\n" + other + again[:40])
    where = [f"{path}, line {lines + number}" for number in range(1, 5)]
    return (
        f"1 cut short ({where[3]}), 1 damaged ({where[1]}), 2 with an answer that was there already ({where[0]}; {where[2]}), "
        f"1 of these with another text ({where[2]}). The first answer stands"
    )


def command(content: Path, *arguments: str | Path) -> str:
    """What a command of the fake line says."""
    given = [sys.executable, "-m", "tests.support.fake_cli", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "FAKE_BENCHMARK": str(content)}
    done = subprocess.run(given, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_generate_and_grade_say_what_they_passed_over(tmp_path: Path) -> None:
    model, content, run = f"vllm:{tiny_checkpoint(tmp_path / 'tiny')}", plant(tmp_path / "authored").root, tmp_path / "run"
    generate = ("generate", "--run", run, "--model", model, "--only", "P1-B5-S1")
    grade = ("grade", "--run", run, "--judge", f"{model},mode=fast,id=judge")
    for words, folder in ((generate, run / "completions"), (grade, run / "judgments" / "judge")):
        assert "passed over" not in command(content, *words)
        sentence = spoil(folder)
        assert command(content, *words).count(sentence) == 1
        if words is generate:
            assert sentence in command(content, *grade), "the judge's stage reads the answers too"
            [path] = folder.glob("*.jsonl")
            path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-4]))


def test_score_says_what_it_passed_over(run: Path) -> None:
    assert "passed over" not in helmbench("score", "--run", run).stderr
    sentence = spoil(run / "completions")
    assert helmbench("score", "--run", run).stderr.count(sentence) == 1


def test_many_lines_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    (tmp_path / "00001-a.jsonl").write_bytes(b"{}\n" * 9)
    said = str(Journal.read(tmp_path).passed)
    assert "9 damaged" in said
    assert said.count(", line ") == 3
    assert "and 6 others" in said
