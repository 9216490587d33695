"""Hostile text: what stays dangerous after escaping is shown as a mark or is gone."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.report.text import CAP, deep, embed, plain, visible
from tests.report.payloads import PAYLOADS

UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e0fff\ud800-\udfff]"
)
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=())) | st.sampled_from(PAYLOADS)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a␛[31mb"),
        ("\u202eabc", "⟨U+202E⟩abc"),
        ("\x00\x7f\x85", "␀␡⟨U+0085⟩"),
        ("one\r\ntwo\rthree\tfour", "one\ntwo\nthree\tfour"),
        ("\ud800", "\ufffd"),
        ("e" + "\u0301" * 50, "e" + "\u0301" * 4),
        ("👩\u200d🚒 می\u200cخواهم ❤\ufe0f", "👩\u200d🚒 می\u200cخواهم ❤\ufe0f"),
        (12, "12"),
        ("x" * (CAP + 1234), "x" * CAP + "\n[… 1,234 more characters are in the run's journal]"),
    ],
)
def test_what_acts_unseen_becomes_a_mark_and_a_long_text_is_cut(text: object, shown: str) -> None:
    assert visible(text) == shown


@given(ANY_TEXT)
def test_no_text_keeps_a_character_that_acts(text: str) -> None:
    shown, line = visible(text), plain(text)
    assert not UNSEEN.search(shown)
    assert not UNSEEN.search(line)
    assert len(line) <= 200
    assert not {"\n", "\x1b"} & set(line)
    inside = embed({shown: [shown]})
    assert not re.search("[<>&\u2028\u2029]", inside)
    assert json.loads(inside) == {shown: [shown]}


def test_whole_escape_sequences_go_not_only_their_first_character() -> None:
    assert plain("a\x1b]0;title\x07b\x1b[2Jc\x1b]8;;http://x\x1b\\d\x1bPq\x1b\\e\x9b31mf") == "abcdef"


def test_deep_reaches_keys_and_leaves_numbers_that_are_numbers() -> None:
    found = deep({"\x1b": [1, 2.5, True, None, math.nan, math.inf, ("\u202e",), {"k": object}]})
    assert found["␛"][:7] == [1, 2.5, True, None, None, None, ["⟨U+202E⟩"]]
    assert found["␛"][7]["k"].startswith("<class")
