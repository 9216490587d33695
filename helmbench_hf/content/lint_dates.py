"""Lints of the dates in the authored files: no date lies in the future, and no helpline was checked too long ago."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.schema import reviewed_on
from helmbench_hf.content.strict_yaml import Problem

FRESH_DAYS = 180
"""For so long a number counts as live after it was compared with its source."""
DATED = ("checked", "retired_on", "review")
"""The fields that hold a date."""


def check(benchmark: Benchmark, today: dt.date) -> Iterator[Problem]:
    """Every date that cannot be right on the day `today`, wherever it stands."""
    for shown, path, date in dates(benchmark):
        document = benchmark.documents[shown]
        entry, where = document.at(path[:-1]), (shown, document.line(path), ".".join(map(str, path)))
        if date > today:
            yield Problem(*where, f"the date {date} lies in the future", "correct it")
        elif path[-1] == "checked" and entry.get("status") != "retired" and (days := (today - date).days) > FRESH_DAYS:
            what = f"{entry['name']} was checked {days} days ago, and {FRESH_DAYS} are allowed"
            mend = "compare it with its source and set the date; an old release is checked as of its own day with --today"
            yield Problem(*where, what, mend)


def dates(benchmark: Benchmark) -> Iterator[tuple[str, tuple[str | int, ...], dt.date]]:
    """Every date of the authored files: its file, its field, and the day."""
    for shown, document in benchmark.documents.items():
        for path in document.lines:
            if path and path[-1] in DATED:
                value = document.at(path)
                date = reviewed_on(value) if isinstance(value, str) else value
                if isinstance(date, dt.date):
                    yield shown, path, date
