"""Files and links that must not be read, and the commands that refuse a faulty benchmark."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import build_dataset
from helmbench_hf.cli.app import app
from tests.content.fault import assert_named, problems
from tests.support.tree import COUNTRY, HIDDEN, TODAY, TURNS, Tree

SECRET = "secret-word-of-another-file"
ANA, SCENARIO, MESSAGES = "people/ana.yaml", f"{HIDDEN}/scenario.yaml", f"{HIDDEN}/messages.yaml"
PLAN = """
totals: {scenarios: 99}
scenarios:
  P1-B1-S1: {pairs: 5, singles: 0, ambiguous: 2, full: 1, open_twins: 0}
"""
runner = CliRunner()


def refused(tree: Tree, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """What `build_dataset.py` and `content check` print about a tree that both must refuse, one line a fault."""
    given = ["--content", str(tree.root), "--today", str(TODAY)]
    monkeypatch.setattr("sys.argv", ["build_dataset.py", *given, "--out", str(out)])
    assert build_dataset.main() == 1
    assert not out.exists()
    printed = capsys.readouterr()
    assert printed.out == ""
    checked = runner.invoke(app, ["content", "check", *given])
    assert (checked.exit_code, type(checked.exception)) == (1, SystemExit)
    return [printed.err.splitlines(), checked.stdout.splitlines()]


NO_DOCUMENT = [
    ("empty", b"", 1, "empty", "exactly one"),
    ("a list", b"- number: 1\n", 1, "valid dictionary", "write fields"),
    ("byte order mark", b"\xef\xbb\xbfnumber: 1\n", 1, "byte order mark", "without BOM"),
    ("utf-16 without mark", "number: 1\n".encode("utf-16-le"), 1, "U+0000", "remove"),
    ("latin-1", "number: 1\nslug: ana\nname: Bel\xe9n\n".encode("latin-1"), 3, "not UTF-8", "UTF-8"),
    ("huge", b"number: 1\n" + b"#" * 1_000_000, 0, "more than 1000000", "split"),
]


@pytest.mark.parametrize(
    ("content", "line", "what", "fix"), [row[1:] for row in NO_DOCUMENT], ids=[row[0] for row in NO_DOCUMENT]
)
def test_a_file_that_is_no_document_is_named(content: bytes, line: int, what: str, fix: str, tree: Tree) -> None:
    tree.write(ANA, content)
    lines = problems(tree)
    assert len(lines) == 1, "\n".join(lines)
    assert_named(lines, f"{ANA}:{line}" if line else ANA, "", what, fix)


@pytest.mark.parametrize("file", ["benchmark.yaml", "scoring.yaml", f"{COUNTRY}/messages.yaml"])
def test_a_missing_file_is_named(file: str, tree: Tree) -> None:
    (tree.root / file).unlink()
    assert_named(problems(tree), file, "", "cannot be read", "exists")


def test_a_folder_in_place_of_a_file_is_named(tree: Tree) -> None:
    (tree.root / "people/eve.yaml").mkdir()
    assert_named(problems(tree), "people/eve.yaml", "", "cannot be read", "readable")


@pytest.mark.parametrize(
    "file", ["people/eve.yml", "condition/odd.yaml", "P1-detect/B1-late-stage/S2-later/messages.yaml", "P1-detect/extra.yaml"]
)
def test_a_file_that_nothing_reads_is_named(file: str, tree: Tree) -> None:
    tree.write(file, "a: b\n")
    [line] = problems(tree)
    assert_named([line], file, "", "is not read", "move")


def test_a_scenario_without_messages_and_a_behavior_without_a_description_are_named(tree: Tree) -> None:
    tree.write(f"{COUNTRY}/messages.yaml", "singles: []\n")
    (tree.root / HIDDEN).parent.joinpath("behavior.md").unlink()
    lines = problems(tree)
    assert len(lines) == 2
    assert_named(lines, f"{COUNTRY}/messages.yaml:1", "pairs", "has no message", "pairs or singles")
    assert_named(lines, "P1-detect/B1-late-stage/behavior.md", "", "no description", "claim")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder beside the benchmark, with files that YAML and JSON can and cannot read."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    for name in ("ana.yaml", "broken.yaml", "P1-B1-S1.jsonl", "behavior.md", "versions.json"):
        (folder / name).write_text(f"{SECRET}: [1\n" if name == "broken.yaml" else f"number: {SECRET}\n")
    return folder


LINKS = [
    (ANA, "ana.yaml"),
    ("people/eve.yaml", "broken.yaml"),
    (f"{HIDDEN}/messages.yaml", "ana.yaml"),
    ("scoring.yaml", "ana.yaml"),
    ("taxonomy", ""),
    ("review/P1-B1-S1.jsonl", "P1-B1-S1.jsonl"),
    ("P1-detect/B1-late-stage/behavior.md", "behavior.md"),
    ("versions.json", "versions.json"),
]


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
    for lines in refused(tree, tmp_path / "out", monkeypatch, capsys):
        named = place if target else f"{place}/ana.yaml"
        assert_named(lines, named, "", "leads outside the benchmark's folder", "put the file itself here")
        assert SECRET not in "\n".join(lines)


def test_a_link_that_climbs_is_refused_and_one_that_stays_is_read(elsewhere: Path, tree: Tree) -> None:
    link(tree, ANA, Path("../../elsewhere/ana.yaml"))
    assert "leads outside" in problems(tree)[0]
    (tree.root / "aside.txt").write_text("number: 1\n")
    link(tree, ANA, Path("../aside.txt"))
    assert f"{ANA}:1: slug: field required" in problems(tree)[0]


def test_a_benchmark_may_lie_behind_a_link(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "here").symlink_to(tree.root)
    assert problems(Tree(tmp_path / "here")) == []


@pytest.mark.parametrize("code", ["../P1-B1-S1", "/etc/passwd"])
def test_no_field_names_a_path(code: str, tree: Tree) -> None:
    tree.replace(SCENARIO, "tier: core", f"tier: core\nmessages_from: {code}")
    lines = problems(tree)
    assert lines
    assert all("messages_from" in line and f"got '{code}'" in line for line in lines), lines


@pytest.mark.parametrize(
    ("file", "old", "new", "field", "what"),
    [
        (SCENARIO, "[C1, C4, C5]", "[C1, C4, C9]", "conditions.2", "no condition C9"),
        (f"{TURNS}/scenario.yaml", "users: [", "users: [U999, ", "users.0", "nor a helplines file has the number 999"),
        (MESSAGES, "quiet-month", "quiet-month\n    criteria: [K99]", "ambiguous.1.criteria", "K99 is no criterion"),
    ],
    ids=["condition", "country", "criterion"],
)  # fmt: skip
def test_an_unknown_reference_is_named_by_every_command_before_anything_is_counted(
    file: str, old: str, new: str, field: str, what: str,
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    tree.write("plan.yaml", PLAN)
    tree.replace(file, old, new)
    for lines in refused(tree, tmp_path / "out", monkeypatch, capsys):
        assert len(lines) == 1, "\n".join(lines)
        assert f": {field}: " in lines[0]
        assert what in lines[0]
    for command in ("lock", "pages", "sheet"):
        out = ["--out", str(tmp_path / "out")] if command in {"pages", "sheet"} else []
        out += ["--for", "gold"] if command == "sheet" else []
        said = runner.invoke(app, ["content", command, "--content", str(tree.root), *out])
        assert (said.exit_code, type(said.exception)) == (1, SystemExit)
        assert what in said.stderr


def test_counts_are_compared_with_the_plan_if_nothing_else_is_wrong(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree.write("plan.yaml", PLAN)
    for lines in refused(tree, tmp_path / "out", monkeypatch, capsys):
        assert_named(lines, "plan.yaml:2", "totals.scenarios", "planned are 99", "amend the plan")
