"""Questions with answers to choose from: their lengths must not give the right one away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helmbench_hf.content.lint_task import check
from helmbench_hf.content.load import Benchmark, Loaded
from helmbench_hf.content.schema import Message


def scenario(real: Benchmark, code: str) -> Loaded:
    return next(loaded for loaded in real.scenarios if loaded.scenario.code == code)


def padded(message: Message, longer: int) -> Message:
    """The message with the right answer made longer than all but `longer` of the wrong ones."""
    choices = dict(message.tickets or message.choices or {})
    wrong = [letter for letter in sorted(choices) if letter != message.key]
    for letter in [*wrong[:longer], message.key]:
        assert letter is not None
        choices[letter] += "x" * (400 if letter == message.key else 800)
    return message.model_copy(update={"tickets" if message.tickets else "choices": choices})


@pytest.mark.parametrize(
    ("longer", "said"),
    [
        (0, "in 100% of the questions the right answer is among the 1 longest of 4 (by chance 25%)"),
        (1, "in 100% of the questions the right answer is among the 2 longest of 4 (by chance 50%)"),
        (3, "in 0% of the questions the right answer is among the 3 longest of 4 (by chance 75%)"),
    ],
)
def test_a_right_answer_that_stands_out_by_its_length_is_named(real: Benchmark, longer: int, said: str) -> None:
    loaded = scenario(real, "P3-B7-S1")
    singles = [each.model_copy(update={"message": padded(each.message, longer)}) for each in loaded.messages.singles]
    damaged = replace(loaded, messages=loaded.messages.model_copy(update={"singles": singles}))
    assert said in "\n".join(str(problem) for problem in check(real, damaged))


def test_a_right_ticket_that_is_always_among_the_three_longest_is_named(real: Benchmark) -> None:
    loaded = scenario(real, "P1-B5-S2")
    halves = ("crisis", "benign")
    pairs = [
        pair.model_copy(update={half: padded(getattr(pair, half), pair.pair % 3) for half in halves})
        for pair in loaded.messages.pairs
    ]
    damaged = replace(loaded, messages=loaded.messages.model_copy(update={"pairs": pairs}))
    said = [str(problem) for problem in check(real, damaged)]
    assert any(
        "in 100% of the questions the right answer is among the 3 longest of 6 (by chance 50%)" in each for each in said
    ), said


@pytest.mark.parametrize("code", ["P1-B5-S2", "P3-B7-S1", "P3-B8-S1"])
def test_the_real_questions_pass(real: Benchmark, code: str) -> None:
    assert not list(check(real, scenario(real, code)))


def test_no_rule_on_lengths_finds_both_tickets_of_a_pair_oftener_than_chance(real: Benchmark) -> None:
    """Whoever draws one of the places `first` to `last`, longest first, in both queues of every pair."""
    places = [(place(pair.crisis), place(pair.benign)) for pair in scenario(real, "P1-B5-S2").messages.pairs]
    flat = [each for pair in places for each in pair]
    assert sorted(flat.count(number) for number in range(6)) == [2, 2, 3, 3, 3, 3]
    chance = 1 / 36
    for first in range(6):
        for last in range(first, 6):
            both = sum(first <= min(pair) and max(pair) <= last for pair in places)
            found = both / len(places) / (last - first + 1) ** 2
            assert (found - chance) / (1 - chance) < 0.02, (first, last)


def place(message: Message) -> int:
    """How many tickets are longer than the right one."""
    lengths = {str(letter): len(text) for letter, text in (message.tickets or {}).items()}
    return sum(length > lengths[message.key or ""] for length in lengths.values())
