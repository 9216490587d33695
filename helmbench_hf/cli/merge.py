"""`helmbench merge`: shards of several machines as one run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from helmbench_hf.cli.content import fail
from helmbench_hf.cli.run import ours

if TYPE_CHECKING:
    from helmbench_hf.runs.merge import Merged


def merge(
    out: Annotated[Path, typer.Argument(help="Folder of the merged run: new, or an earlier merge of the same runs.")],
    runs: Annotated[list[Path], typer.Argument(help="Folders of the runs; they stay as they are.")],
) -> None:
    """Put the shards of a run together, and say what is missing."""
    from helmbench_hf.runs.merge import merge as put_together

    try:
        merged = put_together(out, runs)
    except ours() as error:
        fail(error)
    typer.echo("\n".join(_lines(out, merged)))


def _lines(out: Path, merged: Merged) -> list[str]:
    lines = [f"{merged.answers} answers are in {out}, {merged.added} of them new"]
    if merged.judges:
        lines.append(f"judgments of {', '.join(merged.judges)} are there too")
    if merged.left_out:
        lines.append(f"judgments are left out: {merged.left_out}; grade {out} again")
    for shard, count in merged.open.items():
        lines.append(f"missing: {count} conversations{f' of shard {shard}' if shard else ''}")
    if merged.open:
        lines.append(f"complete it with `helmbench generate --run {out}` and the settings of the runs, without --shard")
    done = merged.judges and not merged.open
    return [*lines, f"next: helmbench {f'report --run {out}' if done else f'grade --run {out} --judge JUDGE'}"]
