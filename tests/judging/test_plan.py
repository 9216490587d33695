"""What judging a run will ask."""

from __future__ import annotations

from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.judging.judge import asks, criteria_of
from helmbench_hf.judging.plan import judging_figures
from helmbench_hf.judging.rubric import Exchange
from helmbench_hf.tasks.answers import Answer


def words(text: str) -> int:
    return len(text.split())


def test_the_figures_bound_what_a_judge_is_asked_of_the_longest_replies() -> None:
    benchmark = default_benchmark()
    cases = [case for case in load_cases("smoke").cases if not case.route.beats]
    calls, read = 0, 0
    for case in cases:
        longest = "word " * case.max_tokens
        for turn in case.grading.turns:
            reply = Exchange(case, turn, 0, Answer("scored", reply=longest), (longest,) * (turn - 1), "")
            asked = [ask for code in criteria_of(case, turn) for ask in asks(reply, code, benchmark, "fast")]
            calls += len(asked)
            read += sum(words(message.content) for ask in asked for message in ask.messages)
    once, twice = (judging_figures(cases, benchmark, words, draws=draws, orders=1, tokens_per_second=100.0) for draws in (1, 2))
    assert once["calls, at most"] == calls > len(cases)
    assert once["prompt tokens, at most"] == read
    assert 0 < once["prompt tokens that no cache holds, at most"] < once["prompt tokens, at most"]
    assert once["seconds, at most"] > 0
    assert all(twice[name] == 2 * once[name] for name in once)
    both = judging_figures(cases, benchmark, words, draws=1, orders=2, tokens_per_second=None)
    assert (both["calls, at most"], both["prompt tokens, at most"]) == (2 * calls, 2 * read)


def test_where_a_server_counts_no_tokens_are_claimed() -> None:
    found = judging_figures(
        load_cases("smoke").cases, default_benchmark(), lambda text: 0, draws=1, orders=1, tokens_per_second=100.0
    )
    assert found["calls, at most"] > 0
    assert {value for name, value in found.items() if "calls" not in name} == {None}
