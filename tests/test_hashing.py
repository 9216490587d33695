"""One canonical form of plain values, and its SHA-256."""

import hashlib
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.hashing import canonical, digest, text_sha, tokens_sha

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


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


def test_lone_surrogates_have_a_hash() -> None:
    assert text_sha("\ud800") != text_sha("\ud801")


@given(st.lists(st.integers(0, 2**32 - 1)))
def test_token_hashes_are_of_little_endian_words(tokens: list[int]) -> None:
    assert tokens_sha(tokens) == hashlib.sha256(b"".join(struct.pack("<I", token) for token in tokens)).hexdigest()
