"""`generate` and `grade` as real commands over a fake engine: stopped, locked out, on a full or a read-only disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helmbench_hf.runs.journal import Journal, run_lock
from tests.support.checkpoints import tiny_checkpoint
from tests.support.tree import plant
from tests.support.waiting import PATIENCE, until

ROOT = Path(__file__).parents[2]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"vllm:{tiny_checkpoint(tmp_path_factory.mktemp('model') / 'tiny')}"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(plant(tmp_path_factory.mktemp("content") / "authored").root)


@pytest.fixture
def start(content: str) -> Iterator[Start]:
    begun: list[subprocess.Popen[str]] = []

    def begin(*arguments: str | Path, wrap: tuple[str, ...] = (), **environment: str) -> subprocess.Popen[str]:
        command = [*wrap, sys.executable, "-m", "tests.support.fake_cli", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "FAKE_BENCHMARK": content, **environment}
        begun.append(subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True))
        return begun[-1]

    yield begin
    for each in begun:
        each.kill()
        each.communicate()


def answered(folder: Path) -> None:
    """Wait until an answer is in the journal."""
    until(lambda: len(Journal.read(folder)), f"{folder} holds an answer")


def appeared(sign: Path) -> None:
    """Wait until the child has left that sign."""
    until(sign.exists, f"{sign.name} is told")


@pytest.mark.slow
def test_generate_and_grade_are_stopped_and_resume(model: str, start: Start, tmp_path: Path) -> None:
    run = tmp_path / "run"
    generate = ("generate", "--run", run, "--model", model, "--only", "P1-B5,P2")
    grade = ("grade", "--run", run, "--judge", f"{model},mode=fast,id=judge")
    for command, journal in ((generate, run / "completions"), (grade, run / "judgments" / "judge")):
        signs = tmp_path / command[0]
        signs.mkdir()
        loading = start(*command, FAKE_LOAD="3600", FAKE_SIGNS=str(signs))
        appeared(signs / "loading")
        loading.send_signal(signal.SIGTERM)
        assert loading.wait(PATIENCE) == 130, "nobody waits for weights that nobody wants"
        assert not Journal.read(journal)

        slow = start(*command, FAKE_DELAY="1", FAKE_CAPACITY="2")
        answered(journal)
        slow.send_signal(signal.SIGINT if command is generate else signal.SIGTERM)
        _, said = slow.communicate(timeout=PATIENCE)
        assert slow.returncode == 130
        assert "stopped; the answers so far are kept. Run the same command again" in said
        before = Journal.read(journal)
        assert before.passed.count("torn") == 0

        rest = start(*command)
        said = rest.communicate(timeout=PATIENCE)[1]
        assert rest.returncode == 0, said
        after = Journal.read(journal)
        assert f"{len(before)} stored" in said
        assert len(after) > len(before) > 0
        assert {key: after[key] for key in before} == before
        assert (after.passed.count("duplicates"), after.passed.count("torn"), after.passed.count("malformed")) == (0, 0, 0)
    assert json.loads((run / "manifest.json").read_text())["reasoning"]["none"] == len(Journal.read(run / "completions"))


def test_a_second_signal_ends_at_once(model: str, start: Start, tmp_path: Path) -> None:
    """The engine answers once and never again, so that nobody could wait for what is live."""
    run = tmp_path / "run"
    command = ("generate", "--run", run, "--model", model, "--limit", "8")
    process = start(*command, FAKE_STALLS="1", FAKE_CAPACITY="2", FAKE_SIGNS=str(tmp_path))
    answered(run / "completions")
    process.send_signal(signal.SIGINT)
    appeared(tmp_path / "stopping")
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130
    records = Journal.read(run / "completions")
    assert (len(records) > 0, records.passed.count("malformed")) == (True, 0)


def test_two_commands_on_one_folder(model: str, start: Start, tmp_path: Path) -> None:
    with run_lock(tmp_path):
        said = failed(start("generate", "--run", tmp_path, "--model", model, "--limit", "2"))
    assert f"Another run (process {os.getpid()}) is writing to {tmp_path}. Wait for it or stop it" in said


def failed(process: subprocess.Popen[str]) -> str:
    """What a command said that ended with a sentence."""
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, said
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize("where", ["run", "completions"])
def test_what_cannot_be_written_is_said_before_the_model_is_loaded(model: str, where: str, start: Start, tmp_path: Path) -> None:
    run = tmp_path / "run"
    if where == "completions":
        run.mkdir()
    (run if where == "run" else run / "completions").write_text("")  # root may write everywhere, but not into a file
    said = failed(start("generate", "--run", run, "--model", model, "--limit", "2", FAKE_LOAD="600"))
    assert "cannot be written" in said
    assert str(run) in said


def disk(run: Path, options: str, before: str = "true", after: str = "true") -> tuple[str, ...]:
    """A command in a mount namespace of its own, where the run folder is a small disk; skips where that cannot be."""
    mount = f"mount -t tmpfs -o {options} none {run}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount], check=False, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    return ("unshare", "-rm", "sh", "-c", f'{mount} && {before} && "$@"; code=$?; {after}; exit $code', "sh")


def test_a_read_only_disk_is_said_before_the_model_is_loaded(model: str, start: Start, tmp_path: Path) -> None:
    said = failed(start("generate", "--run", tmp_path, "--model", model, wrap=disk(tmp_path, "ro"), FAKE_LOAD="600"))
    assert f"the folder {tmp_path} cannot be written to (Read-only file system); give another run folder" in said


def test_a_full_disk_ends_the_run_with_a_sentence_and_the_rest_follows(model: str, start: Start, tmp_path: Path) -> None:
    run, kept = tmp_path / "run", tmp_path / "kept"
    run.mkdir()
    command = ("--model", model, "--limit", "100")
    wrap = disk(run, "size=48k", after=f"cp -r {run} {kept}")
    said = failed(start("generate", "--run", run, *command, wrap=wrap))
    assert "cannot be written (No space left on device)" in said
    assert "make room" in said
    before = Journal.read(kept / "completions")
    assert len(before) > 0
    assert before.passed.count("malformed") == 0
    rest = start("generate", "--run", kept, *command)
    _, said = rest.communicate(timeout=PATIENCE)
    assert rest.returncode == 0, said
    after = Journal.read(kept / "completions")
    assert {key: after[key] for key in before} == before
    assert f"{len(before)} stored" in said
    assert (len(after) > len(before), after.passed.count("duplicates"), after.passed.count("malformed")) == (True, 0, 0)


def test_a_disk_without_a_byte_left_is_named(model: str, start: Start, tmp_path: Path) -> None:
    """The lock is the first file that a stage writes into; names still fit on such a disk."""
    run = tmp_path / "run"
    run.mkdir()
    wrap = disk(run, "size=8k", before=f"head -c 8192 /dev/zero > {run}/fill")
    said = failed(start("generate", "--run", run, "--model", model, "--limit", "2", wrap=wrap))
    assert f"The folder {run} cannot be written (No space left on device). Make room on its disk, then rerun to resume." in said
