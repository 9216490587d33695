"""How long the command line takes to say a word: median wall time of `helmbench --help` and its like.

    python benchmarks/startup.py [--times 11] [--budget 0.3]

`--help` and `--version` have a budget of 0.3 s; exit code 1 where a median is over it. A command's own help imports what the
command needs, and is timed without a budget. What imports cost:
`python -X importtime -c "from helmbench_hf.cli.app import main; main()" --help`. Beside busy processes wall time says little,
and the CPU seconds, which are also printed, say more.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BARE = (sys.executable, "-c", "pass")
HELMBENCH = (sys.executable, "-c", "from helmbench_hf.cli.app import main; main()")
BUDGETED = ("helmbench --help", "helmbench --version")
WORDS = ("--help", "--version", "plan --help", "generate --help", "grade --help", "content --help")


def main() -> int:
    """Time every command in turn, so that a busy moment hits all of them; print medians and what they add to bare Python."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=11)
    parser.add_argument("--budget", type=float, default=0.3, help="seconds")
    options = parser.parse_args()
    commands = {"python -c pass": BARE, **{f"helmbench {words}": (*HELMBENCH, *words.split()) for words in WORDS}}
    for command in commands.values():
        seconds(command)  # warm up: files cached, bytecode written
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(options.times):
        for name, command in commands.items():
            taken[name].append(seconds(command))
    medians = {name: round(statistics.median(wall for wall, _ in times), 3) for name, times in taken.items()}
    over = [name for name in BUDGETED if medians[name] > options.budget]
    summary = {
        "times": options.times,
        "median_s": medians,
        "fastest_s": {name: round(min(wall for wall, _ in times), 3) for name, times in taken.items()},
        "median_cpu_s": {name: round(statistics.median(cpu for _, cpu in times), 3) for name, times in taken.items()},
        "over_budget": over,
        "load_average": round(os.getloadavg()[0], 2),
    }
    print(json.dumps(summary, indent=1))
    return 1 if over else 0


def seconds(command: tuple[str, ...]) -> tuple[float, float]:
    """Wall and CPU time of one command, which must succeed."""
    began, used = time.perf_counter(), _cpu()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began, _cpu() - used


def _cpu() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


if __name__ == "__main__":
    sys.exit(main())
