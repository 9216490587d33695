"""From the options of the command line to what a model or a judge is asked."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from helmbench_hf.cli.errors import fail
from helmbench_hf.cli.shared import Dataset, Design, Limit, Only, Revision
from helmbench_hf.dataset.shards import Shard
from helmbench_hf.judging.judge import JudgeSpec
from helmbench_hf.models.demo_model import demo_model_path
from helmbench_hf.models.engine import EngineSpec, split_model
from helmbench_hf.models.presets import MARK, fill_judge, fill_model, load_presets
from helmbench_hf.models.roles import Memory
from helmbench_hf.runs.generate import Ask
from helmbench_hf.runs.turns import Settings

DEMO = "demo"
POLICY = "policy:"

Judges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        help="MODEL as for --model, then settings: vllm:OWNER/MODEL,family=qwen,mode=fast,thinking=off, or "
        "endpoint:NAME,base_url=URL (mode fast on a vLLM server only), or preset:JUDGE (`helmbench models`). With "
        "several judges, --panel (in score, report and run) combines their verdicts; a judge from a second family "
        "confirms vetoes. Without a judge, only what code decides is graded.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """The options of `generate`, `run` and `plan`: who answers which cases, and how."""

    model: Annotated[
        str,
        typer.Option(
            "--model",
            help="vllm:MODEL or transformers:MODEL (folder, Hub id or `demo`), endpoint:NAME (a server, with -e base_url=URL), "
            "preset:SLUG or preset:SLUG@SIZE (`helmbench models`), or policy:NAME.",
        ),
    ] = DEMO
    design: Design = "core"
    dataset: Dataset = None
    revision: Revision = None
    only: Only = None
    limit: Limit = None
    free_form: Annotated[
        bool, typer.Option("--free-form", help="Without constrained decoding, so that the answer's format is tested too.")
    ] = False
    model_revision: Annotated[str | None, typer.Option("--model-revision", help="Commit or tag of a model on the Hub.")] = None
    engine: Annotated[
        list[str] | None,
        typer.Option(
            "--engine",
            "-e",
            help="Engine setting NAME=VALUE, e.g. max_model_len=8192, dtype=bfloat16, tensor_parallel_size=2 (GPUs per engine), "
            "thinking=on|off (where the template has that switch); for an endpoint: "
            "base_url=http://127.0.0.1:8000/v1, key_env=VARIABLE, concurrency=32, data_parallel=N, timeout=600, retries=4, "
            "structured=json_schema|none.",
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            "-s",
            help="Sampling setting NAME=VALUE, e.g. temperature=0.7, seed=1, thinking_tokens=4096, draws=5 (answers per case).",
        ),
    ] = None
    shard: Annotated[
        str | None,
        typer.Option("--shard", help="i/n: part i of n, for n machines, each with its own run folder; merge them later."),
    ] = None
    router: Annotated[
        str | None,
        typer.Option(
            "--router",
            help="The model that classifies replies in reactive conversations, in the same form as for --judge. `run` "
            "uses its first judge if none is given.",
        ),
    ] = None
    user_model: Annotated[
        str | None,
        typer.Option(
            "--user-model",
            help="Experimental: a model that phrases the person's lines in reactive conversations, along the authored "
            "paths. Name it in the same form as for --judge. Such a run is reported separately, and no board accepts it.",
        ),
    ] = None
    memory: Annotated[
        Memory,
        typer.Option(
            "--memory", help="both: all models stay loaded. waves: they take turns, for a GPU that cannot hold them all."
        ),
    ] = "both"


def with_ask_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take `options: AskOptions`: each field is an option of the command line."""
    shared = inspect.signature(AskOptions, eval_str=True).parameters

    @wraps(command)
    def spread(**given: Any) -> None:
        options = AskOptions(**{name: given.pop(name) for name in shared if name in given})
        command(options=options, **given)

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        parameters += shared.values() if parameter.name == "options" else [parameter.replace(kind=parameter.KEYWORD_ONLY)]
    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return spread


def ask_of(run: Path, options: AskOptions, reuse: str = "missing") -> Ask:
    """What to ask: what was given, and what a preset fills in and prints. Ends the program where the options make no sense."""
    given = _named_values(options.engine)
    sampling = _named_values(options.settings)
    model, record = options.model, None
    if preset := _preset(model):
        filled = fill_model(load_presets(), preset[1], given.get("thinking"), given, sampling)
        typer.echo(filled.shown, err=True)
        model, record = f"{preset[0]}{filled.model}", dict(filled.record)
        given, sampling = {**filled.engine, **given}, {**filled.settings, **sampling}
    model, of_demo = _demo(model)
    if split_model(model)[0] != "endpoint":
        _check_names("engine", given, EngineSpec, ("kind", "model", "revision", "sleeps"))
    _check_names("sampling", sampling, Settings, ("free_form",))
    engine = EngineSpec.parse(model, revision=options.model_revision, **{**of_demo, **given})
    try:
        settings = Settings(**sampling, free_form=options.free_form)
        if options.shard is not None:
            Shard.parse(options.shard)
    except ValueError as error:
        fail(error)
    router, user = (judge_spec(text).engine_spec() if text else None for text in (options.router, options.user_model))
    if user and not router:
        fail("a user model needs a router to choose its paths: name a router too (--router MODEL)")
    return Ask(
        run=str(run),
        router=router,
        user=user,
        memory=options.memory,
        engine=engine,
        settings=settings,
        design=options.design,
        dataset=options.dataset,
        revision=options.revision,
        only=options.only,
        limit=options.limit,
        shard=options.shard,
        reuse=reuse,
        preset=record,
    )


def with_router(options: AskOptions, judge: Sequence[str] | None) -> AskOptions:
    """The options with their router: the first judge where none is named, and none where a policy answers."""
    return replace(options, router=options.router or (judge[0] if judge and not options.model.startswith(POLICY) else None))


def judge_spec(text: str) -> JudgeSpec:
    """Read `MODEL,id=..,family=..,mode=auto|fast|evidence,orders=1|2,NAME=VALUE..`; other names are engine settings.

    The id is the model's name, the family the letters that it begins with, unless they are given. `preset:JUDGE` fills in
    what is not given.
    """
    model, *settings = text.split(",")
    given = _named_values(settings)
    record: dict[str, Any] = {}
    if preset := _preset(model):
        judge, filled = fill_judge(load_presets(), preset[1], given)
        typer.echo(filled.shown, err=True)
        model, record = f"{preset[0]}{filled.model}", dict(filled.record)
        of_judge = {"id": judge.slug, "family": filled.family, "mode": judge.mode, "orders": judge.orders}
        given = {**of_judge, **filled.engine, **given}
    model, of_demo = _demo(model)
    if of_demo:
        given = {"id": DEMO, "family": "smollm2", **of_demo, **given}
    named = {name: given.pop(name) for name in ("id", "family", "mode", "orders") if name in given}
    return JudgeSpec.named(model, options=given, preset=record, **named)


def _check_names(what: str, given: Mapping[str, Any], of: type[EngineSpec | Settings], hidden: Sequence[str]) -> None:
    """End the program where a setting has no such name; `hidden` are fields that other options set."""
    names = [each.name for each in fields(of) if each.name not in hidden]
    if unknown := [name for name in given if name not in names]:
        fail(f"there is no {what} setting {unknown[0]!r}; choose from {', '.join(names)}")


def _named_values(options: list[str] | None) -> dict[str, Any]:
    """`NAME=VALUE` options as a dictionary; values are JSON where they can be, else text."""
    found: dict[str, Any] = {}
    for option in options or []:
        name, equals, value = option.partition("=")
        if not equals:
            fail(f"{option!r} is not a setting; write NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _preset(model: str) -> tuple[str, str] | None:
    """Split `preset:NAME` or `vllm:preset:NAME` into (engine with its colon, NAME); None for any other model."""
    engine, mark, name = model.partition(MARK)
    return (engine, name) if mark and (not engine or engine.endswith(":")) else None


def _demo(model: str) -> tuple[str, dict[str, Any]]:
    """The demo model's checkpoint and its engine settings for `demo`; any other model as it is.

    float32, because a CPU without bfloat16 instructions (AVX2 alone) emulates it, four times slower.
    """
    kind, name = split_model(model)
    if name != DEMO or kind == "endpoint":
        return model, {}
    return f"{kind}:{demo_model_path()}", {"dtype": "float32"}
