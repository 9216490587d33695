"""Cases on disk are the cases that came in, group by group."""

from __future__ import annotations

from itertools import groupby

from helmbench_hf.dataset.load import load_cases, read_cases, select, select_into
from helmbench_hf.dataset.shards import Shard, members, shard
from helmbench_hf.dataset.store import CaseStore
from helmbench_hf.records import Case


def grouped(cases: list[Case]) -> list[Case]:
    """The cases by system text, as a dictionary of lists has them."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.system, []).append(case)
    return [case for group in groups.values() for case in group]


def test_every_case_comes_back_in_its_group(tiny_cases: list[Case]) -> None:
    store = CaseStore(iter(tiny_cases))
    assert len(store) == len(tiny_cases)
    assert list(store) == grouped(tiny_cases)
    assert list(store) == list(store), "it can be gone through again"
    by_group = [list(store.group(number)) for number in store.groups()]
    assert [case for group in by_group for case in group] == list(store)
    assert [len({case.system for case in group}) for group in by_group] == [1] * len(by_group)
    assert len(by_group) == len(list(groupby(store, lambda case: case.system)))


def test_two_groups_are_read_side_by_side(tiny_cases: list[Case]) -> None:
    store = CaseStore(tiny_cases)
    first, second = [store.group(number) for number in list(store.groups())[:2]]
    mixed = [next(first), next(second), *first, *second]
    systems = {case.system for case in mixed}
    assert sorted(case.code for case in mixed) == sorted(case.code for case in tiny_cases if case.system in systems)


def test_a_store_is_taken_as_it_is(tiny_cases: list[Case]) -> None:
    store = CaseStore(tiny_cases)
    assert CaseStore.of(store) is store
    assert list(CaseStore.of(tiny_cases)) == list(store)


def test_no_cases() -> None:
    store = CaseStore(())
    assert (len(store), list(store), list(store.groups())) == (0, [], [])


def test_the_dataset_is_read_into_a_store_as_into_a_tuple() -> None:
    whole = load_cases("smoke")
    store, identity = read_cases(CaseStore, "smoke")
    assert identity == whole.identity
    assert list(store) == grouped(list(whole.cases))


def test_a_part_of_a_store_is_that_of_a_tuple(tiny_cases: list[Case]) -> None:
    for number in (1, 2, 3):
        chosen = select_into(CaseStore, iter(tiny_cases), "P1", 100, f"{number}/3")
        assert sorted(case.code for case in chosen) == sorted(case.code for case in select(tiny_cases, "P1", 100, f"{number}/3"))
    assert tuple(members(CaseStore(tiny_cases), Shard(1, 2))) == shard(grouped(tiny_cases), Shard(1, 2))
