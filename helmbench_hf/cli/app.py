"""`helmbench`: the commands. Nothing heavy is imported before a command runs, so that --help stays quick."""

from __future__ import annotations

from typing import Annotated

import typer

from helmbench_hf import __version__
from helmbench_hf.cli import (
    board,
    content,
    export,
    grade,
    judge,
    judge_sheets,
    merge,
    models,
    people,
    plan,
    review,
    run,
    scores,
    study,
    submit,
)

app = typer.Typer(
    name="helmbench",
    help="Measure how language models behave with people in distress. Runs on your own machine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
content.app.command("sheet")(review.sheet)
content.app.command("read")(review.read)
content.app.command("agreement")(review.agreement)
app.add_typer(content.app, name="content")
judge.app.command("sheet")(judge_sheets.sheet)
judge.app.command("read")(judge_sheets.read)
judge.app.command("agreement")(judge_sheets.agreement)
app.add_typer(judge.app, name="judge")
app.add_typer(people.app, name="people")
app.add_typer(export.app, name="export")
app.command("rate")(people.rate)
app.command("siri2")(people.siri2)
app.command("show")(content.show)
app.command("cases")(content.cases)
app.command("models")(models.models)
app.command("plan")(plan.plan)
app.command("run")(grade.run_all)
app.command("generate")(run.generate)
app.command("merge")(merge.merge)
app.command("grade")(grade.grade)
app.command("score")(scores.score)
app.command("report")(scores.report)
app.command("policies")(scores.policies)
app.command("compare")(scores.compare)
app.command("study")(study.study)
app.command("submit")(submit.submit)
app.command("verify")(submit.verify)
app.command("leaderboard")(board.leaderboard)
app.command("demo-model")(run.demo_model)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Measure how language models behave with people in distress. Runs on your own machine."""


def main() -> None:
    """Run the command line; errors of ours end it with their sentence."""
    app()
