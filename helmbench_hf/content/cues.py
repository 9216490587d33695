"""Shallow cues: what the length of a message, or its words, tell about it to a reader who understands nothing.

What is said of a message was learned on all scenarios but the one that it was written for, register copies included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

from helmbench_hf.content.load import TAXONOMY, Benchmark
from helmbench_hf.matrix.render import message_turns

Cue = Literal["length", "words"]

RIDGE = 10.0
"""Penalty on the weights of words; from 1 to 100 the figures move by two points."""


@dataclass(frozen=True, slots=True)
class Half:
    """One of two twins: the scenario that it was written for, which half of the pair it is, and what it says."""

    source: str
    crisis: bool
    body: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A question with answers to choose from, and the place of the right one."""

    source: str
    options: tuple[str, ...]
    right: int


def features(body: str) -> list[str]:
    """The words of a text in lower case (`won't` is one) and its pairs of neighboring words, each once."""
    found = re.findall(r"\w+(?:'\w+)?", body.lower())
    return list(dict.fromkeys([*found, *(" ".join(pair) for pair in zip(["^", *found], [*found, "$"], strict=True))]))


class Words:
    """Ridge regression on which words a text holds: crisis 1, benign -1, one fit for every scenario that is left out."""

    def __init__(self, halves: Sequence[Half]) -> None:
        import numpy as np
        from scipy import sparse

        found = [features(half.body) for half in halves]
        self.place: dict[str, int] = {}
        columns = [self.place.setdefault(feature, len(self.place)) for each in found for feature in each]
        ends = np.cumsum([0, *map(len, found)])
        self.held = sparse.csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(halves), len(self.place)))
        self.shared = (self.held @ self.held.T).toarray()
        """Features that two halves have in common."""
        self.sides = np.array([1.0 if half.crisis else -1.0 for half in halves])
        self.sources = np.array([half.source for half in halves])
        self.weights: dict[str, Any] = {}
        """By scenario left out, what each feature adds."""
        self.scores: dict[tuple[str, str], float] = {}

    def score(self, body: str, source: str) -> float:
        """Above 0 where the words are those of crisis messages in other scenarios than `source`."""
        if source not in self.weights:
            self.weights[source] = self._fit(source)
        if (body, source) not in self.scores:
            columns = [self.place[feature] for feature in features(body) if feature in self.place]
            self.scores[body, source] = float(self.weights[source][columns].sum())
        return self.scores[body, source]

    def _fit(self, left_out: str) -> Any:
        """Solved in its dual form, which has one unknown a message instead of one a word."""
        import numpy as np

        rows = np.flatnonzero(self.sources != left_out)
        shared = self.shared[np.ix_(rows, rows)] + RIDGE * np.eye(len(rows))
        return self.held[rows].T @ np.linalg.solve(shared, self.sides[rows])


class Cues:
    """What the cues say of a text, each time learned without the scenario `source` that it was written for."""

    def __init__(self, halves: Sequence[Half], choices: Sequence[Choice]) -> None:
        self.halves, self.choices = halves, choices
        self._cuts: dict[str, tuple[int, bool]] = {}

    @cached_property
    def words(self) -> Words:
        """The model on words, fitted when it is first asked."""
        return Words(self.halves)

    def flags(self, cue: Cue, body: str, source: str) -> bool:
        """Whether the text looks like a crisis message."""
        if cue == "words":
            return self.words.score(body, source) > 0
        if source not in self._cuts:
            self._cuts[source] = self._cut(source)
        length, shorter = self._cuts[source]
        return (len(body) < length) == shorter

    def picks(self, cue: Cue, options: Sequence[str], source: str) -> int:
        """The place of the answer that it chooses: the longest or the shortest, or the one most like a crisis message."""
        if cue == "words":
            return max(range(len(options)), key=lambda place: self.words.score(options[place], source))
        others = [choice for choice in self.choices if choice.source != source]
        longest, shortest = (sum(_extreme(each.options, sign) == each.right for each in others) for sign in (1, -1))
        return _extreme(options, 1 if longest >= shortest else -1)

    def _cut(self, source: str) -> tuple[int, bool]:
        """The length that best parts crisis from benign messages, and whether the crisis messages are the shorter ones."""
        halves = [half for half in self.halves if half.source != source]
        lengths = {len(half.body) for half in halves}
        gains = {length: sum((len(h.body) < length) * (1 if h.crisis else -1) for h in halves) for length in sorted(lengths)}
        best = max(gains, key=lambda length: abs(gains[length]))
        return best, gains[best] > 0


def _extreme(options: Sequence[str], sign: int) -> int:
    """The place of the longest option, or with -1 of the shortest; the first of several."""
    return max(range(len(options)), key=lambda place: sign * len(options[place]))


def cues_of(benchmark: Benchmark) -> Cues:
    """The cues, learned once for the same messages."""
    return _learned(tuple(_halves(benchmark)), tuple(_choices(benchmark)))


@lru_cache(maxsize=2)
def _learned(halves: tuple[Half, ...], choices: tuple[Choice, ...]) -> Cues:
    return Cues(halves, choices)


def _halves(benchmark: Benchmark) -> Iterator[Half]:
    """Both halves of every pair as written, where a crisis is to be detected; a queue of tickets is no message."""
    for loaded in benchmark.scenarios:
        if loaded.scenario.detects and loaded.source == loaded.scenario.code:
            for pair in loaded.messages.pairs:
                if pair.crisis.tickets is None:
                    yield Half(loaded.source, True, "\n".join(message_turns(pair.crisis)))
                    yield Half(loaded.source, False, "\n".join(message_turns(pair.benign)))


def _choices(benchmark: Benchmark) -> Iterator[Choice]:
    for loaded in benchmark.scenarios:
        written = loaded.messages
        for message in (*(half for pair in written.pairs for half in (pair.crisis, pair.benign)), *(s.message for s in written.singles)):
            if options := message.tickets or message.choices:
                letters = sorted(options)
                yield Choice(loaded.source, tuple(options[letter] for letter in letters), letters.index(message.key))
