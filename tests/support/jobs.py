"""Jobs for `models.host`: small stand-ins for a stage, so that hosts and kills are tested without one."""

from __future__ import annotations

import atexit
import errno
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from helmbench_hf.models.drive import drive
from helmbench_hf.models.engine import EngineError, Message, Request, Sampling
from helmbench_hf.models.host import Reporter
from helmbench_hf.models.keys import KeyContext, request_key
from helmbench_hf.records import Completion
from helmbench_hf.runs.journal import Journal, run_lock
from tests.support.fake_engine import FakeEngine

CONTEXT = KeyContext(model={"files": "fake"}, template_sha="none", engine="fake 1.0")


def answer(payload: dict[str, Any], reporter: Reporter) -> int:
    """Run `conversations` x `turns` on an engine, resuming from the journal in `folder`; the shape of a real stage.

    `wait`: seconds for the lock. `holds`: goes no further than the first answer until it is asked to stop.
    """
    sampling = Sampling(max_tokens=8)
    turns: int = payload["turns"]
    if payload.get("grandchild"):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with run_lock(Path(payload["folder"]), payload.get("wait", 3.0)):
        reporter.emit({"event": "started", "pid": os.getpid()})
        reporter.emit({"event": "ready"})
        known = Journal.read(Path(payload["folder"]) / "journal")
        engine = FakeEngine(delay=payload["delay"], seed=os.getpid())

        def first() -> Iterator[Request]:
            for number in range(payload["conversations"]):
                messages = (Message("user", f"conversation {number}"),)
                key = request_key(CONTEXT, messages, sampling)
                request: Request | None = Request(key, f"c{number}/t1", messages, (1, 2, 3), sampling)
                while request is not None and request.key in known:
                    request = follow_up(request, known[request.key])
                if request is not None:
                    yield request

        def follow_up(request: Request, completion: Completion) -> Request | None:
            turn = int(request.name.rpartition("t")[2]) + 1
            if turn > turns or (completion.status != "ok" and completion.status != "truncated"):
                return None
            new = (Message("user", f"turn {turn}"),)
            name = f"{request.name.rpartition('t')[0]}t{turn}"
            return replace(request, key=request_key(request.key, new, sampling), name=name, messages=request.messages + new)

        with Journal.open(Path(payload["folder"]) / "journal", "test") as journal:

            def save(completion: Completion) -> None:
                journal.append(completion)
                reporter.emit({"event": "completion", "key": completion.key})
                while payload.get("holds") and not reporter.stopping():
                    time.sleep(0.02)

            driven = drive(engine, first(), follow_up, save, stop=reporter.stopping)
        reporter.emit({"event": "done", "saved": driven.saved, "stopped": driven.stopped})
    return 0


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
