"""Jobs for `models.host`: small stand-ins for a stage, so that hosts and kills are tested without one."""

from __future__ import annotations

import atexit
import errno
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from helmbench_hf.models.drive import drive
from helmbench_hf.models.engine import EngineError, Message, Request, Sampling
from helmbench_hf.models.host import Reporter
from helmbench_hf.records import Completion
from helmbench_hf.runs.journal import Journal, run_lock
from tests.support.fake_engine import FakeEngine


def answer(payload: dict[str, Any], reporter: Reporter) -> None:
    """Ask `count` requests that have no answer in the journal in `folder`; the shape of a real stage.

    `wait`: seconds for the lock. `holds`: goes no further than the first answer until it is asked to stop.
    """
    folder = Path(payload["folder"])
    with run_lock(folder, payload.get("wait", 3.0)):
        reporter.emit({"event": "started", "pid": os.getpid()})
        reporter.emit({"event": "ready"})
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        stored = Journal.read(folder / "journal")
        keys = [f"request {number}" for number in range(payload["count"])]
        with Journal.open(folder / "journal", "test") as journal:

            def save(completion: Completion) -> None:
                journal.append(completion)
                reporter.emit({"event": "completion"})
                while payload.get("holds") and not reporter.stopping():
                    time.sleep(0.02)

            sampling = Sampling(max_tokens=8)
            requests = (Request(key, key, (Message("user", key),), (1, 2, 3), sampling) for key in keys if key not in stored)
            drive(FakeEngine(seed=os.getpid()), requests, lambda request, completion: None, save, stop=reporter.stopping)


def sleep(payload: dict[str, Any], reporter: Reporter) -> None:
    """Start a grandchild, say who is who, and sleep until asked to stop; `deaf`: for ever. Says when it is asked."""
    reporter.emit({"event": "ready"})
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    reporter.emit({"event": "pids", "child": os.getpid(), "grandchild": child.pid})
    while not reporter.stopping():
        time.sleep(0.02)
    reporter.emit({"event": "asked"})
    if payload.get("deaf"):
        time.sleep(600)


def load(payload: dict[str, Any], reporter: Reporter) -> None:
    """Load a model that is never ready, with a process of the engine's own."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    reporter.emit({"event": "pids", "child": os.getpid(), "grandchild": child.pid})
    time.sleep(600)


def fail(payload: dict[str, Any], reporter: Reporter) -> int:
    """Fail in the way that `how` says."""
    match payload["how"]:
        case "sentence":
            raise EngineError("The weights are missing.")
        case "bug":
            raise ZeroDivisionError("division by zero")
        case "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), payload.get("file"))
        case "code":
            return 7
        case "exit":
            sys.exit(3)
        case "hang":
            atexit.register(reporter.emit, {"event": "awake"})  # what is registered last runs first
            atexit.register(time.sleep, 600)
        case "segfault":
            os.kill(os.getpid(), 11)
        case "noise":
            sys.stdout.write("this goes to the log, not to the events\n")
            os.write(1, b"neither does this\n")
            reporter.emit({"event": "text", "text": "\ud800 é \n" + "x" * 200_000})
    return 0
