"""A mistake of the person at the terminal is a sentence; a mistake of ours is a traceback and never a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest
from typer.testing import CliRunner

from helmbench_hf.cli.app import app
from helmbench_hf.dataset.identity import LOCK
from helmbench_hf.judging.claims import CHECK_FORMAT, FILE
from helmbench_hf.runs.folder import RunError, write_json
from tests.support.calibration import plant_calibration
from tests.support.commands import helmbench
from tests.support.tree import Tree


@pytest.mark.parametrize(
    "error", [ValueError("zip() argument 2 is shorter than argument 1"), KeyError("shorter"), AssertionError("shorter")]
)
def test_a_broken_invariant_is_no_sentence(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> NoReturn:
        raise error

    for inside, words in (
        ("helmbench_hf.cli.run.put_together", ("merge", "out", "run")),
        ("helmbench_hf.cli.submit.check_submission", ("verify", "run")),
        ("helmbench_hf.models.engine.EngineSpec.__post_init__", ("plan", "--model", "endpoint:m")),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(inside, broken)
            result = CliRunner().invoke(app, words)
        assert result.exception is error
        assert "shorter" not in result.output


@pytest.mark.parametrize("error", [RunError("one \x1b[2Jline\nanother"), OSError(28, "No space left on device", "one line")])
def test_an_error_of_ours_or_of_the_system_is_a_harmless_sentence(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> NoReturn:
        raise error

    monkeypatch.setattr("helmbench_hf.cli.run.put_together", broken)
    said = helmbench("merge", "out", "run", code=1).stderr
    assert "one line" in said
    assert "\x1b" not in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--shard", "9"), "'9' is not a shard; write i/n"),
        (("--set", "temperature=warm"), "temperature must be a number, not 'warm'"),
        (("--set", "top_p=NaN"), "top_p must be a number, not nan"),
        (("--set", "seed=1.5"), "seed must be a whole number, not 1.5"),
        (("--set", "draws=true"), "draws must be a whole number, not True"),
        (("--set", "heat=1"), "there is no sampling setting"),
        (("--set", "draws=2"), "at temperature 0 all repeats are the same"),
        (("--engine", "horsepower=1"), "there is no engine setting"),
        (("--model", "vllm:no model/at all"), "it is no Hub id (owner/name)"),
    ],
)
def test_an_option_that_makes_no_sense_is_a_sentence(options: tuple[str, ...], said: str, smollm2: Path) -> None:
    model = () if "--model" in options else ("--model", f"vllm:{smollm2}")
    assert said in helmbench("plan", *model, "--design", "smoke", *options, code=1).stderr


def test_a_model_with_a_broken_config_is_a_sentence(smollm2: Path, tmp_path: Path) -> None:
    for path in smollm2.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").write_text("{")
    said = helmbench("plan", "--model", f"vllm:{tmp_path}", "--design", "smoke", code=1).stderr
    assert f"{tmp_path}/config.json cannot be read" in said


def test_two_checks_of_one_name_are_a_sentence(run: Path, tmp_path: Path) -> None:
    for folder in ("one", "other"):
        write_json(tmp_path / folder / "check" / FILE, {"format": CHECK_FORMAT})
    checks = ("--check", tmp_path / "one" / "check", "--check", tmp_path / "other" / "check")
    assert "two checks have the same folder name" in helmbench("score", "--run", run, *checks, code=1).stderr


def test_a_lock_that_cannot_be_read_is_a_sentence(tree: Tree) -> None:
    tree.write(LOCK, "{")
    for command in ("check", "lock"):
        result = helmbench("content", command, "--content", tree.root, code=1)
        assert "restore it from version control" in result.output


@pytest.mark.parametrize(
    "command",
    [
        ("judge", "check", "--judge", "vllm:x"),
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
    helmbench("content", "lock", "--content", tree.root)
    file = "review/calibration.jsonl"
    for damage in ('{"reply": ', '{"reply": "R001"}', "[]"):
        lines = tree.text(file).splitlines()
        tree.write(file, "\n".join([lines[0], damage, *lines[2:]]) + "\n")
        assert f"{file}, line 2" in helmbench(*command, "--content", tree.root, code=1).stderr


@pytest.mark.parametrize("command", [("sheet", "--for", "gold", "--out", "sheets"), ("agreement",), ("check",)])
def test_a_broken_line_of_a_blind_reading_is_named(
    command: tuple[str, ...], tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tree.write("review/P1-B1-S1.jsonl", "{")
    assert "review/P1-B1-S1.jsonl, line 1" in helmbench("content", *command, "--content", tree.root, code=1).stderr


def test_a_calibration_reply_to_no_case_is_a_sentence(tree: Tree) -> None:
    plant_calibration(tree)
    helmbench("content", "lock", "--content", tree.root)
    tree.replace("calibration/P2-B5-S1.yaml", "P2-B5-S1-C1-U0-PT1", "P2-B5-S1-C1-U0-PT9")
    for command in ("check", "lock"):
        said = helmbench("content", command, "--content", tree.root, code=1).stderr
        assert "P2-B5-S1-C1-U0-PT9 is not a case of P2-B5-S1" in said
