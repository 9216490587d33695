from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.inference.engine import Message, Request, Sampling
from helmbench_hf.inference.plan import ROW_BYTES, TOKEN_BYTES, Speed, depth_first, ideal_cached, make_plan

prompts = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), max_size=12)


def request(tokens: list[int], name: str = "r", budget: int = 10) -> Request:
    return Request(name, name, (Message("user", name),), tuple(tokens), Sampling(max_tokens=budget))


@given(prompts, st.integers(1, 4))
def test_the_ideal_cache_is_that_of_a_slow_trie(rows: list[list[int]], block: int) -> None:
    rows = sorted(rows)
    seen: set[tuple[int, ...]] = set()
    expected = 0
    for row in rows:
        usable = (len(row) - 1) // block  # the last token is always computed
        blocks = [tuple(row[: block * number]) for number in range(1, len(row) // block + 1)]
        expected += block * sum(each in seen for each in blocks[:usable])
        seen.update(blocks)
    assert ideal_cached(rows, block) == expected


@given(prompts)
def test_depth_first_is_the_order_of_the_token_ids(rows: list[list[int]]) -> None:
    requests = [request(row, str(number)) for number, row in enumerate(rows)]
    assert [list(each.tokens) for each in depth_first(requests)] == sorted(rows)
    assert depth_first(requests) == depth_first(requests[::-1])


def test_depth_first_compares_numbers_and_not_bytes() -> None:
    rows = [[70_000], [255], [256], [1, 2], [1]]
    assert [list(each.tokens) for each in depth_first([request(row) for row in rows])] == sorted(rows)


def test_a_plan_by_hand() -> None:
    system = list(range(32))
    rows = [
        request([*system, 1], "a"),
        request([*system, 2], "b", budget=20),
        request([9] * 100, "long"),
        replace(request([], "broken"), refusal="The template breaks."),
    ]
    plan = make_plan(
        rows,
        max_model_len=100,
        block_size=16,
        later=lambda each: (5, 7) if each.key == "b" else (),
        speed=Speed(prefill=10, answer=5),
    )
    assert plan.prompt_tokens == 66
    assert plan.cached_tokens == 32
    assert plan.cached_fraction == pytest.approx(32 / 66)
    assert plan.later_prompt_tokens == (33 + 20 + 5) + (33 + 20 + 5 + 20 + 7)
    assert plan.answer_tokens == 10 + 3 * 20
    assert plan.too_long == (("long", 100),)
    assert plan.refused == (("broken", "The template breaks."),)
    assert plan.may_outgrow == ()
    assert plan.disk_bytes == 6 * ROW_BYTES + 70 * TOKEN_BYTES
    assert plan.seconds == pytest.approx((34 + 12 + 40) / 10 + 70 / 5)


def test_conversations_that_might_outgrow_the_context_are_named() -> None:
    plan = make_plan([request([1] * 50, "c", budget=40)], max_model_len=100, block_size=0, later=lambda _: (20,))
    assert plan.may_outgrow == (("c", 110),)
    rows = [request([1] * 50, "c", budget=40)]
    thinks = make_plan(rows, max_model_len=100, block_size=0, later=lambda _: (20,), thinking_tokens=30)
    assert (thinks.may_outgrow, thinks.later_prompt_tokens) == ((), 50 + 10 + 20), "reasoning never enters the history"
    assert thinks.answer_tokens == plan.answer_tokens
    assert plan.seconds is None
    assert plan.cached_tokens == 0


def test_a_label_read_costs_one_token() -> None:
    assert make_plan([replace(request([1]), labels=("A", "B"))], max_model_len=9, block_size=16).answer_tokens == 1


def test_nothing_to_plan() -> None:
    plan = make_plan([], max_model_len=9, block_size=16, speed=Speed(1, 1))
    assert (plan.prompt_tokens, plan.cached_fraction, plan.seconds) == (0, 0.0, 0.0)
