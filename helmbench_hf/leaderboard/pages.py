"""Every page of the board as text: a query and the prepared data in, HTML out. No script, nothing from another host.

All texts pass `report.text` and are escaped by the template; the policy that goes with each page forbids whatever is left.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from helmbench_hf.leaderboard import browse, charts, columns, parts
from helmbench_hf.leaderboard.data import Data, Entry, Group
from helmbench_hf.leaderboard.query import MOST_MODELS, PARTS, VIEWS, Query
from helmbench_hf.leaderboard.reports import Indexes
from helmbench_hf.report import CONTENT_NOTE, plots, tables, view
from helmbench_hf.report.fmt import figure, number, sample_size
from helmbench_hf.report.tested import probability, signed
from helmbench_hf.report.text import deep, visible
from helmbench_hf.scoring.compare import Comparison, Difference, compare
from helmbench_hf.scoring.verdicts import ScoringError

if TYPE_CHECKING:
    from jinja2 import Environment

FRAMES = "frame-ancestors 'self' https://huggingface.co"
"""A Space is shown inside a frame of the Hub."""
OK, NOT_FOUND = 200, 404
Context = dict[str, Any]


def render(data: Data, query: Query, indexes: Indexes) -> tuple[int, str]:
    """Status and text of the page that the query asks for. `indexes` gives a run's transcripts; only their view asks for any."""
    group = asked_group(data, query)
    name = query.view if query.view in VIEWS else "model"
    query = replace(query, view=name, group=group.id if group else "")
    lost = [given for given in (*query.models, query.second) if given and data.entry(given) is None]
    context: Context = {
        "query": query,
        "views": VIEWS,
        "parts": PARTS,
        "groups": data.groups,
        "group": group,
        "lost": [visible(given, 100) for given in lost],
        "css": _css(),
        "refused_count": len(data.refused),
        "test": data.test,
    }
    if group is None and name not in ("refused", "about"):
        return NOT_FOUND, _environment().get_template("empty.html.j2").render(context)
    if name == "transcripts" and group is not None:
        context |= browse.context(data, group, query, indexes)
    else:
        context |= _VIEWS[name](data, group, query)
    return NOT_FOUND if lost or context.get("lost_case") else OK, _environment().get_template(f"{name}.html.j2").render(context)


def content_policy() -> str:
    """The Content-Security-Policy of the board's own pages."""
    style = b64encode(sha256(str(_css()).encode()).digest()).decode()
    rules = (
        "default-src 'none'",
        f"style-src 'sha256-{style}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'self'",
        "require-trusted-types-for 'script'",
        FRAMES,
    )
    return "; ".join(rules)


def asked_group(data: Data, query: Query) -> Group | None:
    """The group of the run that is asked for, else the one that is named, else the largest."""
    entry = data.entry(query.model) if query.model else None
    named = data.group(entry.group) if entry else data.group(query.group)
    return named or next(iter(data.groups), None)


def _board(data: Data, group: Group, query: Query) -> Context:
    return {"table": columns.table(group, query)}


def _parts(data: Data, group: Group, query: Query) -> Context:
    return {"found": parts.parts(group, query)}


def _scatter(data: Data, group: Group, query: Query) -> Context:
    return {"scatter": charts.scatter(group, query)}


def _curves(data: Data, group: Group, query: Query) -> Context:
    chosen = _entries(data, query) or list(group.entries[:1])
    return {"charts": charts.curves(chosen, query), "chosen": {entry.run for entry in chosen}, "most": MOST_MODELS}


def _compare(data: Data, group: Group, query: Query) -> Context:
    second = data.entry(query.second) if query.second else None
    first = next(iter(_entries(data, query)), group.entries[0])
    second = second or next((entry for entry in group.entries if entry.run != first.run), None)
    entries = [(each.title, each.entries) for each in data.groups]
    context: Context = {"first": first, "second": second, "all_entries": entries, "comparison": None, "refusal": ""}
    if second is None or second.run == first.run:
        return {**context, "refusal": "Choose two different runs."}
    names = _distinct(first, second)
    try:
        found = compare(first.scores, second.scores, names)
    except ScoringError as error:
        return {**context, "refusal": visible(error, 1000)}
    return {**context, "names": names, "comparison": _comparison(found), "ordered": _ordered(first, second)}


def _distinct(first: Entry, second: Entry) -> tuple[str, str]:
    if first.label != second.label:
        return first.label, second.label
    return f"{first.label} ({first.run})", f"{second.label} ({second.run})"


def _comparison(found: Comparison) -> Context:
    rows = [("", found.overall), *(("pillar", row) for row in found.pillars), *(("behavior", row) for row in found.behaviors)]
    estimates = [columns.plain(row.estimate) for _, row in rows]
    scale = plots.score_scale(estimates)
    words = tables.FLOOR_WORDS
    return {
        "scale": scale,
        "rows": [_difference(level, row, scale) for level, row in rows],
        "floors": [(row.title, words.get(row.first, row.first), words.get(row.second, row.second)) for row in found.floors],
        "pairs": found.pairs,
        "dropped": found.dropped,
        "detectable": None if found.detectable is None else number(100 * found.detectable, 1),
        "rule": found.rule,
    }


def _difference(level: str, row: Difference, scale: plots.Scale) -> Context:
    estimate = columns.plain(row.estimate)
    return {
        "level": level,
        "code": row.code,
        "title": row.title,
        "first": figure({"value": row.first, "low": None, "high": None, "note": " "}).value,
        "second": figure({"value": row.second, "low": None, "high": None, "note": " "}).value,
        "figure": signed(estimate, "no pair scored by both"),
        "bar": plots.bar(scale, estimate),
        "word": _verdict(row),
        "n": sample_size(estimate),
    }


def _verdict(row: Difference) -> str:
    if row.differs is None:
        return f"not tested: {row.reason}"
    return f"{'differs' if row.differs else 'no difference shown'}, p {probability(row.p_adjusted)}"


def _ordered(first: Entry, second: Entry) -> str:
    """What the joint test over the whole group says of the two, beside the single comparison."""
    if first.group != second.group or first.place is None or second.place is None:
        return ""
    places = f"{first.label} has rank {first.place.rank}, {second.label} has rank {second.place.rank}"
    return f"On the board, where every two runs are tested at once, {places}."


def _model(data: Data, group: Group, query: Query) -> Context:
    entry = next(iter(_entries(data, query)), group.entries[0])
    scale, profile = view.profile(entry.scores)
    shown, bars = view.behaviors(entry.scores)
    dumped = entry.manifest.model_dump()
    kept = {name: dumped[name] for name in ("dataset", "model", "engine", "settings", "judges", "times")}
    kept["versions"] = {"helmbench": dumped["helmbench"], "scores format": dumped["scores_format"]}
    missing = {"answers missing with a reason": len(dumped["missing"])}
    address = _address(data)
    return {
        "entry": entry,
        "top": view.summary(entry.scores),
        "profile": profile,
        "profile_scale": scale,
        "behaviors": bars,
        "behavior_scale": shown,
        "floors": tables.floors(entry.scores),
        "holdout": columns.holdout(entry),
        "provenance": tables.provenance(entry.scores, deep({**kept, "answers": missing})),
        "submitter": {name: visible(text, 2500) for name, text in dumped["submitter"].items()},
        "notes": [visible(note, 500) for note in entry.notes],
        "place": f"{address}/{visible(entry.manifest.place, 300)}" if address else "",
        "others": [other for other in group.entries if other.run != entry.run],
        "content_note": CONTENT_NOTE,
    }


def _refused(data: Data, group: Group | None, query: Query) -> Context:
    return {"refused": [(visible(each.place, 300), deep(list(each.reasons))) for each in data.refused]}


def _about(data: Data, group: Group | None, query: Query) -> Context:
    return {"address": _address(data)}


def _address(data: Data) -> str:
    """Where the results can be seen, where that is an address that a browser may follow."""
    return visible(data.address, 500) if data.address.startswith("https://") else ""


def _entries(data: Data, query: Query) -> list[Entry]:
    """The runs that the query names, each once."""
    found = {entry.run: entry for name in query.models if (entry := data.entry(name))}
    return list(found.values())


_VIEWS: dict[str, Callable[[Data, Any, Query], Context]] = {
    "board": _board,
    "parts": _parts,
    "scatter": _scatter,
    "curves": _curves,
    "compare": _compare,
    "model": _model,
    "refused": _refused,
    "about": _about,
}


@cache
def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loader = ChoiceLoader([PackageLoader("helmbench_hf.leaderboard"), PackageLoader("helmbench_hf.report")])
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


@cache
def _css() -> Any:
    from markupsafe import Markup

    environment = _environment()
    assert environment.loader is not None
    return Markup("".join(environment.loader.get_source(environment, name)[0] for name in ("report.css", "board.css")))
