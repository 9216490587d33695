"""`helmbench grade` and `helmbench run`: judges read the answers; all stages by one command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from helmbench_hf.cli.content import Dataset, Design, Limit, Only, Revision, fail
from helmbench_hf.cli.models import preset_name
from helmbench_hf.cli.run import (
    EngineOptions,
    FreeForm,
    Model,
    ModelRevision,
    Part,
    Repeats,
    Run,
    Set,
    TensorParallel,
    Thinking,
    child_job,
    generate,
    ours,
)
from helmbench_hf.cli.scores import ExistingRun, Panel, report

if TYPE_CHECKING:
    from helmbench_hf.judging.judge import JudgeSpec

Judges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        help="MODEL as for --model, then settings: vllm:OWNER/MODEL,family=qwen,mode=fast,thinking=off, or "
        "endpoint:NAME,base_url=URL (mode fast on a vLLM server only), or preset:JUDGE (`helmbench models`). Several judges: "
        "--panel of score, report and run says whose verdict gives the credit; one of a second family confirms vetoes. "
        "Without a judge, only what code decides is graded.",
    ),
]


def judge_spec(text: str, thinking: str | None = None, **machine: int | None) -> JudgeSpec:
    """Read `MODEL,id=..,family=..,mode=auto|fast|evidence,orders=1|2,NAME=VALUE..`; other names are engine settings.

    The id is the model's name, the family the letters that it begins with, unless they are given. `preset:JUDGE` fills in
    what is not given. `thinking` and `machine` (tensor_parallel_size) are for judges that do not say it themselves.
    """
    from helmbench_hf.cli.run import DEMO, DEMO_DTYPE, pairs
    from helmbench_hf.judging.judge import JudgeSpec
    from helmbench_hf.models.demo_model import demo_model_path
    from helmbench_hf.models.engine import split_model

    model, *settings = text.split(",")
    common: dict[str, Any] = {} if split_model(model)[0] == "endpoint" else machine
    given = {**{name: value for name, value in {"thinking": thinking, **common}.items() if value is not None}, **pairs(settings)}
    preset: dict[str, Any] = {}
    if named := preset_name(model):
        model, filled, preset = _judge_preset(*named, given)
        given = {**filled, **given}
    kind, name = split_model(model)
    if name == DEMO and kind != "endpoint":
        model, given = f"{kind}:{demo_model_path()}", {"id": DEMO, "family": "smollm2", "dtype": DEMO_DTYPE, **given}
    fields = {key: given.pop(key) for key in ("id", "family", "mode", "orders") if key in given}
    return JudgeSpec.named(model, options=given, preset=preset, **fields)


def _judge_preset(engine: str, name: str, given: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The model, the settings that are filled in, and the record, printed as well."""
    from helmbench_hf.models.presets import fill_judge, load_presets

    judge, filled = fill_judge(load_presets(), name, given)
    typer.echo(filled.shown, err=True)
    own = {"id": judge.slug, "family": filled.family, "mode": judge.mode, "orders": judge.orders}
    return f"{engine}{filled.model}", {**own, **filled.engine}, dict(filled.record)


def grade(
    run: ExistingRun,
    judge: Judges = None,
    thinking: Thinking = None,
    tensor_parallel: TensorParallel = None,
) -> None:
    """Let each judge read the answers, one after the other; stop it whenever you like, the same command goes on."""
    from helmbench_hf.judging.grade import JOB, payload
    from helmbench_hf.runs.folder import RunFolder

    try:
        RunFolder(run).manifest()
        specs = [judge_spec(text, thinking, tensor_parallel_size=tensor_parallel) for text in judge or []]
    except ours() as error:
        fail(error)
    if len({spec.id for spec in specs}) < len(specs):
        fail("two judges have the same id; give one of them another with id=NAME")
    for spec in specs:
        child_job(JOB, payload(run, spec), f"judge {spec.id}", run / "judge.log")
    done = f"graded by {', '.join(spec.id for spec in specs)}" if specs else "no judge named: graded by code alone"
    typer.echo(f"{done}; next: helmbench report --run {run}")


def run_all(
    run: Run,
    model: Model = "demo",
    judge: Judges = None,
    panel: Panel = "first",
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
) -> None:
    """Generate, grade, score and report; each stage goes on where it stopped.

    --thinking is the model's, not a judge's. --tensor-parallel is for the model and for the judges that say nothing else.
    """
    generate(
        run=run, model=model, design=design, dataset=dataset, revision=revision, only=only, limit=limit,
        free_form=free_form, thinking=thinking, model_revision=model_revision, engine=engine, settings=settings,
        repeats=repeats, shard=shard, tensor_parallel=tensor_parallel,
    )  # fmt: skip
    grade(run=run, judge=judge, tensor_parallel=tensor_parallel)
    report(run=run, panel=panel)
