"""The format of OpenAI's chat completions: what a server is sent, and how its answers are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

from pydantic import AliasPath, BaseModel, Field, model_validator

from helmbench_hf.models.engine import Message, Request, Sampling, answered
from helmbench_hf.models.reasoning import split_reasoning
from helmbench_hf.models.withheld import policy_block, policy_end
from helmbench_hf.records import Completion

Structured = Literal["json_schema", "none"]
MODEL_ENDS = ("tool_calls", "function_call")
"""Finish reasons beside `stop` and `length` that are the model's own doing, not the engine's."""
FILLS_IN = ("vllm", "sglang", "llamacpp")
"""Servers, by the owner in their list of models, that replace a missing sampling field by a default of their own or of the
checkpoint's generation_config.json. They are sent every field."""


class Card(BaseModel):
    """A model in a server's list; `root` and `max_model_len` are vLLM's and SGLang's."""

    id: str
    root: str | None = None
    owned_by: str | None = None
    max_model_len: int | None = None


class Cards(BaseModel):
    """The answer of `GET /models`."""

    data: list[Card]


class Tokenized(BaseModel):
    """The answer of vLLM's `POST /tokenize`."""

    tokens: list[int]


class TokenLogprob(BaseModel):
    """One token, written `token_id:N`, and its log-probability."""

    token: str
    logprob: float


def _at(*path: str | int) -> Any:
    """A field that may be missing, at a path of the first choice."""
    return Field(None, validation_alias=AliasPath("choices", 0, *path))


class Reply(BaseModel):
    """The answer of `POST /chat/completions`: the part that is read."""

    choice: dict[str, Any] = Field(validation_alias=AliasPath("choices", 0))
    message: dict[str, Any] | None = _at("message")
    """Gemini leaves it out where its filter blocked the prompt."""
    content: str | None = _at("message", "content")
    refusal: str | None = _at("message", "refusal")
    """What the model itself says to the person."""
    reasoning: str | None = _at("message", "reasoning")
    reasoning_content: str | None = _at("message", "reasoning_content")
    """An older name of the same field."""
    finish_reason: str | None = _at("finish_reason")
    error: Any = _at("error")
    """OpenRouter: why the model's provider broke the answer off."""
    first_step: list[TokenLogprob] | None = _at("logprobs", "content", 0, "top_logprobs")
    prompt_tokens: int = Field(0, validation_alias=AliasPath("usage", "prompt_tokens"))
    completion_tokens: int = Field(0, validation_alias=AliasPath("usage", "completion_tokens"))
    cached_tokens: int | None = Field(None, validation_alias=AliasPath("usage", "prompt_tokens_details", "cached_tokens"))
    """vLLM gives it with --enable-prompt-tokens-details only."""

    @model_validator(mode="before")
    @classmethod
    def _move_block(cls, answer: Any) -> Any:
        """Read a policy's block that stands in place of the choices as the one choice's error: OpenRouter, with HTTP 200."""
        error = answer.get("error") if isinstance(answer, dict) else None
        return {"choices": [{"error": error}]} if policy_block(error) else answer

    @model_validator(mode="after")
    def _check_complete(self) -> Self:
        if self.message is None and self.error is None and not policy_end(self.finish_reason):
            raise ValueError("a choice without a message")
        return self

    @property
    def text(self) -> str:
        """What the model said aloud."""
        return self.content or self.refusal or ""

    @property
    def outside_json(self) -> bool:
        """Say whether the answer, after what was thought, begins as no JSON object does: nothing has held it to a schema.

        What a policy withheld says nothing about that.
        """
        answer = self.text if _begins_json(self.text) else split_reasoning(self.text)[1]
        return answer.strip() != "" and not _begins_json(answer) and not policy_end(self.finish_reason)

    def label_logprobs(self, ids: tuple[int, ...]) -> tuple[float, ...] | None:
        """Raw log-probability of each token at the first step, or None where the server left one out."""
        found = {each.token: each.logprob for each in self.first_step or []}
        names = [f"token_id:{number}" for number in ids]
        return tuple(found[name] for name in names) if ids and all(name in found for name in names) else None


def request_body(
    request: Request, model: str, structured: Structured, kwargs: Mapping[str, Any], owner: str | None
) -> dict[str, Any]:
    """Make the JSON of `POST /chat/completions` for a request.

    `kwargs` are for the chat template, `owner` names the server's software where known. Raises `ValueError` where the
    schema is no JSON.
    """
    want, usual = request.sampling, Sampling(max_tokens=request.sampling.max_tokens)
    names = ("top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty")
    body: dict[str, Any] = {
        **conversation_body(model, request.messages, request.prefill, kwargs),
        "temperature": want.temperature,
        "max_tokens": want.max_tokens,
        **{name: value for name in names if (value := getattr(want, name)) != getattr(usual, name) or owner in FILLS_IN},
    }
    if body.get("top_k") == 0:
        body["top_k"] = -1  # no limit, in the way that all three read; SGLang refuses 0
    if want.seed is not None:
        body["seed"] = want.seed
    if request.schema is not None:
        try:
            schema = json.loads(request.schema)
        except ValueError as error:
            raise ValueError(f"its schema is not valid JSON ({error})") from error
        if structured == "json_schema":
            form = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def conversation_body(
    model: str, messages: tuple[Message, ...], prefill: str | None, kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The fields that say what is put to the model; with a prefill, vLLM continues the assistant's last message."""
    said = [{"role": message.role, "content": message.content} for message in messages]
    body: dict[str, Any] = {"model": model, "messages": said}
    if prefill:
        said.append({"role": "assistant", "content": prefill})
        body |= {"add_generation_prompt": False, "continue_final_message": True}
    return {**body, "chat_template_kwargs": dict(kwargs)} if kwargs else body


def read_completion(request: Request, reply: Reply) -> Completion:
    """Make the completion of a request that the server has answered."""
    if not _begins_json(reply.text):  # some servers let a model think first and constrain what follows
        request = replace(request, schema=None)
    thought = reply.reasoning or reply.reasoning_content or ""
    finish, end = reply.finish_reason or "without a reason", policy_end(reply.finish_reason)
    made = answered(
        request,
        reply.text,
        "stop" if end or finish in MODEL_ENDS else finish,
        # where the server tells reasoning apart, the rest is all answer
        opened=False if thought else None,
        cached_tokens=reply.cached_tokens or 0,
        output_tokens=reply.completion_tokens,
    )
    if made.status == "engine_error":
        return made
    reasoning = "\n\n".join(part for part in (thought, made.reasoning) if part)
    made = replace(made, finish_reason=end or finish, reasoning=reasoning, prompt_tokens=reply.prompt_tokens)
    return replace(made, status="withheld", error=f"The answer ended with {finish[:80]!r}.") if end else made


def _begins_json(text: str) -> bool:
    return text.lstrip().startswith("{")
