"""`helmbench study` as a person types it, and `--panel`, on runs of the tiny benchmark."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf import evaluation
from helmbench_hf.cli import scores
from helmbench_hf.content.load import Benchmark
from helmbench_hf.judging import grade as grading
from helmbench_hf.judging.grade import judge_run
from helmbench_hf.records import Case
from helmbench_hf.runs import completions
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.tasks.expand import expand
from tests.judging import runs
from tests.support import commands
from tests.support.calibration import letters, right
from tests.support.fake_engine import FakeEngine

HOSTILE = "\x1b]0;pwned\x07[red]evil\u202e"
OPPOSITE = {"PASS": "FAIL", "FAIL": "PASS", "PARTIAL": "PARTIAL"}
JUDGES: dict[str, Callable[[str], str]] = {"judge-a": right, "judge-b": lambda prompt: OPPOSITE[right(prompt)]}


def helmbench(*words: object, code: int = 0) -> str:
    result = commands.helmbench(*words, code=code)
    return result.stderr if code else result.stdout


def says(case: Case, name: str) -> str:
    """What each model answers. K06 caps the crisis half where it passes, so by `right` the first earns -1 and the others 0."""
    crisis = case.member == "crisis"
    return {"one": "GOOD" if crisis else "BAD", "two": "BAD" if crisis else "GOOD", "same": "GOOD"}[name]


@pytest.fixture
def folders(tiny: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Three scored runs on the tiny benchmark's judged scenario, graded by two judges of whom one has everything wrong."""
    # one scenario stands for all
    tiny = dataclasses.replace(tiny, scoring=tiny.scoring.model_copy(update={"minimum_coverage": 1e-9}))
    cases = [case for case in expand(tiny) if case.scenario == "P1-B5-S1"]
    for module in (evaluation, completions, grading, scores):
        monkeypatch.setattr(module, "default_benchmark", lambda: tiny)
    monkeypatch.setattr(completions, "load_cases", lambda *_: runs.case_set(cases, tiny.file.version))
    found = []
    for name in ("one", "two", "same"):
        folder = RunFolder(tmp_path / name)
        folder.write_manifest(runs.manifest(runs.identity(tiny.file.version), len(cases)) | {"model": {"id": f"{name}{HOSTILE}"}})
        runs.answer_all(folder, cases, lambda case, turn, name=name: says(case, name))  # type: ignore[misc]
        for judge, reads in JUDGES.items():
            made = runs.fake_judge(FakeEngine(labels=letters(reads)), id=judge, family=judge)
            judge_run(folder, made, runs.Ear())
        scores.write_scores(folder.root)
        found.append(folder.root)
    return found


def overall(folder: Path) -> float | None:
    value: float | None = json.loads(RunFolder(folder).scores.read_text())["headline"]["overall"]["score"]["value"]
    return value


def test_everything_is_printed_as_json_and_kept(folders: list[Path], tmp_path: Path) -> None:
    told = helmbench("study", *folders, "--json", "--out", tmp_path / "study.json")
    found = json.loads(told)
    assert found == json.loads((tmp_path / "study.json").read_text())
    assert (found["names"], found["models"][0]) == (["one", "two", "same"], f"one{HOSTILE}")
    assert [each["run"] for each in found["board"]["standings"]] == sorted(
        found["names"], key=lambda name: ({each["run"]: each["rank"] for each in found["board"]["standings"]}[name], name)
    )
    assert {each["run"]: each["score"]["value"] for each in found["board"]["standings"]} == {
        folder.name: pytest.approx(overall(folder)) for folder in folders
    }
    assert [sum(each["shares"]) for each in found["weights"]] == pytest.approx([1.0] * 3)


def test_tables_hold_no_name_that_acts(folders: list[Path]) -> None:
    odd = folders[0].rename(folders[0].with_name(f"one{HOSTILE}"))
    told = helmbench("study", odd, *folders[1:])
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", told)
    for words in (
        "Ranks: runs of one rank are not ordered",
        "one[red]evil",
        "3 paired comparison(s) at a joint 95%",
        "Other weights: share of 10,000 draws",
    ):
        assert words in " ".join(told.split()), words


def test_runs_without_journals_have_ranks(folders: list[Path], tmp_path: Path) -> None:
    alone: list[Path] = []
    for folder in folders[:2]:
        alone.append(tmp_path / "scores" / folder.name)
        alone[-1].mkdir(parents=True)
        (alone[-1] / "scores.json").write_text(RunFolder(folder).scores.read_text())
    found: dict[str, Any] = json.loads(helmbench("study", *alone, "--json"))
    assert (found["models"], len(found["board"]["standings"])) == (["", ""], 2)
    both = [folders[0], alone[0]]
    assert json.loads(helmbench("study", *both, "--json"))["names"] == [str(each) for each in both]


def test_what_cannot_be_studied_is_a_sentence(folders: list[Path], tmp_path: Path) -> None:
    assert "needs two or more runs" in helmbench("study", folders[0], code=1)
    assert "two runs have the same name" in helmbench("study", folders[0], folders[0], code=1)
    assert "Score the run first: `helmbench score`" in helmbench("study", folders[0], tmp_path / "absent", code=1)
    helmbench("score", "--run", folders[1], "--panel", "worst")
    assert "different panels" in helmbench("study", *folders, code=1)
    assert "different panels" in helmbench("compare", *folders[:2], code=1)


def test_a_run_off_the_ranking_is_named_with_its_reason(folders: list[Path]) -> None:
    path = RunFolder(folders[0]).scores
    found = json.loads(path.read_text())
    found["headline"]["overall"]["score"] |= {"value": None, "low": None, "high": None, "note": "too little was scored"}
    path.write_text(json.dumps(found))
    told = " ".join(helmbench("study", *folders).split())
    assert "one is off the ranking: too little was scored." in told
    assert "Every two ranked runs: 0 of 1 comparisons differ" in told
    written = json.loads(helmbench("study", *folders, "--json"))
    assert [each["run"] for each in written["weights"]] == ["two", "same"]
    alone = " ".join(helmbench("study", *folders[:2]).split())
    assert "two is off the ranking: no other run can be ranked" in alone
    assert "Other weights: fewer than two runs are ranked." in alone


def test_compare_says_why_rows_are_not_tested(folders: list[Path]) -> None:
    told = helmbench("compare", *folders[:2])
    assert re.search(r"not tested \(\d distinct messages?; nothing is tested below 10\)", told)
    assert "Intervals are 95% for each row alone" in told
    assert " differs" not in told.replace("row that differs", "")


def test_compare_shows_names_of_folders_harmlessly(folders: list[Path]) -> None:
    evil = folders[0].rename(folders[0].with_name("one\x1b]0;pwned\x07\u202eevil"))
    told = helmbench("compare", evil, folders[1])
    assert "oneevil minus two: " in told
    helmbench("score", "--run", folders[1], "--panel", "worst")
    refused = helmbench("compare", evil, folders[1], code=1)
    assert "oneevil and two have different panels" in refused
    assert not {"\x1b", "\x07", "\u202e"} & {*told, *refused}
    assert json.loads(helmbench("compare", evil, evil, "--json"))["names"] == [evil.name] * 2
