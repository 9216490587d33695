"""The one driver that every engine and every stage shares: it owns the window, next turns, retries and the graceful stop."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from helmbench_hf.models.engine import Engine, Request, unanswered
from helmbench_hf.records import Completion

EVERY = 0.1
"""Seconds between two progress events."""


@dataclass(frozen=True, slots=True)
class Driven:
    """What one call of `drive` did."""

    saved: int
    retried: int
    """Engine failures that were tried again."""
    stopped: bool
    """`stop` said so before the work was done: what was not submitted is missing, and a resume runs it."""


@dataclass(slots=True)
class _Work:
    """What is left, in the order in which it should run."""

    source: Iterator[Request]
    turns: deque[Request] = field(default_factory=deque)
    again: deque[Request] = field(default_factory=deque)
    alone: deque[Request] = field(default_factory=deque)

    def next(self, idle: bool) -> Request | None:
        """Next turns (their prefix is hot), fresh work, second tries; last tries one by one, when nothing else runs.

        One prompt that kills the engine takes its neighbors down with it. Alone, it can only take itself.
        """
        if self.turns:
            return self.turns.popleft()
        if (request := next(self.source, None)) is not None:
            return request
        if self.again:
            return self.again.popleft()
        return self.alone.popleft() if self.alone and idle else None


def drive(
    engine: Engine,
    work: Iterable[Request],
    follow_up: Callable[[Request, Completion], Request | None],
    save: Callable[[Completion], None],
    *,
    stop: Callable[[], bool] = lambda: False,
    retries: int = 2,
) -> Driven:
    """Keep the engine full; save every completion as it ends; a conversation's next turn goes first.

    `work` (first turns) is pulled only as the window has room. `follow_up` gives the next turn after a completion, or
    None; it is called once per request, after `save`, for every outcome, refused and failed ones too. `save` is called
    exactly once per key: twin requests (one key, two conversations) share one completion. `stop` is asked before
    anything is submitted; once it is true, what is live is finished and saved, and nothing is begun. An engine failure
    is tried again `retries` times, then the `engine_error` itself is saved, with its attempt.

    Raises `EngineError` where the engine died for good; what was saved until then stays valid.
    """
    queue = _Work(iter(work))
    live: dict[str, list[Request]] = {}
    done: dict[str, Completion] = {}
    tries: Counter[str] = Counter()
    retried = 0
    stopped = False

    def settle(completion: Completion, requests: list[Request]) -> None:
        save(completion)
        done[completion.key] = completion
        follow(completion, requests)

    def follow(completion: Completion, requests: list[Request]) -> None:
        queue.turns.extend(turn for request in requests if (turn := follow_up(request, completion)) is not None)

    def begin(request: Request) -> None:
        if (answered := done.get(request.key)) is not None:
            follow(answered, [request])
        elif request.key in live:
            live[request.key].append(request)
        elif request.refusal:
            settle(unanswered(request, "refused", request.refusal), [request])
        else:
            live[request.key] = [request]
            engine.submit(request)

    while True:
        while len(live) < engine.capacity:
            stopped = stopped or stop()
            if stopped or (request := queue.next(not live)) is None:
                break
            begin(request)
        if not live:
            return Driven(len(done), retried, stopped)
        for completion in engine.collect():
            requests = live.pop(completion.key)
            tries[completion.key] += 1
            attempt = tries[completion.key]
            if completion.status == "engine_error" and attempt <= retries:
                retried += 1
                (queue.alone if attempt == retries else queue.again).extend(requests)
            else:
                settle(replace(completion, attempt=attempt), requests)


class Listener(Protocol):
    """Receives progress events and may ask to stop: `host.Reporter`."""

    def emit(self, event: dict[str, Any]) -> None:
        """Take one event of plain JSON values."""
        ...

    def stopping(self) -> bool:
        """Say whether to stop: finish what is live, journal it, return."""
        ...


class Counting:
    """Counts completions and reports progress; made when the engine is ready, because its seconds count from then."""

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
