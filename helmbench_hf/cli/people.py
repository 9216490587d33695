"""`helmbench people export | import`, `rate`, `siri2`: people answer, rate, and sit an instrument."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from helmbench_hf.cli.content import Dataset, Design, Json, Only, Revision, fail, load
from helmbench_hf.cli.run import ours

app = typer.Typer(help="The human baseline: people answer the cases that models answer.", no_args_is_help=True)


@app.command("export")
def export(
    out: Annotated[Path, typer.Option("--out", help="Folder for the forms, one a person.")],
    people: Annotated[int, typer.Option("--people", min=1, help="Number of people.")],
    per_person: Annotated[int, typer.Option("--per-person", min=1, help="Cases for each.")],
    design: Design = "core",
    seed: Annotated[int, typer.Option("--seed", help="Who gets what, in which order.")] = 1,
    per_case: Annotated[
        int | None,
        typer.Option(
            "--per-case", min=1, help="People who answer each chosen case (default: spread over as many cases as can be)."
        ),
    ] = None,
    dataset: Dataset = None,
    revision: Revision = None,
    only: Only = None,
) -> None:
    """Write one self-contained web form a person, and the same as a table; import what they save."""
    from helmbench_hf.content.load import default_benchmark
    from helmbench_hf.people.forms import write_forms
    from helmbench_hf.people.plan import PeopleError, plan, study_of

    loaded, benchmark = load(design, dataset, revision), default_benchmark()
    try:
        study = study_of(loaded, people=people, per_person=per_person, seed=seed, per_case=per_case, only=only)
        drawn = plan(study, loaded, benchmark)
        paths = write_forms(drawn, benchmark, out)
    except (PeopleError, *ours()) as error:
        fail(error)
    for path in paths:
        typer.echo(path)
    loads = [len(cases) for cases in drawn.people.values()]
    each = str(min(loads)) if min(loads) == max(loads) else f"{min(loads)} or {max(loads)}"
    typer.echo(f"study {study.id}: {len(drawn.cases)} cases, each for {study.per_case} of {people} people; {each} cases a person")
    typer.echo("Before a form goes out: call or open every helpline that it shows, and have somebody whom people can reach.")


@app.command("import")
def take(
    files: Annotated[list[Path], typer.Argument(help="What people handed in, all of a study at once (.json or .csv).")],
    run: Annotated[Path, typer.Option("--run", help="A new run folder.")],
    dataset: Dataset = None,
    revision: Revision = None,
    as_json: Json = False,
) -> None:
    """Take people's answers as a run, to be graded, scored and compared like a model's."""
    from dataclasses import asdict

    from helmbench_hf.content.load import default_benchmark
    from helmbench_hf.people.intake import study_in
    from helmbench_hf.people.intake import take as taken
    from helmbench_hf.people.plan import PeopleError
    from helmbench_hf.run_folder import RunFolder

    try:
        loaded = load(study_in(files).design, dataset, revision)
        found = taken(files, RunFolder(run), loaded, default_benchmark())
    except (PeopleError, *ours()) as error:
        fail(error)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=1))
        return
    typer.echo(
        f"{found.people} people answered {found.answers} of {found.asked}: {found.skipped} skipped, {found.unfinished} begun"
    )
    typer.echo(f"{found.cases} cases, {found.draws} answers each are scored; {found.beyond} answers are in no score")
    typer.echo(f"next: helmbench grade --run {run} --judge JUDGE, then helmbench report --run {run}")
