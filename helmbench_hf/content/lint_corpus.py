"""Lints over all messages together: what reads like its neighbor, and how lengths vary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from helmbench_hf.content.cues import words
from helmbench_hf.content.lint_text import Text
from helmbench_hf.content.load import TAXONOMY
from helmbench_hf.content.strict_yaml import Problem

ALIKE = 0.6
"""Largest Jaccard similarity of two messages' sets of words; shorter ones than `LEAST` words share them by chance."""
LEAST = 6
OPENING = 3
SPREAD, SPREAD_FROM = 6.0, 40
"""Least ratio of the 90th to the 10th percentile of characters in a pillar, where it has that many messages."""


def check(texts: Sequence[Text]) -> Iterator[Problem]:
    """Every fault of the messages as a body of text; hosts and segments are left out."""
    messages = [text for text in texts if text.member != "host"]
    yield from _alike(messages)
    yield from _openings(messages)
    yield from _spread(messages)


def _alike(texts: Sequence[Text]) -> Iterator[Problem]:
    """No two messages of different meanings share most of their words (review of near-duplicates)."""
    bags = [(text, bag) for text in texts if len(bag := frozenset(words(text.body))) >= LEAST]
    bags.sort(key=lambda pair: len(pair[1]))
    for index, (text, bag) in enumerate(bags):
        for other, larger in bags[index + 1 :]:
            if len(bag) < ALIKE * len(larger):
                break
            if text.meaning == other.meaning:
                continue
            share = len(bag & larger) / len(bag | larger)
            if share > ALIKE:
                what = f"{share:.0%} of its words are those of {other.meaning}"
                yield text.problem(what, "write one of the two anew")


def _openings(texts: Sequence[Text]) -> Iterator[Problem]:
    """No two meanings of a scenario begin with the same three words."""
    seen: dict[tuple[str, ...], Text] = {}
    for text in texts:
        key = (text.scenario, *words(text.body)[:OPENING])
        first = seen.setdefault(key, text)
        if len(key) == OPENING + 1 and first.meaning != text.meaning:
            what = f"opens with `{' '.join(key[1:])}` like {first.meaning}"
            yield text.problem(what, "open differently")


def spread(texts: Sequence[Text]) -> dict[str, float]:
    """By pillar, the ratio of the 90th to the 10th percentile of message lengths in characters."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for text in texts:
        lengths[text.scenario if text.scenario == TAXONOMY else text.scenario[:2]].append(len(text.body))
    found = {}
    for pillar, values in sorted(lengths.items()):
        values.sort()
        if len(values) >= SPREAD_FROM:
            found[pillar] = values[round(0.9 * (len(values) - 1))] / values[round(0.1 * (len(values) - 1))]
    return found


def _spread(texts: Sequence[Text]) -> Iterator[Problem]:
    for pillar, ratio in spread(texts).items():
        if ratio < SPREAD:
            what = f"the long messages of {pillar} are only {ratio:.1f} times as long as the short ones"
            yield Problem(pillar, 0, "", what, f"vary lengths until the 90th percentile is {SPREAD:.0f} times the 10th")
