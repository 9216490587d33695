"""A run is graded by code and by judges: each criterion once, resumed and killed without loss, failures typed."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.judging import grade, rubric
from helmbench_hf.judging.grade import collect, judge_run
from helmbench_hf.judging.judge import JudgeError, JudgeSpec, criteria_of
from helmbench_hf.models.engine import EngineError, Request
from helmbench_hf.records import Case, Verdict
from helmbench_hf.runs import completions
from helmbench_hf.runs.folder import RunError, RunFolder
from helmbench_hf.runs.journal import Journal, JournalError, run_lock
from tests.judging import runs
from tests.judging.build import done
from tests.judging.runs import Ear, answer_all, fake_judge, planned
from tests.support.fake_engine import FakeEngine

PASS = tuple(map(math.log, (0.5, 0.2, 0.1, 0.05, 0.02)))


def labels(request: Request) -> Sequence[float]:
    return PASS[: len(request.labels)]


def fast(**spec: Any) -> FakeEngine:
    return FakeEngine(labels=labels, **spec)


def worst(request: Request) -> str:
    """Evidence for the last verdict that the criterion allows."""
    allowed = json.loads(request.schema or "{}")["properties"]["verdict"]["enum"]
    return json.dumps({"quote": "I am worried", "verdict": allowed[-1]})


def by(folder: RunFolder, grader: str = "judge-a") -> list[Verdict]:
    return [verdict for verdict in collect(folder).verdicts if verdict.grader == grader]


def stored(folder: RunFolder) -> Any:
    return Journal.read(folder.judgments / "judge-a")


def test_without_a_judge_code_grades_everything(folder: RunFolder, chosen: list[Case]) -> None:
    graded = collect(folder)
    assert graded.judges == ()
    assert {verdict.grader for verdict in graded.verdicts} == {"code"}
    answers = [verdict.value for verdict in graded.verdicts if verdict.criterion == "answer"]
    assert answers == [1.0] * sum(len(case.grading.turns) for case in chosen)
    assert {verdict.criterion for verdict in graded.verdicts} == {"answer", "target", "control", "label", "resources", "task"}


@pytest.mark.parametrize("change", [{"version": "9.9.9"}, {"content_sha256": "d"}])
def test_another_dataset_and_no_run_are_refused(folder: RunFolder, tiny: Benchmark, change: dict[str, str]) -> None:
    folder.write_manifest(runs.manifest(runs.identity(**{"version": tiny.file.version, **change}), 1))
    with pytest.raises(RunError):
        collect(folder)
    with pytest.raises(RunError, match="not contain a run"):
        collect(RunFolder(folder.root / "nowhere"))


def test_selection_and_draws_follow_the_manifest(folder: RunFolder, chosen: list[Case], tiny: Benchmark) -> None:
    made = runs.manifest(runs.identity(tiny.file.version), 2, draws=2)
    folder.write_manifest({**made, "selection": {"only": chosen[0].scenario, "limit": 1}})
    graded = collect(folder)
    assert [case.code for case in graded.cases] == [chosen[0].code]
    answers = [v for v in graded.verdicts if v.criterion == "answer"]
    assert [(v.draw, v.status) for v in answers] == [(0, "scored"), (1, "engine_failure")]
    folder.write_manifest({**made, "selection": {"cases": 3}})
    assert len(collect(folder).cases) == len(chosen)


@pytest.mark.parametrize(
    ("source", "asked"),
    [("embedded", (None, None)), ("helmbench/v1@abc", ("hf://datasets/helmbench/v1", "abc")), ("/", ("/", None))],
)
def test_cases_come_from_where_the_run_took_them(
    folder: RunFolder, tiny: Benchmark, chosen: list[Case], monkeypatch: pytest.MonkeyPatch, source: str, asked: Any
) -> None:
    calls = []

    def load(*given: Any) -> Any:
        calls.append(given)
        return runs.case_set(chosen, tiny.file.version)

    monkeypatch.setattr(completions, "load_cases", load)
    folder.write_manifest(runs.manifest(runs.identity(tiny.file.version, source=source), len(chosen)))
    collect(folder)
    assert calls == [("smoke", *asked)]


def test_a_judge_decides_each_criterion_once(folder: RunFolder, chosen: list[Case]) -> None:
    ear, engine = Ear(), fast(capacity=1)
    judge_run(folder, fake_judge(engine), ear)
    found = by(folder)
    assert len(found) == planned(chosen)
    assert Counter((v.case, v.turn, v.draw, v.criterion) for v in found).most_common(1)[0][1] == 1
    assert {(v.status, v.value) for v in found} == {("scored", 1.0)}
    assert all(v.completion == f"key of {v.case}/t{v.turn}/d{v.draw}" for v in found)
    assert ear.named("planned")["open"] == ear.named("planned")["turns"] == ear.named("end")["completions"]
    assert ear.named("ready")["engine"]["name"] == "fake"
    asked = [request.messages[-1].content for request in engine.submitted]
    assert asked == sorted(asked), "in the order of their prefixes"
    assert {request.messages[0].content for request in engine.submitted} == {rubric.RULES}


def test_multi_turn_replies_are_judged_with_what_came_before(folder: RunFolder, chosen: list[Case]) -> None:
    engine = fast()
    judge_run(folder, fake_judge(engine), Ear())
    case = next(case for case in chosen if case.mode == "multi_turn")
    prompts = {request.name: request.messages[-1].content for request in engine.submitted}
    last = max(case.grading.turns)
    text = prompts[f"{case.code}/t{last}/d0/{criteria_of(case)[0]}/fast"]
    assert text.count("[EARLIER ") == last - 1
    assert "I am worried about you (1)." in text
    assert text.index("(1)") < text.index(f"({last})")


def test_unusable_answers_are_not_judged(folder: RunFolder, chosen: list[Case], tmp_path: Path) -> None:
    other = RunFolder(tmp_path / "other")
    other.write_manifest(folder.manifest())
    fates = {0: None, 1: done("", "refused"), 2: done("", "engine_error"), 3: "", 4: done("I hear", "withheld")}
    answer_all(other, chosen, lambda case, turn: fates[chosen.index(case) % len(fates)])
    engine = fast()
    judge_run(other, fake_judge(engine), Ear())
    assert engine.submitted == []
    found = collect(other).verdicts
    assert [v.criterion for v in found] == ["answer"] * sum(len(case.grading.turns) for case in chosen)
    assert {v.detail["reason"] for v in found} == {"missing", "refused", "engine_error", "empty", "withheld"}


@pytest.mark.parametrize(
    ("engine", "mode", "reason"),
    [
        (lambda: fast(fate=lambda *_: "refuse"), "fast", "refused"),
        (lambda: fast(fate=lambda *_: "fail"), "fast", "engine_error"),
        (lambda: FakeEngine(labels=lambda request: [-9.0] * len(request.labels)), "fast", "low_mass"),
        (lambda: FakeEngine(lambda _: json.dumps({"quote": "x" * 50}), fate=lambda *_: "truncate"), "evidence", "truncated"),
    ],
)
def test_a_judge_that_cannot_answer_leaves_it_unscored(
    folder: RunFolder, chosen: list[Case], engine: Any, mode: str, reason: str
) -> None:
    judge_run(folder, fake_judge(engine(), mode=mode), Ear())
    found = by(folder)
    assert len(found) == planned(chosen)
    assert {(v.status, v.value, v.detail["reason"]) for v in found} == {("judge_failure", None, reason)}


def test_garbage_is_never_a_verdict_and_coverage_falls(folder: RunFolder) -> None:
    def fate(request: Request, attempt: int) -> Any:
        return "garbage" if "/K01/" in request.name else "answer"

    judge_run(folder, fake_judge(FakeEngine(worst, fate=fate), mode="evidence"), Ear())
    garbled = [v for v in by(folder) if v.criterion == "K01"]
    assert {(v.status, v.value) for v in garbled} == {("judge_failure", None)}
    assert {(v.status, v.value) for v in by(folder) if v.criterion != "K01"} == {("scored", 0.0)}


def test_a_dead_engine_and_engine_failures_lose_nothing(folder: RunFolder) -> None:
    engine = fast(
        capacity=4, fate=lambda r, a: "die" if len(engine.submitted) > 12 else "fail" if "/K02/" in r.name else "answer"
    )
    with pytest.raises(EngineError):
        judge_run(folder, fake_judge(engine), Ear())
    assert len(stored(folder)) > 0
    judge_run(folder, fake_judge(fast()), Ear())
    assert stored(folder).passed.count("duplicates") == 0
    assert {v.status for v in by(folder)} == {"scored"}


def test_stopped_and_resumed_nothing_is_asked_twice(folder: RunFolder, chosen: list[Case]) -> None:
    engine = fast(capacity=4)
    judge_run(folder, fake_judge(engine), Ear(patience=lambda: len(engine.submitted) >= 10))
    first = len(engine.submitted)
    assert 10 <= first < planned(chosen)
    assert {v.detail["reason"] for v in by(folder) if v.status == "judge_failure"} == {"missing"}
    ear = Ear()
    judge_run(folder, fake_judge(engine), ear)
    assert ear.named("planned")["stored"] == first
    keys = [request.key for request in engine.submitted]
    assert len(keys) == len(set(keys)) == ear.named("planned")["turns"] <= planned(chosen)
    assert {v.status for v in by(folder)} == {"scored"}
    ear = Ear()
    judge_run(folder, fake_judge(lambda: pytest.fail("the engine was opened for nothing")), ear)
    assert ear.named("planned")["open"] == 0


def test_a_failure_in_the_child_arrives_as_its_sentence(tmp_path: Path) -> None:
    events: list[dict[str, object]] = []
    spec = JudgeSpec(id="judge-a", engine=f"vllm:{tmp_path}", family="none")
    assert grade.grade(tmp_path, [spec], events.append, log=tmp_path / "log") == 1
    assert [event["event"] for event in events] == ["error"]
    assert "config.json is missing" in str(events[0]["message"])
    assert grade.grade(tmp_path, [], events.append) == 0


def test_two_writers_of_one_judge_are_refused(folder: RunFolder) -> None:
    with run_lock(folder.judgments / "judge-a"), pytest.raises(JournalError, match="Another run"):
        judge_run(folder, fake_judge(fast()), Ear())


def test_several_judges_keep_their_order(folder: RunFolder, chosen: list[Case]) -> None:
    record = {"preset": "strict", "sha256": "0" * 64, "filled": {"thinking": "off"}}
    judge_run(folder, fake_judge(fast(), id="second-by-name", preset=record), Ear())
    judge_run(folder, fake_judge(fast(), id="alpha", weights="other", family="other"), Ear())
    judge_run(folder, fake_judge(fast(), id="second-by-name", preset=record), Ear())
    graded = collect(folder)
    assert [(judge.id, judge.family) for judge in graded.judges] == [("second-by-name", "tiny"), ("alpha", "other")]
    assert len(by(folder, "alpha")) == len(by(folder, "second-by-name")) == planned(chosen)
    row = folder.judges()[0]
    assert (row["mode"], row["rubric"]["version"], row["preset"]) == ("fast", rubric.RUBRIC_VERSION, record)
    assert row["description"]["name"] == "fake"


def test_another_model_under_the_same_id_is_refused(folder: RunFolder) -> None:
    judge_run(folder, fake_judge(fast()), Ear())
    with pytest.raises(JudgeError, match="another model"):
        judge_run(folder, fake_judge(fast(), weights="other"), Ear())
    (folder.judgments / "judge-a" / "judge.json").write_text("{")
    with pytest.raises(RunError, match="cannot be read"):
        collect(folder)


def test_another_mode_asks_anew_and_reads_only_its_own(folder: RunFolder, chosen: list[Case]) -> None:
    judge_run(folder, fake_judge(fast()), Ear())
    judge_run(folder, fake_judge(FakeEngine(worst), mode="evidence"), Ear())
    assert {v.value for v in by(folder)} == {0.0}
    ear = Ear()
    judge_run(folder, fake_judge(fast(), mode="fast", orders=2), ear)
    assert ear.named("planned")["stored"] == ear.named("planned")["open"] <= planned(chosen)
    # this judge takes the first letter whatever it means, so the two orders cancel out
    assert {v.detail["reason"] for v in by(folder)} == {"tie"}


def test_another_rubric_or_criterion_needs_grading_again(
    folder: RunFolder, tiny: Benchmark, chosen: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_run(folder, fake_judge(fast()), Ear())
    changed = {**tiny.criteria, "K01": tiny.criteria["K01"].model_copy(update={"passes": "It says hello."})}
    runs.put(monkeypatch, replace(tiny, criteria=changed), chosen)
    with pytest.raises(JudgeError, match="Grade the run again"):
        collect(folder)
    ear = Ear()
    judge_run(folder, fake_judge(fast()), ear)
    assert ear.named("planned")["open"] == sum("K01" in criteria_of(case) for case in chosen for _ in case.grading.turns)
    assert {v.status for v in by(folder)} == {"scored"}


def test_the_export_holds_every_verdict_and_no_character_that_steers_a_terminal(folder: RunFolder) -> None:
    """A judge may quote whatever a reply holds: C1 controls, marks that turn the reading direction, a lone surrogate."""
    quote = "caf\u00e9 \x85 \x9b31m \u202egnp.exe\u2066 \u200f \U000e0041"
    judge_run(folder, fake_judge(FakeEngine(lambda _: json.dumps({"quote": quote, "verdict": "PASS"})), mode="evidence"), Ear())
    graded = collect(folder)
    for _ in range(2):
        graded.write(folder)
        written = (folder.root / "verdicts.jsonl").read_bytes()
        assert [Verdict(**json.loads(line)) for line in written.splitlines()] == list(graded.verdicts)
    assert not set(written) & ({*range(32)} - {10} | {127})
    assert written.isascii()
    assert {v.detail["quote"] for v in graded.verdicts if "quote" in v.detail} == {quote}
    assert [path.name for path in folder.root.iterdir() if path.name.startswith(".")] == []
