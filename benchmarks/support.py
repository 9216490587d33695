"""What the benchmarks of the engine share: their options, requests of real cases, forward passes counted, drives timed."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helmbench_hf.models.demo_model import demo_model_path
from helmbench_hf.models.drive import drive
from helmbench_hf.models.engine import EngineSpec, Request, answered
from helmbench_hf.models.identity import model_info
from helmbench_hf.models.vllm import VllmEngine
from helmbench_hf.records import Case, Completion
from helmbench_hf.runs.journal import Journal
from helmbench_hf.runs.turns import Conversations, Settings

TINY = {"load_format": "dummy", "hf_overrides": {"num_hidden_layers": 1, "intermediate_size": 64}}
"""One layer of random weights: the same tokens, blocks and steps at a hundredth of the work; its seconds mean nothing."""


def parser(documentation: str | None, rounds: int = 3) -> argparse.ArgumentParser:
    """Options that choose the model, and `--rounds`."""
    made = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--model", default=None, help="a folder or Hub id; default: the demo model")
    made.add_argument("--dtype", default="float32", help="bfloat16 is emulated, and slow, on CPUs without its instructions")
    made.add_argument("--tiny", action="store_true", help="one layer of random weights: for steps and tokens, not for seconds")
    made.add_argument("--max-num-seqs", type=int, default=None, help="sequences in one step; default: the engine's own")
    made.add_argument("--rounds", type=int, default=rounds)
    return made


def engine_spec(options: argparse.Namespace, **extra: Any) -> EngineSpec:
    """The engine that `parser`'s options describe; `extra` goes to vLLM's constructor."""
    return EngineSpec.parse(
        f"vllm:{options.model or demo_model_path()}",
        dtype=options.dtype,
        max_num_seqs=options.max_num_seqs,
        extra={**(TINY if options.tiny else {}), **extra},
    )


def conversations(cases: Sequence[Case], spec: EngineSpec) -> Conversations:
    """These cases as requests, none answered yet, without schemas: a grammar would decide how long an answer is."""
    known = model_info(spec)
    return Conversations(cases, known.template, known.context, Settings(free_form=True), {})


def distinct(talks: Conversations) -> list[Request]:
    """First turns in our order, one a key: the driver asks twins once, `LLM.generate` and an ideal count them twice."""
    return [talks.request(asked) for asked in {asked.key: asked for asked in talks.first_turns()}.values()]


@dataclass(frozen=True, slots=True)
class Timed:
    """One timed pass over some work."""

    seconds: float
    cpu_seconds: float
    """Of all threads of this process: steadier than `seconds` beside busy processes."""
    steps: int
    """Forward passes of the model."""
    answers: int
    prompt_tokens: int
    cached_tokens: int
    """Of the prompts' tokens, those that the prefix cache gave."""
    output_tokens: int

    def as_row(self) -> dict[str, float]:
        """Plain JSON, seconds rounded."""
        return {**asdict(self), "seconds": round(self.seconds, 2), "cpu_seconds": round(self.cpu_seconds, 2)}


def timed(engine: VllmEngine, work: Callable[[], Sequence[Completion]]) -> Timed:
    """Time `work` from an empty prefix cache."""
    engine._llm.reset_prefix_cache()
    with _steps(engine) as steps:
        began, used = time.perf_counter(), time.process_time()
        done = work()
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - used
    totals = [sum(getattr(each, name) for each in done) for name in ("prompt_tokens", "cached_tokens", "output_tokens")]
    return Timed(seconds, cpu_seconds, sum(steps), len(done), *totals)


@contextmanager
def _steps(engine: VllmEngine) -> Iterator[list[bool]]:
    """Note each step of vLLM's core, true where the model ran: `LLM.generate` and our loop both go through it."""
    core = getattr(engine._llm.llm_engine.engine_core, "engine_core", None)
    if core is None:
        raise SystemExit("Steps are counted in the engine's own process: leave VLLM_ENABLE_V1_MULTIPROCESSING at 0.")
    step, seen = core.step_fn, []

    def counted() -> Any:
        outputs, ran = step()
        seen.append(bool(ran))
        return outputs, ran

    core.step_fn = counted
    try:
        yield seen
    finally:
        core.step_fn = step


def loop(
    engine: VllmEngine,
    requests: Sequence[Request],
    follow_up: Callable[[Request, Completion], Request | None] = lambda request, completion: None,
) -> list[Completion]:
    """Our way: the driver, with a journal on disk."""
    done: list[Completion] = []
    with tempfile.TemporaryDirectory() as folder, Journal.open(Path(folder), "bench") as journal:

        def save(completion: Completion) -> None:
            journal.append(completion)
            done.append(completion)

        drive(engine, requests, follow_up, save)
    return done


def generate(engine: VllmEngine, requests: Sequence[Request]) -> list[Any]:
    """vLLM's own way: one call of `LLM.generate` on the same token ids; its outputs, in the order of `requests`."""
    outputs: list[Any] = engine._llm.generate(
        [{"prompt_token_ids": list(request.tokens)} for request in requests],
        [engine._sampling(request) for request in requests],
        use_tqdm=False,
    )
    return outputs


def completions(requests: Sequence[Request], outputs: Sequence[Any]) -> list[Completion]:
    """What vLLM gave, as our loop would have had it."""
    return [
        answered(
            request,
            output.outputs[0].text,
            output.outputs[0].finish_reason,
            cached_tokens=output.num_cached_tokens,
            output_tokens=len(output.outputs[0].token_ids),
        )
        for request, output in zip(requests, outputs, strict=True)
    ]


def alternate(arms: Mapping[str, Callable[[], Timed]], rounds: int) -> list[dict[str, Timed]]:
    """Measure every arm once a round, each round beginning with the next arm; tell each figure as it comes."""
    names, measured = list(arms), []
    for number in range(rounds):
        first = number % len(names)
        found: dict[str, Timed] = {}
        for name in names[first:] + names[:first]:
            found[name] = arms[name]()
            print(f"round {number + 1} {name}: {found[name].as_row()}", file=sys.stderr, flush=True)
        measured.append({name: found[name] for name in names})
    return measured


def setting(engine: VllmEngine) -> dict[str, Any]:
    """What a figure depends on beside the code."""
    return {"engine": asdict(engine.describe()), "cores": os.cpu_count(), "load_average": round(os.getloadavg()[0], 2)}
