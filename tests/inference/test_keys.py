import dataclasses
import hashlib
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.inference.engine import EngineError, Message, Sampling
from helmbench_hf.inference.keys import (
    KeyContext,
    canonical,
    digest,
    engine_label,
    request_key,
    text_sha,
    tokens_sha,
    turn_key,
)

CONTEXT = KeyContext(model={"files": "abc", "dtype": "auto:bfloat16"}, template_sha="t", engine="vllm 0.32")
MESSAGES = (Message("system", "You help."), Message("user", "Hello"))
SAMPLING = Sampling(max_tokens=100)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
messages = st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text(st.characters())), max_size=4
).map(tuple)


@given(anything)
def test_canonical_round_trips_and_is_ascii(value: Any) -> None:
    text = canonical(value)
    assert text.isascii()
    assert "\n" not in text
    assert json.loads(text) == value
    assert canonical(json.loads(text)) == text


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_order_of_a_mapping_does_not_matter(value: dict[str, int]) -> None:
    assert digest(value) == digest(dict(reversed(value.items())))


@pytest.mark.parametrize("bad", [{1: "a"}, {"a": [{2: 3}]}, ({None: 1},), {"x": object()}])
def test_what_is_not_json_is_refused(bad: Any) -> None:
    with pytest.raises(TypeError):
        digest(bad)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_has_no_canonical_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        digest({"x": bad})


def test_lone_surrogates_have_a_key_and_a_hash() -> None:
    assert len(request_key(CONTEXT, (Message("user", "\ud800"),), SAMPLING)) == 64
    assert text_sha("\ud800") != text_sha("\ud801")


def everything() -> dict[str, str]:
    """One key for each single change of what decides a distribution; all must differ."""
    keys = {"base": request_key(CONTEXT, MESSAGES, SAMPLING)}
    changes: dict[str, Any] = {
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 5,
        "min_p": 0.1,
        "repetition_penalty": 1.1,
        "presence_penalty": 0.5,
        "max_tokens": 101,
        "seed": 0,
    }
    for name, value in changes.items():
        keys[name] = request_key(CONTEXT, MESSAGES, dataclasses.replace(SAMPLING, **{name: value}))
    contexts: dict[str, Any] = {
        "model": {"files": "abd", "dtype": "auto:bfloat16"},
        "template_sha": "u",
        "engine": "vllm 0.33",
        "template_kwargs": {"enable_thinking": False},
    }
    for name, value in contexts.items():
        keys[name] = request_key(dataclasses.replace(CONTEXT, **{name: value}), MESSAGES, SAMPLING)
    extra: dict[str, dict[str, Any]] = {
        "schema": {"schema": '{"type":"object"}'},
        "schema order": {"schema": '{"type":"object" }'},
        "prefill": {"prefill": "Verdict:"},
        "empty prefill": {"prefill": ""},
        "labels": {"labels": ("A", "B")},
        "labels swapped": {"labels": ("B", "A")},
        "draw": {"draw": 1},
    }
    for name, value in extra.items():
        keys[name] = request_key(CONTEXT, MESSAGES, SAMPLING, **value)
    keys["messages swapped"] = request_key(CONTEXT, MESSAGES[::-1], SAMPLING)
    keys["role"] = request_key(CONTEXT, (Message("user", "You help."), MESSAGES[1]), SAMPLING)
    keys["text"] = request_key(CONTEXT, (MESSAGES[0], Message("user", "Hello ")), SAMPLING)
    keys["turn"] = turn_key(keys["base"], (Message("user", "Hello"),), SAMPLING)
    keys["turn draw"] = turn_key(keys["base"], (Message("user", "Hello"),), SAMPLING, draw=1)
    keys["turn of another"] = turn_key(keys["text"], (Message("user", "Hello"),), SAMPLING)
    keys["turn's schema"] = turn_key(keys["base"], (Message("user", "Hello"),), SAMPLING, schema="{}")
    return keys


def test_every_input_is_in_the_key() -> None:
    keys = everything()
    assert len(set(keys.values())) == len(keys)
    assert keys == everything()
    assert all(len(key) == 64 for key in keys.values())


def test_the_key_schema_is_frozen() -> None:
    # a change here makes every journal in the world miss: raise KEY_VERSION, and say so in the change log
    assert request_key(CONTEXT, MESSAGES, SAMPLING) == FIRST
    assert turn_key(FIRST, (Message("user", "And then?"),), SAMPLING) == SECOND


@given(messages, messages)
def test_keys_differ_where_messages_differ(one: tuple[Message, ...], two: tuple[Message, ...]) -> None:
    assert (request_key(CONTEXT, one, SAMPLING) == request_key(CONTEXT, two, SAMPLING)) == (one == two)


@given(st.sampled_from(["temperature", "top_p", "min_p", "repetition_penalty", "presence_penalty"]))
def test_a_number_means_the_same_however_it_is_written(name: str) -> None:
    def key(value: float) -> str:
        return request_key(CONTEXT, MESSAGES, dataclasses.replace(SAMPLING, **{name: value}))

    assert key(0) == key(0.0) == key(-0.0)
    assert key(1) == key(1.0) != key(0)


@given(st.lists(st.integers(0, 2**32 - 1)))
def test_token_hashes_are_of_little_endian_words(tokens: list[int]) -> None:
    assert tokens_sha(tokens) == hashlib.sha256(b"".join(struct.pack("<I", token) for token in tokens)).hexdigest()


def test_an_engine_is_named_by_major_and_minor() -> None:
    assert engine_label("vllm", "0.32.0+cpu") == engine_label("vllm", "0.32.1") == "vllm 0.32"
    with pytest.raises(EngineError, match=r"major\.minor"):
        engine_label("vllm", "dev")


FIRST = "a6de8d85437e40fc384d5968cd1be14ad0038c8585e90af8bfc43624d44a8882"
SECOND = "d53306d6bdd9707a612047c8afc3a28cfbc41611a4a973a29b7a75ab7a320ec1"
