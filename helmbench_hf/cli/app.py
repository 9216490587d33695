"""`helmbench`: the commands. Nothing heavy is imported before a command runs, so that --help stays quick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

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


class ByWorkflow(TyperGroup):
    """The commands under the headings of `rich_help_panel`, in the order in which they are added."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each heading."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            if (command := self.get_command(ctx, name)) is not None and not command.hidden:
                heading = str(getattr(command, "rich_help_panel", ""))
                sections.setdefault(heading, []).append((name, command.get_short_help_str(60)))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


app = typer.Typer(
    name="helmbench",
    cls=ByWorkflow,
    help="Measure how language models behave with people in distress. Runs on your own machine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
content.app.command("sheet")(review.sheet)
content.app.command("read")(review.read)
content.app.command("agreement")(review.agreement)
judge.app.command("sheet")(judge_sheets.sheet)
judge.app.command("read")(judge_sheets.read)
judge.app.command("agreement")(judge_sheets.agreement)
LOOK, RUN, JUDGE, REPORT = "Look", "Run", "Judge", "Score and report"
SHARE, PEOPLE, CONTENT = "Share", "People", "Content"
COMMANDS: tuple[tuple[str, str, Callable[..., object] | typer.Typer], ...] = (
    (LOOK, "cases", content.cases),
    (LOOK, "show", content.show),
    (LOOK, "models", models.models),
    (LOOK, "plan", plan.plan),
    (RUN, "run", grade.run_all),
    (RUN, "generate", run.generate),
    (RUN, "merge", merge.merge),
    (RUN, "demo-model", run.demo_model),
    (JUDGE, "grade", grade.grade),
    (JUDGE, "judge", judge.app),
    (REPORT, "score", scores.score),
    (REPORT, "report", scores.report),
    (REPORT, "compare", scores.compare),
    (REPORT, "study", study.study),
    (REPORT, "policies", scores.policies),
    (SHARE, "submit", submit.submit),
    (SHARE, "verify", submit.verify),
    (SHARE, "board", board.app),
    (SHARE, "export", export.app),
    (PEOPLE, "people", people.app),
    (PEOPLE, "rate", people.rate),
    (PEOPLE, "siri2", people.siri2),
    (CONTENT, "content", content.app),
)
for panel, name, command in COMMANDS:
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name, rich_help_panel=panel)
    else:
        app.command(name, rich_help_panel=panel)(command)


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
