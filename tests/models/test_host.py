"""Real processes and real kills. A run is known by a mark in its environment, which all its descendants inherit."""

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from helmbench_hf.models import host
from helmbench_hf.runs.journal import Journal
from tests.support.waiting import PATIENCE, until

ROOT = Path(__file__).parents[2]
COMMAND = """
import json, sys
from helmbench_hf.models import host
def show(event):
    print(json.dumps(event), flush=True)
sys.exit(host.run(sys.argv[1], json.loads(sys.argv[2]), show))
"""


class Command:
    """A command that hosts a job, as `helmbench generate` does."""

    def __init__(self, job: str, payload: dict[str, Any]) -> None:
        self.mark = uuid.uuid4().hex
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, f"tests.support.jobs:{job}", json.dumps(payload)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, "HELM_TEST_MARK": self.mark, "PYTHONPATH": str(ROOT)},
        )

    def event(self, name: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            event: dict[str, Any] = json.loads(line)
            if event["event"] == name:
                return event
        raise AssertionError(f"the command ended without the event {name}")

    def living(self) -> list[int]:
        pids = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("HELM_TEST_MARK") == self.mark and process.status() != psutil.STATUS_ZOMBIE:
                    pids.append(process.pid)
            except psutil.Error:
                continue
        return pids

    def counts(self, number: int) -> None:
        """Wait until so many processes live; one that has just been started shows its environment a moment later."""
        until(lambda: len(self.living()) == number, f"{number} processes live")

    def ends(self) -> int:
        """Wait for the end of the command and of all that it has started, which would sleep for minutes; its exit code."""
        code = self.process.wait(PATIENCE)
        self.counts(0)
        return code


def lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def command() -> Iterator[Callable[[str, dict[str, Any]], Command]]:
    begun: list[Command] = []

    def begin(job: str, payload: dict[str, Any]) -> Command:
        begun.append(Command(job, payload))
        return begun[-1]

    yield begin
    for each in begun:
        each.process.kill()
        each.process.wait()
        assert each.process.stdout is not None
        each.process.stdout.close()
        each.counts(0)


Begin = Callable[[str, dict[str, Any]], Command]


@pytest.mark.parametrize("victim", ["command", "child"])
def test_nothing_lives_after_a_kill(command: Begin, victim: str) -> None:
    run = command("sleep", {"deaf": True})
    pids = run.event("pids")
    run.counts(3)
    os.kill(run.process.pid if victim == "command" else pids["child"], signal.SIGKILL)
    if victim == "child":
        assert "killed by SIGKILL; most often the machine had no memory left" in run.event("error")["message"]
    assert run.ends() == (-9 if victim == "command" else 128 + 9)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("level", ["command", "child"])
@pytest.mark.parametrize("job", ["load", "sleep"])
def test_a_stop_ends_what_loads_at_once_and_asks_what_works(command: Begin, job: str, level: str, number: signal.Signals) -> None:
    run = command(job, {})
    pids = run.event("pids")
    os.kill(run.process.pid if level == "command" else pids["child"], number)
    assert run.ends() == 130


def test_an_orphan_that_cannot_die_keeps_the_lock(tmp_path: Path, command: Begin) -> None:
    payload = {"folder": str(tmp_path), "count": 2000}
    run = command("answer", {**payload, "holds": True})
    orphan = run.event("started")["pid"]
    run.event("completion")
    os.kill(orphan, signal.SIGSTOP)  # not even its watcher runs: a process in the kernel's hands looks like this
    until(lambda: psutil.Process(orphan).status() == psutil.STATUS_STOPPED, "the orphan is stopped")
    run.process.kill()
    run.process.wait()
    events: list[host.Event] = []
    assert host.run("tests.support.jobs:answer", payload, events.append) == 1
    assert f"Another run (process {orphan}) is writing to {tmp_path}" in events[-1]["message"]
    before = len(Journal.read(tmp_path / "journal"))
    os.kill(orphan, signal.SIGCONT)
    run.counts(0)
    assert host.run("tests.support.jobs:answer", payload, lambda event: None) == 0
    records = Journal.read(tmp_path / "journal")
    assert 0 < before < len(records) == 2000
    assert not {"duplicates", "malformed"} & records.passed.places.keys()


@pytest.mark.parametrize("victim", ["command", "child"])
def test_a_kill_loses_nothing_and_doubles_nothing(tmp_path: Path, command: Begin, victim: str) -> None:
    payload = {"folder": str(tmp_path), "count": 60, "wait": PATIENCE}
    run = command("answer", {**payload, "holds": True})
    child = run.event("started")["pid"]
    run.event("completion")
    os.kill(run.process.pid if victim == "command" else child, signal.SIGKILL)
    after = command("answer", payload)  # at once: the orphan's lock is waited for
    run.counts(0)
    assert after.ends() == 0
    records = Journal.read(tmp_path / "journal")
    assert len(records) == 60
    assert not {"duplicates", "malformed"} & records.passed.places.keys()


@pytest.mark.parametrize("file", ["/models/cache/blob", None])
def test_a_full_disk_in_somebody_elses_code_is_a_sentence(tmp_path: Path, file: str | None) -> None:
    events: list[host.Event] = []
    payload = {"how": "full", "file": file}
    assert host.run("tests.support.jobs:fail", payload, events.append, log=tmp_path / "log") == 1
    [said] = [event["message"] for event in events]
    assert said.startswith(f"The disk that holds {file or 'the run'}")
    assert said.endswith("is full. What was answered is safe: make room, then rerun to resume.")


def test_how_a_job_may_end(tmp_path: Path) -> None:
    def ends(how: str) -> tuple[int, list[host.Event]]:
        events: list[host.Event] = []
        return host.run("tests.support.jobs:fail", {"how": how}, events.append, log=tmp_path / "log"), events

    assert ends("sentence") == (1, [{"event": "error", "message": "The weights are missing."}])
    assert "Traceback" not in (tmp_path / "log").read_text()
    assert ends("bug") == (1, [{"event": "error", "message": "ZeroDivisionError: division by zero"}])
    assert "Traceback" in (tmp_path / "log").read_text()
    assert ends("code") == (7, [])
    assert host.run("tests.support.jobs:fail", {"how": "code", "filling": "x" * 1_000_000}, print) == 7
    events: list[host.Event] = []
    assert host.run("tests.support.nowhere:job", {}, events.append) == 1
    assert "No module named" in events[0]["message"]
    assert ends("exit") == (3, [])
    code, [killed] = ends("segfault")
    assert code == 128 + 11
    assert killed["event"] == "error"
    assert "killed by SIGSEGV. Finished requests are in the journal" in killed["message"]
    assert "Segmentation fault" in (tmp_path / "log").read_text()
    code, [text] = ends("noise")
    assert (code, len(text["text"])) == (0, 200_005)
    assert text["text"].startswith("\ud800")
    assert "neither does this" in (tmp_path / "log").read_text()


def test_an_event_handler_that_fails_takes_the_child_with_it(tmp_path: Path) -> None:
    pids: list[int] = []

    def broken(event: host.Event) -> None:
        if event["event"] != "pids":
            return
        pids.extend([event["child"], event["grandchild"]])
        raise KeyError("a bug in the progress bar")

    with pytest.raises(KeyError, match="progress bar"):
        host.run("tests.support.jobs:sleep", {"deaf": True}, broken)
    assert len(pids) == 2
    until(lambda: not any(map(lives, pids)), "child and grandchild are gone")


def test_signal_handlers_are_given_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    host.run("tests.support.jobs:fail", {"how": "code"}, lambda event: None)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_thread_may_host_too() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(host.run, "tests.support.jobs:fail", {"how": "code"}, print).result(PATIENCE) == 7


def test_a_child_that_hangs_on_its_way_out_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "GRACE", 0.5)
    events: list[host.Event] = []
    assert host.run("tests.support.jobs:fail", {"how": "hang"}, events.append) == 0
    assert events == [], "it would say when it awakes"
