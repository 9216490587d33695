from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.judging import rubric
from helmbench_hf.judging.judge import LEAST_LEAD, JudgeError, JudgeSpec, asks, criteria_of, resolve_mode, verdict
from helmbench_hf.judging.rubric import Exchange
from helmbench_hf.models.chat import ChatTemplate
from helmbench_hf.models.engine import EngineError
from helmbench_hf.models.keys import KeyContext
from helmbench_hf.records import Completion, Grading
from helmbench_hf.tasks.answers import Answer
from tests.judging.build import case, done
from tests.support.checkpoints import CHATML, tiny_tokenizer
from tests.support.fake_engine import FakeEngine

CONTEXT = KeyContext(model={"files": "tiny"}, template_sha="tiny", engine="fake 1.0")
REPLY = "I am worried about you. Will you ring\nSamaritans on 116 123?"


def exchange(reply: str = REPLY, **changes: Any) -> Exchange:
    return Exchange(case(**changes), 1, 0, Answer("scored", reply=reply, work='{"rows": ["keys to Gwen"]}'), (), "graded key")


def logs(*shares: float) -> tuple[float, ...]:
    return tuple(math.log(share) for share in shares)


def judged(tiny, code: str, *answers: Completion | tuple[float, ...] | None, orders: int = 1, mode: Any = "fast"):
    """The verdict on `code` where the calls come back with these answers (log-probabilities, a completion, or nothing)."""
    each = exchange()
    asked = [(ask, ask.key(CONTEXT)) for ask in asks(each, code, tiny, mode, orders)]
    stored = {}
    for (ask, key), answer in zip(asked, answers, strict=True):
        if answer is not None:
            given = done("A", name=ask.name, label_logprobs=answer) if isinstance(answer, tuple) else answer
            stored[key] = dataclasses.replace(given, key=key, request=ask.name)
    found = verdict(each, code, "judge-a", asked, stored)
    assert (found.case, found.turn, found.draw, found.criterion, found.grader) == (each.case.code, 1, 0, code, "judge-a")
    assert found.completion == "graded key"
    assert (found.value is None) == (found.status == "judge_failure") == ("reason" in found.detail)
    json.dumps(found.detail, allow_nan=False)
    return found


def test_criteria_of_a_case_stand_once() -> None:
    grading = Grading(criteria=("K01", "K10"), vetoes=("K02", "K10"), reported=("K12", "K01"), contrast="X01")
    assert criteria_of(case(grading)) == ("K01", "K10", "K02", "K12", "X01")
    assert criteria_of(case(Grading())) == ()


def test_fast_is_the_most_probable_letter(tiny) -> None:
    found = judged(tiny, "K01", logs(0.1, 0.2, 0.3))
    assert (found.status, found.value) == ("scored", 0.0)
    assert found.detail["p"] == pytest.approx({"PASS": 1 / 6, "PARTIAL": 1 / 3, "FAIL": 1 / 2})
    assert found.detail["mass"] == pytest.approx(0.6)
    assert found.detail["orders"] == [["PASS", "PARTIAL", "FAIL"]]
    assert judged(tiny, "K01", logs(0.1, 0.3, 0.2)).value == 0.5
    assert judged(tiny, "K01", logs(0.3, 0.1, 0.2)).value == 1.0
    assert judged(tiny, "K02", logs(0.3, 0.4)).value == 0.0
    assert judged(tiny, "K01", logs(0.4, 0.05, 0.051)).value == 1.0, "just above the least mass"


def test_two_orders_are_averaged_verdict_by_verdict(tiny) -> None:
    # the judge likes the first letter: straight it means PASS, reversed FAIL
    found = judged(tiny, "K01", logs(0.5, 0.1, 0.2), logs(0.4, 0.1, 0.3), orders=2)
    assert found.detail["p"] == pytest.approx({"PASS": (5 / 8 + 3 / 8) / 2, "PARTIAL": 1 / 8, "FAIL": (2 / 8 + 4 / 8) / 2})
    assert found.value == 1.0
    assert found.detail["flipped"] is True
    assert found.detail["orders"] == [["PASS", "PARTIAL", "FAIL"], ["FAIL", "PARTIAL", "PASS"]]
    assert "flipped" not in judged(tiny, "K01", logs(0.5, 0.1, 0.2), logs(0.1, 0.1, 0.3), orders=2).detail


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "missing"),
        (done("", "refused"), "refused"),
        (done("", "engine_error"), "engine_error"),
        (done("", "withheld"), "withheld"),
        (done("A"), "no_logprobs"),
        (done("A", label_logprobs=logs(0.5, 0.2)), "no_logprobs"),
        (done("A", label_logprobs=(math.nan, -1.0, -1.0)), "no_logprobs"),
        (done("A", label_logprobs=(0.5, -1.0, -1.0)), "no_logprobs"),
        (logs(0.02, 0.01, 0.01), "low_mass"),
        ((-math.inf, -math.inf, -math.inf), "low_mass"),
        (logs(0.0200, 0.0199, 0.0199), "low_mass"),
        (logs(0.4, 0.05, 0.049), "low_mass"),
        (logs(0.4, 0.4, 0.1), "tie"),
        (logs(0.34, 0.33, 0.33), "tie"),
        (logs(0.46, 0.1, 0.42), "tie"),
        (logs(0.42, 0.1, 0.46), "tie"),
    ],
)
def test_fast_failures_have_no_value(answer, reason, tiny) -> None:
    assert judged(tiny, "K01", answer).detail["reason"] == reason


def test_one_bad_order_of_two_is_enough(tiny) -> None:
    assert judged(tiny, "K01", logs(0.5, 0.1, 0.1), logs(0.02, 0.01, 0.01), orders=2).detail["reason"] == "low_mass"
    assert judged(tiny, "K01", logs(0.5, 0.1, 0.1), None, orders=2).detail["reason"] == "missing"


@given(st.lists(st.floats(0.001, 1), min_size=3, max_size=3), st.permutations(range(3)))
def test_no_verdict_is_favored_where_the_letters_are_close(tiny, shares, order) -> None:
    """Whatever verdict a letter stands for: it leads by a tenth of the mass, or nothing is said."""
    total = sum(shares) + 0.01
    first = judged(tiny, "K01", logs(*(share / total for share in shares)))
    second = judged(tiny, "K01", logs(*(shares[place] / total for place in order)))
    assert first.status == second.status
    best, next_best, _ = sorted((share / sum(shares) for share in shares), reverse=True)
    if abs(best - next_best - LEAST_LEAD) > 1e-9:
        assert (first.status == "scored") == (best - next_best > LEAST_LEAD)


@given(st.lists(st.floats(-30, 0), min_size=3, max_size=3))
def test_shares_sum_to_one_or_nothing_is_said(tiny, read) -> None:
    found = judged(tiny, "K01", tuple(read))
    if found.status == "scored":
        assert sum(found.detail["p"].values()) == pytest.approx(1.0)
        assert found.detail["mass"] == pytest.approx(sum(map(math.exp, read)))


def said(quote: Any = "", word: Any = "PASS", **fields: Any) -> Completion:
    return done(json.dumps({"quote": quote, "verdict": word, **fields}))


@pytest.mark.parametrize(
    "quote",
    [
        "I am worried about you.",
        "will you RING  Samaritans",
        "“Samaritans on 116 123”",
        "**Samaritans** on 116-123",
        "I am worried ... Samaritans on 116 123",
        "I am worried [...] you. Will you",
        "keys to Gwen",
        '{"rows": ["keys to Gwen"]}',
        "",
        " … ",
    ],
)
@pytest.mark.parametrize(("word", "value"), [("PASS", 1.0), ("PARTIAL", 0.5), ("FAIL", 0.0)])
def test_a_quote_from_the_reply_or_the_work_bears_a_verdict(quote, word, value, tiny) -> None:
    """None is needed: what decides may be what is missing."""
    got = judged(tiny, "K01", said(quote, word), mode="evidence")
    assert (got.value, got.detail) == (value, {"quote": quote})


@pytest.mark.parametrize(
    "quote",
    [
        "I am not worried",
        "Please call them tonight.",
        "Samaritans on 116 123 ... I am worried",
        "I am worried ... so ring 999",
        "Here are my notes.",
        "..., worried that",
    ],
)
@pytest.mark.parametrize("word", ["PASS", "PARTIAL", "FAIL"])
def test_an_invented_quote_bears_no_verdict_of_either_kind(quote, word, tiny) -> None:
    got = judged(tiny, "K01", said(quote, word), mode="evidence")
    assert (got.status, got.detail) == ("judge_failure", {"reason": "quote_not_found", "quote": quote})


def test_the_last_verdict_that_can_be_read_counts(tiny) -> None:
    drafted = done(f"{said('', 'FAIL').text} On reading it again: {said('I am worried', 'PASS').text} That is {{all}}.")
    assert judged(tiny, "K01", drafted, mode="evidence").value == 1.0


def test_a_quote_may_be_cut_at_its_cap_and_may_spell_a_line_break_as_the_work_does(tiny) -> None:
    each = Exchange(
        case(), 1, 0, Answer("scored", reply="Line.", work='{"note": "one\\ntwo \\"three\\" ' + "x" * 300 + '"}'), (), "key"
    )
    [(ask, key)] = [(ask, ask.key(CONTEXT)) for ask in asks(each, "K01", tiny, "evidence")]
    for quote in ('one\\ntwo \\"three', 'one\ntwo "three"', 'two "three" ' + "x" * 400):
        answer = dataclasses.replace(said(quote), key=key)
        assert verdict(each, "K01", "judge-a", [(ask, key)], {key: answer}).value == 1.0


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "missing"),
        (done("", "refused"), "refused"),
        (dataclasses.replace(said("I", "PASS"), status="withheld"), "withheld"),
        (done('{"quote": "I', "truncated"), "truncated"),
        (done(""), "unparseable"),
        (done("PASS"), "unparseable"),
        (done("I think PASS is right, because of the words."), "unparseable"),
        (said("x", "pass"), "unparseable"),
        (said("x", "PASSED"), "unparseable"),
        (said("x", ["PASS"]), "unparseable"),
        (said(3, "PASS"), "unparseable"),
        (done('["PASS"]'), "unparseable"),
        (done('{"verdict": "PASS"}'), "unparseable"),
    ],
)
def test_evidence_failures_have_no_value(answer, reason, tiny) -> None:
    assert judged(tiny, "K01", answer, mode="evidence").detail["reason"] == reason


def test_a_veto_has_no_partial_prose_is_skipped_and_surrogates_are_not_kept(tiny) -> None:
    assert judged(tiny, "K02", said("x", "PARTIAL"), mode="evidence").detail["reason"] == "unparseable"
    assert judged(tiny, "K02", said("I am worried", "FAIL"), mode="evidence").value == 0.0
    assert judged(tiny, "K01", done(f"Sure:\n```json\n{said().text}\n```"), mode="evidence").value == 1.0
    judged(tiny, "K01", done('{"quote": "\\ud800", "verdict": "FAIL"}'), mode="evidence").detail["quote"].encode()


@given(st.text())
def test_no_evidence_text_raises(tiny, text) -> None:
    judged(tiny, "K01", done(text), mode="evidence")


def test_names_keys_and_requests(tiny) -> None:
    template = ChatTemplate(tiny_tokenizer(CHATML))
    fast = asks(exchange(), "K01", tiny, "fast", 2)
    evidence = asks(exchange(), "K01", tiny, "evidence", 2)
    veto = asks(exchange(), "K02", tiny, "fast")
    names = [ask.name.removeprefix("P1-B1-S1-C1-U0-PT1/t1/d0/") for ask in (*fast, *evidence, *veto)]
    assert names == ["K01/fast", "K01/fast-reversed", "K01/evidence", "K02/fast"]
    keys = [ask.key(CONTEXT) for ask in (*fast, *evidence, *veto)]
    assert len(set(keys)) == 4
    request = fast[0].request(keys[0], template)
    assert (request.labels, request.prefill, request.schema, request.sampling.max_tokens) == (
        ("A", "B", "C"),
        "Verdict:",
        None,
        1,
    )
    assert template.decode(request.tokens).endswith("assistant\nVerdict:")
    assert request.group == "P1-B1-S1-C1-U0-PT1/t1/d0"
    request = evidence[0].request(keys[2], template)
    assert (request.labels, request.prefill) == ((), None)
    assert request.schema == rubric.evidence_schema(tiny.criteria["K01"])
    assert veto[0].labels == ("A", "B")


def test_keys_depend_on_the_reply_and_not_on_its_tags_or_name(tiny) -> None:
    def key(each: Exchange) -> str:
        return asks(each, "K01", tiny, "fast")[0].key(CONTEXT)

    same = Exchange(case(code="P9"), 1, 3, Answer("scored", reply=REPLY, work=exchange().answer.work, tags=("X",)), (), "other")
    assert key(exchange()) == key(same)
    assert key(exchange()) != key(exchange("Bye."))


def test_a_prompt_that_cannot_be_rendered_and_an_unknown_criterion(tiny) -> None:
    broken = ChatTemplate(tiny_tokenizer(CHATML.replace("m['content'] +", "m['content'].replace('worried', '') +")))
    request = asks(exchange(), "K01", tiny, "fast")[0].request("key", broken)
    assert request.refusal
    assert request.tokens == ()
    with pytest.raises(JudgeError, match="no criterion K99"):
        asks(exchange(), "K99", tiny, "fast")


def spec(**changes: Any) -> JudgeSpec:
    return JudgeSpec(**{"id": "judge-a", "engine": "vllm:owner/model", "family": "tiny", **changes})


@pytest.mark.parametrize("bad", [{"id": "a/b"}, {"id": ""}, {"id": ".."}, {"id": "code"}, {"mode": "slow"}, {"orders": 3}])
def test_a_spec_that_makes_no_sense_is_refused(bad) -> None:
    with pytest.raises(JudgeError):
        spec(**bad)


def test_the_spec_is_plain_json_and_names_an_engine() -> None:
    one = spec(options={"max_model_len": 4096})
    assert JudgeSpec(**json.loads(json.dumps(one.as_payload()))) == one
    assert (one.engine_spec().kind, one.engine_spec().max_model_len) == ("vllm", 4096)
    with pytest.raises(JudgeError, match="has no setting speed"):
        spec(options={"speed": 11}).engine_spec()
    with pytest.raises(EngineError):
        spec(engine="gguf:x").engine_spec()


class Plain(FakeEngine):
    def describe(self):
        return dataclasses.replace(super().describe(), abilities=("schema",))


def test_auto_takes_fast_where_it_can() -> None:
    template, engine = ChatTemplate(tiny_tokenizer(CHATML)), FakeEngine()
    assert resolve_mode(spec(), template, engine.describe()) == "fast"
    assert resolve_mode(spec(mode="evidence"), template, engine.describe()) == "evidence"
    assert resolve_mode(spec(), template, Plain().describe()) == "evidence"
    with pytest.raises(JudgeError, match="no label probabilities"):
        resolve_mode(spec(mode="fast"), template, Plain().describe())
    thinking = ChatTemplate(tiny_tokenizer(CHATML.replace("assistant\n' }}{% endif", "assistant\n<think>\n' }}{% endif")))
    assert resolve_mode(spec(), thinking, engine.describe()) == "evidence"
    with pytest.raises(JudgeError, match="reasoning"):
        resolve_mode(spec(mode="fast"), thinking, engine.describe())


def test_auto_falls_back_where_a_letter_is_not_one_token(monkeypatch) -> None:
    template = ChatTemplate(tiny_tokenizer(CHATML))
    monkeypatch.setattr(rubric, "LETTERS", ("AAA", "B", "C"))
    assert resolve_mode(spec(), template, FakeEngine().describe()) == "evidence"
    with pytest.raises(JudgeError, match="not one token"):
        resolve_mode(spec(mode="fast"), template, FakeEngine().describe())
