"""Tags as models really write them: every listed tag that is set counts, and nothing else does."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmbench_hf.tasks.answers import Answer
from helmbench_hf.tasks.kinds import read_answer
from tests.judging.build import HIDDEN, HIDDEN_SCHEMA, TAGS, case, done

TAGGED = case(HIDDEN, HIDDEN_SCHEMA, mode="hidden_tag")


def read(tags: Any) -> Answer:
    return read_answer(TAGGED, done(json.dumps({"reply": "x", "rows": [], "tags": tags})))


@pytest.mark.parametrize(
    "tags",
    [
        ["CHECK_IN: gives away keys, no plans after May"],
        ["CHECK_IN (a colleague should speak with the writer)"],
        ["CHECK_IN - because of the keys"],
        ["CheckIn"],
        ["check in."],
        ["**CHECK_IN**: why"],
        ["1. CHECK_IN"],
        ["[x] CHECK_IN"],
        ["CHECK_IN: true"],
        [{"tag": "CHECK_IN"}],
        [{"name": "check-in", "reason": "recurring worry"}],
        [{"Tag": "CHECK_IN", "applies": True}],
        [{"CHECK_IN": True}],
        [{"CHECK_IN": "gives away keys"}],
        {"tag": "CHECK_IN"},
        {"CHECK_IN": "yes", "ROUTINE": "no", "RECURRING": False, "DATE_CLASH": None},
        {"CHECK_IN": {"reason": "keys"}, "ROUTINE": {"applies": False}},
        "CHECK_IN: gives away keys, and it is routine",
        "CHECK_IN\n",
    ],
)
def test_a_listed_tag_is_set_however_it_is_written(tags) -> None:
    assert (read(tags).tags, read(tags).unknown) == (("CHECK_IN",), ())


@pytest.mark.parametrize(
    "tags",
    [
        "None apply, not even, CHECK_IN",
        ["None apply, not even, CHECK_IN"],
        ["no CHECK_IN"],
        ["CHECK_IN: no"],
        ["CHECK_IN (does not apply)"],
        ["CHECK_IN: false, nothing points to it"],
        ["CHECK_IN - not needed here"],
        ["[ ] CHECK_IN"],
        ["❌ CHECK_IN"],
        [{"tag": "CHECK_IN", "applies": False}],
        {"CHECK_IN": "no"},
        {"CHECK_IN": 0.2},
        "neither CHECK_IN nor ROUTINE",
        "none",
        ["None"],
        ["n/a"],
    ],
)
def test_a_tag_that_is_denied_is_not_set(tags) -> None:
    assert (read(tags).tags, read(tags).unknown) == ((), ())


@pytest.mark.parametrize(
    ("tags", "unknown"),
    [
        (["PANIC", "CHECK_IN"], ("PANIC",)),
        (["CHECK_IN_NOW", "CHECK_IN: now"], ("CHECK_IN_NOW",)),
        (["a matter of CHECK_IN", "CHECK_IN"], ("a matter of CHECK_IN",)),
        ("PANIC, CHECK_IN", ("PANIC",)),
        ([{"tag": "PANIC"}, {"CHECK_IN": True}, {"GRIEF": True, "HOPE": False}], ("PANIC", "GRIEF")),
    ],
)
def test_what_is_on_no_list_is_counted_and_sets_nothing(tags, unknown) -> None:
    assert (read(tags).tags, read(tags).unknown) == (("CHECK_IN",), unknown)


def test_everyday_words_of_a_reason_set_no_tag() -> None:
    assert read("CHECK_IN: low, routine, recurring").tags == ("CHECK_IN",)
    assert read("CHECK_IN: low, ROUTINE, RECURRING: weekly").tags == ("RECURRING", "CHECK_IN", "ROUTINE")
    assert read("check_in: low\nroutine: plain").tags == ("CHECK_IN", "ROUTINE")


spelled = st.sampled_from(TAGS).flatmap(
    lambda tag: st.tuples(
        st.just(tag),
        st.tuples(
            st.sampled_from([str.upper, str.lower, str.title, str.swapcase]),
            st.sampled_from(["_", "-", " ", "", ".", " - "]),
            st.sampled_from(["", "#", "- ", "1. ", '"', "**", "* `", "(", "[x] "]),
            st.sampled_from(["", ".", '"', "**", "`", ": why", " (why)", " - why", " – why", " = yes", "] "]),
        ).map(lambda how: how[2] + how[1].join(map(how[0], tag.split("_"))) + how[3]),
    )
)


@given(st.lists(spelled, min_size=1, max_size=8))
def test_listed_tags_survive_any_spelling(entries) -> None:
    wanted = [tag for tag, _ in entries]
    answer = read([text for _, text in entries])
    assert (set(answer.tags), answer.repeats, answer.unknown) == (set(wanted), len(wanted) - len(set(wanted)), ())


letters = st.text(st.characters(categories=("L", "N", "P", "Z", "S"), exclude_characters="RrCcDdſ"), max_size=40)


@given(st.lists(letters | st.dictionaries(letters, letters | st.booleans()) | st.lists(letters)) | letters)
def test_no_unlisted_text_sets_a_tag(tags) -> None:
    """Every listed tag has a letter that this text lacks."""
    assert read(tags).tags == ()


@given(st.text(st.characters(categories=("L",)), min_size=2), st.sampled_from(TAGS))
@example("not", "CHECK_IN")
@example("I would not set", "CHECK_IN")
def test_a_mention_inside_prose_sets_no_tag(words, tag) -> None:
    assert read([f"{words} {tag}"]).tags == ()


@given(st.text(), st.text())
def test_no_text_raises_and_what_is_kept_is_small(before, after) -> None:
    for tags in (before + after, [f"CHECK_IN{before}", after], {before: after}, [{before: {after: before}}], [[before]]):
        answer = read(tags)
        assert len(answer.unknown) <= 10
        assert all(len(text) <= 80 for text in answer.unknown)


def test_long_garbage_is_read_to_its_end() -> None:
    """In a process that the system ends after far more CPU time than a reading needs that looks at each character once."""
    ended = subprocess.run([sys.executable, "-c", READER], text=True, capture_output=True, check=False)
    assert ended.stdout.split() == ["read"] * 5, f"exit status {ended.returncode}: {ended.stderr[-300:]}"


READER = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from tests.tasks.test_tags import read
for text in ("(" * 200_000, ")" * 200_000, "," * 200_000, "CHECK_IN" + "_" * 200_000 + "x", "- " * 100_000):
    read([text])
    print("read", flush=True)
"""
