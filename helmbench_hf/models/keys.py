"""Content keys: what names the distribution that a text was drawn from, and which draw of it.

Everything that changes the distribution is in the key, and nothing that only changes speed, so resume, reordering, sharding
and merging need nothing but the keys. Rendered token ids are recorded beside a completion and checked; they are not hashed
in, so `plan` can look answers up without an engine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ConfigDict

from helmbench_hf.hashing import digest
from helmbench_hf.models.engine import EngineError, Message, Sampling

KEY_VERSION = 1
"""Raised whenever the same inputs would give another key; old completions are then not found, never mistaken."""


@dataclass(frozen=True, slots=True)
class KeyContext:
    """What all requests of one run share."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # of records on disk that hold one
    model: Mapping[str, Any]
    """Identity of the weights (`ModelIdentity.for_key()`): content hashes or a commit, dtype, quantization; a served name."""
    template_sha: str
    """SHA-256 of the chat template's text; empty where a server renders."""
    engine: str
    """Name and major.minor, e.g. `vllm 0.32` (`engine_label`); `endpoint` for any server."""
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """What the template was called with, e.g. `{"enable_thinking": False}`."""


def request_key(
    before: KeyContext | str,
    messages: Sequence[Message],
    sampling: Sampling,
    *,
    schema: str | None = None,
    prefill: str | None = None,
    labels: Sequence[str] = (),
    draw: int = 0,
) -> str:
    """Key of one request: 64 hex digits.

    `before` is the context for a first turn or a judge's call. For a later turn it is the key of the turn before, and
    `messages` holds only the new ones: that key stands for the model, the template, the engine and the history.
    The schema's text goes in as it stands: the order of its properties is the order in which the model writes them.
    """
    if isinstance(before, str):
        context: dict[str, Any] = {"parent": before}
    else:
        context = {
            "model": dict(before.model),
            "template": before.template_sha,
            "template_kwargs": dict(before.template_kwargs),
            "engine": before.engine,
        }
    row = {
        "v": KEY_VERSION,
        **context,
        "messages": [[message.role, message.content] for message in messages],
        "sampling": _sampling_row(sampling),
        "schema": schema,
        "prefill": prefill,
        "labels": list(labels),
        "draw": draw,
    }
    return digest(row)


def _sampling_row(sampling: Sampling) -> dict[str, Any]:
    # `temperature: 0`, `0.0` and `-0.0` mean one thing and must give one key
    floats = ("temperature", "top_p", "min_p", "repetition_penalty", "presence_penalty")
    row: dict[str, Any] = {name: float(getattr(sampling, name)) + 0.0 for name in floats}
    if not row["presence_penalty"]:
        del row["presence_penalty"]  # keys from before this setting existed stay valid
    return {**row, "top_k": sampling.top_k, "max_tokens": sampling.max_tokens, "seed": sampling.seed}


def engine_label(name: str, version: str) -> str:
    """`vllm`, `0.32.0+cpu` -> `vllm 0.32`: patch releases share keys, minor releases do not.

    Raises `EngineError` where the version does not begin with two numbers.
    """
    if (match := re.match(r"(\d+)\.(\d+)", version)) is None:
        raise EngineError(f"The version {version!r} of {name} does not begin with major.minor; keys need both.")
    return f"{name} {match[1]}.{match[2]}"
