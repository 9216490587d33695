"""A mistake of the person at the terminal is a sentence; a mistake of ours is a traceback and never a sentence."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any, NoReturn

import pytest
from typer.testing import CliRunner, Result

from helmbench_hf import board, judging
from helmbench_hf.cli.app import app
from helmbench_hf.cli.run import ours
from helmbench_hf.dataset.identity import LOCK
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.judging.claims import CHECK_FORMAT, FILE
from helmbench_hf.runs.folder import RunFolder, write_json
from helmbench_hf.runs.policies import run_policy
from tests.support.calibration import plant_calibration
from tests.support.tree import Tree


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that can be scored."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    run_policy("always-flag", load_cases("smoke"), RunFolder(folder), limit=6)
    return folder


def helmbench(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def sentence(result: Result) -> str:
    """What a command said when it left with a sentence."""
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 1
    return result.stderr


def test_only_errors_of_ours_are_sentences() -> None:
    assert [error for error in ours() if not error.__module__.startswith("helmbench_hf.")] == []


@pytest.fixture(scope="module")
def loaded() -> None:
    """What commands import when they run. A module first imported while a function is broken would keep the broken one."""
    for room in (board, judging):
        for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize(
    ("inside", "command"),
    [
        ("helmbench_hf.runs.merge.merge", ("merge", "OUT", "RUN")),
        ("helmbench_hf.runs.generate.prepare", ("plan", "--model", "endpoint:m")),
        ("helmbench_hf.models.engine.EngineSpec.__post_init__", ("generate", "--run", "OUT", "--model", "vllm:m")),
        ("helmbench_hf.runs.policies.run_policy", ("generate", "--run", "OUT", "--model", "policy:echo")),
        ("helmbench_hf.judging.judge.JudgeSpec.named", ("grade", "--run", "RUN", "--judge", "vllm:m")),
        ("helmbench_hf.cli.study._study", ("study", "RUN", "RUN")),
        ("helmbench_hf.people.plan.study_of", ("people", "export", "--out", "OUT", "--people", "2", "--per-person", "2")),
        ("helmbench_hf.judging.check.find_labels", ("judge", "check", "--verdicts", "RUN/manifest.json")),
        ("helmbench_hf.versions.lock", ("content", "lock", "--content", "TREE")),
        ("helmbench_hf.board.submission.prepare", ("submit", "RUN", "--dry-run")),
        ("helmbench_hf.board.verify.verify", ("verify", "RUN")),
        ("helmbench_hf.board.submission.prepare", ("export", "eee", "RUN", "--out", "OUT", "--organization", "Lab")),
        ("helmbench_hf.board.results.fetch_results", ("board", "build", "--results", "RUN", "--out", "OUT")),
    ],
)
def test_a_broken_invariant_is_no_sentence(
    inside: str, command: tuple[str, ...], run: Path, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> NoReturn:
        raise ValueError("zip() argument 2 is shorter than argument 1")

    monkeypatch.setattr(inside, broken)
    places = {"RUN": str(run), "OUT": str(tmp_path / "out"), "TREE": str(tree.root)}
    for name, path in places.items():
        command = tuple(word.replace(name, path) if word.startswith(name) else word for word in command)
    result = helmbench(*command)
    assert isinstance(result.exception, ValueError), result.output
    assert "shorter" not in result.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--shard", "9"), "'9' is no shard; write i/n"),
        (("--set", "temperature=warm"), "temperature is a number, not 'warm'"),
        (("--set", "top_p=NaN"), "top_p is a number, not nan"),
        (("--set", "seed=1.5"), "seed is a whole number, not 1.5"),
        (("--set", "draws=true"), "draws is a whole number, not True"),
        (("--set", "heat=1"), "a sampling setting does not exist"),
        (("--repeats", "2"), "at temperature 0 repeats are all the same"),
        (("--engine", "horsepower=1"), "an engine setting does not exist"),
        (("--model", "vllm:no model/at all"), "it is no Hub id (owner/name)"),
    ],
)
def test_an_option_that_makes_no_sense_is_a_sentence(options: tuple[str, ...], said: str, smollm2: Path) -> None:
    model = () if "--model" in options else ("--model", f"vllm:{smollm2}")
    assert said in sentence(helmbench("plan", *model, "--design", "smoke", *options))


def test_a_model_with_a_broken_config_is_a_sentence(smollm2: Path, tmp_path: Path) -> None:
    for path in smollm2.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").write_text("{")
    said = sentence(helmbench("plan", "--model", f"vllm:{tmp_path}", "--design", "smoke"))
    assert f"{tmp_path}/config.json cannot be read" in said


def test_two_checks_of_one_name_are_a_sentence(run: Path, tmp_path: Path) -> None:
    for folder in ("one", "other"):
        write_json(tmp_path / folder / "check" / FILE, {"format": CHECK_FORMAT})
    checks = ("--check", tmp_path / "one" / "check", "--check", tmp_path / "other" / "check")
    assert "two checks have the same folder name" in sentence(helmbench("score", "--run", run, *checks))


def test_a_lock_that_cannot_be_read_is_a_sentence(tree: Tree) -> None:
    tree.write(LOCK, "{")
    for command in ("check", "lock"):
        result = helmbench("content", command, "--content", tree.root)
        assert result.exit_code == 1
        assert "restore it from version control" in result.output


@pytest.mark.parametrize(
    "command",
    [
        ("judge", "check", "--verdicts", "said.jsonl"),
        ("judge", "sheet", "--out", "sheets"),
        ("judge", "agreement"),
        ("content", "check"),
        ("content", "lock"),
    ],
)
def test_a_broken_line_of_a_reading_is_named(
    command: tuple[str, ...], tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plant_calibration(tree)
    assert helmbench("content", "lock", "--content", tree.root).exit_code == 0
    file = "review/calibration.jsonl"
    for damage in ('{"reply": ', '{"reply": "R001"}', "[]"):
        lines = tree.text(file).splitlines()
        tree.write(file, "\n".join([lines[0], damage, *lines[2:]]) + "\n")
        assert f"{file}, line 2" in sentence(helmbench(*command, "--content", tree.root))


@pytest.mark.parametrize("command", [("sheet", "--out", "sheets", "--fewer-than", "2"), ("agreement",)])
def test_a_broken_line_of_a_blind_reading_is_named(
    command: tuple[str, ...], tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tree.write("review/P1-B1-S1.jsonl", "{")
    assert "review/P1-B1-S1.jsonl, line 1" in sentence(helmbench("content", *command, "--content", tree.root))


def test_a_calibration_reply_to_no_case_is_a_sentence(tree: Tree) -> None:
    plant_calibration(tree)
    assert helmbench("content", "lock", "--content", tree.root).exit_code == 0
    tree.replace("calibration/P2-B5-S1.yaml", "P2-B5-S1-C1-U0-PT1", "P2-B5-S1-C1-U0-PT9")
    for command in ("check", "lock"):
        result = helmbench("content", command, "--content", tree.root)
        assert "P2-B5-S1-C1-U0-PT9 is no case of P2-B5-S1" in sentence(result)
