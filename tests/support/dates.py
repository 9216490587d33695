"""The day that tests hold the content against: no test may fail because a day has passed."""

from __future__ import annotations

import datetime as dt

from helmbench_hf.content.library_checks import dates
from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.human_review import stored


def newest_date(benchmark: Benchmark) -> dt.date:
    """The newest date beside the content: a look at a helpline's source, or a person's review."""
    reviewed = [dt.date.fromisoformat(each.date) for each in stored(benchmark)]
    return max([date for _, _, date in dates(benchmark)] + reviewed)
