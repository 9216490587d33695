"""Conversations as requests: the first turn of every case, and each next turn the moment the last one ends.

Stored answers are walked through first, so that a resume asks only for what is missing, wherever in a conversation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar, cast

from helmbench_hf.dataset.shards import prefix_group
from helmbench_hf.models.chat import Chat, ChatError
from helmbench_hf.models.engine import Message, Request, Sampling
from helmbench_hf.models.keys import KeyContext, request_key
from helmbench_hf.records import Act, Case, Completion
from helmbench_hf.runs.router import ACT, OF_ACTS, Choices, Router, act_of, chosen, question
from helmbench_hf.runs.worded import FIT, LINE, OF_FIT, TRIES, Outcome, User, check, draft, formed
from helmbench_hf.tasks.kinds import read_answer
from helmbench_hf.tasks.reactive import texts_after, walk

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
                raise ValueError(f"{each.name} must be {KINDS[kind]}, not {value!r}; give it as --set {each.name}=VALUE")
        if self.draws > 1 and self.temperature == 0:
            raise ValueError(
                "at temperature 0 all repeats are the same; raise it, for example with --set temperature=0.7, or leave out draws"
            )


@dataclass(slots=True)
class History:
    """How the prompts of later turns carry the turns before, as counts over the answered conversations.

    A prefix cache serves what a turn's prompt has in common with what the model read and wrote before it.
    """

    later_turns: int = 0
    """Prompts of second and later turns that could be rendered."""
    prompt_changed: int = 0
    """Of these, prompts that do not begin with the token ids of the turn before: the template renders its history anew."""
    answer_changed: int = 0
    """Prompts that do, but do not continue with the answer as the model wrote it."""
    reasoning_left_out: int = 0
    """Prompts whose last answer came after reasoning; the history never carries it."""


def turn_name(code: str, turn: int, draw: int) -> str:
    """`P1-B1-S1-C1-U11-PT4/t1/d0`."""
    return f"{code}/t{turn}/d{draw}"


def is_answer(request: str) -> bool:
    """Whether a request's name is that of a turn, and not of what router or user model say about it."""
    return request.rpartition("/")[2].startswith("d")


def before(case: Case) -> tuple[Message, ...]:
    """What stands before a case's first message: the system prompt, and an ordinary chat where the case has one."""
    system = (Message("system", case.system),) if case.system else ()
    chat = tuple(Message("assistant" if turn % 2 else "user", said) for turn, said in enumerate(case.history))
    return (*system, *chat)


@dataclass(frozen=True, slots=True)
class Asked:
    """One turn of one conversation, before it is rendered."""

    case: Case
    draw: int
    number: int
    """The turn, from 1."""
    messages: tuple[Message, ...]
    key: str
    acts: tuple[Act, ...] = ()
    """In a reactive conversation: what the replies before this turn do."""

    @property
    def name(self) -> str:
        """Readable name of the request; grading finds answers by it."""
        return turn_name(self.case.code, self.number, self.draw)

    @property
    def last(self) -> bool:
        """Whether the conversation ends with it."""
        return not walk(self.case.route, self.acts)[-1][0].steps if self.reactive else self.number >= len(self.case.turns)

    @property
    def reactive(self) -> bool:
        """Whether the next message depends on the reply."""
        return bool(self.case.route.beats)


@dataclass(frozen=True, slots=True)
class Doubt:
    """What another model has to say before a conversation goes on after a reply: the router, or the user model."""

    asked: Asked
    completion: Completion
    key: str
    name: str
    """Of the request: the turn, and `ACT`, `LINE` or `FIT`."""
    messages: tuple[Message, ...]
    """What is asked."""
    choices: Choices | None = OF_ACTS
    """None: a line is asked for, of the user model."""
    attempt: int = 0


Turn = TypeVar("Turn", Asked, Asked | Doubt)


class Conversations:
    """Turns cases into requests for one model and one setting, and remembers which conversation a request belongs to."""

    def __init__(
        self,
        cases: Sequence[Case],
        template: Chat,
        context: KeyContext,
        settings: Settings,
        stored: Mapping[str, Completion],
        router: Router | None = None,
        words: Mapping[str, Completion] = MappingProxyType({}),
        user: User | None = None,
    ) -> None:
        """`stored`: the answers that exist, by key; their turns are not asked for again. `words`: the same of router and user.

        Without a router a reactive conversation ends after its first turn. Without a user model the person's lines
        stand as authored.
        """
        self._cases, self._template, self._context, self._settings = cases, template, context, settings
        self._stored, self._router, self._words, self._user = stored, router, words, user
        self._asked: dict[str, Asked] = {}  # those that another may follow, by name: conversations can share keys
        self._doubts: dict[str, Doubt] = {}
        self._new: dict[str, Completion] = {}  # what router and user have said since, by key

    @cached_property
    def planned_turns(self) -> int:
        """Answers that a complete run holds, at most: conversations that begin alike share their first answers."""
        asked = {
            (case.system, case.history, case.turns[:number], case.response_schema, case.max_tokens)
            for case in self._cases
            for number in range(1, len(case.turns) + 1)
        }
        later = sum(case.most_turns - 1 for case in self._cases if case.route.beats) if self._router else 0
        return (len(asked) + later) * self._settings.draws

    def missing(self) -> list[Asked | Doubt]:
        """What every conversation waits for, an answer or an act; prompts that begin alike are neighbors."""
        found = (self._open(self._first(case, draw)) for case, draw in self._talks())
        return _by_prefix(each for each in found if each is not None)

    def first_turns(self) -> list[Asked]:
        """Every conversation's first turn, answered or not, in the same order."""
        return _by_prefix(self._first(case, draw) for case, draw in self._talks())

    def reached(self) -> Iterator[Asked]:
        """Every turn that the stored answers lead to, answered or not, conversation by conversation; nothing is rendered."""
        for case, draw in self._talks():
            asked: Asked | Doubt | None = self._first(case, draw)
            while isinstance(asked, Asked):
                yield asked
                completion = self._stored.get(asked.key)
                asked = None if completion is None else self._next(asked, completion)

    def labels(self) -> Iterator[tuple[str, Completion]]:
        """The router's stored answers along the conversations, by the name of the turn and `ACT`."""
        for asked in self.reached():
            completion = self._stored.get(asked.key)
            if asked.reactive and completion is not None and (label := self._label(asked, completion)[1]) is not None:
                yield f"{asked.name}{ACT}", label

    def lines(self) -> Iterator[tuple[str, Completion]]:
        """What the person said where it is not what was authored, by the name of the turn and `LINE`."""
        for asked in self.reached():
            said = asked.messages[-1].content
            if asked.reactive and said != walk(asked.case.route, asked.acts)[-1][0].text:
                yield f"{asked.name}{LINE}", Completion(asked.key, f"{asked.name}{LINE}", "ok", said)

    def tries(self) -> Iterator[list[Outcome]]:
        """What came of each try at each line that a user model worded; nothing for a line that is still open."""
        for asked in self.reached() if self._user else ():
            completion = self._stored.get(asked.key)
            after = None if completion is None else self._next(asked, completion)
            if completion is not None and isinstance(after, Asked) and after.acts:
                yield [tried for tried, _ in self._tried(asked, completion, after.acts) if not isinstance(tried, Doubt)]

    def doubt(self, asked: Asked, completion: Completion) -> Doubt | None:
        """The router's question about a reply, answered or not; None where nobody needs to be asked."""
        if self._router is None or asked.last or not asked.reactive or act_of(asked.case, completion, None) is not None:
            return None
        return self._sorting(asked, completion)

    def request(self, asked: Asked | Doubt) -> Request:
        """Render a turn, or a question to the router; a prompt that cannot be rendered carries its refusal."""
        if isinstance(asked, Doubt):
            assert self._router is not None  # only `_next` makes doubts, where there is one
            self._doubts[asked.name] = asked
            group = prefix_group(asked.asked.case)
            if asked.choices is not None:
                return self._router.request(asked.name, asked.messages, group, asked.choices)
            assert self._user is not None
            return self._user.request(asked.name, asked.messages, asked.attempt, group)
        if not asked.last:
            self._asked[asked.name] = asked
        tokens, refusal = self._render(asked.messages)
        return Request(
            asked.key,
            asked.name,
            asked.messages,
            tokens,
            self._sampling(asked.case, asked.draw),
            schema=self._schema(asked.case),
            group=prefix_group(asked.case),
            refusal=refusal,
        )

    def follow_up(self, request: Request, completion: Completion) -> Request | None:
        """What comes after an answer or an act and is not stored; None where the conversation ends or nothing came.

        Asked once for a request, and forgotten.
        """
        following: Asked | Doubt | None = None
        if (doubt := self._doubts.pop(request.name, None)) is not None:
            self._new[request.key] = completion
            following = self._next(doubt.asked, doubt.completion)
        elif (asked := self._asked.pop(request.name, None)) is not None:
            following = self._next(asked, completion)
        following = self._open(following)
        return None if following is None else self.request(following)

    def history(self, stored: Mapping[str, Completion]) -> History:
        """Count how the prompts of later turns carry the turns before; every answered conversation is rendered once more."""
        found = History()
        for case, draw in self._talks():
            if case.most_turns > 1:
                self._count_history(self._first(case, draw), stored, found)
        return found

    def _count_history(self, asked: Asked, stored: Mapping[str, Completion], found: History) -> None:
        tokens, _ = self._render(asked.messages)
        while (completion := stored.get(asked.key)) is not None:
            after = self._next(asked, completion)
            if not isinstance(after, Asked):
                break
            following, _ = self._render(after.messages)
            if following:
                found.later_turns += 1
                found.reasoning_left_out += bool(completion.reasoning)
                if following[: len(tokens)] != tokens:
                    found.prompt_changed += 1
                elif not self._template.decode(following[len(tokens) :]).strip().startswith(completion.text.strip()):
                    found.answer_changed += 1
            asked, tokens = after, following

    def _talks(self) -> Iterator[tuple[Case, int]]:
        return ((case, draw) for case in self._cases for draw in range(self._settings.draws))

    def _open(self, asked: Asked | Doubt | None) -> Asked | Doubt | None:
        """The first turn from this one on that has no stored answer, or no act; None where there is none."""
        while isinstance(asked, Asked) and asked.key in self._stored:
            asked = self._next(asked, self._stored[asked.key])
        return asked

    def _first(self, case: Case, draw: int) -> Asked:
        messages = (*before(case), Message("user", case.turns[0]))
        key = request_key(self._context, messages, self._sampling(case, draw), schema=self._schema(case), draw=draw)
        return Asked(case, draw, 1, messages, key)

    def _next(self, asked: Asked, completion: Completion) -> Asked | Doubt | None:
        """The turn after a completion, or the doubt before it; None where it was the last, or no history could carry it."""
        if asked.last or completion.status not in {"ok", "truncated"}:
            return None
        if not asked.reactive:
            return self._with(asked, completion, asked.case.turns[asked.number], ())
        _, label = self._label(asked, completion)
        if (act := act_of(asked.case, completion, label)) is not None:
            return self._after(asked, completion, (*asked.acts, act))
        return self._unless_asked(self._sorting(asked, completion)) if self._router else None

    def _after(self, asked: Asked, completion: Completion, acts: tuple[Act, ...]) -> Asked | Doubt | None:
        """The turn that the acts lead to, or what its line waits for."""
        line = walk(asked.case.route, acts)[-1][0].text
        for tried, text in self._tried(asked, completion, acts) if self._user else ():
            if isinstance(tried, Doubt):
                return self._unless_asked(tried)
            line = text if tried == "fits" else line
        return self._with(asked, completion, line, acts)

    def _tried(self, asked: Asked, completion: Completion, acts: tuple[Act, ...]) -> Iterator[tuple[Outcome | Doubt, str]]:
        """What came of each try at the line that these acts lead to, up to the first that fits or has to be asked for."""
        assert self._user is not None
        assert self._router is not None  # lines are worded along its paths
        beat, name = walk(asked.case.route, acts)[-1][0], turn_name(asked.case.code, asked.number + 1, asked.draw)
        said, seen = _said(asked, completion)
        later = texts_after(asked.case.route, beat)
        for attempt in range(TRIES):
            messages = draft(said, seen, beat.text)
            key = self._user.key(messages, attempt)
            if (line := self._word(key)) is None:
                yield Doubt(asked, completion, key, f"{name}{LINE}{attempt}", messages, None, attempt), ""
                return
            text = line.text.strip()
            if line.status not in ("ok", "truncated") or not formed(text, seen[-1], later):
                yield "form", text
                continue
            messages = check(said, seen[-1], beat.text, later, text)
            key = self._router.key(messages, OF_FIT)
            if (word := self._word(key)) is None:
                yield Doubt(asked, completion, key, f"{name}{FIT}{attempt}", messages, OF_FIT, attempt), ""
                return
            outcome = cast(Outcome, chosen(word, OF_FIT) or "strays")
            yield outcome, text
            if outcome == "fits":
                return

    def _word(self, key: str) -> Completion | None:
        """What router or user model said; None where they have not, or their engine failed."""
        found = self._new.get(key) or self._words.get(key)
        return None if found is None or found.status == "engine_error" else found

    def _unless_asked(self, doubt: Doubt) -> Doubt | None:
        """None where the question was answered just now, and the answer says nothing: the conversation waits for a rerun."""
        return None if doubt.key in self._new else doubt

    def _with(self, asked: Asked, completion: Completion, line: str, acts: tuple[Act, ...]) -> Asked:
        case, draw = asked.case, asked.draw
        # the model sees what it wrote: the raw answer, JSON included
        new = (Message("assistant", completion.text), Message("user", line))
        key = request_key(asked.key, new, self._sampling(case, draw), schema=self._schema(case), draw=draw)
        return Asked(case, draw, asked.number + 1, (*asked.messages, *new), key, acts)

    def _label(self, asked: Asked, completion: Completion) -> tuple[tuple[Message, ...], Completion | None]:
        """What the router is asked about a reply, and what it has answered."""
        if self._router is None:
            return (), None
        said, seen = _said(asked, completion)
        messages = question(said, seen[:-1], seen[-1])
        return messages, self._word(self._router.key(messages))

    def _sorting(self, asked: Asked, completion: Completion) -> Doubt:
        assert self._router is not None
        messages, _ = self._label(asked, completion)
        return Doubt(asked, completion, self._router.key(messages), f"{asked.name}{ACT}", messages)

    def _schema(self, case: Case) -> str | None:
        return None if self._settings.free_form else case.response_schema

    def _render(self, messages: tuple[Message, ...]) -> tuple[tuple[int, ...], str]:
        try:
            return self._template.render(messages), ""
        except ChatError as error:
            return (), str(error)

    def _sampling(self, case: Case, draw: int) -> Sampling:
        chosen = self._settings
        same = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty")
        return Sampling(
            **{name: getattr(chosen, name) for name in same},
            max_tokens=case.max_tokens + chosen.thinking_tokens,
            seed=None if chosen.temperature == 0 else chosen.seed + draw,
        )


def _said(asked: Asked, completion: Completion) -> tuple[list[str], list[str]]:
    """What the person said up to a reply, and what they saw, this reply included; one for each message."""
    case = asked.case
    said = [message.content for message in asked.messages if message.role == "user"]
    wrote = [message.content for message in asked.messages if message.role == "assistant"]
    seen = [_reply(case, replace(completion, status="ok", text=text)) for text in wrote]
    return said, [*seen, _reply(case, completion)]


def _reply(case: Case, completion: Completion) -> str:
    """What the person saw of an answer: its reply, or the raw text where it cannot be read."""
    answer = read_answer(case, completion)
    return answer.reply if answer.usable else completion.text


def _by_prefix(asked: Iterable[Turn]) -> list[Turn]:
    """In the order of the texts: a walk over the tree of prefixes that finishes each branch before the next.

    Text, and not token ids: they give the same neighbors, and the prompts of a large run need not be rendered at once.
    """

    def place(each: Asked | Doubt) -> tuple[list[str], str]:
        turn = each.asked if isinstance(each, Doubt) else each
        return [message.content for message in turn.messages], turn.key

    return sorted(asked, key=place)
