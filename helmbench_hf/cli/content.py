"""`helmbench content`: the authored files, checked, locked, shown, and read blind."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from helmbench_hf import versions
from helmbench_hf.cli.errors import fail
from helmbench_hf.cli.shared import (
    Answers,
    Content,
    FewerThan,
    Json,
    Out,
    Reader,
    ReaderKind,
    Seed,
    SheetFolder,
    Sheets,
    benchmark_of,
    group,
    put,
)
from helmbench_hf.content import lint
from helmbench_hf.content.load import Benchmark, ContentError, default_root, load_benchmark
from helmbench_hf.content.pages import pages as pages_of
from helmbench_hf.dataset import review
from helmbench_hf.dataset.design import counts_table, plan_problems, totals
from helmbench_hf.dataset.identity import LOCK
from helmbench_hf.scoring.cues import giveaway
from helmbench_hf.strict_yaml import Problem

app = group("The authored files.")
Scenarios = Annotated[str, typer.Option("--only", help="Scenarios whose code starts with one of these, e.g. P1-B1,P3.")]


@app.command()
def check(
    content: Content = None,
    today: Annotated[
        dt.datetime | None, typer.Option("--today", formats=["%Y-%m-%d"], help="The day to hold dates against (default: today).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check every authored file. Exit code 1 where one has a fault, alone or against the others.

    Example: helmbench content check
    """
    root, day = content or default_root(), today.date() if today else dt.date.today()
    try:
        benchmark = load_benchmark(root)
        problems = lint.check(benchmark, day)
        if not lint.structure(benchmark):  # the matrix can be expanded
            problems += [*plan_problems(benchmark), *_drifted(benchmark)]
        sizes = {"scenarios": benchmark.scenarios, "criteria": benchmark.criteria, "countries": benchmark.countries}
        counted = ", ".join(f"{len(found)} {name}" for name, found in sizes.items())
    except ContentError as error:
        problems, counted = error.problems, ""
    put(problems, map(str, problems) if problems else [f"clean: {counted}"], as_json)
    if problems and not as_json:
        typer.echo(f"{len(problems)} faults under {root}", err=True)
    raise typer.Exit(1 if problems else 0)


def _drifted(benchmark: Benchmark) -> list[Problem]:
    """The faults of versions.json; what is no fault is printed. Expands the matrix, so its structure must be sound."""
    drifted = versions.check(benchmark)
    for drift in drifted:
        if not drift.fault:
            typer.echo(str(drift), err=True)
    if figures := giveaway(benchmark):
        typer.echo(f"warning: {figures}", err=True)
    return versions.problems(drifted)


@app.command()
def lock(content: Content = None) -> None:
    """Lock what each version stands for. A released version never gets other content.

    Example: helmbench content lock
    """
    benchmark = benchmark_of(content)
    for name, row in versions.lock(benchmark).items():
        typer.echo(f"{name:12} {row['version']:12} {row['sha256'][:16]}")
    typer.echo(f"locked in {benchmark.root / LOCK}")


@app.command()
def pages(
    out: Annotated[Path, typer.Option("--out", help="Folder for the pages.")] = Path("docs/behaviors"), content: Content = None
) -> None:
    """Write the behaviors as pages for people who read no YAML.

    Example: helmbench content pages --out docs/behaviors
    """
    found = pages_of(benchmark_of(content))
    out.mkdir(parents=True, exist_ok=True)
    for name, text in found.items():
        (out / name).write_text(text, encoding="utf-8")
    typer.echo(f"{len(found)} pages in {out}")


@app.command()
def counts(content: Content = None) -> None:
    """Print what the matrix contains. Exit code 1 where it differs from plan.yaml.

    Example: helmbench content counts
    """
    benchmark = benchmark_of(content)
    for name, value in totals(benchmark).items():
        typer.echo(f"{name:14} {value}")
    if benchmark.plan is None:
        fail("there is no plan.yaml to hold the counts against")
    for code, *cells in counts_table(benchmark):
        typer.echo(f"{code:9} " + " ".join(f"{cell:>10}" for cell in cells))
    problems = list(plan_problems(benchmark))
    typer.echo("\n".join(map(str, problems)) or "the counts are as planned")
    raise typer.Exit(1 if problems else 0)


@app.command()
def sheet(
    out: Out, content: Content = None, only: Scenarios = "", seed: Seed = 1, parts: Sheets = 1, readers: FewerThan = None
) -> None:
    """Write the messages shuffled, without labels. Give them to readers who did not write them, and keep the key.

    Example: helmbench content sheet --out sheets --only P1-B1 --parts 2
    """
    benchmark = benchmark_of(content)
    found = review.items(benchmark, only)
    if not found:
        fail(f"no scenario starts with {only}")
    if readers is not None:
        found = [each.item for each in review.agreement(benchmark, only) if len(each.reads) < readers]
        if not found:
            fail(f"every message was read by {readers} readers or more", 0)
    for path in review.write_sheet(found, out, seed, parts):
        typer.echo(path)
    typer.echo(f"{len(found)} messages; answers: JSON, number -> answer, severity (0 to 10), category, odd (why it reads odd)")


@app.command()
def read(answers: Answers, sheet: SheetFolder, reader: Reader, kind: ReaderKind = "model", content: Content = None) -> None:
    """Keep one reader's answers beside the authored files.

    Example: helmbench content read answers.json --sheet sheets --reader "blind reader 1"
    """
    try:
        found = review.read_answers(sheet, answers, reader, kind, dt.date.today().isoformat())
    except json.JSONDecodeError as error:
        fail(error)
    review.store(benchmark_of(content).root, found)
    typer.echo(f"{sum(map(len, found.values()))} reads of {len(found)} scenarios are kept")


@app.command()
def agreement(content: Content = None, only: Scenarios = "", as_json: Json = False) -> None:
    """Say how far readers agree with the gold. List what they dispute.

    Example: helmbench content agreement --only P1-B1
    """
    rows = review.agreement(benchmark_of(content), only)
    put([row.plain() for row in rows], _agreement_lines(rows), as_json)


def _agreement_lines(rows: Sequence[review.Agreement]) -> Iterator[str]:
    settled = [row for row in rows if row.item.gold is not None]
    for row in settled:
        for said in row.reads:
            if said.answer != row.item.gold:
                place = f"{row.item.scenario}-{row.item.perturbation}"
                yield f"{place}: gold {row.item.gold}, {said.reader} {said.answer} {said.odd}".rstrip()
    reads, agree = sum(len(row.reads) for row in settled), sum(row.agree or 0 for row in settled)
    share = f"{agree / reads:.1%}" if reads else "nothing read"
    unread = sum(not row.reads for row in rows)
    yield f"{agree} of {reads} reads agree ({share}); {len(rows)} messages, {unread} not read in their present form"
