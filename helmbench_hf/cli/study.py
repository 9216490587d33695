"""`helmbench study`: many runs on the same cells, their ranks, and how firm the order is."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from helmbench_hf.cli.shared import Json, put
from helmbench_hf.report.numbers import DASH, figure, number, percent
from helmbench_hf.report.text import plain
from helmbench_hf.runs.folder import RunError, RunFolder, write_json
from helmbench_hf.scoring.compare import DRAWS, Board, PlaceShares, board, off_ranking, weight_stability
from helmbench_hf.scoring.scores import read_scores

MANY = 30
"""Comparisons above which the terminal shows only those that differ."""


@dataclasses.dataclass(frozen=True, slots=True)
class Study:
    """Everything that `helmbench study` finds."""

    names: tuple[str, ...]
    models: tuple[str, ...]
    board: Board
    weights: tuple[PlaceShares, ...]
    """Empty where fewer than two runs are ranked."""


def study(
    runs: Annotated[list[Path], typer.Argument(help="Folders of scored runs on the same cells, two or more.")],
    out: Annotated[Path | None, typer.Option("--out", help="Also write the --json output to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Rank many runs on the same cells with a simultaneous test, and show how they would rank under other weights.

    Example: helmbench study runs/a runs/b runs/c
    """
    found = _study(runs)
    if out is not None:
        write_json(out, dataclasses.asdict(found))
    if as_json:
        put(found, (), as_json)
        return
    console = Console()
    for block in _shown(found):
        console.print(block)


def _study(folders: Sequence[Path]) -> Study:
    short = [folder.resolve().name for folder in folders]
    names = short if len(set(short)) == len(short) else [str(folder) for folder in folders]
    runs = [read_scores(RunFolder(folder).scores) for folder in folders]
    # a run that is not ranked takes nothing away from what is said of the others
    ranked = {name: run for name, run in zip(names, runs, strict=True) if not off_ranking(run)}
    return Study(
        names=tuple(names),
        models=tuple(map(_model, folders)),
        board=board(runs, names),
        weights=weight_stability([*ranked.values()], [*ranked]),
    )


def _model(folder: Path) -> str:
    """The model's id, or nothing where the folder holds scores alone."""
    try:
        return RunFolder(folder).manifest().model.id
    except RunError:
        return ""


def _shown(found: Study) -> Iterator[RenderableType]:
    ranks, models = found.board, dict(zip(found.names, found.models, strict=True))
    yield _text(f"{len(found.names)} runs on {ranks.pairs} headline pairs; every two are compared on the pairs that both scored")
    yield _ranks(ranks, models)
    yield _text(ranks.rule)
    for each in ranks.standings:
        if each.rank is None:
            yield _text(f"{each.run} is off the ranking: {each.reason}.")
    yield from _tests(ranks)
    yield from _weights(found.weights)


def _ranks(found: Board, models: Mapping[str, str]) -> Table:
    rows = []
    for each in found.standings:
        score = figure(each.score, digits=1)
        place = str(each.rank) if each.rank == each.last else f"{each.rank} to {each.last}"
        ranks = (DASH, DASH) if each.rank is None else (each.rank, place)
        rows.append((*ranks, each.run, models[each.run], score.spoken, each.missing, ", ".join(each.breached) or DASH))
    heads = ("Rank", "Places", "Run", "Model", "Overall", "Unscored", "Floors breached")
    return _table("Ranks: runs of one rank are not ordered", heads, rows)


def _tests(found: Board) -> Iterator[RenderableType]:
    differing = sum(test.differs is True for test in found.tests)
    chosen = [test for test in found.tests if len(found.tests) <= MANY or test.differs]
    rows = []
    for test in chosen:
        value = DASH if test.value is None else number(100 * test.value, 1)
        bounded = test.low is not None and test.high is not None
        interval = f"{number(100 * (test.low or 0), 1)} to {number(100 * (test.high or 0), 1)}" if bounded else DASH
        word = {True: "yes", False: "no", None: f"not tested: {test.reason}"}[test.differs]
        rows.append((test.first, test.second, value, interval, test.n_pairs, test.n_meanings, word))
    heads = ("First", "Second", "Difference", "Joint 95%", "Pairs", "Messages", "Differs")
    yield _table(f"Every two ranked runs: {differing} of {len(found.tests)} comparisons differ", heads, rows)
    if len(chosen) < len(found.tests):
        yield _text("Only those that differ are shown; --json has all of them.")


def _weights(found: Sequence[PlaceShares]) -> Iterator[RenderableType]:
    if not found:
        yield _text("Other weights: fewer than two runs are ranked.")
        return
    heads = ("Run", *(f"Place {place}" for place in range(1, len(found) + 1)))
    rows = [(each.run, *(percent(share, 0) for share in each.shares)) for each in found]
    yield _table(f"Other weights: share of {DRAWS:,} draws in which a run takes each place", heads, rows)
    yield _text("Dirichlet weights of the behaviors around the published ones, each run on the pairs that it scored.")


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, title=_text(title), title_justify="left")
    for head in heads:
        table.add_column(_text(head), overflow="fold")
    for row in rows:
        table.add_row(*(_text(cell) for cell in row))
    return table


def _text(text: object) -> Text:
    """A name may hold anything: it enters as text without markup or control characters."""
    return Text(plain(text, 1000))
