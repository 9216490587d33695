"""Random `kill -9` over a run: nothing lost, nothing twice, nobody left, the next run at once, torn lines passed over.

    python benchmarks/kill.py                                    81 kills over a fake engine in three phases, about 12 minutes
    python benchmarks/kill.py --phases vllm-generate,vllm-grade --kills 10    the same over real vLLM with tiny random weights
    python benchmarks/kill.py --phases vllm-generate --add "-e NAME=VALUE"    with more arguments for the command

A phase is the real command with its child, lock and journal. It is started, killed after a random time and started again at
once, until it ends by itself; then its journal must hold the keys of a run that nobody killed, each once. Some kills take
the command, some its child, some a process of the engine, and after some the last line of the journal is cut at a random
byte, as a power failure would. A life is known by a mark in its environment, which all its descendants inherit; keys are
compared, never texts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
MARK = "HELM_KILL_MARK"
FAKE = (sys.executable, "-m", "tests.support.fake_cli")
REAL = (sys.executable, "-c", "from helmbench_hf.cli.app import main; main()")


STAGES = ("starting", "loading", "answering")


@dataclass(frozen=True)
class Phase:
    """What is started again and again, and what it must leave."""

    arguments: tuple[str, ...]
    """Of the command; `RUN` stands for the run's folder."""
    journal: str
    """In the run's folder."""
    real: bool = False
    """Over vLLM; else over the fake engine."""
    longest: Mapping[str, float] = field(default_factory=lambda: {"starting": 3.0, "loading": 1.0, "answering": 4.0})
    """Longest time from the beginning of each stage to the kill, in seconds."""
    environment: Mapping[str, str] = field(default_factory=dict)
    gone: float = 5.0
    """Longest time that a killed life may take to leave nobody behind, in seconds."""
    authored: bool = False
    """The fake engine answers the real benchmark, and not the tiny one."""
    before: tuple[str, ...] = ()
    """Arguments of the command whose finished run this phase begins with."""

    def call(self, run: Path, arguments: tuple[str, ...], real: bool) -> list[str]:
        """The command line."""
        return [*(REAL if real else FAKE), *(str(run) if part == "RUN" else part for part in arguments)]


def phases(model: str) -> dict[str, Phase]:
    """Every phase by name; another engine's joins here."""
    generate = ("generate", "--run", "RUN", "--model", model, "--set", "temperature=1")
    grade = ("grade", "--run", "RUN", "--judge", f"{model},mode=fast,id=judge,dtype=float32")
    slow = {"FAKE_DELAY": "0.1", "FAKE_LOAD": "0.5"}
    single = (*generate, "--only", "P1", "--set", "draws=6")
    multi = (*generate, "--only", "P2-B5", "--set", "draws=100")
    answering_back = (*generate, "--design", "full", "--only", "P2-B5-S4-C1", "--router", model, "--set", "draws=3")
    labels = (*generate, "--only", "P1-B5-S2,P1-B6-S1", "-e", "dtype=float32", "-e", "max_num_seqs=4")  # short answers
    long = {"starting": 6.0, "loading": 15.0, "answering": 12.0}
    processes = {"VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
    return {
        "single": Phase(single, "completions", environment=slow),
        "multi": Phase(multi, "completions", environment=slow),
        "reactive": Phase(answering_back, "completions", environment=slow, authored=True),
        "worded": Phase((*answering_back, "--user-model", model), "completions", environment=slow, authored=True),
        "grade": Phase(grade, "judgments/judge", environment=slow, before=(*generate, "--set", "draws=2")),
        "vllm-generate": Phase(labels, "completions", real=True, longest=long),
        "vllm-grade": Phase(grade, "judgments/judge", real=True, longest=long, before=(*generate, "--design", "smoke")),
        "vllm-processes": Phase(labels, "completions", real=True, longest=long, environment=processes),
    }


def main() -> int:
    """Kill, resume, count, phase by phase."""
    options = _options()
    dice = random.Random(options.seed)
    faults: list[str] = []
    found = {}
    with tempfile.TemporaryDirectory(prefix="helm-kill-") as folder:
        from tests.support.checkpoints import tiny_checkpoint
        from tests.support.tree import plant

        known = phases(f"vllm:{tiny_checkpoint(Path(folder) / 'tiny')}")
        content = plant(Path(folder) / "authored").root
        for name in options.phases.split(","):
            trial = _Trial(name, known[name], Path(folder) / name, content, dice, shlex.split(options.add))
            trial.kill(options.kills)
            found[name] = trial.summary()
            faults += trial.faults
            print(json.dumps({name: found[name]}), file=sys.stderr)
    print(json.dumps({"kills": sum(each["kills"] for each in found.values()), "phases": found, "faults": faults}, indent=1))
    return 1 if faults else 0


class _Life:
    """One start of a command, until it is killed or ends."""

    def __init__(self, command: list[str], environment: Mapping[str, str], log: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.log = log
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env={**environment, MARK: self.mark}, stdout=subprocess.DEVNULL, stderr=file
            )

    def ends_within(self, seconds: float) -> bool:
        """Wait for its own end."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stage(self) -> str:
        """How far it is, by what it has said."""
        said = self.log.read_text(encoding="utf-8", errors="replace")
        return "answering" if "ready after" in said else "loading" if " stored, " in said else "starting"

    def ends_before(self, stage: str) -> bool:
        """Wait until it is so far; say whether it has ended instead."""
        while STAGES.index(self.stage()) < STAGES.index(stage):
            if self.ends_within(0.05):
                return True
        return False

    def kill(self, level: str) -> str:
        """Kill the process of that level, or the nearest one above that is there; say which it was."""
        try:
            children = psutil.Process(self.process.pid).children()
            engine = [each for child in children for each in child.children(recursive=True)]
            victims = {"engine": engine, "child": children}.get(level) or {"engine": children}.get(level) or []
            (victims[-1] if victims else self.process).kill()
            level = ("engine" if victims is engine else "child") if victims else "command"
        except psutil.NoSuchProcess:
            self.process.kill()
            level = "command"
        return level

    def living(self) -> list[int]:
        """Every process that it has left."""
        pids = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self.mark and process.status() != psutil.STATUS_ZOMBIE:
                    pids.append(process.pid)
            except psutil.Error:
                continue
        return pids

    def gone(self, limit: float) -> float | None:
        """Seconds until no process of this life is left, or None where one stays longer than `limit`."""
        began = time.monotonic()
        while self.living():
            if time.monotonic() - began > limit:
                return None
            time.sleep(0.005)
        self.process.wait()
        return time.monotonic() - began


class _Trial:
    """The kills of one phase."""

    def __init__(self, name: str, phase: Phase, folder: Path, content: Path, dice: random.Random, more: list[str]) -> None:
        self.name, self.phase, self.folder, self.dice = name, phase, folder, dice
        self.faults: list[str] = []
        self.kills = self.cuts = self.torn = self.records = self.rounds = 0
        self.levels: Counter[str] = Counter()
        self.stages: Counter[str] = Counter()
        self.slowest = 0.0
        folder.mkdir()
        self.environment = {
            **os.environ,
            **({} if phase.real or phase.authored else {"FAKE_BENCHMARK": str(content)}),
            **phase.environment,
        }
        self.arguments = (*phase.arguments, *more)
        if phase.before:
            self._finish(folder / "base", phase.before)
        (folder / "base").mkdir(exist_ok=True)
        self.expected = set(self._keys(self._finish(self._copy("unkilled"), phase.arguments)))

    def kill(self, wanted: int) -> None:
        """Rounds until there were enough kills; the last round's work is finished like any other's."""
        while self.kills < wanted and not self.faults:
            self.rounds += 1
            run = self._copy(f"round {self.rounds}")
            self._round(run, wanted)
            self._verify(run)
            if self.torn < self.cuts:
                self.faults.append(f"{self.name}: {self.cuts} lines were cut and {self.torn} are torn")
            print(f"{self.name}: {self.kills} kills, {dict(self.stages)}", file=sys.stderr)

    def summary(self) -> dict[str, Any]:
        """What happened, for the record."""
        return {
            "kills": self.kills,
            "levels": dict(self.levels),
            "stages": dict(self.stages),
            "rounds": self.rounds,
            "records": self.records,
            "lines_cut": self.cuts,
            "torn_lines_read": self.torn,
            "slowest_death_s": round(self.slowest, 3),
        }

    def _finish(self, run: Path, arguments: tuple[str, ...]) -> Path:
        """Let nobody kill it: over the fake engine, whose keys are the same."""
        environment = {
            name: value for name, value in self.environment.items() if not name.startswith(("FAKE_DELAY", "FAKE_LOAD"))
        }
        subprocess.run(self.phase.call(run, arguments, real=False), cwd=ROOT, env=environment, check=True, capture_output=True)
        return run

    def _copy(self, name: str) -> Path:
        return Path(shutil.copytree(self.folder / "base", self.folder / name))

    def _round(self, run: Path, wanted: int) -> None:
        """Start and kill until the command ends by itself."""
        life = self._start(run)
        while True:
            more = self.kills < wanted
            aim = self.dice.choice((*STAGES, "answering")) if more else "starting"
            seconds = self.dice.uniform(0, self.phase.longest[aim]) if more else 1800.0
            if life.ends_before(aim) or life.ends_within(seconds):
                if life.process.returncode:
                    self.faults.append(f"{self.name}: a life ended with code {life.process.returncode}: {life.log.read_text()}")
                return
            if not more:
                self.faults.append(f"{self.name}: the rest was not done after half an hour")
                life.kill("command")
                return
            stage, level = life.stage(), life.kill(self.dice.choice(["command", "child", "engine"]))
            if level == "engine" and not life.ends_within(2 * self.phase.longest["loading"]):
                life.kill("command")  # it went on with a new engine
            self.kills += 1
            self.stages[stage] += 1
            self.levels[level] += 1
            dead = life
            cut = self.dice.random() < 0.3
            if cut:
                self._gone(dead)
                self.cuts += self._cut(run / self.phase.journal)
            life = self._start(run)  # at once, while the dead one's last processes may still be there
            if not cut:
                self._gone(dead)

    def _start(self, run: Path) -> _Life:
        command = self.phase.call(run, self.arguments, self.phase.real)
        return _Life(command, self.environment, self.folder / f"{time.monotonic_ns()}.log")

    def _gone(self, life: _Life) -> None:
        limit = self.phase.gone
        seconds = life.gone(limit)
        if seconds is None:
            self.faults.append(f"{self.name}: processes {life.living()} still live {limit:g} s after kill {self.kills}")
        self.slowest = max(self.slowest, seconds or limit)

    def _cut(self, journal: Path) -> int:
        """Cut the last whole line of the newest segment at a random byte; say how many were cut."""
        segments = [path for path in sorted(journal.glob("*.jsonl")) if path.stat().st_size] if journal.is_dir() else []
        if not segments or not (whole := segments[-1].read_bytes()).endswith(b"\n"):
            return 0
        start = whole.rfind(b"\n", 0, len(whole) - 1) + 1
        os.truncate(segments[-1], self.dice.randint(start + 1, len(whole) - 2))
        return 1

    def _keys(self, run: Path) -> list[str]:
        from helmbench_hf.runs.journal import ReadReport, read_rows

        report = ReadReport()
        keys = [row["key"] for row in read_rows(run / self.phase.journal, report)]
        self.torn += report.count("torn")
        if malformed := report.count("malformed"):
            self.faults.append(f"{self.name}: {malformed} lines of the journal are malformed")
        return keys

    def _verify(self, run: Path) -> None:
        keys = self._keys(run)
        self.records += len(keys)
        if lost := self.expected - set(keys):
            self.faults.append(f"{self.name}: {len(lost)} of {len(self.expected)} keys are lost")
        if strange := set(keys) - self.expected:
            self.faults.append(f"{self.name}: {len(strange)} keys belong to nothing")
        if len(keys) != len(set(keys)):
            self.faults.append(f"{self.name}: {len(keys) - len(set(keys))} completions ran twice")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--phases",
        default="single,multi,grade",
        help="of single, multi, grade, vllm-generate, vllm-grade, vllm-processes",
    )
    parser.add_argument("--kills", type=int, default=27, help="of each phase")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--add", default="", help="more arguments for the command that is killed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
