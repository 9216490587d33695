"""Conversations as requests: the first turn of every case, and each next turn the moment the last one ends.

What is stored is walked through first, so that a resume asks only for what is missing, wherever in a conversation.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

from helmbench_hf.dataset.shards import prefix_group
from helmbench_hf.dataset.store import CaseStore
from helmbench_hf.disk_table import DiskTables
from helmbench_hf.inference.chat import Chat, ChatError
from helmbench_hf.inference.engine import Message, Request, Sampling
from helmbench_hf.inference.keys import KeyContext, request_key, text_sha, turn_key
from helmbench_hf.inference.plan import depth_first, place
from helmbench_hf.records import Case, Completion

KINDS = {bool: "true or false", int: "a whole number", float: "a number"}
"""Of a setting, for people."""


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
        for each in fields(self):
            value = getattr(self, each.name)
            kind: type = type(each.default)
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not (isinstance(value, bool) if kind is bool else number and (kind is float or isinstance(value, int))):
                raise ValueError(f"{each.name} is {KINDS[kind]}, not {value!r}; give it as --set {each.name}=VALUE")
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


Talk = tuple[Case, int]
"""A conversation: a case and its draw."""
TOGETHER = 1_000_000
"""Characters of one group's requests that are rendered and put in order at a time: some ten megabytes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked at a turn, before it is rendered."""

    turn: Turn
    messages: tuple[Message, ...]
    key: str

    @property
    def last(self) -> bool:
        """Whether the conversation ends with it."""
        return self.turn.number >= len(self.turn.case.turns)


@dataclass(frozen=True, slots=True)
class InOrder:
    """One request a conversation, in the order of the prefix tree: by token, and by text where a server has the tokens.

    Requests are made when they are asked for, about `TOGETHER` of one group at a time: the prompts of a whole run would not
    fit in memory. A group's conversations have one system text, so that prompts of two groups part before their messages begin;
    within a larger group only what follows that text is out of order.
    """

    groups: Sequence[int]
    requests: Callable[[int], Iterator[Request]]
    """The requests of a group, made as they are asked for; at least one."""
    size: int

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Request]:
        order = DiskTables("CREATE TABLE firsts (tokens BLOB, texts BLOB, key TEXT, number INTEGER)")
        for number in self.groups:
            order.run("INSERT INTO firsts VALUES (?, ?, ?, ?)", (*place(next(self.requests(number))), number))
        for (number,) in order.rows("SELECT number FROM firsts ORDER BY tokens, texts, key"):
            for together in _portions(self.requests(number)):
                yield from depth_first(together)


def _portions(requests: Iterator[Request]) -> Iterator[list[Request]]:
    """Requests by the portion: each ends with the one that fills it. Counted by characters, for one prompt may be long."""
    portion: list[Request] = []
    size = 0
    for request in requests:
        portion.append(request)
        size += sum(len(message.content) for message in request.messages)
        if size >= TOGETHER:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


class Conversations:
    """Turns cases into requests for one model and one setting, and remembers which conversation a request belongs to."""

    def __init__(
        self,
        cases: Iterable[Case],
        template: Chat,
        context: KeyContext,
        settings: Settings,
        stored: Mapping[str, Completion],
    ) -> None:
        """`stored`: the answers that exist, by key; their turns are not asked for again."""
        self._template, self._context, self._settings, self._stored = template, context, settings, stored
        self._turns: dict[str, Turn] = {}  # those that another may follow, by name: conversations can share keys
        self._cases = CaseStore.of(cases)

    @cached_property
    def planned_turns(self) -> int:
        """Answers that a whole run holds."""
        # digests, because a group's texts need not fit in memory; the system text is the group's own
        asked = (
            {
                text_sha(repr(opening(case, number)[1:]))
                for case in self._cases.group(group)
                for number in range(1, len(case.turns) + 1)
            }
            for group in self._cases.groups()
        )
        return sum(map(len, asked)) * self._settings.draws

    def missing(self) -> InOrder:
        """The next unanswered turn of every conversation."""
        if not self._stored:
            return self._all(self._unanswered)
        groups, size = array("Q"), 0
        for group in self._cases.groups():
            if found := sum(self._open(self._first(talk)) is not None for talk in self._talks(self._cases.group(group))):
                groups.append(group)
                size += found
        return InOrder(groups, self._unanswered, size)

    def reached(self) -> Iterator[Asked]:
        """Every turn that the stored answers lead to, answered or not, conversation by conversation; nothing is rendered."""
        for talk in self._talks(self._cases):
            asked: Asked | None = self._first(talk)
            while asked is not None:
                yield asked
                completion = self._stored.get(asked.key)
                asked = None if completion is None else self._next(asked, completion)

    def first_turns(self) -> InOrder:
        """Every conversation's first request, answered or not; for plans."""
        return self._all(lambda group: (self._request(self._first(talk)) for talk in self._talks(self._cases.group(group))))

    def later(self, request: Request) -> tuple[str, ...]:
        """What the person will write after this turn. Asked once for a request, and forgotten."""
        turn = self._turns.pop(request.name, None)
        return turn.case.turns[turn.number :] if turn else ()

    def follow_up(self, request: Request, completion: Completion) -> Request | None:
        """The next turn that has no stored answer; None where the conversation ends or the turn was never answered.

        Asked once for a request, and forgotten.
        """
        turn = self._turns.pop(request.name, None)
        if turn is None:
            return None
        following = self._open(self._next(Asked(turn, request.messages, request.key), completion))
        return None if following is None else self._request(following)

    def history(self, stored: Mapping[str, Completion]) -> History:
        """Count how the prompts of later turns carry the turns before; every answered conversation is rendered once more."""
        found = History()
        for talk in self._talks(case for case in self._cases if len(case.turns) > 1):
            self._follow(self._first(talk), stored, found)
        return found

    def _follow(self, asked: Asked, stored: Mapping[str, Completion], found: History) -> None:
        tokens, _ = self._render(asked.messages)
        while (completion := stored.get(asked.key)) is not None and (after := self._next(asked, completion)) is not None:
            following, _ = self._render(after.messages)
            if following:
                found.later_turns += 1
                found.reasoning_left_out += bool(completion.reasoning)
                if following[: len(tokens)] != tokens:
                    found.prompt_changed += 1
                elif not self._template.decode(following[len(tokens) :]).strip().startswith(completion.text.strip()):
                    found.answer_changed += 1
            asked, tokens = after, following

    def _talks(self, cases: Iterable[Case]) -> Iterator[Talk]:
        return ((case, draw) for case in cases for draw in range(self._settings.draws))

    def _all(self, requests: Callable[[int], Iterator[Request]]) -> InOrder:
        return InOrder(array("Q", self._cases.groups()), requests, len(self._cases) * self._settings.draws)

    def _unanswered(self, group: int) -> Iterator[Request]:
        for talk in self._talks(self._cases.group(group)):
            if (asked := self._open(self._first(talk))) is not None:
                yield self._request(asked)

    def _open(self, asked: Asked | None) -> Asked | None:
        """Go on from a turn to the first one without a stored answer; None where there is none."""
        while asked is not None and asked.key in self._stored:
            asked = None if asked.last else self._next(asked, self._stored[asked.key])
        return asked

    def _first(self, talk: Talk) -> Asked:
        case, draw = talk
        system = (Message("system", case.system),) if case.system else ()
        messages = (*system, Message("user", case.turns[0]))
        return Asked(
            Turn(case, draw, 1),
            messages,
            request_key(self._context, messages, self._sampling(case, draw), schema=self._schema(case), draw=draw),
        )

    def _next(self, asked: Asked, completion: Completion) -> Asked | None:
        """The turn after a completion; None where it was the last, or where nothing came that a history could carry."""
        case, draw, number = asked.turn.case, asked.turn.draw, asked.turn.number
        if asked.last or completion.status not in {"ok", "truncated"}:
            return None
        # The model should see what it wrote: the raw answer, JSON included (engineering review, 11.16).
        new = (Message("assistant", completion.text), Message("user", case.turns[number]))
        key = turn_key(asked.key, new, self._sampling(case, draw), schema=self._schema(case), draw=draw)
        return Asked(Turn(case, draw, number + 1), (*asked.messages, *new), key)

    def _request(self, asked: Asked) -> Request:
        turn, case = asked.turn, asked.turn.case
        if not asked.last:
            self._turns[turn.name] = turn
        tokens, refusal = self._render(asked.messages)
        return Request(
            asked.key,
            turn.name,
            asked.messages,
            tokens,
            self._sampling(case, turn.draw),
            schema=self._schema(case),
            group=prefix_group(case),
            refusal=refusal,
        )

    def _schema(self, case: Case) -> str | None:
        return None if self._settings.free_form else case.response_schema

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
