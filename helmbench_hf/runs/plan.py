"""What a run will cost, before any weights load."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from helmbench_hf.models.engine import Request
from helmbench_hf.models.identity import context_length
from helmbench_hf.records import Case
from helmbench_hf.runs.generate import Ask, Prepared
from helmbench_hf.tasks.reactive import paths

DEFAULT_WINDOW = 8192
"""Tokens, where neither the engine's settings nor the model say how long a context may be."""
LATER_TURN_TOKENS = 16
"""What a template adds to a later turn's message, generously."""
PREFILL_SPEED = 10
"""Prompt tokens that an engine reads in the time of one answer token."""
ROW_BYTES = 600
"""A journal line without its text: field names, two hashes, counts."""
TOKEN_BYTES = 5
"""A token of English in JSON, generously."""
COUNTED_BY_SERVER = (
    "prompt tokens, first turns",
    "prompt tokens, later turns at most",
    "ideal cached fraction",
    "seconds at most",
)
"""Figures of the plan that rest on the length of prompts."""


def run_figures(ask: Ask, prepared: Prepared, block_size: int, tokens_per_second: float | None) -> dict[str, Any]:
    """Everything that `helmbench plan` says of a run, as plain JSON by name.

    `block_size`: see `make_plan`; `tokens_per_second`: output speed of one engine, None where it is not known.
    """
    template, settings = prepared.model.template, ask.settings
    window = None
    if not template.facts.by_server:
        window = ask.engine.max_model_len or context_length(ask.engine.model, ask.engine.revision) or DEFAULT_WINDOW
    talks = prepared.conversations(settings, {})
    first = talks.first_turns()
    later = {asked.name: longest_lines(asked.case)[1:] for asked in first}
    plan = make_plan(
        map(talks.request, first),
        max_model_len=window or sys.maxsize,
        block_size=block_size,
        later=lambda request: [template.count(turn) + LATER_TURN_TOKENS for turn in later[request.name]],
        tokens_per_second=tokens_per_second,
        thinking_tokens=settings.thinking_tokens,
    )
    constrained = sum(case.most_turns for case in prepared.cases if case.response_schema and not settings.free_form)
    return {
        "dataset": asdict(prepared.identity),
        "model": asdict(prepared.model.identity),
        "chat template": asdict(template.facts),
        "thinking tokens": settings.thinking_tokens,
        "constrained answers": constrained * settings.draws,
        "preset": ask.preset,
        "context window": window,
        "tensor parallel": ask.engine.tensor_parallel_size,
        "shard": ask.shard,
        "repeats": settings.draws,
        "cases": len(prepared.cases),
        "modes": dict(Counter(case.mode for case in prepared.cases)),
        "answers": talks.planned_turns,
        "reactive conversations": sum(bool(case.route.beats) for case in prepared.cases),
        "router calls, at most": sum(case.most_turns - 1 for case in prepared.cases if case.route.beats) * settings.draws,
        "router": prepared.router and prepared.router.spec.shown,
        "user model": prepared.user and prepared.user.spec.shown,
        "memory": ask.memory,
        **plan,
        **(dict.fromkeys(COUNTED_BY_SERVER) if template.facts.by_server else {}),
    }


def longest_lines(case: Case) -> tuple[str, ...]:
    """What the person says at each turn; in a reactive conversation the longest line that any path has there."""
    found: dict[int, str] = dict(enumerate(case.turns))
    for path in paths(case.route) if case.route.beats else ():
        for turn, beat in enumerate(path):
            found[turn] = max(found.get(turn, ""), beat.text, key=len)
    return tuple(found[turn] for turn in sorted(found))


def make_plan(
    requests: Iterable[Request],
    *,
    max_model_len: int,
    block_size: int,
    later: Callable[[Request], Sequence[int]] = lambda request: (),
    tokens_per_second: float | None = None,
    thinking_tokens: int = 0,
) -> dict[str, Any]:
    """Say what first-turn requests will cost, which come with equal prefixes side by side and are looked at one by one.

    Later turns are upper bounds: their prompts do not exist yet, and every answer before them is as long as it may be. So is
    the time, without loading. By name and tokens: first turns that leave no room for an answer, and conversations whose last
    turn might not fit; by name and reason: prompts that cannot be rendered.

    `later` gives the tokens that each later turn of a request's conversation adds before its answer (message and template).
    `block_size` is the engine's prefix-cache block in tokens: only full blocks are shared, and the last token of a prompt is
    always computed; 0 means that the engine caches nothing. `thinking_tokens` of every budget are for reasoning, which never
    enters the history of a later turn. `tokens_per_second`: answer tokens over the batch; None where it is not known.
    """
    rows = prompt_tokens = cached = later_tokens = answers = fresh = 0
    too_long: dict[str, int] = {}
    may_outgrow: dict[str, int] = {}
    refused: dict[str, str] = {}
    before = _ids(())
    for request in requests:
        rows += 1
        length, budget = len(request.tokens), request.sampling.max_tokens
        if request.refusal:
            refused[request.name] = request.refusal
            continue
        if length >= max_model_len:
            too_long[request.name] = length
            continue
        added, kept = later(request), max(budget - thinking_tokens, 0)
        tokens = _ids(request.tokens)
        shared = _shared(before, tokens, block_size)
        before = tokens
        rows += len(added)
        cached += shared
        prompt_tokens += length
        answers += budget * (1 + len(added))
        # a later turn computes what it adds and, at worst, the answer before it: the rest of its prompt is cached
        fresh += length - shared + sum(added) + len(added) * kept
        for turn in added:
            length += kept + turn
            later_tokens += length
        if added and length >= max_model_len:
            may_outgrow[request.name] = length
    return {
        "prompt tokens, first turns": prompt_tokens,
        "prompt tokens, later turns at most": later_tokens,
        "answer tokens at most": answers,
        "ideal cached fraction": round(cached / prompt_tokens, 4) if prompt_tokens else 0.0,
        "disk at most, bytes": rows * ROW_BYTES + answers * TOKEN_BYTES,
        "seconds at most": (fresh / PREFILL_SPEED + answers) / tokens_per_second if tokens_per_second else None,
        "too long": too_long,
        "may outgrow the window": may_outgrow,
        "cannot be rendered": refused,
    }


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
