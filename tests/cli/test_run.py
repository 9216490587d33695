"""`generate` and `run` as a person types them, up to the job that they start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.cli import run
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
    monkeypatch.setattr(run, "_graded", lambda run, judge: later.append({}) or "graded")
    monkeypatch.setattr(run, "report", lambda run, panel: later.append({"panel": panel}))
    return found


def typed(command: str, options: list[str], smollm2: Path, folder: Path, code: int = 0) -> str:
    return helmbench(command, "--run", folder, "--model", f"vllm:{smollm2}", *options, code=code).stderr


@pytest.mark.parametrize("command", ["generate", "run"])
def test_settings_reach_the_job_and_the_panel_the_report(
    command: str, asked: list[Row], later: list[Row], smollm2: Path, tmp_path: Path
) -> None:
    options = ["--set", "temperature=0.7", "-s", "draws=3", "--shard", "2/4", "-e", "tensor_parallel_size=3"]
    panel = ["--panel", "majority"] if command == "run" else []
    typed(command, [*options, *panel], smollm2, tmp_path)
    [payload] = asked
    assert (payload["settings"]["draws"], payload["shard"], payload["engine"]["tensor_parallel_size"]) == (3, "2/4", 3)
    assert later == ([{}, {"panel": "majority"}] if panel else [])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "draws=3"], "at temperature 0 all repeats are the same; raise it, for example with --set temperature=0.7"),
        (["--shard", "5/4"], "'5/4' is not a shard; write i/n"),
        (["--model", "policy:echo", "--shard", "1/4"], "leave --set and --shard out"),
        (["--model", "policy:echo", "--set", "draws=2"], "leave --set and --shard out"),
    ],
)
@pytest.mark.parametrize("command", ["generate", "run"])
def test_what_makes_no_sense_is_a_sentence(
    command: str, options: list[str], said: str, asked: list[Row], smollm2: Path, tmp_path: Path
) -> None:
    assert said in typed(command, options, smollm2, tmp_path / "r", code=1)
    assert asked == []
    assert not (tmp_path / "r").exists()
