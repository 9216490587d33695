"""`generate` and `run` as a person types them, up to the job that they start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helmbench_hf.cli import grade, run
from helmbench_hf.cli.app import app
from helmbench_hf.cli.grade import judge_spec

runner = CliRunner()


@pytest.fixture
def graded() -> list[dict[str, Any]]:
    """On what the judges would have run."""
    return []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, graded: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the child processes would have been told."""
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(run, "child_job", lambda job, payload, title, log: found.append(payload))
    monkeypatch.setattr(grade, "grade", lambda run, judge, **machine: graded.append(machine))
    monkeypatch.setattr(grade, "report", lambda run, panel: graded.append({"panel": panel}))
    return found


@pytest.mark.parametrize("command", ["generate", "run"])
def test_repeats_and_shard_reach_the_job(command: str, asked: list[dict[str, Any]], smollm2: Path, tmp_path: Path) -> None:
    base = [command, "--run", str(tmp_path / "r"), "--model", f"vllm:{smollm2}", "--set", "temperature=0.7"]
    for options in (["--repeats", "3", "--shard", "2/4"], ["--set", "draws=3"], ["--repeats", "3", "--set", "draws=3"], []):
        result = runner.invoke(app, [*base, *options])
        assert result.exit_code == 0, result.output
    assert [payload["settings"]["draws"] for payload in asked] == [3, 3, 3, 1]
    assert [payload["shard"] for payload in asked] == ["2/4", None, None, None]


@pytest.mark.parametrize("command", ["generate", "run"])
def test_tensor_parallel_reaches_model_and_judges(
    command: str, asked: list[dict[str, Any]], graded: list[dict[str, Any]], smollm2: Path, tmp_path: Path
) -> None:
    base = [command, "--run", str(tmp_path / "r"), "--model", f"vllm:{smollm2}"]
    for options in (
        ["--tensor-parallel", "2"],
        ["-e", "tensor_parallel_size=3", "-e", "dtype=float32"],
        [],
    ):
        result = runner.invoke(app, [*base, *options])
        assert result.exit_code == 0, result.output
    engines = [payload["engine"] for payload in asked]
    assert [(each["tensor_parallel_size"], each["dtype"]) for each in engines] == [(2, "auto"), (3, "float32"), (1, "auto")]
    if command == "run":
        machines = [each for each in graded if "panel" not in each]
        assert machines == [{"tensor_parallel": 2}, {"tensor_parallel": None}, {"tensor_parallel": None}]


def test_the_panel_reaches_the_report(
    asked: list[dict[str, Any]], graded: list[dict[str, Any]], smollm2: Path, tmp_path: Path
) -> None:
    base = ["run", "--run", str(tmp_path / "r"), "--model", f"vllm:{smollm2}"]
    for options in ([], ["--panel", "majority"]):
        assert runner.invoke(app, [*base, *options]).exit_code == 0
    assert [each["panel"] for each in graded if "panel" in each] == ["first", "majority"]


@pytest.mark.parametrize("command", ["run", "score", "report"])
def test_an_unknown_panel_is_refused_before_anything_runs(
    command: str, asked: list[dict[str, Any]], graded: list[dict[str, Any]], smollm2: Path, tmp_path: Path
) -> None:
    model = ["--model", f"vllm:{smollm2}"] if command == "run" else []
    result = runner.invoke(app, [command, "--run", str(tmp_path / "r"), "--panel", "mean", *model])
    assert result.exit_code == 2
    assert "no panel; one of first, majority" in " ".join(result.stderr.split())
    assert asked == graded == []


def test_judges_take_the_machine_unless_they_say_their_own() -> None:
    def options(text: str) -> dict[str, Any]:
        return judge_spec(text, tensor_parallel_size=4).options

    assert options("vllm:acme/x") == {"tensor_parallel_size": 4}
    assert options("vllm:acme/x,tensor_parallel_size=2") == {"tensor_parallel_size": 2}
    assert options("endpoint:x,base_url=http://127.0.0.1:1/v1") == {"base_url": "http://127.0.0.1:1/v1"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--tensor-parallel", "2", "-e", "tensor_parallel_size=3"],
            "--engine tensor_parallel_size=3 and the option of its own (2) contradict each other",
        ),
        (["--repeats", "3"], "at temperature 0 repeats are all the same; add --set temperature=0.7"),
        (["--repeats", "3", "--set", "draws=2", "--set", "temperature=1"], "--repeats 3 and --set draws=2 contradict each other"),
        (["--repeats", "0"], "Invalid value for '--repeats'"),
        (["--shard", "5/4"], "'5/4' is no shard; write i/n"),
        (["--model", "policy:echo", "--shard", "1/4"], "leave --repeats and --shard out"),
        (["--model", "policy:echo", "--repeats", "2"], "leave --repeats and --shard out"),
    ],
)
@pytest.mark.parametrize("command", ["generate", "run"])
def test_what_makes_no_sense_is_a_sentence(
    command: str, options: list[str], said: str, asked: list[dict[str, Any]], smollm2: Path, tmp_path: Path
) -> None:
    result = runner.invoke(app, [command, "--run", str(tmp_path / "r"), "--model", f"vllm:{smollm2}", *options])
    assert result.exit_code != 0
    assert said in result.stderr
    assert asked == []
    assert not (tmp_path / "r").exists()
