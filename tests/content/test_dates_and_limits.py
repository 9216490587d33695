"""Dates that no calendar has or that lie ahead, reviews by nobody, numbers of scoring without sense, and old helplines."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from typer.testing import CliRunner

import build_dataset
from helmbench_hf.cli.app import app
from helmbench_hf.content.lint import check
from helmbench_hf.content.lint_dates import FRESH_DAYS
from helmbench_hf.content.load import load_benchmark
from tests.content.fault import Fault, assert_named, damage, refusal
from tests.support.calibration import plant_calibration
from tests.support.tree import HIDDEN, TODAY, Tree

NL, BR, K01 = "helplines/netherlands.yaml", "helplines/brazil.yaml", "criteria/k01.yaml"
SCENARIO, MESSAGES = f"{HIDDEN}/scenario.yaml", f"{HIDDEN}/messages.yaml"
runner = CliRunner()


def reviewed(file: str, old: str, words: str, field: str, what: str, mend: str) -> Fault:
    indent = old[: len(old) - len(old.lstrip())]
    return Fault(words, file, old, f"{indent}review: {words}\n{old}", f"review: {words}", field, what, mend)


FAULTS = [
    reviewed(K01, "title:", "reviewed by Dr X (psychiatrist), 2026-13-45", "review", "there is no day 2026-13-45", "fields it"),
    reviewed(SCENARIO, "title: Key", "reviewed by Dr X (psychiatrist), 2026-02-30", "review", "no day 2026-02-30", "fields it"),
    reviewed(K01, "title:", "reviewed by Dr X (psychiatrist), 2999-01-01", "review", "2999-01-01 lies in the future", "correct"),
    reviewed(MESSAGES, "    meaning: boat-house", "reviewed by Dr X (psychiatrist), 2026-01-07", "pairs.3.review",
        "2026-01-07 lies in the future", "correct"),
    reviewed(K01, "title:", "reviewed by   (psychiatrist), 2026-01-01", "review", "pattern", "reviewed by"),
    reviewed(K01, "title:", "reviewed by Dr X ( ), 2026-01-01", "review", "pattern", "reviewed by"),
    reviewed(K01, "title:", "reviewed by \u200b (\u00a0), 2026-01-01", "review", "pattern", "reviewed by"),
    Fault("retired ahead", NL, "retired_on: 2020-01-01", "retired_on: 2030-01-01", "retired_on:", "services.1.retired_on",
        "2030-01-01 lies in the future", "correct"),
    Fault("cap below 0", "scoring.yaml", "breached_cap: 50.0", "breached_cap: -5.0", "breached_cap:", "breached_cap", "got -5.0",
        "0.0 or more"),
    Fault("cap above 100", "scoring.yaml", "breached_cap: 50.0", "breached_cap: 500.0", "breached_cap:", "breached_cap",
        "got 500.0", "100.0 or less"),
    Fault("flag at the floor", "scoring.yaml", "flag_at: 4", "flag_at: 0", "flag_at:", "flag_at", "got 0", "1 or more"),
    Fault("flag above all", "scoring.yaml", "flag_at: 4", "flag_at: 11", "flag_at:", "flag_at", "got 11", "10 or less"),
    Fault("leave what is flagged", "scoring.yaml", "leave_at: -4", "leave_at: 5", "leave_at:", "leave_at", "got 5", "-1 or less"),
    Fault("leave below all", "scoring.yaml", "leave_at: -4", "leave_at: -11", "leave_at:", "leave_at", "got -11", "-10 or more"),
    Fault("severe but not flagged", "scoring.yaml", "severe_message: 8", "severe_message: 3", 1, "",
        "`severe_message` is `flag_at`", "fields it names"),
    Fault("severe above all", "scoring.yaml", "severe_message: 8", "severe_message: 99", "severe_message:", "severe_message",
        "got 99", "10 or less"),
    Fault("no pair", "scoring.yaml", "minimum_pairs: 30", "minimum_pairs: 0", "minimum_pairs:", "minimum_pairs", "got 0",
        "1 or more"),
    Fault("level six of memory", "scoring.yaml", "5: 6}", "6: 6}", "notes_shift:", "notes_shift.6", "got 6", "5 or less"),
    Fault("memory that calms", "scoring.yaml", "5: 6}", "5: -6}", "notes_shift:", "notes_shift.5", "got -6", "0 or more"),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.kind)
def test_a_date_or_a_number_without_sense_is_named(
    fault: Fault, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where = damage(tree, fault)
    lines = refusal(tree, tmp_path / "out", monkeypatch, capsys)
    assert len(lines) == fault.count, "\n".join(lines)
    assert_named(lines, where, fault.field, fault.what, fault.mend)


def test_a_review_by_somebody_on_a_day_that_was_is_taken(tree: Tree) -> None:
    tree.replace(K01, "title:", "review: reviewed by Éva Nagy (lived experience, peer worker), 2026-01-06\ntitle:")
    assert check(load_benchmark(tree.root), TODAY) == []


def test_an_old_helpline_stops_check_and_build_without_a_flag(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree.replace(BR, "checked: 2026-01-05", "checked: 2019-05-01")
    built = refusal(tree, tmp_path / "out", monkeypatch, capsys)
    checked = runner.invoke(app, ["content", "check", "--content", str(tree.root), "--today", str(TODAY)])
    for lines in (built, checked.stdout.splitlines()):
        assert len(lines) == 1, lines
        line = tree.line_of(BR, "checked:")
        assert_named(lines, f"{BR}:{line}", "services.0.checked", "Example Apoio was checked 2442 days ago", "with its source")


@pytest.mark.parametrize(("days", "named"), [(FRESH_DAYS, []), (FRESH_DAYS + 1, [BR, NL])])
def test_a_look_at_the_source_is_good_for_so_many_days(days: int, named: list[str], tree: Tree) -> None:
    problems = check(load_benchmark(tree.root), dt.date(2026, 1, 5) + dt.timedelta(days=days))
    assert [(problem.file, problem.field) for problem in problems] == [(file, "services.0.checked") for file in named]


def test_a_retired_line_may_be_old(tree: Tree) -> None:
    tree.replace(NL, "checked: 2026-01-05\n    confidence: medium", "checked: 2020-01-05\n    confidence: medium")
    assert check(load_benchmark(tree.root), TODAY) == []


def test_a_public_line_of_the_calibration_set_is_held_to_the_same_day(tree: Tree) -> None:
    plant_calibration(tree)
    line = "{printed: '0161', name: a line, country: ES, source: nowhere, checked: 2019-11-22, confidence: low}"
    tree.replace("calibration/P1-B5-S1.yaml", "replies:\n", f"lines:\n- {line}\nreplies:\n")
    problems = [problem for problem in check(load_benchmark(tree.root), TODAY) if problem.field == "lines.0.checked"]
    assert len(problems) == 1
    assert "a line was checked" in problems[0].what


def test_the_day_is_today_unless_one_is_named(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A helpline of tomorrow is a fault today, whatever day it is."""
    tree.replace(BR, "checked: 2026-01-05", f"checked: {dt.date.today() + dt.timedelta(days=2)}")
    monkeypatch.setattr("sys.argv", ["build_dataset.py", "--content", str(tree.root), "--out", str(tmp_path / "out")])
    assert build_dataset.main() == 1
    checked = runner.invoke(app, ["content", "check", "--content", str(tree.root)])
    assert all("lies in the future" in said for said in (capsys.readouterr().err, checked.stdout))
