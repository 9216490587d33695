"""Engines without a model for the replicas of `inference.ray`, opened by import path inside the actors."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

from helmbench_hf.inference.engine import EngineDescription, EngineError, EngineSpec, Request
from tests.support.fake_engine import FakeEngine, Fate

OPENER = "tests.support.replicas:fake"
POISON = "poison"
"""A request of a name that begins so kills the process that answers it, every time."""


def spec(folder: Path, replicas: int, **options: Any) -> EngineSpec:
    """A spec of fake replicas; `folder` is made to look like a model's."""
    model = folder / "no-model"
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text("{}")
    return EngineSpec(kind="vllm", model=str(model), replicas=replicas, extra=options)


class Named(FakeEngine):
    """Describes itself as the spec has it, so that replicas can be told alike or not."""

    def __init__(self, spec: EngineSpec, fate: Fate = "answer") -> None:
        def ends(request: Request, attempt: int) -> Fate:
            if request.name.startswith(POISON):
                os.kill(os.getpid(), signal.SIGKILL)
            return fate

        options = spec.extra
        super().__init__(
            lambda request: f"{os.getpid()} {request.messages[-1].content}",
            fate=ends,
            capacity=options.get("capacity", 8),
            delay=options.get("delay", 0.0),
            seed=os.getpid(),
        )
        self._dtype = str(os.getpid()) if options.get("unlike") else spec.dtype

    def describe(self) -> EngineDescription:
        return replace(super().describe(), dtype=self._dtype)


def fake(spec: EngineSpec) -> Named:
    """Open an engine as `spec.extra` says: `sentence` is why it cannot start, `killed` that it dies while it loads."""
    if spec.extra.get("killed"):
        os.kill(os.getpid(), signal.SIGKILL)
    if sentence := spec.extra.get("sentence"):
        raise EngineError(sentence)
    return Named(spec, spec.extra.get("fate", "answer"))
