"""Random `kill -9` over the command and its child: nothing lost, nothing twice, nobody left, the next run at once.

    python benchmarks/kill.py                     40 kills over a fake engine, about a minute and a half
    python benchmarks/kill.py --spec vllm:demo    the same over real vLLM and SmolLM2 (12 s of loading per life)

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
        payload = _payload(options, Path(folder))
        starts, deaths, levels, faults = [], [], {"command": 0, "child": 0}, []
        kills = 0
        while kills < options.kills:
            life = _Life(payload)
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
            print(f"\r{kills} kills, {_count(Path(folder))} completions", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        last = _Life(payload)
        if not last.ends_within(options.patience) or last.process.returncode:
            faults.append(f"the last resume ended with code {last.process.returncode}")
        summary = {"kills": kills, **levels, **_verify(Path(folder), options, faults)}
    summary["slowest_death_s"] = round(max((each for each in deaths if each is not None), default=0.0), 3)
    summary["slowest_lock_s"] = round(max(starts, default=0.0), 3)
    summary["faults"] = faults
    print(json.dumps(summary, indent=1))
    return 1 if faults else 0


class _Life:
    """One start of the command, until it is killed or ends."""

    def __init__(self, payload: dict[str, Any]) -> None:
        self.mark = uuid.uuid4().hex
        self.log = Path(payload["folder"]) / f"{self.mark}.events"
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--as-command", json.dumps(payload), str(self.log)],
            cwd=ROOT,
            env={**os.environ, MARK: self.mark},
            stderr=subprocess.DEVNULL,
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


def _verify(folder: Path, options: argparse.Namespace, faults: list[str]) -> dict[str, Any]:
    from helmbench_hf.inference.journal import ReadReport, read_rows

    report = ReadReport()
    keys = [row["key"] for row in read_rows(folder / "journal", report)]
    expected = options.conversations * options.turns
    if len(set(keys)) != expected:
        faults.append(f"{len(set(keys))} keys are complete, and {expected} should be")
    if len(keys) != len(set(keys)):
        faults.append(f"{len(keys) - len(set(keys))} completions ran twice")
    if report.malformed:
        faults.append(f"{report.malformed} lines of the journal are malformed")
    segments = len(list((folder / "journal").glob("*.jsonl")))
    return {
        "expected": expected,
        "completions": len(keys),
        "distinct": len(set(keys)),
        "torn_lines": report.torn,
        "segments": segments,
    }


def _count(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in (folder / "journal").glob("*.jsonl"))


def _payload(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "folder": str(folder),
        "conversations": options.conversations,
        "turns": options.turns,
        "delay": options.delay,
        "grandchild": True,
    }
    if options.spec:
        from helmbench_hf.demo_model import demo_model_path
        from helmbench_hf.inference.chat import ChatTemplate
        from helmbench_hf.inference.engine import EngineSpec, Message

        spec = EngineSpec.parse(options.spec.replace(":demo", f":{demo_model_path()}"), max_num_seqs=8)
        payload["spec"] = spec.as_row()
        payload["tokens"] = ChatTemplate.load(spec.model).render((Message("user", "Tell me a story."),))
    return payload


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
    parser.add_argument("--spec", help="a real engine, e.g. vllm:demo")
    return parser.parse_args()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--as-command"]:
        sys.exit(_command(sys.argv[2], Path(sys.argv[3])))
    sys.exit(main())
