"""What is known of a model before a weight is loaded, for target and judge alike: template, identity, key context."""

from __future__ import annotations

from dataclasses import dataclass

from helmbench_hf.inference.chat import Chat, ChatTemplate, ServerTemplate
from helmbench_hf.inference.engine import EngineSpec
from helmbench_hf.inference.identity import ModelIdentity, identify, key_context, served
from helmbench_hf.inference.keys import KeyContext
from helmbench_hf.inference.wire import Endpoint


@dataclass(frozen=True, slots=True)
class KnownModel:
    """One model on one engine, named by content, or by a server's word."""

    spec: EngineSpec
    template: Chat
    identity: ModelIdentity
    context: KeyContext


def know(spec: EngineSpec) -> KnownModel:
    """Load the template and name the weights, without torch. Raises `EngineError` with a sentence.

    No server is asked: stored answers can be read, and a run planned, while the endpoint is away.
    """
    if spec.kind == "endpoint":
        Endpoint.of(spec)
        chat, name = ServerTemplate(spec.template_kwargs), served(spec)
        return KnownModel(spec, chat, name, key_context(spec, name, chat.key_kwargs()))
    template = ChatTemplate.load(spec.model, spec.revision, spec.template_kwargs, spec.thinking)
    identity = identify(spec.model, spec.revision, dtype=spec.dtype, template_sha=template.facts.template_sha)
    return KnownModel(spec, template, identity, key_context(spec, identity, template.key_kwargs()))
