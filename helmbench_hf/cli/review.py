"""`helmbench content sheet`, `read`, `agreement`: blind reading of the authored messages."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from helmbench_hf.cli.content import Json, fail

if TYPE_CHECKING:
    from helmbench_hf.content.load import Benchmark

Content = Annotated[Path | None, typer.Option("--content", help="Authored files (default: those of helmbench).")]
Scenarios = Annotated[str, typer.Option("--only", help="Scenarios whose code starts with one of these, e.g. P1-B1,P3.")]


def benchmark_of(content: Path | None) -> Benchmark:
    """The authored files, or the reason in a sentence."""
    from helmbench_hf.content.lint import load_sound
    from helmbench_hf.content.load import ContentError, default_root

    try:
        return load_sound(content or default_root())
    except ContentError as error:
        fail(error)


def sheet(
    out: Annotated[Path, typer.Option("--out", help="Folder for the sheets and the key, which readers must not see.")],
    content: Content = None,
    only: Scenarios = "",
    seed: Annotated[int, typer.Option("--seed", help="Order of the messages.")] = 1,
    parts: Annotated[int, typer.Option("--parts", min=1, help="Number of sheets.")] = 1,
    readers: Annotated[
        int | None, typer.Option("--fewer-than", min=1, help="Only messages that fewer than N readers have read as they stand.")
    ] = None,
) -> None:
    """Write the messages shuffled and without labels, for readers who did not write them."""
    from helmbench_hf.dataset.review import ReviewError, items, write_sheet
    from helmbench_hf.dataset.review import agreement as readings

    benchmark = benchmark_of(content)
    found = items(benchmark, only)
    if not found:
        fail(f"no scenario starts with {only}")
    if readers is not None:
        try:
            found = [each.item for each in readings(benchmark, only) if len(each.reads) < readers]
        except ReviewError as error:
            fail(error)
        if not found:
            fail(f"every message was read by {readers} readers or more", 0)
    for path in write_sheet(found, out, seed, parts):
        typer.echo(path)
    typer.echo(f"{len(found)} messages; answers: JSON, number -> answer, severity (0 to 10), category, odd (why it reads odd)")


def read(
    answers: Annotated[Path, typer.Argument(help="One reader's answers as JSON.")],
    sheet: Annotated[Path, typer.Option("--sheet", help="The folder that `sheet` wrote.")],
    reader: Annotated[str, typer.Option("--reader", help="A name for the reader, e.g. `blind reader 1`.")],
    kind: Annotated[str, typer.Option("--kind", help="model or human.")] = "model",
    content: Content = None,
) -> None:
    """Keep one reader's answers beside the authored files."""
    from helmbench_hf.dataset.review import ReviewError, read_answers, store

    if kind not in {"model", "human"}:
        fail("--kind is model or human")
    try:
        found = read_answers(sheet, answers, reader, kind, dt.date.today().isoformat())
        store(benchmark_of(content).root, found)
    except (ReviewError, OSError, json.JSONDecodeError) as error:
        fail(error)
    typer.echo(f"{sum(map(len, found.values()))} reads of {len(found)} scenarios are kept")


def agreement(content: Content = None, only: Scenarios = "", as_json: Json = False) -> None:
    """Say how far blind readers agree with the gold, and list what they dispute."""
    from helmbench_hf.dataset.review import ReviewError
    from helmbench_hf.dataset.review import agreement as rows_of

    try:
        rows = rows_of(benchmark_of(content), only)
    except ReviewError as error:
        fail(error)
    if as_json:
        typer.echo(json.dumps([row.plain() for row in rows], indent=1, ensure_ascii=False))
        return
    settled = [row for row in rows if row.item.gold is not None]
    reads = sum(len(row.reads) for row in settled)
    agree = sum(row.agree or 0 for row in settled)
    for row in settled:
        for said in row.reads:
            if said.answer != row.item.gold:
                place = f"{row.item.scenario}-{row.item.perturbation}"
                typer.echo(f"{place}: gold {row.item.gold}, {said.reader} {said.answer} {said.odd}".rstrip())
    unread = sum(not row.reads for row in rows)
    share = f"{agree / reads:.1%}" if reads else "nothing read"
    typer.echo(f"{agree} of {reads} reads agree ({share}); {len(rows)} messages, {unread} not read as they stand now")
