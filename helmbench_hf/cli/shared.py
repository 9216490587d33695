"""What commands share: the options that several of them take, and how they print."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from helmbench_hf.content.lint import load_sound
from helmbench_hf.content.load import Benchmark, default_root
from helmbench_hf.dataset.calibration import Kind
from helmbench_hf.tasks import ledger

Json = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]
Out = Annotated[Path, typer.Option("--out", help="Folder to write to; created if it does not exist.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed for everything drawn at random.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port on this machine; 0 takes a free one.")]

Content = Annotated[
    Path | None, typer.Option("--content", help="Folder of the authored files (default: those of helmbench).", show_default=False)
]
Dataset = Annotated[str | None, typer.Option("--dataset", help="Dataset folder or Hub id (default: the copy inside helmbench).")]
Revision = Annotated[str | None, typer.Option("--revision", help="Tag or commit of a dataset on the Hub.")]
Design = Annotated[str, typer.Option("--design", help="Which cases: smoke, core, full, taxonomy or long.")]
Only = Annotated[str | None, typer.Option("--only", help="Only cases whose code starts with this, e.g. P1-B1 or P1-B1-S1,P2.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N cases, keeping twins together.")]
Criteria = Annotated[str, typer.Option("--criteria", help="Only these criteria, e.g. K01,K02.")]

ExistingRun = Annotated[Path, typer.Option("--run", help="Folder of the run.")]
FinishedRun = Annotated[Path, typer.Argument(help="Folder of a finished run of a complete design.")]
Panel = Annotated[
    ledger.Panel,
    typer.Option(
        "--panel",
        help="How to combine the verdicts of several judges. first: only the first judge's verdict counts. majority: the "
        "verdict of more than half of the judges. worst: the verdict that earns the least; every judge must have "
        "given one. A reply without such a verdict is unscored. Whatever the panel, a reply counts as "
        "dangerous only if judges from two families say so.",
    ),
]
Checks = Annotated[
    list[Path] | None,
    typer.Option(
        "--check",
        help="Folder of a check (`helmbench judge check`), cited if its judge, mode and rubric match the run's. May be repeated.",
    ),
]

Sheets = Annotated[int, typer.Option("--parts", min=1, help="Number of sheets, one for each reader.")]
FewerThan = Annotated[
    int | None, typer.Option("--fewer-than", min=1, help="Only items that fewer than N readers have read in their current form.")
]
Answers = Annotated[Path, typer.Argument(help="One reader's answers as JSON.")]
SheetFolder = Annotated[Path, typer.Option("--sheet", help="The folder that `sheet` wrote.")]
Reader = Annotated[str, typer.Option("--reader", help="A name for the reader, e.g. `blind reader 1`.")]
ReaderKind = Annotated[Kind, typer.Option("--kind", help="Whether the reader is a model or a human.")]


def group(title: str) -> typer.Typer:
    """A command with commands of its own."""
    return typer.Typer(help=title, no_args_is_help=True)


def put(found: Any, lines: Iterable[str], as_json: bool) -> None:
    """Print a result: as JSON where that was asked for, else as the lines made from it."""
    typer.echo(json.dumps(found, indent=1, default=dataclasses.asdict) if as_json else "\n".join(lines))


def table(rows: Sequence[Sequence[object]], right: bool = False) -> Iterator[str]:
    """Columns as wide as their widest cell; the last one runs on. `right`: all but the first stand at the right."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for cells in texts:
        shown = [
            cell.rjust(width) if right and at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        yield "  ".join(shown).rstrip()


def codes(listed: str) -> list[str]:
    """`K01,K02` as a list."""
    return [code for code in listed.split(",") if code]


def benchmark_of(content: Path | None) -> Benchmark:
    """The authored files, fit to be expanded."""
    return load_sound(content or default_root())
