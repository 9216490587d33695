"""Rows: what identifies them, and that nothing is lost between a case and its row."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.rows import case_of, case_row, content_sha256, schema_of
from helmbench_hf.records import Beat, Case, Grading, Parts, Route, Step
from helmbench_hf.tasks.reactive import ACTS

texts = st.text(max_size=12)
numbers = st.integers(-(2**31), 2**31 - 1) | st.floats(allow_nan=False, allow_infinity=False)
cells = st.none() | st.booleans() | numbers | texts | st.lists(texts, max_size=3)
rows_of = st.lists(st.dictionaries(st.text("abcde", min_size=1, max_size=3), cells, max_size=4), max_size=5)


@given(rows=rows_of, other=rows_of, seed=st.integers())
@settings(max_examples=100)
def test_content_and_order_of_rows_matter_and_the_order_of_keys_does_not(
    rows: list[dict[str, Any]], other: list[dict[str, Any]], seed: int
) -> None:
    def canonical(items: list[dict[str, Any]]) -> list[str]:
        return [json.dumps(row, sort_keys=True) for row in items]

    generator = random.Random(seed)
    assert content_sha256([dict(generator.sample(list(row.items()), len(row))) for row in rows]) == content_sha256(rows)
    for second in (other, rows[::-1]):
        assert (content_sha256(rows) == content_sha256(second)) == (canonical(rows) == canonical(second))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([{"a": 1}], [{"a": True}]), ([{"a": None}], [{}]), ([{"a": "x"}, {"b": "y"}], [{"a": "x", "b": "y"}]), ([], [{}]),
        ([{"a": "\u00e9"}], [{"a": "e\u0301"}]),
    ],
)  # fmt: skip
def test_what_is_different_never_hashes_alike(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> None:
    assert content_sha256(one) != content_sha256(other)


def test_the_hash_is_the_one_of_the_published_recipe() -> None:
    """Canonical JSON lines: sorted keys, no spaces, UTF-8, a newline after each row."""
    wanted = hashlib.sha256('{"a":"\u00e9","b":[1.5,null]}\n{}\n'.encode()).hexdigest()
    assert content_sha256([{"b": [1.5, None], "a": "\u00e9"}, {}]) == wanted


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any case that the records allow."""
    words = st.lists(texts, max_size=3).map(tuple)
    grading = st.builds(
        Grading, tags=words, target=st.none() | texts, control=st.none() | texts, criteria=words, vetoes=words, reported=words,
        contrast=st.none() | texts, contrast_high=st.sampled_from(["PASS", "PARTIAL", "FAIL"]), options=words,
        label=st.none() | texts, country=st.none() | texts, turns=st.lists(st.integers(1, 9), max_size=3).map(tuple),
        task_key=st.lists(st.tuples(texts, texts), max_size=3).map(tuple),
        by_turn=st.lists(st.tuples(st.integers(1, 9), words), max_size=3).map(tuple),
    )  # fmt: skip
    step = st.builds(Step, st.integers(-4, 4), st.lists(st.tuples(st.integers(0, 4), texts), max_size=2).map(tuple))
    steps = st.lists(st.tuples(st.sampled_from(ACTS), step), max_size=3).map(tuple)
    beats = st.lists(st.builds(Beat, texts, texts, steps, st.none() | texts), max_size=3).map(tuple)
    plain = {
        "str": texts, "str | None": st.none() | texts, "int": st.integers(-10, 10), "float": st.floats(0, 10),
        "bool": st.booleans(), "bool | None": st.none() | st.booleans(), "tuple[str, ...]": words, "Grading": grading,
        "Parts": st.builds(Parts, job=texts, notes=texts, tags=st.lists(st.tuples(texts, texts), max_size=3).map(tuple)),
        "Route": st.builds(Route, beats, st.integers(0, 4), st.integers(0, 12)),
    }  # fmt: skip
    return Case(**{field.name: draw(plain.get(str(field.type), texts)) for field in dataclasses.fields(Case)})


@given(case=cases())
@settings(max_examples=60)
def test_a_case_comes_back_from_its_row_and_its_table(case: Case, tiny: Benchmark) -> None:
    row = case_row(case, tiny)
    assert case_of(row) == case
    assert case_of(pa.Table.from_pylist([row], schema=schema_of([row])).to_pylist()[0]) == case


def test_a_row_of_another_version_is_refused_by_name(tiny: Benchmark, tiny_cases: list[Case]) -> None:
    row = case_row(tiny_cases[0], tiny)
    del row["gold"], row["turns"]
    with pytest.raises(ValueError, match="lacks the columns gold, turns"):
        case_of(row)


def test_each_type_has_its_arrow_type_and_a_column_has_one() -> None:
    row = {"i": 1, "f": 1.0, "b": True, "s": "x", "l": ["x"], "n": None}
    wanted = {"i": pa.int32(), "f": pa.float64(), "b": pa.bool_(), "s": pa.string(), "l": pa.list_(pa.string()), "n": pa.string()}
    assert dict(zip(wanted, schema_of([dict.fromkeys(row), row]).types, strict=True)) == wanted
    with pytest.raises(TypeError, match="the column a mixes int, str"):
        schema_of([{"a": 1}, {"a": "1"}])
