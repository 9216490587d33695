"""Checks of judges in a submission: computed from their rows against labels that nobody can invent unseen."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.board.files import SEGMENT
from helmbench_hf.board.submission import prepare
from helmbench_hf.content.load import Benchmark
from helmbench_hf.judging.check import check_judge, checked
from helmbench_hf.judging.claims import FILE, document
from helmbench_hf.judging.judge import JudgeSpec, find_judge
from helmbench_hf.judging.labels import Labels, find_labels
from helmbench_hf.models.engine import Request
from helmbench_hf.runs.folder import RunError, RunFolder, write_json
from tests.board import made
from tests.judging.runs import Ear
from tests.support.fake_engine import FakeEngine

ROWS = f"judgments/judge-a/{SEGMENT}"


def always_pass(request: Request) -> list[float]:
    return [math.log(0.9 if number == 0 else 0.02) for number in range(len(request.labels))]


def make_check(root: Path, checkpoint: Path, benchmark: Benchmark, labels: Labels) -> Path:
    """`helmbench judge check` on K01 by a judge that says PASS to everything."""
    folder = RunFolder(root)
    spec = JudgeSpec(id="judge-a", engine=f"vllm:{checkpoint}", family="tiny", mode="fast")
    judge = dataclasses.replace(find_judge(spec), open=lambda: FakeEngine(labels=always_pass))
    check_judge(folder, judge, labels, benchmark, Ear())
    row, found, cost = checked(folder, labels, benchmark)
    write_json(root / FILE, document(found, labels, benchmark, row, cost=cost))
    return root


@pytest.fixture(scope="module")
def gold(checkpoint: Path, real: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_check(tmp_path_factory.mktemp("checks") / "gold", checkpoint, real, find_labels(real, ["K01"]))


@pytest.fixture(scope="module")
def ratings(real: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two raters who say what the lenient judge says."""
    path = tmp_path_factory.mktemp("raters") / "labels.csv"
    rows = [f"{who},{probe.label.reply.code},K01,PASS" for probe in find_labels(real, ["K01"]).probes for who in ("Ann", "Ben")]
    path.write_text("\n".join(["rater,reply_code,criterion,verdict", *rows]))
    return path


@pytest.fixture(scope="module")
def human(checkpoint: Path, real: Benchmark, ratings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_check(tmp_path_factory.mktemp("checks") / "human", checkpoint, real, find_labels(real, ["K01"], ratings))


@pytest.fixture(scope="module")
def cited(run: Path, gold: Path, human: Path, ratings: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A submission with each check."""
    made_of = {"gold": gold, "human": human}
    root = tmp_path_factory.mktemp("cited")
    return {name: prepare(run, checks=[path], labels=ratings).write(root / name) for name, path in made_of.items()}


def test_a_gold_check_is_computed_from_its_rows(run: Path, gold: Path, tmp_path: Path) -> None:
    """The attack: a check.json with perfect counts. Only the judge's answers go along, and they are held against our labels."""
    found = json.loads((gold / FILE).read_text())
    lying = tmp_path / "gold"
    lying.mkdir()
    (lying / "judgments").symlink_to(gold / "judgments")
    perfect = {"r": {"FAIL": {"FAIL": 9600}, "PASS": {"PASS": 9600}}}
    criteria = [{**each, "state": "passes on gold", "confusion": perfect} for each in found["criteria"]]
    write_json(lying / FILE, {**found, "criteria": criteria, "state": "passes on gold", "secret": "/home/ann"})
    submission = prepare(run, checks=[lying])
    [claim] = submission.scores.checks
    assert (claim.check, claim.state, claim.fails, claim.passes) == ("gold", "fails", ("K01",), ())
    folder = submission.write(tmp_path / "out")
    report = made.checked(folder)
    assert report.accepted, report.reasons
    assert "/home/ann" not in "".join(path.read_text() for path in folder.rglob("*.json"))
    better = {"state": "passes on gold", "passes": ["K01"], "fails": []}
    forged = made.edit_json(folder, "scores.json", lambda scores: scores["checks"][0].update(better))
    assert made.codes(made.checked(forged)) == {"scores.edited"}


def test_a_human_check_counts_only_with_its_labels(run: Path, human: Path, ratings: Path, tmp_path: Path) -> None:
    """The attack: basis `human`, and a hash of labels that nobody has."""
    with pytest.raises(RunError, match="--labels"):
        prepare(run, checks=[human])
    submission = prepare(run, checks=[human], labels=ratings)
    [claim] = submission.scores.checks
    assert claim.basis == "human"
    folder = submission.write(tmp_path / "out")
    assert made.checked(folder).accepted
    text = (folder / "checks/human/labels.jsonl").read_text()
    assert "Ann" not in text
    assert "rater-2" in text
    (folder / "checks/human/labels.jsonl").unlink()
    bare = made.sign(folder, lambda manifest: manifest["submission"]["files"].pop("checks/human/labels.jsonl"))
    assert made.codes(made.checked(bare)) == {"scores.edited"}


@pytest.mark.parametrize(
    ("name", "edit", "expected"),
    [
        (f"gold/{ROWS}", lambda rows: [row.update(label_logprobs=row["label_logprobs"][::-1]) for row in rows], "scores.edited"),
        (f"gold/{ROWS}", lambda rows: rows.clear(), "check.rows"),
        (f"gold/{ROWS}", lambda rows: rows[0].update(text=["a"]), "rows.shape"),
        ("human/labels.jsonl", lambda rows: rows[0].update(verdict="MAYBE"), "check.labels"),
        ("human/labels.jsonl", lambda rows: rows[0].update(reply_code="nothing"), "check.labels"),
        ("human/labels.jsonl", lambda rows: rows[0].update(rater=["x"]), "check.labels"),
        ("human/labels.jsonl", lambda rows: rows[0].update(note="x"), "check.labels"),
        ("human/labels.jsonl", lambda rows: rows.pop(), "scores.edited"),
        ("human/labels.jsonl", lambda rows: rows.clear(), "check.labels"),
    ],
)
def test_forged_rows_of_a_check(cited: dict[str, Path], tmp_path: Path, name: str, edit: Any, expected: str) -> None:
    original = cited[name.split("/")[0]]
    place = tmp_path / "submissions" / original.parent.name / original.name
    forged = made.edit_rows(Path(shutil.copytree(original, place)), f"checks/{name}", edit)
    assert made.codes(made.checked(forged)) == {expected}


def test_files_of_a_check_that_do_not_belong_together(run: Path, gold: Path, tmp_path: Path) -> None:
    folder = prepare(run, checks=[gold]).write(tmp_path / "out")
    (folder / "checks/gold/replies.jsonl").write_text('{"case": [1]}\n')
    named = made.sign(folder, lambda manifest: manifest["submission"]["files"].update({"checks/gold/replies.jsonl": {}}))
    assert made.codes(made.checked(named)) == {"check.rows"}


def test_a_check_of_another_judge_is_not_submitted(run: Path, gold: Path, tmp_path: Path) -> None:
    found = json.loads((gold / FILE).read_text())
    write_json(tmp_path / "other" / FILE, {**found, "judge": {**found["judge"], "mode": "evidence"}})
    with pytest.raises(RunError, match="Leave it out"):
        prepare(run, checks=[tmp_path / "other"])
    with pytest.raises(RunError, match="two checks have the same folder name"):
        prepare(run, checks=[gold, gold])
