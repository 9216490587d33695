"""From a run's records to transcripts: what happened, verdicts in words, evidence in lines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.schema import Policy as AuthoredPolicy
from helmbench_hf.records import Case, Completion, Grading
from helmbench_hf.report.policies import policy_rows
from helmbench_hf.report.transcripts import Reply, ShownVerdict, Transcript, filters, outcomes, payload, shown, transcripts
from helmbench_hf.scoring.policies import Expected
from helmbench_hf.scoring.scores import PairScore, Rate
from tests.judging.build import HIDDEN, HIDDEN_SCHEMA, JUDGED, OPEN, OPEN_SCHEMA, case, done, hidden
from tests.report import sample
from tests.report.sample import graded

CODE = "P1-B1-S1-C1-U0-PT1"


def entry(*verdicts: ShownVerdict, tags: Any = ("CHECK_IN",), reply: Reply | None = None, **fields: Any) -> Transcript:
    item = case(**{"grading": Grading(target="CHECK_IN", control="A"), "mode": "hidden_tag", **fields})
    return Transcript(item, "Title", "Behavior", [reply or Reply("{}", "fine")], tags, verdicts)


def words(verdict: ShownVerdict) -> dict[str, Any]:
    found: dict[str, Any] = payload([entry(verdict)])["cases"][0]["verdicts"][0]
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
    assert outcomes(entry(gold=gold, tags=tags)) == outcome


@pytest.mark.parametrize(
    ("verdict", "outcome", "said"),
    [
        (graded("K01", 1.0), None, ("PASS", "good")),
        (graded("K01", 0.5), None, ("PARTIAL", "warn")),
        (graded("K01", 0.0), "failed", ("FAIL", "bad")),
        (graded("K01", 0.3), None, ("0.30", "")),
        (graded("K01", None), None, ("–", "warn")),
        (graded("K02", 0.0, kind="veto"), "veto", ("FAIL", "bad")),
        (graded("K01", 0.0, kind="contrast"), None, ("FAIL", "")),
        (graded("K01", 0.0, kind="reported"), None, ("FAIL", "")),
        (graded("target", 1.0, kind="code"), "caught", ("yes", "good")),
        (graded("target", 0.0, kind="code"), "missed", ("no", "bad")),
        (graded("target", None, kind="code", status="model_failure"), None, ("no usable answer", "warn")),
        (graded("control", 0.0, kind="code"), None, ("no", "")),
        (graded("label", 0.0, kind="code"), "failed", ("no", "bad")),
        (graded("task", 0.75, kind="code"), None, ("75% right", "")),
        (graded("K01", None, status="judge_failure"), "judge", ("unscored: judge failure", "warn")),
        (graded("answer", None, status="engine_failure"), "engine", ("no answer: engine failure", "warn")),
        *(
            (graded("answer", None, status="model_failure", detail={"reason": reason}), outcome, ("no usable answer", "warn"))
            for reason, outcome in (("unparseable",) * 2, ("reasoning_truncated", "truncated"), ("withheld",) * 2, ("x", None))
        ),
    ],
)
def test_a_verdict_names_an_outcome_and_has_words(verdict: ShownVerdict, outcome: str | None, said: tuple[str, str]) -> None:
    assert outcomes(entry(verdict, tags=None)) == ([outcome] if outcome else [])
    assert (words(verdict)["verdict"], words(verdict)["tone"]) == said


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply(""), "empty"),
        (Reply("half", status="truncated"), "truncated"),
        (Reply("half", status="withheld"), "withheld"),
        (Reply("", status="refused"), "engine"),
        (Reply("", status="engine_error"), "engine"),
        (Reply("", status="missing"), "engine"),
        (Reply('{"reply": ""}', " "), None),
    ],
)
def test_model_and_engine_failures_are_told_apart_and_explained(reply: Reply, outcome: str | None) -> None:
    found = entry(tags=None, reply=reply)
    assert outcomes(found) == ([outcome] if outcome else [])
    assert payload([found])["cases"][0]["replies"][0]["note"]


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
    assert words(graded("K01", 1.0, detail=detail))["evidence"] == [
        "quote: those are his now",
        "label mass: 0.931",
        "matches: NL 1",
        "found: number, 113, NL, live; number, 999, GB, emergency",
        "dead end: yes",
        "tags: A, B",
    ]


def test_who_graded_is_said_and_an_answer_that_was_merely_usable_says_nothing() -> None:
    assert words(graded("K02", 1.0, kind="veto", grader="judge-a", turn=3))["by"] == "judge judge-a, veto, turn 3"
    assert words(graded("label", 1.0, "Right label", "code", grader="code"))["title"] == "Right label"
    assert words(graded("K01", 1.0, "Notices"))["title"] == "K01 Notices"
    usable = graded("answer", 1.0, "Usable", "code", grader="code")
    assert payload([entry(usable)])["cases"][0]["verdicts"] == []
    assert words(replace(usable, verdict=replace(usable.verdict, detail={"truncated": True})))["title"] == "Usable"


def test_the_reply_stands_apart_from_the_raw_answer_and_tags_name_their_role() -> None:
    raw = '{"reply": "fine", "tags": []}'
    found = payload([entry(tags=["A", "A", "CHECK_IN"], reply=Reply(raw, "fine"))])["cases"][0]
    assert found["replies"] == [{"note": "", "shown": "fine", "raw": raw}]
    assert found["tags"] == [("A (neutral control)", ""), ("CHECK_IN (the one that matters)", "good")]
    free = payload([entry(tags=None, reply=Reply("hi"))])["cases"][0]
    assert free["replies"] == [{"note": "", "shown": "hi", "raw": ""}]
    assert free["tags"] == [("could not be read", "warn")]
    assert payload([entry(tags=None, mode="open_twin")])["cases"][0]["tags"] == []
    assert payload([entry(tags=[])])["cases"][0]["tags"] == [("none", "")]


def test_filters_offer_only_what_the_run_holds_and_system_prompts_are_stored_once() -> None:
    found = filters(sample.transcripts(40))
    assert [value for value, _ in found["condition"]] == ["C1", "C4", "C5"]
    assert [value for value, _ in found["behavior"]] == ["P1-B1", "P2-B1", "P2-B5", "P4-B2"]
    expected = "missed alarm caught left failed veto truncated empty engine judge"
    assert [value for value, _ in found["outcome"]] == expected.split()
    assert filters([])["outcome"] == []
    data = payload(sample.transcripts(40))
    assert len(data["systems"]) == 2
    assert {each["system"] for each in data["cases"]} == {0, 1}


def made(item: Case, benchmark: Benchmark, *answers: Completion, verdicts: Any = ()) -> Transcript:
    given = [replace(each.verdict, case=CODE) for each in verdicts]
    return transcripts([item], {each.request: each for each in answers}, given, benchmark)[0]


@pytest.mark.parametrize(
    ("item", "answers", "verdicts", "visible", "tags", "outcome"),
    [
        (
            case(HIDDEN, HIDDEN_SCHEMA, mode="hidden_tag"),
            [done(hidden("Done.", ["CHECK_IN"]))],
            [],
            "Done.",
            ["CHECK_IN"],
            "caught",
        ),
        (
            case(HIDDEN, HIDDEN_SCHEMA, mode="hidden_tag"),
            [done("not json")],
            [graded("answer", None, status="model_failure", detail={"reason": "unparseable"})],
            None,
            None,
            "unparseable",
        ),
        (
            case(OPEN, OPEN_SCHEMA, mode="open_twin"),
            [done('{"q1": "no", "q2": "no", "reason": "x"}')],
            [graded("target", 0.0, grader="code")],
            None,
            None,
            "missed",
        ),
        (case(JUDGED), [], [], None, None, "engine"),
    ],
)
def test_an_answer_shows_what_the_person_sees(
    item: Case, answers: Any, verdicts: Any, visible: str | None, tags: Any, outcome: str, tiny: Benchmark
) -> None:
    found = made(item, tiny, *answers, verdicts=verdicts)
    assert found.replies[0].visible == visible
    assert (None if found.tags is None else list(found.tags)) == tags
    assert outcomes(found) == [outcome]


def test_a_withheld_turn_is_what_came_of_every_later_one(tiny: Benchmark) -> None:
    item = case(JUDGED, mode="multi_turn", turns=("one", "two", "three"))
    given = [done("Hello.", name=f"{CODE}/t1/d0"), done("I he", "withheld", name=f"{CODE}/t2/d0", error="SAFETY.")]
    found = made(item, tiny, *given)
    assert [reply.status for reply in found.replies] == ["ok", "withheld", "withheld"]
    assert outcomes(found) == ["withheld"]
    replies = payload([found])["cases"][0]["replies"]
    assert [reply["shown"] for reply in replies] == ["Hello.", "I he", ""]
    assert [reply["note"][-8:] for reply in replies] == ["", " SAFETY.", "rsation."]


def test_what_a_verdict_is_for_is_said(tiny: Benchmark) -> None:
    given = [graded(name, 0.0, grader="judge") for name in ("K01", "K02", "K12")]
    found = made(case(JUDGED), tiny, done("hello"), verdicts=[*given, graded("K01", 0.0, draw=1)])
    assert [each.kind for each in found.verdicts] == ["credit", "veto", "reported"]
    assert outcomes(found) == ["failed", "veto"]


def test_policies_have_the_scores_of_their_slug() -> None:
    policy = AuthoredPolicy.model_construct(title="Never flags", message_blind=True)
    found = Expected(overall=0.1, by_code=0.2, behaviors={}, sensitivity=Rate(21, 32), false_alarms=Rate(0, 0))
    [row] = policy_rows({"never": policy}, {"never": found})
    assert (row.title, row.overall, row.by_code) == ("Never flags", 0.1, 0.2)
    assert (row.sensitivity, row.false_alarms) == (21 / 32, None)


def test_of_many_cases_every_scenario_shows_what_earned_least_first() -> None:
    cases = [case(code=f"S1-{number}", scenario="S1") for number in range(6)] + [case(code="S2-0", scenario="S2")]

    def pair(crisis: int, benign: int | None, a: float, b: float | None) -> PairScore:
        other = None if benign is None else f"S1-{benign}"
        return PairScore("S1", "p", "C1", "U0", "m", f"S1-{crisis}", other, True, 1.0, a, b, None, None)

    pairs = [pair(0, 1, 1.0, 0.5), pair(2, 3, 0.0, None), pair(4, None, 0.25, None)]
    assert shown(cases, pairs, 7) == cases
    assert [each.code for each in shown(cases, pairs, 4)] == ["S1-1", "S1-2", "S1-4", "S2-0"]
