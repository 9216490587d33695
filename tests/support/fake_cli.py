"""The real command line over a fake engine: `python -m tests.support.fake_cli generate --run .. --model vllm:FOLDER`.

All but the model is real: the command, its child, lock, journal, manifest. The cases are those of the tiny benchmark, if
planted under FAKE_BENCHMARK. The environment decides how the engine behaves too: FAKE_LOAD (seconds), FAKE_DELAY (seconds a
step), FAKE_CAPACITY, FAKE_STALLS (steps, after which nothing comes back). In the folder FAKE_SIGNS the child leaves a file
`loading` when its engine is about to be loaded, and a file `stopping` when it has been asked to stop.
"""

from __future__ import annotations

import math
import os
import threading
import time
from pathlib import Path
from typing import Any

from helmbench_hf.content.load import load_benchmark
from helmbench_hf.dataset.load import CaseSet, DatasetIdentity
from helmbench_hf.judging import grade as grading
from helmbench_hf.judging import judge
from helmbench_hf.models.engine import EngineSpec, Request
from helmbench_hf.models.host import Reporter
from helmbench_hf.runs import completions
from helmbench_hf.runs import generate as generating
from helmbench_hf.tasks.expand import expand
from tests.support.fake_engine import FakeEngine


def open_fake(spec: EngineSpec) -> FakeEngine:
    """Load the fake engine."""
    sign("loading")
    time.sleep(float(os.environ.get("FAKE_LOAD", "0")))
    return FakeEngine(
        labels=labels,
        delay=float(os.environ.get("FAKE_DELAY", "0")),
        capacity=int(os.environ.get("FAKE_CAPACITY", "8")),
        stalls=int(os.environ["FAKE_STALLS"]) if "FAKE_STALLS" in os.environ else None,
        seed=os.getpid(),
    )


def labels(request: Request) -> list[float]:
    """A judge says the first letter; a router says what the key of its question draws."""
    likeliest = int(request.key[:8], 16) % len(request.labels) if request.role == "router" else 0
    return [math.log(0.3 if number == likeliest else 0.1) for number in range(len(request.labels))]


def sign(name: str) -> None:
    """Leave a file of that name for who waits for it."""
    if "FAKE_SIGNS" in os.environ:
        (Path(os.environ["FAKE_SIGNS"]) / name).touch()


def watch(reporter: Reporter) -> None:
    """Leave a sign when the child is asked to stop, whatever its main thread does then."""

    def wait() -> None:
        while not reporter.stopping():
            time.sleep(0.02)
        sign("stopping")

    threading.Thread(target=wait, daemon=True).start()


def put_content() -> None:
    """Let every stage take the tiny benchmark for the real one, where it is planted."""
    if "FAKE_BENCHMARK" not in os.environ:
        return
    benchmark = load_benchmark(Path(os.environ["FAKE_BENCHMARK"]))
    version = benchmark.file.version
    cases = CaseSet(tuple(expand(benchmark)), DatasetIdentity("HELMbench", "core", version, version, "c", "embedded"))
    for loads in (generating, completions):
        loads.load_cases = lambda *_: cases  # type: ignore[attr-defined]
    for module in (completions, grading):
        module.default_benchmark = lambda: benchmark  # type: ignore[attr-defined]


def generate(payload: dict[str, Any], reporter: Reporter) -> None:
    """Be the child of `helmbench generate`."""
    watch(reporter)
    put_content()
    generating.open_engine = open_fake  # type: ignore[assignment]
    generating.child(payload, reporter)


def grade(payload: dict[str, Any], reporter: Reporter) -> None:
    """Be the child of `helmbench grade`."""
    watch(reporter)
    put_content()
    judge.open_engine = open_fake  # type: ignore[assignment]
    grading.child(payload, reporter)


if __name__ == "__main__":
    from helmbench_hf.cli.app import main

    generating.JOB = "tests.support.fake_cli:generate"
    grading.JOB = "tests.support.fake_cli:grade"
    main()
