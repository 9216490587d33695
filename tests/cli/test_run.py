"""`generate` and `run` as a person types them, up to the job that they start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.cli import run
from helmbench_hf.cli.asking import judge_spec
from tests.support.commands import helmbench

Row = dict[str, Any]


@pytest.fixture
def later() -> list[Row]:
    """What the stages `grade` and `report` would have been told."""
    return []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, later: list[Row]) -> list[Row]:
    """What the child processes would have been told."""
    found: list[Row] = []
    monkeypatch.setattr(run, "child_job", lambda job, payload, title, log: found.append(payload))
    monkeypatch.setattr(run, "grade", lambda run, judge, **machine: later.append(machine))
    monkeypatch.setattr(run, "report", lambda run, panel: later.append({"panel": panel}))
    return found


def typed(command: str, options: list[str], smollm2: Path, folder: Path, code: int = 0) -> str:
    return helmbench(command, "--run", folder, "--model", f"vllm:{smollm2}", *options, code=code).stderr


@pytest.mark.parametrize("command", ["generate", "run"])
@pytest.mark.parametrize(
    ("options", "draws", "shard"),
    [
        (["--repeats", "3", "--shard", "2/4"], 3, "2/4"),
        (["--set", "draws=3"], 3, None),
        (["--repeats", "3", "--set", "draws=3"], 3, None),
        ([], 1, None),
    ],
)
def test_repeats_and_shard_reach_the_job(
    command: str, options: list[str], draws: int, shard: str | None, asked: list[Row], smollm2: Path, tmp_path: Path
) -> None:
    typed(command, ["--set", "temperature=0.7", *options], smollm2, tmp_path)
    assert [(payload["settings"]["draws"], payload["shard"]) for payload in asked] == [(draws, shard)]


@pytest.mark.parametrize(
    ("options", "size", "dtype", "of_judges"),
    [
        (["--tensor-parallel", "2"], 2, "auto", 2),
        (["-e", "tensor_parallel_size=3", "-e", "dtype=float32"], 3, "float32", None),
        ([], 1, "auto", None),
    ],
)
def test_tensor_parallel_reaches_model_and_judges_and_the_panel_the_report(
    options: list[str],
    size: int,
    dtype: str,
    of_judges: int | None,
    asked: list[Row],
    later: list[Row],
    smollm2: Path,
    tmp_path: Path,
) -> None:
    typed("run", [*options, "--panel", "majority"], smollm2, tmp_path)
    [engine] = [payload["engine"] for payload in asked]
    assert (engine["tensor_parallel_size"], engine["dtype"]) == (size, dtype)
    assert later == [{"tensor_parallel": of_judges}, {"panel": "majority"}]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("vllm:acme/x", {"tensor_parallel_size": 4, "thinking": "off"}),
        ("vllm:acme/x,tensor_parallel_size=2,thinking=on", {"tensor_parallel_size": 2, "thinking": "on"}),
        ("endpoint:x,base_url=http://127.0.0.1:1/v1", {"base_url": "http://127.0.0.1:1/v1", "thinking": "off"}),
    ],
)
def test_judges_take_machine_and_thinking_unless_they_say_their_own(text: str, options: Row) -> None:
    assert judge_spec(text, "off", 4).options == options


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tensor-parallel", "2", "-e", "tensor_parallel_size=3"], "--engine tensor_parallel_size=3 contradicts"),
        (["--repeats", "3"], "at temperature 0 repeats are all the same; add --set temperature=0.7"),
        (["--repeats", "3", "--set", "draws=2", "--set", "temperature=1"], "--repeats 3 contradicts --set draws=2"),
        (["--shard", "5/4"], "'5/4' is no shard; write i/n"),
        (["--model", "policy:echo", "--shard", "1/4"], "leave --repeats and --shard out"),
        (["--model", "policy:echo", "--repeats", "2"], "leave --repeats and --shard out"),
    ],
)
@pytest.mark.parametrize("command", ["generate", "run"])
def test_what_makes_no_sense_is_a_sentence(
    command: str, options: list[str], said: str, asked: list[Row], smollm2: Path, tmp_path: Path
) -> None:
    assert said in typed(command, options, smollm2, tmp_path / "r", code=1)
    assert asked == []
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("generate", "--repeats", "0"),
        ("generate", "--reuse", "sometimes"),
        ("run", "--panel", "mean"),
        ("score", "--panel", "mean"),
        ("report", "--panel", "mean"),
    ],
)
def test_a_value_that_an_option_has_not_is_refused_before_anything_runs(words: tuple[str, ...], tmp_path: Path) -> None:
    command, *options = words
    assert f"Invalid value for '{options[0]}'" in helmbench(command, "--run", tmp_path / "r", *options, code=2).stderr
    assert not (tmp_path / "r").exists()
