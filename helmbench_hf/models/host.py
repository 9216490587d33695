"""Runs a job in a child process that cannot outlive the command, whichever of the two dies, and however.

The child leads its own session. Its stdin is a pipe that the parent holds open: at end of file the parent is gone, and a
watcher thread kills the child's whole process group, because vLLM's own workers survive a killed parent (vllm#55510). The
other way round the parent kills the group as soon as the child has ended.

    parent -> child   stdin: one line of JSON (the payload), then nothing until the end; SIGTERM: please stop
    child -> parent   a separate descriptor, one JSON object a line: vLLM's prints never mix with events

The job is named by import path, `package.module:function`, and is called as `function(payload, reporter)`; it returns
None or an exit code. The child owns the journal and the run lock.

A job emits `{"event": "ready"}` once its engine is loaded. From then on a stop is a request: the job asks `reporter.stopping()`
between units of work and finishes what is live. Before that there is nothing to lose, and a stop ends the child at once.
"""

from __future__ import annotations

import contextlib
import errno
import faulthandler
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

STOPPED = 130
"""Exit code after SIGINT or SIGTERM, the shell's own for an interrupted command."""
FULL = (errno.ENOSPC, errno.EDQUOT)
"""What a full disk says."""
GRACE = 15.0
"""Seconds that a child may take to leave after its job has ended; torch and vLLM tidy up at exit, and can hang there."""

Event = dict[str, Any]


class Reporter:
    """Sends the child's events, and knows whether it was asked to stop."""

    def __init__(self, descriptor: int) -> None:
        """Write events to `descriptor`."""
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._ready = False

    def emit(self, event: Event) -> None:
        """Send one event of plain JSON values. A dead parent is no error here; the watcher ends the process."""
        self._ready = self._ready or event.get("event") == "ready"
        data = json.dumps(event).encode("ascii") + b"\n"
        with self._lock, contextlib.suppress(BrokenPipeError):
            while data:
                data = data[os.write(self._descriptor, data) :]

    def stopping(self) -> bool:
        """Say whether the job should finish what is live, journal it and return."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask the job to stop; end this process where its engine is not loaded yet. Called by a signal handler."""
        self._stop.set()
        if not self._ready:
            os._exit(STOPPED)  # at once, whatever is being imported or loaded; the parent kills the rest of the group


def run(job: str, payload: Event, on_event: Callable[[Event], None], *, log: Path | None = None) -> int:
    """Run `job` in a child until it ends, and give its exit code; no process of it is left when this returns.

    `on_event` gets what the job emits. A failure arrives as `{"event": "error", "message": <sentence>}` with code 1; a
    child that was killed gives 128 + the signal. The first SIGINT or SIGTERM asks the child to stop (130, once it has
    finished what was live, at once where its engine was not ready), the second one kills it. What the child prints goes to
    `log`, or to this process's stderr.
    """
    parent = _Parent()
    with parent.signals(), contextlib.ExitStack() as stack:
        environment = {}
        # vLLM leaves sockets and files behind even after clean runs; a socket's path may have 107 bytes only
        short = "/tmp" if os.access("/tmp", os.W_OK) else None
        with contextlib.suppress(OSError):  # no room: the usual folder then serves
            folder = tempfile.TemporaryDirectory(prefix="helm-", dir=short, ignore_cleanup_errors=True)
            environment["TMPDIR"] = stack.enter_context(folder)
        parent.start(job, log, environment)
        try:
            parent.send(payload)
            parent.listen(on_event)
        finally:
            parent.end()
    return parent.outcome(on_event)


class _Parent:
    """The parent's side of one child."""

    child: subprocess.Popen[bytes]

    def __init__(self) -> None:
        self.started = False
        self.events = -1
        self.interrupts = 0
        self.announced: int | None = None
        """The job's own exit code; the process may still be killed on its way out, which changes nothing."""

    @contextlib.contextmanager
    def signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM while the child runs; only the main thread can, elsewhere the caller must."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self._interrupt) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.interrupts += 1
        if self.started and self.child.returncode is None:
            self._signal(signal.SIGTERM if self.interrupts == 1 else signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        """Signal the child (to stop) or its whole group (to die)."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            (os.killpg if number == signal.SIGKILL else os.kill)(self.child.pid, number)

    def start(self, job: str, log: Path | None, environment: dict[str, str]) -> None:
        self.events, writer = os.pipe()
        output = 2 if log is None else os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            self.child = subprocess.Popen(
                [sys.executable, "-c", "from helmbench_hf.models.host import serve; serve()", job, str(writer)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                pass_fds=(writer,),
                start_new_session=True,
                bufsize=0,
                # the child must find the job where the parent would, as multiprocessing's children do
                env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        finally:
            os.close(writer)
            if log is not None:
                os.close(output)
        self.started = True
        if self.interrupts:  # the signal came while the child was being made
            self._signal(signal.SIGTERM)

    def send(self, payload: Event) -> None:
        assert self.child.stdin is not None
        data = json.dumps(payload).encode("ascii") + b"\n"
        with contextlib.suppress(BrokenPipeError):  # it died at once; its exit code says so
            while data:
                data = data[os.write(self.child.stdin.fileno(), data) :]

    def listen(self, on_event: Callable[[Event], None]) -> None:
        """Pass events on until the child has ended, or has had its grace after the job's end."""
        buffer, deadline = b"", float("inf")
        while time.monotonic() < deadline:
            ended = self._ended()  # asked before the pipe: what it wrote last is read in this round
            ready, _, _ = select.select([self.events] if deadline == float("inf") else [], [], [], 0 if ended else 0.1)
            data = os.read(self.events, 1 << 16) if ready else b""
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                event = json.loads(line)
                if set(event) == {"exit"}:
                    self.announced = event["exit"]
                else:
                    on_event(event)
            if ended and not data:
                return
            if (ready and not data) or self.announced is not None:
                deadline = min(deadline, time.monotonic() + GRACE)

    def _ended(self) -> bool:
        """Say whether the child has ended, and leave it unreaped: its group's number stays its own until then."""
        return os.waitid(os.P_PID, self.child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end(self) -> None:
        """Kill whatever is left of the child's group, and wait until it is gone."""
        assert self.child.stdin is not None
        self._signal(signal.SIGKILL)
        self.child.wait()
        self.child.stdin.close()
        os.close(self.events)
        deadline = time.monotonic() + 2
        while _lives(self.child.pid) and time.monotonic() < deadline:
            time.sleep(0.01)

    def outcome(self, on_event: Callable[[Event], None]) -> int:
        """Give the exit code, and say what killed a child that nobody here has killed or asked to stop."""
        if self.announced is not None:
            return self.announced
        if self.interrupts:
            return STOPPED
        if self.child.returncode >= 0:
            return self.child.returncode
        number = -self.child.returncode
        why = "; most often the machine had no memory left" if number == signal.SIGKILL else ""
        message = f"The engine's process was killed by {signal.Signals(number).name}{why}."
        on_event({"event": "error", "message": f"{message} Finished requests are in the journal; rerun to resume."})
        return 128 + number


def _lives(group: int) -> bool:
    """Say whether a process of the group lives; one that is dead but not reaped by its container's init does not."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    stats = list(Path("/proc").glob("[0-9]*/stat"))
    for path in stats:
        with contextlib.suppress(OSError):
            state, _, number = path.read_text().rpartition(")")[2].split()[:3]
            if int(number) == group and state not in "ZX":
                return True
    return not stats


def serve() -> NoReturn:
    """Be the child: called by the parent as `python -c`, with the job and the events' descriptor as arguments."""
    job, descriptor = sys.argv[1], int(sys.argv[2])
    reporter = Reporter(descriptor)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: reporter.stop())
    faulthandler.enable()
    os.set_inheritable(descriptor, False)
    control = os.dup(0)  # neither this end nor the terminal is for those whom the job starts
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    line = os.fdopen(control, "rb", closefd=False).readline()
    if not line.endswith(b"\n"):
        sys.exit(1)  # the parent died before it said what to do
    threading.Thread(target=_die_with_parent, args=(control,), daemon=True).start()
    code = _work(job, json.loads(line), reporter)
    reporter.emit({"exit": code})
    sys.exit(code)


def _die_with_parent(control: int) -> None:
    while os.read(control, 1 << 16):
        pass
    # SIGKILL at once: an orphan that went on for three polite seconds would still be writing the journal
    os.killpg(os.getpid(), signal.SIGKILL)


def _work(job: str, payload: Event, reporter: Reporter) -> int:
    module, _, name = job.partition(":")
    try:
        code: int | None = getattr(importlib.import_module(module), name)(payload, reporter)
    except Exception as error:
        # our own errors are sentences; anything else is a bug, and its trace belongs in the log
        is_sentence = type(error).__module__.startswith("helmbench_hf.")
        said = str(error) if is_sentence else f"{type(error).__name__}: {error}"
        if isinstance(error, OSError) and error.errno in FULL:  # met by somebody else's code, which may not say where
            where = f"holds {error.filename}" if error.filename else f"holds the run, {tempfile.gettempdir()} or a cache"
            said = f"The disk that {where} is full. What was answered is safe: make room, then rerun to resume."
        reporter.emit({"event": "error", "message": said})
        if not is_sentence:
            with contextlib.suppress(OSError):  # a full disk takes no log either
                traceback.print_exc()
        return 1
    return code or (STOPPED if reporter.stopping() else 0)
