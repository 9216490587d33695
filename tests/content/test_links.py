"""Nothing outside the benchmark's folder is read, and nothing of it is printed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helmbench_hf.cli.app import app
from tests.content.fault import assert_named, refusal
from tests.support.tree import HIDDEN, TODAY, Tree

SECRET = "secret-word-of-another-file"
runner = CliRunner()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder beside the benchmark, with files that YAML and JSON can and cannot read."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    for name in ("ana.yaml", "broken.yaml", "P1-B1-S1.jsonl", "behavior.md", "versions.json"):
        (folder / name).write_text(f"{SECRET}: [1\n" if name == "broken.yaml" else f"number: {SECRET}\n")
    return folder


LINKS = [
    ("people/ana.yaml", "ana.yaml"),
    ("people/eve.yaml", "broken.yaml"),
    (f"{HIDDEN}/messages.yaml", "ana.yaml"),
    ("scoring.yaml", "ana.yaml"),
    ("taxonomy", ""),
    ("review/P1-B1-S1.jsonl", "P1-B1-S1.jsonl"),
    ("P1-detect/B1-late-stage/behavior.md", "behavior.md"),
    ("versions.json", "versions.json"),
]  # fmt: skip


def link(tree: Tree, place: str, target: Path) -> None:
    path = tree.root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


@pytest.mark.parametrize(("place", "target"), LINKS, ids=[place for place, _ in LINKS])
def test_a_link_that_leads_outside_is_refused_and_its_text_never_printed(
    place: str, target: str, elsewhere: Path,
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    link(tree, place, elsewhere / target)
    lines = refusal(tree, tmp_path / "out", monkeypatch, capsys)
    checked = runner.invoke(app, ["content", "check", "--content", str(tree.root), "--today", str(TODAY)])
    for said in (lines, checked.stdout.splitlines()):
        named = place if target else f"{place}/ana.yaml"
        assert_named(said, named, "", "leads outside the benchmark's folder", "put the file itself here")
        assert SECRET not in "\n".join(said)


def test_a_link_that_climbs_is_refused_and_one_that_stays_is_read(
    elsewhere: Path, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    link(tree, "people/ana.yaml", Path("../../elsewhere/ana.yaml"))
    assert "leads outside" in refusal(tree, tmp_path / "out", monkeypatch, capsys)[0]
    (tree.root / "people" / "ana.yaml").unlink()
    (tree.root / "aside.txt").write_text("number: 1\n")
    link(tree, "people/ana.yaml", Path("../aside.txt"))
    assert "people/ana.yaml:1: slug: field required" in refusal(tree, tmp_path / "out", monkeypatch, capsys)[0]


@pytest.mark.parametrize("code", ["../P1-B1-S1", "/etc/passwd"])
def test_no_field_names_a_path(
    code: str, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree.replace(f"{HIDDEN}/scenario.yaml", "tier: core", f"tier: core\nmessages_from: {code}")
    lines = refusal(tree, tmp_path / "out", monkeypatch, capsys)
    assert all("messages_from" in line and f"got '{code}'" in line for line in lines), lines


def test_a_benchmark_may_lie_behind_a_link(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "here").symlink_to(tree.root)
    checked = runner.invoke(app, ["content", "check", "--content", str(tmp_path / "here"), "--today", str(TODAY)])
    assert (checked.exit_code, checked.stdout[:5]) == (0, "clean"), checked.stdout
