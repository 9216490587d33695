"""`helmbench score`, `report`, `policies`, `compare`: numbers and the page, from what a run has on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from helmbench_hf import evaluation
from helmbench_hf.cli.shared import Checks, Dataset, Design, ExistingRun, Json, Panel, Revision, put, table
from helmbench_hf.content.load import default_benchmark
from helmbench_hf.content.schema import Policy
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.judging.awareness import read as read_awareness
from helmbench_hf.judging.grade import Graded
from helmbench_hf.judging.router_check import read as read_router_check
from helmbench_hf.records import Case
from helmbench_hf.report.numbers import figure, points, probability
from helmbench_hf.report.page import ReportInput, write_report
from helmbench_hf.report.policies import policy_rows
from helmbench_hf.report.terminal import summary
from helmbench_hf.report.text import plain
from helmbench_hf.report.transcripts import shown, transcripts
from helmbench_hf.runs.completions import worded_lines
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.scoring.compare import Comparison, Difference
from helmbench_hf.scoring.compare import compare as compare_runs
from helmbench_hf.scoring.policies import Expected, score_policies
from helmbench_hf.scoring.scores import read_scores
from helmbench_hf.tasks.helplines import matches

LIMIT_OVERALL, LIMIT_BEHAVIOR = 0.5, 5.0
"""Points that a policy which is blind to the message may score."""


def write_scores(run: Path, checks: Sequence[Path] = (), panel: str = "first") -> Graded:
    """As `evaluation.write_scores`; says which lines of the journals were passed over."""
    graded = evaluation.write_scores(run, checks, panel)
    for note in graded.notes:
        typer.echo(note, err=True)
    return graded


def expected(cases: Sequence[Case]) -> tuple[Mapping[str, Policy], Mapping[str, Expected]]:
    """The reference policies and their expected scores on these cases, by slug."""
    benchmark = default_benchmark()
    scored = score_policies(benchmark.policies, cases, benchmark=benchmark, resource_match=matches(benchmark))
    return benchmark.policies, scored


def score(run: ExistingRun, check: Checks = None, panel: Panel = "first", as_json: Json = False) -> None:
    """Score a graded run and write scores.json, with every number and its n.

    Example: helmbench score --run runs/a
    """
    write_scores(run, check or (), panel)
    if as_json:
        typer.echo(RunFolder(run).scores.read_text(encoding="utf-8"))
    else:
        print_summary(run)


def report(run: ExistingRun, check: Checks = None, panel: Panel = "first") -> None:
    """Score the run and write its report page, one HTML file that needs no network.

    Example: helmbench report --run runs/a --check runs/check-judge
    """
    graded = write_scores(run, check or (), panel)
    folder, benchmark = RunFolder(run), default_benchmark()
    scores = read_scores(folder.scores)
    page = ReportInput(
        awareness=read_awareness(run),
        router=read_router_check(run),
        worded=worded_lines(folder, graded.cases),
        scores=scores,
        manifest={**folder.manifest().to_json(), "judges": graded.judge_rows},
        transcripts=transcripts(shown(graded.cases, scores.pairs), graded.completions, graded.verdicts, benchmark),
        cases=len(graded.cases),
        policies=policy_rows(*expected(graded.cases)),
    )
    write_report(page, folder.report)
    print_summary(run)
    typer.echo(f"report: {folder.report}")


def print_summary(run: Path) -> None:
    """The headline, floors, gate state and coverage on the terminal."""
    folder = RunFolder(run)
    Console().print(summary(read_scores(folder.scores), folder.manifest().model.id))


def policies(design: Design = "core", dataset: Dataset = None, revision: Revision = None, as_json: Json = False) -> None:
    """Show what the reference policies would score. The exit code is 1 if a policy that ignores the message scores above chance.

    Example: helmbench policies --design smoke
    """
    listed, scored = expected(load_cases(design, dataset, revision).cases)
    rows = [_policy_row(listed[slug], found) for slug, found in scored.items()]
    put(rows, _policy_lines(rows), as_json)
    raise typer.Exit(1 if any(row["above chance"] for row in rows) else 0)


def _policy_row(policy: Policy, found: Expected) -> dict[str, Any]:
    overall = 100 * (found.overall or 0.0)
    worst, highest = max(found.behaviors.items(), key=lambda behavior: behavior[1])
    return {
        "policy": policy.slug,
        "blind": policy.message_blind,
        "overall": overall,
        "by_code": 100 * (found.by_code or 0.0),
        "worst": worst,
        "worst_score": 100 * highest,
        "above chance": policy.message_blind and (overall > LIMIT_OVERALL or 100 * highest > LIMIT_BEHAVIOR),
    }


def _policy_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    found = [("policy", "reads the message", "overall", "by code", "best behavior", "")]
    for row in rows:
        figures = (f"{row['overall']:.2f}", f"{row['by_code']:.2f}", f"{row['worst']} {row['worst_score']:.2f}")
        found.append((row["policy"], "no" if row["blind"] else "yes", *figures, "ABOVE CHANCE" if row["above chance"] else ""))
    yield from table(found, right=True)
    yield f"limits for policies blind to the message: {LIMIT_OVERALL} of 100 overall, {LIMIT_BEHAVIOR} in any behavior"
    yield "no limit for policies that read the message: they say how much of a score shallow cues explain"


def compare(
    first: Annotated[Path, typer.Argument(help="Folder of a scored run.")],
    second: Annotated[Path, typer.Argument(help="Folder of another one, on the same cells.")],
    as_json: Json = False,
) -> None:
    """Compare two runs, paired on the same cells. Runs with different versions, cases or judges are refused.

    Example: helmbench compare runs/a runs/b
    """
    one, other = (read_scores(RunFolder(run).scores) for run in (first, second))
    found = compare_runs(one, other, (first.name, second.name))
    put(found, (plain(line, 1000) for line in _compared_lines(found)), as_json)


def _compared_lines(found: Comparison) -> Iterator[str]:
    one, other = map(plain, found.names)
    yield f"{one} minus {other}: {found.pairs} pairs, {found.dropped} not scored in both"
    yield "code, each run, difference (95% interval of the row alone), n=pairs/messages, p (adjusted below the first row)"
    rows = []
    for row in (found.overall, *found.pillars, *found.behaviors):
        difference, n = figure(row.estimate, digits=1).spoken, f"n={row.estimate.n_pairs}/{row.estimate.n_meanings}"
        rows.append((row.code, points(row.first, 1), points(row.second, 1), difference, n, _verdict(row)))
    yield from table(rows)
    for floor in found.floors:
        yield f"floor {floor.slug}: {floor.first} against {floor.second}"
    if found.detectable is not None:
        yield f"a true overall difference of {100 * found.detectable:.1f} points would be found with 80% power"
    yield found.rule


def _verdict(row: Difference) -> str:
    if row.differs is None:
        return f"not tested ({row.reason})"
    return f"p={probability(row.p_adjusted)} {'differs' if row.differs else 'no difference shown'}"
