"""`helmbench judge` as a person types it, on the tiny benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.cli import judge, judge_outside, scores
from helmbench_hf.content import load
from helmbench_hf.content.load import Benchmark
from helmbench_hf.judging import check as checking
from helmbench_hf.judging import grade as grading
from helmbench_hf.judging import outside
from helmbench_hf.judging.check import find_labels
from helmbench_hf.judging.grade import judge_run
from helmbench_hf.runs import completions
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.tasks.expand import expand
from tests.judging import runs
from tests.support import commands
from tests.support.calibration import letters, plant_calibration, right
from tests.support.fake_engine import FakeEngine
from tests.support.tree import Tree


@pytest.fixture
def set_up(tree: Tree) -> Benchmark:
    return plant_calibration(tree)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """The judge's engine, in this process."""
    made = FakeEngine(labels=letters(right))
    monkeypatch.setattr(checking, "find_judge", lambda spec: runs.fake_judge(made, id=spec.id, mode=spec.mode))
    monkeypatch.setattr(judge, "child_job", lambda job, payload, title, log: checking.child(payload, runs.Ear()))
    return made


def helmbench(*words: object, code: int = 0) -> str:
    result = commands.helmbench(*words, code=code)
    return result.stdout or result.stderr


def replay(benchmark: Benchmark, path: Path, says: dict[str, str] | None = None) -> Path:
    rows = [(*probe.pair, (says or {}).get(probe.pair[0], probe.right)) for probe in find_labels(benchmark).probes]
    path.write_text("reply_code,criterion,verdict\n" + "".join(f"{','.join(row)}\n" for row in rows))
    return path


def test_a_judge_is_checked_and_its_file_says_who_it_was(
    tree: Tree, set_up: Benchmark, engine: FakeEngine, tmp_path: Path
) -> None:
    out = tmp_path / "check"
    words = ("judge", "check", "--judge", "vllm:owner/tiny,id=judge-a", "--out", out, "--content", tree.root)
    told = helmbench(*words)
    assert told.startswith(
        "judge-a: fails; 10 verdicts on 10 gold labels, which are not human ratings\nleft out: 1 labels (unsettled)"
    )
    assert "letter order: 0 of 10 verdicts flip (0.0%)" in told
    assert "words to the judge: 0 of 1 verdicts flip" in told
    assert "cost: 22 calls" in told
    assert f"helmbench report --run RUN --check {out}" in told
    found = json.loads((out / "check.json").read_text())
    row = json.loads((out / "judgments/judge-a/judge.json").read_text())
    assert (found["format"], found["state"], found["n"], found["labels"]["basis"]) == (3, "fails", 10, "gold")
    assert {name: found["judge"][name] for name in ("key", "mode", "orders")} == {
        name: row[name] for name in ("key", "mode", "orders")
    }
    assert found["rubric"] == row["rubric"]
    states = {each["criterion"]: (each["state"], each["n"]) for each in found["criteria"] if each["n"]}
    assert states == {"K01": ("fails", 7), "K02": ("fails", 1), "K06": ("fails", 2)}
    assert {each["state"] for each in found["criteria"] if not each["n"]} == {"not checked"}
    [confused] = [each["confusion"] for each in found["criteria"] if each["criterion"] == "K01"]
    assert set(confused) == {"assistant", "edit", "degenerate", "model"}
    assert (confused["edit"], confused["model"]) == ({"FAIL": {"FAIL": 1}, "PARTIAL": {"PARTIAL": 1}}, {"FAIL": {"FAIL": 1}})
    asked = len(engine.submitted)
    again = helmbench(*words, "--criteria", "K06", "--json")
    assert json.loads(again)["n"] == 2
    assert len(engine.submitted) == asked


def test_verdicts_from_elsewhere_are_checked(tree: Tree, set_up: Benchmark, tmp_path: Path) -> None:
    file = replay(set_up, tmp_path / "theirs.csv", {"D002": "PASS", "R004": "?"})
    told = helmbench("judge", "check", "--verdicts", file, "--out", tmp_path / "check", "--content", tree.root, "--json")
    found = json.loads(told)
    assert (found["judge"]["id"], "key" in found["judge"], found["cost"]) == ("theirs", False, None)
    rows = {each["criterion"]: each for each in found["criteria"]}
    assert (rows["K01"]["recall"]["k"], rows["K01"]["recall"]["n"]) == (3, 4)
    assert rows["K06"]["reasons"] == {"unparseable": 1}
    assert found["biases"]["order"] is None


def test_human_labels_stand_for_gold(tree: Tree, set_up: Benchmark, tmp_path: Path) -> None:
    file, labels = replay(set_up, tmp_path / "theirs.csv"), tmp_path / "labels.csv"
    rows = [
        f"{rater},{code},K01,{verdict}\n" for rater in ("ann", "bob") for code, verdict in (("R001", "PASS"), ("R002", "FAIL"))
    ]
    labels.write_text("rater,reply_code,criterion,verdict\n" + "".join(rows) + "ann,R003,K01,PASS\n")
    told = helmbench(
        "judge", "check", "--verdicts", file, "--labels", labels, "--out", tmp_path / "check", "--content", tree.root
    )
    assert "2 verdicts on 2 human labels\nleft out: 1 labels (rated once)" in told
    assert "the raters among themselves: kappa 1.00" in told


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "name one judge"),
        (["--judge", "vllm:x", "--verdicts", "v.csv"], "name one judge"),
        (["--verdicts", "absent.csv"], "cannot be read"),
        (["--judge", "vllm:x", "--criteria", "K99"], "no criterion K99"),
        (["--judge", "vllm:x", "--criteria", "K07"], "there is no label to check a judge with"),
    ],
)
def test_what_cannot_be_checked_is_a_sentence(
    tree: Tree, set_up: Benchmark, tmp_path: Path, options: list[str], said: str
) -> None:
    assert said in helmbench("judge", "check", *options, "--out", tmp_path / "c", "--content", tree.root, code=1)


def test_readers_get_sheets_and_their_answers_count(tree: Tree, set_up: Benchmark, tmp_path: Path) -> None:
    out, answers = tmp_path / "sheets", tmp_path / "answers.json"
    assert "6 replies, 8 labels" in helmbench("judge", "sheet", "--out", out, "--parts", 3, "--content", tree.root)
    assert "give --parts 3" in helmbench("judge", "sheet", "--out", out, "--parts", 2, "--content", tree.root, code=1)
    assert "no label left" in helmbench("judge", "sheet", "--out", out, "--fewer-than", 3, "--content", tree.root)
    answers.write_text(json.dumps({"R001": {"K01": "FAIL"}}))
    given = ("judge", "read", answers, "--sheet", out, "--reader", "ann", "--content", tree.root, "--kind")
    assert "1 verdicts on 1 replies are kept" in helmbench(*given, "human")
    assert "Invalid value for '--kind'" in helmbench(*given, "robot", code=2)
    told = helmbench("judge", "agreement", "--content", tree.root)
    assert "R001 K01: gold PASS; ann FAIL, reader 1 PASS, reader 2 PASS, reader 3 PASS" in told
    assert "11 labels, 2 not settled" in told
    assert json.loads(helmbench("judge", "agreement", "--content", tree.root, "--json"))["unsettled"] == 2


@pytest.fixture
def graded(set_up: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run on the tiny benchmark's judged scenario that the same judge graded."""
    cases = [case for case in expand(set_up) if case.scenario == "P1-B5-S1"]
    for module in (load, completions, grading, scores):
        monkeypatch.setattr(module, "default_benchmark", lambda: set_up)
    monkeypatch.setattr(completions, "load_cases", lambda *_: runs.case_set(cases, set_up.file.version))
    folder = RunFolder(tmp_path / "run")
    folder.write_manifest(runs.manifest(runs.identity(set_up.file.version), len(cases)))
    runs.answer_all(folder, cases, lambda case, turn: "GOOD" if case.member == "crisis" else "BAD")
    judge_run(folder, runs.fake_judge(FakeEngine(labels=letters(right))), runs.Ear())
    return folder


def test_a_run_gives_the_prevalence_and_cites_the_check(
    tree: Tree, graded: RunFolder, engine: FakeEngine, tmp_path: Path
) -> None:
    out, spec = tmp_path / "check", "vllm:owner/tiny,id=judge-a"
    found: dict[str, Any] = json.loads(
        helmbench("judge", "check", "--judge", spec, "--run", graded.root, "--out", out, "--content", tree.root, "--json")
    )
    used = {each["criterion"]: each["use"] for each in found["criteria"] if each["use"]}
    assert used["K06"]["judged"] == used["K06"]["prevalence"] == pytest.approx(0.5)
    written = json.loads(helmbench("score", "--run", graded.root, "--check", out, "--json"))
    assert written == json.loads(graded.scores.read_text())
    assert [(claim["judge"], claim["state"], claim["check"]) for claim in written["checks"]] == [("judge-a", "fails", "check")]
    rows = {row["criterion"]: row for row in written["correction"]["rows"]}
    assert (rows["K06"]["check"], rows["K06"]["basis"], rows["K06"]["n_fail"]) == ("check", "gold", 1)
    assert rows["K06"]["reason"] == "1 labels should PASS and 1 labels should FAIL; 10 are needed"
    scores.print_summary(graded.root)
    other = tmp_path / "other"
    helmbench("judge", "check", "--judge", f"{spec},mode=evidence", "--out", other, "--content", tree.root)
    scores.write_scores(graded.root, [other])
    written = json.loads(graded.scores.read_text())
    assert written["checks"] == []
    assert any("has another mode" in note for note in written["notes"])
    asked = ("judge", "check", "--judge", f"{spec},mode=evidence", "--run", graded.root, "--out", other, "--content", tree.root)
    refused = helmbench(*asked, code=1)
    assert "was not graded by this judge in the same mode" in refused


def test_ratings_of_another_benchmark_are_an_external_check(
    tree: Tree, engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "find_judge", checking.find_judge)
    monkeypatch.setattr(judge_outside, "child_job", lambda job, payload, title, log: outside.child(payload, runs.Ear()))
    file, out = tmp_path / "theirs.csv", tmp_path / "external"
    replies = [("GOOD one", "5"), ("GOOD two", "4"), ("BAD one", "1"), ("GOOD at heart", "2")]
    rows = [f"{rater},{reply},Is it kind?,{mark}\n" for rater in ("ann", "bob") for reply, mark in replies]
    file.write_text("who,text,item,mark\n" + "".join(rows) + "ann,GOOD three,Is it kind?,3\n")
    columns = "rater=who,reply=text,criterion=item,verdict=mark,PASS=4|5,PARTIAL=3,FAIL=1|2"
    asked = ["judge", "check", "--judge", "vllm:owner/tiny,id=judge-a", "--content", tree.root, "--out", out]
    told = helmbench(*asked, "--labels", file, "--format", "columns", "--columns", columns)
    assert "judge-a: 4 labels of 2 human raters in theirs.csv; an external check\nleft out: 1 labels (rated once)" in told
    assert "E001       4   0.75   0.50   1.00    0.50 of 2   0.00 of 2  Is it kind?" in " ".join(told.split("\n"))
    found = json.loads((out / "external.json").read_text())
    [row] = found["criteria"]
    assert (row["agreement"], row["kappa"], row["fail_recall"], row["false_fail"]) == (0.75, 0.5, 0.5, 0.0)
    assert (row["n"], row["fails"], row["others"], found["labels"]["raters"]) == (4, 2, 2, 2)
    assert not (out / "check.json").exists()
    for more, said in (
        (["--format", "columns"], "--columns lacks rater"),
        (["--format", "nothing"], "no format nothing"),
        (["--format", "columns", "--columns", columns, "--criteria", "K01"], "leave --verdicts, --criteria and --run out"),
    ):
        assert said in helmbench(*asked, "--labels", file, *more, code=1)


def test_a_check_says_that_it_holds_no_reply_on_both_twins(tree: Tree, set_up: Benchmark, tmp_path: Path) -> None:
    file = replay(set_up, tmp_path / "theirs.csv")
    asked = ("judge", "check", "--verdicts", file, "--out", tmp_path / "check", "--content", tree.root)
    assert "same reply on both twins: these labels hold none" in helmbench(*asked)
    assert {row["twins"] for row in json.loads(helmbench(*asked, "--json"))["criteria"]} == {None}
