"""Conversations as requests: the first turn of every case, and each next turn the moment the last one ends.

What is stored is walked through first, so that a resume asks only for what is missing, wherever in a conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from helmbench_hf.dataset.shards import prefix_group
from helmbench_hf.inference.chat import Chat, ChatError
from helmbench_hf.inference.engine import Message, Request, Sampling
from helmbench_hf.inference.keys import KeyContext, request_key, turn_key
from helmbench_hf.records import Case, Completion


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a person chooses about the answers' distribution; every field is in the keys and in the manifest."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    seed: int = 0
    draws: int = 1
    """Answers per case, draw d with the seed `seed` + d; with temperature 0 more than one is refused."""
    free_form: bool = False
    """Without constrained decoding: the format is tested as well."""
    thinking_tokens: int = 0
    """Added to every budget, for models that reason before they answer."""

    def __post_init__(self) -> None:
        if self.draws > 1 and self.temperature == 0:
            raise ValueError(
                "repeats at temperature 0 would all be the same; add --set temperature=0.7, say, or leave --repeats out"
            )

    def as_row(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


@dataclass(slots=True)
class History:
    """How later turns carry what came before, over the conversations that were walked through. Plain counts.

    A prefix cache serves what a turn's prompt has in common with what the model read and wrote before it.
    """

    later_turns: int = 0
    """Prompts of second and later turns that could be rendered."""
    prompt_changed: int = 0
    """Of these, prompts that do not begin with the token ids of the turn before: the template renders its history anew."""
    answer_changed: int = 0
    """Prompts that do, and do not go on with the answer as the model wrote it."""
    reasoning_left_out: int = 0
    """Prompts whose last answer came after reasoning; the history never carries it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Where a request stands: which case, which draw, which turn (from 1)."""

    case: Case
    draw: int
    number: int

    @property
    def name(self) -> str:
        """Readable name of the request; grading finds answers by it."""
        return turn_name(self.case.code, self.number, self.draw)


def turn_name(code: str, turn: int, draw: int) -> str:
    """`P1-B1-S1-C1-U11-PT4/t1/d0`."""
    return f"{code}/t{turn}/d{draw}"


def opening(case: Case, turn: int) -> tuple[object, ...]:
    """What decides a turn's key beside model, settings and draw: conversations that begin alike share their first answers."""
    return case.system, case.turns[:turn], case.response_schema, case.max_tokens


class Conversations:
    """Turns cases into requests for one model and one setting, and remembers which conversation a request belongs to."""

    def __init__(
        self,
        cases: Sequence[Case],
        template: Chat,
        context: KeyContext,
        settings: Settings,
        stored: Mapping[str, Completion],
    ) -> None:
        """`stored`: the answers that exist, by key; their turns are not asked for again."""
        self._cases, self._template, self._context, self._settings = cases, template, context, settings
        self._stored = stored
        self._turns: dict[str, Turn] = {}
        self._later: set[str] = set()
        self.history = History()

    @property
    def planned_turns(self) -> int:
        """Answers that a whole run holds."""
        asked = {opening(case, number) for case in self._cases for number in range(1, len(case.turns) + 1)}
        return len(asked) * self._settings.draws

    def missing(self) -> list[Request]:
        """The next unanswered turn of every conversation, in the order of the prefix tree.

        That is lexicographic by token, and by text where a server has the tokens.
        """
        found = (self._unanswered(case, draw) for case in self._cases for draw in range(self._settings.draws))
        return sorted((request for request in found if request is not None), key=_place)

    def first_turns(self) -> Iterator[Request]:
        """Every conversation's first request, answered or not; for plans."""
        for case in self._cases:
            for draw in range(self._settings.draws):
                yield self._first(case, draw)

    def follow_up(self, request: Request, completion: Completion) -> Request | None:
        """The next turn that has no stored answer; None where the conversation ends or the turn was never answered."""
        following = self._next(request, completion)
        while following is not None and (known := self._stored.get(following.key)) is not None:
            following = self._next(following, known)
        return following

    def _unanswered(self, case: Case, draw: int) -> Request | None:
        first = self._first(case, draw)
        known = self._stored.get(first.key)
        return first if known is None else self.follow_up(first, known)

    def _first(self, case: Case, draw: int) -> Request:
        system = (Message("system", case.system),) if case.system else ()
        return self._request(Turn(case, draw, 1), (*system, Message("user", case.turns[0])), None)

    def _next(self, request: Request, completion: Completion) -> Request | None:
        turn = self._turns[request.name]
        if turn.number >= len(turn.case.turns) or completion.status not in {"ok", "truncated"}:
            return None
        # The model should see what it wrote: the raw answer, JSON included (engineering review, 11.16).
        new = (Message("assistant", completion.text), Message("user", turn.case.turns[turn.number]))
        following = self._request(Turn(turn.case, turn.draw, turn.number + 1), (*request.messages, *new), request.key)
        self._compare(request, completion, following)
        return following

    def _compare(self, before: Request, completion: Completion, after: Request) -> None:
        """Count how a later turn's prompt carries the turn before, once a turn."""
        if not after.tokens or after.name in self._later:
            return
        self._later.add(after.name)
        self.history.later_turns += 1
        self.history.reasoning_left_out += bool(completion.reasoning)
        if after.tokens[: len(before.tokens)] != before.tokens:
            self.history.prompt_changed += 1
        elif not self._template.decode(after.tokens[len(before.tokens) :]).strip().startswith(completion.text.strip()):
            self.history.answer_changed += 1

    def _request(self, turn: Turn, messages: tuple[Message, ...], parent: str | None) -> Request:
        case, schema = turn.case, None if self._settings.free_form else turn.case.response_schema
        sampling = self._sampling(case, turn.draw)
        if parent is None:
            key = request_key(self._context, messages, sampling, schema=schema, draw=turn.draw)
        else:
            key = turn_key(parent, messages[-2:], sampling, schema=schema, draw=turn.draw)
        self._turns[turn.name] = turn  # not by key, which conversations that begin alike share
        tokens, refusal = self._render(messages)
        return Request(key, turn.name, messages, tokens, sampling, schema=schema, group=prefix_group(case), refusal=refusal)

    def _render(self, messages: tuple[Message, ...]) -> tuple[tuple[int, ...], str]:
        try:
            return self._template.render(messages), ""
        except ChatError as error:
            return (), str(error)

    def _sampling(self, case: Case, draw: int) -> Sampling:
        chosen = self._settings
        return Sampling(
            temperature=chosen.temperature,
            top_p=chosen.top_p,
            top_k=chosen.top_k,
            min_p=chosen.min_p,
            repetition_penalty=chosen.repetition_penalty,
            presence_penalty=chosen.presence_penalty,
            max_tokens=case.max_tokens + chosen.thinking_tokens,
            seed=None if chosen.temperature == 0 else chosen.seed + draw,
        )


def _place(request: Request) -> tuple[tuple[int, ...], list[str]]:
    return request.tokens, [] if request.tokens else [message.content for message in request.messages]
