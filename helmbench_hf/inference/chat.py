"""The chat template of a model: rendering a conversation into the tokens of a prompt, and what was found out about it.

Nothing here imports torch where the model has a tokenizer.json (engineering review, section 8). Silent losses are
looked for, not hoped against: every rendered prompt is checked for its system text and its last message.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Protocol, Self

from helmbench_hf.inference import probes
from helmbench_hf.inference.engine import EngineError, Message, Thinking
from helmbench_hf.inference.identity import locate
from helmbench_hf.inference.keys import text_sha
from helmbench_hf.inference.probes import BY_SERVER, PINNED_DATE, PROBE, ChatError, ChatFacts, fold, plain
from helmbench_hf.inference.reasoning import TAGS, opens_reasoning, split_reasoning

__all__ = ["PINNED_DATE", "Chat", "ChatError", "ChatFacts", "ChatTemplate", "ServerTemplate", "fold", "split_reasoning"]

PIECES = 256
"""Encoded pieces of prompts that are kept: conversations come in the order of their prefixes, so few are in use."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Chat(Protocol):
    """How conversations become prompts of one model: its template here, or a server's."""

    @property
    def facts(self) -> ChatFacts:
        """What is known of the template."""
        ...

    def render(self, messages: Sequence[Message], prefill: str | None = None) -> tuple[int, ...]:
        """Token ids of the prompt, none where a server renders it. Raises `ChatError` for a conversation without one."""
        ...

    def label_ids(self, labels: Sequence[str], prefill: str | None = None) -> tuple[int, ...]:
        """The one token of each label. Raises `EngineError` where that is not so, or cannot be known."""
        ...

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of token ids, special tokens included; nothing where a server has the tokens."""
        ...

    def count(self, text: str) -> int:
        """Tokens of a text that stands alone; 0 where a server counts."""
        ...

    def key_kwargs(self) -> dict[str, Any]:
        """What the template is called with, for the keys."""
        ...


class ChatTemplate:
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
                f"The model {tokenizer.name_or_path} has no chat template, so nobody knows how to talk to it. "
                "Use its instruction-tuned sibling."
            ) from error
        added = (token.content for token in tokenizer.added_tokens_decoder.values() if token.special)
        self._special = frozenset((*tokenizer.all_special_tokens, *added))
        self._bounds = _bounds(tokenizer)
        self._piece = lru_cache(PIECES)(self._whole)
        self.facts = self._probe(thinking)

    @classmethod
    def load(
        cls,
        model: str,
        revision: str | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
        thinking: Thinking | None = None,
    ) -> Self:
        """Load tokenizer and template of a folder or a Hub id, without torch where it has a tokenizer.json.

        Raises `EngineError` where the model cannot be found, has no chat template or not the switch that is asked for.
        """
        folder = locate(model, revision).path
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

        Control tokens that stand in a message as text stay text: a reply under judgement cannot end its own message.
        Raises `ChatError` where the last message is empty, or the template breaks or loses a part of the conversation.
        """
        _check_last(messages)
        if prefill and self.facts.opens_reasoning:
            raise ChatError(
                "This model's template opens its reasoning before every answer, so an answer cannot be begun for it. "
                "Turn thinking off where the template can (enable_thinking), or use another judge."
            )
        sent = fold(messages) if self.facts.folded else tuple(messages)
        text = self._text(sent)
        if messages[-1].content.strip() not in text or any(
            message.content.strip() not in text for message in sent if message.role == "system"
        ):
            raise ChatError("The chat template leaves a part of this conversation out of the prompt.")
        return tuple(self._encode(text + (prefill or ""), sent))

    def label_ids(self, labels: Sequence[str], prefill: str | None = None) -> tuple[int, ...]:
        """Give the one token of each label, as it would follow the prompt and `prefill`.

        Raises `EngineError` where a label is not exactly one token there, or two labels share one.
        """
        text = self._text(fold(PROBE)) + (prefill or "")
        head = self._ids(text)
        # "Verdict:" wants " A"; after white space, or where the space is a token of its own, the bare letter follows
        for space in ("",) if text[-1:].isspace() else (" ", ""):
            tails = [self._ids(f"{text}{space}{label}") for label in labels]
            ids = tuple(tail[-1] for tail in tails)
            if len(set(ids)) == len(labels) and all(tail[:-1] == head for tail in tails):
                return ids
        raise EngineError(
            f"The labels {', '.join(labels)} are not one token each for this model, so their probabilities cannot be "
            "read. Use the judge's evidence mode, or another judge."
        )

    def decode(self, tokens: Sequence[int]) -> str:
        """Give the text of token ids, special tokens included."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=False))

    def count(self, text: str) -> int:
        """Count the tokens of a text that stands alone."""
        return len(self._ids(text))

    def key_kwargs(self) -> dict[str, Any]:
        """Give what the template is called with, for the keys; the pinned date where the template uses one."""
        return {**self._kwargs, **({"date": PINNED_DATE.isoformat()} if self.facts.dated else {})}

    def _text(self, messages: Sequence[Message]) -> str:
        return self._rendered(plain(messages))

    def _rendered(
        self,
        messages: Sequence[Mapping[str, str]],
        arguments: Mapping[str, Any] = _NOTHING,
        date: datetime.date = PINNED_DATE,
    ) -> str:
        from jinja2 import TemplateError

        try:
            text = self._tokenizer.apply_chat_template(
                list(messages),
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
        """Encode a text, piece by piece from control token to control token: pieces that many prompts share are kept."""
        if literal or self._bounds is None:
            return list(self._whole(text, literal))
        cuts = [0, *(match.start() for match in self._bounds.finditer(text) if match.start()), len(text)]
        return [token for begin, end in pairwise(cuts) for token in self._piece(text[begin:end])]

    def _whole(self, text: str, literal: bool = False) -> tuple[int, ...]:
        try:
            return tuple(self._tokenizer(text, add_special_tokens=False, split_special_tokens=literal)["input_ids"])
        except (TypeError, UnicodeError) as error:  # tokenizers name a lone surrogate by a type error
            raise ChatError("This conversation holds characters that no tokenizer can encode (a lone surrogate).") from error

    def _encode(self, text: str, messages: Sequence[Message]) -> list[int]:
        """Encode a rendered prompt; control tokens inside a message's content are encoded as the text that they are."""
        ids: list[int] = []
        position = 0
        for content in (message.content.strip() for message in messages):
            if not any(token in content for token in self._special):
                continue
            if (start := text.find(content, position)) < 0:
                raise ChatError("The chat template changes a message that holds the model's control tokens.")
            ids += self._ids(text[position:start]) + self._ids(content, literal=True)
            position = start + len(content)
        return ids + self._ids(text[position:])

    def _probe(self, thinking: Thinking | None) -> ChatFacts:
        render, role = self._rendered, probes.system_role(self._rendered)
        messages = PROBE if role == "native" else fold(PROBE)
        try:
            render(plain(messages))
        except ChatError as error:
            raise EngineError(f"The model's chat template cannot render the plainest conversation: {error}") from error
        switch = probes.thinking_switch(render, messages)
        if thinking is not None:
            self._switch(switch, thinking)
        text = self._text(messages)
        return ChatFacts(
            template_sha=text_sha(self._source),
            system_role=role,
            folded=role != "native",
            developer_role=probes.developer_role(render, self._source),
            thinking_switch=switch,
            thinking=probes.thinking_state(render, messages, switch),
            opens_reasoning=opens_reasoning(text),
            special_reasoning=any(token in mark for token in self._special for pair in TAGS for mark in pair),
            keeps_prefix=probes.keeps_prefix(render, messages),
            bos=probes.begins(self._ids(text), self._tokenizer.bos_token_id),
            dated=probes.is_dated(render, messages),
            template_kwargs=dict(self._kwargs),
        )

    def _switch(self, name: str, thinking: Thinking) -> None:
        """Set the argument that turns thinking on or off; refused where the prompt would be the same either way."""
        if not name:
            raise EngineError(
                f"The chat template of {self._tokenizer.name_or_path or 'this model'} has no switch of thinking "
                f"({' or '.join(probes.SWITCHES)} change nothing), so thinking cannot be turned {thinking}. "
                "Leave --thinking out: the model then does what it always does."
            )
        wanted = thinking == "on"
        if self._kwargs.get(name, wanted) != wanted:
            raise EngineError(f"The template's {name} is given as {self._kwargs[name]}, and thinking as {thinking}. Give one.")
        self._kwargs[name] = wanted


class ServerTemplate:
    """The counterpart of `ChatTemplate` for an endpoint: messages go as messages, so nothing of the prompt is known."""

    def __init__(self, template_kwargs: Mapping[str, Any] | None = None) -> None:
        """`template_kwargs` are sent along, for servers that pass them to their template (`chat_template_kwargs`)."""
        self.facts = ChatFacts(
            template_sha="",
            system_role=BY_SERVER,
            folded=False,
            developer_role="unknown",
            thinking_switch=None,
            thinking="unknown",
            opens_reasoning=None,
            special_reasoning=None,
            keeps_prefix=None,
            bos="unknown",
            dated=None,
            template_kwargs=dict(template_kwargs or {}),
        )

    def render(self, messages: Sequence[Message], prefill: str | None = None) -> tuple[int, ...]:
        """Give no token ids: the server renders. Raises `ChatError` where the last message is empty or an answer is begun."""
        _check_last(messages)
        if prefill:
            raise ChatError("A server renders the prompt here, so an answer cannot be begun for the model.")
        return ()

    def label_ids(self, labels: Sequence[str], prefill: str | None = None) -> tuple[int, ...]:
        """Raise `EngineError`: the server's tokens are not known here."""
        raise EngineError(
            "The tokens of a model behind an endpoint are not known here, so the probabilities of labels are not either."
        )

    def decode(self, tokens: Sequence[int]) -> str:
        """Give nothing: the server has the tokens."""
        return ""

    def count(self, text: str) -> int:
        """Give 0: the server counts."""
        return 0

    def key_kwargs(self) -> dict[str, Any]:
        """Give what the template is called with."""
        return dict(self.facts.template_kwargs)


def _bounds(tokenizer: Any) -> re.Pattern[str] | None:
    """A pattern of the control tokens before which a text can be cut without changing its tokens; None where it cannot.

    A fast tokenizer takes such tokens out before it does anything else. One that swallows the white space before it, or
    wants to stand alone, looks across the cut.
    """
    special = [token for token in tokenizer.added_tokens_decoder.values() if token.special]
    if not special or not tokenizer.is_fast or any(token.lstrip or token.single_word for token in special):
        return None
    longest_first = sorted((token.content for token in special), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)))


def _check_last(messages: Sequence[Message]) -> None:
    if not messages or not messages[-1].content.strip():
        raise ChatError("The last message of this conversation is empty; there is nothing to answer.")
