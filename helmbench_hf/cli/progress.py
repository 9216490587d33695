"""Progress of a child process on the terminal: what is done, how fast, when it will be over."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

Event = dict[str, Any]
LINE_SECONDS = 15.0
"""How often a log that is no terminal gets a line."""


@contextmanager
def shown(title: str) -> Iterator[Callable[[Event], None]]:
    """Give a handler of events that draws a bar on a terminal, or writes a line now and then elsewhere."""
    if sys.stderr.isatty():
        with _bar(title) as handler:
            yield handler
    else:
        yield _lines(title)


def seconds(value: float) -> str:
    """`4 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def _say(title: str, event: Event) -> bool:
    """Print what both kinds of output print alike; say whether it was such an event."""
    match event["event"]:
        case "planned":
            typer.echo(
                f"{title}: {event['turns']} answers, {event['stored']} stored, {event['open']} conversations open", err=True
            )
        case "ready":
            engine = event["engine"]
            where = f"{engine['name']} {engine['version']} on {engine['device']}, {engine['dtype']}"
            typer.echo(f"{title}: {where}, ready after {seconds(event['load_seconds'])}", err=True)
        case "note":
            typer.echo(f"{title}: {event['message']}", err=True)
        case "error":
            typer.echo(event["message"], err=True)
        case "end":
            counts = ", ".join(f"{count} {status}" for status, count in sorted(event["statuses"].items())) or "nothing to do"
            rate = event.get("output_tokens", 0) / event["seconds"] if event["seconds"] else 0.0
            typer.echo(f"{title}: {counts} in {seconds(event['seconds'])}, {rate:.0f} output tokens/s", err=True)
        case _:
            return False
    return True


def _lines(title: str) -> Callable[[Event], None]:
    told = 0.0

    def handle(event: Event) -> None:
        nonlocal told
        if _say(title, event) or event["event"] != "progress" or time.monotonic() - told < LINE_SECONDS:
            return
        told = time.monotonic()
        typer.echo(f"{title}: {event['done']} of {event['planned']}, {_left(event)} left", err=True)

    return handle


def _left(event: Event) -> str:
    rate = event["completions"] / event["seconds"] if event["seconds"] else 0.0
    return seconds((event["planned"] - event["done"]) / rate) if rate else "unknown time"


@contextmanager
def _bar(title: str) -> Iterator[Callable[[Event], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]} left"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None, left="?")

        def handle(event: Event) -> None:
            if event["event"] == "progress":
                progress.update(task, completed=event["done"], total=event["planned"], left=_left(event))
            else:
                _say(title, event)

        yield handle
