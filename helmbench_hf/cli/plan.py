"""`helmbench plan`: what a run will ask and cost, before any weights load."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    Replicas,
    Set,
    TensorParallel,
    Thinking,
    build_ask,
    ours,
)

if TYPE_CHECKING:
    from helmbench_hf.generate.run import Ask, Prepared
    from helmbench_hf.inference.engine import Request
    from helmbench_hf.inference.plan import Plan
    from helmbench_hf.records import Case

DEFAULT_WINDOW, DEFAULT_BLOCK = 8192, 16


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
    replicas: Replicas = None,
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

    With the options of the run itself: --shard, --repeats and --replicas count here as they do there.
    """
    ask = build_ask(
        Path("unused"), model, model_revision, engine, settings, free_form, thinking, repeats, replicas, tensor_parallel,
        design=design, dataset=dataset, revision=revision, only=only, limit=limit, shard=shard,
    )  # fmt: skip
    try:
        from helmbench_hf.generate.run import prepare

        prepared = prepare(ask)
        found = _figures(ask, prepared, block_size, tokens_per_second)
    except ours() as error:
        fail(error)
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False) if as_json else _text(found))


def _figures(ask: Ask, prepared: Prepared, block_size: int, rate: float | None) -> dict[str, Any]:
    from helmbench_hf.inference.identity import context_length
    from helmbench_hf.inference.plan import Speed, make_plan

    if by_server := prepared.model.template.facts.by_server:
        window = None
    else:
        window = ask.engine.max_model_len or context_length(ask.engine.model, ask.engine.revision) or DEFAULT_WINDOW
    talks = prepared.conversations(ask.settings, {})

    def later(request: Request) -> list[int]:
        return [prepared.model.template.count(turn) + 16 for turn in talks.later(request)]

    engines = ask.engine.replicas or 1
    speed = Speed(prefill=10 * rate * engines, answer=rate * engines) if rate else None
    reasoning = ask.settings.thinking_tokens
    made = make_plan(
        talks.first_turns(),
        max_model_len=window or sys.maxsize,
        block_size=block_size,
        later=later,
        speed=speed,
        thinking_tokens=reasoning,
    )
    counted = _counted(prepared.cases)
    return {
        "dataset": asdict(prepared.identity),
        "model": prepared.model.identity.as_row(),
        "chat template": asdict(prepared.model.template.facts),
        "thinking tokens": ask.settings.thinking_tokens,
        "constrained answers": 0 if ask.settings.free_form else counted.constrained * ask.settings.draws,
        "preset": ask.preset,
        "unlike the preset": _unlike(ask, prepared),
        "context window": window,
        "replicas": ask.engine.replicas,
        "tensor parallel": ask.engine.tensor_parallel_size,
        "shard": ask.shard,
        "repeats": ask.settings.draws,
        "cases": len(prepared.cases),
        "modes": dict(counted.modes),
        "answers": talks.planned_turns,
        "judge calls per judge, at most": counted.judge_calls * ask.settings.draws,
        **_plan_row(made),
        **(dict.fromkeys(COUNTED_BY_SERVER) if by_server else {}),
    }


@dataclass(slots=True)
class _Counted:
    """What the cases alone say of one answer each."""

    modes: Counter[str] = field(default_factory=Counter)
    constrained: int = 0
    """Answers that are held to a schema."""
    judge_calls: int = 0
    """Criteria to be judged if every answer is usable: each once per graded turn."""


def _counted(cases: Iterable[Case]) -> _Counted:
    """Count in one pass: cases come from disk."""
    found = _Counted()
    for case in cases:
        found.modes[case.mode] += 1
        if case.response_schema:
            found.constrained += len(case.turns)
        grading = case.grading
        judged = {*grading.criteria, *grading.vetoes, *grading.reported, *filter(None, [grading.contrast])}
        found.judge_calls += len(judged) * len(grading.turns)
    return found


def _unlike(ask: Ask, prepared: Prepared) -> list[str]:
    """The facts of the template that are not as its preset says."""
    if ask.preset is None:
        return []
    from helmbench_hf.inference.filled import differences
    from helmbench_hf.inference.presets import load_presets

    slug = ask.preset["preset"].partition("@")[0]
    return differences(load_presets().models[slug], prepared.model.template.facts)


def _plan_row(made: Plan) -> dict[str, Any]:
    return {
        "prompt tokens, first turns": made.prompt_tokens,
        "prompt tokens, later turns at most": made.later_prompt_tokens,
        "answer tokens at most": made.answer_tokens,
        "ideal cached fraction": round(made.cached_fraction, 4),
        "disk at most, bytes": made.disk_bytes,
        "seconds at most": made.seconds,
        "too long": dict(made.too_long),
        "may outgrow the window": dict(made.may_outgrow),
        "cannot be rendered": dict(made.refused),
    }


COUNTED_BY_SERVER = (
    "prompt tokens, first turns",
    "prompt tokens, later turns at most",
    "ideal cached fraction",
    "seconds at most",
)
"""Figures of the plan that rest on the length of prompts."""
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
        *_replica_lines(found),
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


def _replica_lines(found: dict[str, Any]) -> list[str]:
    if found["replicas"] is None:
        return []
    count = found["replicas"] or "as many as there are GPUs for"
    return [f"replicas   {count} in Ray, each on {found['tensor parallel']} GPU(s) of one machine, or on a share of its cores"]


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
