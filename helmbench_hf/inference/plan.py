"""What a run will cost, before any weights load. Pure: rendered requests in, numbers and an order out."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from helmbench_hf.inference.engine import Request

ROW_BYTES = 600
"""A journal line without its text: field names, two hashes, counts."""
TOKEN_BYTES = 5
"""A token of English in JSON, generously."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens per second of an engine on a machine, measured or guessed."""

    prefill: float
    """Prompt tokens that no cache holds."""
    answer: float
    """Answer tokens, over the whole batch."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is going to run, in order, and what it costs. Later turns are bounds: their prompts do not exist yet."""

    order: tuple[Request, ...]
    """Depth-first over the prefix tree: lexicographic by token ids, so that neighbors share the most."""
    prompt_tokens: int
    """First turns that fit."""
    cached_tokens: int
    """Of these, what an ideal prefix cache would not compute again."""
    later_prompt_tokens: int
    """Upper bound over all later turns: every answer before them as long as it may be."""
    answer_tokens: int
    """Upper bound over all turns."""
    too_long: tuple[tuple[str, int], ...]
    """(name, tokens) of first turns that leave no room for an answer; each becomes one typed row."""
    may_outgrow: tuple[tuple[str, int], ...]
    """(name, tokens at most) of conversations whose last turn might not fit."""
    refused: tuple[tuple[str, str], ...]
    """(name, reason) of prompts that cannot be rendered; each becomes one typed row."""
    disk_bytes: int
    """Upper bound of the journal."""
    seconds: float | None
    """Upper bound of the time, or None without a speed. Loading the model comes on top."""

    @property
    def cached_fraction(self) -> float:
        """Give the ideal share of cached prompt tokens over the first turns, 0 to 1."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


def make_plan(
    requests: Sequence[Request],
    *,
    max_model_len: int,
    block_size: int,
    later: Mapping[str, Sequence[int]] | None = None,
    speed: Speed | None = None,
    thinking_tokens: int = 0,
) -> Plan:
    """Plan first-turn requests.

    `later` maps a request's key to the tokens that each later turn adds before its answer (message and template).
    `block_size` is the engine's prefix-cache block in tokens: only full blocks are shared, and the last token of a
    prompt is always computed; 0 means that the engine caches nothing. `thinking_tokens` of every budget are for
    reasoning, which never enters the history of a later turn.
    """
    fitting = [request for request in requests if not request.refusal and len(request.tokens) < max_model_len]
    order = depth_first(fitting)
    prompt_tokens = sum(len(request.tokens) for request in order)
    cached = ideal_cached([request.tokens for request in order], block_size)
    turns = [(request, tuple((later or {}).get(request.key, ()))) for request in order]
    lengths = [_later_lengths(request, added, thinking_tokens) for request, added in turns]
    answers = sum(_budget(request) * (1 + len(added)) for request, added in turns)
    rows = len(requests) + sum(len(added) for _, added in turns)
    # a later turn computes what it adds and, at worst, the answer before it: the rest of its prompt is cached
    fresh = prompt_tokens - cached + sum(sum(added) + len(added) * _kept(request, thinking_tokens) for request, added in turns)
    return Plan(
        order=tuple(order),
        prompt_tokens=prompt_tokens,
        cached_tokens=cached,
        later_prompt_tokens=sum(map(sum, lengths)),
        answer_tokens=answers,
        too_long=tuple(
            (request.name, len(request.tokens))
            for request in requests
            if not request.refusal and len(request.tokens) >= max_model_len
        ),
        may_outgrow=tuple(
            (request.name, length[-1])
            for (request, _), length in zip(turns, lengths, strict=True)
            if length and length[-1] >= max_model_len
        ),
        refused=tuple((request.name, request.refusal) for request in requests if request.refusal),
        disk_bytes=rows * ROW_BYTES + answers * TOKEN_BYTES,
        seconds=fresh / speed.prefill + answers / speed.answer if speed else None,
    )


def depth_first(requests: Sequence[Request]) -> list[Request]:
    """Sort by token ids: a walk over the prefix tree that finishes each branch before the next."""
    # big-endian bytes compare as the tuples do, and much faster
    return sorted(requests, key=lambda request: (struct.pack(f">{len(request.tokens)}I", *request.tokens), request.key))


def ideal_cached(prompts: Sequence[Sequence[int]], block_size: int) -> int:
    """Count the tokens that an unlimited prefix cache would give, for prompts in lexicographic order.

    In that order no earlier prompt shares more with a prompt than the one just before it.
    """
    if not block_size:
        return 0
    cached, before = 0, np.empty(0, dtype=np.int64)
    for prompt in prompts:
        tokens = np.asarray(prompt, dtype=np.int64)
        width = min(len(before), len(tokens))
        unlike = np.flatnonzero(before[:width] != tokens[:width])
        shared = int(unlike[0]) if len(unlike) else width
        cached += min(shared, max(len(tokens) - 1, 0)) // block_size * block_size
        before = tokens
    return cached


def _budget(request: Request) -> int:
    return 1 if request.labels else request.sampling.max_tokens


def _kept(request: Request, thinking_tokens: int) -> int:
    """Give the longest answer that a later turn's history can hold, in tokens."""
    return max(_budget(request) - thinking_tokens, 0)


def _later_lengths(request: Request, added: Sequence[int], thinking_tokens: int) -> list[int]:
    """Give the longest prompt that each later turn can have, in tokens."""
    lengths, length = [], len(request.tokens)
    for tokens in added:
        length += _kept(request, thinking_tokens) + tokens
        lengths.append(length)
    return lengths
