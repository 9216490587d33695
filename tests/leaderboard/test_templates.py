"""The template of the results repository does what it says: its workflow's own script on real commits, its Space's own code."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "templates" / "results-repo"
GOOD = "submissions/tiny/0123456789abcdef"


def script(name: str) -> str:
    workflow = yaml.safe_load((TEMPLATE / ".github/workflows/verify.yml").read_text())
    [step] = [step for step in workflow["jobs"]["verify"]["steps"] if step.get("name", "").startswith(name)]
    return str(step["run"])


def test_the_workflow_has_no_rights_and_runs_nothing_of_the_pull_request() -> None:
    workflow = yaml.safe_load((TEMPLATE / ".github/workflows/verify.yml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow[True].keys() == {"pull_request"}, "pull_request_target would give a stranger's files our secrets"
    text = (TEMPLATE / ".github/workflows/verify.yml").read_text()
    assert "secrets." not in text
    assert "${{" not in script("Only one folder") + script("Verify it"), "a name of theirs never becomes a part of a script"
    assert "$BASE:requirements.txt" in script("Install")


@pytest.mark.parametrize(
    ("added", "accepted"),
    [
        ({f"{GOOD}/manifest.json": "{}", f"{GOOD}/judgments/a.jsonl.gz": ""}, True),
        ({f"{GOOD}/manifest.json": "{}", "submissions/tiny/fedcba9876543210/manifest.json": ""}, False),
        ({f"{GOOD}/manifest.json": "{}", "README.md": "changed"}, False),
        ({"requirements.txt": "evil==1"}, False),
        ({f"{GOOD}/a b": ""}, False),
        ({f"{GOOD}/$(id)": ""}, False),
        ({f"{GOOD}/ä": ""}, False),
        ({"submissions/Tiny/0123456789abcdef/manifest.json": ""}, False),
    ],
)
def test_the_workflow_takes_one_new_folder_alone(tmp_path: Path, added: dict[str, str], accepted: bool) -> None:
    repo, temporary = tmp_path / "repo", tmp_path / "temp"
    temporary.mkdir()
    environment = {**os.environ, "RUNNER_TEMP": str(temporary), "BASE": "main", "HEAD": "theirs"}
    for name in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{name}_NAME": "a", f"GIT_{name}_EMAIL": "a@example.org"}

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=repo, env=environment, check=True, capture_output=True)

    repo.mkdir()
    git("init", "-q", "-b", "main")
    write(repo, {"README.md": "results", "requirements.txt": "helmbench-hf"})
    git("add", "-A")
    git("commit", "-qm", "base")
    git("checkout", "-qb", "theirs")
    write(repo, added)
    git("add", "-A")
    git("commit", "-qm", "submission")
    done = subprocess.run(
        ["bash", "-e", "-c", script("Only one folder")], cwd=repo, env=environment, capture_output=True, text=True
    )
    assert (done.returncode == 0) == accepted, done.stdout + done.stderr
    if accepted:
        assert (temporary / "places").read_text() == f"{GOOD}\n"
    else:
        assert "pull-request.changes" in done.stdout


def write(repo: Path, content: dict[str, str]) -> None:
    for name, text in content.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)


@pytest.fixture
def space() -> ModuleType:
    spec = importlib.util.spec_from_file_location("results_space", TEMPLATE / "space" / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def event(**changes: Any) -> dict[str, Any]:
    whole = {
        "event": {"action": "create", "scope": "discussion"},
        "repo": {"type": "dataset", "name": "helmbench/results"},
        "discussion": {"num": 7, "isPullRequest": True, "status": "open"},
    }
    return {name: {**value, **changes.get(name, {})} for name, value in whole.items()}


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
    modules = ("checks", "files", "manifest", "pull_request", "rows", "verify")
    source = "".join((ROOT / "helmbench_hf" / "leaderboard" / f"{name}.py").read_text() for name in modules)
    kinds = "files|json|rows|verdict|scores|manifest|dataset|harness|model|judge|settings|submitter|secret|check|pull-request"
    used = set(re.findall(rf'"((?:{kinds})\.[a-z-]+)"', source)) - {"manifest.json", "scores.json", "model.id"}
    used |= {f"{kind}.{end}" for kind, ends in {"rows": ("twice", "key", "name"), "verdict": ("twice",)}.items() for end in ends}
    told = set(re.findall(r"^\| `([a-z-]+\.[a-z-]+)` \|", (ROOT / "docs" / "submitting.md").read_text(), re.MULTILINE))
    told -= {"manifest.json", "scores.json"}
    assert told == used
