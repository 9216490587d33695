"""Completions that stay on disk are those that were written, and nobody may change the file underneath."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.inference.journal import Journal, JournalError
from helmbench_hf.inference.stored import Places, place_of
from helmbench_hf.records import Completion


def written(folder: Path, *rows: Completion) -> Path:
    with Journal.open(folder, "w") as journal:
        for row in rows:
            journal.append(row)
        assert dict(journal.written) == {row.key: row for row in rows}, "the writer finds what it has written"
    return journal.path


def test_a_line_longer_than_one_look_is_read_whole(tmp_path: Path) -> None:
    rows = [Completion(name, name, "ok", text * 3000) for name, text in (("a", "long "), ("b", "x"), ("c", "é\n"))]
    path = written(tmp_path, *rows)
    stored = Journal.read(tmp_path)
    assert [stored[row.key] for row in rows] == rows
    assert {stored.file(key) for key in stored} == {path}


def test_answers_and_failures_together(tmp_path: Path) -> None:
    rows = [Completion("a", "a", "ok"), Completion("b", "b", "engine_error")]
    written(tmp_path, *rows)
    stored = Journal.read(tmp_path)
    assert (list(stored), list(stored.failures)) == (["a"], ["b"])
    assert dict(stored.everything()) == {row.key: row for row in rows}


def test_a_journal_that_was_rewritten_is_a_sentence(tmp_path: Path) -> None:
    path = written(tmp_path, Completion("a", "a", "ok", "as it was"))
    stored = Journal.read(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"as it was", b"otherwise"))
    with pytest.raises(JournalError, match="has changed since it was read"):
        stored["a"]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 2**62) | st.none())))
def test_places_are_those_of_a_dictionary(steps: list[tuple[str, int | None]]) -> None:
    places, known = Places(), dict[str, int]()
    for key, place in steps:
        if place is None:
            assert places.pop(key, None) == known.pop(key, None)
        else:
            places[key] = known[key] = place
        assert (len(places), dict(places)) == (len(known), known)
        assert ("g" in places, places.get(key)) == (False, known.get(key))
    assert list(places.values()) == sorted(known.values()), "in the order of places"


def test_places_may_change_while_they_are_gone_through() -> None:
    places = Places()
    places.update({str(number): number for number in range(2000)})
    seen = []
    for key in places:
        seen.append(key)
        places[f"{key}+"] = places.pop(key) + 1
    assert (seen, len(places)) == ([str(number) for number in range(2000)], 2000)


def test_what_is_no_key_has_no_place() -> None:
    with pytest.raises(KeyError):
        Places()["a"]
    with pytest.raises(KeyError):
        del Places()["a"]


def test_keys_that_begin_alike_are_two() -> None:
    places = Places()
    places.update({"a" * 63 + "0": 1, "a" * 63 + "1": 2, "a" * 64 + "1": 3})
    assert sorted(places.values()) == [1, 2, 3]


def test_places_hold_a_hundred_thousand_segments_of_a_terabyte() -> None:
    places = Places()
    places["a"] = place_of(99_999, 2**40 - 1)
    assert places["a"] == place_of(99_999, 0) + 2**40 - 1
    assert place_of(99_999, 2**40 - 1) < place_of(100_000, 0)
