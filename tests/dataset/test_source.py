"""A release is built from what a commit of git holds, and from nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from helmbench_hf.dataset.source import SourceError, build_inputs, clean_commit


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with content, code, and something else."""
    root = tmp_path / "checkout"
    for name in ("content/a.yaml", "content/b.yaml", "code/c.py", "notes/n.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / ".gitignore").write_text("*.secret\n__pycache__/\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all")
    return root


def test_a_clean_tree_gives_its_commit(checkout: Path) -> None:
    (checkout / "notes/n.txt").write_text("changed, and no part of the dataset")
    (checkout / "code/__pycache__").mkdir()
    (checkout / "code/__pycache__/c.pyc").write_bytes(b"")
    assert clean_commit([checkout / "content", checkout / "code"]) == git(checkout, "rev-parse", "HEAD")


@pytest.mark.parametrize("name", ["content/a.yaml", "content/new.yaml", "content/ignored.secret", "code/c.py"])
@pytest.mark.parametrize("staged", [False, True])
def test_what_no_commit_holds_is_refused_by_name(name: str, staged: bool, checkout: Path) -> None:
    (checkout / name).write_text("changed")
    if staged:
        git(checkout, "add", "-A", "-f")
    with pytest.raises(SourceError, match=name.rpartition("/")[2]):
        clean_commit([checkout / "content", checkout / "code"])


def test_a_removed_file_is_a_change(checkout: Path) -> None:
    (checkout / "content/b.yaml").unlink()
    with pytest.raises(SourceError, match=r"b\.yaml"):
        clean_commit([checkout / "content"])


def test_a_folder_outside_git_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(SourceError, match="in no git checkout"):
        clean_commit([tmp_path])


def test_a_commit_is_needed(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(SourceError, match="in no git checkout with a commit"):
        clean_commit([tmp_path])


def test_the_code_and_the_card_are_inputs_too(tmp_path: Path) -> None:
    names = [path.name for path in build_inputs(tmp_path)]
    assert names == [tmp_path.name, "helmbench_hf", "build_dataset.py", "dataset_card.md", "CHANGELOG.md", "LICENSE-CONTENT"]
