"""What `inference.ray` runs side by side: the engine inside an actor, and how the driver sees and chooses it. Knows no Ray."""

from __future__ import annotations

import os
import pkgutil
import queue
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from helmbench_hf.inference.engine import Engine, EngineDescription, EngineError, EngineSpec, Request
from helmbench_hf.records import Completion

OPENER = "helmbench_hf.inference.engine:open_engine"
"""What a replica opens its engine with."""


class Replica:
    """One engine in an actor: an inbox, and one endless stream of what has ended."""

    def __init__(self) -> None:
        self._life = uuid.uuid4().hex
        self._inbox: queue.SimpleQueue[tuple[str, Request]] = queue.SimpleQueue()

    def life(self) -> str:
        """Name this process: another one after every restart."""
        return self._life

    def submit(self, life: str, request: Request) -> None:
        """Take a request, unless it was meant for a process that has died."""
        self._inbox.put((life, request))

    def stream(self, spec: EngineSpec, opener: str) -> Iterator[str | EngineDescription | list[Completion]]:
        """Load the engine and say what it is, or a sentence why not; then what ends, as it ends, for ever.

        Everything of the engine happens in this one thread: OpenMP's threads belong to the thread that made them.
        """
        # in this process, or as children that see its end: an engine process of vLLM's own would survive (vllm#55510)
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        try:
            engine: Engine = pkgutil.resolve_name(opener)(spec)
        except EngineError as error:
            yield str(error)
            return
        yield engine.describe()
        live = 0
        while True:
            while not live or not self._inbox.empty():
                life, request = self._inbox.get()
                if life == self._life:
                    engine.submit(request)
                    live += 1
            done = engine.collect()
            live -= len(done)
            yield done


@dataclass(slots=True)
class Seat:
    """One replica as the driver sees it."""

    number: int
    actor: Any
    wait: Any
    """What it will answer next: its `life` while it is placed, its stream from then on."""
    state: Literal["placing", "loading", "up", "gone"] = "placing"
    life: str = ""
    deaths: int = 0
    """In a row, with no answer between."""
    description: EngineDescription | None = None
    """Of the last time that it was up."""
    held: dict[str, Request] = field(default_factory=dict)
    reason: str = ""
    """Why it died last."""

    @property
    def batch(self) -> int:
        """Requests that its engine runs in one step."""
        return self.description.batch_limit if self.description else 0


class Homes:
    """Where each group runs: one replica has its prefix in the cache."""

    def __init__(self) -> None:
        self._homes: dict[str, Seat] = {}

    def choose(self, group: str, seats: Sequence[Seat]) -> Seat | None:
        """Give a group's own replica, unless that is away, full, or others stand half empty; None where none is up.

        A request without a group, and a group without a home, go to the replica that holds least.
        """
        up = [seat for seat in seats if seat.state == "up"]
        if not up:
            return None
        free = min(up, key=lambda seat: (len(seat.held), seat.deaths))
        seat = self._homes.get(group, free)
        held = len(seat.held)
        crowded = held >= 2 * seat.batch or (held >= seat.batch and len(free.held) < free.batch)
        if seat.state != "up" or crowded:
            seat = free
        if group:
            self._homes[group] = seat
        return seat


def differences(one: EngineDescription, two: EngineDescription) -> str:
    """Say in what two replicas would answer differently, or nothing."""
    names = ("name", "version", "model", "dtype", "max_model_len", "batch_limit")
    return ", ".join(f"{name} {a} and {b}" for name in names if (a := getattr(one, name)) != (b := getattr(two, name)))
