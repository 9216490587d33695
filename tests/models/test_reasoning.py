import pytest

from helmbench_hf.hashing import tokens_sha
from helmbench_hf.models.engine import Message, Request, Sampling, answered
from helmbench_hf.models.reasoning import TAGS, opens_reasoning, outcome, split_reasoning


@pytest.mark.parametrize(("start", "end"), TAGS)
def test_every_family(start: str, end: str) -> None:
    assert split_reasoning(f"{start}\nhm\n{end}\n\nYes.") == ("hm", "Yes.", "closed")
    assert split_reasoning(f"\n{start}{end}Yes.") == ("", "Yes.", "closed")
    assert split_reasoning(f"{start}I wonder whether") == ("I wonder whether", "", "truncated")
    assert split_reasoning(f"hm{end}Yes.", opened=True) == ("hm", "Yes.", "closed")
    assert split_reasoning(f"hm{end}Yes.") == ("hm", "Yes.", "closed")
    assert opens_reasoning(f"<|im_start|>assistant\n{start}\n")
    assert not opens_reasoning(f"<|im_start|>assistant\n{start}\n{end}\n\n")


def test_a_prompt_that_opened_reasoning_and_no_end_is_all_reasoning() -> None:
    assert split_reasoning("Let me see", opened=True) == ("Let me see", "", "truncated")
    assert split_reasoning("Let me see", opened=False) == ("", "Let me see", "none")
    assert split_reasoning("Let me see") == ("", "Let me see", "none")


def test_an_answer_that_quotes_the_marks_is_an_answer() -> None:
    text = "The tag <think> opens reasoning and </think> ends it."
    assert split_reasoning(text, opened=False) == ("", text, "none")


@pytest.mark.parametrize(
    ("text", "finish", "opened", "expected"),
    [
        ("Yes.", "stop", False, ("ok", "Yes.", "")),
        ("", "stop", False, ("ok", "", "")),
        ("ha ha ha", "repetition", False, ("truncated", "ha ha ha", "")),
        ("<think>hm", "length", False, ("truncated", "", "hm")),
        ("<think>hm</think>Ye", "length", False, ("truncated", "Ye", "hm")),
        ("hm</think>Yes", "stop", True, ("ok", "Yes", "hm")),
        ("Yes", "abort", False, ("engine_error", "", "")),
    ],
)
def test_outcomes(text: str, finish: str, opened: bool, expected: tuple[str, str, str]) -> None:
    assert outcome(text, finish, opened) == expected


REQUEST = Request("k", "n", (Message("user", "x"),), (1, 2, 3), Sampling(max_tokens=5))


def test_a_completion_carries_its_counts_and_its_prompts_hash() -> None:
    made = answered(REQUEST, "Yes.", "stop", cached_tokens=2, output_tokens=3)
    assert (made.status, made.prompt_tokens, made.cached_tokens, made.output_tokens) == ("ok", 3, 2, 3)
    assert made.prompt_sha == tokens_sha((1, 2, 3))


def test_a_constrained_answer_is_all_answer_even_behind_an_open_reasoning_block() -> None:
    constrained = Request("k", "n", (), (1,), Sampling(max_tokens=5), schema="{}")
    assert answered(constrained, '{"a":1}', "stop", opened=True).text == '{"a":1}'
    assert answered(constrained, '{"a":"</think>"}', "stop", opened=None).text == '{"a":"</think>"}'
    assert answered(REQUEST, '{"a":1}', "stop", opened=True).status == "truncated"


def test_a_label_read_is_cut_off_by_intention() -> None:
    read = Request("k", "n", (), (1,), Sampling(max_tokens=1), labels=("A", "B"))
    assert answered(read, " A", "length", label_logprobs=(-0.1, -3.0)).status == "ok"
    assert answered(read, " A", "length").status == "engine_error"
