"""An engine without a model, for the tests of every stage: it answers by a function, and fails on demand."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from typing import Literal

from helmbench_hf.models.engine import EngineDescription, EngineError, Request, answered, unanswered
from helmbench_hf.records import Completion

Fate = Literal["answer", "truncate", "garbage", "refuse", "withhold", "fail", "crash", "die"]
"""`answer`, `truncate` (at half), `garbage` (random text), `refuse` and `withhold` (typed), `fail` (this request: engine_error),
`crash` (the engine loses all that is live, then goes on), `die` (raises `EngineError` for good)."""


def echo(request: Request) -> str:
    """Answer with the last message."""
    return request.messages[-1].content if request.messages else request.name


class FakeEngine:
    """Implements `Engine`. Completions come back in random order and random portions, decided by `seed`.

    `answer(request)` gives the text; `labels(request)` the log-probabilities of a label read; `fate(request, attempt)`
    how the attempt (1, 2, ...) ends. `delay` is slept in each `collect`, in seconds; from the one after the first `stalls`
    nothing comes back. What happened stands in `submitted`, `most_live` and `collects`.
    """

    def __init__(
        self,
        answer: Callable[[Request], str] = echo,
        *,
        labels: Callable[[Request], Sequence[float]] | None = None,
        fate: Callable[[Request, int], Fate] | None = None,
        capacity: int = 8,
        in_order: bool = False,
        delay: float = 0.0,
        stalls: int | None = None,
        seed: int = 0,
        max_model_len: int = 1 << 20,
    ) -> None:
        self._answer, self._labels, self._fate = answer, labels, fate
        self._capacity, self._in_order, self._delay = capacity, in_order, delay
        self._stalls = stalls
        self._random = random.Random(seed)
        self._window = max_model_len
        self._live: dict[str, Request] = {}
        self._attempts: dict[str, int] = {}
        self.submitted: list[Request] = []
        self.most_live = 0
        self.collects = 0

    @property
    def capacity(self) -> int:
        return self._capacity

    def submit(self, request: Request) -> None:
        assert request.key not in self._live, "a key was submitted twice at once"
        self.submitted.append(request)
        self._attempts[request.key] = self._attempts.get(request.key, 0) + 1
        self._live[request.key] = request
        self.most_live = max(self.most_live, len(self._live))

    def collect(self) -> list[Completion]:
        assert self._live, "collect was called with nothing in flight"
        self.collects += 1
        time.sleep(3600 if self._stalls is not None and self.collects > self._stalls else self._delay)
        keys = list(self._live)
        if not self._in_order:
            self._random.shuffle(keys)
        keys = keys[: self._random.randint(1, len(keys))]
        done: list[Completion] = []
        for key in keys:
            if key not in self._live:
                break
            done += self._end(self._live[key])
        return done

    def describe(self) -> EngineDescription:
        return EngineDescription(
            name="fake",
            version="1.0",
            model="fake",
            abilities=("schema", "label_logprobs"),
            dtype="none",
            device="none",
            max_model_len=self._window,
            batch_limit=max(1, self._capacity // 2),
            threads=1,
            block_size=16,
        )

    def _end(self, request: Request) -> list[Completion]:
        fate = self._fate(request, self._attempts[request.key]) if self._fate else "answer"
        if len(request.tokens) >= self._window:
            fate = "refuse"
        if fate == "die":
            raise EngineError("The fake engine died, as it was told to.")
        if fate == "crash":
            lost = [unanswered(each, "engine_error", "crash") for each in self._live.values()]
            self._live.clear()
            return lost
        del self._live[request.key]
        if fate == "refuse":
            return [unanswered(request, "refused", "The fake engine refuses this prompt.")]
        if fate == "withhold":
            return [unanswered(request, "withheld", "The fake engine's provider blocks this prompt.")]
        if fate == "fail":
            return [unanswered(request, "engine_error", "The fake engine failed on this request.")]
        if request.labels:
            read = self._labels(request) if self._labels else [math.log(1 / (len(request.labels) + 1))] * len(request.labels)
            return [answered(request, request.labels[0], "length", output_tokens=1, label_logprobs=tuple(read))]
        text = self._garbage() if fate == "garbage" else self._answer(request)
        if fate == "truncate":
            text = text[: len(text) // 2]
        return [answered(request, text, "length" if fate == "truncate" else "stop", output_tokens=len(text.split()))]

    def _garbage(self) -> str:
        alphabet = '\x00\x1b\n\r\u2028\ud800{}[]"\\<|im_end|>é漢🙂'
        return "".join(self._random.choices(alphabet, k=self._random.randint(0, 60)))
