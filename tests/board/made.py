"""A submission made through the real pipeline: cases, keys, journals, grading and scoring are real, the engines are fakes."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.board.files import SEGMENT
from helmbench_hf.board.manifest import Manifest, run_id, slug_of
from helmbench_hf.board.results import Entry, Run
from helmbench_hf.board.verify import Report, plain, sha_of, verify
from helmbench_hf.dataset.load import CaseSet, load_cases
from helmbench_hf.judging.grade import judge_run, verdict_row
from helmbench_hf.judging.judge import JudgeSpec, find_judge
from helmbench_hf.models.engine import EngineDescription, EngineSpec, Request
from helmbench_hf.models.identity import vllm_version
from helmbench_hf.records import Case, Completion, Verdict
from helmbench_hf.runs import generate as stage
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.runs.generate import Ask, child
from helmbench_hf.runs.journal import line_of
from helmbench_hf.runs.turns import Settings
from helmbench_hf.scoring.scores import Scores, from_json, to_json
from tests.judging.runs import Ear, good
from tests.support.fake_engine import FakeEngine, Fate

DESIGN = "smoke"


class Played(FakeEngine):
    """A fake engine that says it is the one that was asked for."""

    def describe(self) -> EngineDescription:
        return dataclasses.replace(super().describe(), name="vllm", version=vllm_version())


def load(design: str) -> CaseSet:
    return load_cases(design)


def says(request: Request) -> str:
    """A good answer to two of three cases; the third sets no tag or says little."""
    code, turn, _ = request.name.split("/")
    case = by_code()[code]
    if sum(map(ord, code)) % 3:
        said = good(case, int(turn[1:]))
        return said if said.startswith("{") else f"{said} I am here, and I want to hear what happened today before anything else."
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
    patch.setattr(stage, "open_engine", lambda spec: Played(says, labels=letters, fate=fate))
    engine = EngineSpec.parse(f"vllm:{checkpoint}")
    ask = Ask(run=str(root), engine=engine, settings=Settings(**settings), design=DESIGN, router=engine)
    child(json.loads(json.dumps(ask.as_payload())), Ear())
    judge(root, checkpoint)
    return root


def judge(root: Path, checkpoint: Path, name: str = "judge-a", mode: Any = "fast") -> None:
    spec = JudgeSpec(id=name, engine=f"vllm:{checkpoint}", family="tiny", mode=mode)
    written = FakeEngine(lambda request: '{"quote": "", "verdict": "PASS"}', labels=letters)
    judge_run(RunFolder(root), dataclasses.replace(find_judge(spec), open=lambda: written), Ear())


def rows_of(path: Path) -> list[Any]:
    """The rows of a file of JSON lines; of a journal, what its lines hold."""
    found = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [line["row"] if set(line) == {"v", "sha", "row"} else line for line in found]


def row(verdict: Verdict) -> dict[str, Any]:
    return dict(plain(verdict_row(verdict)))


def write_rows(path: Path, rows: list[Any]) -> None:
    """Write them back, a journal's with right checksums where a row can have one."""
    path.write_bytes(b"".join(_line(row, path.name == SEGMENT) for row in rows))


def _line(row: Any, journal: bool) -> bytes:
    try:
        return line_of(row) if journal else json.dumps(row).encode() + b"\n"
    except ValueError:  # a number that JSON does not have
        return json.dumps({"v": 1, "sha": "0" * 16, "row": row}).encode() + b"\n"


def sign(folder: Path, change: Callable[[dict[str, Any]], object] = lambda manifest: None) -> Path:
    """Change the manifest and make its hashes and the folder's name right again, as a careful forger would."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    for name, file in manifest["submission"]["files"].items():
        if (folder / name).is_file():
            file |= {"sha256": sha_of((folder / name).read_bytes()), "bytes": (folder / name).stat().st_size}
    manifest["submission"]["run_id"] = run_id(manifest)
    path.write_text(json.dumps(manifest))
    place = folder.parent.parent / (slug_of(manifest["model"]["id"])[:100] or "-")
    place.mkdir(exist_ok=True)
    return folder.rename(place / manifest["submission"]["run_id"])


def edit_rows(folder: Path, name: str, edit: Callable[[list[Any]], object]) -> Path:
    """Edit a file of JSON lines and sign."""
    rows = rows_of(folder / name)
    edit(rows)
    write_rows(folder / name, rows)
    return sign(folder)


def edit_json(folder: Path, name: str, edit: Callable[[dict[str, Any]], object]) -> Path:
    """Edit a JSON file and sign."""
    content = json.loads((folder / name).read_text())
    edit(content)
    (folder / name).write_text(json.dumps(content))
    return sign(folder)


def put(path: str, value: object) -> Callable[[dict[str, Any]], object]:
    """Set a field of the manifest by its path."""

    def change(manifest: dict[str, Any]) -> None:
        *way, last = path.split(".")
        place: Any = manifest
        for step in way:
            place = place[int(step) if step.isdigit() else step]
        place[last] = value

    return change


def checked(folder: Path) -> Report:
    return verify(folder, load)


def codes(report: Report) -> set[str]:
    return {reason.code for reason in report.reasons}


def completion(text: str) -> Completion:
    return Completion("k", "r", "ok", text)


def scored(scores: Scores, value: float) -> Scores:
    """As if a run of a whole design had this overall score, with every pair beside it."""
    found = to_json(scores)
    for group in (found["headline"]["overall"], *found["pillars"]):
        group["score"] |= {"value": value, "low": value - 0.05, "high": value + 0.05, "se": 0.025, "df": 100.0}
    found["headline"]["printed"] = 100 * value
    found["provenance"]["minimum_messages"] = 2
    for number, pair in enumerate(found["pairs"]):
        pair["value"] = value + (number % 5 - 2) / 10
    return from_json(found)


def entry(report: Report, number: int, model: str, value: float, **changes: Any) -> Entry:
    """A verified run of another model, as a board shows it, with an overall score of its own."""
    assert report.manifest is not None
    assert report.scores is not None
    row = report.manifest.model_dump()
    row["model"]["id"] = model
    row["submission"] |= {"run_id": f"{number:016x}", "submitter": {"name": changes.pop("name", "Ann"), "text": "Text."}}
    run = Run(f"submissions/x/{number:016x}", Manifest.model_validate(row), {})
    return Entry(run, dataclasses.replace(scored(report.scores, value), **changes))
