"""The frozen values beside those of the code as it is."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from helmbench_hf.content.load import default_root, load_benchmark
from helmbench_hf.dataset.design import designs
from helmbench_hf.hashing import digest
from helmbench_hf.tasks.expand import expand
from tests.frozen.runs import RUNS, scores

HERE = Path(__file__).parent / "references"
MOST = 20
"""Differences that are printed of one run."""
DIGITS = 9


def made(name: str) -> dict[str, Any]:
    """Code verdicts and scores of one run, by the code as it is."""
    benchmark = load_benchmark(default_root())
    every = designs(benchmark, expand(benchmark))
    code, found = scores(name, every[RUNS[name].design], benchmark)
    return _rounded({"code": code, "scores": found})


def write() -> None:
    """Freeze every run."""
    HERE.mkdir(exist_ok=True)
    for name in RUNS:
        text = json.dumps(made(name), separators=(",", ":"), sort_keys=True)
        (HERE / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def references_sha256() -> str:
    """Of all frozen scores, as `scoring.run.NUMBERS_SHA256` has it."""
    found = {name: json.loads(gzip.decompress((HERE / f"{name}.json.gz").read_bytes())) for name in RUNS}
    return digest({name: each["scores"] for name, each in found.items()})


def check(*names: str) -> list[str]:
    """The first values that differ, a line each, by run; empty where all agree."""
    found = []
    for name in names or RUNS:
        frozen = json.loads(gzip.decompress((HERE / f"{name}.json.gz").read_bytes()))
        lines = list(islice(_differences(frozen, made(name), name), MOST))
        found += lines
    return found


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return round(value, DIGITS) + 0.0 if isinstance(value, float) else value


def _differences(frozen: Any, now: Any, path: str) -> Iterator[str]:
    if isinstance(frozen, dict) and isinstance(now, dict):
        for key in sorted({*frozen, *now}):
            if key not in now:
                yield f"{path}.{key}: frozen, and gone now"
            elif key not in frozen:
                yield f"{path}.{key}: new"
            else:
                yield from _differences(frozen[key], now[key], f"{path}.{key}")
    elif isinstance(frozen, list) and isinstance(now, list) and len(frozen) == len(now):
        for index, (old, new) in enumerate(zip(frozen, now, strict=True)):
            yield from _differences(old, new, f"{path}[{index}]")
    elif not _same(frozen, now):
        yield f"{path}: {frozen} frozen, {now} now"


def _same(frozen: Any, now: Any) -> bool:
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (frozen, now))
    return math.isclose(frozen, now, rel_tol=1e-7, abs_tol=2e-9) if numbers else bool(frozen == now)
