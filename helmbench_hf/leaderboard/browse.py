"""The transcripts of one run, or of two on the same cases: a list that can be narrowed, and one case whole.

Before either stands the content note of every report; an address shows what lies behind it only with `note=read`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from helmbench_hf.leaderboard.data import Data, Group
from helmbench_hf.leaderboard.query import FACTORS, Query
from helmbench_hf.leaderboard.reports import Indexes
from helmbench_hf.leaderboard.transcripts import Index, Row
from helmbench_hf.report import CONTENT_NOTE
from helmbench_hf.report.text import visible

Context = dict[str, Any]
TITLES = {"scenario": "Scenario", "behavior": "Behavior", "condition": "Condition", "member": "Message", "outcome": "Outcome"}
ALL = {name: f"All {title.lower()}s" for name, title in TITLES.items()}
_SAME = ("turns", "facts", "system")
"""What two runs must hold alike under one code, so that their answers stand side by side."""


def context(data: Data, group: Group, query: Query, indexes: Indexes) -> Context:
    """What the page says. The runs' transcripts are opened only where the reader has opened the note."""
    first = (data.entry(query.model) if query.model else None) or group.entries[0]
    second = data.entry(query.second) if query.second else None
    if second is not None and second.run == first.run:
        second = None
    # a run names its group already, so that these addresses need not
    query = replace(query, group="", models=(first.run,), second=second.run if second else "")
    found: Context = {
        "first": first,
        "second": second,
        "content_note": CONTENT_NOTE,
        "opened": replace(query, read=True).address(),
        "lost_case": "",
        "all_entries": [(each.title, each.entries) for each in data.groups],
    }
    if not query.read:
        return found
    index, other = indexes(first), indexes(second) if second else None
    if query.case:
        return found | _case(query, index, other)
    return found | _list(query, index, other)


def _list(query: Query, index: Index, other: Index | None) -> Context:
    options = index.options()
    page = index.find(query)
    beside = other.same(page.rows) if other else {}
    return {
        "filters": [(name, TITLES[name], ALL[name], options[name], getattr(query, name)) for name in (*FACTORS, "outcome")],
        "page": page,
        "rows": [(row, beside.get((row.code, row.draw)), _link(query, row)) for row in page.rows],
        "before": replace(query, page=page.page - 1).address() if page.page > 1 else "",
        "after": replace(query, page=page.page + 1).address() if page.page < page.pages else "",
    }


def _case(query: Query, index: Index, other: Index | None) -> Context:
    mine = index.case(query)
    if mine is None:
        return {"lost_case": visible(query.case, 100), "back": _back(query)}
    theirs = other.case(query) if other else None
    alike = theirs is not None and all(mine.body[name] == theirs.body[name] for name in _SAME)
    return {
        "mine": mine,
        "theirs": theirs if alike else None,
        "differs": theirs is not None and not alike,
        "lacks": other is not None and theirs is None,
        "back": _back(query),
        "before": _link(query, mine.before) if mine.before else "",
        "after": _link(query, mine.after) if mine.after else "",
        "twin": replace(query, case=mine.twin).address() if mine.twin else "",
        "draws": [(number, replace(query, draw=number).address()) for number in range(1, mine.draws + 1)],
        # to share: whoever follows it meets the note first
        "address": replace(query, read=False, page=1).address(),
    }


def _link(query: Query, row: Row) -> str:
    return replace(query, case=row.code, draw=row.draw, page=1).address()


def _back(query: Query) -> str:
    return replace(query, case="", draw=1, page=1).address()
