"""`helmbench content`: the authored files, checked, locked, shown, read blind, and reviewed by people."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
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
    table,
)
from helmbench_hf.content import lint
from helmbench_hf.content import style as style_of
from helmbench_hf.content.load import Benchmark, ContentError, default_root, load_benchmark
from helmbench_hf.content.pages import pages as pages_of
from helmbench_hf.dataset import calibration, human_review, review
from helmbench_hf.dataset.calibration import Kind
from helmbench_hf.dataset.identity import LOCK
from helmbench_hf.people import sheets
from helmbench_hf.report.numbers import number
from helmbench_hf.scoring.cues import giveaway
from helmbench_hf.strict_yaml import Problem

app = group("The authored files.")
Controls = Annotated[
    Path | None, typer.Option("--controls", help="Folder of real messages: *.jsonl with a `text` and a `genre` on each line.")
]
Scenarios = Annotated[
    str, typer.Option("--only", help="Scenarios whose code starts with one of these, e.g. P1-B1,P3; or `notes`.")
]


@app.command()
def check(
    content: Content = None,
    today: Annotated[
        dt.datetime | None,
        typer.Option("--today", formats=["%Y-%m-%d"], help="The date to use in place of today's (default: today)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check every authored file. The exit code is 1 if a file has an error, by itself or in relation to the others.

    Example: helmbench content check
    """
    root, day = content or default_root(), today.date() if today else dt.date.today()
    try:
        benchmark = load_benchmark(root)
        problems = lint.check(benchmark, day)
        if not lint.structure(benchmark):  # the matrix can be expanded
            problems += [*review.problems(benchmark), *human_review.problems(benchmark, day), *_drifted(benchmark)]
            _unfollowed(benchmark)
            if not any(problem.file.startswith("calibration") for problem in problems):
                _unread_labels(benchmark)
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


def _unread_labels(benchmark: Benchmark) -> None:
    """Print which replies of the calibration set have to be read again. That is no fault of the files."""
    labels = calibration.unsettled(benchmark, calibration.labels(benchmark))
    if codes := list(dict.fromkeys(label.reply.code for label in labels)):
        named = ", ".join(codes[:10]) + (", ..." if len(codes) > 10 else "")
        what = f"{len(labels)} labels of the calibration set must be read again, because what they are about has changed"
        typer.echo(f"warning: {what} (replies {named}): helmbench judge sheet --fewer-than 3", err=True)


def _unfollowed(benchmark: Benchmark) -> None:
    """Print which items stand although a reviewer asked for a change. That is no fault: somebody has to decide it."""
    for said in human_review.reviews(benchmark).values():
        for each in said:
            if each.verdict == "change":
                asked = f"{each.name} ({each.role}) asked for a change: {each.comment}"
                typer.echo(f"warning: {each.item} stands although {asked}", err=True)


@app.command()
def lock(content: Content = None) -> None:
    """Lock the content of each version. The content of a released version never changes.

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
    """Write the behaviors as pages for people who do not read YAML.

    Example: helmbench content pages --out docs/behaviors
    """
    found = pages_of(benchmark_of(content))
    out.mkdir(parents=True, exist_ok=True)
    for name, text in found.items():
        (out / name).write_text(text, encoding="utf-8")
    typer.echo(f"{len(found)} pages in {out}")


@app.command()
def style(content: Content = None, controls: Controls = None, as_json: Json = False) -> None:
    """Compare how the messages are typed with how real messages are typed. The exit code is 1 if a feature is out of range.

    Example: helmbench content style
    """
    benchmark = benchmark_of(content)
    others = dict[str, list[str]]()
    for message in _real(controls) if controls else ():
        others.setdefault(message.genre, []).append(message.text)
    rows, faults = list(style_of.table(benchmark, others)), list(style_of.problems(benchmark))
    lines = [*table(rows, right=True), *map(str, faults)]
    put([dict(zip(rows[0], row, strict=True)) for row in rows[1:]], lines, as_json)
    raise typer.Exit(1 if faults else 0)


@app.command()
def sheet(
    out: Out,
    purpose: Annotated[sheets.Purpose, typer.Option("--for", help="gold: concern and category. realism: how it reads.")],
    content: Content = None,
    only: Scenarios = "",
    seed: Seed = 1,
    parts: Sheets = 2,
    readers: FewerThan = None,
    controls: Controls = None,
) -> None:
    """Write the messages in random order, without labels. Give them to readers who did not write them, and keep the key.

    Each sheet is written both as an HTML form and as JSON. The answers are JSON, as the form saves them.

    Example: helmbench content sheet --for gold --out sheets --only P1-B1
    """
    found = review.agreement(benchmark_of(content), only)
    if not found:
        fail(f"no scenario starts with {only}")
    if purpose == "realism":
        found = [each for each in found if not each.item.keyed]
    else:
        found = [each for each in found if not each.item.another_path]
    if readers is not None:
        found = [each for each in found if sum(read.of_realism == (purpose == "realism") for read in each.reads) < readers]
    if not found:
        fail(f"every message has been read by at least {readers} readers", 0)
    try:
        paths = sheets.write_sheets(
            [each.item for each in found], purpose, out, seed=seed, sheets=parts, real=_real(controls) if controls else ()
        )
    except review.ReviewError as error:
        fail(error)
    typer.echo("\n".join(map(str, paths)))
    typer.echo(f"{len(found)} messages; give each reader one sheet, and keep {sheets.KEY} to yourself")


def _real(folder: Path) -> list[sheets.RealMessage]:
    try:
        return sheets.real_messages(folder)
    except review.ReviewError as error:
        fail(error)


@app.command()
def read(answers: Answers, sheet: SheetFolder, reader: Reader, kind: ReaderKind, content: Content = None) -> None:
    """Save one reader's answers with the authored files.

    Example: helmbench content read answers.json --sheet sheets --reader "blind reader 1" --kind human
    """
    benchmark = benchmark_of(content)
    try:
        found = sheets.read_answers(sheet, answers, reader, kind, dt.date.today().isoformat())
    except review.ReviewError as error:
        fail(error)
    stale = review.store(benchmark, found.messages)
    review.store_controls(benchmark.root, found.controls)
    kept = sum(map(len, found.messages.values())) - stale
    typer.echo(f"{kept} readings of {len(found.messages)} scenarios are kept, and {len(found.controls)} of real messages")
    if stale:
        typer.echo(f"{stale} readings are of texts that have changed since and were dropped", err=True)


@app.command()
def agreement(
    content: Content = None,
    only: Scenarios = "",
    kind: Annotated[Kind | None, typer.Option("--kind", help="Only these readers.")] = None,
    as_json: Json = False,
) -> None:
    """Show how well readers agree with the gold labels, and how the messages read to them. List what they dispute.

    Example: helmbench content agreement --only P1-B1
    """
    benchmark = benchmark_of(content)
    rows, controls = review.agreement(benchmark, only, kind), review.controls(benchmark.root)
    noted = [] if only else review.agreement(benchmark, review.NOTED, kind)
    put([row.plain() for row in [*rows, *noted]], [*_agreement_lines(rows, controls), *_notes_line([*rows, *noted])], as_json)


@app.command("review")
def record_review(
    items: Annotated[
        list[str], typer.Argument(metavar="ITEM...", help="Such as P1-B1-S1, 'P1-B1-S1/pair 3', K01, C4, people/ananya.")
    ],
    verdict: Annotated[
        human_review.Verdict, typer.Option("--verdict", help="ok: it may stay as it is. change: say what to change.")
    ],
    name: Annotated[str, typer.Option("--name", help="The person's name, which is published.")],
    role: Annotated[str, typer.Option("--role", help="What qualifies the person, e.g. clinical psychologist.")],
    comment: Annotated[str, typer.Option("--comment", help="What to change, or what to know; one line.")] = "",
    content: Content = None,
) -> None:
    """Record that a qualified person reviewed items as they stand. For a model's reading, use `read`.

    Example: helmbench content review 'P1-B1-S1/pair 3' --verdict ok --name "Ada Example" --role clinician
    """
    benchmark = benchmark_of(content)
    try:
        said = human_review.Review("", "", name, role, dt.date.today().isoformat(), verdict, comment)
        human_review.review(benchmark, items, said)
    except ValueError as error:
        fail(error)
    typer.echo(f"{len(items)} items: {said}; in {benchmark.root / human_review.FILE}")


def _notes_line(rows: Sequence[review.Agreement]) -> Iterator[str]:
    if moved := review.moved_by_notes(rows):
        down = sum(each < 0 for each in moved)
        yield f"{len(moved)} messages read with notes: more notes move the concern by {mean(moved):+.1f}; down in {down}."


def _agreement_lines(rows: Sequence[review.Agreement], controls: Sequence[review.Control]) -> Iterator[str]:
    for row in rows:
        for dispute in row.disputes():
            yield f"{row.item.scenario} {row.item.perturbation}: {dispute}"
    heads = ("scenario", "messages", "unread", "gold", "order", "alpha", "realism", "clarity", "person", "low")
    found: list[Sequence[str]] = [(*heads, "(real messages on the same sheets)")]
    by_scenario: dict[str, list[review.Agreement]] = {}
    for row in rows:
        by_scenario.setdefault(row.item.scenario, []).append(row)
    for name, read in [*by_scenario.items(), ("all", list(rows))]:
        each = review.readings(read, controls)
        counts = (each.messages, each.unread, f"{each.agree}/{each.decided}", f"{each.twins - each.reversed}/{each.twins}")
        marks = [number(value, 2) for value in (each.alpha, each.realism, each.clarity, each.person)]
        beside = ", ".join(number(value, 2) for value in (each.real_realism, each.real_clarity, each.real_person))
        found.append((name, *map(str, counts), *marks, str(each.low), f"({beside})"))
    yield from table(found, right=True)
    kinds = sorted({read.kind for row in rows for read in row.reads})
    if kinds and not each.decided:
        yield f"{review.READERS} readers of a message decide its gold label; no message has so many of these readers yet."
    yield f"Readers: {', '.join(kinds) or 'none'}. A model's reading is no human's."
