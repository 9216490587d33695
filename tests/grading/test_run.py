from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from helmbench_hf.grading import exchanges, judging, rubric, run
from helmbench_hf.grading.judge import JudgeError, criteria_of
from helmbench_hf.grading.judging import judge_rows, judge_run
from helmbench_hf.grading.run import collect, verdicts
from helmbench_hf.inference.engine import EngineError, Request
from helmbench_hf.inference.journal import Journal, JournalError, RunLock
from helmbench_hf.records import Case, Verdict
from helmbench_hf.run_folder import RunError, RunFolder
from tests.grading.build import done
from tests.grading.runs import Ear, answer_all, fake_judge
from tests.support.fake_engine import FakeEngine

PASS = tuple(map(math.log, (0.5, 0.2, 0.1, 0.05, 0.02)))


def labels(request: Request) -> Sequence[float]:
    return PASS[: len(request.labels)]


def worst(request: Request) -> str:
    """Evidence for the last verdict that the criterion allows: FAIL, or level 1."""
    allowed = json.loads(request.schema or "{}")["properties"]["verdict"]["enum"]
    return json.dumps({"quote": "I am worried", "verdict": allowed[-1]})


def by(found: Sequence[Verdict], grader: str) -> list[Verdict]:
    return [verdict for verdict in found if verdict.grader == grader]


def planned(cases: Sequence[Case]) -> int:
    return sum(len(criteria_of(case)) * len(case.grading.turns) for case in cases)


def test_without_a_judge_code_grades_everything(folder, chosen) -> None:
    graded = collect(folder)
    assert graded.judges == ()
    assert {verdict.grader for verdict in graded.verdicts} == {"code"}
    answers = [verdict for verdict in graded.verdicts if verdict.criterion == "answer"]
    assert len(answers) == sum(len(case.grading.turns) for case in chosen)
    assert {verdict.value for verdict in answers} == {1.0}
    assert {verdict.criterion for verdict in graded.verdicts} == {"answer", "target", "control", "label", "resources", "task"}
    assert list(graded.verdicts) == verdicts(folder)


def test_a_judge_decides_each_criterion_once(folder, chosen) -> None:
    ear = Ear()
    judge_run(folder, fake_judge(FakeEngine(labels=labels)), ear)
    found = by(verdicts(folder), "judge-a")
    assert len(found) == planned(chosen)
    assert Counter((v.case, v.turn, v.draw, v.criterion) for v in found).most_common(1)[0][1] == 1
    assert {(v.status, v.value) for v in found} == {("scored", 1.0)}
    assert {v.criterion for v in found if v.case == chosen[0].code} == set(criteria_of(chosen[0]))
    assert all(v.completion == f"key of {v.case}/t{v.turn}/d{v.draw}" for v in found)
    assert ear.named("planned")["open"] == ear.named("planned")["turns"] == ear.named("end")["completions"]
    assert ear.named("ready")["engine"]["name"] == "fake"


def test_prompts_are_asked_in_the_order_of_their_prefixes(folder) -> None:
    engine = FakeEngine(labels=labels, capacity=1)
    judge_run(folder, fake_judge(engine), Ear())
    asked = [request.messages[-1].content for request in engine.submitted]
    assert asked == sorted(asked)
    assert {request.messages[0].content for request in engine.submitted} == {rubric.RULES}


def test_multi_turn_replies_are_judged_with_what_came_before(folder, chosen) -> None:
    engine = FakeEngine(labels=labels)
    judge_run(folder, fake_judge(engine), Ear())
    case = next(case for case in chosen if case.mode == "multi_turn")
    prompts = {request.name: request.messages[-1].content for request in engine.submitted}
    last = max(case.grading.turns)
    text = prompts[f"{case.code}/t{last}/d0/{criteria_of(case)[0]}/fast"]
    assert text.count("[EARLIER ") == last - 1
    assert "I am worried about you (1)." in text
    assert text.index("(1)") < text.index(f"({last})")


@pytest.mark.parametrize(("fate", "reason"), [("refuse", "refused"), ("fail", "engine_error")])
def test_a_judge_that_cannot_answer_leaves_it_unscored(folder, chosen, fate, reason) -> None:
    judge_run(folder, fake_judge(FakeEngine(labels=labels, fate=lambda *_: fate)), Ear())
    found = by(verdicts(folder), "judge-a")
    assert len(found) == planned(chosen)
    assert {(v.status, v.value, v.detail["reason"]) for v in found} == {("judge_failure", None, reason)}


def test_a_judge_that_wants_to_say_something_else_is_unscored(folder) -> None:
    judge_run(folder, fake_judge(FakeEngine(labels=lambda request: [-9.0] * len(request.labels))), Ear())
    found = by(verdicts(folder), "judge-a")
    assert {v.detail["reason"] for v in found} == {"low_mass"}
    assert all(v.detail["mass"] < 0.05 for v in found)


def test_garbage_is_never_a_verdict_and_coverage_falls(folder) -> None:
    def fate(request: Request, attempt: int) -> Any:
        return "garbage" if "/K01/" in request.name else "answer"

    judge_run(folder, fake_judge(FakeEngine(worst, fate=fate), mode="evidence"), Ear())
    found = by(verdicts(folder), "judge-a")
    garbled = [v for v in found if v.criterion == "K01"]
    assert garbled
    assert {(v.status, v.value) for v in garbled} == {("judge_failure", None)}
    assert {(v.status, v.value) for v in found if v.criterion != "K01"} == {("scored", 0.0)}
    coverage = sum(v.status == "scored" for v in found) / len(found)
    assert coverage == 1 - len(garbled) / len(found)


def test_cut_evidence_is_a_judge_failure(folder) -> None:
    engine = FakeEngine(lambda _: json.dumps({"quote": "x" * 50, "verdict": "PASS"}), fate=lambda *_: "truncate")
    judge_run(folder, fake_judge(engine, mode="evidence"), Ear())
    assert {v.detail["reason"] for v in by(verdicts(folder), "judge-a")} == {"truncated"}


def test_unusable_answers_are_not_judged(folder, chosen, tmp_path) -> None:
    other = RunFolder(tmp_path / "other")
    other.write_manifest(folder.manifest())
    fates = {0: None, 1: done("", "refused"), 2: done("", "engine_error"), 3: "", 4: done("I hear", "withheld")}
    answer_all(other, chosen, lambda case, turn: fates[chosen.index(case) % len(fates)])
    engine = FakeEngine(labels=labels)
    judge_run(other, fake_judge(engine), Ear())
    assert engine.submitted == []
    found = verdicts(other)
    assert {v.criterion for v in found} == {"answer"}
    assert len(found) == sum(len(case.grading.turns) for case in chosen)
    assert {v.detail["reason"] for v in found} == {"missing", "refused", "engine_error", "empty", "withheld"}


def test_stopped_and_resumed_nothing_is_asked_twice(folder, chosen) -> None:
    engine = FakeEngine(labels=labels, capacity=4)
    judge_run(folder, fake_judge(engine), Ear(patience=lambda: len(engine.submitted) >= 10))
    first = len(engine.submitted)
    assert 10 <= first < planned(chosen)
    missing = [v for v in by(verdicts(folder), "judge-a") if v.detail.get("reason") == "missing"]
    assert planned(chosen) - first - len(missing) in {0, 1}  # two verdicts may rest on one and the same question
    ear = Ear()
    judge_run(folder, fake_judge(engine), ear)
    assert ear.named("planned")["stored"] == first
    keys = [request.key for request in engine.submitted]
    assert len(keys) == len(set(keys)) == ear.named("planned")["turns"] <= planned(chosen)
    assert {v.status for v in by(verdicts(folder), "judge-a")} == {"scored"}
    ear = Ear()
    judge_run(folder, fake_judge(lambda: pytest.fail("the engine was opened for nothing")), ear)
    assert ear.named("planned")["open"] == 0


def test_a_dead_engine_loses_nothing(folder, chosen) -> None:
    engine = FakeEngine(labels=labels, capacity=4, fate=lambda r, a: "die" if len(engine.submitted) > 12 else "answer")
    with pytest.raises(EngineError):
        judge_run(folder, fake_judge(engine), Ear())
    stored = len(Journal.read(folder.judgments / "judge-a"))
    assert stored > 0
    judge_run(folder, fake_judge(FakeEngine(labels=labels)), Ear())
    assert Journal.read(folder.judgments / "judge-a").duplicates == 0
    assert {v.status for v in by(verdicts(folder), "judge-a")} == {"scored"}


def test_engine_failures_are_asked_again_on_resume(folder) -> None:
    judge_run(folder, fake_judge(FakeEngine(labels=labels, fate=lambda *_: "fail")), Ear())
    judge_run(folder, fake_judge(FakeEngine(labels=labels)), Ear())
    assert {v.status for v in by(verdicts(folder), "judge-a")} == {"scored"}


def test_several_judges_keep_their_order(folder, chosen) -> None:
    judge_run(folder, fake_judge(FakeEngine(labels=labels), id="second-by-name"), Ear())
    judge_run(folder, fake_judge(FakeEngine(labels=labels), id="alpha", weights="other", family="other"), Ear())
    judge_run(folder, fake_judge(FakeEngine(labels=labels), id="second-by-name"), Ear())
    graded = collect(folder)
    assert [(judge.id, judge.family) for judge in graded.judges] == [("second-by-name", "tiny"), ("alpha", "other")]
    assert len(by(graded.verdicts, "alpha")) == len(by(graded.verdicts, "second-by-name")) == planned(chosen)
    row = judge_rows(folder)[0]
    assert row["mode"] == "fast"
    assert row["rubric"]["version"] == rubric.RUBRIC_VERSION
    assert row["description"]["name"] == "fake"


def test_another_model_under_the_same_id_is_refused(folder) -> None:
    judge_run(folder, fake_judge(FakeEngine(labels=labels)), Ear())
    with pytest.raises(JudgeError, match="another model"):
        judge_run(folder, fake_judge(FakeEngine(labels=labels), weights="other"), Ear())


def test_another_mode_asks_anew_and_reads_only_its_own(folder, chosen) -> None:
    judge_run(folder, fake_judge(FakeEngine(labels=labels)), Ear())
    judge_run(folder, fake_judge(FakeEngine(worst), mode="evidence"), Ear())
    assert {v.value for v in by(verdicts(folder), "judge-a")} == {0.0}
    ear = Ear()
    judge_run(folder, fake_judge(FakeEngine(labels=labels), mode="fast", orders=2), ear)
    assert ear.named("planned")["stored"] == ear.named("planned")["open"] <= planned(chosen)
    # this judge takes the first letter whatever it means, so the two orders cancel out
    assert {v.detail["reason"] for v in by(verdicts(folder), "judge-a")} == {"tie"}


def test_fast_is_refused_where_it_cannot_be(folder) -> None:
    class Plain(FakeEngine):
        def describe(self):
            return replace(super().describe(), abilities=("schema",))

    with pytest.raises(JudgeError, match="fast mode"):
        judge_run(folder, fake_judge(Plain(), mode="fast"), Ear())
    assert judge_rows(folder) == []


def test_another_rubric_or_criterion_needs_grading_again(folder, real, chosen, monkeypatch) -> None:
    judge_run(folder, fake_judge(FakeEngine(labels=labels)), Ear())
    changed = {**real.criteria, "K01": real.criteria["K01"].model_copy(update={"passes": "It says hello."})}
    for module in (exchanges, judging, run):
        monkeypatch.setattr(module, "default_benchmark", lambda: replace(real, criteria=changed))
    with pytest.raises(JudgeError, match="Grade the run again"):
        collect(folder)
    ear = Ear()
    judge_run(folder, fake_judge(FakeEngine(labels=labels)), ear)
    again = sum("K01" in criteria_of(case) for case in chosen for _ in case.grading.turns)
    assert ear.named("planned")["open"] == again
    assert {v.status for v in by(verdicts(folder), "judge-a")} == {"scored"}


def test_two_writers_of_one_judge_are_refused(folder, monkeypatch) -> None:
    with RunLock.acquire(folder.judgments / "judge-a"), pytest.raises(JournalError, match="Another run"):
        judge_run(folder, fake_judge(FakeEngine(labels=labels)), Ear())


def test_a_judges_preset_stands_in_its_file(folder) -> None:
    record = {"preset": "strict", "sha256": "0" * 64, "filled": {"thinking": "off"}}
    judge_run(folder, fake_judge(FakeEngine(labels=labels), preset=record), Ear())
    assert [row["preset"] for row in judge_rows(folder)] == [record]


def test_an_unreadable_judge_file_is_a_sentence(folder) -> None:
    judge_run(folder, fake_judge(FakeEngine(labels=labels)), Ear())
    (folder.judgments / "judge-a" / "judge.json").write_text("{")
    with pytest.raises(RunError, match="cannot be read"):
        collect(folder)


def test_export_holds_every_verdict_and_is_replaced_whole(folder) -> None:
    judge_run(folder, fake_judge(FakeEngine(labels=labels)), Ear())
    graded = collect(folder)
    for _ in range(2):
        graded.write(folder)
        rows = [json.loads(line) for line in (folder.root / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]
        assert [Verdict(**row) for row in rows] == list(graded.verdicts)
    assert [path.name for path in folder.root.iterdir() if path.name.startswith(".")] == []


def test_the_export_holds_no_character_that_steers_a_terminal(folder) -> None:
    """A judge may quote whatever a reply holds: C1 controls, marks that turn the reading direction, a lone surrogate."""
    quote = "caf\u00e9 \x85 \x9b31m \u202egnp.exe\u2066 \u200f \U000e0041"
    engine = FakeEngine(lambda _: json.dumps({"quote": quote, "verdict": "PASS"}))
    judge_run(folder, fake_judge(engine, mode="evidence"), Ear())
    graded = collect(folder)
    graded.write(folder)
    written = (folder.root / "verdicts.jsonl").read_bytes()
    assert written.isascii()
    assert not set(written) & ({*range(32)} - {10} | {127})
    quotes = {row["detail"]["quote"] for row in map(json.loads, written.splitlines()) if "quote" in row["detail"]}
    assert quotes == {quote}
