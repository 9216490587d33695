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

from helmbench_hf.hashing import digest
from helmbench_hf.models.engine import EngineError, Message, Sampling

KEY_VERSION = 1
"""Raised whenever the same inputs would give another key; old completions are then not found, never mistaken."""


@dataclass(frozen=True, slots=True)
class KeyContext:
    """What all requests of one run share."""

    model: Mapping[str, Any]
    """Identity of the weights (`ModelIdentity.for_key()`): content hashes or a commit, dtype, quantization; a served name."""
    template_sha: str
    """SHA-256 of the chat template's text; empty where a server renders."""
    engine: str
    """Name and major.minor, e.g. `vllm 0.32` (`engine_label`); `endpoint` for any server."""
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """What the template was called with, e.g. `{"enable_thinking": False}`."""


def request_key(
    context: KeyContext,
    messages: Sequence[Message],
    sampling: Sampling,
    *,
    schema: str | None = None,
    prefill: str | None = None,
    labels: Sequence[str] = (),
    draw: int = 0,
) -> str:
    """Key of a first turn (or of a judge's call): 64 hex digits.

    The schema's text goes in as it stands: the order of its properties is the order in which the model writes them.
    """
    shared = {
        "model": dict(context.model),
        "template": context.template_sha,
        "template_kwargs": dict(context.template_kwargs),
        "engine": context.engine,
    }
    return digest({"v": KEY_VERSION, **shared, **_turn(messages, sampling, schema, prefill, labels, draw)})


def turn_key(
    parent: str,
    messages: Sequence[Message],
    sampling: Sampling,
    *,
    schema: str | None = None,
    prefill: str | None = None,
    labels: Sequence[str] = (),
    draw: int = 0,
) -> str:
    """Key of a later turn: the parent's key and what this turn adds (`messages` holds only the new ones).

    The parent stands for the model, the template, the engine and the history, and for the very draw of it: the history
    holds the parent's answer, which exists once per parent key.
    """
    return digest({"v": KEY_VERSION, "parent": parent, **_turn(messages, sampling, schema, prefill, labels, draw)})


def _turn(
    messages: Sequence[Message],
    sampling: Sampling,
    schema: str | None,
    prefill: str | None,
    labels: Sequence[str],
    draw: int,
) -> dict[str, Any]:
    # float() and `+ 0.0`: a config that says `temperature: 0`, `0.0` or `-0.0` means one thing and must give one key.
    return {
        "messages": [[message.role, message.content] for message in messages],
        "sampling": {
            "temperature": float(sampling.temperature) + 0.0,
            "top_p": float(sampling.top_p) + 0.0,
            "top_k": sampling.top_k,
            "min_p": float(sampling.min_p) + 0.0,
            "repetition_penalty": float(sampling.repetition_penalty) + 0.0,
            # named only where there is one: keys that were made before it was known stay what they are
            **({"presence_penalty": float(sampling.presence_penalty)} if sampling.presence_penalty else {}),
            "max_tokens": sampling.max_tokens,
            "seed": sampling.seed,
        },
        "schema": schema,
        "prefill": prefill,
        "labels": list(labels),
        "draw": draw,
    }


def engine_label(name: str, version: str) -> str:
    """`vllm`, `0.32.0+cpu` -> `vllm 0.32`: patch releases share keys, minor releases do not.

    Raises `EngineError` where the version does not begin with two numbers.
    """
    if (match := re.match(r"(\d+)\.(\d+)", version)) is None:
        raise EngineError(f"The version {version!r} of {name} does not begin with major.minor; keys need both.")
    return f"{name} {match[1]}.{match[2]}"
