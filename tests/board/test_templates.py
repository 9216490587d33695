"""The template of the results repository does what it says, by its Space's own code."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from helmbench_hf import __version__

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "templates" / "results-repo"


def test_what_is_installed_is_this_version() -> None:
    listed = (TEMPLATE / "space" / "requirements.txt").read_text().splitlines()
    assert f"helmbench-hf=={__version__}" in listed


@pytest.fixture
def space() -> ModuleType:
    spec = importlib.util.spec_from_file_location("results_space", TEMPLATE / "space" / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def event(**changes: Any) -> dict[str, Any]:
    complete = {
        "event": {"action": "create", "scope": "discussion"},
        "repo": {"type": "dataset", "name": "helmbench/results"},
        "discussion": {"num": 7, "isPullRequest": True, "status": "open"},
    }
    return {name: {**value, **changes.get(name, {})} for name, value in complete.items()}


@pytest.mark.parametrize(
    ("payload", "number"),
    [
        (event(), 7),
        (event(event={"action": "update"}), 7),
        (event(event={"scope": "discussion.comment"}), None),
        (event(event={"action": "delete"}), None),
        (event(repo={"name": "helmbench/v1"}), None),
        (event(repo={"type": "model"}), None),
        (event(discussion={"isPullRequest": False}), None),
        (event(discussion={"status": "merged"}), None),
        (event(discussion={"num": "7; id"}), None),
        ({}, None),
    ],
)
def test_the_space_knows_which_pull_request_is_meant(space: ModuleType, payload: dict[str, Any], number: int | None) -> None:
    assert space.number_of(payload) == number


def test_the_space_calls_the_command_with_its_limits(space: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "helmbench"
    fake.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/said\nulimit -v >> {tmp_path}/said\nexit 1\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert space.verify(7) == 1
    command, limit = (tmp_path / "said").read_text().splitlines()
    assert command == "verify --pull-request 7 --repo helmbench/results --comment"
    assert int(limit) == space.MEMORY // 1024


def test_every_reason_stands_in_the_documentation() -> None:
    source = "".join(path.read_text() for path in (ROOT / "helmbench_hf" / "board").glob("*.py"))
    kinds = (
        "board|copy|files|json|rows|verdict|scores|manifest|dataset|harness|model|judge|router|settings|submitter|secret|check"
    )
    kinds += "|pull-request"
    used = set(re.findall(rf'"((?:{kinds})\.[a-z-]+)"', source)) - {"manifest.json", "scores.json", "model.id", "judge.json"}
    used -= {"verdicts.jsonl", "board.css", "board.js"}
    used |= {f"{kind}.{end}" for kind in ("rows", "verdict") for end in ("twice", "name")}
    told = set(re.findall(r"^\| `([a-z-]+\.[a-z-]+)` \|", (ROOT / "docs" / "submitting.md").read_text(), re.MULTILINE))
    assert told - {"manifest.json", "scores.json", "verdicts.jsonl"} == used
