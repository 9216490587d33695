"""The prompts of the comparison: whole prefix groups of the real matrix, rendered once by the model's template."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any

from helmbench_hf.dataset.load import load_cases
from helmbench_hf.dataset.shards import prefix_group
from helmbench_hf.models.chat import ChatTemplate
from helmbench_hf.models.engine import Message
from helmbench_hf.runs.plan import ideal_cached

LONGEST = 1024
"""Tokens of a prompt at most: the long documents of the matrix would fill the small cache of a CPU by themselves."""


def choose(model: str, count: int) -> list[dict[str, Any]]:
    """Choose `count` single-turn cases of `core`, by whole prefix groups, in the dataset's order; always the same ones.

    Each is `id`, `messages`, `text` and `tokens`.
    """
    chat = ChatTemplate.load(model)
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    cases = [case for case in load_cases("core", None, None).cases if len(case.turns) == 1]
    for place, case in enumerate(cases):
        messages = (*((Message("system", case.system),) if case.system else ()), Message("user", case.turns[0]))
        tokens = chat.render(messages)
        if len(tokens) <= LONGEST:
            plain = [{"role": message.role, "content": message.content} for message in messages]
            row = {"id": case.code, "messages": plain, "text": chat.decode(tokens), "tokens": tokens}
            groups[prefix_group(case)].append({**row, "place": place})
    names = list(groups)
    random.Random(0).shuffle(names)
    chosen: list[dict[str, Any]] = []
    for name in names:
        if len(chosen) + len(groups[name]) <= count:
            chosen += groups[name]
    chosen.sort(key=lambda row: int(row.pop("place")))
    return chosen


def ideal(prompts: list[dict[str, Any]], block_size: int) -> int:
    """Give the prompt tokens that an unlimited prefix cache would not compute again."""
    return ideal_cached(sorted(prompt["tokens"] for prompt in prompts), block_size)


def same(answers: list[dict[str, Any]], prompts: list[dict[str, Any]]) -> bool:
    """Say whether the answers belong to exactly these prompts: token by token where a peer tells, else by count."""
    if all("tokens" in answer for answer in answers):
        return Counter(tuple(each["tokens"]) for each in answers) == Counter(tuple(each["tokens"]) for each in prompts)
    wanted = {prompt["id"]: len(prompt["tokens"]) for prompt in prompts}
    return len(answers) == len(wanted) and {each["id"]: each["prompt_tokens"] for each in answers} == wanted
