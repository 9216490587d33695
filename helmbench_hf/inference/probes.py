"""Probes of a chat template: what it really does with what it is given, found by rendering words that occur nowhere else."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from helmbench_hf.inference.engine import Message, Thinking

PINNED_DATE = datetime.date(2026, 1, 1)
"""What a template that asks for today's date is told. Else a prompt would change overnight, and its key would not."""
SWITCHES = ("enable_thinking", "thinking")
"""Names by which templates take a switch of thinking, true or false: Qwen, GLM, SmolLM, Gemma, Nemotron; Granite, DeepSeek."""

BY_SERVER: Literal["unknown: rendered by the server"] = "unknown: rendered by the server"

SystemRole = Literal["native", "rejected", "dropped", "unknown: rendered by the server"]
DeveloperRole = Literal["as_system", "native", "unnamed", "rejected", "dropped", "unknown"]
Bos = Literal["none", "one", "doubled", "unknown"]

_SYSTEM = "helmsystemsentinel"
PROBE = (Message("system", _SYSTEM), Message("user", "helmusersentinel"))
_LATER = (Message("assistant", "helmanswersentinel"), Message("user", "helmnextsentinel"))
_STATES: Mapping[Thinking, bool] = {"on": True, "off": False}


class ChatError(ValueError):
    """A conversation that cannot be rendered for this model. The message is a sentence; the request is refused."""


@dataclass(frozen=True, slots=True)
class ChatFacts:
    """What the probes found; None where a server renders and nobody here can know. `asdict` of it is plain JSON."""

    template_sha: str
    """Empty where a server renders."""
    system_role: SystemRole
    """`rejected`: the template raises on a system message. `dropped`: it takes one and leaves it out of the prompt."""
    folded: bool
    """The system text goes before the first user message, a blank line between, because there is no system role."""
    developer_role: DeveloperRole
    """What becomes of a developer message, which helmbench never sends. `as_system`: the prompt is the one that a system
    message gives. `native`: another prompt, by a template that names the role. `unnamed`: rendered by a template that does
    not know the role. `rejected` and `dropped` as for `system_role`."""
    thinking_switch: str | None
    """The argument of the template that switches thinking (one of `SWITCHES`): the prompt differs between on and off.
    Empty where there is none."""
    thinking: Thinking | Literal["unknown"]
    """Whether prompts are rendered with thinking on or off, asked for or by the template's default; unknown where the
    template has no switch to tell it by."""
    opens_reasoning: bool | None
    """The prompt ends inside an open reasoning block: what the model writes first is reasoning."""
    special_reasoning: bool | None
    """The marks of reasoning hold special tokens: an engine must not strip those, or the marks vanish."""
    keeps_prefix: bool | None
    """The prompt of a second turn begins with the whole prompt of the first, so that a prefix cache serves it. False too
    where the template renders no second turn."""
    bos: Bos
    """Begin-of-text tokens at the start of a rendered prompt."""
    dated: bool | None
    """The template asks for today's date; it is told `PINNED_DATE`."""
    template_kwargs: dict[str, Any] = field(default_factory=dict)
    """What the template is called with; part of every key."""

    @property
    def by_server(self) -> bool:
        """Say that a server renders: no prompt's text, tokens or length are known here."""
        return self.system_role == BY_SERVER


def fold(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Move system text to the head of the first user message, a blank line between."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    if not system:
        return tuple(rest)
    if not rest or rest[0].role != "user":
        raise ChatError("A system text can be folded only into a user message, and the conversation begins with none.")
    return (Message("user", f"{system}\n\n{rest[0].content}"), *rest[1:])


class Render(Protocol):
    """Renders a conversation with the template; `arguments` win over those that it is called with anyway."""

    def __call__(
        self, messages: Sequence[Mapping[str, str]], arguments: Mapping[str, Any] = ..., date: datetime.date = ...
    ) -> str:
        """Give the prompt's text. Raises `ChatError` where the template breaks."""
        ...


def plain(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Give messages as a template takes them."""
    return [asdict(message) for message in messages]


def system_role(render: Render) -> SystemRole:
    """Find out what becomes of a system message."""
    try:
        return "native" if _SYSTEM in render(plain(PROBE)) else "dropped"
    except ChatError:
        return "rejected"


def developer_role(render: Render, source: str) -> DeveloperRole:
    """Find out what becomes of a developer message; `source` is the template's text."""
    system, user = plain(PROBE)
    try:
        text = render([{**system, "role": "developer"}, user])
    except ChatError:
        return "rejected"
    if _SYSTEM not in text:
        return "dropped"
    if system_role(render) != "rejected" and text == render([system, user]):
        return "as_system"
    return "native" if "developer" in source else "unnamed"


def thinking_switch(render: Render, messages: Sequence[Message]) -> str:
    """Find the argument that changes the prompt between on and off; empty where none does."""

    def changes(name: str) -> bool:
        try:
            return render(plain(messages), {name: True}) != render(plain(messages), {name: False})
        except ChatError:
            return False

    return next(filter(changes, SWITCHES), "")


def thinking_state(render: Render, messages: Sequence[Message], switch: str) -> Thinking | Literal["unknown"]:
    """Tell in which state of its switch the template renders by itself."""
    text = render(plain(messages))
    same = (state for state, value in _STATES.items() if switch and render(plain(messages), {switch: value}) == text)
    return next(same, "unknown")


def keeps_prefix(render: Render, messages: Sequence[Message]) -> bool:
    """Say whether the prompt of a second turn begins with the prompt of the first."""
    try:
        return render(plain((*messages, *_LATER))).startswith(render(plain(messages)))
    except ChatError:
        return False


def is_dated(render: Render, messages: Sequence[Message]) -> bool:
    """Say whether another day gives another prompt."""
    later = PINNED_DATE + datetime.timedelta(days=400)
    return render(plain(messages)) != render(plain(messages), date=later)


def begins(ids: Sequence[int], bos: int | None) -> Bos:
    """Count the begin-of-text tokens that a rendered prompt starts with."""
    found = 0 if bos is None else next((n for n, token in enumerate(ids) if token != bos), len(ids))
    return "none" if not found else "one" if found == 1 else "doubled"
