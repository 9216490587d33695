"""Jobs for `inference.host`: a judge without a model in a child process of its own, on the tiny benchmark."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from helmbench_hf.content.load import load_benchmark
from helmbench_hf.grading import exchanges, judging
from helmbench_hf.grading.judging import judge_run
from helmbench_hf.inference.host import Reporter
from helmbench_hf.matrix.expand import expand
from helmbench_hf.run_folder import RunFolder
from tests.grading.runs import case_set, fake_judge
from tests.support.fake_engine import FakeEngine


def judge(payload: dict[str, Any], reporter: Reporter) -> None:
    """Grade `run` with a fake judge, on the benchmark under `root`; `stalls`: after how many steps it answers nothing more."""
    benchmark = load_benchmark(Path(payload["root"]))
    cases = case_set(expand(benchmark), benchmark.file.version)
    for module in (exchanges, judging):
        module.default_benchmark = lambda: benchmark  # type: ignore[attr-defined]
    exchanges.load_cases = lambda *_: cases  # type: ignore[assignment]
    engine = FakeEngine(
        labels=lambda request: [math.log(0.6), math.log(0.2), math.log(0.1)][: len(request.labels)],
        stalls=payload.get("stalls"),
        capacity=4,
    )
    judge_run(RunFolder(Path(payload["run"])), fake_judge(engine), reporter)
