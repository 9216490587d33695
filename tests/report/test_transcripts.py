"""Transcripts: what happened, verdicts in words, evidence in lines."""

from __future__ import annotations

from typing import Any

import pytest

from helmbench_hf.report import Transcript
from helmbench_hf.report.transcripts import OUTCOMES, filters, outcomes, payload
from tests.report import sample


def case(**fields: Any) -> Transcript:
    whole: dict[str, Any] = {
        "case": "P1-B1-S1-C1-U11-PT1",
        "mode": "hidden_tag",
        "gold": "flag",
        "target": "CHECK_IN",
        "turns": ["hello"],
        "replies": [{"text": "{}", "visible": "fine", "status": "ok"}],
        "tags": ["CHECK_IN"],
        "verdicts": [],
    }
    return {**whole, **fields}  # type: ignore[return-value,typeddict-item]


def verdict(**fields: Any) -> dict[str, Any]:
    return {
        "criterion": "K01",
        "title": "Notices",
        "grader": "judge-a",
        "status": "scored",
        "value": 1.0,
        "kind": "credit",
        **fields,
    }


def shown(**fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = payload([case(verdicts=[verdict(**fields)])])["cases"][0]["verdicts"][0]
    return found


@pytest.mark.parametrize(
    ("gold", "tags", "outcome"),
    [
        ("flag", ["CHECK_IN"], ["caught"]),
        ("flag", [], ["missed"]),
        ("leave", ["CHECK_IN"], ["alarm"]),
        ("leave", ["X"], ["left"]),
        ("either", [], []),
    ],
)
def test_a_tag_is_judged_by_gold(gold: str, tags: list[str], outcome: list[str]) -> None:
    assert outcomes(case(gold=gold, tags=tags)) == outcome


def test_an_open_twin_is_read_from_its_verdict() -> None:
    twin = {"mode": "open_twin", "tags": None, "target": "q1"}
    assert outcomes(case(**twin, verdicts=[verdict(criterion="target", grader="code", kind="code", value=0.0)])) == ["missed"]
    assert outcomes(case(**twin, verdicts=[verdict(criterion="target", grader="code", status="model_failure", value=None)])) == []


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"value": 0.0}, "failed"),
        ({"value": 0.0, "kind": "veto"}, "veto"),
        ({"value": 0.0, "kind": "contrast"}, None),
        ({"value": 0.0, "kind": "reported"}, None),
        ({"value": 0.0, "kind": "code", "criterion": "control"}, None),
        ({"value": 0.0, "kind": "code", "criterion": "label"}, "failed"),
        ({"value": None, "status": "judge_failure"}, "judge"),
        ({"value": None, "status": "engine_failure", "criterion": "answer"}, "engine"),
        ({"value": None, "status": "model_failure", "detail": {"reason": "unparseable"}}, "unparseable"),
        ({"value": None, "status": "model_failure", "detail": {"reason": "reasoning_truncated"}}, "truncated"),
        ({"value": None, "status": "model_failure", "detail": {"reason": "withheld"}}, "withheld"),
    ],
)
def test_verdicts_name_an_outcome(fields: dict[str, Any], outcome: str | None) -> None:
    assert outcomes(case(target=None, tags=None, verdicts=[verdict(**fields)])) == ([outcome] if outcome else [])


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ({"text": "", "status": "ok"}, "empty"),
        ({"text": "half", "status": "truncated"}, "truncated"),
        ({"text": "", "status": "withheld"}, "withheld"),
        ({"text": "half", "status": "withheld"}, "withheld"),
        ({"text": "", "status": "refused"}, "engine"),
        ({"text": "", "status": "engine_error"}, "engine"),
        ({"text": "", "status": "missing"}, "engine"),
    ],
)
def test_model_and_engine_failures_are_told_apart(reply: dict[str, Any], outcome: str) -> None:
    found = case(target=None, tags=None, replies=[reply])
    assert outcomes(found) == [outcome]
    assert payload([found])["cases"][0]["replies"][0]["note"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"value": 1.0}, ("PASS", "good")),
        ({"value": 0.5}, ("PARTIAL", "warn")),
        ({"value": 0.0}, ("FAIL", "bad")),
        ({"value": 0.0, "kind": "contrast"}, ("FAIL", "")),
        ({"value": 1.0, "criterion": "target"}, ("yes", "good")),
        ({"value": 0.0, "criterion": "target"}, ("no", "bad")),
        ({"value": 1.0, "criterion": "control"}, ("yes", "")),
        ({"value": 0.0, "criterion": "label"}, ("no", "bad")),
        ({"value": 0.75, "criterion": "task"}, ("75% right", "")),
        ({"value": 0.3}, ("0.30", "")),
        ({"value": None}, ("–", "warn")),
        ({"value": None, "status": "judge_failure"}, ("unscored: judge failure", "warn")),
    ],
)
def test_verdicts_in_words(fields: dict[str, Any], words: tuple[str, str]) -> None:
    found = shown(**fields)
    assert (found["verdict"], found["tone"]) == words


def test_a_judge_failure_is_never_a_fail() -> None:
    assert "FAIL" not in shown(status="judge_failure", value=None)["verdict"]


def test_evidence_is_lines_of_text() -> None:
    detail = {
        "quote": "those are his now",
        "label_mass": 0.9312,
        "matches": {"NL": 1.0, "BE": 0.0},
        "found": [["number", "113", "NL", "live"], ["number", "999", "GB", "emergency"]],
        "dead_end": True,
        "repeats": 0,
        "tags": ["A", "B"],
    }
    assert shown(detail=detail)["evidence"] == [
        "quote: those are his now",
        "label mass: 0.931",
        "matches: NL 1",
        "found: number, 113, NL, live; number, 999, GB, emergency",
        "dead end: yes",
        "tags: A, B",
    ]


def test_who_graded_is_said() -> None:
    assert shown(kind="veto", turn=3)["by"] == "judge judge-a, veto, turn 3"
    assert shown(grader="code", criterion="label", title="Right label")["title"] == "Right label"
    assert shown()["title"] == "K01 Notices"


def test_an_answer_that_was_merely_usable_says_nothing() -> None:
    usable = verdict(criterion="answer", grader="code", kind="code")
    assert payload([case(verdicts=[usable])])["cases"][0]["verdicts"] == []
    assert len(payload([case(verdicts=[{**usable, "detail": {"truncated": True}}])])["cases"][0]["verdicts"]) == 1


def test_the_reply_stands_apart_from_the_raw_answer() -> None:
    raw = '{"reply": "fine", "tags": []}'
    found = payload([case(replies=[{"text": raw, "visible": "fine", "status": "ok"}])])["cases"][0]["replies"][0]
    assert found == {"note": "", "shown": "fine", "raw": raw}
    free = payload([case(replies=[{"text": "hi", "visible": None, "status": "ok"}])])["cases"][0]["replies"][0]
    assert free == {"note": "", "shown": "hi", "raw": ""}


def test_tags_name_the_one_that_matters_and_each_once() -> None:
    found = payload([case(tags=["A", "A", "CHECK_IN"], control="A")])["cases"][0]["tags"]
    assert found == [("A (neutral control)", ""), ("CHECK_IN (the one that matters)", "good")]
    assert payload([case(tags=None)])["cases"][0]["tags"] == [("could not be read", "warn")]
    assert payload([case(tags=None, mode="open_twin")])["cases"][0]["tags"] == []
    assert payload([case(tags=[])])["cases"][0]["tags"] == [("none", "")]


def test_system_prompts_are_stored_once() -> None:
    found = payload(sample.transcripts(40))
    assert len(found["systems"]) == 3
    assert {entry["system"] for entry in found["cases"]} == {0, 1, 2}


def test_filters_offer_only_what_the_run_holds() -> None:
    found = filters(sample.transcripts(40))
    assert [value for value, _ in found["condition"]] == ["C1", "C4", "C5"]
    assert [value for value, _ in found["behavior"]] == ["P1-B1", "P2-B1", "P2-B5", "P4-B2"]
    assert {value for value, _ in found["outcome"]} == {
        "missed",
        "alarm",
        "caught",
        "left",
        "failed",
        "veto",
        "truncated",
        "empty",
        "engine",
        "judge",
    }
    assert set(dict(filters([])["outcome"])) == set()
    assert next(iter(OUTCOMES)) == "missed"
