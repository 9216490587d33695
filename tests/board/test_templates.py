"""The template of the results repository does what it says: its workflow's own script on real commits, its Space's own code."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from helmbench_hf import __version__
from tests.board import made

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
        ({f"{GOOD}/manifest.json": "{}", f"{GOOD}/judgments/a/judge.json": ""}, True),
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
    done = Forge(tmp_path).step("Only one folder", lambda repo: write(repo, added))
    assert (done.returncode == 0) == accepted, done.stdout + done.stderr
    if accepted:
        assert (tmp_path / "temp" / "places").read_text() == f"{GOOD}\n"
    else:
        assert "pull-request.changes" in done.stdout


@pytest.mark.parametrize("honest", [True, False])
def test_the_workflow_verifies_a_real_submission(honest: bool, original: Path, tmp_path: Path) -> None:
    """With the memory that it allows, and what the main branch says is installed."""

    def submit(repo: Path) -> None:
        place = repo / "submissions" / original.parent.name / original.name
        folder = Path(shutil.copytree(original, place))
        write(repo, {"requirements.txt": "evil==1"})
        if not honest:
            rows = made.rows_of(folder / "verdicts.jsonl")
            made.write_rows(folder / "verdicts.jsonl", rows[1:])
            made.sign(folder)

    forge = Forge(tmp_path)
    done = forge.step("Install", submit)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "temp" / "requirements.txt").read_text() == (TEMPLATE / "requirements.txt").read_text()
    [place] = [path.parent.relative_to(forge.repo) for path in forge.repo.glob("submissions/*/*/manifest.json")]
    (tmp_path / "temp" / "places").write_text(f"{place}\n")
    done = forge.step("Verify it")
    assert done.returncode == (0 if honest else 1), done.stdout + done.stderr
    assert ("accepted" if honest else "verdict.edited") in done.stdout


@pytest.mark.parametrize("path", ["requirements.txt", "space/requirements.txt"])
def test_what_is_installed_is_this_version(path: str) -> None:
    found = {each.name: each for each in map(Requirement, (TEMPLATE / path).read_text().splitlines())}
    assert str(found["helmbench-hf"].specifier) == f"=={__version__}"


class Forge:
    """A forge with actions: the template on the main branch, and the steps of the workflow on the branch of a pull request."""

    def __init__(self, root: Path) -> None:
        self.repo, temporary, programs = root / "repo", root / "temp", root / "bin"
        for folder in (temporary, programs):
            folder.mkdir()
        self.environment = {**os.environ, "RUNNER_TEMP": str(temporary), "BASE": "main", "HEAD": "theirs"}
        self.environment |= {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        for name in ("AUTHOR", "COMMITTER"):
            self.environment |= {f"GIT_{name}_NAME": "a", f"GIT_{name}_EMAIL": "a@example.org"}
        command = "from helmbench_hf.cli.app import main; main()"
        for name, line in (("pip", "exit 0"), ("helmbench", f'exec {sys.executable} -c "{command}" "$@"')):
            (programs / name).write_text(f"#!/bin/sh\n{line}\n")
            (programs / name).chmod(0o755)
        shutil.copytree(TEMPLATE, self.repo)
        self.git("init", "-q", "-b", "main")
        self.commit()

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.repo, env=self.environment, check=True, capture_output=True)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "change")

    def step(self, name: str, change: Callable[[Path], object] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a step of the workflow, after a change of the pull request, as the forge's shell does."""
        if change is not None:
            self.git("checkout", "-qb", "theirs")
            change(self.repo)
            self.commit()
        return subprocess.run(
            ["bash", "-e", "-c", script(name)], cwd=self.repo, env=self.environment, capture_output=True, text=True, check=False
        )


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
    kinds = "board|copy|files|json|rows|verdict|scores|manifest|dataset|harness|model|judge|settings|submitter|secret|check"
    kinds += "|pull-request"
    used = set(re.findall(rf'"((?:{kinds})\.[a-z-]+)"', source)) - {"manifest.json", "scores.json", "model.id", "judge.json"}
    used -= {"verdicts.jsonl", "board.css", "board.js"}
    used |= {f"{kind}.{end}" for kind in ("rows", "verdict") for end in ("twice", "name")}
    told = set(re.findall(r"^\| `([a-z-]+\.[a-z-]+)` \|", (ROOT / "docs" / "submitting.md").read_text(), re.MULTILINE))
    assert told - {"manifest.json", "scores.json", "verdicts.jsonl"} == used
