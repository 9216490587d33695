"""Answers that the policy of a model's provider withheld: how a server says so.

Only fields of an error or of a choice are matched, never what a prompt or an answer says. vLLM, llama.cpp, SGLang and TGI have
no such policy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

CODES: Mapping[str, str] = {
    "content_filter": "OpenAI and Azure OpenAI, error.code with HTTP 400; Moonshot, error.type with HTTP 400",
    "content_policy_violation": "OpenAI, error.code with HTTP 400; OpenRouter, error_type with HTTP 403",
    "responsibleaipolicyviolation": "Azure OpenAI, error.innererror.code; LiteLLM hands innererror on",
    "refusal": "OpenRouter, error_type with HTTP 403: the model's provider sent a refusal as an error, without an answer",
    "data_inspection_failed": "Alibaba Cloud (Qwen), error.code with HTTP 400, for the prompt and for the answer",
    "datainspectionfailed": "Alibaba Cloud (Qwen), the older spelling of the same code",
}
"""Codes of errors, in lower case, by which a provider's policy withholds an answer."""
METADATA = ("flagged_input", "reasons")
"""OpenRouter's moderation, HTTP 403: error.metadata has both of these fields."""
MESSAGES: Mapping[str, str] = {
    r"Content Exists Risk": "DeepSeek, HTTP 400; its code is that of every invalid request",
    r"Content violates usage guidelines": "xAI, HTTP 403 or 400; its code is that of a missing permission",
    r"Invalid prompt: your prompt was flagged": "OpenAI's reasoning models, HTTP 400; elsewhere their code names a broken prompt",
    r"<400> InternalError\.Algo\.DataInspectionFailed": "Alibaba Cloud (Qwen), where the code is left out",
    r"(litellm\.\w+: )*litellm\.ContentPolicyViolationError": "LiteLLM, whatever it stands before; its code is the HTTP status",
}
"""How an error's message begins where the server has no code of its own for it. No server puts a prompt there."""
ENDS: Mapping[str, str] = {
    "content_filter": "OpenAI, Azure OpenAI, OpenRouter and gateways; Gemini adds its reason, as in `content_filter: SAFETY`",
    "safety": "Gemini, its reason alone; likewise the four that follow",
    "prohibited_content": "Gemini",
    "blocklist": "Gemini",
    "spii": "Gemini: personal data",
    "recitation": "Gemini: the text of others",
    "refusal": "Anthropic: a classifier stopped the answer (a refusal in the model's words ends with `end_turn`)",
    "content_filtered": "Amazon Bedrock",
    "guardrail_intervened": "Amazon Bedrock",
    "sensitive": "Zhipu (GLM)",
}
"""Finish reasons by which a policy withholds an answer, in lower case."""
_MESSAGE = re.compile("|".join(f"(?:{start})" for start in MESSAGES), re.IGNORECASE)
_INNER = ("message", "detail", "error", "innererror", "provider_specific_fields", "metadata", "raw")
"""Fields of an error that hold its message, or another error: OpenRouter's `raw` is the provider's own one as JSON text."""
_DEEPEST = 6


class WithheldError(Exception):
    """A provider's policy blocked a prompt or its answer; the message holds the server's words."""


def policy_block(error: Any, said: str = "", depth: int = 0) -> str:
    """Give the server's words where an error, as its JSON has it, is a policy's block of prompt or answer; else nothing.

    The words are the nearest message, or the code where there is none; never metadata, which can quote the prompt. `said` is
    the message of the error around this one.
    """
    if isinstance(error, str):
        return error if _MESSAGE.match(error) else ""
    if not isinstance(error, Mapping) or depth > _DEEPEST:
        return ""
    said = next((text for name in ("message", "detail") if isinstance(text := error.get(name), str) and text), said)
    codes = [str(error[name]) for name in ("code", "type", "error_type") if error.get(name)]
    if not CODES.keys().isdisjoint(map(str.lower, codes)) or all(name in error for name in METADATA):
        return said or " ".join(codes) or "flagged"
    inner = (read_json(error.get(name)) if name == "raw" else error.get(name) for name in _INNER)
    return next((words for each in inner if (words := policy_block(each, said, depth + 1))), "")


def policy_end(finish_reason: str | None) -> str:
    """Give the end of `ENDS` that a finish reason names, or nothing."""
    end = (finish_reason or "").partition(":")[0].strip().lower()
    return end if end in ENDS else ""


def read_json(text: Any) -> Any:
    """Read JSON text; None where it is none."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
