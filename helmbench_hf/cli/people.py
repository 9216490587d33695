"""`helmbench people export | import`, `rate`, `siri2`: people answer, rate, and sit an instrument."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any

import typer

from helmbench_hf.cli.shared import (
    Criteria,
    Dataset,
    Design,
    ExistingRun,
    Json,
    Only,
    Out,
    Port,
    Revision,
    Seed,
    codes,
    group,
    put,
    table,
)
from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.people import intake
from helmbench_hf.people.forms import write_forms
from helmbench_hf.people.plan import plan, study_of
from helmbench_hf.people.rater_app import HOST, serve
from helmbench_hf.people.rating import Ratings, prepare
from helmbench_hf.people.siri2 import load_answers, load_instrument, result
from helmbench_hf.report.numbers import DASH, number
from helmbench_hf.report.text import plain
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.runs.journal import Journal, run_lock

app = group("The human baseline: people answer the cases that models answer.")


@app.command()
def export(
    out: Out,
    people: Annotated[int, typer.Option("--people", min=1, help="Number of people.")],
    per_person: Annotated[int, typer.Option("--per-person", min=1, help="Number of cases for each person.")],
    design: Design = "core",
    seed: Seed = 1,
    per_case: Annotated[
        int | None,
        typer.Option("--per-case", min=1, help="People who answer each chosen case (default: as few as possible)."),
    ] = None,
    dataset: Dataset = None,
    revision: Revision = None,
    only: Only = None,
) -> None:
    """Write a web form for each person; import what they save.

    Example: helmbench people export --out forms --people 10 --per-person 30
    """
    loaded, benchmark = load_cases(design, dataset, revision), default_benchmark()
    study = study_of(loaded, people=people, per_person=per_person, seed=seed, per_case=per_case, only=only)
    drawn = plan(study, loaded, benchmark)
    for path in write_forms(drawn, benchmark, out):
        typer.echo(path)
    loads = [len(cases) for cases in drawn.people.values()]
    each = str(min(loads)) if min(loads) == max(loads) else f"{min(loads)} or {max(loads)}"
    typer.echo(f"study {study.id}: {len(drawn.cases)} cases, each for {study.per_case} of {people} people; {each} cases a person")
    typer.echo("Before a form goes out: call or open every helpline that it shows, and have somebody whom people can reach.")


@app.command("import")
def take(
    files: Annotated[list[Path], typer.Argument(help="The files that the forms saved; give all files of a study at once.")],
    run: Annotated[Path, typer.Option("--run", help="A new run folder.")],
    dataset: Dataset = None,
    revision: Revision = None,
    as_json: Json = False,
) -> None:
    """Import people's answers as a run. It is graded, scored and compared like a model's.

    Example: helmbench people import answers/*.json --run runs/people
    """
    loaded = load_cases(intake.study_in(files).design, dataset, revision)
    found = intake.take(files, RunFolder(run), loaded, default_benchmark())
    lines = (
        f"{found.people} people answered {found.answers} of {found.asked}: {found.skipped} skipped, {found.unfinished} begun",
        f"{found.cases} cases, {found.draws} answers each are scored; {found.beyond} answers are in no score",
        f"next: helmbench grade --run {run} --judge JUDGE, then helmbench report --run {run}",
    )
    put(found, lines, as_json)


def siri2(
    items: Annotated[Path, typer.Option("--items", help="Your copy of the remarks and replies: item, remark, reply_a, reply_b.")],
    key: Annotated[Path, typer.Option("--key", help="The panel's ratings: item, reply (A or B), mean.")],
    answers: Annotated[Path, typer.Option("--answers", help="What raters said: rater, item, reply, rating (-3 to 3).")],
    as_json: Json = False,
) -> None:
    """Score SIRI-2 ratings against your own copy of the instrument; HELMbench contains neither the items nor the key.

    Example: helmbench siri2 --items items.csv --key key.csv --answers answers.csv
    """
    instrument = load_instrument(items, key)
    found = result(instrument, load_answers(answers, instrument))
    put(found, _siri2_lines(found), as_json)


def _siri2_lines(found: dict[str, Any]) -> Iterator[str]:
    replies = found["instrument"]["replies"]
    rows = [("distance", "right direction", "bias", "rater (lower distance is nearer to the panel)")]
    for row in found["raters"]:
        signs = f"{row['sign_accuracy']:.0%} of {row['signs_n']}" if row["sign_accuracy"] is not None else DASH
        rated = "" if row["n"] == replies else f" (rated {row['n']} of {replies}: no score)"
        rows.append((number(row["distance"], 2), signs, _interval(row["bias"]), f"{plain(row['rater'], 60)}{rated}"))
    yield from table(rows)
    if found["group"]["n"] > 1:
        yield f"mean distance of {found['group']['n']} raters: {_interval(found['group'])}"
    yield "by this key:"
    yield from (f"{score:9.2f} {name}" for name, score in found["anchors"].items())
    if not found["instrument"]["published_form"]:
        yield f"{replies} replies are not the 48 of the published form: no published score is comparable"
        return
    yield f"published group means, {found['published_read_in']}:"
    for row in found["published"]:
        n = f"; n {row['n']}" if row["n"] else ""
        yield f"{row['score']:9.2f} {row['group']} ({row['source']}{n})"
    yield found["caution"]


def _interval(row: Mapping[str, Any]) -> str:
    value, *ends = (number(row[name], 2) for name in ("value", "low", "high"))
    return value if row["low"] is None else f"{value} ({' to '.join(ends)})"


def rate(
    run: ExistingRun,
    out: Annotated[Path, typer.Option("--out", help="Folder of the ratings; created if it does not exist, resumed if it does.")],
    rater: Annotated[
        list[str] | None, typer.Option("--rater", help="Code of a rater, not a name; repeat for each rater (default: R1 and R2).")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="Number of verdicts asked of each rater, divided evenly among the criteria.")
    ] = 200,
    criteria: Criteria = "",
    seed: Seed = 1,
    port: Port = 8765,
) -> None:
    """Serve replies to human raters, one criterion at a time, on this machine only. Ctrl-C stops it; the same command resumes it.

    Example: helmbench rate --run runs/a --out ratings --rater R1 --rater R2
    """
    benchmark = default_benchmark()
    with run_lock(out):
        rated = prepare(RunFolder(run), out, benchmark, rater or ["R1", "R2"], limit=limit, criteria=codes(criteria), seed=seed)
        with Journal.open(out / "ratings", "rate") as journal:
            ratings = Ratings(rated, benchmark, out, journal)

            def ready(server: ThreadingHTTPServer) -> None:
                address = f"http://{HOST}:{server.server_port}"
                for secret, code in rated.links.items():
                    typer.echo(f"{code}: {address}/{secret}")
                typer.echo(f"{len(rated.tasks)} verdicts each; Ctrl-C ends")

            serve(ratings, port, ready)
            typer.echo("\n" + "\n".join(_progress_lines(ratings)))
            typer.echo(f"{len(ratings.labels())} verdicts; next: helmbench judge check --labels {out / 'labels.csv'}")


def _progress_lines(ratings: Ratings) -> Iterator[str]:
    """How far each rater came, and how far they agree."""
    for rater in ratings.raters.values():
        rated = sum(map(bool, rater.said.values()))
        yield f"{rater.code}: {rated} rated, {len(rater.said) - rated} left open, of {len(ratings.rated.tasks)}"
    found = ratings.agreement()
    for row in found.panel:
        if row.alpha.n_pairs:
            yield f"{row.criterion:5} alpha {_interval(asdict(row.alpha))} on {row.alpha.n_pairs} replies with two verdicts"
    for pair in found.judge_pairs:
        if pair.n:
            yield f"{pair.criterion:5} {pair.first} and {pair.second}: kappa {number(pair.kappa, 2)} on {pair.n} verdicts"
