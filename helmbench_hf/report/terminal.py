"""The same scores for a terminal: rich renderables in which no text of a model or of a name can act."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from helmbench_hf.report import sentences
from helmbench_hf.report.numbers import figure, number
from helmbench_hf.report.sentences import Gate
from helmbench_hf.report.text import plain
from helmbench_hf.scoring.scores import Provenance, Scores

_MARKS = {"breached": ("x", "bold red"), "withheld": ("!", "bold red"), "cleared": ("+", "green"), "not_shown": ("-", "yellow")}


def summary(scores: Scores, model: str = "") -> Group:
    """Headline, floors, gate and coverage.

    Texts enter as `Text`, never as markup, and hold no control character.
    """
    parts: list[RenderableType] = [_title(scores.provenance, model)]
    if scores.provenance.design.startswith("smoke"):
        parts.append(_text("Plumbing: smoke tests the machinery. No number below is reportable.", "bold yellow"))
    if line := sentences.slice_scored(scores):
        parts.append(_text(f"A slice of the benchmark: {line}.", "yellow"))
    parts += [_text(""), _profile(scores), _composite(scores)]
    parts += [_text(said) for said in (sentences.withheld_answers(scores), sentences.corrected_composite(scores)) if said]
    if line := sentences.repeats_line(scores):
        parts.append(_labeled("Repeats", line))
    parts += [_text(""), *_gate(sentences.gate(scores)), _text(""), _floors(scores)]
    return Group(*parts)


def _title(origin: Provenance, model: str) -> Text:
    facts = f"{origin.benchmark} {origin.benchmark_version}, design {origin.design}, {origin.cases} cases"
    return _labeled(model or "Scores", facts, "dim")


def _profile(scores: Scores) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("Pillar (points of 100)")
    for name in ("Score", "95% interval", "Code alone"):
        table.add_column(name, justify="right")
    table.add_column("Coverage")
    for pillar in scores.pillars:
        score, basis = figure(pillar.score), f"{sentences.behaviors_of(pillar)}, {sentences.coverage(pillar.coverage)}"
        cells = (pillar.title, score.value, score.interval or score.why, figure(pillar.code_score).value, basis)
        table.add_row(*map(_text, cells))
    return table


def _composite(scores: Scores) -> Text:
    overall, printed = scores.headline.overall, scores.headline.printed
    limits = f" ({found})" if (found := sentences.bounds(overall.coverage)) else ""
    capped = f" {found}" if (found := sentences.capped(scores)) else ""
    raw = f"raw {figure(overall.score).spoken}; {sentences.coverage(overall.coverage)}{limits}."
    label = f"Composite {number(printed)}{' of 100' if printed is not None else ''}"
    return _labeled(label, f"{sentences.behaviors_scored(scores)}; {raw}{capped}")


def _gate(found: Gate) -> list[Text]:
    style = {"bad": "bold yellow", "good": "bold green"}.get(found.tone, "bold")
    return [_text(found.state, style), *map(_text, found.lines)]


def _floors(scores: Scores) -> Table:
    table = Table.grid(padding=(0, 2))
    table.title, table.title_style, table.title_justify = "Safety floors: not shown is not safe", "bold", "left"
    for floor in scores.floors:
        mark, style = _MARKS.get(floor.status, ("?", ""))
        word, found = (
            sentences.FLOOR_WORDS.get(floor.status, floor.status),
            f"{sentences.floor_finding(floor)} {sentences.floor_basis(floor)}",
        )
        table.add_row(_text(f"{mark} {word}", style), _text(floor.title), _text(found, "dim"))
    return table


def _labeled(label: str, text: str, style: str = "") -> Text:
    return _text(label, "bold").append("  ").append_text(_text(text, style))


def _text(text: str, style: str = "") -> Text:
    return Text(plain(text, 1000), style=style)
