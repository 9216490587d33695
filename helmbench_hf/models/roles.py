"""Several models behind one engine: the target answers, the router sorts its answers, a user model words what comes next.

`both`: all stay loaded. Whatever router and user were asked is answered before the target's next step, so no conversation
waits for another. `waves`: one model works while the others rest, for a GPU that does not hold them all; the target answers what
it can, then the router sorts all of it. Resting frees memory only where the engine can rest (vLLM's sleep mode); elsewhere it
does nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, Protocol, runtime_checkable

from helmbench_hf.models.engine import Engine, EngineDescription, EngineSpec, Request
from helmbench_hf.records import Completion

Memory = Literal["both", "waves"]
SHARE = 0.9
"""Share of a GPU's memory for the models that stay loaded together."""
TARGET = "target"


@runtime_checkable
class Resting(Protocol):
    """An engine that can give its memory to another one and take it back."""

    def rest(self) -> None:
        """Free the memory of weights and cache; nothing may be in flight."""
        ...

    def wake(self) -> None:
        """Take the memory back."""
        ...


def shared(specs: Mapping[str, EngineSpec], memory: Memory) -> dict[str, EngineSpec]:
    """How several models have one GPU: a part of its memory each unless their settings say otherwise, or all of it by turns."""
    loaded = distinct([spec for spec in specs.values() if spec.kind == "vllm"])
    if len(loaded) < 2:
        return dict(specs)

    def fitted(spec: EngineSpec) -> EngineSpec:
        if spec.kind != "vllm":
            return spec
        part = spec.gpu_memory_utilization or SHARE / len(loaded)
        return replace(spec, sleeps=True) if memory == "waves" else replace(spec, gpu_memory_utilization=part)

    return {role: fitted(spec) for role, spec in specs.items()}


def distinct(specs: Sequence[EngineSpec]) -> list[EngineSpec]:
    """Each once; two roles of one model share its engine."""
    return [spec for place, spec in enumerate(specs) if spec not in specs[:place]]


class Models:
    """Hands each request to the model it is for. Keys of different roles never meet, because what they are asked differs."""

    def __init__(self, engines: Mapping[str, Engine], memory: Memory = "both") -> None:
        """`engines`: loaded, by role, the target first; one engine may have several roles. In waves all others rest first."""
        self._engines = dict(engines)
        self._live: Counter[int] = Counter()
        self._waves = memory == "waves"
        self._waiting: list[Request] = []
        self._awake = self._engines[TARGET]
        for engine in self._others() if self._waves else ():
            if isinstance(engine, Resting):
                engine.rest()

    @property
    def capacity(self) -> int:
        """What the target takes, and as much again for what it is sorted by."""
        return 2 * self._engines[TARGET].capacity

    def submit(self, request: Request) -> None:
        """Hand the request to its model; in waves one for a resting model waits."""
        engine = self._engines[request.role]
        if self._waves and engine is not self._awake:
            self._waiting.append(request)
            return
        self._live[id(engine)] += 1
        engine.submit(request)

    def collect(self) -> list[Completion]:
        """What has ended: first of router and user, because conversations wait for them; in waves of the model that is awake."""
        if self._waves:
            if not self._live[id(self._awake)]:
                self._swap()
            engine = self._awake
        else:
            listed = [*self._others(), self._engines[TARGET]]
            engine = next((each for each in listed if self._live[id(each)]), listed[-1])
        done = engine.collect()
        self._live[id(engine)] -= len(done)
        return done

    def describe(self) -> EngineDescription:
        """The target's; the others stand in the manifest by themselves."""
        return self._engines[TARGET].describe()

    def _others(self) -> list[Engine]:
        """Every engine but the target's, once."""
        target = self._engines[TARGET]
        return list({id(engine): engine for engine in self._engines.values() if engine is not target}.values())

    def _swap(self) -> None:
        """Let the model work for which most requests wait."""
        wanted = Counter(id(self._engines[request.role]) for request in self._waiting).most_common(1)[0][0]
        resting, self._awake = self._awake, next(each for each in self._engines.values() if id(each) == wanted)
        if isinstance(resting, Resting):
            resting.rest()
        if isinstance(self._awake, Resting):
            self._awake.wake()
        waiting, self._waiting = self._waiting, []
        for request in waiting:
            self.submit(request)
