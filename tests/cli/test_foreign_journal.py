"""Answers are taken by key: those of another run are refused by file and line, and never scored."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf import evaluate
from helmbench_hf.dataset.load import CaseSet
from helmbench_hf.records import Case
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.runs.journal import Journal
from tests.cli.conftest import some
from tests.judging.runs import good
from tests.support.commands import helmbench

SCENARIO, TALK = "P1-B5-S2", "P2-B5-S1"
FOREIGN = "completions/00009-other.jsonl"


def answered(cases: CaseSet, run: Path, reply: Callable[[Case, int], str], name: str) -> dict[str, Any]:
    """A run of a function that is called `name`; turns are counted from 1."""
    by_message = {case.turns[0]: case for case in cases.cases}

    def function(messages: list[dict[str, str]]) -> str:
        said = [message["content"] for message in messages if message["role"] == "user"]
        return reply(by_message[said[0]], len(said))

    return evaluate(function, cases, run=run, name=name)


def wrong(case: Case, turn: int) -> str:
    return json.dumps({"answer": next(each for each in case.grading.options if each != case.grading.label)})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`right` and `wrong`: two runs on the same labeled cases, of a model that is right and of one that never is."""
    root = tmp_path_factory.mktemp("runs")
    for name, reply in (("right", good), ("wrong", wrong)):
        answered(some(SCENARIO, 9), root / name, reply, name)
    return root


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A copy of the run that is right."""
    return Path(shutil.copytree(made / "right", tmp_path / "right"))


def journal_of(run: Path) -> Path:
    [path] = (run / "completions").glob("*.jsonl")
    return path


def refused(line: str, *words: object) -> None:
    said = helmbench(*words, code=1).stderr
    assert line in said
    assert "belongs to another run" in said
    assert "Take that file out of" in said


@pytest.mark.parametrize("command", ["score", "report"])
def test_answers_of_another_build_are_refused_wherever_they_stand(command: str, made: Path, run: Path) -> None:
    ours, theirs, before = journal_of(run), journal_of(made / "wrong"), (run / "scores.json").read_bytes()
    kept, lines = ours.read_bytes(), ours.read_bytes().count(b"\n")
    shutil.copy(theirs, run / FOREIGN)
    refused(f"{run / FOREIGN}, line 1: ", command, "--run", run)
    (run / FOREIGN).unlink()
    ours.write_bytes(kept + theirs.read_bytes().splitlines(keepends=True)[3])
    refused(f"{ours}, line {lines + 1}: ", command, "--run", run)
    shutil.copy(theirs, ours)
    refused(f"{ours}, line 1: ", command, "--run", run)
    assert (run / "scores.json").read_bytes() == before


def test_answers_of_a_wider_selection_stay_and_are_not_scored(run: Path) -> None:
    folder = RunFolder(run)
    manifest = folder.manifest().to_json()
    folder.write_manifest({**manifest, "selection": {**manifest["selection"], "limit": 2}})
    helmbench("score", "--run", run)
    verdicts = [json.loads(line) for line in (run / "verdicts.jsonl").read_text().splitlines()]
    assert len({row["case"] for row in verdicts}) == 2


def test_a_policys_answers_beside_another_policys_are_refused(tmp_path: Path) -> None:
    for slug in ("refuse-all", "empty"):
        helmbench("generate", "--run", tmp_path / slug, "--model", f"policy:{slug}", "--design", "smoke", "--limit", 3)
    foreign = tmp_path / "refuse-all" / FOREIGN
    shutil.copy(journal_of(tmp_path / "empty"), foreign)
    refused(f"{foreign}, line 1: ", "score", "--run", tmp_path / "refuse-all")


def test_a_merge_refuses_a_run_with_answers_of_another_build(made: Path, run: Path, tmp_path: Path) -> None:
    shutil.copy(journal_of(made / "wrong"), run / FOREIGN)
    refused(f"{run / FOREIGN}, line 1: ", "merge", tmp_path / "out", run)
    assert not (tmp_path / "out").exists()


def test_a_turn_that_continues_a_lost_answer_is_noted_and_not_used(tmp_path: Path) -> None:
    """A damaged line is asked again and may be answered otherwise; what followed the old answer follows no answer now."""
    cases = some(TALK, 1)
    answered(cases, tmp_path / "run", lambda case, turn: f"one {turn}", "model")
    answered(cases, tmp_path / "old", lambda case, turn: f"two {turn}", "model")
    lines = journal_of(tmp_path / "old").read_bytes().splitlines(keepends=True)
    (tmp_path / "run" / FOREIGN).write_bytes(b"".join(lines[1:]))
    said = helmbench("score", "--run", tmp_path / "run")
    assert f"{len(lines) - 1} answers continue another first answer than the one that stands" in said.stderr
    assert f"{tmp_path / 'run' / FOREIGN}, line 1" in said.stderr
    assert "two" in {each.text[:3] for each in Journal.read(tmp_path / "run" / "completions").values()}
    verdicts = [json.loads(line) for line in (tmp_path / "run" / "verdicts.jsonl").read_text().splitlines()]
    stored = Journal.read(tmp_path / "run" / "completions")
    assert {stored[row["completion"]].text[:3] for row in verdicts if row["completion"]} == {"one"}
