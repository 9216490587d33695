"""A check speaks for a judge only where both are one, and what it says stands in scores and report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.dataset.identity import Part
from helmbench_hf.judging import claims
from helmbench_hf.judging.claims import cite, document, read_check
from helmbench_hf.judging.labels import Labels
from helmbench_hf.records import CheckedLabel
from helmbench_hf.report.sentences import gate as state_of
from helmbench_hf.scoring.claims import Claims
from helmbench_hf.scoring.run import score
from helmbench_hf.scoring.scores import from_json, to_json
from helmbench_hf.tasks.ledger import ScoringError
from tests.scoring import build
from tests.scoring.build import JUDGE, SECOND, judged

RUBRIC = {"version": "2", "sha256": "r"}
BENCHMARK = build.benchmark()


def row(**changes: Any) -> dict[str, Any]:
    """A judge of a run, as `judge.json` has it."""
    key = {"model": {"files": "f"}, "template_sha": "t", "engine": "vllm 1"}
    return {
        "id": "judge",
        "family": "family one",
        "mode": "fast",
        "orders": 1,
        "key": key,
        "rubric": RUBRIC,
        "number": 0,
        **changes,
    }


def made(fail: bool = False, basis: Any = "gold", judge: dict[str, Any] | None = None, rubric: Any = None) -> dict[str, Any]:
    """A check of 60 good and 60 bad replies under K01; `fail`: the judge says PASS to all."""
    said = [CheckedLabel(f"R{n}", "K01", right, "PASS" if fail else right) for n in range(60) for right in ("PASS", "FAIL")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "calibration", lambda _: Part("none", ""))
        patch.setattr(claims.rubric, "identity", lambda _: rubric or RUBRIC)
        found = document(said, Labels(basis, (), {}), BENCHMARK, judge or row())
    found["labels"] |= {"sha256": "l", "n": len(said)}
    return found


def test_a_check_of_the_same_judge_is_cited() -> None:
    found = cite({"check": made()}, [row(), row(id="second", key={"model": "other"})])
    assert not found.refused
    [claim] = found.cited
    assert (claim.judge, claim.state, claim.basis, claim.passes, claim.fails) == ("judge", "passes on gold", "gold", ("K01",), ())
    assert (claim.labels, claim.labels_sha256, claim.check) == (120, "l", "check")
    assert cite({"check": made(judge=row(id="renamed", number=3))}, [row()]).cited[0].judge == "judge"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mode": "evidence"}, "another mode"),
        ({"orders": 2}, "another number of letter orders"),
        ({"rubric": {"version": "3", "sha256": "r"}}, "another rubric"),
        ({"key": {"model": {"files": "g"}}, "mode": "evidence"}, "another model, template or engine and another mode"),
        ({"description": {"extra": {"served": "x"}}}, "another served model"),
    ],
)
def test_a_check_of_another_judge_is_a_sentence(changes: dict[str, Any], said: str) -> None:
    found = cite({"check": made()}, [row(**changes)])
    assert found.cited == ()
    assert found.refused == (f"The check check of judge is not cited: the run's judge judge has {said}.",)


def test_runs_without_a_judge_cite_nothing() -> None:
    assert "no judge graded this run" in cite({"c": made()}, []).refused[0]


@pytest.mark.parametrize("basis", ["gold", "human"])
def test_a_check_on_another_calibration_set_is_not_cited(basis: str) -> None:
    mine, check = Part("0.2.0", "b" * 64), made(basis=basis)
    check["benchmark"] |= {"calibration_version": mine.version, "calibration_sha256": mine.sha256}
    assert cite({"check": check}, [row()], mine).cited
    for other in (Part("0.3.0", mine.sha256), Part("0.2.0", "c" * 64)):
        found = cite({"check": check}, [row()], other)
        assert found.cited == ()
        [sentence] = found.refused
        assert sentence.startswith("The check check of judge is not cited: it rests on the calibration set 0.2.0 (bbbbbbbbbbbb)")
        assert f"contains {other.version} ({other.sha256[:12]}); check the judge again." in sentence
    assert "calibration set none (no hash)" in cite({"check": made()}, [row()], mine).refused[0]


@pytest.mark.parametrize(
    ("checks", "line", "ready"),
    [
        ({}, "judge: not checked.", False),
        ({"g": made()}, "judge: passes on gold, not human, on 1 criterion.", False),
        ({"g": made(fail=True)}, "judge: fails the gate on gold: K01.", False),
        ({"h": made(basis="human")}, "judge: claim-ready on 1 criterion.", True),
        ({"h": made(fail=True, basis="human")}, "judge: fails the gate on human labels: K01.", False),
        ({"h": made(basis="human"), "g": made(fail=True)}, "judge: fails the gate on gold: K01.", False),
    ],
    ids=["none", "gold", "fails", "human", "fails human", "both"],
)
def test_the_first_screen_says_what_was_found_of_each_judge(checks: dict[str, Any], line: str, ready: bool) -> None:
    case = build.case()
    verdicts = [judged(case, "K01", 1.0, by="judge")]
    found = cite(checks, [row()])
    scores = from_json(
        json.loads(json.dumps(to_json(score([case], verdicts, benchmark=BENCHMARK, judges=[JUDGE, SECOND], claims=found))))
    )
    assert [claim.check for claim in scores.checks] == list(checks)
    gate = state_of(scores)
    assert line in gate.lines
    assert "second: not checked." in gate.lines
    assert (gate.state == "Judge validated") is ready
    assert scores.provenance.judges[0].validated == (("K01",) if ready else ())


def test_what_a_run_judges_and_no_check_covers_is_counted() -> None:
    case = build.case()
    verdicts = [judged(case, "K01", 1.0, by="judge"), judged(case, "A01", 1.0, by="judge")]
    found = cite({"g": made()}, [row()])
    scores = score([case], verdicts, benchmark=BENCHMARK, judges=[JUDGE], claims=found)
    [line] = [line for line in state_of(scores).lines if line.startswith("judge:")]
    assert line.endswith("Not checked: 1 criterion that it grades here.")


def test_a_refused_check_is_said_in_the_notes() -> None:
    found = cite({"g": made(rubric={"version": "0"})}, [row()])
    notes = score([build.case()], [], benchmark=BENCHMARK, judges=[JUDGE], claims=found).notes
    assert any("another rubric" in note for note in notes)
    assert score([build.case()], [], benchmark=BENCHMARK, judges=[JUDGE]).checks == Claims().cited == ()


def test_a_folder_without_a_check_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ScoringError, match="make it with `helmbench judge check`"):
        read_check(tmp_path)
    (tmp_path / "check.json").write_text(json.dumps({**made(), "format": 99}))
    with pytest.raises(ScoringError, match="is not a check of format 4"):
        read_check(tmp_path)
    (tmp_path / "check.json").write_text(json.dumps(made()))
    assert read_check(tmp_path) == json.loads(json.dumps(made()))
