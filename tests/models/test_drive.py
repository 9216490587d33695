from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.models.drive import Driven, drive
from helmbench_hf.models.engine import EngineError, EngineSpec, Message, Request, Sampling, open_engine
from helmbench_hf.records import Completion
from tests.support.fake_engine import FakeEngine, Fate

SAMPLING = Sampling(max_tokens=8)


def request(name: str, **changes: Any) -> Request:
    return replace(Request(name, name, (Message("user", name),), (1, 2, 3), SAMPLING), **changes)


def none(_: Request, __: Completion) -> None:
    return None


def turns(count: int) -> Callable[[Request, Completion], Request | None]:
    def follow_up(before: Request, completion: Completion) -> Request | None:
        name, _, turn = before.name.partition("/")
        if completion.status not in ("ok", "truncated") or int(turn or 1) >= count:
            return None
        return request(f"{name}/{int(turn or 1) + 1}", key=f"{before.key}+")

    return follow_up


fates = st.sampled_from(["answer", "truncate", "garbage", "refuse", "fail", "crash"])


@given(
    plan=st.lists(st.lists(fates, min_size=1, max_size=3), max_size=25),
    capacity=st.integers(1, 6),
    seed=st.integers(0, 10**6),
    retries=st.integers(0, 3),
)
def test_every_request_ends_exactly_once_whatever_happens(plan: list[list[Fate]], capacity: int, seed: int, retries: int) -> None:
    def fate(each: Request, attempt: int) -> Fate:
        chosen = plan[int(each.name.partition("/")[0])]
        return chosen[min(attempt, len(chosen)) - 1]

    engine = FakeEngine(fate=fate, capacity=capacity, seed=seed)
    saved: list[Completion] = []
    asked: list[str] = []

    def follow_up(before: Request, completion: Completion) -> Request | None:
        asked.append(before.key)
        return turns(2)(before, completion)

    driven = drive(engine, map(request, map(str, range(len(plan)))), follow_up, saved.append, retries=retries)
    keys = Counter(each.key for each in saved)
    firsts = [each for each in saved if "/" not in each.request]
    assert len(firsts) == len(plan)
    assert set(keys.values()) <= {1}
    assert sorted(asked) == sorted(keys)
    assert {each.key for each in saved if "/" in each.request} == {
        f"{each.key}+" for each in firsts if each.status in ("ok", "truncated")
    }
    assert all(1 <= each.attempt <= retries + 1 for each in saved)
    assert all(each.attempt == retries + 1 for each in saved if each.status == "engine_error")
    assert engine.most_live <= capacity
    assert driven.saved == len(saved)
    assert not driven.stopped


def test_next_turns_go_before_fresh_work() -> None:
    engine = FakeEngine(capacity=1)
    drive(engine, [request("a"), request("b")], turns(3), lambda each: None)
    assert [each.name for each in engine.submitted] == ["a", "a/2", "a/3", "b", "b/2", "b/3"]


def test_work_is_pulled_only_as_the_window_has_room() -> None:
    engine, saved = FakeEngine(capacity=4), list[Completion]()

    def source() -> Iterator[Request]:
        for number in range(50):
            assert number - len(saved) < 4
            yield request(str(number))

    drive(engine, source(), none, saved.append)
    assert (len(saved), engine.most_live) == (50, 4)


def test_failures_are_tried_again_after_fresh_work_and_the_last_time_alone() -> None:
    engine = FakeEngine(fate=lambda each, attempt: "fail" if each.name == "bad" else "answer", capacity=4, in_order=True)
    saved: dict[str, Completion] = {}
    work = [request("bad"), *(request(str(number)) for number in range(9))]
    driven = drive(engine, work, none, lambda each: saved.update({each.key: each}))
    names = [each.name for each in engine.submitted]
    assert names.count("bad") == 3
    assert names[0] == "bad"
    assert names[-2:] == ["bad", "bad"]
    assert driven == Driven(saved=10, retried=2, stopped=False)
    assert (saved["bad"].status, saved["bad"].attempt) == ("engine_error", 3)
    assert saved["bad"].error == "The fake engine failed on this request."


def test_a_prompt_that_kills_the_engine_takes_none_with_it_in_the_end() -> None:
    engine = FakeEngine(fate=lambda each, attempt: "crash" if each.name == "poison" else "answer", capacity=16, seed=3)
    saved: list[Completion] = []
    work = [*(request(str(number)) for number in range(20)), request("poison")]
    drive(engine, work, none, saved.append)
    assert Counter(each.status for each in saved) == {"ok": 20, "engine_error": 1}


def test_stop_finishes_what_is_live_and_begins_nothing() -> None:
    engine = FakeEngine(capacity=4, in_order=True)
    saved: list[Completion] = []
    work = [request(str(number)) for number in range(100)]
    driven = drive(engine, work, turns(3), saved.append, stop=lambda: len(saved) >= 10)
    assert driven.stopped
    assert driven.saved == len(saved) == len(engine.submitted)
    assert 10 <= len(saved) <= 14


def test_what_a_stop_left_untried_is_not_saved_as_a_failure() -> None:
    saved: list[Completion] = []
    engine = FakeEngine(fate=lambda each, attempt: "fail", in_order=True)
    driven = drive(engine, [request("a")], none, saved.append, stop=lambda: bool(engine.collects))
    assert driven.stopped
    assert not saved


def test_twins_share_one_completion_and_go_on_each_by_itself() -> None:
    # two scripted conversations with the same first message and different second ones: live together, and after
    def follow_up(before: Request, completion: Completion) -> Request | None:
        return None if "/" in before.name else request(f"{before.name}/2")

    engine = FakeEngine(capacity=2, in_order=True)
    saved: list[str] = []
    work = [request("x", key="same"), request("y", key="same"), request("b"), request("z", key="same")]
    driven = drive(engine, work, follow_up, lambda each: saved.append(each.key))
    assert sorted(saved) == ["b", "b/2", "same", "x/2", "y/2", "z/2"]
    assert [each.key for each in engine.submitted].count("same") == 1
    assert driven.saved == 6


def test_twins_that_fail_together_are_tried_again_together() -> None:
    engine = FakeEngine(fate=lambda each, attempt: "fail" if attempt < 3 else "answer", capacity=4)
    saved: list[Completion] = []
    asked: list[str] = []

    def follow_up(before: Request, completion: Completion) -> None:
        asked.append(before.name)

    drive(engine, [request("x", key="same"), request("y", key="same")], follow_up, saved.append)
    assert [(each.status, each.attempt) for each in saved] == [("ok", 3)]
    assert sorted(asked) == ["x", "y"]


def test_a_dead_engine_is_the_callers_business_and_what_was_saved_stays() -> None:
    engine = FakeEngine(fate=lambda each, attempt: "die" if each.name == "7" else "answer", capacity=1)
    saved: list[Completion] = []
    with pytest.raises(EngineError, match="died"):
        drive(engine, [request(str(number)) for number in range(10)], none, saved.append)
    assert [each.key for each in saved] == list("0123456")


def test_a_spec_is_read_from_a_string() -> None:
    spec = EngineSpec.parse("transformers:/models/x:y", dtype="float32", template_kwargs={"enable_thinking": False})
    assert (spec.kind, spec.model, spec.dtype) == ("transformers", "/models/x:y", "float32")
    assert EngineSpec.parse("Qwen/Qwen3-8B") == EngineSpec(kind="vllm", model="Qwen/Qwen3-8B")


@pytest.mark.parametrize("text", ["", "vllm:", "vlm:x", "openai:gpt"])
def test_an_unknown_engine_is_a_sentence(text: str) -> None:
    with pytest.raises(EngineError, match="Write vllm:MODEL or transformers:MODEL"):
        EngineSpec.parse(text)


@pytest.mark.parametrize("kind", ["vllm", "transformers"])
def test_a_missing_model_is_a_sentence(kind: str) -> None:
    with pytest.raises(EngineError, match="There is no folder /nowhere/model"):
        open_engine(EngineSpec.parse(f"{kind}:/nowhere/model"))
