"""The chat template of a model: renders conversations into the tokens of prompts, and is probed for what it really does.

Nothing here imports torch where the model has a tokenizer.json. Templates lose text silently, so every rendered prompt is
checked for its system text and its last message.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self

from typing_extensions import override

from helmbench_hf.hashing import text_sha
from helmbench_hf.models.engine import EngineError, Message, Thinking
from helmbench_hf.models.reasoning import TAGS, opens_reasoning

PINNED_DATE = datetime.date(2026, 1, 1)
"""What a template that asks for today's date is told. Else a prompt would change overnight, and its key would not."""
SWITCHES = ("enable_thinking", "thinking")
"""Names by which templates take a switch of thinking, true or false: Qwen, GLM, SmolLM, Gemma, Nemotron; Granite, DeepSeek."""
BY_SERVER: Literal["unknown: rendered by the server"] = "unknown: rendered by the server"

SystemRole = Literal["native", "rejected", "dropped", "unknown: rendered by the server"]
Bos = Literal["none", "one", "doubled", "unknown"]

# words that occur nowhere else, to look for in what a template renders
_SYSTEM = "helmsystemsentinel"
_PROBE = (Message("system", _SYSTEM), Message("user", "helmusersentinel"))
_LATER = (Message("assistant", "helmanswersentinel"), Message("user", "helmnextsentinel"))
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class ChatError(ValueError):
    """A conversation that cannot be rendered for this model. The message is a sentence; the request is refused."""


@dataclass(frozen=True, slots=True)
class ChatFacts:
    """What the probes found; None where a server renders and nobody here can know. `asdict` of it is plain JSON."""

    template_sha: str = ""
    """Empty where a server renders."""
    system_role: SystemRole = BY_SERVER
    """`rejected`: the template raises on a system message. `dropped`: it takes one and leaves it out of the prompt."""
    folded: bool = False
    """The system text goes before the first user message, a blank line between, because there is no system role."""
    thinking_switch: str | None = None
    """The argument of the template that switches thinking (one of `SWITCHES`): the prompt differs between on and off.
    Empty where there is none."""
    thinking: Thinking | Literal["unknown"] = "unknown"
    """Whether prompts are rendered with thinking on or off, asked for or by the template's default; unknown where the
    template has no switch to tell it by."""
    opens_reasoning: bool | None = None
    """The prompt ends inside an open reasoning block: what the model writes first is reasoning."""
    special_reasoning: bool | None = None
    """The marks of reasoning hold special tokens: an engine must not strip those, or the marks vanish."""
    keeps_prefix: bool | None = None
    """The prompt of a second turn begins with the whole prompt of the first, so that a prefix cache serves it. False too
    where the template renders no second turn."""
    bos: Bos = "unknown"
    """Begin-of-text tokens at the start of a rendered prompt."""
    dated: bool | None = None
    """The template asks for today's date; it is told `PINNED_DATE`."""
    template_kwargs: dict[str, Any] = field(default_factory=dict)
    """What the template is called with; part of every key."""

    @property
    def by_server(self) -> bool:
        """Say that a server renders: no prompt's text, tokens or length are known here."""
        return self.system_role == BY_SERVER


class Chat:
    """How conversations become prompts of one model. This base is for a server, which renders: nothing of the prompt is known."""

    def __init__(self, template_kwargs: Mapping[str, Any] | None = None) -> None:
        """`template_kwargs` are sent along, for servers that pass them to their template (`chat_template_kwargs`)."""
        self.facts = ChatFacts(template_kwargs=dict(template_kwargs or {}))

    def render(self, messages: Sequence[Message], prefill: str | None = None) -> tuple[int, ...]:
        """Give the token ids of the prompt, none where a server renders it. Raises `ChatError` where there can be none."""
        if not messages or not messages[-1].content.strip():
            raise ChatError("The last message of this conversation is empty; there is nothing to answer.")
        return ()

    def label_ids(self, labels: Sequence[str], prefill: str | None = None) -> tuple[int, ...]:
        """Give the one token of each label, as it would follow the prompt and `prefill`; nothing where a server has the tokens.

        Raises `EngineError` where a label is not exactly one token there, or two labels share one.
        """
        return ()

    def decode(self, tokens: Sequence[int]) -> str:
        """Give the text of token ids, special tokens included; nothing where a server has the tokens."""
        return ""

    def count(self, text: str) -> int:
        """Count the tokens of a text that stands alone; 0 where a server counts."""
        return 0

    def key_kwargs(self) -> dict[str, Any]:
        """Give what the template is called with, for the keys; the pinned date where the template uses one."""
        return {**self.facts.template_kwargs, **({"date": PINNED_DATE.isoformat()} if self.facts.dated else {})}


ServerTemplate = Chat


class ChatTemplate(Chat):
    """One model's tokenizer and template, probed once."""

    def __init__(
        self, tokenizer: Any, template_kwargs: Mapping[str, Any] | None = None, thinking: Thinking | None = None
    ) -> None:
        """Probe `tokenizer` (of transformers, with a chat template), and switch its thinking where that is asked for.

        Raises `EngineError` where it has no template, or one without the switch that is asked for.
        """
        self._tokenizer = tokenizer
        self._kwargs = dict(template_kwargs or {})
        try:
            self._source: str = tokenizer.get_chat_template()
        except ValueError as error:
            raise EngineError(
                f"The model {tokenizer.name_or_path} has no chat template, so messages cannot be formatted for it. Use its "
                f"instruction-tuned version."
            ) from error
        added = (token.content for token in tokenizer.added_tokens_decoder.values() if token.special)
        self._special = frozenset((*tokenizer.all_special_tokens, *added))
        self.facts = self._probe(thinking)

    @classmethod
    def load(cls, model: str | Path, template_kwargs: Mapping[str, Any] | None = None, thinking: Thinking | None = None) -> Self:
        """Load tokenizer and template of a model's folder, without torch where it has a tokenizer.json.

        Raises `EngineError` where it has no chat template or not the switch that is asked for.
        """
        folder = Path(model)
        try:
            if (folder / "tokenizer.json").is_file():
                from transformers import PreTrainedTokenizerFast as Tokenizer
            else:
                from transformers import AutoTokenizer as Tokenizer
        except ImportError as error:
            raise EngineError(
                "Rendering prompts needs transformers, which is not installed. Install `helmbench-hf[gpu]`, "
                "`helmbench-hf[cpu]` or `helmbench-hf[transformers]` (see README)."
            ) from error
        return cls(Tokenizer.from_pretrained(folder), template_kwargs, thinking)

    def render(self, messages: Sequence[Message], prefill: str | None = None) -> tuple[int, ...]:
        """Render a conversation into the token ids of a prompt that the assistant continues, after `prefill`.

        Control tokens that stand in a message as text stay text: a reply under judgment cannot end its own message.
        Raises `ChatError` where the last message is empty, or the template breaks or loses a part of the conversation.
        """
        super().render(messages)
        if prefill and self.facts.opens_reasoning:
            raise ChatError(
                "This model's template opens its reasoning before every answer, so the start of an answer cannot be "
                "supplied. Turn off thinking if the template allows it (enable_thinking), or use another judge."
            )
        sent = fold(messages) if self.facts.folded else tuple(messages)
        text = self._text(sent)
        expected = [messages[-1], *(message for message in sent if message.role == "system")]
        if any(message.content.strip() not in text for message in expected):
            raise ChatError("The chat template leaves part of this conversation out of the prompt.")
        return tuple(self._encode(text + (prefill or ""), sent))

    @override
    def label_ids(self, labels: Sequence[str], prefill: str | None = None) -> tuple[int, ...]:
        return single_tokens(self._ids, self._text(fold(_PROBE)) + (prefill or ""), labels)

    @override
    def decode(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=False))

    @override
    def count(self, text: str) -> int:
        return len(self._ids(text))

    def _text(
        self,
        messages: Sequence[Message | Mapping[str, str]],
        arguments: Mapping[str, Any] = _NOTHING,
        date: datetime.date = PINNED_DATE,
    ) -> str:
        """Render with the template; `arguments` win over those that it is called with anyway."""
        from jinja2 import TemplateError

        try:
            text = self._tokenizer.apply_chat_template(
                [asdict(message) if isinstance(message, Message) else message for message in messages],
                tokenize=False,
                add_generation_prompt=True,
                # names given to a template win over its environment's: this is today, as far as it can tell
                strftime_now=date.strftime,
                **{**self._kwargs, **arguments},
            )
        except (TemplateError, ValueError, TypeError, KeyError, IndexError) as error:
            raise ChatError(f"The chat template breaks on this conversation: {error}") from error
        return str(text)

    def _ids(self, text: str, literal: bool = False) -> list[int]:
        try:
            return list(self._tokenizer(text, add_special_tokens=False, split_special_tokens=literal)["input_ids"])
        except (TypeError, UnicodeError) as error:  # tokenizers name a lone surrogate by a type error
            raise ChatError("This conversation contains characters that no tokenizer can encode (a lone surrogate).") from error

    def _encode(self, text: str, messages: Sequence[Message]) -> list[int]:
        """Encode a rendered prompt; control tokens inside a message's content are encoded as the text that they are."""
        ids: list[int] = []
        position = 0
        for content in (message.content.strip() for message in messages):
            if not any(token in content for token in self._special):
                continue
            if (start := text.find(content, position)) < 0:
                raise ChatError("The chat template changes a message that contains the model's control tokens.")
            ids += self._ids(text[position:start]) + self._ids(content, literal=True)
            position = start + len(content)
        return ids + self._ids(text[position:])

    def _probe(self, thinking: Thinking | None) -> ChatFacts:
        probed = self._rendered(_PROBE)
        role: SystemRole = "rejected" if probed is None else "native" if _SYSTEM in probed else "dropped"
        messages = _PROBE if role == "native" else fold(_PROBE)
        try:
            self._text(messages)
        except ChatError as error:
            raise EngineError(f"The model's chat template cannot render even the simplest conversation: {error}") from error
        switch = next((name for name in SWITCHES if self._is_switch(messages, name)), "")
        if thinking is not None:
            self._switch(switch, thinking)
        text, next_turn = self._text(messages), self._rendered((*messages, *_LATER))
        states: dict[Thinking, bool] = {"on": True, "off": False}
        state = (state for state, value in states.items() if switch and self._text(messages, {switch: value}) == text)
        bos, ids = self._tokenizer.bos_token_id, self._ids(text)
        starts = next((n for n, token in enumerate(ids) if token != bos), len(ids))
        return ChatFacts(
            template_sha=text_sha(self._source),
            system_role=role,
            folded=role != "native",
            thinking_switch=switch,
            thinking=next(state, "unknown"),
            opens_reasoning=opens_reasoning(text),
            special_reasoning=any(token in mark for token in self._special for pair in TAGS for mark in pair),
            keeps_prefix=next_turn is not None and next_turn.startswith(text),
            bos="none" if not starts else "one" if starts == 1 else "doubled",
            dated=text != self._text(messages, date=PINNED_DATE + datetime.timedelta(days=400)),
            template_kwargs=dict(self._kwargs),
        )

    def _rendered(self, messages: Sequence[Message | Mapping[str, str]], arguments: Mapping[str, Any] = _NOTHING) -> str | None:
        """Render with the template; None where it breaks."""
        try:
            return self._text(messages, arguments)
        except ChatError:
            return None

    def _is_switch(self, messages: Sequence[Message], name: str) -> bool:
        """Say whether the prompt differs between the two values of an argument."""
        on, off = (self._rendered(messages, {name: value}) for value in (True, False))
        return None not in (on, off) and on != off

    def _switch(self, name: str, thinking: Thinking) -> None:
        """Set the argument that turns thinking on or off; refused where the prompt would be the same either way."""
        if not name:
            raise EngineError(
                f"The chat template of {self._tokenizer.name_or_path or 'this model'} has no switch for thinking "
                f"({' or '.join(SWITCHES)} change nothing), so thinking cannot be turned {thinking}. "
                "Leave thinking out: the model then does what it always does."
            )
        wanted = thinking == "on"
        if self._kwargs.get(name, wanted) != wanted:
            raise EngineError(
                f"The template's {name} is given as {self._kwargs[name]}, and thinking as {thinking}. Give only one of them."
            )
        self._kwargs[name] = wanted


def single_tokens(encode: Callable[[str], list[int]], text: str, labels: Sequence[str]) -> tuple[int, ...]:
    """Give the one token of each label as it follows `text`. Raises `EngineError` where one isn't, or two share one."""
    head = encode(text)
    # "Verdict:" wants " A"; after white space, or where the space is a token of its own, the bare letter follows
    for space in ("",) if text[-1:].isspace() else (" ", ""):
        tails = [encode(f"{text}{space}{label}") for label in labels]
        ids = tuple(tail[-1] for tail in tails)
        if len(set(ids)) == len(labels) and all(tail[:-1] == head for tail in tails):
            return ids
    raise EngineError(
        f"The labels {', '.join(labels)} are not one token each for this model, so their probabilities cannot be "
        "read. Use the judge's evidence mode, or another judge."
    )


def fold(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Move system text to the head of the first user message, a blank line between."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    if not system:
        return tuple(rest)
    if not rest or rest[0].role != "user":
        raise ChatError("A system text can be folded only into a user message, and the conversation does not begin with one.")
    return (Message("user", f"{system}\n\n{rest[0].content}"), *rest[1:])
