"""A submission made through the real pipeline: cases, keys, journals, grading and scoring are real, the engines are fakes."""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.dataset.load import CaseSet, load_cases
from helmbench_hf.generate import run as stage
from helmbench_hf.generate.run import Ask, child
from helmbench_hf.generate.turns import Settings
from helmbench_hf.grading.judge import JudgeSpec
from helmbench_hf.grading.judging import find_judge, judge_run
from helmbench_hf.inference.engine import EngineSpec, Request
from helmbench_hf.leaderboard.manifest import run_id, slug_of
from helmbench_hf.leaderboard.report import Report
from helmbench_hf.leaderboard.submission import sha_of
from helmbench_hf.leaderboard.verify import verify
from helmbench_hf.records import Case
from helmbench_hf.run_folder import RunFolder
from tests.grading.runs import Ear, good
from tests.support.fake_engine import FakeEngine, Fate

DESIGN = "smoke"


def load(design: str) -> CaseSet:
    return load_cases(design)


def says(request: Request) -> str:
    """A good answer to two of three cases; the third sets no tag or says little."""
    code, turn, _ = request.name.split("/")
    case = by_code()[code]
    if sum(map(ord, code)) % 3:
        return good(case, int(turn[1:]))
    return '{"reply": "Done.", "rows": [], "tags": []}' if case.grading.tags else "Take care."


def by_code() -> dict[str, Case]:
    return {case.code: case for case in load(DESIGN).cases}


def letters(request: Request) -> list[float]:
    """PASS mostly, FAIL sometimes; one sure reading a question."""
    best = len(request.labels) - 1 if sum(map(ord, request.name)) % 5 == 0 else 0
    return [math.log(0.9 if number == best else 0.02) for number in range(len(request.labels))]


def run(
    root: Path, checkpoint: Path, patch: pytest.MonkeyPatch, fate: Callable[[Request, int], Fate] | None = None, **settings: Any
) -> Path:
    """A finished run on the design `smoke`, judged by one judge."""
    patch.setattr(stage, "open_engine", lambda spec: FakeEngine(says, fate=fate))
    ask = Ask(run=str(root), engine=EngineSpec.parse(f"vllm:{checkpoint}"), settings=Settings(**settings), design=DESIGN)
    child(json.loads(json.dumps(ask.as_payload())), Ear())  # type: ignore[arg-type]
    judge(root, checkpoint)
    return root


def judge(root: Path, checkpoint: Path, name: str = "judge-a", mode: Any = "fast") -> None:
    spec = JudgeSpec(id=name, engine=f"vllm:{checkpoint}", family="tiny", mode=mode)
    written = FakeEngine(lambda request: '{"quote": "", "verdict": "PASS"}', labels=letters)
    judge_run(RunFolder(root), dataclasses.replace(find_judge(spec), open=lambda: written), Ear())


def rows_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def write_rows(path: Path, rows: list[Any]) -> None:
    path.write_bytes(gzip.compress("".join(f"{json.dumps(row)}\n" for row in rows).encode(), mtime=0))


def sign(folder: Path, change: Callable[[dict[str, Any]], object] = lambda manifest: None) -> Path:
    """Change the manifest and make its hashes and the folder's name right again, as a careful forger would."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    for name, file in manifest["files"].items():
        if (folder / name).is_file():
            file |= {"sha256": sha_of((folder / name).read_bytes()), "bytes": (folder / name).stat().st_size}
    manifest["run_id"] = run_id(manifest)
    path.write_text(json.dumps(manifest))
    place = folder.parent.parent / (slug_of(manifest["model"]["id"])[:100] or "-")
    place.mkdir(exist_ok=True)
    return folder.rename(place / manifest["run_id"])


def checked(folder: Path) -> Report:
    return verify(folder, load)


def codes(report: Report) -> set[str]:
    return {reason.code for reason in report.reasons}
