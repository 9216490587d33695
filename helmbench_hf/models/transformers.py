"""The fallback engine where vLLM is not installed: transformers, batch by batch, with xgrammar for schemas.

About twelve times slower than vLLM on the same machine, with the same results contract.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

from helmbench_hf.models.engine import EngineDescription, EngineError, EngineSpec, Request, answered, impossible, unanswered
from helmbench_hf.models.identity import load_template, locate
from helmbench_hf.records import Completion

BATCH = 8
"""Sequences in a batch unless the spec says otherwise: small, because a batch waits for its longest answer."""


class TransformersEngine:
    """One model of transformers in this process, on CPU, one GPU, or spread over all GPUs by accelerate."""

    def __init__(self, spec: EngineSpec) -> None:
        """Load the model. Raises `EngineError` with a sentence where that cannot be."""
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ImportError as error:
            raise EngineError("transformers or torch is not installed. Install `helmbench-hf[transformers]`.") from error
        self._spec = spec
        self._chat = load_template(spec)
        path, commit = locate(spec.model, spec.revision)
        # a branch may move: tokenizer and weights are taken from one commit
        name, revision = (spec.model, commit) if commit else (str(path), None)
        self._gpus = torch.cuda.device_count()
        options = {**({"device_map": "auto"} if self._gpus > 1 else {}), **spec.extra}
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(name, revision=revision)
            self._model: Any = AutoModelForCausalLM.from_pretrained(name, revision=revision, dtype=spec.dtype, **options)
            if "device_map" not in options:
                self._model.to("cuda" if self._gpus else "cpu")
        except MemoryError as error:
            raise EngineError(f"There is not enough memory for {spec.model}. Use a smaller model.") from error
        except (ImportError, OSError, ValueError, RuntimeError) as error:
            raise EngineError(f"transformers cannot load {spec.model}: {str(error).strip()[:300]}") from error
        self._model.eval()
        self._window = min(spec.max_model_len or 1 << 30, getattr(self._model.config, "max_position_embeddings", None) or 1 << 30)
        self._batch = spec.max_num_seqs or BATCH
        self._waiting: list[Request] = []
        self._early: list[Completion] = []
        self._grammars: dict[str, Any] = {}
        self._compiler: Any = None

    @property
    def capacity(self) -> int:
        """Twice a batch, so that requests of one kind find each other."""
        return 2 * self._batch

    def submit(self, request: Request) -> None:
        """Queue one request; one that cannot run comes back from `collect` as `refused`."""
        if reason := self._impossible(request):
            self._early.append(unanswered(request, "refused", reason))
        else:
            self._waiting.append(request)

    def collect(self) -> list[Completion]:
        """Run the next batch: the oldest waiting request and others that can be drawn together with it."""
        if self._early or not self._waiting:
            done, self._early = self._early, []
            return done
        kind = self._kind(self._waiting[0])
        batch = [request for request in self._waiting if self._kind(request) == kind][: self._batch]
        taken = {id(request) for request in batch}
        self._waiting = [request for request in self._waiting if id(request) not in taken]
        try:
            return self._read_labels(batch) if batch[0].labels else self._generate(batch)
        except Exception as error:  # out of memory, a kernel that fails: the batch is lost, the model is not
            return [unanswered(request, "engine_error", f"{type(error).__name__}: {error}") for request in batch]

    def describe(self) -> EngineDescription:
        """Say what runs, for the provenance."""
        import torch

        return EngineDescription(
            name="transformers",
            version=metadata.version("transformers"),
            model=self._spec.shown,
            abilities=("schema", "label_logprobs"),
            dtype=str(self._model.dtype).removeprefix("torch."),
            device=f"{self._gpus} x {torch.cuda.get_device_name()}".removeprefix("1 x ") if self._gpus else "cpu",
            max_model_len=self._window,
            batch_limit=self._batch,
            threads=torch.get_num_threads(),
            block_size=0,
        )

    def _kind(self, request: Request) -> tuple[Any, ...]:
        """Say which requests may share a batch: one way of drawing, one budget, grammar for all or for none."""
        if request.labels:
            return ("labels",)
        return (request.sampling, self._budget(request), request.schema is not None)

    def _budget(self, request: Request) -> int:
        return min(request.sampling.max_tokens, self._window - len(request.tokens))

    def _impossible(self, request: Request) -> str:
        if reason := impossible(request, self._window):
            return reason
        if max(request.tokens) >= self._model.config.vocab_size or min(request.tokens) < 0:
            return "The prompt holds token ids that the model does not have."
        try:
            if request.labels:
                self._chat.label_ids(request.labels, request.prefill)
            elif request.schema is not None:
                self._grammar(request.schema)
        except (EngineError, RuntimeError, ValueError) as error:
            return f"This request cannot run: {error}"
        return ""

    def _grammar(self, schema: str) -> Any:
        """Compile a schema once; compact JSON, as vLLM's engine is told to write it."""
        import xgrammar

        if self._compiler is None:
            size = self._model.config.vocab_size
            self._compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo.from_huggingface(self._tokenizer, vocab_size=size))
        if schema not in self._grammars:
            self._grammars[schema] = self._compiler.compile_json_schema(schema, any_whitespace=False, separators=(",", ":"))
        return self._grammars[schema]

    def _pad(self, batch: Sequence[Request]) -> dict[str, Any]:
        """Pad on the left to a batch of shape (requests, longest prompt)."""
        import torch

        width = max(len(request.tokens) for request in batch)
        rows = [[self._pad_id()] * (width - len(request.tokens)) + list(request.tokens) for request in batch]
        mask = [[0] * (width - len(request.tokens)) + [1] * len(request.tokens) for request in batch]
        return {
            "input_ids": torch.tensor(rows, device=self._model.device),
            "attention_mask": torch.tensor(mask, device=self._model.device),
        }

    def _read_labels(self, batch: Sequence[Request]) -> list[Completion]:
        import torch

        inputs = self._pad(batch)
        # a row's first real token has position 0 wherever the padding ends
        positions = (inputs["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        with torch.inference_mode():
            logits = self._model(**inputs, position_ids=positions, logits_to_keep=1).logits[:, -1]
            logprobs = torch.log_softmax(logits.float(), dim=-1)
        done = []
        for row, request in zip(logprobs, batch, strict=True):
            ids = self._chat.label_ids(request.labels, request.prefill)
            text = self._tokenizer.decode([int(row.argmax())])
            read = tuple(float(row[token]) for token in ids)
            done.append(answered(request, text, "length", output_tokens=1, label_logprobs=read))
        return done

    def _generate(self, batch: Sequence[Request]) -> list[Completion]:
        import torch
        from transformers import GenerationConfig, LogitsProcessorList

        want, inputs = batch[0].sampling, self._pad(batch)
        width = inputs["input_ids"].shape[1]
        ends = self._ends()
        draw: dict[str, Any] = {}
        if want.temperature > 0:
            draw = {name: getattr(want, name) for name in ("temperature", "top_p", "top_k")} | {"min_p": want.min_p or None}
            torch.manual_seed(self._spec.seed if want.seed is None else want.seed)
        config = GenerationConfig(
            **draw,
            do_sample=bool(draw),
            max_new_tokens=self._budget(batch[0]),
            repetition_penalty=want.repetition_penalty,
            eos_token_id=ends,
            pad_token_id=self._pad_id(),
        )
        masks = LogitsProcessorList()
        if want.presence_penalty:
            masks.append(penalize_presence(width, want.presence_penalty))
        if batch[0].schema is not None:
            from xgrammar.contrib.hf import LogitsProcessor

            masks.append(LogitsProcessor([self._grammar(request.schema or "") for request in batch]))
        with torch.inference_mode():
            rows = self._model.generate(**inputs, generation_config=config, logits_processor=masks)[:, width:]
        return [self._completion(request, row.tolist(), ends) for request, row in zip(batch, rows, strict=True)]

    def _completion(self, request: Request, row: list[int], ends: list[int]) -> Completion:
        stop = next((place for place, token in enumerate(row) if token in ends), None)
        tokens = row if stop is None else row[:stop]
        text = self._tokenizer.decode(tokens, skip_special_tokens=not self._chat.facts.special_reasoning)
        return answered(
            request,
            text,
            "length" if stop is None else "stop",
            opened=self._chat.facts.opens_reasoning,
            output_tokens=len(tokens) + (stop is not None),
        )

    def _ends(self) -> list[int]:
        ends = self._model.generation_config.eos_token_id
        if ends is None:
            ends = self._tokenizer.eos_token_id
        return list(ends) if isinstance(ends, list | tuple) else [] if ends is None else [ends]

    def _pad_id(self) -> int:
        pad = self._tokenizer.pad_token_id
        return int(pad if pad is not None else (self._ends() or [0])[0])


def penalize_presence(width: int, penalty: float) -> Callable[[Any, Any], Any]:
    """Lower the logits of tokens that the answer holds by `penalty`, as vLLM and the OpenAI API define it: not the prompt's.

    `width` is the length of the padded prompts in tokens. Takes ids of shape (requests, so far) and logits of shape
    (requests, vocabulary).
    """

    def process(input_ids: Any, scores: Any) -> Any:
        import torch

        present = torch.zeros_like(scores).scatter_(1, input_ids[:, width:], 1.0)
        return scores - penalty * present

    return process
