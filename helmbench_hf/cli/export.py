"""`helmbench export eee | eval-results`: a verified run in the forms that others read."""

from __future__ import annotations

from typing import Annotated

import typer
from huggingface_hub import HfApi

from helmbench_hf.board.submission import prepare
from helmbench_hf.cli.shared import Checks, FinishedRun, Out, Panel, group
from helmbench_hf.interop.eee import Relationship, write
from helmbench_hf.interop.eval_results import PATH, eval_results, open_pull_request

app = group("Export a run in formats that other tools read; only a run that passes verification is exported.")


@app.command("eee")
def eee(
    run: FinishedRun,
    out: Out,
    organization: Annotated[str, typer.Option("--organization", help="Who ran the evaluation.")],
    relationship: Annotated[
        Relationship,
        typer.Option("--relationship", help="How those who ran the evaluation are related to those who made the model."),
    ] = "third_party",
    check: Checks = None,
    panel: Panel = "first",
) -> None:
    """Write a record for Every Eval Ever. It follows schema 0.3.0 and goes under data/ in the folder.

    Example: helmbench export eee runs/a --out records --organization "Example Lab"
    """
    typer.echo(write(prepare(run, checks=check or (), panel=panel), out, organization, relationship))


@app.command("eval-results")
def results(
    run: FinishedRun,
    push: Annotated[
        str | None, typer.Option("--push", metavar="MODEL", help="Open a pull request on this model's repository (OWNER/NAME).")
    ] = None,
    check: Checks = None,
    panel: Panel = "first",
) -> None:
    """Print the scores for the model's page on the Hub. They go to .eval_results/helmbench.yaml; --push sends them.

    Example: helmbench export eval-results runs/a --push OWNER/MODEL
    """
    made = prepare(run, checks=check or (), panel=panel)
    text = eval_results(made)
    typer.echo(text, nl=False)
    if push is None:
        typer.echo(f"nothing was sent; --push {made.manifest.model.id} opens a pull request that adds {PATH}", err=True)
    else:
        typer.echo(f"pull request: {open_pull_request(HfApi(), push, made, text)}", err=True)
