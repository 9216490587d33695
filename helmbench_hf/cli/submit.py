"""`helmbench submit` and `helmbench verify`: a finished run goes to the results repository, and is checked against its rows."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from huggingface_hub import HfApi

from helmbench_hf.board import pull_request as requests
from helmbench_hf.board.files import RejectedError
from helmbench_hf.board.results import check_others, fetch_results
from helmbench_hf.board.submission import prepare
from helmbench_hf.board.verify import Report
from helmbench_hf.board.verify import verify as check_submission
from helmbench_hf.cli.errors import fail, is_sentence
from helmbench_hf.cli.shared import Checks, Dataset, FinishedRun, Json, Panel, Revision, put
from helmbench_hf.dataset.load import load_cases

ACCEPTED, REJECTED, UNREADABLE = 0, 1, 2
Repo = Annotated[str, typer.Option("--repo", help="The results repository, a dataset on the Hub.")]
RESULTS = "helmbench/results"


def submit(
    run: FinishedRun,
    repo: Repo = RESULTS,
    name: Annotated[str, typer.Option("--name", help="Name of the submitter; shown on the board, at most 80 characters.")] = "",
    text: Annotated[str, typer.Option("--text", help="What readers should know; at most 2000 characters.")] = "",
    check: Checks = None,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", help="File of human labels behind a --check; it is sent too, without the raters' names."),
    ] = None,
    panel: Panel = "first",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be sent.")] = False,
    export: Annotated[Path | None, typer.Option("--export", help="Write the submission under this folder; send nothing.")] = None,
) -> None:
    """Send a run to the board: one pull request on the results repository, verified here first.

    The token comes from HF_TOKEN or `hf auth login`; it needs permission to open pull requests.

    Example: helmbench submit runs/a --name "Example Lab" --dry-run
    """
    made = prepare(run, checks=check or (), labels=labels, panel=panel, submitter=name, text=text)
    typer.echo("\n".join(made.shown()))
    if export is not None:
        typer.echo(f"written to {made.write(export)}; nothing was sent")
    elif dry_run:
        typer.echo(f"nothing was sent; without --dry-run this opens a pull request on {repo}")
    else:
        typer.echo(f"pull request: {requests.open_pull_request(HfApi(), repo, made)}")


def verify(
    folder: Annotated[Path | None, typer.Argument(help="Folder of one submission.")] = None,
    dataset: Dataset = None,
    revision: Revision = None,
    pull_request: Annotated[
        int | None, typer.Option("--pull-request", min=1, help="Fetch and verify what this pull request on --repo adds.")
    ] = None,
    repo: Repo = RESULTS,
    comment: Annotated[bool, typer.Option("--comment", help="Also post the result as a comment on the pull request.")] = False,
    as_json: Json = False,
) -> None:
    """Check a submission against its own rows, and against the other submissions in its repository.

    Exit codes: 0 accepted, 1 rejected or held for human review (with the reasons), 2 could not be read.

    Example: helmbench verify submissions/OWNER--MODEL/RUN
    """
    if (folder is None) == (pull_request is None):
        fail("give the folder of a submission, or --pull-request N", UNREADABLE)
    try:
        with tempfile.TemporaryDirectory(prefix="helmbench-") as scratch:
            report = _report(folder, pull_request, repo, Path(scratch), dataset, revision)
        if comment and pull_request is not None:
            requests.comment(HfApi(), repo, pull_request, report.summary())
    except Exception as error:
        if not is_sentence(error):
            raise
        fail(error, UNREADABLE)
    put(report.as_row(), [report.summary()], as_json)
    raise typer.Exit(ACCEPTED if report.accepted else REJECTED)


def _report(
    folder: Path | None, number: int | None, repo: str, scratch: Path, dataset: str | None, revision: str | None
) -> Report:
    """Check a folder, or what a pull request adds, beside the other submissions if they are there."""
    try:
        if folder is None:
            folder = requests.fetch(HfApi(), repo, number or 0, scratch)
            root: Path | None = fetch_results(repo, scratch)[0]
        else:
            place = folder.resolve()
            root = place.parents[2] if place.parts[-3:-2] == ("submissions",) else None
        report = check_submission(folder, lambda design: load_cases(design, dataset, revision))
    except RejectedError as error:
        return Report({error.code: [error.said]})
    if report.accepted and root is not None and (root / "submissions").is_dir():
        check_others(report, folder, root)
    return report
