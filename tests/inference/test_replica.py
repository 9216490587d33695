from collections import Counter

import pytest

from helmbench_hf.inference.engine import EngineDescription, EngineError, EngineSpec, Message, Request, Sampling
from helmbench_hf.inference.replica import Homes, Seat, differences

SAID = EngineDescription("fake", "1.0", "m", (), "float32", "cpu", 512, 4, 1, 16)


def seats(*held: int) -> list[Seat]:
    request = Request("k", "k", (Message("user", "x"),), (), Sampling(max_tokens=1))
    made = [Seat(number, None, None, state="up", description=SAID) for number in range(len(held))]
    for seat, count in zip(made, held, strict=True):
        seat.held = {str(number): request for number in range(count)}
    return made


def chosen(homes: Homes, group: str, among: list[Seat]) -> int:
    seat = homes.choose(group, among)
    assert seat is not None
    return seat.number


def test_new_groups_and_requests_without_one_go_where_least_is_held() -> None:
    assert chosen(Homes(), "a", seats(3, 1, 2)) == 1
    assert chosen(Homes(), "", seats(3, 2, 1)) == 2
    tired = seats(0, 0)
    tired[0].deaths = 1
    assert chosen(Homes(), "", tired) == 1


def test_a_group_stays_while_its_home_has_room() -> None:
    homes = Homes()
    assert chosen(homes, "a", seats(0, 0)) == 0
    before = seats(0, 0)
    homes = Homes()
    homes.choose("a", before)
    before[0].held = seats(3)[0].held
    assert chosen(homes, "a", before) == 0


@pytest.mark.parametrize(
    ("home", "other", "moves"),
    [(4, 3, True), (4, 4, False), (7, 4, False), (7, 3, True), (8, 7, True), (3, 0, False)],
)
def test_a_group_moves_only_from_a_full_home_or_to_a_half_empty_one(home: int, other: int, moves: bool) -> None:
    homes, pair = Homes(), seats(0, 0)
    homes.choose("a", pair)
    pair[0].held, pair[1].held = seats(home)[0].held, seats(other)[0].held
    assert chosen(homes, "a", pair) == (1 if moves else 0)
    pair[0].held, pair[1].held = {}, {}
    assert chosen(homes, "a", pair) == (1 if moves else 0)  # where it went, its prefix is


def test_a_group_leaves_a_home_that_died_and_nobody_takes_it_while_none_is_up() -> None:
    homes, pair = Homes(), seats(0, 0)
    assert chosen(homes, "a", pair) == 0
    pair[0].state = "placing"
    assert chosen(homes, "a", pair) == 1
    pair[1].state = "gone"
    assert homes.choose("a", pair) is None


def test_groups_are_spread_evenly() -> None:
    homes, three, where = Homes(), seats(0, 0, 0), Counter[int]()
    request = Request("k", "k", (), (), Sampling(max_tokens=1))
    for number in range(12):
        seat = homes.choose(f"g{number}", three)
        assert seat is not None
        seat.held[str(number)] = request
        where[seat.number] += 1
    assert where == {0: 4, 1: 4, 2: 4}


def test_what_makes_replicas_differ() -> None:
    assert differences(SAID, SAID) == ""
    other = EngineDescription("fake", "1.1", "m", (), "bfloat16", "gpu", 512, 4, 8, 16)
    assert differences(SAID, other) == "version 1.0 and 1.1, dtype float32 and bfloat16"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"replicas": -1}, "replicas is a whole number from 0 on, not -1"),
        ({"replicas": "two"}, "replicas is a whole number"),
        ({"tensor_parallel_size": 0}, "tensor_parallel_size is a whole number from 1 on, not 0"),
    ],
)
def test_a_spec_that_makes_no_sense_is_a_sentence(options: dict[str, int], said: str) -> None:
    with pytest.raises(EngineError, match=said):
        EngineSpec.parse("vllm:m", **options)
    with pytest.raises(EngineError, match="Behind an endpoint the server places its model"):
        EngineSpec.parse("endpoint:m", replicas=2)
