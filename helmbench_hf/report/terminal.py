"""The same scores for a terminal: rich renderables, from which nothing of a model's or a name's text can act."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmbench_hf.report import contrasts, view
from helmbench_hf.report.fmt import DASH
from helmbench_hf.report.html import check_format
from helmbench_hf.report.text import deep, plain

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table
    from rich.text import Text

_MARKS = {"breached": ("x", "bold red"), "withheld": ("!", "bold red"), "cleared": ("+", "green"), "not-shown": ("-", "yellow")}


def summary(scores: Mapping[str, Any], model: str = "", report: Path | None = None) -> Group:
    """Give headline, floors, gate, coverage and the report's path. ValueError where the scores are of another format.

    Texts enter as `Text`, never as markup, and hold no control character.
    """
    from rich.console import Group

    found = deep(dict(scores))
    check_format(found)
    top = view.summary(found)
    parts: list[RenderableType] = [_title(found, model)]
    if top.smoke:
        parts.append(_text("Plumbing: smoke tests the machinery. No number below is reportable.", "bold yellow"))
    if top.slice:
        parts.append(_text(f"A slice of the benchmark: {top.slice}.", "yellow"))
    parts += [_text(""), _profile(found), _composite(top.composite), *_beside(top.composite), *_repeats(found), _text("")]
    parts += [*_gate(top.gate), _text(""), _floors(top)]
    if report is not None:
        parts += [_text(""), _text(f"Report: {report}", "bold")]
    return Group(*parts)


def _title(scores: Mapping[str, Any], model: str) -> Text:
    origin = scores["provenance"]
    facts = f"{origin['benchmark']} {origin['benchmark_version']}, design {origin['design']}, {origin['cases']} cases"
    return _text(model or "Scores", "bold").append_text(_text("  ")).append_text(_text(facts, "dim"))


def _profile(scores: Mapping[str, Any]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("Pillar (points of 100)")
    for name in ("Score", "95% interval", "Code alone"):
        table.add_column(name, justify="right")
    table.add_column("Coverage")
    for row in view.profile(scores)[1]:
        cells = (
            row.title,
            row.score.value,
            row.score.interval or row.score.why,
            row.code_score.value,
            f"{row.under}, {row.coverage}",
        )
        table.add_row(*(_text(cell) for cell in cells))
    return table


def _composite(found: view.Composite) -> Text:
    value = f"Composite {found.printed} of 100" if found.printed != DASH else f"Composite {DASH}"
    bounds = f" ({found.bounds})" if found.bounds else ""
    capped = f" {found.capped}" if found.capped else ""
    rest = f"{found.slice}; raw {found.raw.spoken}; {found.coverage}{bounds}.{capped}"
    return _text(value, "bold").append_text(_text("  ")).append_text(_text(rest))


def _beside(found: view.Composite) -> list[Text]:
    return [_text(line) for line in (found.withheld, found.corrected) if line]


def _repeats(scores: Mapping[str, Any]) -> list[Text]:
    line = contrasts.repeats_line(scores)
    return [_text("Repeats", "bold").append_text(_text("  ")).append_text(_text(line))] if line else []


def _gate(found: view.Gate) -> list[Text]:
    style = {"bad": "bold yellow", "good": "bold green"}.get(found.tone, "bold")
    return [_text(found.state, style), *(_text(line) for line in found.lines)]


def _floors(top: view.Summary) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.title, table.title_style, table.title_justify = "Safety floors: not shown is not safe", "bold", "left"
    for floor in top.floors:
        mark, style = _MARKS.get(floor.status, ("?", ""))
        table.add_row(_text(f"{mark} {floor.word}", style), _text(floor.title), _text(f"{floor.finding} {floor.basis}", "dim"))
    return table


def _text(text: object, style: str = "") -> Text:
    from rich.text import Text

    return Text(plain(text, 1000) if str(text).strip() else str(text), style=style)
