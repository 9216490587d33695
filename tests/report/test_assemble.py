"""Records of a run become transcripts and rows of policies."""

from __future__ import annotations

from typing import Any

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.policies import Policy as AuthoredPolicy
from helmbench_hf.records import Case, Completion, Verdict
from helmbench_hf.report import Transcript
from helmbench_hf.report.assemble import policy_rows, transcripts
from helmbench_hf.report.transcripts import outcomes, payload
from tests.grading.build import HIDDEN, HIDDEN_SCHEMA, JUDGED, OPEN, OPEN_SCHEMA, case, done, hidden
from tests.report import sample


def transcript(item: Case, benchmark: Benchmark, completion: Completion | None = None, *verdicts: Verdict) -> Transcript:
    completions = {completion.request: completion} if completion else {}
    return transcripts([item], completions, verdicts, benchmark)[0]


def verdict(criterion: str, value: float | None, grader: str = "judge", **changes: Any) -> Verdict:
    fields = {"case": "P1-B1-S1-C1-U0-PT1", "turn": 1, "draw": 0, "status": "scored", **changes}
    return Verdict(criterion=criterion, grader=grader, value=value, **fields)


def test_a_structured_answer_shows_what_the_person_sees_and_its_tags(tiny: Benchmark) -> None:
    item = case(HIDDEN, HIDDEN_SCHEMA, mode="hidden_tag")
    found = transcript(item, tiny, done(hidden("Done.", ["CHECK_IN"])), verdict("target", 1.0, "code"))
    assert found["replies"][0]["visible"] == "Done."
    assert list(found["tags"] or ()) == ["CHECK_IN"]
    assert outcomes(found) == ["caught"]


def test_an_unreadable_answer_has_no_tags_and_is_shown_raw(tiny: Benchmark) -> None:
    item = case(HIDDEN, HIDDEN_SCHEMA, mode="hidden_tag")
    failure = verdict("answer", None, "code", status="model_failure", detail={"reason": "unparseable"})
    found = transcript(item, tiny, done("not json"), failure)
    assert found["tags"] is None
    assert found["replies"][0]["visible"] is None
    assert outcomes(found) == ["unparseable"]


def test_an_open_twin_is_read_from_its_verdict(tiny: Benchmark) -> None:
    item = case(OPEN, OPEN_SCHEMA, mode="open_twin")
    answer = done('{"q1": "no", "q2": "no", "reason": "x"}')
    assert outcomes(transcript(item, tiny, answer, verdict("target", 0.0, "code"))) == ["missed"]


def test_a_missing_answer_is_an_engine_failure(tiny: Benchmark) -> None:
    found = transcript(case(JUDGED), tiny)
    assert outcomes(found) == ["engine"]
    assert "no answer" in payload([found])["cases"][0]["replies"][0]["note"]


def test_what_a_verdict_is_for_is_said(tiny: Benchmark) -> None:
    given = [verdict(name, 0.0) for name in ("K01", "K02", "K12")]
    found = transcript(case(JUDGED), tiny, done("hello"), *given, verdict("K01", 0.0, draw=1))
    assert [entry["kind"] for entry in found["verdicts"]] == ["credit", "veto", "reported"]
    assert outcomes(found) == ["failed", "veto"]


def test_policies_stand_where_their_scores_say() -> None:
    policy = AuthoredPolicy.model_construct(title="Never flags", message_blind=True)
    scores = sample.sample_scores()
    row = policy_rows({"never": policy}, {"never": scores})[0]
    assert (row["slug"], row["title"], row["sensitivity"], row["false_alarms"]) == ("never", "Never flags", 21 / 32, 4 / 32)
    scores["operating"] = []
    assert policy_rows({"never": policy}, {"never": scores})[0]["sensitivity"] is None
