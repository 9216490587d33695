"""`helmbench content check`, `show`, `cases`: the authored benchmark and what a model gets of it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

import typer

if TYPE_CHECKING:
    from helmbench_hf.content.load import Benchmark
    from helmbench_hf.dataset.load import CaseSet
    from helmbench_hf.strict_yaml import Problem

app = typer.Typer(help="The authored files.", no_args_is_help=True)
Result = TypeVar("Result")

Json = Annotated[bool, typer.Option("--json", help="Print JSON for a machine.")]
Dataset = Annotated[str | None, typer.Option("--dataset", help="Folder or Hub id (default: the copy inside helmbench).")]
Revision = Annotated[str | None, typer.Option("--revision", help="Tag or commit of a Hub dataset.")]
Design = Annotated[str, typer.Option("--design", help="smoke, core, full or taxonomy.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N cases.")]
Only = Annotated[str | None, typer.Option("--only", help="Cases whose code starts with this, e.g. P1-B1 or P1-B1-S1,P2.")]


def fail(message: object, code: int = 1) -> NoReturn:
    """Print one sentence to stderr and leave with the exit code."""
    typer.echo(str(message), err=True)
    raise typer.Exit(code)


def load(design: str, dataset: str | None, revision: str | None) -> CaseSet:
    """The cases of a design, or the reason in a sentence."""
    from helmbench_hf.content.load import ContentError
    from helmbench_hf.dataset.load import DatasetError, load_cases

    try:
        return load_cases(design, dataset, revision)
    except (DatasetError, ContentError) as error:
        fail(error)


@app.command("check")
def check(
    content: Annotated[Path | None, typer.Option("--content", help="Authored files (default: those of helmbench).")] = None,
    today: Annotated[
        dt.datetime | None, typer.Option("--today", formats=["%Y-%m-%d"], help="Hold dates against DAY (default: today).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check every authored file, alone and against the others; 1 where there is a fault."""
    from helmbench_hf.content.lint import check as lint
    from helmbench_hf.content.lint import structure
    from helmbench_hf.content.load import ContentError, default_root, load_benchmark
    from helmbench_hf.dataset.calibration import CalibrationError
    from helmbench_hf.dataset.design import plan_problems
    from helmbench_hf.dataset.review import ReviewError

    root, day = content or default_root(), today.date() if today else dt.date.today()
    try:
        benchmark = load_benchmark(root)
        problems = lint(benchmark, day)
        if not structure(benchmark):  # the matrix can be expanded
            problems += [*plan_problems(benchmark), *_drifted(benchmark)]
        counted = (
            f"{len(benchmark.scenarios)} scenarios, {len(benchmark.criteria)} criteria, {len(benchmark.countries)} countries"
        )
    except ContentError as error:
        problems, counted = error.problems, ""
    except (CalibrationError, ReviewError) as error:
        fail(error)
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(problem) for problem in problems], indent=2))
    elif problems:
        typer.echo("\n".join(str(problem) for problem in problems))
        typer.echo(f"{len(problems)} faults under {root}", err=True)
    else:
        typer.echo(f"clean: {counted}")
    raise typer.Exit(1 if problems else 0)


def _drifted(benchmark: Benchmark) -> list[Problem]:
    """The faults of versions.json; what is only to be known is printed. Expands the matrix, so its structure must be sound."""
    from helmbench_hf import versions
    from helmbench_hf.scoring.cues import giveaway

    drifted = versions.check(benchmark)
    for drift in drifted:
        if not drift.fault:
            typer.echo(str(drift), err=True)
    if figures := giveaway(benchmark):
        typer.echo(f"warning: {figures}", err=True)
    return versions.problems(drifted)


@app.command("lock")
def lock(
    content: Annotated[Path | None, typer.Option("--content", help="Authored files (default: those of helmbench).")] = None,
) -> None:
    """Write into versions.json what each version stands for; a released version is never given other content."""
    from helmbench_hf import versions
    from helmbench_hf.content.lint import load_sound
    from helmbench_hf.content.load import ContentError, default_root
    from helmbench_hf.dataset.calibration import CalibrationError
    from helmbench_hf.dataset.identity import LOCK
    from helmbench_hf.dataset.review import ReviewError

    root = content or default_root()
    try:
        found = versions.lock(load_sound(root))
    except (CalibrationError, ContentError, ReviewError, versions.VersionError) as error:
        fail(error)
    for part, row in found.items():
        typer.echo(f"{part:12} {row['version']:12} {row['sha256'][:16]}")
    typer.echo(f"locked in {root / LOCK}")


@app.command("pages")
def pages(
    out: Annotated[Path, typer.Option("--out", help="Folder for the pages.")] = Path("docs/behaviors"),
    content: Annotated[Path | None, typer.Option("--content", help="Authored files (default: those of helmbench).")] = None,
) -> None:
    """Write the behaviors as pages for people who read no YAML."""
    from helmbench_hf.content.lint import load_sound
    from helmbench_hf.content.load import ContentError, default_root
    from helmbench_hf.content.pages import pages as written

    try:
        found = written(load_sound(content or default_root()))
    except ContentError as error:
        fail(error)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in found.items():
        (out / name).write_text(text, encoding="utf-8")
    typer.echo(f"{len(found)} pages in {out}")


@app.command("counts")
def counts(
    content: Annotated[Path | None, typer.Option("--content", help="Authored files (default: those of helmbench).")] = None,
) -> None:
    """Print what the matrix contains beside what the blueprint planned; 1 where they differ without a reason."""
    from helmbench_hf.content.lint import load_sound
    from helmbench_hf.content.load import ContentError, default_root
    from helmbench_hf.dataset.design import plan_problems, plan_table, totals

    try:
        benchmark = load_sound(content or default_root())
    except ContentError as error:
        fail(error)
    for name, value in totals(benchmark).items():
        typer.echo(f"{name:14} {value}")
    if benchmark.plan is None:
        fail("there is no plan.yaml to hold the counts against")
    for row in plan_table(benchmark, benchmark.plan):
        typer.echo(f"{row[0]:9} " + " ".join(f"{cell:>10}" for cell in row[1:6]) + f"  {row[6]:26} {row[7]}")
    problems = list(plan_problems(benchmark))
    typer.echo("\n".join(map(str, problems)) or "the counts are as planned")
    raise typer.Exit(1 if problems else 0)


def show(
    code: Annotated[str, typer.Argument(help="Case code, e.g. P1-B1-S1-C1-U11-PT4.")],
    dataset: Dataset = None,
    revision: Revision = None,
    folded: Annotated[bool, typer.Option("--folded", help="As a model without a system role gets it.")] = False,
    as_json: Json = False,
) -> None:
    """Print a case exactly as a model gets it, and how it is graded."""
    found = [case for case in load("full", dataset, revision).cases if case.code == code]
    if not found:
        fail(f"there is no case {code}; `helmbench cases --design full --only {code.rpartition('-')[0]}` lists its neighbors")
    [case] = found
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(case), indent=2, ensure_ascii=False))
        return
    turns = list(case.turns)
    if folded and case.system:
        turns[0] = f"{case.system}\n\n{turns[0]}"
    elif case.system:
        _section("SYSTEM", case.system)
    for number, turn in enumerate(turns, start=1):
        _section("USER" if len(turns) == 1 else f"USER, turn {number}", turn)
    if case.response_schema:
        _section("ANSWER SCHEMA", case.response_schema)
    facts = dataclasses.asdict(case) | {"budget in tokens": case.max_tokens}
    hidden = {"system", "turns", "response_schema", "grading", "max_tokens"}
    _section("FACTS (the model never sees these)", _lines({name: value for name, value in facts.items() if name not in hidden}))
    _section("GRADING", _lines({name: value for name, value in dataclasses.asdict(case.grading).items() if value}))


def cases(
    design: Design = "core",
    dataset: Dataset = None,
    revision: Revision = None,
    only: Only = None,
    as_json: Json = False,
) -> None:
    """List the cases of a design, one a line."""
    from helmbench_hf.dataset.load import DatasetError, select

    loaded = load(design, dataset, revision)
    try:
        chosen = select(loaded.cases, only, None)
    except DatasetError as error:
        fail(error)
    if as_json:
        rows = [dataclasses.asdict(case) for case in chosen]
        typer.echo(json.dumps({"dataset": dataclasses.asdict(loaded.identity), "cases": rows}, ensure_ascii=False))
        return
    for case in chosen:
        typer.echo(f"{case.code:32} {case.mode:11} {case.member:9} S={case.severity:+3d} {case.gold:6} {case.register}")
    typer.echo(
        f"{len(chosen)} cases of {design}, version {loaded.identity.version}, content {loaded.identity.content_sha256[:16]}",
        err=True,
    )


def _section(title: str, text: str) -> None:
    typer.echo(f"--- {title}\n{text}\n")


def _lines(facts: dict[str, object]) -> str:
    return "\n".join(f"{name}: {_shown(value)}" for name, value in facts.items())


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
