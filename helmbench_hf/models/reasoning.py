"""Reasoning models: telling what a model thought from what it answered.

A text that is all reasoning is never an answer: a model that ran out of tokens while thinking has said nothing.
"""

from __future__ import annotations

from typing import Literal

from helmbench_hf.records import Completion, CompletionStatus

ReasoningState = Literal["none", "closed", "truncated"]

TAGS = (
    ("<think>", "</think>"),  # DeepSeek-R1, Qwen3, SmolLM3, GLM and most others
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),  # Seed-OSS
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A Reasoning
    ("<|channel>thought", "<channel|>"),  # Gemma 4
    ("<|channel|>analysis<|message|>", "<|start|>assistant<|channel|>final<|message|>"),  # gpt-oss
)
"""Opening and closing marks, as the families write them."""
FINAL = "<|channel|>final<|message|>"
"""What gpt-oss writes before an answer that it did not think about."""


def split_reasoning(text: str, opened: bool | None = None) -> tuple[str, str, ReasoningState]:
    """Split a raw answer into (reasoning, answer, state).

    `opened` says whether the rendered prompt ended inside an open reasoning block (`ChatFacts.opens_reasoning`); None
    means unknown. `none`: no reasoning, the whole text is the answer. `closed`: reasoning, then the answer.
    `truncated`: reasoning that never ended; the answer is empty. Marks count only at the start of the text, or as the
    end of a block that the prompt opened: an answer that quotes `<think>` is an answer.
    """
    body = text.lstrip()
    for start, end in TAGS:
        if body.startswith(start):
            return _close(body[len(start) :], end)
    if body.startswith(FINAL):
        return "", body.removeprefix(FINAL), "none"
    if opened is False:
        return "", text, "none"
    for _, end in TAGS:
        if end in text:
            return _close(text, end)
    return (text.strip(), "", "truncated") if opened else ("", text, "none")


def _close(text: str, end: str) -> tuple[str, str, ReasoningState]:
    reasoning, mark, answer = text.partition(end)
    reasoning = reasoning.strip().removesuffix("<|end|>")  # gpt-oss ends the message of its reasoning before it begins another
    return (reasoning, answer.lstrip(), "closed") if mark else (reasoning, "", "truncated")


def reasoning_state(completion: Completion) -> ReasoningState:
    """Tell from a stored completion how its reasoning ended; an empty block of reasoning counts as none."""
    if not completion.reasoning:
        return "none"
    return "closed" if completion.text or completion.status == "ok" else "truncated"


def opens_reasoning(prompt: str) -> bool:
    """Say whether a rendered prompt ends inside an open reasoning block, e.g. with `<think>` and a line break."""
    tail = prompt.rstrip()
    return any(tail.endswith(start) for start, _ in TAGS)


def outcome(text: str, finish_reason: str, opened: bool | None = None) -> tuple[CompletionStatus, str, str]:
    """Turn a raw text and the engine's finish reason into (status, answer, reasoning).

    `stop` is the model's own end, `length` (and a cut of endless repetition) is truncation. Anything else (`abort`,
    `error`) is the engine's failure and not an answer.
    """
    if finish_reason not in ("stop", "length", "repetition"):
        return "engine_error", "", ""
    reasoning, answer, state = split_reasoning(text, opened)
    if state == "truncated" or finish_reason != "stop":
        return "truncated", answer, reasoning
    return "ok", answer, reasoning
