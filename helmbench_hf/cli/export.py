"""`helmbench export eee | eval-results | eval-yaml`: a verified run in the forms that others read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from helmbench_hf.cli.content import fail
from helmbench_hf.cli.run import ours
from helmbench_hf.cli.scores import Checks, Panel

app = typer.Typer(help="A run in the forms that others read; only one that verifies is exported.", no_args_is_help=True)
FinishedRun = Annotated[Path, typer.Argument(help="Folder of a finished run of a whole design.")]


@app.command("eee")
def eee(
    run: FinishedRun,
    out: Annotated[Path, typer.Option("--out", help="Folder under which the record gets its place (data/...).")],
    organization: Annotated[str, typer.Option("--organization", help="Who ran the evaluation.")],
    relationship: Annotated[
        str, typer.Option("--relationship", help="To the model's maker: first_party, third_party, collaborative or other.")
    ] = "third_party",
    check: Checks = None,
    panel: Panel = "first",
) -> None:
    """Write a record of Every Eval Ever (schema 0.3.0)."""
    from helmbench_hf.board.submission import prepare
    from helmbench_hf.interop.eee import RELATIONSHIPS, write

    if relationship not in RELATIONSHIPS:
        fail(f"{relationship!r} is no relationship; one of {', '.join(RELATIONSHIPS)}")
    errors: tuple[type[Exception], ...] = (OSError, *ours())
    try:
        path = write(prepare(run, checks=check or (), panel=panel), out, organization, relationship)
    except errors as error:
        fail(error)
    typer.echo(path)


@app.command("eval-results")
def results(
    run: FinishedRun,
    push: Annotated[
        str | None, typer.Option("--push", metavar="MODEL", help="Open a pull request on this model's repository (OWNER/NAME).")
    ] = None,
    dataset: Annotated[
        str, typer.Option("--benchmark", help="Dataset on the Hub under whose name the scores stand.")
    ] = "helmbench/v1",
    check: Checks = None,
    panel: Panel = "first",
) -> None:
    """Print what would stand on the model's page of the Hub (.eval_results/helmbench.yaml); --push sends it."""
    from helmbench_hf.board.submission import prepare
    from helmbench_hf.dataset.publish import PublishError
    from helmbench_hf.interop.eval_results import PATH, eval_results, open_pull_request

    errors: tuple[type[Exception], ...] = (PublishError, OSError, *ours())
    try:
        made = prepare(run, checks=check or (), panel=panel)
        text = eval_results(made, dataset)
        typer.echo(text, nl=False)
        if push is None:
            typer.echo(f"nothing was sent; --push {made.manifest.model.id} opens a pull request that adds {PATH}", err=True)
        else:
            from huggingface_hub import HfApi

            typer.echo(f"pull request: {open_pull_request(HfApi(), push, made, text)}", err=True)
    except errors as error:
        fail(error)


@app.command("eval-yaml")
def benchmark() -> None:
    """Print eval.yaml for the dataset repository; the Hub takes it once it lists the framework."""
    from helmbench_hf.content.load import default_benchmark
    from helmbench_hf.interop.eval_results import eval_yaml

    typer.echo(eval_yaml(default_benchmark()), nl=False)
