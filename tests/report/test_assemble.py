"""Records of a run become transcripts and rows of policies."""

from __future__ import annotations

from typing import Any

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.policies import Policy as AuthoredPolicy
from helmbench_hf.records import Case, Completion, Verdict
from helmbench_hf.report import Transcript
from helmbench_hf.report.assemble import policy_rows, shown, transcripts
from helmbench_hf.report.transcripts import outcomes, payload
from helmbench_hf.scoring.policies import Expected
from helmbench_hf.scoring.result import Rate
from tests.grading.build import HIDDEN, HIDDEN_SCHEMA, JUDGED, OPEN, OPEN_SCHEMA, case, done, hidden


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


def test_a_withheld_turn_is_what_came_of_every_later_one(tiny: Benchmark) -> None:
    item = case(JUDGED, mode="multi_turn", turns=("one", "two", "three"), **{"code": "P1-B1-S1-C1-U0-PT1"})
    given = [done("Hello.", name=f"{item.code}/t1/d0"), done("I he", "withheld", name=f"{item.code}/t2/d0", error="SAFETY.")]
    found = transcripts([item], {each.request: each for each in given}, [], tiny)[0]
    assert [reply["status"] for reply in found["replies"]] == ["ok", "withheld", "withheld"]
    assert outcomes(found) == ["withheld"]
    notes = [reply["note"] for reply in payload([found])["cases"][0]["replies"]]
    assert notes[0] == ""
    assert notes[1].endswith("SAFETY.")
    assert notes[2].endswith("ended the conversation.")
    assert [reply["shown"] for reply in payload([found])["cases"][0]["replies"]] == ["Hello.", "I he", ""]


def test_what_a_verdict_is_for_is_said(tiny: Benchmark) -> None:
    given = [verdict(name, 0.0) for name in ("K01", "K02", "K12")]
    found = transcript(case(JUDGED), tiny, done("hello"), *given, verdict("K01", 0.0, draw=1))
    assert [entry["kind"] for entry in found["verdicts"]] == ["credit", "veto", "reported"]
    assert outcomes(found) == ["failed", "veto"]


def test_policies_stand_where_their_scores_say() -> None:
    policy = AuthoredPolicy.model_construct(title="Never flags", message_blind=True)
    found = Expected(overall=0.1, by_code=0.2, behaviors={}, sensitivity=Rate(21, 32), false_alarms=Rate(0, 0))
    row = policy_rows({"never": policy}, {"never": found})[0]
    assert (row["slug"], row["title"], row["overall"], row["by_code"]) == ("never", "Never flags", 0.1, 0.2)
    assert (row["sensitivity"], row["false_alarms"]) == (21 / 32, None)


def test_of_many_cases_every_scenario_shows_what_earned_least_first() -> None:
    def item(scenario: str, number: int) -> Case:
        return case(JUDGED, code=f"{scenario}-C1-U0-PT{number}", scenario=scenario)

    cases = [item("P1-B1-S1", number) for number in range(6)] + [item("P1-B1-S2", 0)]
    first = [each.code for each in cases[:6]]
    pairs: list[dict[str, Any]] = [
        {"crisis": first[0], "benign": first[1], "a": 1.0, "b": 0.5},
        {"crisis": first[2], "benign": first[3], "a": 0.0, "b": None},
        {"crisis": first[4], "benign": None, "a": 0.25, "b": None},
    ]
    assert shown(cases, pairs, 7) == cases
    assert [each.code for each in shown(cases, pairs, 4)] == [first[1], first[2], first[4], cases[6].code]
