"""Shallow cues: what the length of a message, or its words, tell about it to a reader who understands nothing.

What is said of a message was learned on all scenarios but the one that it was written for, register copies included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from helmbench_hf.content.load import Benchmark
from helmbench_hf.tasks.kinds import task_of_mode

Cue = Literal["length", "words"]


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


def words(text: str) -> list[str]:
    """Lower-case words; `won't` is one."""
    return re.findall(r"\w+(?:'\w+)?", text.lower())


def features(body: str) -> list[str]:
    """The words of a text and its pairs of neighboring words, each once."""
    found = words(body)
    return list(dict.fromkeys([*found, *(" ".join(pair) for pair in zip(["^", *found], [*found, "$"], strict=True))]))


class Words:
    """Ridge regression on which words a text holds: crisis 1, benign -1, one fit for every scenario that is left out."""

    def __init__(self, halves: Sequence[Half]) -> None:
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
        self.weights: dict[str, NDArray[np.float64]] = {}
        """By scenario left out, what each feature adds."""

    def score(self, body: str, source: str) -> float:
        """Above 0 where the words are those of crisis messages in other scenarios than `source`."""
        if source not in self.weights:
            self.weights[source] = self._fit(source)
        columns = [self.place[feature] for feature in features(body) if feature in self.place]
        return float(self.weights[source][columns].sum())

    def _fit(self, left_out: str) -> NDArray[np.float64]:
        """Solved in its dual form, which has one unknown a message instead of one a word.

        The penalty is the mean number of features of a text, so that no strength is tuned to a score.
        """
        rows = np.flatnonzero(self.sources != left_out)
        shared = self.shared[np.ix_(rows, rows)]
        penalty = np.trace(shared) / max(1, len(rows)) * np.eye(len(rows))
        weights: NDArray[np.float64] = self.held[rows].T @ np.linalg.solve(shared + penalty, self.sides[rows])
        return weights


class Cues:
    """What the cues say of a text, each time learned without the scenario `source` that it was written for."""

    def __init__(self, halves: Sequence[Half], choices: Sequence[Choice]) -> None:
        self.halves, self.choices = halves, choices

    @cached_property
    def words(self) -> Words:
        """The model on words."""
        return Words(self.halves)

    @cached_property
    def by_length(self) -> list[Half]:
        """The shortest half first."""
        return sorted(self.halves, key=lambda half: len(half.body))

    def flags(self, cue: Cue, body: str, source: str) -> bool:
        """Whether the text looks like a crisis message."""
        if cue == "words":
            return self.words.score(body, source) > 0
        length, shorter = self._cut(source)
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
        gains, gain = dict[int, int](), 0
        for half in self.by_length:
            if half.source != source:
                gains.setdefault(len(half.body), gain)
                gain += 1 if half.crisis else -1
        best = max(gains, key=lambda length: abs(gains[length]), default=0)
        return best, gains.get(best, 1) > 0


def _extreme(options: Sequence[str], sign: int) -> int:
    """The place of the longest option, or with -1 of the shortest; the first of several."""
    return max(range(len(options)), key=lambda place: sign * len(options[place]))


def cues_of(benchmark: Benchmark) -> Cues:
    """The cues of a benchmark. Learning takes a second: keep them."""
    return Cues(tuple(_halves(benchmark)), tuple(_choices(benchmark)))


def _halves(benchmark: Benchmark) -> Iterator[Half]:
    """Both halves of every pair as written, where a crisis is to be detected; a queue of tickets is no message."""
    for loaded in benchmark.scenarios:
        if loaded.scenario.detects and loaded.source == loaded.scenario.code:
            for pair in loaded.messages.pairs:
                if pair.crisis.tickets is None:
                    yield Half(loaded.source, True, "\n".join(pair.crisis.user_turns()))
                    yield Half(loaded.source, False, "\n".join(pair.benign.user_turns()))


def _choices(benchmark: Benchmark) -> Iterator[Choice]:
    for loaded in benchmark.scenarios:
        messages = [half for pair in loaded.messages.pairs for half in (pair.crisis, pair.benign)]
        messages += [single.message for single in loaded.messages.singles]
        for message in messages:
            answers = {str(letter): text for letter, text in (message.tickets or message.choices or {}).items()}
            letters = sorted(answers)
            if message.key in answers:
                yield Choice(loaded.source, tuple(answers[letter] for letter in letters), letters.index(message.key))


@dataclass(frozen=True, slots=True)
class Giveaway:
    """How far the hidden-tag pairs, as written, can be told apart by the cues; in half of the pairs it would be by luck."""

    pairs: int
    benign_longer: int
    """Pairs whose benign half has more characters."""
    ordered: int
    """Pairs whose crisis half scores higher on words that were learned on the other scenarios."""
    auc: float
    """How often any crisis half scores higher than any benign half."""

    def __str__(self) -> str:
        return (
            f"the benign half is the longer one in {self.benign_longer} of {self.pairs} hidden pairs, and words learned on other "
            f"scenarios order {self.ordered} right (AUC {self.auc:.2f}); by luck it would be half"
        )


def giveaway(benchmark: Benchmark) -> Giveaway | None:
    """The figures of a benchmark; None where it has no hidden-tag pair."""
    cues = cues_of(benchmark)
    hidden = {each.scenario.code for each in benchmark.scenarios if task_of_mode(each.scenario.mode).hides_question}
    halves = [half for half in cues.halves if half.source in hidden]
    if not halves:
        return None
    pairs = list(zip(halves[::2], halves[1::2], strict=True))
    crisis, benign = ([cues.words.score(half.body, half.source) for half in halves[start::2]] for start in (0, 1))
    return Giveaway(
        len(pairs),
        sum(len(two.body) > len(one.body) for one, two in pairs),
        sum(one > two for one, two in zip(crisis, benign, strict=True)),
        sum((one > two) + 0.5 * (one == two) for one in crisis for two in benign) / len(pairs) ** 2,
    )
