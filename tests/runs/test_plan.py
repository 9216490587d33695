from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.models.engine import EngineSpec, Message, Request, Sampling
from helmbench_hf.records import Case
from helmbench_hf.runs.generate import Ask, prepare
from helmbench_hf.runs.plan import COUNTED_BY_SERVER, ROW_BYTES, TOKEN_BYTES, ideal_cached, make_plan, run_figures
from helmbench_hf.runs.turns import Settings


def request(tokens: list[int], name: str = "r", budget: int = 10) -> Request:
    return Request(name, name, (Message("user", name),), tuple(tokens), Sampling(max_tokens=budget))


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), max_size=12), st.integers(1, 4))
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


def test_a_plan_by_hand() -> None:
    system = list(range(32))
    rows = [
        request([*system, 1], "a"),
        request([*system, 2], "b", budget=20),
        request([9] * 100, "long"),
        replace(request([], "broken"), refusal="The template breaks."),
    ]
    later = {"b": (5, 7)}
    plan = make_plan(rows, max_model_len=100, block_size=16, later=lambda each: later.get(each.key, ()), tokens_per_second=5)
    assert plan == {
        "prompt tokens, first turns": 66,
        "prompt tokens, later turns at most": (33 + 20 + 5) + (33 + 20 + 5 + 20 + 7),
        "answer tokens at most": 10 + 3 * 20,
        "ideal cached fraction": 0.4848,  # 32 of 66
        "disk at most, bytes": 6 * ROW_BYTES + 70 * TOKEN_BYTES,
        "seconds at most": pytest.approx((34 + 12 + 40) / 50 + 70 / 5),
        "too long": {"long": 100},
        "may outgrow the window": {},
        "cannot be rendered": {"broken": "The template breaks."},
    }


def test_conversations_that_might_outgrow_the_context_are_named() -> None:
    rows = [request([1] * 50, "c", budget=40)]
    plan = make_plan(rows, max_model_len=100, block_size=0, later=lambda _: (20,))
    assert plan["may outgrow the window"] == {"c": 110}
    assert (plan["seconds at most"], plan["ideal cached fraction"]) == (None, 0)
    thinks = make_plan(rows, max_model_len=100, block_size=0, later=lambda _: (20,), thinking_tokens=30)
    assert thinks["may outgrow the window"] == {}
    assert thinks["prompt tokens, later turns at most"] == 50 + 10 + 20, "reasoning never enters the history"
    assert thinks["answer tokens at most"] == plan["answer tokens at most"]
    assert make_plan([], max_model_len=9, block_size=16)["ideal cached fraction"] == 0


def test_the_figures_of_a_run_count_draws(checkpoint: Path, few: list[Case]) -> None:
    ask = Ask(run="unused", engine=EngineSpec.parse(f"vllm:{checkpoint}"), settings=Settings())
    found = run_figures(ask, prepare(ask), 16, 100.0)
    asked = sum(len(case.turns) for case in few)
    assert (found["cases"], found["answers"], sum(found["modes"].values())) == (len(few), asked, len(few))
    assert 0 < found["constrained answers"] < asked
    assert found["seconds at most"] > found["answer tokens at most"] / 100
    twice = replace(ask, settings=Settings(temperature=0.5, draws=2, free_form=True))
    more = run_figures(twice, prepare(twice), 16, None)
    assert (more["answers"], more["constrained answers"]) == (2 * asked, 0)
    assert more["seconds at most"] is None


def test_a_server_counts_its_prompts_itself(few: list[Case]) -> None:
    ask = Ask(run="unused", engine=EngineSpec.parse("endpoint:tiny", base_url="http://127.0.0.1:1/v1"), settings=Settings())
    found = run_figures(ask, prepare(ask), 16, 100.0)
    assert {found[name] for name in COUNTED_BY_SERVER} == {None}
    assert found["answer tokens at most"] > 0
    assert found["context window"] is None
