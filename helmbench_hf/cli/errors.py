"""How a command fails: a mistake of the person at the terminal is a sentence, a fault of ours is a traceback."""

from __future__ import annotations

from typing import NoReturn

import typer


def is_sentence(error: Exception) -> bool:
    """Whether the message is for the person at the terminal: an error class of ours, or what the system says of a file."""
    return isinstance(error, OSError) or type(error).__module__.startswith("helmbench_hf.")


def fail(message: object, code: int = 1) -> NoReturn:
    """Print a message to stderr, made harmless line by line, and leave with the exit code."""
    from helmbench_hf.report.text import plain  # here, so that --help need not load the report

    typer.echo("\n".join(plain(line, 4000) for line in str(message).splitlines()), err=True)
    raise typer.Exit(code)
