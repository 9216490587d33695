"""Random `kill -9` over the command and its child: nothing lost, nothing twice, nobody left, the next run at once.

    python benchmarks/kill.py                       40 kills over a fake engine, about a minute and a half
    python benchmarks/kill.py --generate P2-B5-S1   the same over `helmbench generate`, real vLLM and SmolLM2, on the
                                                    core cases of that scenario; give --longest 45 (loading takes 15 s)

A run is known by a mark in its environment, which all its descendants inherit; keys are compared, never texts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
MARK = "HELM_KILL_MARK"
JOB = "tests.support.jobs:answer"


def main() -> int:
    """Kill, resume, count."""
    options = _options()
    dice = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="helm-kill-") as folder:
        work = _generate(options.generate, Path(folder)) if options.generate else _job(options, Path(folder))
        starts, deaths, levels, faults = [], [], {"command": 0, "child": 0}, []
        kills = 0
        while kills < options.kills:
            life = _Life(work)
            if life.ends_within(dice.uniform(0, options.longest)):
                faults.append("the work ended before the kills did: raise --conversations")
                break
            level = life.kill(dice.choice(["command", "child"]))
            levels[level] += 1
            kills += 1
            deaths.append(life.until_gone())
            if deaths[-1] is None:
                faults.append(f"kill {kills} ({level}): processes {life.living()} still live after 5 s")
                break
            if (start := life.started()) is not None:
                starts.append(start)
            print(f"\r{kills} kills, {_count(work.journal)} completions", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        last = _Life(work)
        if not last.ends_within(options.patience):
            last.kill("command")
            last.until_gone()
            faults.append(f"the last resume was not done after {options.patience:g} s")
        elif last.process.returncode:
            faults.append(f"the last resume ended with code {last.process.returncode}")
        summary = {"kills": kills, **levels, **_verify(work, faults)}
    summary["slowest_death_s"] = round(max((each for each in deaths if each is not None), default=0.0), 3)
    summary["slowest_lock_s"] = round(max(starts, default=0.0), 3)
    summary["faults"] = faults
    print(json.dumps(summary, indent=1))
    return 1 if faults else 0


@dataclass(frozen=True)
class _Work:
    """What is started again and again: its command (`LOG` stands for the life's event file) and what it must leave."""

    command: tuple[str, ...]
    folder: Path
    journal: Path
    expected: int


def _job(options: argparse.Namespace, folder: Path) -> _Work:
    payload = {
        "folder": str(folder),
        "conversations": options.conversations,
        "turns": options.turns,
        "delay": options.delay,
        "grandchild": True,
    }
    command = (sys.executable, __file__, "--as-command", json.dumps(payload), "LOG")
    return _Work(command, folder, folder / "journal", options.conversations * options.turns)


def _generate(only: str, folder: Path) -> _Work:
    helmbench = (sys.executable, "-c", "from helmbench_hf.cli.app import main; main()")
    chosen = ("--model", "demo", "--only", only)
    plan = subprocess.run([*helmbench, "plan", *chosen, "--json"], cwd=ROOT, check=True, capture_output=True, text=True)
    command = (*helmbench, "generate", "--run", str(folder / "run"), *chosen, "-e", "max_num_seqs=8")
    return _Work(command, folder, folder / "run" / "completions", json.loads(plan.stdout)["answers"])


class _Life:
    """One start of the command, until it is killed or ends."""

    def __init__(self, work: _Work) -> None:
        self.mark = uuid.uuid4().hex
        self.log = work.folder / f"{self.mark}.events"
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [str(self.log) if part == "LOG" else part for part in work.command],
            cwd=ROOT,
            env={**os.environ, MARK: self.mark},
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def ends_within(self, seconds: float) -> bool:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self, level: str) -> str:
        """Kill the child where there is one and it is its turn, else the command; say which."""
        children = psutil.Process(self.process.pid).children() if level == "child" else []
        try:
            (children[0] if children else self.process).kill()
        except psutil.NoSuchProcess:
            self.process.kill()
        return "child" if children else "command"

    def living(self) -> list[int]:
        pids = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self.mark and process.status() != psutil.STATUS_ZOMBIE:
                    pids.append(process.pid)
            except psutil.Error:
                continue
        return pids

    def until_gone(self) -> float | None:
        """Seconds from the kill until no process of this life is left, or None after five."""
        began = time.monotonic()
        while self.living():
            if time.monotonic() - began > 5:
                return None
            time.sleep(0.005)
        self.process.wait()
        return time.monotonic() - began

    def started(self) -> float | None:
        """Seconds that this life waited for the run lock, as its child told; None where it was killed before."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return next((json.loads(line)["waited"] for line in lines if '"started"' in line), None)


def _verify(work: _Work, faults: list[str]) -> dict[str, Any]:
    from helmbench_hf.inference.journal import ReadReport, read_rows

    report = ReadReport()
    keys = [row["key"] for row in read_rows(work.journal, report)]
    if len(set(keys)) != work.expected:
        faults.append(f"{len(set(keys))} keys are complete, and {work.expected} should be")
    if len(keys) != len(set(keys)):
        faults.append(f"{len(keys) - len(set(keys))} completions ran twice")
    if report.malformed:
        faults.append(f"{report.malformed} lines of the journal are malformed")
    segments = len(list(work.journal.glob("*.jsonl")))
    return {
        "expected": work.expected,
        "completions": len(keys),
        "distinct": len(set(keys)),
        "torn_lines": report.torn,
        "segments": segments,
    }


def _count(journal: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in journal.glob("*.jsonl"))


def _command(payload: str, log: Path) -> int:
    """Be the command: host the job and note what it says."""
    from helmbench_hf.inference import host

    with log.open("a") as file:

        def note(event: host.Event) -> None:
            if event["event"] != "completion":
                file.write(json.dumps(event) + "\n")
                file.flush()

        return host.run(JOB, json.loads(payload), note)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--conversations", type=int, default=1500)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds of each step of the fake engine")
    parser.add_argument("--longest", type=float, default=2.0, help="longest life in seconds")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds for the last resume")
    parser.add_argument("--generate", metavar="CODE", help="kill `helmbench generate` itself, over these core cases")
    return parser.parse_args()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--as-command"]:
        sys.exit(_command(sys.argv[2], Path(sys.argv[3])))
    sys.exit(main())
