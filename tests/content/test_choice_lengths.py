"""Questions with answers to choose from: their lengths must not give the right one away."""

from __future__ import annotations

import pytest

from helmbench_hf.content.lint_task import check
from helmbench_hf.content.load import Benchmark, Loaded


def questions(real: Benchmark) -> Loaded:
    return next(loaded for loaded in real.scenarios if loaded.scenario.code == "P3-B7-S1")


@pytest.mark.parametrize(("which", "padding"), [("longest", 400), ("shortest", -400)])
def test_a_right_answer_that_stands_out_by_its_length_is_named(real: Benchmark, which: str, padding: int) -> None:
    loaded = questions(real)
    singles = []
    for single in loaded.messages.singles:
        choices = dict(single.message.choices or {})
        for letter in choices:
            if (letter == single.message.key) == (padding > 0):
                choices[letter] += "x" * abs(padding)
        singles.append(single.model_copy(update={"message": single.message.model_copy(update={"choices": choices})}))
    messages = loaded.messages.model_copy(update={"singles": singles})
    damaged = Loaded(**{name: getattr(loaded, name) for name in loaded.__dataclass_fields__} | {"messages": messages})
    said = [str(problem) for problem in check(real, damaged)]
    assert any(f"the {which} answer is right in 100% of the questions (by chance 25%)" in each for each in said), said


def test_the_real_questions_pass(real: Benchmark) -> None:
    assert not list(check(real, questions(real)))
