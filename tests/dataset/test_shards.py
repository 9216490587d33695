"""Shards: every case in exactly one, prefixes together, loads alike, whoever asks."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.dataset.load import DatasetError, select
from helmbench_hf.dataset.shards import Shard, groups, members, prefix_group
from helmbench_hf.records import Case
from tests.scoring.build import case


def cut(cases: Collection[Case], n: int) -> list[tuple[Case, ...]]:
    return [members(cases, Shard(number, n)) for number in range(1, n + 1)]


def answers(cases: Collection[Case]) -> int:
    return sum(len(each.turns) for each in cases)


def codes(cases: Collection[Case]) -> list[str]:
    return [each.code for each in cases]


made = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(["C1", "C4"]), st.integers(1, 9), st.integers(1, 6)), max_size=40, unique=True
).map(
    lambda rows: [
        case(f"P1-B{b}-S1", number, condition=condition, user=f"U{user}", turns=("text",) * turns)
        for number, (b, condition, user, turns) in enumerate(rows)
    ]
)


@given(cases=made, n=st.integers(1, 60), seed=st.integers(0, 9))
def test_shards_partition_the_cases_and_keep_prefixes_together(cases: list[Case], n: int, seed: int) -> None:
    parts = cut(cases, n)
    assert Counter(code for part in parts for code in codes(part)) == Counter(codes(cases))
    homes = [{prefix_group(each) for each in part} for part in parts]
    assert sum(map(len, homes)) == len(set().union(*homes))
    loads = [answers(part) for part in parts]
    assert max(loads) - min(loads) <= max(groups(cases).values(), default=0)
    order = codes(cases)
    assert all(codes(part) == sorted(codes(part), key=order.index) for part in parts)
    shuffled = random.Random(seed).sample(cases, len(cases))
    assert [set(codes(part)) for part in cut(shuffled, n)] == [set(codes(part)) for part in parts]


def test_a_shard_is_cut_from_what_was_selected(tiny_cases: list[Case]) -> None:
    parts = [select(tiny_cases, "P1", 100, f"{number}/3") for number in (1, 2, 3)]
    assert sorted(code for part in parts for code in codes(part)) == sorted(codes(select(tiny_cases, "P1", 100)))
    assert all(parts)


def test_an_empty_shard_says_how_many_are_enough(tiny_cases: list[Case]) -> None:
    most = len(groups(tiny_cases))
    assert select(tiny_cases, None, None, f"{most}/{most}")
    with pytest.raises(DatasetError, match=rf"shard {most + 1}/{most + 1} is empty.* at most {most} shards"):
        select(tiny_cases, None, None, f"{most + 1}/{most + 1}")


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "1/3/5", "1 / 3", "01/3", "1/3\n", "¹/3"])
def test_what_is_no_shard_is_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="is not a shard; write i/n"):
        Shard.parse(text)


@given(number=st.integers(1, 10**6), more=st.integers(0, 10**6))
def test_shards_are_written_as_they_are_read(number: int, more: int) -> None:
    assert str(Shard.parse(f"{number}/{number + more}")) == f"{number}/{number + more}"
