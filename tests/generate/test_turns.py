"""Conversations over a fake engine: nothing lost, nothing asked twice, whatever was stored before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.generate.turns import Conversations, Settings
from helmbench_hf.inference.chat import ChatTemplate
from helmbench_hf.inference.drive import drive
from helmbench_hf.inference.engine import Message, Request
from helmbench_hf.inference.keys import KeyContext
from helmbench_hf.records import Case, Completion
from tests.support.checkpoints import tiny_tokenizer
from tests.support.fake_engine import FakeEngine, Fate

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for message in messages %}<start_of_turn>{{ message.role }}\n{{ message.content }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
CONTEXT = KeyContext(model={"files": "tiny"}, template_sha="tiny", engine="fake 1.0")


@pytest.fixture(scope="session")
def template() -> ChatTemplate:
    return ChatTemplate(tiny_tokenizer(CHATML))


def talks(
    cases: list[Case], template: ChatTemplate, stored: dict[str, Completion] | None = None, **settings: object
) -> Conversations:
    return Conversations(cases, template, CONTEXT, Settings(**settings), stored or {})  # type: ignore[arg-type]


def answered(conversations: Conversations, engine: FakeEngine) -> dict[str, Completion]:
    saved: dict[str, Completion] = {}
    drive(engine, conversations.missing(), conversations.follow_up, lambda c: saved.__setitem__(c.key, c))
    return saved


def talk(cases: list[Case]) -> Case:
    """A conversation of three turns."""
    case = next(case for case in cases if len(case.turns) > 1)
    return replace(case, turns=(*case.turns[:2], "and a third thing"))


def test_every_turn_of_every_case_is_answered_once(tiny_cases: list[Case], template: ChatTemplate) -> None:
    conversations = talks(tiny_cases, template)
    saved = answered(conversations, FakeEngine())
    names = Counter(completion.request for completion in saved.values())
    assert len(saved) == conversations.planned_turns == sum(len(case.turns) for case in tiny_cases)
    assert set(names) == {f"{case.code}/t{n}/d0" for case in tiny_cases for n in range(1, len(case.turns) + 1)}


def test_history_carries_the_raw_answer(tiny_cases: list[Case], template: ChatTemplate) -> None:
    case = talk(tiny_cases)
    engine = FakeEngine(answer=lambda request: '{"reply": "' + request.messages[-1].content[:5] + '"}')
    answered(talks([case], template), engine)
    first, *_, last = engine.submitted
    said = [message for message in last.messages if message.role != "system"]
    assert [message.role for message in said] == ["user", "assistant", "user", "assistant", "user"]
    assert [message.content for message in said[::2]] == list(case.turns)
    assert [message.content for message in said[1::2]] == ['{"reply": "' + turn[:5] + '"}' for turn in case.turns[:-1]]
    assert last.messages[: len(first.messages)] == first.messages


@given(lost=st.sets(st.integers(0, 30)), seed=st.integers(0, 5))
def test_resume_asks_exactly_what_is_missing(tiny_cases: list[Case], template: ChatTemplate, lost: set[int], seed: int) -> None:
    cases = [*[case for case in tiny_cases if len(case.turns) > 1], *tiny_cases[:8]]
    whole = answered(talks(cases, template), FakeEngine(seed=seed))
    kept = {key: c for number, (key, c) in enumerate(whole.items()) if number not in lost}
    # a turn whose parent is lost cannot be asked for before the parent has been answered again
    again = answered(talks(cases, template, kept), FakeEngine(seed=seed + 1))
    assert not set(again) & set(kept)
    assert set(again) | set(kept) == set(whole)


def test_a_failed_turn_ends_its_conversation(tiny_cases: list[Case], template: ChatTemplate) -> None:
    case = talk(tiny_cases)

    def fate(request: Request, attempt: int) -> Fate:
        return "refuse" if "/t2/" in request.name else "answer"

    saved = answered(talks([case], template), FakeEngine(fate=fate))
    assert sorted((c.request.split("/")[1], c.status) for c in saved.values()) == [("t1", "ok"), ("t2", "refused")]


def test_garbage_and_truncation_go_on(tiny_cases: list[Case], template: ChatTemplate) -> None:
    fates: list[Fate] = ["garbage", "truncate", "answer"]
    saved = answered(talks(tiny_cases, template), FakeEngine(fate=lambda request, attempt: fates[len(request.key) % 3]))
    assert len(saved) == sum(len(case.turns) for case in tiny_cases)


def test_template_that_breaks_gives_one_typed_row(tiny_cases: list[Case], template: ChatTemplate) -> None:
    broken = replace(tiny_cases[0], code="BROKEN", turns=("   ",))
    saved = answered(talks([*tiny_cases[1:5], broken], template), FakeEngine())
    rows = {c.request: c.status for c in saved.values()}
    assert rows.pop("BROKEN/t1/d0") == "refused"
    assert set(rows.values()) == {"ok"}


def test_system_text_is_folded_where_there_is_no_role(tiny_cases: list[Case]) -> None:
    template = ChatTemplate(tiny_tokenizer(NO_SYSTEM))
    case = next(case for case in tiny_cases if case.system)
    engine = FakeEngine()
    answered(talks([case], template), engine)
    text = template.decode(engine.submitted[0].tokens)
    assert case.system in text
    assert case.turns[0] in text
    assert template.facts.folded


def test_keys_differ_between_draws_settings_and_schemas(tiny_cases: list[Case], template: ChatTemplate) -> None:
    cases = [case for case in tiny_cases if case.response_schema][:2]
    keys = [
        {request.key for request in talks(cases, template, **settings).first_turns()}
        for settings in ({}, {"temperature": 0.5}, {"free_form": True}, {"thinking_tokens": 10}, {"temperature": 0.5, "draws": 3})
    ]
    assert [len(found) for found in keys] == [2, 2, 2, 2, 6]
    assert len(set.union(*keys)) == 2 * 4 + 4  # draw 0 at temperature 0.5 is one and the same request


def test_several_greedy_draws_are_refused() -> None:
    with pytest.raises(ValueError, match="--set temperature"):
        Settings(draws=3)


def test_order_is_the_prefix_tree(tiny_cases: list[Case], template: ChatTemplate) -> None:
    missing = talks(tiny_cases, template).missing()
    assert [request.tokens for request in missing] == sorted(request.tokens for request in missing)


def test_prompts_are_made_one_system_text_at_a_time(tiny_cases: list[Case], template: ChatTemplate) -> None:
    rendered: list[str] = []

    class Watched:
        facts = template.facts

        def render(self, messages: Sequence[Message], prefill: str | None = None) -> tuple[int, ...]:
            rendered.append(messages[0].content)
            return template.render(messages, prefill)

    systems = {case.system for case in tiny_cases}
    work = talks(tiny_cases, Watched()).missing()  # type: ignore[arg-type]
    assert (len(work), rendered) == (len(tiny_cases), [])
    first = next(iter(work))
    own = [case for case in tiny_cases if case.system == first.messages[0].content]
    assert len(systems) > 1
    assert len(rendered) == len(systems) + len(own), "one of each group for their order, and the group that is asked"


def test_a_group_beyond_one_portion_is_asked_whole_and_in_one_piece(
    tiny_cases: list[Case], template: ChatTemplate, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [request.key for request in talks(tiny_cases, template).missing()]
    monkeypatch.setattr("helmbench_hf.generate.turns.TOGETHER", 4000)
    asked = list(talks(tiny_cases, template).missing())
    keys, systems = [request.key for request in asked], [request.messages[0].content for request in asked]
    assert sorted(keys) == sorted(whole)
    assert keys != whole, "no group is so large that this says anything"
    assert len(set(systems)) == sum(before != after for before, after in pairwise(["", *systems]))


def test_three_bad_prompts_among_two_hundred(tiny_cases: list[Case]) -> None:
    breaks = CHATML.replace("<|im_start|>{{", "{{ raise_exception('no') if 'BREAK' in message.content }}<|im_start|>{{")
    template = ChatTemplate(tiny_tokenizer(breaks))
    base = next(case for case in tiny_cases if len(case.turns) == 1)
    cases = [replace(base, code=f"CASE-{number}", turns=(f"message {number}",)) for number in range(197)]
    cases += [replace(base, code=f"BAD-{n}", turns=(text,)) for n, text in enumerate(("word " * 9000, " ", "BREAK"))]
    saved = answered(talks(cases, template), FakeEngine(max_model_len=20_000, capacity=32))
    refused = {completion.request: completion.error for completion in saved.values() if completion.status == "refused"}
    assert (len(saved), sorted(refused)) == (200, ["BAD-0/t1/d0", "BAD-1/t1/d0", "BAD-2/t1/d0"])
    assert all(refused.values())
