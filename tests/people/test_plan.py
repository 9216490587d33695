"""The design keeps what it promises, for any number of people."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.load import CaseSet
from helmbench_hf.people.plan import PeopleError, Plan, plan, study_of
from helmbench_hf.tasks.kinds import task_of


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(people=st.integers(2, 40), per_person=st.integers(2, 60), per_case=st.integers(1, 5), seed=st.integers(0, 2**31))
def test_every_case_is_seen_equally_often_and_nobody_meets_a_family_twice(
    people: int, per_person: int, per_case: int, seed: int, loaded: CaseSet, benchmark_: Benchmark
) -> None:
    assume(people >= 2 * per_case and people * per_person >= 2 * per_case)
    study = study_of(loaded, people=people, per_person=per_person, seed=seed, per_case=per_case, only=None)
    drawn = plan(study, loaded, benchmark_)
    seen = Counter(case.code for cases in drawn.people.values() for case in cases)
    assert set(seen.values()) == {per_case}
    loads = [len(cases) for cases in drawn.people.values()]
    assert len(loads) == people
    assert max(loads) <= per_person
    assert max(loads) - min(loads) <= 1
    codes = drawn.cases
    for case in loaded.cases:
        if case.code in codes and case.twin in {each.code for each in loaded.cases}:
            assert case.twin in codes, "a pair without its other half is in no score"
    for cases in drawn.people.values():
        for name in ("meaning", "pair"):
            met = Counter(getattr(case, name) for case in cases if getattr(case, name) is not None)
            assert set(met.values()) <= {1}
        assert not {case.code for case in cases} & {case.twin for case in cases}
        direct = [task_of(case).asks_outright for case in cases]
        assert direct == sorted(direct), "what asks outright comes last"


def test_a_plan_is_a_function_of_its_study(loaded: CaseSet, benchmark_: Benchmark, drawn: Plan) -> None:
    assert plan(drawn.study, loaded, benchmark_) == drawn
    other = plan(drawn.study.model_copy(update={"seed": 4}), loaded, benchmark_)
    assert other.cases != drawn.cases
    assert not set(other.people) & set(drawn.people)


def test_items_say_nothing_of_their_case(drawn: Plan) -> None:
    items = [drawn.item(person, case) for person, cases in drawn.people.items() for case in cases]
    assert len(set(items)) == len(items)
    assert all(len(item) == 16 and "-" not in item for item in items)


def test_what_can_enter_the_headline_is_asked_first(loaded: CaseSet, benchmark_: Benchmark) -> None:
    study = study_of(loaded, people=6, per_person=4, seed=1, per_case=1, only="P1-B1")
    cases = [case for cases in plan(study, loaded, benchmark_).people.values() for case in cases]
    assert {case.condition for case in cases if case.mode == "hidden_tag"} == {"C1"}
    assert {case.gold for case in cases} <= {"flag", "leave"}


@pytest.mark.parametrize(("people", "per_case"), [(1, None), (3, 2)])
def test_too_few_people_are_refused(loaded: CaseSet, people: int, per_case: int | None) -> None:
    with pytest.raises(PeopleError, match="--people"):
        study_of(loaded, people=people, per_person=5, seed=1, per_case=per_case, only=None)


def test_another_content_is_refused(loaded: CaseSet, benchmark_: Benchmark, drawn: Plan) -> None:
    with pytest.raises(PeopleError, match=r"version 0\.0\.9"):
        plan(drawn.study.model_copy(update={"version": "0.0.9"}), loaded, benchmark_)
