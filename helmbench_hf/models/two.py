"""Two models behind one engine: the target that answers, and the router that sorts its answers while it goes on.

`both`: both stay loaded. Whatever the router was asked is answered before the target's next step, so no conversation waits for
another. `waves`: one model rests while the other works, for a GPU that does not hold both; the target answers what it can, then
the router sorts all of it. Resting frees memory only where the engine can rest (vLLM's sleep mode); elsewhere it does nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Literal, Protocol, runtime_checkable

from helmbench_hf.models.engine import Engine, EngineDescription, EngineSpec, Request
from helmbench_hf.records import Completion

Memory = Literal["both", "waves"]
HALF = 0.45
"""Share of a GPU's memory for each of two models that stay loaded together."""


@runtime_checkable
class Resting(Protocol):
    """An engine that can give its memory to another one and take it back."""

    def rest(self) -> None:
        """Free the memory of weights and cache; nothing may be in flight."""
        ...

    def wake(self) -> None:
        """Take the memory back."""
        ...


def shared(target: EngineSpec, router: EngineSpec, memory: Memory) -> tuple[EngineSpec, EngineSpec]:
    """How two models have one GPU: a part of its memory each unless their settings say otherwise, or all of it by turns."""
    if not target.kind == router.kind == "vllm":
        return target, router
    if memory == "waves":
        return replace(target, sleeps=True), replace(router, sleeps=True)
    parts = [replace(spec, gpu_memory_utilization=spec.gpu_memory_utilization or HALF) for spec in (target, router)]
    return parts[0], parts[1]


class TwoModels:
    """Hands each request to the model it is for. Keys of the two never meet, because what they are asked differs."""

    def __init__(self, target: Engine, router: Engine, memory: Memory = "both") -> None:
        """Both engines are loaded; in waves the router rests first."""
        self._engines: dict[str, Engine] = {"target": target, "router": router}
        self._live: Counter[str] = Counter()
        self._waves = memory == "waves"
        self._waiting: list[Request] = []
        self._awake = "target"
        if self._waves and isinstance(router, Resting):
            router.rest()

    @property
    def capacity(self) -> int:
        """What the target takes, and as much again for what it is sorted by."""
        return 2 * self._engines["target"].capacity

    def submit(self, request: Request) -> None:
        """Hand the request to its model; in waves one for the resting model waits."""
        if self._waves and request.role != self._awake:
            self._waiting.append(request)
            return
        self._live[request.role] += 1
        self._engines[request.role].submit(request)

    def collect(self) -> list[Completion]:
        """What has ended: first of the router, because conversations wait for it; in waves of the model that is awake."""
        if self._waves:
            if not self._live[self._awake]:
                self._swap()
            role = self._awake
        else:
            role = "router" if self._live["router"] else "target"
        done = self._engines[role].collect()
        self._live[role] -= len(done)
        return done

    def describe(self) -> EngineDescription:
        """The target's; the router stands in the manifest by itself."""
        return self._engines["target"].describe()

    def _swap(self) -> None:
        """Let the other model work on what waits for it."""
        resting, self._awake = self._awake, "router" if self._awake == "target" else "target"
        for role, engine in ((resting, self._engines[resting]), (self._awake, self._engines[self._awake])):
            if isinstance(engine, Resting):
                engine.rest() if role == resting else engine.wake()
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            self.submit(request)
