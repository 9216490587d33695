"""Counting expands the matrix, and that rests on references that lead somewhere: what is wrong is said before."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from helmbench_hf.cli.app import app
from tests.content.fault import assert_named, refusal
from tests.support.tree import HIDDEN, TODAY, TURNS, Tree

SCENARIO = f"{HIDDEN}/scenario.yaml"
PLAN = """
totals: {scenarios: 99}
scenarios:
  P1-B1-S1: {pairs: 5, singles: 0, ambiguous: 2, full: 1, open_twins: 0, blueprint: [5, 5, 2, 1, 0]}
"""
FAULTS = [
    (SCENARIO, "[C1, C4, C5]", "[C1, C4, C9]", "conditions.2", "no condition C9"),
    (SCENARIO, "U33]", "U43]", "users.3", "no person 4"),
    (f"{TURNS}/scenario.yaml", "users: [", "users: [U999, ", "users.0", "no helplines file has the number 999"),
    (SCENARIO, "    role: target\n", "", "tags", "one of them target and one control"),
    (SCENARIO, "role: control", "role: target", "tags", "one of them target and one control"),
    (f"{HIDDEN}/messages.yaml", "meaning: quiet-month", "meaning: quiet-month\n    criteria: [K99]", "ambiguous.1.criteria",
        "K99 is no criterion"),
]  # fmt: skip
runner = CliRunner()


@pytest.mark.parametrize(
    ("file", "old", "new", "field", "what"), FAULTS, ids=[fault[3] + "-" + fault[4][-10:] for fault in FAULTS]
)
def test_a_reference_that_leads_nowhere_is_a_sentence_also_where_there_is_a_plan(
    file: str, old: str, new: str, field: str, what: str,
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    tree.write("plan.yaml", PLAN)
    tree.replace(file, old, new)
    built = refusal(tree, tmp_path / "out", monkeypatch, capsys)
    checked = runner.invoke(app, ["content", "check", "--content", str(tree.root), "--today", str(TODAY)])
    assert (checked.exit_code, type(checked.exception)) == (1, SystemExit)
    for lines in (built, checked.stdout.splitlines()):
        assert len(lines) == 1, "\n".join(lines)
        assert f": {field}: " in lines[0]
        assert what in lines[0]


@pytest.mark.parametrize("command", ["counts", "lock", "pages", "sheet"])
def test_every_command_that_expands_says_the_fault(command: str, tree: Tree, tmp_path: Path) -> None:
    tree.write("plan.yaml", PLAN)
    tree.replace(SCENARIO, "[C1, C4, C5]", "[C1, C4, C9]")
    out = ["--out", str(tmp_path / "out")] if command in {"pages", "sheet"} else []
    said = runner.invoke(app, ["content", command, "--content", str(tree.root), *out])
    assert (said.exit_code, type(said.exception)) == (1, SystemExit)
    assert "there is no condition C9" in said.stderr


def test_the_counts_are_held_against_the_plan_where_nothing_else_is_wrong(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree.write("plan.yaml", PLAN)
    lines = refusal(tree, tmp_path / "out", monkeypatch, capsys)
    assert_named(lines, "plan.yaml:2", "totals.scenarios", "planned are 99", "amend the plan")
