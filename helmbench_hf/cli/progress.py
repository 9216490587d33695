"""Progress of a child process on the terminal: what is done, how fast, when it will be over."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Event = dict[str, Any]
LINE_SECONDS = 15.0
"""How often a log that is no terminal gets a line."""


@contextmanager
def shown(title: str) -> Iterator[Callable[[Event], None]]:
    """Give a handler of events that draws a bar on a terminal, or writes a line now and then elsewhere."""
    terminal, told = sys.stderr.isatty(), 0.0
    name, left = TextColumn("{task.description}"), TextColumn("{task.fields[left]} left")
    columns = (name, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), left)
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not terminal) as progress:
        task = progress.add_task(title, total=None, left="?")

        def handle(event: Event) -> None:
            nonlocal told
            if event["event"] != "progress":
                _say(title, event)
            elif terminal:
                progress.update(task, completed=event["done"], total=event["planned"], left=_left(event))
            elif time.monotonic() - told >= LINE_SECONDS:
                told = time.monotonic()
                typer.echo(f"{title}: {event['done']} of {event['planned']}, {_left(event)} left", err=True)

        yield handle


def seconds(value: float) -> str:
    """`4 s`, `3 min 20 s`, `2 h 5 min`."""
    rounded = round(value)
    if rounded < 60:
        return f"{rounded} s"
    return f"{rounded // 60} min {rounded % 60} s" if rounded < 3600 else f"{rounded // 3600} h {rounded % 3600 // 60} min"


def _say(title: str, event: Event) -> None:
    """Print what a terminal and a log get alike."""
    match event["event"]:
        case "planned":
            said = f"{title}: {event['turns']} answers, {event['stored']} stored, {event['open']} conversations open"
        case "ready":
            engine = event["engine"]
            where = f"{engine['name']} {engine['version']} on {engine['device']}, {engine['dtype']}"
            said = f"{title}: {where}, ready after {seconds(event['load_seconds'])}"
        case "note":
            said = f"{title}: {event['message']}"
        case "error":
            said = event["message"]
        case "end":
            counts = ", ".join(f"{count} {status}" for status, count in sorted(event["statuses"].items())) or "nothing to do"
            rate = event.get("output_tokens", 0) / event["seconds"] if event["seconds"] else 0.0
            said = f"{title}: {counts} in {seconds(event['seconds'])}, {rate:.0f} output tokens/s"
        case _:
            return
    typer.echo(said, err=True)


def _left(event: Event) -> str:
    rate = event["completions"] / event["seconds"] if event["seconds"] else 0.0
    return seconds((event["planned"] - event["done"]) / rate) if rate else "unknown time"
