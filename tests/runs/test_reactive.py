"""Reactive conversations, over two fake engines: the path follows from the replies and the acts alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.models.chat import ChatTemplate
from helmbench_hf.models.drive import drive
from helmbench_hf.models.engine import Request
from helmbench_hf.models.keys import KeyContext
from helmbench_hf.models.roles import Memory, Models
from helmbench_hf.records import Act, Beat, Case, Completion, Grading, Route, Step
from helmbench_hf.runs.completions import acts_of, as_said
from helmbench_hf.runs.router import ACT, LETTERS, Router, named_act
from helmbench_hf.runs.turns import Conversations, Settings, turn_name
from helmbench_hf.tasks.reactive import ACTS, paths, walk
from tests.judging.build import case as plain_case
from tests.runs.test_turns import CONTEXT
from tests.support.fake_engine import FakeEngine, Fate

SORTS = KeyContext(model={"files": "router"}, template_sha="router", engine="fake 1.0")


def step(to: str, trust: int = 0, *, trusted: str | None = None) -> Step:
    return Step(trust, ((0, to), (2, trusted)) if trusted else ((0, to),))


ROUTE = Route(
    (
        Beat("open", "Hello.", tuple((act, step("more" if act == "cares" else "again", int(act == "cares"))) for act in ACTS)),
        Beat("more", "I am not fine.", tuple((act, step("bye", int(act == "asks"), trusted="stays")) for act in ACTS)),
        Beat("again", "Anyway.", tuple((act, step("bye")) for act in ACTS)),
        Beat("stays", "I called my sister.", end="somebody knows"),
        Beat("bye", "Bye.", end="left"),
    ),
    trust=0,
    turns=3,
)


def reactive(code: str = "P1-B1-S1-C1-U0-PT1") -> Case:
    return replace(plain_case(Grading(turns=(1, 2, 3))), code=code, mode="reactive", turns=("Hello.",), route=ROUTE)


def talks(
    cases: list[Case], chat: ChatTemplate, stored: dict[str, Completion] | None = None, acts: dict[str, Completion] | None = None
) -> Conversations:
    return Conversations(cases, chat, CONTEXT, Settings(), stored or {}, Router(SORTS, "fast", chat), acts or {})


def sorted_as(act: Callable[[Request], Act]) -> Callable[[Request], list[float]]:
    """Label probabilities that make one act the likeliest."""
    return lambda request: [math.log(0.7 if each == act(request) else 0.02) for each in ACTS]


def asked(
    conversations: Conversations,
    act: Callable[[Request], Act],
    *,
    memory: Memory = "both",
    fate: Callable[[Request, int], Fate] | None = None,
    seed: int = 0,
) -> tuple[dict[str, Completion], dict[str, Completion], FakeEngine, FakeEngine]:
    """Answers and acts by key, and the two engines."""
    answers: dict[str, Completion] = {}
    acts: dict[str, Completion] = {}
    target, router = FakeEngine(seed=seed), FakeEngine(labels=sorted_as(act), fate=fate, seed=seed + 1)

    def save(completion: Completion) -> None:
        (acts if completion.request.endswith(ACT) else answers)[completion.key] = completion

    work = map(conversations.request, conversations.missing())
    drive(Models({"target": target, "router": router}, memory), work, conversations.follow_up, save, retries=0)
    return answers, acts, target, router


def by_name(*found: dict[str, Completion]) -> dict[str, Completion]:
    return {completion.request: completion for each in found for completion in each.values()}


@pytest.mark.parametrize("memory", ["both", "waves"])
@pytest.mark.parametrize(("says", "lines"), [
    ("cares", ("Hello.", "I am not fine.", "Bye.")), ("job", ("Hello.", "Anyway.", "Bye.")),
])  # fmt: skip
def test_what_the_person_says_follows_from_the_acts(
    template: ChatTemplate, memory: Memory, says: Act, lines: tuple[str, ...]
) -> None:
    case = reactive()
    answers, acts, _, _ = asked(talks([case], template), lambda _: says, memory=memory)
    found = by_name(answers, acts)
    assert acts_of(case, found, 0) == (says,) * 2
    assert as_said(case, found, 0).turns == lines
    assert len(answers) == len(lines)


def test_the_router_sees_the_conversation_and_nothing_of_the_product(template: ChatTemplate) -> None:
    case = reactive()
    _, _, _, router = asked(talks([case], template), lambda _: "cares")
    last = router.submitted[-1].messages[-1].content
    said = [line.removeprefix("PERSON: ") for line in last.splitlines()]
    assert [line for line in said if line in {"Hello.", "I am not fine."}] == ["Hello."] * 2 + ["I am not fine."] * 2
    assert case.system not in last
    rules = router.submitted[-1].messages[0].content
    assert all(f"{letter} = {act}" in rules for letter, act in zip(LETTERS, ACTS, strict=True))


@given(seed=st.integers(0, 20), kept=st.sets(st.integers(0, 12)), memory=st.sampled_from(["both", "waves"]))
def test_a_resume_asks_only_what_is_missing_and_finds_the_same_path(
    template: ChatTemplate,
    seed: int,
    kept: set[int],
    memory: Memory,
) -> None:
    cases = [reactive(f"P1-B1-S1-C1-U0-PT{number}") for number in range(1, 4)]
    # what a reply does depends on nothing but the question
    says: Callable[[Request], Act] = lambda request: ACTS[len(request.messages[-1].content) % len(ACTS)]  # noqa: E731
    answers, acts, _, _ = asked(talks(cases, template), says, seed=seed)
    left = {key: each for number, (key, each) in enumerate(answers.items()) if number in kept}
    left_acts = {key: each for number, (key, each) in enumerate(acts.items()) if number in kept}
    again, again_acts, _, _ = asked(talks(cases, template, left, left_acts), says, memory=memory, seed=seed + 1)
    assert not {*again, *again_acts} & {*left, *left_acts}
    assert {**left, **again}.keys() == answers.keys()
    whole = by_name(answers, acts)
    for case in cases:
        assert as_said(case, by_name(left, again, left_acts, again_acts), 0) == as_said(case, whole, 0)


def test_a_router_that_fails_stops_the_conversation_and_a_resume_goes_on(template: ChatTemplate) -> None:
    case = reactive()
    answers, _, _, _ = asked(talks([case], template), lambda _: "cares", fate=lambda request, attempt: "fail")
    assert set(by_name(answers)) == {turn_name(case.code, 1, 0)}
    again, _, target, _ = asked(talks([case], template, answers), lambda _: "cares")
    assert len(again) == len(target.submitted) == 2


def test_without_a_router_a_conversation_ends_after_its_first_turn(template: ChatTemplate) -> None:
    conversations = Conversations([reactive()], template, CONTEXT, Settings(), {})
    saved: dict[str, Completion] = {}
    drive(
        FakeEngine(), map(conversations.request, conversations.missing()), conversations.follow_up,
        lambda each: saved.__setitem__(each.key, each),
    )  # fmt: skip
    assert len(saved) == conversations.planned_turns == 1


def test_an_answer_that_cannot_be_read_is_unclear_and_nobody_is_asked(template: ChatTemplate) -> None:
    case = reactive()
    conversations = talks([case], template)
    router = FakeEngine(labels=sorted_as(lambda _: "cares"))
    saved: dict[str, Completion] = {}
    engine = Models({"target": FakeEngine(answer=lambda _: ""), "router": router})
    drive(
        engine,
        map(conversations.request, conversations.missing()),
        conversations.follow_up,
        lambda c: saved.__setitem__(c.key, c),
    )
    assert not router.submitted
    assert acts_of(case, by_name(saved), 0) == ("unclear",) * 3


@given(acts=st.lists(st.sampled_from(ACTS), max_size=6))
def test_every_walk_is_the_beginning_of_a_path(acts: list[Act]) -> None:
    walked = tuple(beat.slug for beat, _ in walk(ROUTE, acts))
    assert any(tuple(beat.slug for beat in path)[: len(walked)] == walked for path in paths(ROUTE))
    assert all(0 <= trust <= 4 for _, trust in walk(ROUTE, acts))


@pytest.mark.parametrize(
    ("text", "act"),
    [("asks", "asks"), (" B. ", "names_help"), ('{"act": "cares"}', "cares"), ("H", None), ("it asks", None), ("", None)],
)
def test_an_act_is_named_by_word_letter_or_object(text: str, act: str | None) -> None:
    assert named_act(text) == act
