"""The whole line on a real model: authored YAML to report, through real vLLM, as `make demo` runs it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from helmbench_hf.judging.grade import Graded, collect
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.runs.journal import Journal
from tests.support.checkpoints import smollm2_path

pytestmark = pytest.mark.vllm
ONLY = "P1-B1-S1,P1-B1-S51,P1-B5-S2,P2-B1,P2-B2-S1,P1-B7-S3,P2-B6-S1"
"""Every mode, grader and kind of criterion once; all of `smoke` is what `make demo` runs."""
RUN = ("--model", "demo", "--judge", "demo", "--design", "smoke", "--only", ONLY)


def helmbench(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = "from helmbench_hf.cli.app import main; main()"
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)


@dataclass(frozen=True)
class Line:
    folder: RunFolder
    printed: str
    graded: Graded
    scores: dict[str, object]


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Line:
    """One run of every stage; the tests below only look at what it left."""
    smollm2_path()
    root = tmp_path_factory.mktemp("line") / "run"
    done = helmbench("run", "--run", str(root), *RUN)
    assert done.returncode == 0, done.stderr
    folder = RunFolder(root)
    return Line(folder, done.stdout, collect(folder), json.loads(folder.scores.read_text()))


def test_every_turn_has_exactly_one_answer(line: Line) -> None:
    rows = [json.loads(text)["row"] for path in line.folder.completions.glob("*.jsonl") for text in path.read_text().splitlines()]
    planned = {f"{case.code}/t{turn}/d0" for case in line.graded.cases for turn in range(1, case.most_turns + 1)}
    assert sorted(row["request"] for row in rows) == sorted(planned)
    assert {row["status"] for row in rows} <= {"ok", "truncated"}


def test_a_second_run_repeats_nothing(line: Line, tmp_path: Path) -> None:
    copy = RunFolder(Path(shutil.copytree(line.folder.root, tmp_path / "copy")))
    done = helmbench("run", "--run", str(copy.root), *RUN)
    assert done.returncode == 0, done.stderr
    for kind in ("completions", "judgments/demo"):
        before, after = (sorted((run.root / kind).glob("*.jsonl")) for run in (line.folder, copy))
        assert [path.read_bytes() for path in before] == [path.read_bytes() for path in after]
    assert json.loads(copy.scores.read_text()) == line.scores


def test_judge_answers_are_verdicts_or_typed_failures(line: Line) -> None:
    judged = [verdict for verdict in line.graded.verdicts if verdict.grader == "demo"]
    assert judged
    assert {verdict.status for verdict in judged} <= {"scored", "judge_failure"}
    assert all((verdict.value is None) == (verdict.status == "judge_failure") for verdict in judged)
    assert all(0 < verdict.detail["mass"] <= 1.001 for verdict in judged if "mass" in verdict.detail)


def test_vetoes_of_one_family_are_listed_and_never_count(line: Line) -> None:
    assert not any(veto["confirmed"] for veto in line.scores["vetoes"])  # type: ignore[attr-defined]


def test_page_and_summary_say_what_they_must(line: Line) -> None:
    page = line.folder.report.read_text()
    for text in (page, line.printed):
        assert "smoke" in text
        assert "not validated" in text.lower()
    assert str(line.folder.report) in line.printed.replace("\n", "")
    assert "Not clinically validated" in page or "not clinically validated" in page


def test_stored_answers_of_the_journal_are_sound(line: Line) -> None:
    read = Journal.read(line.folder.completions)
    assert read.passed.places == {}


def test_another_setting_in_the_same_folder_is_refused(line: Line) -> None:
    done = helmbench(
        "generate", "--run", str(line.folder.root), "--model", "demo", "--design", "smoke", "--set", "temperature=0.7"
    )
    assert done.returncode == 1
    assert "must not be mixed" in done.stderr
