"""One run of one harness, in its own environment and its own process group, and what it reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import serving

RUNNERS = Path(__file__).resolve().parent
PEERS = ("lm-eval", "inspect", "lighteval")
"""Those that need an environment of their own."""
ENGINE = {
    "dtype": "float32",
    "seed": 0,
    "max_num_seqs": 64,
    "max_num_batched_tokens": 4096,
    "enable_chunked_prefill": True,
    "block_size": 32,
    "enforce_eager": True,
}
"""The same for every peer; where one has other defaults (lm-eval 256 sequences on CPU), these are given to it."""
PATIENCE = 600.0
"""Seconds for one run."""


@dataclass(frozen=True)
class Plan:
    """One comparison: what is common to all its runs."""

    home: Path
    model: str
    prompts: Path
    count: int
    max_tokens: int
    engine: dict[str, Any] = field(default_factory=lambda: dict(ENGINE))

    def python(self, name: str) -> Path:
        """The interpreter that `name` runs in; HELMbench and the raw engine share ours."""
        return self.home / name / "bin" / "python" if name in PEERS else Path(sys.executable)

    def start(self, name: str, folder: Path, progress: bool = False, **options: Any) -> subprocess.Popen[bytes]:
        """Start a runner in a session of its own; its output goes to `folder/log`."""
        folder.mkdir(parents=True, exist_ok=True)
        work = {
            "model": self.model,
            "engine": self.engine,
            "max_tokens": self.max_tokens,
            "prompts": str(self.prompts),
            "folder": str(folder),
            "progress": progress,
            "options": options,
        }
        (folder / "work.json").write_text(json.dumps(work))
        (folder / "result.json").unlink(missing_ok=True)
        script = RUNNERS / f"through_{name.replace('-', '_')}.py"
        command = [str(self.python(name)), str(script), str(folder / "work.json")]
        with (folder / "log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=folder, env=serving.environment(folder), stdout=log, stderr=log, start_new_session=True
            )

    def run(self, name: str, folder: Path, **options: Any) -> int:
        """Run to the end, or to the end of patience; give the exit code, and leave nothing running."""
        process = self.start(name, folder, **options)
        try:
            return process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return 1
        finally:
            end(process)

    def serve(self, folder: Path) -> serving.Server:
        """Start the server that Inspect talks to, in Inspect's environment."""
        return serving.Server(self.python("inspect"), self.model, self.engine, folder)


def end(process: subprocess.Popen[bytes]) -> None:
    """`kill -9` of a runner and its children, where it still runs."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def result_of(folder: Path, code: int) -> dict[str, Any]:
    """Read what a runner reported; where it failed, an `error`: what it told, else the end of its log."""
    result = folder / "result.json"
    row: dict[str, Any] = json.loads(result.read_text()) if result.is_file() else {}
    if code or not row:
        return {"error": row.get("errors") or (folder / "log").read_text(errors="replace").strip().splitlines()[-30:]}
    return row
