from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.models.engine import EngineError, Message, Sampling
from helmbench_hf.models.keys import KeyContext, engine_label, request_key

CONTEXT = KeyContext(model={"files": "abc", "dtype": "auto:bfloat16"}, template_sha="t", engine="vllm 0.32")
MESSAGES = (Message("system", "You help."), Message("user", "Hello"))
SAMPLING = Sampling(max_tokens=100)

messages = st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text(st.characters())), max_size=4
).map(tuple)


def test_lone_surrogates_have_a_key() -> None:
    assert len(request_key(CONTEXT, (Message("user", "\ud800"),), SAMPLING)) == 64


def test_every_input_is_in_the_key() -> None:
    """One key for each single change of what decides a distribution; all differ."""
    base, hello = request_key(CONTEXT, MESSAGES, SAMPLING), (Message("user", "Hello"),)
    keys = [base, request_key(CONTEXT, MESSAGES[::-1], SAMPLING), request_key(CONTEXT, hello, SAMPLING)]
    keys.append(request_key(CONTEXT, (Message("user", "You help."), MESSAGES[1]), SAMPLING))
    for sampling in (
        {"temperature": 0.7}, {"top_p": 0.9}, {"top_k": 5}, {"min_p": 0.1}, {"repetition_penalty": 1.1},
        {"presence_penalty": 0.5}, {"max_tokens": 101}, {"seed": 0},
    ):  # fmt: skip
        keys.append(request_key(CONTEXT, MESSAGES, replace(SAMPLING, **sampling)))
    for context in (
        {"model": {"files": "abd", "dtype": "auto:bfloat16"}},
        {"template_sha": "u"},
        {"engine": "vllm 0.33"},
        {"template_kwargs": {"enable_thinking": False}},
    ):
        keys.append(request_key(replace(CONTEXT, **context), MESSAGES, SAMPLING))
    more: list[dict[str, Any]] = [
        {"schema": '{"type":"object"}'}, {"schema": '{"type":"object" }'}, {"prefill": "Verdict:"}, {"prefill": ""},
        {"labels": ("A", "B")}, {"labels": ("B", "A")}, {"draw": 1},
    ]  # fmt: skip
    for each in more:
        keys += [request_key(CONTEXT, MESSAGES, SAMPLING, **each), request_key(base, hello, SAMPLING, **each)]
    keys += [request_key(base, hello, SAMPLING), request_key(keys[1], hello, SAMPLING)]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 for key in keys)


def test_the_key_schema_is_frozen() -> None:
    # a change here makes every journal in the world miss: raise KEY_VERSION, and say so in the change log
    assert request_key(CONTEXT, MESSAGES, SAMPLING) == FIRST
    assert request_key(FIRST, (Message("user", "And then?"),), SAMPLING) == SECOND


@given(messages, messages)
def test_keys_differ_where_messages_differ(one: tuple[Message, ...], two: tuple[Message, ...]) -> None:
    assert (request_key(CONTEXT, one, SAMPLING) == request_key(CONTEXT, two, SAMPLING)) == (one == two)


@given(st.sampled_from(["temperature", "top_p", "min_p", "repetition_penalty", "presence_penalty"]))
def test_a_number_means_the_same_however_it_is_written(name: str) -> None:
    def key(value: float) -> str:
        return request_key(CONTEXT, MESSAGES, replace(SAMPLING, **{name: value}))

    assert key(0) == key(0.0) == key(-0.0)
    assert key(1) == key(1.0) != key(0)


def test_an_engine_is_named_by_major_and_minor() -> None:
    assert engine_label("vllm", "0.32.0+cpu") == engine_label("vllm", "0.32.1") == "vllm 0.32"
    with pytest.raises(EngineError, match=r"major\.minor"):
        engine_label("vllm", "dev")


FIRST = "a6de8d85437e40fc384d5968cd1be14ad0038c8585e90af8bfc43624d44a8882"
SECOND = "d53306d6bdd9707a612047c8afc3a28cfbc41611a4a973a29b7a75ab7a320ec1"
