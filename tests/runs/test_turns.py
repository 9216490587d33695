"""Conversations over a fake engine: nothing lost, nothing asked twice, whatever was stored before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.models.chat import ChatTemplate
from helmbench_hf.models.drive import drive
from helmbench_hf.models.engine import Message
from helmbench_hf.models.keys import KeyContext
from helmbench_hf.records import Case, Completion
from helmbench_hf.runs.plan import ideal_cached
from helmbench_hf.runs.turns import Conversations, Settings
from tests.support.fake_engine import FakeEngine, Fate

CONTEXT = KeyContext(model={"files": "tiny"}, template_sha="tiny", engine="fake 1.0")


def talks(
    cases: Sequence[Case], template: ChatTemplate, stored: dict[str, Completion] | None = None, **settings: object
) -> Conversations:
    return Conversations(cases, template, CONTEXT, Settings(**settings), stored or {})  # type: ignore[arg-type]


def answered(conversations: Conversations, engine: FakeEngine) -> dict[str, Completion]:
    saved: dict[str, Completion] = {}
    work = map(conversations.request, conversations.missing())
    drive(engine, work, conversations.follow_up, lambda c: saved.__setitem__(c.key, c))
    return saved


def talk(cases: list[Case]) -> Case:
    """A conversation of three turns."""
    case = next(case for case in cases if len(case.turns) > 1)
    return replace(case, turns=(*case.turns[:2], "and a third thing"))


@pytest.mark.parametrize("fates", [["answer"], ["garbage", "truncate", "answer"]])
def test_every_turn_of_every_case_is_answered_once(tiny_cases: list[Case], template: ChatTemplate, fates: list[Fate]) -> None:
    conversations = talks(tiny_cases, template)
    saved = answered(conversations, FakeEngine(fate=lambda request, attempt: fates[len(request.messages) % len(fates)]))
    names = {completion.request for completion in saved.values()}
    assert len(saved) == conversations.planned_turns == sum(len(case.turns) for case in tiny_cases)
    assert names == {f"{case.code}/t{n}/d0" for case in tiny_cases for n in range(1, len(case.turns) + 1)}


def test_an_ordinary_chat_stands_between_the_system_prompt_and_the_message(
    tiny_cases: list[Case], template: ChatTemplate
) -> None:
    plain = next(case for case in tiny_cases if len(case.turns) == 1)
    behind = replace(plain, code=f"{plain.code}0", history=("any good soup", "Leek and potato.", "ok thanks", "Enjoy!"))
    engine = FakeEngine()
    saved = answered(talks([plain, behind], template), engine)
    assert len(saved) == 2, "the two are asked apart"
    _, longer = sorted(engine.submitted, key=lambda request: len(request.messages))
    assert [message.role for message in longer.messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert tuple(message.content for message in longer.messages[1:]) == (*behind.history, *plain.turns)


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
    before = answered(talks(cases, template), FakeEngine(seed=seed))
    kept = {key: c for number, (key, c) in enumerate(before.items()) if number not in lost}
    # a turn whose parent is lost cannot be asked for before the parent has been answered again
    again = answered(talks(cases, template, kept), FakeEngine(seed=seed + 1))
    assert not set(again) & set(kept)
    assert set(again) | set(kept) == set(before)


def test_a_failed_turn_ends_its_conversation(tiny_cases: list[Case], template: ChatTemplate) -> None:
    engine = FakeEngine(fate=lambda request, attempt: "refuse" if "/t2/" in request.name else "answer")
    saved = answered(talks([talk(tiny_cases)], template), engine)
    assert sorted((c.request.split("/")[1], c.status) for c in saved.values()) == [("t1", "ok"), ("t2", "refused")]


def test_keys_differ_between_draws_settings_and_schemas(tiny_cases: list[Case], template: ChatTemplate) -> None:
    cases = [case for case in tiny_cases if case.response_schema][:2]
    keys = [
        {asked.key for asked in talks(cases, template, **settings).first_turns()}
        for settings in ({}, {"temperature": 0.5}, {"free_form": True}, {"thinking_tokens": 10}, {"temperature": 0.5, "draws": 3})
    ]
    assert [len(found) for found in keys] == [2, 2, 2, 2, 6]
    assert len(set.union(*keys)) == 2 * 4 + 4  # draw 0 at temperature 0.5 is one and the same request


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"draws": 3}, "--set temperature"),
        ({"temperature": "hot"}, "temperature must be a number, not 'hot'"),
        ({"draws": 1.5}, "draws must be a whole number"),
        ({"free_form": 1}, "free_form must be true or false"),
        ({"top_p": float("nan")}, "top_p must be a number"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Settings(**settings)  # type: ignore[arg-type]


def test_the_order_walks_the_prefix_tree_and_renders_only_what_is_asked(
    tiny_cases: list[Case], template: ChatTemplate, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[str] = []
    real = template.render

    def watched(messages: Sequence[Message]) -> tuple[int, ...]:
        rendered.append(messages[-1].content)
        return real(messages)

    monkeypatch.setattr(template, "render", watched)
    conversations = talks(tiny_cases, template)
    missing = conversations.missing()
    assert (len(missing), rendered) == (len(tiny_cases), [])
    prompts = [conversations.request(asked).tokens for asked in missing]
    assert len(rendered) == len(prompts)
    assert ideal_cached(prompts, 16) == ideal_cached(sorted(prompts), 16) > 0
