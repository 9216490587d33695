"""What a run will cost, before any weights load, and the order of its requests. Pure: rendered requests in, numbers out."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
    """What a run is going to cost. Later turns are bounds: their prompts do not exist yet."""

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
    requests: Iterable[Request],
    *,
    max_model_len: int,
    block_size: int,
    later: Callable[[Request], Sequence[int]] = lambda request: (),
    speed: Speed | None = None,
    thinking_tokens: int = 0,
) -> Plan:
    """Plan first-turn requests, which come in the order of the prefix tree (`depth_first`) and are looked at one by one.

    `later` gives the tokens that each later turn of a request's conversation adds before its answer (message and template);
    it is asked once, when the request comes. `block_size` is the engine's prefix-cache block in tokens: only full blocks are
    shared, and the last token of a prompt is always computed; 0 means that the engine caches nothing. `thinking_tokens` of
    every budget are for reasoning, which never enters the history of a later turn.
    """
    rows = prompt_tokens = cached = later_tokens = answers = fresh = 0
    too_long: list[tuple[str, int]] = []
    may_outgrow: list[tuple[str, int]] = []
    refused: list[tuple[str, str]] = []
    before = _ids(())
    for request in requests:
        rows += 1
        if request.refusal:
            refused.append((request.name, request.refusal))
            continue
        if len(request.tokens) >= max_model_len:
            too_long.append((request.name, len(request.tokens)))
            continue
        added = later(request)
        rows += len(added)
        tokens = _ids(request.tokens)
        shared = _shared(before, tokens, block_size)
        before = tokens
        cached += shared
        prompt_tokens += len(request.tokens)
        answers += _budget(request) * (1 + len(added))
        # a later turn computes what it adds and, at worst, the answer before it: the rest of its prompt is cached
        fresh += len(request.tokens) - shared + sum(added) + len(added) * _kept(request, thinking_tokens)
        lengths = _later_lengths(request, added, thinking_tokens)
        later_tokens += sum(lengths)
        if lengths and lengths[-1] >= max_model_len:
            may_outgrow.append((request.name, lengths[-1]))
    return Plan(
        prompt_tokens=prompt_tokens,
        cached_tokens=cached,
        later_prompt_tokens=later_tokens,
        answer_tokens=answers,
        too_long=tuple(too_long),
        may_outgrow=tuple(may_outgrow),
        refused=tuple(refused),
        disk_bytes=rows * ROW_BYTES + answers * TOKEN_BYTES,
        seconds=fresh / speed.prefill + answers / speed.answer if speed else None,
    )


def depth_first(requests: Iterable[Request]) -> list[Request]:
    """Sort by token ids: a walk over the prefix tree that finishes each branch before the next.

    Where a server has the tokens, the order is that of the texts.
    """
    return sorted(requests, key=place)


def place(request: Request) -> tuple[bytes, bytes, str]:
    """Where a request stands in that order: its tokens, its texts where it has none, its key."""
    # big-endian bytes compare as the tuples do, and much faster
    tokens = struct.pack(f">{len(request.tokens)}I", *request.tokens)
    texts = "" if tokens else "\0".join(message.content for message in request.messages)
    return tokens, texts.encode("utf-8", "surrogatepass"), request.key


def ideal_cached(prompts: Iterable[Sequence[int]], block_size: int) -> int:
    """Count the tokens that an unlimited prefix cache would give, for prompts in lexicographic order.

    In that order no earlier prompt shares more with a prompt than the one just before it.
    """
    cached, before = 0, _ids(())
    for prompt in prompts:
        tokens = _ids(prompt)
        cached += _shared(before, tokens, block_size)
        before = tokens
    return cached


def _ids(tokens: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.asarray(tokens, dtype=np.int64)


def _shared(before: npt.NDArray[np.int64], tokens: npt.NDArray[np.int64], block_size: int) -> int:
    """Count the tokens of a prompt that stand in full blocks of the one before it."""
    if not block_size:
        return 0
    width = min(len(before), len(tokens))
    unlike = np.flatnonzero(before[:width] != tokens[:width])
    shared = int(unlike[0]) if len(unlike) else width
    return min(shared, max(len(tokens) - 1, 0)) // block_size * block_size


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
