"""Checks of judges in a submission: cited by the scores, reduced to what they rest on, and held against their own counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.identity import calibration as calibration_of
from helmbench_hf.grading.judging import judge_rows
from helmbench_hf.leaderboard.submission import prepare
from helmbench_hf.records import CheckedLabel
from helmbench_hf.run_folder import RunError, RunFolder, write_json
from helmbench_hf.scoring.claims import FILE, document
from helmbench_hf.scoring.judge_check import check
from tests.leaderboard.made import checked, codes, sign

SHA = "ab" * 32


def labels(wrong: int = 0) -> list[CheckedLabel]:
    """Two hundred replies of each level under K01; `wrong` of those that should fail are let through."""
    fails = [CheckedLabel(f"R{n}", "K01", "FAIL", "PASS" if n < wrong else "FAIL", 100) for n in range(200)]
    return fails + [CheckedLabel(f"R{n}", "K01", "PASS", "PASS", 100) for n in range(200, 400)]


@pytest.fixture
def cited(run: Path, real: Benchmark, tmp_path: Path) -> Path:
    """A check of the run's judge."""
    row, calibration = judge_rows(RunFolder(run))[0], calibration_of(real)
    found = document(
        check(labels(), real, human=False), judge={**row, "secret": "/home/ann"}, rubric=row["rubric"],
        benchmark={
            "name": real.file.name, "version": real.file.version, "calibration_version": calibration.version,
            "calibration_sha256": calibration.sha256,
        },
        labels={"basis": "gold", "sha256": SHA, "n": 400},
        cost={"host": "server-1"},
    )  # fmt: skip
    write_json(tmp_path / "my-check" / FILE, found)
    return tmp_path / "my-check"


@pytest.fixture
def folder(run: Path, cited: Path, tmp_path: Path) -> Path:
    return prepare(run, checks=[cited]).write(tmp_path / "out")


def test_a_cited_check_goes_along_without_what_is_the_machines(folder: Path) -> None:
    report = checked(folder)
    assert report.accepted, report.reasons
    assert report.scores is not None
    assert [claim["check"] for claim in report.scores["checks"]] == ["my-check"]
    text = (folder / "checks" / "my-check.json").read_text()
    assert "server-1" not in text
    assert "/home/ann" not in text
    assert any("my-check" in note for note in report.notes)


def criterion(found: dict[str, Any]) -> dict[str, Any]:
    return next(row for row in found["criteria"] if row["criterion"] == "K01")


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (lambda found: criterion(found)["confusion"][""].update(FAIL={"PASS": 150, "FAIL": 50}), "check.state"),
        (lambda found: criterion(found).update(state="claim-ready"), "check.state"),
        (lambda found: found["criteria"][1].update(state="passes on gold"), "check.state"),
        (lambda found: found["labels"].update(n=10), "check.counts"),
        (lambda found: criterion(found)["confusion"][""]["FAIL"].update(FAIL=10**9), "check.field"),
        (lambda found: criterion(found)["confusion"][""]["FAIL"].update(MAYBE=1), "check.field"),
        (lambda found: found["criteria"].append(criterion(found)), "check.field"),
        (lambda found: criterion(found).update(criterion="K99"), "check.field"),
        (lambda found: found.update(extra=1), "check.field"),
        (lambda found: found.update(format=99), "check.field"),
        (lambda found: found["judge"].update(mode="evidence"), "scores.edited"),
        (lambda found: found["judge"].update(key={}), "check.field"),
        (lambda found: found["judge"]["key"]["template_kwargs"].update(cache="/home/ann/x"), "secret.path"),
    ],
)
def test_a_forged_check(folder: Path, edit: Callable[[dict[str, Any]], object], code: str) -> None:
    path = folder / "checks" / "my-check.json"
    found = json.loads(path.read_text())
    edit(found)
    path.write_text(json.dumps(found))
    assert code in codes(checked(sign(folder)))


def test_a_check_of_another_judge_is_refused(run: Path, cited: Path) -> None:
    found = json.loads((cited / FILE).read_text())
    found["judge"]["orders"] = 2
    (cited / FILE).write_text(json.dumps(found))
    with pytest.raises(RunError, match="is not cited"):
        prepare(run, checks=[cited])
