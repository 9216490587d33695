"""What an OpenAI-compatible server is asked and what it answers: settings, bodies, replies. Pure, without a client."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, model_validator

from helmbench_hf.inference.engine import EngineError, EngineSpec, Request, Sampling
from helmbench_hf.inference.reasoning import answered, split_reasoning
from helmbench_hf.inference.withheld import policy_block, policy_end
from helmbench_hf.records import Completion

Structured = Literal["json_schema", "guided_json", "none"]
"""How a schema goes along: as `response_format`, as older vLLM wants it, or not at all."""
MODEL_ENDS = ("tool_calls", "function_call")
"""Ends beside `stop` and `length` that are the model's own doing, not the engine's."""
FILLS_IN = ("vllm", "sglang", "llamacpp")
"""Servers, by the owner in their list of models, that put defaults of their own or the checkpoint's generation_config.json
where a request leaves a sampling field out: to them every field is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Settings of an endpoint: what `--engine NAME=VALUE` may say."""

    base_url: str = ""
    """E.g. `http://127.0.0.1:8000/v1`."""
    concurrency: int = 32
    """Requests that the server gets at once."""
    timeout: float = 600.0
    """Seconds that one answer may take."""
    retries: int = 4
    """Tries after the first, with growing pauses, before an answer is an engine failure."""
    structured: Structured = "json_schema"

    @classmethod
    def of(cls, spec: EngineSpec) -> Self:
        """Read the settings of a spec. Raises `EngineError` with a sentence for what cannot be set, or not so."""
        plain = EngineSpec(kind=spec.kind, model=spec.model, template_kwargs=spec.template_kwargs, extra=spec.extra)
        theirs = [item.name for item in fields(spec) if getattr(spec, item.name) != getattr(plain, item.name)]
        if theirs:
            raise EngineError(f"{', '.join(theirs)}: the server decides that. Start the server with it, and leave it out here.")
        try:
            made = cls(**spec.extra)
        except TypeError as error:
            known = ", ".join(item.name for item in fields(cls))
            raise EngineError(f"An endpoint has no such setting ({error}); it has {known}.") from error
        made._check()
        return made

    @property
    def host(self) -> str:
        """Host and port: what records name."""
        parts = urlsplit(self.base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    def _check(self) -> None:
        try:
            parts = urlsplit(str(self.base_url))
            sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            sound = False
        if not sound:
            raise EngineError("Say where the server is: base_url=http://127.0.0.1:8000/v1 (with --engine, or behind the judge).")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise EngineError(
                "base_url holds more than an address, maybe a secret. Give the address alone, and a key by HELMBENCH_API_KEY."
            )
        numbers = isinstance(self.concurrency, int), isinstance(self.retries, int), isinstance(self.timeout, int | float)
        if not all(numbers) or self.concurrency < 1 or self.retries < 0 or self.timeout <= 0:
            raise EngineError("concurrency is a number from 1, retries one from 0, and timeout is in seconds above 0.")
        if self.structured not in get_args(Structured):
            raise EngineError(f"structured is one of {', '.join(get_args(Structured))}.")


class Card(BaseModel):
    """A model in a server's list; `root` and `max_model_len` are vLLM's and SGLang's."""

    id: str
    root: str | None = None
    owned_by: str | None = None
    max_model_len: int | None = None


class Cards(BaseModel):
    """The answer of `GET /models`."""

    data: list[Card]


class Message(BaseModel):
    """What the model said. The field of reasoning has two names. A `refusal` is what the model itself says to the person."""

    content: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class Choice(BaseModel):
    """One answer; one is asked for."""

    message: Message | None = None
    """Gemini leaves it out where its filter blocked the prompt."""
    finish_reason: str | None = None
    error: Any = None
    """OpenRouter: why the model's provider broke the answer off."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.message is None and self.error is None and not self.end:
            raise ValueError("a choice without a message")
        return self

    @property
    def end(self) -> str:
        """By which form a policy withheld the answer, or nothing."""
        return policy_end(self.finish_reason)

    @property
    def said(self) -> Message:
        """The message, empty where there is none."""
        return self.message or Message()


class Cached(BaseModel):
    """vLLM gives it with --enable-prompt-tokens-details only."""

    cached_tokens: int | None = None


class Usage(BaseModel):
    """Tokens, as the server counts them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: Cached | None = None


class Reply(BaseModel):
    """The answer of `POST /chat/completions`: the part that is read."""

    choices: list[Choice] = Field(min_length=1)
    usage: Usage | None = None

    @model_validator(mode="before")
    @classmethod
    def _blocked(cls, answer: Any) -> Any:
        """Read a policy's block that stands in place of the choices as the one choice's error: OpenRouter, with HTTP 200."""
        error = answer.get("error") if isinstance(answer, dict) else None
        return {"choices": [{"error": error}]} if policy_block(error) else answer

    @property
    def text(self) -> str:
        """What the model said aloud."""
        said = self.choices[0].said
        return said.content or said.refusal or ""

    @property
    def outside_json(self) -> bool:
        """Say whether the answer, after what was thought, begins as no JSON object does: nothing has held it to a schema.

        What a policy withheld says nothing about that.
        """
        answer = self.text if _begins(self.text) else split_reasoning(self.text)[1]
        return answer.strip() != "" and not _begins(answer) and not self.choices[0].end


def body(request: Request, model: str, structured: Structured, kwargs: dict[str, Any], owner: str | None) -> dict[str, Any]:
    """Make the arguments of the client's `chat.completions.create` for a request.

    `kwargs` are for the chat template, `owner` names the server's software where known. Raises `ValueError` where the
    schema is no JSON.
    """
    want = request.sampling
    usual = Sampling(max_tokens=want.max_tokens)
    names = ("top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty")
    more = {name: value for name in names if (value := getattr(want, name)) != getattr(usual, name) or owner in FILLS_IN}
    if more.get("top_k") == 0:
        more["top_k"] = -1  # no limit, in the way that all three read; SGLang refuses 0
    if kwargs:
        more["chat_template_kwargs"] = kwargs
    asked = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "temperature": want.temperature,
        "max_tokens": want.max_tokens,
        **({"seed": want.seed} if want.seed is not None else {}),
    }
    if request.schema is not None:
        try:
            schema = json.loads(request.schema)
        except ValueError as error:
            raise ValueError(f"its schema is no JSON ({error})") from error
        if structured == "guided_json":
            more["guided_json"] = schema
        else:
            form = {"name": "answer", "strict": True, "schema": schema}
            asked["response_format"] = {"type": "json_schema", "json_schema": form}
    return {**asked, "extra_body": more}


def completion(request: Request, reply: Reply) -> Completion:
    """Make the completion of a request that the server has answered."""
    choice, usage = reply.choices[0], reply.usage or Usage()
    if not _begins(reply.text):  # some servers let a model think first and constrain what follows
        request = replace(request, schema=None)
    thought = choice.said.reasoning or choice.said.reasoning_content or ""
    finish, end = choice.finish_reason or "without a reason", choice.end
    made = answered(
        request,
        reply.text,
        "stop" if end or finish in MODEL_ENDS else finish,
        # where the server tells reasoning apart, the rest is all answer
        opened=False if thought else None,
        cached_tokens=(usage.prompt_tokens_details or Cached()).cached_tokens or 0,
        output_tokens=usage.completion_tokens,
    )
    if made.status == "engine_error":
        return made
    reasoning = "\n\n".join(part for part in (thought, made.reasoning) if part)
    made = replace(made, finish_reason=end or finish, reasoning=reasoning, prompt_tokens=usage.prompt_tokens)
    return replace(made, status="withheld", error=f"The answer ended with {finish[:80]!r}.") if end else made


def _begins(text: str) -> bool:
    return text.lstrip().startswith("{")
