"""The worded user: a model words the authored lines, and nothing bad is ever said."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.models.chat import ChatTemplate
from helmbench_hf.models.drive import drive
from helmbench_hf.models.engine import Request
from helmbench_hf.models.keys import KeyContext
from helmbench_hf.models.roles import Memory, Models
from helmbench_hf.records import Completion
from helmbench_hf.runs.completions import as_said
from helmbench_hf.runs.router import ACT, Router
from helmbench_hf.runs.turns import Conversations, Settings, is_answer
from helmbench_hf.runs.worded import FIT, LINE, MOST_WORDS, OF_FIT, TRIES, User, Worded, formed, tally
from helmbench_hf.tasks.reactive import ACTS, texts_after
from tests.runs.test_reactive import ROUTE, SORTS, reactive
from tests.runs.test_turns import CONTEXT
from tests.support.fake_engine import FakeEngine

PERSON = KeyContext(model={"files": "user"}, template_sha="user", engine="fake 1.0")
CASE = reactive()
Said = dict[str, Completion]


def talk(template: ChatTemplate, stored: Said | None = None, words: Said | None = None) -> Conversations:
    router, user = Router(SORTS, "fast", template), User(PERSON, template)
    return Conversations([CASE], template, CONTEXT, Settings(), stored or {}, router, words or {}, user)


def run(
    conversations: Conversations,
    *,
    line: Callable[[Request], str] = lambda request: f"ok so, try {request.sampling.seed}",
    fit: Callable[[Request], str] = lambda request: "fits",
    memory: Memory = "both",
    one_model: bool = False,
) -> tuple[Said, Said]:
    """Answers and words by key."""

    def labels(request: Request) -> list[float]:
        names, right = (OF_FIT.names, fit(request)) if FIT in request.name else (ACTS, "cares")
        return [math.log(0.7 if name == right else 0.02) for name in names]

    router = FakeEngine(labels=labels, answer=line)
    user = router if one_model else FakeEngine(answer=line)
    answers, words = Said(), Said()

    def save(completion: Completion) -> None:
        (answers if is_answer(completion.request) else words)[completion.key] = completion

    engine = Models({"target": FakeEngine(), "router": router, "user": user}, memory)
    drive(engine, map(conversations.request, conversations.missing()), conversations.follow_up, save, retries=0)
    return answers, words


def person(conversations: Conversations, answers: Said, words: Said) -> tuple[str, ...]:
    """What the person said, as grading reads it."""
    found = {each.request: each for each in answers.values()}
    return as_said(CASE, {**found, **dict(conversations.labels()), **dict(conversations.lines())}, 0).turns


@pytest.mark.parametrize("memory", ["both", "waves"])
@pytest.mark.parametrize("one_model", [False, True])
def test_a_line_that_fits_is_said_and_a_rerun_asks_nothing(template: ChatTemplate, memory: Memory, one_model: bool) -> None:
    answers, words = run(talk(template), memory=memory, one_model=one_model)
    again = talk(template, answers, words)
    assert person(again, answers, words) == ("Hello.", "ok so, try 0", "ok so, try 0")
    assert not again.missing()
    assert tally(again.tries()) == Worded(lines=2, authored=0, tries=2, leaks=0, role=0, strays=0, form=0)


def test_what_leaks_is_asked_for_again_and_the_better_line_is_said(template: ChatTemplate) -> None:
    answers, words = run(talk(template), fit=lambda request: "leaks" if "try 0" in request.messages[-1].content else "fits")
    again = talk(template, answers, words)
    assert person(again, answers, words) == ("Hello.", "ok so, try 1", "ok so, try 1")
    found = tally(again.tries())
    assert (found.tries, found.leaks, found.authored) == (4, 2, 0)
    assert dict(found.passed)["no line tells what comes later"] is False


@pytest.mark.parametrize("bad", ["role", "strays", "leaks"])
def test_the_authored_line_stands_where_no_try_fits(template: ChatTemplate, bad: str) -> None:
    answers, words = run(talk(template), fit=lambda request: bad)
    again = talk(template, answers, words)
    assert person(again, answers, words) == ("Hello.", "I am not fine.", "Bye.")
    assert getattr(tally(again.tries()), bad) == 2 * TRIES
    assert tally(again.tries()).authored == 2


def test_what_code_refuses_never_reaches_the_router(template: ChatTemplate) -> None:
    answers, words = run(talk(template), line=lambda request: "PERSON: [sighs]")
    again = talk(template, answers, words)
    assert person(again, answers, words) == ("Hello.", "I am not fine.", "Bye.")
    assert not [each for each in words.values() if FIT in each.request]
    assert tally(again.tries()).form == 2 * TRIES


@given(kept=st.sets(st.integers(0, 12)), memory=st.sampled_from(["both", "waves"]))
def test_a_resume_finds_the_same_lines(template: ChatTemplate, kept: set[int], memory: Memory) -> None:
    fit: Callable[[Request], str] = lambda request: "strays" if "try 0" in request.messages[-1].content else "fits"  # noqa: E731
    answers, words = run(talk(template), fit=fit)
    left = {key: each for number, (key, each) in enumerate(words.items()) if number in kept}
    first = {key: each for key, each in answers.items() if "/t1/" in each.request}
    again, new = run(talk(template, first, left), fit=fit, memory=memory)
    assert not new.keys() & left.keys()
    assert person(talk(template, {**first, **again}, {**left, **new}), {**first, **again}, {**left, **new}) == person(
        talk(template, answers, words), answers, words
    )


def test_the_user_model_sees_the_app_and_only_the_line_that_comes_next(template: ChatTemplate) -> None:
    asked: list[str] = []

    def line(request: Request) -> str:
        asked.append(request.messages[-1].content)
        return "hm ok"

    run(talk(template), line=line)
    assert "I am not fine." in asked[0]
    assert "sister" not in asked[0]
    assert CASE.system not in asked[0]


@given(words=st.lists(st.sampled_from(["i", "am", "not", "fine", "today", "at", "all"]), min_size=1, max_size=MOST_WORDS))
def test_plain_words_pass_unless_they_repeat_a_later_line(words: list[str]) -> None:
    line = " ".join(words)
    assert formed(line, "How are you?", ["I called my sister."])
    assert formed(line, "How are you?", [f"well {line} or so"]) == (len(words) < 6)


@pytest.mark.parametrize(
    "line", ["", "  ", "*sighs*  **ok**", "- one\n- two", "Person: hi", "word " * (MOST_WORDS + 1), "[NEXT]"]
)
def test_what_no_person_types_does_not_pass(line: str) -> None:
    assert not formed(line, "", [])


def test_what_may_come_after_a_beat() -> None:
    beats = {beat.slug: beat for beat in ROUTE.beats}
    assert texts_after(ROUTE, beats["more"]) == ("I called my sister.", "Bye.")
    assert texts_after(ROUTE, beats["bye"]) == ()
    assert len({ACT, LINE, FIT}) == 3
