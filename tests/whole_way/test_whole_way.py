"""The script that walks the whole way, here with a random model; `make whole-way` takes SmolLM2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkpoints import tiny_checkpoint
from tests.support.hub import CHECKOUT, OWNER, TOKENS, Hub
from tests.whole_way.forgeries import FORGERIES
from tests.whole_way.way import StepError, Way

pytestmark = pytest.mark.slow

LEARN = [path.read_text(encoding="utf-8") for path in sorted((CHECKOUT / "docs").glob("*.md"))]


def walk(*options: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.whole_way", *options],
        cwd=CHECKOUT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def assert_whole(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("✓") == 14, done.stdout
    said = [line for line in done.stdout.splitlines() if line.startswith(" " * 13)]
    assert len(said) == len(FORGERIES)


def test_a_random_model_goes_the_whole_way(tmp_path: Path) -> None:
    """Its answers end and its judge names letters, so that every file of a submission holds something."""
    model = tiny_checkpoint(tmp_path / "random", learn=LEARN, prefers={"</s>": 4.6, '"': 4.6})
    wants = {"ĠA": 12} | {f"Ġ{letter}": 9 for letter in "BCDE"}
    judge = tiny_checkpoint(tmp_path / "random-judge", learn=LEARN, prefers=wants)
    sampled = ("--set", "temperature=1", "--set", "seed=1")
    # the threads of such a small model only wait for each other, above all beside other tests
    assert_whole(walk("--model", f"transformers:{model}", "--judge", f"transformers:{judge}", *sampled, OMP_NUM_THREADS="1"))


def test_a_command_that_fails_is_told_with_its_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Hub() as hub:
        way = Way(hub, tmp_path, ["--model", "vllm:nothing"], [])
        with pytest.raises(StepError) as failed, way.step("a step"):
            way.type(OWNER, "git", "nonsense")
    assert str(failed.value).startswith("a step: exit code 1\n$ git nonsense\n")
    assert "'nonsense' is not a git command" in str(failed.value)
    assert capsys.readouterr().out.startswith("✗")
    assert TOKENS[OWNER] not in str(failed.value)
