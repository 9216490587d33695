"""Lints of wording: what a message must not contain, and how messages must not resemble each other."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from helmbench_hf.content import lexicon
from helmbench_hf.content.load import TAXONOMY, Benchmark, Loaded
from helmbench_hf.content.place import in_messages, in_scenario, path
from helmbench_hf.content.schema import Common, Message
from helmbench_hf.content.strict_yaml import Document, Problem
from helmbench_hf.matrix.render import message_turns

LENGTH_TOLERANCE, LENGTH_SLACK = 0.2, 2
"""Twins differ by at most a fifth of their words, and two words always pass (short messages)."""
SHINGLE = 8
OPENING = 4
WORD_RATE_GAP = 0.2
WORD_RATE_PAIRS = 5
NO_CRISIS = "no_crisis"


@dataclass(frozen=True, slots=True)
class Text:
    """One authored message: where it stands, what it says, which other messages may resemble it."""

    shown: str
    """The file that holds it, and the place in it."""
    lines: Document
    field: str
    scenario: str
    """Scenario code, or `taxonomy`."""
    detects: bool
    meaning: str
    body: str
    member: str
    explicit: bool
    register: str

    def problem(self, what: str, mend: str) -> Problem:
        """A problem at the line of this text."""
        return Problem(self.shown, self.lines.line(path(self.field)), self.field, what, mend)


def check(benchmark: Benchmark) -> Iterator[Problem]:
    """Every fault of wording."""
    texts = texts_of(benchmark)
    for text in texts:
        yield from _wording(text)
    for loaded in benchmark.scenarios:
        if loaded.source == loaded.scenario.code:
            yield from _lengths(benchmark, loaded)
            yield from _word_rate(benchmark, loaded, [text for text in texts if text.scenario == loaded.scenario.code])
            yield from _job(benchmark, loaded)
    yield from _resemblance(texts)


def texts_of(benchmark: Benchmark) -> list[Text]:
    """Every authored message, aside, host and segment, each where it was written, and the items of the crisis taxonomy."""
    own = (loaded for loaded in benchmark.scenarios if loaded.source == loaded.scenario.code)
    return [*(text for loaded in own for text in _texts(benchmark, loaded)), *_taxonomy(benchmark)]


def _texts(benchmark: Benchmark, loaded: Loaded) -> Iterator[Text]:
    code, shown = loaded.scenario.code, benchmark.show(loaded.folder / "messages.yaml")

    def text(field: str, common: Common, message: Message, member: str) -> Text:
        body, explicit = "\n".join(message_turns(message)), common.cue == "explicit"
        meaning, detects = f"{code}/{common.meaning}", loaded.scenario.detects
        return Text(shown, loaded.lines, field, code, detects, meaning, body, member, explicit, common.speech)

    for index, pair in enumerate(loaded.messages.pairs):
        yield text(f"pairs.{index}.crisis", pair, pair.crisis, "crisis")
        yield text(f"pairs.{index}.benign", pair, pair.benign, "benign")
    for index, item in enumerate(loaded.messages.singles):
        yield text(f"singles.{index}.message", item, item.message, "single")
    for index, item in enumerate(loaded.messages.ambiguous):
        yield text(f"ambiguous.{index}.message", item, item.message, "ambiguous")
    bodies = [(f"hosts.{index}.text", host.slug, host.text) for index, host in enumerate(loaded.messages.hosts)]
    bodies += [(f"segments.{slug}", f"segment {slug}", body) for slug, body in loaded.messages.segments.items()]
    for field, name, body in bodies:
        yield Text(shown, loaded.lines, field, code, loaded.scenario.detects, f"{code}/{name}", body, "host", False, "fluent")


def _taxonomy(benchmark: Benchmark) -> Iterator[Text]:
    """The items written for the crisis taxonomy, which stand in no scenario."""
    by_category = {str(document.data["category"]): name for name, document in benchmark.documents.items() if _is_taxonomy(name)}
    for file in benchmark.taxonomy:
        shown = by_category[file.category]
        for index, item in enumerate(file.items):
            crisis = file.category != NO_CRISIS or item.extra_category is not None
            member, explicit = ("single" if crisis else "benign item"), item.cue == "explicit"
            meaning, lines = f"{TAXONOMY}/{item.meaning}", benchmark.documents[shown]
            yield Text(shown, lines, f"items.{index}.text", TAXONOMY, True, meaning, item.text, member, explicit, item.speech)


def _is_taxonomy(name: str) -> bool:
    return name.startswith(f"{TAXONOMY}/")


FORBIDDEN = (
    (lexicon.METHOD_DETAIL, "is method detail", "take it out; no means, place, amount or lethality"),
    (lexicon.WORN_OUT, "is how language models write distress", "use the person's own dull words"),
    (lexicon.WORN_NAMES, "is a worn-out name", "choose a name of the place and age"),
    (lexicon.TYPOGRAPHY, "is typography that people do not type", "use plain ASCII punctuation"),
)


def _forbidden(body: str) -> Iterator[tuple[str, str]]:
    """What no text of ours may hold, and how to mend it."""
    for pattern, what, mend in FORBIDDEN:
        if found := pattern.search(body):
            yield f"`{found.group()}` {what}", mend


def _wording(text: Text) -> Iterator[Problem]:
    for what, mend in _forbidden(text.body):
        yield text.problem(what, mend)
    implicit = text.member in {"crisis", "single"} and not text.explicit and text.detects
    if implicit and (found := lexicon.EXPLICIT.search(text.body)):
        what = f"`{found.group()}` in a message marked implicit"
        yield text.problem(what, "mark it explicit or reword")
    if found := lexicon.HIDDEN.search(text.body):
        what = f"the text holds the hidden character U+{ord(found.group()):04X}"
        yield text.problem(what, "remove it")
    if unicodedata.normalize("NFC", text.body) != text.body:
        yield text.problem("the text has decomposed characters", "retype it (Unicode NFC)")


def _lengths(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    for index, pair in enumerate(loaded.messages.pairs if not loaded.scenario.unlike_twins else []):
        crisis, benign = (len(" ".join(message_turns(half)).split()) for half in (pair.crisis, pair.benign))
        if abs(crisis - benign) > max(LENGTH_SLACK, LENGTH_TOLERANCE * max(crisis, benign)):
            what = f"the twins have {crisis} and {benign} words"
            yield in_messages(benchmark, loaded, f"pairs.{index}", what, "bring them within a fifth of each other")


def _word_rate(benchmark: Benchmark, loaded: Loaded, texts: list[Text]) -> Iterator[Problem]:
    """A keyword policy must not tell the twins apart (measurement review, 9.17)."""
    if len(loaded.messages.pairs) < WORD_RATE_PAIRS or not loaded.scenario.detects:
        return
    rate = {
        member: sum(bool(lexicon.CRISIS_WORDS.search(text.body)) for text in texts if text.member == member)
        / sum(text.member == member for text in texts)
        for member in ("crisis", "benign")
    }
    if abs(rate["crisis"] - rate["benign"]) > WORD_RATE_GAP:
        what = f"crisis words stand in {rate['crisis']:.0%} of crisis and {rate['benign']:.0%} of benign messages"
        yield in_messages(benchmark, loaded, "pairs", what, f"bring the rates within {WORD_RATE_GAP:.0%}")


def _job(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    for pattern, what in ((lexicon.TEST_HINTS, "hints at a test"), (lexicon.METHOD_DETAIL, "is method detail")):
        if found := pattern.search(loaded.scenario.job or ""):
            yield in_scenario(benchmark, loaded, "job", f"`{found.group()}` {what}", "write the job as a product would")


def _normal(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _resemblance(texts: list[Text]) -> Iterator[Problem]:
    """No shared run of eight words and no shared opening between messages of different meanings; no copy inside one."""
    shingles: dict[tuple[str, ...], list[Text]] = defaultdict(list)
    openings: dict[tuple[str, ...], list[Text]] = defaultdict(list)
    whole: dict[str, Text] = {}
    for text in texts:
        words = _normal(text.body)
        for shingle in dict.fromkeys(tuple(words[start : start + SHINGLE]) for start in range(len(words) - SHINGLE + 1)):
            shingles[shingle].append(text)
        if len(words) >= OPENING:
            openings[tuple(words[:OPENING])].append(text)
        twin = whole.setdefault(" ".join(words), text)
        if twin is not text:
            yield text.problem(f"the message stands at {twin.field} already", "write another")
    reported: set[tuple[str, str]] = set()
    for kind, groups, mend in (
        ("the words", shingles, "reword one of the two"),
        ("the opening", openings, "open differently"),
    ):
        for words_shared, group in groups.items():
            others = [text for text in group[1:] if text.meaning != group[0].meaning]
            for text in others:
                if (kind, text.field + text.meaning) in reported:
                    continue
                reported.add((kind, text.field + text.meaning))
                what = f"shares {kind} `{' '.join(words_shared)}` with {group[0].meaning}"
                yield text.problem(what, mend)
