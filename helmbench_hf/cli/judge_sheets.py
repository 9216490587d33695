"""`helmbench judge sheet`, `read`, `agreement`: blind reading of the calibration set."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Annotated, cast

import typer

from helmbench_hf.cli.content import Json, fail
from helmbench_hf.cli.judge import Criteria
from helmbench_hf.cli.review import Content, benchmark_of


def sheet(
    out: Annotated[Path, typer.Option("--out", help="Folder for the sheets and their key.")],
    parts: Annotated[int, typer.Option("--parts", min=1, help="Number of sheets; give each to a reader of its own.")] = 2,
    criteria: Criteria = "",
    seed: Annotated[int, typer.Option("--seed", help="Order of the replies.")] = 1,
    readers: Annotated[
        int | None, typer.Option("--fewer-than", min=1, help="Only labels that fewer than N readers have read as they stand.")
    ] = None,
    content: Content = None,
) -> None:
    """Write the labeled replies shuffled and without verdicts; a reply and an edit of it never stand on one sheet."""
    from helmbench_hf.dataset.calibration import CalibrationError
    from helmbench_hf.dataset.review import ReviewError
    from helmbench_hf.judging.sheets import items, write_sheets

    benchmark = benchmark_of(content)
    try:
        found = items(benchmark, [code for code in criteria.split(",") if code], readers)
        if not found:
            fail("there is no label left to read", 0)
        paths = write_sheets(benchmark, found, out, seed, parts)
    except (CalibrationError, ReviewError) as error:
        fail(error)
    for path in paths:
        typer.echo(path)
    typer.echo(f'{len(found)} replies, {sum(len(item.probes) for item in found)} labels; answers: {{"R012": {{"K01": "PASS"}}}}')


def read(
    answers: Annotated[Path, typer.Argument(help="One reader's answers as JSON.")],
    sheet: Annotated[Path, typer.Option("--sheet", help="The folder that `sheet` wrote.")],
    reader: Annotated[str, typer.Option("--reader", help="A name for the reader, e.g. `blind reader 1`.")],
    kind: Annotated[str, typer.Option("--kind", help="model or human.")],
    content: Content = None,
) -> None:
    """Keep one reader's verdicts beside the authored files."""
    from helmbench_hf.dataset.calibration import CalibrationError, Kind, store
    from helmbench_hf.dataset.review import ReviewError
    from helmbench_hf.judging.sheets import read_answers

    if kind not in {"model", "human"}:
        fail("--kind is model or human")
    benchmark = benchmark_of(content)
    try:
        found = read_answers(benchmark, sheet, answers, reader, cast("Kind", kind), dt.date.today().isoformat())
        store(benchmark.root, found)
    except (CalibrationError, ReviewError) as error:
        fail(error)
    typer.echo(f"{len(found)} verdicts on {len({each.reply for each in found})} replies are kept")


def agreement(content: Content = None, as_json: Json = False) -> None:
    """Say how far readers agree with the gold, and what is not settled."""
    from helmbench_hf.dataset.calibration import READERS, CalibrationError
    from helmbench_hf.dataset.review import ReviewError
    from helmbench_hf.judging.sheets import readings

    try:
        found = readings(benchmark_of(content))
    except (CalibrationError, ReviewError) as error:
        fail(error)
    if as_json:
        typer.echo(json.dumps(found, indent=1, ensure_ascii=False))
        return
    for row in found["open"]:
        said = ", ".join(f"{reader} {verdict}" for reader, verdict in row["said"].items()) or "nobody has read it"
        typer.echo(f"{row['reply']} {row['criterion']}: gold {row['gold']}; {said}")
    for row in found["criteria"]:
        reads = f"{row['agree']} of {row['reads']} reads agree with the gold"
        among = f"{row['pairs_agree']} of {row['pairs']} pairs of reads with each other"
        settled = ", ".join(f"{count} {verdict}" for verdict, count in row["settled"].items())
        typer.echo(f"{row['criterion']:5} {row['labels']:5} labels; settled: {settled}; {reads}, {among}")
    rule = f"{READERS} readers must give the gold verdict, none another"
    typer.echo(f"{found['labels']} labels, {found['unsettled']} not settled: {rule}")
