"""Waiting for something that will happen. Only a failing test uses up the time, so a busy machine may be as slow as it likes."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 300.0
"""Seconds after which a test gives up. No test asserts that anything takes less."""


def until(happened: Callable[[], object], what: str) -> None:
    """Wait until a condition holds; `what` says in the failure which one did not."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, f"within {PATIENCE:.0f} s it did not happen that {what}"
        time.sleep(0.02)
