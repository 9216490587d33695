"""`helmbench plan`: what a run will ask and cost, before any weights load."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from helmbench_hf.cli.asking import AskOptions, Judges, ask_of, judge_spec, with_ask_options, with_router
from helmbench_hf.cli.progress import seconds
from helmbench_hf.cli.shared import Json, put
from helmbench_hf.content.load import default_benchmark
from helmbench_hf.judging.plan import judging_figures
from helmbench_hf.runs.generate import prepare
from helmbench_hf.runs.plan import run_figures
from helmbench_hf.runs.worded import TRIES

CACHE_BLOCK = 16
"""Tokens of a block of the prefix cache on a GPU."""
ROLES = {
    "native": "has a system role; the system text is in the rendered prompt",
    "rejected": "has no system role: the system text goes before the first user message (recorded as folded)",
    "dropped": "takes a system message and drops it: the system text goes before the first user message (recorded as folded)",
}


@with_ask_options
def plan(
    options: AskOptions,
    tokens_per_second: Annotated[
        float | None,
        typer.Option(
            "--tokens-per-second",
            help="Output speed of one engine, to estimate the time (prompt tokens are assumed to be ten times as fast).",
        ),
    ] = None,
    judge: Judges = None,
    as_json: Json = False,
) -> None:
    """Show what a run will cost: answers, tokens, judge calls, prefix sharing, disk, and what the chat template does.

    It takes the same options as the run itself: --shard and --set draws=N have the same effect here.

    Example: helmbench plan --model vllm:OWNER/MODEL --judge vllm:OWNER/JUDGE --design core --shard 1/4
    """
    ask = ask_of(Path("unused"), with_router(options, judge))
    prepared, benchmark = prepare(ask), default_benchmark()
    found = run_figures(ask, prepared, CACHE_BLOCK, tokens_per_second)
    specs = [judge_spec(text) for text in judge or ()]
    named = [(spec.id, spec.orders) for spec in specs] or [("", 1)]
    found["judging"] = [
        {"judge": name, "letter orders": orders}
        | judging_figures(
            prepared.cases,
            benchmark,
            prepared.model.template.count,
            draws=ask.settings.draws,
            orders=orders,
            tokens_per_second=tokens_per_second,
        )
        for name, orders in named
    ]
    put(found, _lines(found), as_json)


def _lines(found: dict[str, Any]) -> Iterator[str]:
    """The figures, and what the probes of the template mean in words."""
    facts, dataset, model = found["chat template"], found["dataset"], found["model"]
    modes = ", ".join(f"{count} {mode}" for mode, count in found["modes"].items())
    shard = f", shard {found['shard']}" if found["shard"] else ""
    times = f", each case {found['repeats']} times" if found["repeats"] > 1 else ""
    weights = f"served: {model['served']}" if model["served"] else f"{model['dtype']}, template {facts['template_sha'][:12]}"
    yield f"dataset    {dataset['name']} {dataset['version']} {dataset['design']}, content {dataset['content_sha256'][:16]}"
    yield f"model      {model['id']}, {weights}"
    yield from _template_lines(facts)
    yield f"cases      {found['cases']} ({modes}){shard}"
    yield f"answers    {found['answers']}{times}"
    if found["reactive conversations"]:
        yield _router_line(found)
        if found["user model"]:
            most = 2 * TRIES * found["router calls, at most"]
            words = "words the person's lines (experimental)"
            yield f"user       {found['user model']} {words}, at most {most} calls with their checks"
    yield from _token_lines(found)
    yield from map(_judging_line, found["judging"])
    yield f"disk       at most {found['disk at most, bytes'] / 1e6:.1f} MB"
    yield from (f"warning    {text}".rstrip() for text in _warnings(found))


def _router_line(found: dict[str, Any]) -> str:
    """Who sorts the replies of reactive conversations, and what that takes."""
    talks, calls = found["reactive conversations"], found["router calls, at most"]
    if not found["router"]:
        return f"router     none: {talks} reactive conversations end after their first turn (--router MODEL)"
    how = {"both": "all models stay loaded", "waves": "the models take turns in memory"}[found["memory"]]
    return f"router     {found['router']}, at most {calls} calls for {talks} conversations; {how}"


def _template_lines(facts: dict[str, Any]) -> Iterator[str]:
    """What the probes found, in words."""
    if facts["system_role"] not in ROLES:
        yield f"template   {facts['system_role']}; that it keeps the system text is tried when the run starts"
        return
    switch = facts["thinking_switch"]
    state = f"thinking is {facts['thinking']}, switched by {switch}" if switch else "no switch for thinking"
    opens = "the prompt ends inside a block of reasoning" if facts["opens_reasoning"] else "no block of reasoning is opened"
    prefix = "keeps" if facts["keeps_prefix"] else "does not keep"
    dated = "told a fixed date" if facts["dated"] else "undated"
    yield f"template   {ROLES[facts['system_role']]}"
    yield f"           {state}; {opens}"
    yield f"           a second turn {prefix} the first one's prompt as its prefix; begin-of-text: {facts['bos']}; {dated}"


def _token_lines(found: dict[str, Any]) -> Iterator[str]:
    prompt, later = found["prompt tokens, first turns"], found["prompt tokens, later turns at most"]
    answers, limit = found["answer tokens at most"], found["seconds at most"]
    if prompt is None:
        unknown = "prompts are counted by the server, so length, cache and time are not known"
        yield f"tokens     at most {answers} in answers; {unknown}"
        return
    yield f"tokens     {prompt} in first prompts, at most {later} in later ones, at most {answers} in answers"
    yield f"cache      {found['ideal cached fraction']:.1%} of the first prompts' tokens are shared prefixes (ideal)"
    yield f"time       {f'at most {seconds(limit)}' if limit else 'give --tokens-per-second for an estimate'}"


def _judging_line(found: dict[str, Any]) -> str:
    """What one judge is asked in fast mode."""
    calls, tokens, limit = (found[name] for name in ("calls, at most", "prompt tokens, at most", "seconds, at most"))
    who = (
        f"{found['judge']}, {found['letter orders']} of 2 letter orders" if found["judge"] else "each judge, 1 of 2 letter orders"
    )
    text = f"judging    {who}: at most {calls} calls"
    if tokens is None:
        return text
    time = f"; at most {seconds(limit)} at the same speed" if limit else ""
    return f"{text}, {tokens} prompt tokens, {found['prompt tokens that no cache holds, at most']} of them not cached{time}"


def _warnings(found: dict[str, Any]) -> Iterator[str]:
    facts, constrained = found["chat template"], found["constrained answers"]
    if facts["thinking"] == "on" or facts["opens_reasoning"]:
        if not found["thinking tokens"]:
            yield "reasoning and answer share one budget; give reasoning its own by --set thinking_tokens=N"
        if constrained:
            yield f"{constrained} answers are held to a schema from their first token and come without reasoning"
    yield from (f"{name}: {tokens} tokens, too long" for name, tokens in found["too long"].items())
    yield from (f"{name}: {tokens} tokens, may outgrow the window" for name, tokens in found["may outgrow the window"].items())
    yield from (f"{name}: {reason}" for name, reason in found["cannot be rendered"].items())
