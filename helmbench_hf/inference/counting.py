"""Counts completions as they come in, and tells whoever listens at most ten times a second."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Protocol

from helmbench_hf.records import Completion

EVERY = 0.1
"""Seconds between two events."""


class Listener(Protocol):
    """Who hears of the work and may end it: `host.Reporter`."""

    def emit(self, event: dict[str, Any]) -> None:
        """Take one event of plain JSON values."""
        ...

    def stopping(self) -> bool:
        """Say whether to stop: finish what is live, journal it, return."""
        ...


class Counting:
    """Made when the engine is ready; its seconds count from there."""

    def __init__(self, listener: Listener, planned: int, done: int) -> None:
        """`planned` answers in all, `done` of them stored before."""
        self.listener, self._planned, self._done = listener, planned, done
        self._statuses: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._began = self._told = time.monotonic()

    def count(self, completion: Completion) -> None:
        """Take the next completion."""
        self._done += 1
        self._statuses[completion.status] += 1
        for name in ("prompt_tokens", "cached_tokens", "output_tokens"):
            self._tokens[name] += getattr(completion, name)
        if time.monotonic() - self._told > EVERY:
            self._told = time.monotonic()
            self.listener.emit({"event": "progress", "done": self._done, "planned": self._planned, **self.totals()})

    def totals(self) -> dict[str, Any]:
        """Seconds since the engine was ready, completions by status, tokens."""
        seconds = time.monotonic() - self._began
        return {"seconds": seconds, "completions": sum(self._statuses.values()), "statuses": dict(self._statuses), **self._tokens}
