"""vLLM's OpenAI-compatible server on the loopback, for the peer that talks to one; and the environment of all runners."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SERVED = "demo"
"""The server's name for the model."""
PATIENCE = 300.0


def environment(folder: Path) -> dict[str, str]:
    """Give the environment of a runner: offline, the CPU settings of all, temporary files in a folder of its own."""
    temporary = folder / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "OMP_NUM_THREADS": str(len(os.sched_getaffinity(0))),
        "VLLM_CPU_KVCACHE_SPACE": "2",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": "WARNING",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder / "hf"),
        "TYPER_STANDARD_TRACEBACK": "1",
        "TMPDIR": str(temporary),
    }


class Server:
    """One server, from its start until `stop`. Use it as a context manager, or call `stop`."""

    def __init__(self, python: Path, model: str, engine: dict[str, Any], folder: Path) -> None:
        """Start it and wait until it is healthy. Raises `RuntimeError` with the end of its log where it ends before."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._root = f"http://127.0.0.1:{port}"
        self.address = {"base_url": f"{self._root}/v1", "served": SERVED}
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in engine.items() if value is not True]
        flags += [f"--{name.replace('_', '-')}" for name, value in engine.items() if value is True]
        # the command `vllm serve` breaks in the CPU build; this module is what it runs
        command = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", model, "--served-model-name", SERVED]
        command += ["--host", "127.0.0.1", "--port", str(port), "--enable-prompt-tokens-details", *flags]
        command += ["--uvicorn-log-level", "warning"]
        # an asynchronous engine is always a process of its own, which vLLM would bind to one core of two
        cores = ",".join(str(core) for core in sorted(os.sched_getaffinity(0)))
        own = {"VLLM_ENABLE_V1_MULTIPROCESSING": "1", "VLLM_CPU_OMP_THREADS_BIND": cores}
        began = time.perf_counter()
        self._log = folder / "server.log"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=folder, env={**environment(folder), **own}, stdout=log, stderr=log, start_new_session=True
            )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise
        self.load_s = time.perf_counter() - began

    def finished(self) -> int:
        """Count the requests that the server has answered; those whose client went away are not."""
        lines = [line for line in self._get("/metrics").splitlines() if line.startswith("vllm:request_success_total")]
        return int(sum(float(line.rsplit(" ", 1)[1]) for line in lines if 'finished_reason="abort"' not in line))

    def stop(self) -> None:
        """End the server and its engine."""
        for number, patience in ((signal.SIGTERM, 20.0), (signal.SIGKILL, None)):
            if self._process.poll() is None:
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
        with contextlib.suppress(ProcessLookupError):  # what it may have left of its own group
            os.killpg(self._process.pid, signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _wait(self) -> None:
        until = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < until:
            try:
                self._get("/health")
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        tail = self._log.read_text(errors="replace").strip().splitlines()[-20:]
        raise RuntimeError("The server did not start:\n" + "\n".join(tail))

    def _get(self, path: str) -> str:
        with urllib.request.urlopen(self._root + path, timeout=30) as answer:
            return str(answer.read().decode())
