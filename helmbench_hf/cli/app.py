"""`helmbench`: the commands, by workflow. A command's module is imported when the command is called, so that --help is quick."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from helmbench_hf import __version__
from helmbench_hf.cli.errors import fail, is_sentence

COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Inspect": {
        "cases": ("cases:cases", "List the cases of a design."),
        "show": ("cases:show", "Print a case exactly as a model gets it."),
        "models": ("models:models", "List the model and judge presets."),
        "plan": ("plan:plan", "Show what a run will ask and cost."),
    },
    "Run": {
        "run": ("run:run_all", "Generate, grade, score and report in one command."),
        "generate": ("run:generate", "Have a model answer the cases."),
        "merge": ("run:merge", "Put the shards of a run together."),
        "demo-model": ("run:demo_model", "Make the small demo model."),
    },
    "Judge": {
        "grade": ("run:grade", "Have judges grade the answers."),
        "judge": ("judge:app", "Check how often a judge is wrong."),
    },
    "Score and report": {
        "score": ("scores:score", "Score a graded run."),
        "report": ("scores:report", "Score a run and write its report page."),
        "compare": ("scores:compare", "Compare two runs on the same cases."),
        "study": ("study:study", "Rank many runs on the same cases."),
        "policies": ("scores:policies", "Show what simple reference policies would score."),
        "awareness": ("awareness:awareness", "Ask a model whether it knew that it was being tested."),
    },
    "Share": {
        "submit": ("submit:submit", "Send a run to the board."),
        "verify": ("submit:verify", "Check a submission."),
        "board": ("board:app", "Build the board as a static site."),
        "export": ("export:app", "Export a run in other projects' formats."),
    },
    "People": {
        "people": ("people:app", "Have people answer the cases."),
        "rate": ("people:rate", "Have people rate replies."),
        "siri2": ("people:siri2", "Score ratings made with the SIRI-2 instrument."),
    },
    "Content": {
        "content": ("content:app", "Check the authored files and have them read blind."),
    },
}
"""Heading -> command -> where it is (module of this room and name in it), and its line in the overview."""
PLACES = {name: place for commands in COMMANDS.values() for name, (place, _) in commands.items()}


class Commands(dict[str, Any]):
    """The commands by name, each imported when it is asked for."""

    def __init__(self) -> None:
        super().__init__(PLACES)

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = PLACES[name].partition(":")
        found = getattr(import_module(f"helmbench_hf.cli.{module}"), attribute)
        holder = typer.Typer(rich_markup_mode=None)
        if isinstance(found, typer.Typer):
            holder.add_typer(found, name=name)
        else:
            holder.command(name)(found)
        return get_group(holder).commands[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The command, or the default where there is none."""
        if name not in self:
            return default
        return self[name]


class ByWorkflow(TyperGroup):
    """The commands under their headings. Their errors end the program with a sentence."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"commands": Commands()})

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each heading."""
        for heading, commands in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, summary) for name, (_, summary) in commands.items()])

    def invoke(self, ctx: Any) -> Any:
        """Run a command. An error of our own or of the system is a sentence; any other is a fault of ours: a traceback."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # `helmbench cases | head`: typer ends quietly
            raise
        except Exception as error:
            if not is_sentence(error):
                raise
            fail(error)


app = typer.Typer(
    name="helmbench",
    cls=ByWorkflow,
    help="Measure how language models respond to people in distress. Runs on your own machine.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Measure how language models respond to people in distress. Runs on your own machine."""


def main() -> None:
    """Run the command line."""
    app()
