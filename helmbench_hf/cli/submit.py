"""`helmbench submit` and `helmbench verify`: a finished run goes to the results repository, and is held against its own rows."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from helmbench_hf.cli.content import Dataset, Json, Revision, fail
from helmbench_hf.cli.run import ours
from helmbench_hf.cli.scores import Checks, Panel

if TYPE_CHECKING:
    from helmbench_hf.leaderboard.report import Report

ACCEPTED, REJECTED, UNREADABLE = 0, 1, 2
Repo = Annotated[str, typer.Option("--repo", help="The results repository, a dataset on the Hub.")]
RESULTS = "helmbench/results"


def submit(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run of a whole design.")],
    repo: Repo = RESULTS,
    name: Annotated[str, typer.Option("--name", help="Who submits; shown on the board, at most 80 characters.")] = "",
    text: Annotated[str, typer.Option("--text", help="What readers should know; at most 2000 characters.")] = "",
    check: Checks = None,
    panel: Panel = "first",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    export: Annotated[Path | None, typer.Option("--export", help="Write the submission under this folder; send nothing.")] = None,
) -> None:
    """Send a run to the board: one pull request on the results repository, verified here first.

    The token comes from HF_TOKEN or `hf auth login`; it needs the right to open pull requests.
    """
    from helmbench_hf.dataset.publish import PublishError
    from helmbench_hf.leaderboard.files import RejectedError
    from helmbench_hf.leaderboard.own import check_own
    from helmbench_hf.leaderboard.submission import prepare, shown

    errors: tuple[type[Exception], ...] = (PublishError, OSError, *ours())
    try:
        made = prepare(run, checks=check or (), panel=panel, submitter=name, text=text)
        check_own(run, made)
    except RejectedError as error:
        fail(f"{error.said} ({error.code})")
    except ours() as error:
        fail(error)
    typer.echo("\n".join(shown(made)))
    try:
        if export is not None:
            typer.echo(f"written to {made.write(export)}; nothing was sent")
        elif dry_run:
            typer.echo(f"nothing was sent; without --dry-run this opens a pull request on {repo}")
        else:
            from huggingface_hub import HfApi

            from helmbench_hf.leaderboard.pull_request import open_pull_request

            typer.echo(f"pull request: {open_pull_request(HfApi(), repo, made)}")
    except errors as error:
        fail(error)


def verify(
    folder: Annotated[Path | None, typer.Argument(help="Folder of one submission.")] = None,
    dataset: Dataset = None,
    revision: Revision = None,
    pull_request: Annotated[
        int | None, typer.Option("--pull-request", min=1, help="Fetch and verify what this pull request on --repo adds.")
    ] = None,
    repo: Repo = RESULTS,
    comment: Annotated[bool, typer.Option("--comment", help="Put the result under the pull request, too.")] = False,
    as_json: Json = False,
) -> None:
    """Hold a submission against its own rows; 0: accepted, 1: rejected with the reasons, 2: it could not be read."""
    from helmbench_hf.dataset.publish import PublishError
    from helmbench_hf.leaderboard.verify import UnreadableError

    if (folder is None) == (pull_request is None):
        fail("give the folder of a submission, or --pull-request N", UNREADABLE)
    errors: tuple[type[Exception], ...] = (UnreadableError, PublishError, OSError, *ours())
    try:
        with tempfile.TemporaryDirectory(prefix="helmbench-") as scratch:
            report = _report(folder, pull_request, repo, Path(scratch), dataset, revision)
        if comment and pull_request is not None:
            _comment(repo, pull_request, report)
    except errors as error:
        fail(error, UNREADABLE)
    typer.echo(json.dumps(report.as_row(), indent=2) if as_json else report.summary())
    raise typer.Exit(ACCEPTED if report.accepted else REJECTED)


def _report(
    folder: Path | None, number: int | None, repo: str, scratch: Path, dataset: str | None, revision: str | None
) -> Report:
    """Of a folder, or of what a pull request adds."""
    from helmbench_hf.dataset.load import load_cases
    from helmbench_hf.leaderboard.files import RejectedError
    from helmbench_hf.leaderboard.report import Reason, Report
    from helmbench_hf.leaderboard.verify import verify as held

    try:
        if folder is None:
            from huggingface_hub import HfApi

            from helmbench_hf.leaderboard.pull_request import fetch

            folder = fetch(HfApi(), repo, number or 0, scratch)
        return held(folder, lambda design: load_cases(design, dataset, revision))
    except RejectedError as error:
        return Report([Reason(error.code, error.said, 1)])


def _comment(repo: str, number: int, report: Report) -> None:
    from huggingface_hub import HfApi

    from helmbench_hf.leaderboard import pull_request

    pull_request.comment(HfApi(), repo, number, report.summary())
