"""`helmbench board build`: verified submissions as a static site."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

import typer

from helmbench_hf.board.marks import read_marks
from helmbench_hf.board.pages import write_run
from helmbench_hf.board.results import collect, fetch_results
from helmbench_hf.board.site import build as build_site
from helmbench_hf.board.verify import Report
from helmbench_hf.cli.scores import expected
from helmbench_hf.cli.shared import Dataset, Revision, group
from helmbench_hf.dataset.load import CaseSet, load_cases
from helmbench_hf.models.identity import cache_folder
from helmbench_hf.report.policies import Policy, policy_rows
from helmbench_hf.report.text import plain

app = group("The board of verified submissions, as a static site.")


@app.command()
def build(
    results: Annotated[
        str, typer.Option("--results", help="Folder with submissions/, or OWNER/NAME of a results repository on the Hub.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder of the site; pages of an earlier build are replaced.")],
    test: Annotated[
        bool, typer.Option("--test-board", help="Show runs of the design smoke too; the page then says that it is a test board.")
    ] = False,
    dataset: Dataset = None,
    revision: Revision = None,
) -> None:
    """Verify every submission and write the site. Its pages open from disk or from any web server; table.json is next to them.

    Example: helmbench board build --results helmbench/results --out site
    """

    @cache
    def load(design: str) -> CaseSet:
        return load_cases(design, dataset, revision)

    @cache
    def policies(design: str) -> Sequence[Policy]:
        return policy_rows(*expected(load(design).cases))

    def write(report: Report) -> None:
        assert report.manifest is not None
        write_run(report, out / "runs" / report.manifest.run_id, policies(report.manifest.dataset.design))

    root, address = fetch_results(results, cache_folder() / "board")
    marks = read_marks(root)
    shutil.rmtree(out / "runs", ignore_errors=True)
    found = collect(root, marks, load, write, lambda line: typer.echo(plain(line), err=True), test=test)
    found.address = address
    runs = build_site(found, marks, out, test=test)
    typer.echo(f"{out / 'index.html'}: {runs} runs; {len(found.refused)} submissions are not shown")
