"""`helmbench plan`: what a run will ask and cost, before any weights load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from helmbench_hf.cli.content import Dataset, Design, Json, Limit, Only, Revision, fail
from helmbench_hf.cli.progress import seconds
from helmbench_hf.cli.run import (
    EngineOptions,
    FreeForm,
    Model,
    ModelRevision,
    Part,
    Repeats,
    Set,
    TensorParallel,
    Thinking,
    build_ask,
    ours,
)

DEFAULT_BLOCK = 16


def plan(
    model: Model = "demo",
    design: Design = "core",
    dataset: Dataset = None,
    revision: Revision = None,
    only: Only = None,
    limit: Limit = None,
    free_form: FreeForm = False,
    thinking: Thinking = None,
    model_revision: ModelRevision = None,
    engine: EngineOptions = None,
    settings: Set = None,
    repeats: Repeats = None,
    shard: Part = None,
    tensor_parallel: TensorParallel = None,
    tokens_per_second: Annotated[
        float | None,
        typer.Option("--tokens-per-second", help="Output speed of one engine; gives a time (prompts: ten times it)."),
    ] = None,
    block_size: Annotated[
        int, typer.Option("--block-size", help="Prefix-cache block in tokens (GPU 16, CPU 32).")
    ] = DEFAULT_BLOCK,
    as_json: Json = False,
) -> None:
    """Say what a run will ask: answers, tokens, judge calls, prefix sharing, disk, and what the chat template does.

    With the options of the run itself: --shard and --repeats count here as they do there.
    """
    ask = build_ask(
        Path("unused"), model, model_revision, engine, settings, free_form, thinking, repeats, tensor_parallel,
        design=design, dataset=dataset, revision=revision, only=only, limit=limit, shard=shard,
    )  # fmt: skip
    try:
        from helmbench_hf.runs.generate import prepare
        from helmbench_hf.runs.plan import run_figures

        found = run_figures(ask, prepare(ask), block_size, tokens_per_second)
    except ours() as error:
        fail(error)
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False) if as_json else _text(found))


ROLES = {
    "native": "has a system role; the system text is in the rendered prompt",
    "rejected": "has no system role: the system text goes before the first user message (recorded as folded)",
    "dropped": "takes a system message and drops it: the system text goes before the first user message (recorded as folded)",
}
DEVELOPER = {
    "as_system": "rendered as a system message is",
    "native": "has a role of its own",
    "unnamed": "passed through under a name that the template does not know",
    "rejected": "refused",
    "dropped": "left out of the prompt",
}


def _template_lines(facts: dict[str, Any]) -> list[str]:
    """What the probes found, in words."""
    if facts["system_role"] not in ROLES:
        return [f"template   {facts['system_role']}; that it keeps the system text is tried when the run starts"]
    switch = facts["thinking_switch"]
    state = f"thinking is {facts['thinking']}, switched by {switch}" if switch else "no switch of thinking"
    opens = "the prompt ends inside a block of reasoning" if facts["opens_reasoning"] else "no block of reasoning is opened"
    prefix = "keeps" if facts["keeps_prefix"] else "does not keep"
    dated = "told a fixed date" if facts["dated"] else "undated"
    return [
        f"template   {ROLES[facts['system_role']]}",
        f"           {state}; {opens}",
        f"           a second turn {prefix} the first one's prompt as its prefix; begin-of-text: {facts['bos']}; {dated}",
        f"           a developer message: {DEVELOPER[facts['developer_role']]}",
    ]


def _thinking_warnings(found: dict[str, Any]) -> list[str]:
    """What a model that reasons would lose by this run's settings."""
    facts, constrained = found["chat template"], found["constrained answers"]
    if facts["thinking"] != "on" and not facts["opens_reasoning"]:
        return []
    lines = []
    if not found["thinking tokens"]:
        lines.append("warning    reasoning and answer share one budget; give reasoning its own by --set thinking_tokens=N")
    if constrained:
        lines.append(f"warning    {constrained} answers are held to a schema from their first token and come without reasoning")
    return lines


def _text(found: dict[str, Any]) -> str:
    """The figures as lines, and what the probes of the template mean in words."""
    facts, dataset, model = found["chat template"], found["dataset"], found["model"]
    modes = ", ".join(f"{count} {mode}" for mode, count in found["modes"].items())
    part = f", shard {found['shard']}" if found["shard"] else ""
    times = f", each case {found['repeats']} times" if found["repeats"] > 1 else ""
    lines = [
        f"dataset    {dataset['name']} {dataset['version']} {dataset['design']}, content {dataset['content_sha256'][:16]}",
        f"model      {model['id']}, {_model_facts(model, facts)}",
        *_template_lines(facts),
        f"cases      {found['cases']} ({modes}){part}",
        f"answers    {found['answers']}{times}; judge calls at most {found['judge calls per judge, at most']} per judge",
        *_token_lines(found),
        f"disk       at most {found['disk at most, bytes'] / 1e6:.1f} MB",
    ]
    lines += _thinking_warnings(found)
    lines += [f"warning    the preset expects another {name} of this template" for name in found["unlike the preset"]]
    warned = {
        "too long": "tokens, too long",
        "may outgrow the window": "tokens, may outgrow the window",
        "cannot be rendered": "",
    }
    for name, what in warned.items():
        lines += [f"warning    {key}: {value} {what}".rstrip() for key, value in found[name].items()]
    return "\n".join(lines)


def _model_facts(model: dict[str, Any], facts: dict[str, Any]) -> str:
    if model["served"]:
        return f"served: {model['served']}"
    return f"{model['dtype']}, template {facts['template_sha'][:12]}"


def _token_lines(found: dict[str, Any]) -> list[str]:
    prompt, later = found["prompt tokens, first turns"], found["prompt tokens, later turns at most"]
    answers, limit = found["answer tokens at most"], found["seconds at most"]
    if prompt is None:
        return [
            f"tokens     at most {answers} in answers; prompts are counted by the server, so length, cache and time are not known"
        ]
    return [
        f"tokens     {prompt} in first prompts, at most {later} in later ones, at most {answers} in answers",
        f"cache      {found['ideal cached fraction']:.1%} of the first prompts' tokens are shared prefixes (ideal)",
        f"time       {f'at most {seconds(limit)}' if limit else 'give --tokens-per-second for an estimate'}",
    ]
