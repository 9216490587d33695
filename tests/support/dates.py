"""The day that tests hold the content against: no test may fail because a day has passed."""

from __future__ import annotations

import datetime as dt

from helmbench_hf.content.library_checks import dates
from helmbench_hf.content.load import Benchmark


def newest_date(benchmark: Benchmark) -> dt.date:
    """The newest date of the authored files: a look at a helpline's source, or a review."""
    return max(date for _, _, date in dates(benchmark))
