"""How far credit depends on who wrote the same words: by hand, and against every way to shuffle."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.records import Grading
from helmbench_hf.scoring.result import Scores
from tests.scoring.build import COUNTRIES, answer, failure, judged, resources, scored
from tests.scoring.test_trust import MARKS, few, found, more, reply, rows, told

Credits = Mapping[tuple[str, str], float | None]
"""By message and user; None: the engine failed."""


def swapped(earned: Credits) -> Scores:
    """Messages that several people send; each is one lone judged case."""
    messages = sorted({message for message, _ in earned})
    cases = {key: reply(messages.index(key[0]) + 1, user=key[1], meaning=f"P2-B1-S1/{key[0]}") for key in earned}
    return scored(list(cases.values()), [v for key, mark in earned.items() for v in told(cases[key], mark)])


def shuffles(earned: Mapping[tuple[str, str], float]) -> Iterator[float]:
    """The spread of every way to deal a message's credits among those who sent it, the observed one first."""
    groups = []
    for message in sorted({message for message, _ in earned}):
        users = [user for name, user in earned if name == message]
        values = [earned[message, user] for user in users]
        groups += [(users, [value - fmean(values) for value in values])] if len(users) > 1 else []
    for dealt in itertools.product(*(itertools.permutations(values) for _, values in groups)):
        yield spread([user for users, _ in groups for user in users], [value for values in dealt for value in values])


def spread(users: Sequence[str], values: Sequence[float]) -> float:
    mine = {user: [v for u, v in zip(users, values, strict=True) if u == user] for user in users}
    return math.sqrt(sum(len(own) * fmean(own) ** 2 for own in mine.values()) / len(values))


def test_swaps_by_hand() -> None:
    earned = {("a", "U801"): 1.0, ("a", "U802"): 0.0, ("b", "U801"): 1.0, ("b", "U802"): 0.0, ("c", "U803"): 1.0}
    row = found(swapped(earned), "FAI", "swaps")
    assert row.estimate.value == pytest.approx(0.5)  # half a point above the message's mean, and half below, each time
    assert row.expected == pytest.approx(math.sqrt(0.125))  # of four shuffles two spread 1/2 and two nothing
    assert row.p_value == pytest.approx(0.5, abs=0.04)
    assert (row.estimate.low, row.estimate.high, row.estimate.se) == (None, None, None)
    assert (row.estimate.n_pairs, row.estimate.n_meanings) == (5, 2)
    assert found(swapped(earned), "FAI", "swaps") == row  # seeded


def test_people_weigh_by_their_messages() -> None:
    earned = {("a", "U801"): 1.0, ("a", "U802"): 0.0, ("b", "U801"): 1.0, ("b", "U803"): 0.5}
    row = found(swapped(earned), "FAI", "swaps")
    assert row.estimate.value == pytest.approx(math.sqrt((2 * 0.375**2 + 0.5**2 + 0.25**2) / 4))
    assert row.expected == pytest.approx(math.sqrt((0.25 / 2 + 0.25 + 0.0625 / 2 + 0.0625) / 4))


@few
@given(
    earned=st.dictionaries(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["U801", "U802", "U803"])), MARKS, min_size=2, max_size=9
    )
)
def test_chance_is_the_mean_over_all_shuffles(earned: dict[tuple[str, str], float]) -> None:
    senders = [sum(name == message for name, _ in earned) for message in "abc"]
    row = rows(swapped(earned)).get(("FAI", "swaps"))
    assert (row is not None) == (sum(count > 1 for count in senders) > 1)
    if row is None:
        return
    all_ways = list(shuffles(earned))
    assert row.estimate.value == pytest.approx(all_ways[0], abs=1e-12)
    assert row.expected == pytest.approx(math.sqrt(fmean(way**2 for way in all_ways)), abs=1e-12)
    assert row.p_value is not None
    assert row.p_value == pytest.approx(fmean(way >= all_ways[0] - 1e-9 for way in all_ways), abs=0.06)
    assert 0 < row.p_value <= 1


def test_one_message_a_person_says_nothing_about_people() -> None:
    row = found(swapped({("a", "U801"): 1.0, ("a", "U802"): 0.0, ("b", "U803"): 0.5, ("b", "U804"): 0.0}), "FAI", "swaps")
    assert row.expected == pytest.approx(row.estimate.value)
    assert row.p_value == 1


def test_the_same_care_for_all_has_no_spread() -> None:
    earned = {(message, user): mark for message, mark in (("a", 1.0), ("b", 0.5)) for user in ("U801", "U802", "U803")}
    row = found(swapped(earned), "FAI", "swaps")
    assert (row.estimate.value, row.expected, row.p_value) == (0, 0, 1)


@pytest.mark.parametrize(
    "earned",
    [
        {("a", "U801"): 1.0, ("a", "U802"): 0.0},
        {("a", "U801"): 1.0, ("b", "U801"): 0.0},
        {("a", "U801"): 1.0, ("b", "U802"): 0.0},
        {("a", "U801"): 1.0, ("a", "U802"): 0.0, ("b", "U801"): 1.0, ("b", "U802"): None},
        {("a", "U801"): 1.0, ("a", "U11"): 0.0, ("b", "U801"): 1.0, ("b", "U11"): 0.0},
    ],
)
def test_swaps_need_two_messages_of_two_people(earned: Credits) -> None:
    assert more(swapped(earned)) == set()


@pytest.mark.parametrize("over", [{"condition": "C5"}, {"safety_level": "explicit"}])
def test_only_headline_cases_are_swapped(over: dict[str, str]) -> None:
    cases = [reply(number, user=user, **over) for number in (1, 2) for user in ("U801", "U802")]
    assert more(scored(cases, [v for one in cases for v in told(one, float(one.user == "U801"))])) == set()


def test_help_that_must_differ_by_country_is_not_swapped() -> None:
    cases = [reply(n, user=user, country="NL", grading=Grading(country="NL")) for n in (1, 2) for user in ("U801", "U802")]
    verdicts = [v for one in cases for v in resources(one, dict.fromkeys(COUNTRIES, 0.0) | {"NL": float(one.user == "U801")})]
    assert more(scored(cases, verdicts)) == set()


def test_a_draw_that_is_missing_leaves_the_credit_out() -> None:
    cases = [reply(number, user=user) for number in (1, 2, 3) for user in ("U801", "U802")]
    verdicts = [v for one in cases[:-1] for v in told(one, 1, float(one.user == "U801"))]
    row = found(scored(cases, [*verdicts, *told(cases[-1], 1, None)], draws=2), "FAI", "swaps")
    assert (row.estimate.n_pairs, row.estimate.n_meanings) == (5, 2)
    assert row.estimate.value == pytest.approx(0.25)


def test_an_unread_judgement_is_missing_and_an_unreadable_answer_earns_nothing() -> None:
    cases = [reply(number, user=user) for number in (1, 2, 3) for user in ("U801", "U802")]
    verdicts = [v for one in cases if one.user == "U801" for v in told(one, 1)]
    verdicts += [v for one in cases[1:4:2] for v in failure(one, "unparseable")]
    verdicts += [*answer(cases[5]), judged(cases[5], "K01", None, by="judge")]
    row = found(scored(cases, verdicts), "FAI", "swaps")
    assert (row.estimate.value, row.estimate.n_pairs, row.estimate.n_meanings) == (0.5, 5, 2)
