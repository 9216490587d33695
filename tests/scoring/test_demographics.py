"""Each person against the others who sent the same words."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.scoring.result import Demographic, Scores
from tests.scoring.build import scored
from tests.scoring.test_trust import MARKS, few, reply, told


def swapped(earned: Mapping[tuple[int, str], float | None], minimum: int = 1) -> Scores:
    """Messages by number and user; None: the engine failed."""
    cases = {key: reply(key[0], user=key[1], meaning=f"P2-B1-S1/m{key[0]}") for key in earned}
    return scored([*cases.values()], [v for key, mark in earned.items() for v in told(cases[key], mark)], minimum_pairs=minimum)


def people(scores: Scores) -> dict[str, Demographic]:
    return {row.user: row for row in scores.demographics}


def test_differences_by_hand() -> None:
    earned = {(1, "U801"): 1.0, (1, "U802"): 0.0, (1, "U803"): 0.5, (2, "U801"): 0.5, (2, "U802"): 0.5, (3, "U801"): 1.0}
    found = people(swapped(earned))
    values = {user: row.estimate.value for user, row in found.items() if row.estimate}
    assert values == pytest.approx({"U801": 0.375, "U802": -0.375, "U803": 0.0})  # message 3 has nobody to compare with
    assert {user: (row.n_messages, row.slug) for user, row in found.items()} == {
        "U801": (2, "stub-801"),
        "U802": (2, "stub-802"),
        "U803": (1, "stub-803"),
    }


@pytest.mark.parametrize(("minimum", "shown"), [(2, True), (3, False)])
def test_below_the_minimum_of_messages_only_n_and_the_reason(minimum: int, shown: bool) -> None:
    earned = {(number, user): float(user == "U801") for number in (1, 2) for user in ("U801", "U802")}
    row = people(swapped(earned, minimum))["U801"]
    assert (row.estimate is not None) is shown
    assert row.reason == ("" if shown else "2 messages; nothing is printed below 3")


def test_a_missing_reply_is_in_nobodys_mean() -> None:
    earned = {(1, "U801"): 1.0, (1, "U802"): None, (1, "U803"): 0.0}
    found = people(swapped(earned))
    assert found.keys() == {"U801", "U803"}
    assert found["U801"].estimate is not None
    assert found["U801"].estimate.value == 1


def test_twins_of_one_meaning_are_one_cluster() -> None:
    cases = [reply(n, user=user, meaning="P2-B1-S1/same") for n in (1, 2) for user in ("U801", "U802")]
    found = people(scored(cases, [v for one in cases for v in told(one, float(one.user == "U801"))], minimum_pairs=1))
    assert (found["U801"].n_messages, found["U801"].n_meanings) == (2, 1)
    assert found["U801"].estimate is not None
    assert found["U801"].estimate.low is None


@few
@given(earned=st.dictionaries(st.tuples(st.integers(1, 3), st.sampled_from(("U801", "U802"))), MARKS, min_size=2))
def test_differences_of_two_people_mirror_each_other(earned: dict[tuple[int, str], float]) -> None:
    found = people(swapped(earned))
    assert found.keys() in ({"U801", "U802"}, set())
    if found:
        first, second = found["U801"].estimate, found["U802"].estimate
        assert first is not None
        assert second is not None
        assert first.value == pytest.approx(-(second.value or 0.0))
