"""What a request is, and what an engine is. Knows no case and no criterion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Protocol, Self, cast, get_args

from helmbench_hf.hashing import tokens_sha
from helmbench_hf.models.reasoning import outcome
from helmbench_hf.records import Completion, CompletionStatus

Role = Literal["system", "user", "assistant"]
Ability = Literal["schema", "label_logprobs"]
Kind = Literal["vllm", "transformers", "endpoint"]
Thinking = Literal["on", "off"]


class EngineError(RuntimeError):
    """The engine cannot start or continue. The message is a sentence for the person at the terminal."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, as the chat template gets it."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How one answer is sampled."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    """0 means no limit."""
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    max_tokens: int
    """Budget of the answer in tokens, reasoning included; the engine lowers it to what the context leaves."""
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt, ready to run."""

    key: str
    """Content hash (keys.py). Two requests with one key are the same sample: they run once."""
    name: str
    """Readable name, for people only."""
    messages: tuple[Message, ...]
    tokens: tuple[int, ...]
    """The rendered prompt, the assistant's prefill included; empty where a server renders it."""
    sampling: Sampling
    schema: str | None = None
    """JSON Schema text that constrains the answer."""
    prefill: str | None = None
    """The words that the assistant's answer begins with; already part of `tokens`."""
    labels: tuple[str, ...] = ()
    """Not empty: read one unconstrained step and return the raw log-probability of each label (one token each)."""
    group: str = ""
    """Requests of one group share a prefix: a server with several replicas is asked to keep them on one."""
    refusal: str = ""
    """Not empty: why this prompt cannot be run (the template broke). The driver records it; no engine sees it."""
    role: Literal["target", "router", "user"] = "target"
    """Which model it is for, where several are at work (models/roles.py)."""


@dataclass(frozen=True, slots=True)
class EngineDescription:
    """What ran, for the provenance of a run. `dataclasses.asdict` of it is plain JSON."""

    name: str
    version: str
    model: str
    abilities: tuple[Ability, ...] = ()
    dtype: str = "unknown"
    """The dtype that the engine chose, e.g. `bfloat16`."""
    device: str = "unknown"
    """What it runs on; for a server, where that listens."""
    max_model_len: int = 0
    """Context window in tokens: prompt and answer together; 0 where a server does not say."""
    batch_limit: int = 1
    """Sequences in one step at most. Batch size changes greedy texts."""
    threads: int = 0
    """0 where a server does not say."""
    block_size: int = 0
    """Tokens per prefix-cache block; 0 where no prefix is cached, or where a server does not say."""
    extra: dict[str, str] = field(default_factory=dict)
    """Further facts; `served` is what a server says that it serves under the model's name."""

    def continues(self, recorded: Mapping[str, Any]) -> bool:
        """Say whether this serves what the engine of an earlier record (its `asdict`) served; a served name proves nothing."""
        before = recorded.get("extra", {}).get("served")
        return before is None or before == self.extra.get("served")


class Engine(Protocol):
    """Turns requests into completions. Every submitted request comes back once, however it ended."""

    @property
    def capacity(self) -> int:
        """Requests that may be in flight: at least twice what the engine holds, else steps run half empty."""
        ...

    def submit(self, request: Request) -> None:
        """Take one request. A prompt that cannot be run comes back from `collect` as `refused`."""
        ...

    def collect(self) -> list[Completion]:
        """Block until at least one submitted request has ended, however it ended.

        Raises `EngineError` where the engine is dead and cannot be brought back.
        """
        ...

    def describe(self) -> EngineDescription:
        """Say what runs, for the provenance."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """Which engine runs which model, and how. None means: the engine's own choice."""

    kind: Kind
    model: str
    """A folder or a Hub id; for an endpoint, the name under which the server offers it."""
    revision: str | None = None
    dtype: str = "auto"
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    tensor_parallel_size: int = 1
    """GPUs of one engine, all in one machine."""
    gpu_memory_utilization: float | None = None
    seed: int = 0
    template_kwargs: dict[str, Any] = field(default_factory=dict)
    """What the chat template is called with, e.g. `{"reasoning_effort": "low"}`."""
    thinking: Thinking | None = None
    """Switched by the template's own argument, whatever it is called; None is the template's default."""
    sleeps: bool = False
    """vLLM: it can give its memory to another model and take it back."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Further arguments of the engine's own constructor, e.g. `{"quantization": "fp8"}`; an endpoint's settings."""

    def __post_init__(self) -> None:
        if self.thinking not in (None, "on", "off"):
            raise EngineError(f"Thinking must be on or off, not {self.thinking!r}. Leave it out for the template's own default.")
        if self.thinking is not None and self.kind == "endpoint":
            raise EngineError(
                "With an endpoint, the server renders the prompt, so helmbench cannot tell whether a thinking setting takes "
                "effect. Set it on the server, or run the model with vllm: or transformers:."
            )
        if not isinstance(self.tensor_parallel_size, int) or self.tensor_parallel_size < 1:
            raise EngineError(f"tensor_parallel_size must be a whole number of 1 or more, not {self.tensor_parallel_size!r}.")

    @classmethod
    def parse(cls, text: str, **options: Any) -> Self:
        """Read `vllm:FOLDER_OR_HUB_ID`, `transformers:...` or `endpoint:SERVED_NAME`; a bare model means vLLM.

        `options` are the other fields; of an endpoint, its own settings too (`base_url`, `concurrency`, ...).
        Raises `EngineError` for an unknown engine.
        """
        kind, model = split_model(text)
        if kind not in get_args(Kind) or not model:
            raise EngineError(
                f"{text!r} does not name an engine. Write vllm:MODEL or transformers:MODEL (a folder or a Hub id), or "
                "endpoint:NAME (a model that a server offers)."
            )
        if kind == "endpoint":
            settings = {name: options.pop(name) for name in set(options) - {item.name for item in fields(cls)}}
            options["extra"] = {**options.get("extra", {}), **settings}
        return cls(kind=cast(Kind, kind), model=model, **options)

    @property
    def shown(self) -> str:
        """The model's name for records: a folder's own name, never where it lies on a disk, this one or a server's."""
        return shown_name(self.model)


def split_model(text: str) -> tuple[str, str]:
    """Split `ENGINE:MODEL`; a bare model means vLLM. A model's own colons (`endpoint:qwen3:8b`) stay in its name."""
    kind, colon, model = text.partition(":")
    return (kind, model) if colon else ("vllm", text)


def shown_name(model: str) -> str:
    """Give a model's name without the folders before it where it is the path of a folder, or a path from the root."""
    return Path(model).name if model.startswith("/") or Path(model).is_dir() else model


def open_engine(spec: EngineSpec) -> Engine:
    """Load the model; seconds to minutes. Raises `EngineError` with a sentence where that cannot be."""
    match spec.kind:
        case "vllm":
            from helmbench_hf.models.vllm import VllmEngine

            return VllmEngine(spec)
        case "transformers":
            from helmbench_hf.models.transformers import TransformersEngine

            return TransformersEngine(spec)
        case "endpoint":
            from helmbench_hf.models.endpoint import EndpointEngine

            return EndpointEngine(spec)


def unanswered(request: Request, status: Literal["refused", "withheld", "engine_error"], reason: str) -> Completion:
    """Make the completion of a request that got no answer: the prompt cannot be run, a provider blocked it, or the engine failed.

    The driver tries an `engine_error` again.
    """
    return Completion(request.key, request.name, status, prompt_tokens=len(request.tokens), error=reason)


def impossible(request: Request, window: int) -> str:
    """Say why an engine with a context window of so many tokens cannot run a rendered request, or nothing."""
    if not request.tokens:
        return "The prompt is empty."
    if len(request.tokens) >= window:
        return (
            f"The prompt has {len(request.tokens)} tokens and the context holds {window}, prompt and answer together. "
            "Raise max_model_len where the model allows it: -e max_model_len=N."
        )
    return ""


def answered(
    request: Request,
    text: str,
    finish_reason: str,
    *,
    opened: bool | None = False,
    cached_tokens: int = 0,
    output_tokens: int = 0,
    label_logprobs: tuple[float, ...] | None = None,
) -> Completion:
    """Make the completion of a request that an engine has run; every engine's results pass here.

    `opened` as for `split_reasoning`. A prompt that a server has rendered (no tokens) has no count and no hash.
    """
    if request.labels:  # one step, cut off after it by intention
        status: CompletionStatus = "ok" if label_logprobs else "engine_error"
        answer, reasoning = text, ""
    else:
        # a grammar leaves no room for a closing mark: a constrained answer is all answer, whatever the prompt opened
        status, answer, reasoning = outcome(text, finish_reason, opened if request.schema is None else False)
    if status == "engine_error":
        return unanswered(request, "engine_error", f"The engine ended this request by itself ({finish_reason}).")
    return Completion(
        key=request.key,
        request=request.name,
        status=status,
        text=answer,
        reasoning=reasoning,
        finish_reason=finish_reason,
        prompt_tokens=len(request.tokens),
        cached_tokens=cached_tokens,
        output_tokens=output_tokens,
        prompt_sha=tokens_sha(request.tokens) if request.tokens else "",
        label_logprobs=label_logprobs,
    )
