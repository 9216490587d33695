"""`helmbench leaderboard`: the board of verified submissions, on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from helmbench_hf.cli.content import Dataset, Revision, fail
from helmbench_hf.cli.run import ours

if TYPE_CHECKING:
    from helmbench_hf.dataset.load import CaseSet
    from helmbench_hf.leaderboard.data import Data
    from helmbench_hf.leaderboard.reports import Reports
    from helmbench_hf.report.model import Policy

PORT = 7860


def leaderboard(
    results: Annotated[
        str, typer.Option("--results", help="Folder with submissions/, or OWNER/NAME of a results repository on the Hub.")
    ],
    results_revision: Annotated[
        str | None, typer.Option("--results-revision", help="Branch, tag or commit of the results repository.")
    ] = None,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port on this machine.")] = PORT,
    cache_dir: Annotated[
        Path | None,
        typer.Option("--cache", help="Where verifications, ranks and reports are kept (default: the user's cache folder)."),
    ] = None,
    only_prepare: Annotated[
        bool, typer.Option("--prepare", help="Verify and rank what is new, then leave; the next start is quick.")
    ] = False,
    test: Annotated[
        bool, typer.Option("--test-board", help="Show runs of the design smoke as well; every page says that it is a test board.")
    ] = False,
    dataset: Dataset = None,
    revision: Revision = None,
) -> None:
    """Show the board of verified submissions in a browser, on this machine alone; Ctrl-C ends it."""
    from helmbench_hf.dataset.publish import PublishError
    from helmbench_hf.leaderboard.app import HOST, serve
    from helmbench_hf.report.text import plain

    errors: tuple[type[Exception], ...] = (PublishError, OSError, *ours())
    try:
        data, reports = open_board(results, results_revision, cache_dir, dataset, revision, test=test)
        runs = sum(len(group.entries) for group in data.groups)
        typer.echo(f"{runs} runs in {len(data.groups)} tables; {len(data.refused)} submissions are not shown")
        if only_prepare:
            return
        typer.echo(f"http://{HOST}:{port} (Ctrl-C ends)")
        serve(data, reports.page, reports.index, port=port)
    except ModuleNotFoundError as error:
        fail(f"{error.name} is missing; install the extra with `pip install 'helmbench-hf[board]'`")
    except errors as error:
        fail(plain(error, 1000))


def open_board(
    results: str,
    results_revision: str | None = None,
    cache_dir: Path | None = None,
    dataset: str | None = None,
    revision: str | None = None,
    *,
    test: bool = False,
) -> tuple[Data, Reports]:
    """Fetch, verify, rank: what `serve` needs. Also what a Space calls."""
    from helmbench_hf.dataset.load import load_cases
    from helmbench_hf.inference.identity import cache_folder
    from helmbench_hf.leaderboard.collect import collect, fetch_results
    from helmbench_hf.leaderboard.data import prepare
    from helmbench_hf.leaderboard.marks import read_marks
    from helmbench_hf.leaderboard.reports import Reports
    from helmbench_hf.report.text import plain

    @cache
    def load(design: str) -> CaseSet:
        return load_cases(design, dataset, revision)

    @cache
    def policies(design: str) -> Sequence[Policy]:
        from helmbench_hf.cli.scores import expected
        from helmbench_hf.report.assemble import policy_rows

        return policy_rows(*expected(load(design).cases))

    kept = cache_folder() / "board" if cache_dir is None else cache_dir
    root, address = fetch_results(results, results_revision, kept)
    marks = read_marks(root)
    accepted, refused = collect(root, marks, load, kept, lambda line: typer.echo(plain(line), err=True), test=test)
    data = prepare(accepted, refused, marks, policies, address=address, stores=(root / "board", kept), test=test)
    return data, Reports(kept, load)
