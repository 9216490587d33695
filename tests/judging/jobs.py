"""Jobs for `models.host`: a judge without a model in a child process of its own, on the tiny benchmark."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.content.load import load_benchmark
from helmbench_hf.judging.grade import judge_run
from helmbench_hf.models.host import Reporter
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.tasks.expand import expand
from tests.judging.runs import fake_judge, put
from tests.support.fake_engine import FakeEngine


def judge(payload: dict[str, Any], reporter: Reporter) -> None:
    """Grade `run` with a fake judge, on the benchmark under `root`; `stalls`: after how many steps it answers nothing more."""
    benchmark = load_benchmark(Path(payload["root"]))
    put(pytest.MonkeyPatch(), benchmark, expand(benchmark))
    engine = FakeEngine(
        labels=lambda request: [math.log(0.6), math.log(0.2), math.log(0.1)][: len(request.labels)],
        stalls=payload.get("stalls"),
        capacity=4,
    )
    judge_run(RunFolder(Path(payload["run"])), fake_judge(engine), reporter)
