"""`helmbench judge` as a person types it, on the tiny benchmark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from helmbench_hf import evaluation
from helmbench_hf.cli import judge, scores
from helmbench_hf.content.load import Benchmark
from helmbench_hf.judging import check as checking
from helmbench_hf.judging import grade as grading
from helmbench_hf.judging.grade import judge_run
from helmbench_hf.runs import completions
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.tasks.expand import expand
from tests.judging import runs
from tests.support import commands
from tests.support.calibration import letters, plant_calibration, right
from tests.support.fake_engine import FakeEngine
from tests.support.tree import Tree

Check = Callable[..., str]
SPEC = "vllm:owner/tiny,id=judge-a"


@pytest.fixture
def authored(tree: Tree) -> Benchmark:
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


@pytest.fixture
def check(authored: Benchmark, tmp_path: Path) -> Callable[..., str]:
    """What `helmbench judge check` says; its folder is `check`."""

    def run(*options: object, code: int = 0) -> str:
        return helmbench("judge", "check", "--content", authored.root, "--out", tmp_path / "check", *options, code=code)

    return run


def test_a_judge_is_checked_and_its_file_says_who_it_was(check: Check, engine: FakeEngine, tmp_path: Path) -> None:
    out = tmp_path / "check"
    told = check("--judge", SPEC)
    for words in (
        "judge-a: fails; 10 verdicts on 10 gold labels, which are not human ratings\nleft out: 1 labels (unsettled)",
        "letter order: 0 of 10 verdicts flip (0.0%)",
        "words to the judge: 0 of 1 verdicts flip",
        "same reply on both twins: these labels hold none",
        "cost: 22 calls",
        f"helmbench report --run RUN --check {out}",
    ):
        assert words in told
    found = json.loads((out / "check.json").read_text())
    row = json.loads((out / "judgments/judge-a/judge.json").read_text())
    assert (found["format"], found["state"], found["n"], found["labels"]["basis"]) == (4, "fails", 10, "gold")
    assert [found["judge"][name] for name in ("key", "mode", "orders")] == [row[name] for name in ("key", "mode", "orders")]
    assert found["rubric"] == row["rubric"]
    states = {each["criterion"]: (each["state"], each["n"]) for each in found["criteria"] if each["n"]}
    assert states == {"K01": ("fails", 7), "K02": ("fails", 1), "K06": ("fails", 2)}
    assert {(each["state"], each["twins"]) for each in found["criteria"] if not each["n"]} == {("not checked", None)}
    [confused] = [each["confusion"] for each in found["criteria"] if each["criterion"] == "K01"]
    assert set(confused) == {"assistant", "edit", "degenerate", "model"}
    assert (confused["edit"], confused["model"]) == ({"FAIL": {"FAIL": 1}, "PARTIAL": {"PARTIAL": 1}}, {"FAIL": {"FAIL": 1}})
    asked = len(engine.submitted)
    assert json.loads(check("--judge", SPEC, "--criteria", "K06", "--json"))["n"] == 2
    assert len(engine.submitted) == asked


def test_human_labels_stand_for_gold(check: Check, engine: FakeEngine, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    rows = [f"{rater},{said}\n" for rater in ("ann", "bob") for said in ("R001,K01,PASS", "R002,K01,FAIL")]
    labels.write_text("rater,reply_code,criterion,verdict\n" + "".join(rows) + "ann,R003,K01,PASS\n")
    told = check("--judge", SPEC, "--labels", labels)
    assert "2 verdicts on 2 human labels\nleft out: 1 labels (rated once)" in told
    assert "the raters among themselves: kappa 1.00" in told


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--judge", "vllm:x", "--labels", "absent.csv"], "cannot be read"),
        (["--judge", "vllm:x", "--criteria", "K99"], "no criterion K99"),
        (["--judge", "vllm:x", "--criteria", "K07"], "there are no labels to check a judge with"),
    ],
)
def test_what_cannot_be_checked_is_a_sentence(check: Check, options: list[str], said: str) -> None:
    assert said in check(*options, code=1)


def test_readers_get_sheets_and_their_answers_count(authored: Benchmark, tmp_path: Path) -> None:
    out, answers, content = tmp_path / "sheets", tmp_path / "answers.json", ("--content", authored.root)
    assert "6 replies, 8 labels" in helmbench("judge", "sheet", "--out", out, "--parts", 3, *content)
    assert "give --parts 3" in helmbench("judge", "sheet", "--out", out, "--parts", 2, *content, code=1)
    assert "no labels left" in helmbench("judge", "sheet", "--out", out, "--fewer-than", 3, *content)
    answers.write_text(json.dumps({"R001": {"K01": "FAIL"}}))
    given = ("judge", "read", answers, "--sheet", out, "--reader", "ann", *content, "--kind")
    assert "1 verdicts on 1 replies are kept" in helmbench(*given, "human")
    assert "Invalid value for '--kind'" in helmbench(*given, "robot", code=2)
    told = helmbench("judge", "agreement", *content)
    assert "R001 K01: gold PASS; ann FAIL, reader 1 PASS, reader 2 PASS, reader 3 PASS" in told
    assert "11 labels, 2 not settled" in told
    assert json.loads(helmbench("judge", "agreement", *content, "--json"))["unsettled"] == 2


@pytest.fixture
def graded(authored: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run on the tiny benchmark's judged scenario that the same judge graded."""
    cases = [case for case in expand(authored) if case.scenario == "P1-B5-S1"]
    for module in (evaluation, completions, grading, scores):
        monkeypatch.setattr(module, "default_benchmark", lambda: authored)
    monkeypatch.setattr(completions, "load_cases", lambda *_: runs.case_set(cases, authored.file.version))
    folder = RunFolder(tmp_path / "run")
    folder.write_manifest(runs.manifest(runs.identity(authored.file.version), len(cases)))
    runs.answer_all(folder, cases, lambda case, turn: "GOOD" if case.member == "crisis" else "BAD")
    judge_run(folder, runs.fake_judge(FakeEngine(labels=letters(right))), runs.Ear())
    return folder


def test_a_run_gives_the_prevalence_and_cites_the_check(
    check: Check, graded: RunFolder, engine: FakeEngine, tmp_path: Path
) -> None:
    found = json.loads(check("--judge", SPEC, "--run", graded.root, "--json"))
    used = {each["criterion"]: each["use"] for each in found["criteria"] if each["use"]}
    assert used["K06"]["judged"] == used["K06"]["prevalence"] == pytest.approx(0.5)
    score = ("score", "--run", graded.root, "--json")
    written = json.loads(helmbench(*score, "--check", tmp_path / "check"))
    assert written == json.loads(graded.scores.read_text())
    assert [(claim["judge"], claim["state"], claim["check"]) for claim in written["checks"]] == [("judge-a", "fails", "check")]
    [row] = [row for row in written["correction"]["rows"] if row["criterion"] == "K06"]
    assert (row["check"], row["basis"], row["n_fail"]) == ("check", "gold", 1)
    assert row["reason"] == "1 labels should PASS and 1 labels should FAIL; 10 are needed"
    assert "score" in helmbench("score", "--run", graded.root)
    evidence = ("--judge", f"{SPEC},mode=evidence", "--out", tmp_path / "other")
    check(*evidence)
    written = json.loads(helmbench(*score, "--check", tmp_path / "other"))
    assert written["checks"] == []
    assert any("has another mode" in note for note in written["notes"])
    assert "was not graded by this judge in the same mode" in check(*evidence, "--run", graded.root, code=1)
