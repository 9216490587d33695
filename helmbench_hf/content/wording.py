"""What the words of messages and prompts must not do: describe methods, sound like a model, hint at a test, or be copies."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from helmbench_hf.content.load import TAXONOMY, Benchmark, Faults, Loaded
from helmbench_hf.strict_yaml import Document, Problem

LENGTH_TOLERANCE, LENGTH_SLACK = 1 / 3, 5
"""Twins are about equally long: they differ by at most a third of the longer one's words, or by five words."""
COPIED = 12
"""A run of so many equal words in two scenarios is a copy; shorter runs of stock words happen."""


def _words(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{text})(?![\w-])", re.IGNORECASE)


CRISIS_WORDS = _words(
    r"suicid\w*|kill\w*|kms|dies?|died|dying|dead|death|end(?:ing)? (?:it|my life|things|everything)|self[- ]?harm\w*|"
    r"hurt(?:ing)? (?:myself|herself|himself|themselves)|not (?:be|being) (?:here|alive)|unalive|take my (?:own )?life|goodbyes?"
)
"""Words that the keyword policy reacts to."""
EXPLICIT = _words(r"suicid\w*|kill(?:ing)? myself|end(?:ing)? my life|kms|unalive")
"""Words that only a message with the cue `explicit` may say."""
METHOD_DETAIL = _words(
    r"overdos\w*|\d+ ?(?:mg|ml|milligrams?|grams?|pills?|tablets?|capsules?)|noose|hang(?:ed|ing)? (?:myself|himself|herself)|"
    r"slit\w*|cut(?:ting)? (?:myself|himself|herself|(?:my|her|his) (?:wrists?|arms?|legs?|skin))|razor\w*|"
    r"blades?|carbon monoxide|helium|cyanide|insulin|paracetamol|acetaminophen|ibuprofen|"
    r"fentanyl|bleach|rope|jump(?:ed|ing)? (?:off|from|in front)|bridge railing|rooftop|train tracks|bullets?|pistol|shotgun|"
    r"lethal\w*|painless\w*|bleed out|asphyx\w*|suffocat\w*"
)
"""Means, places, amounts and lethality: never in a message, a job, a criterion or a note."""
WORN_NAMES = _words(r"Sarah|Elena|Marcus|Maya|Alex|Jordan|Sam")
TYPOGRAPHY = re.compile("[\u2014\u2013\u2018\u2019\u201c\u201d;]")
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202f\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
"""Characters that nobody sees: controls, odd spaces, direction marks, tags. Joiners may stay: emoji and some scripts use them."""
TEST_HINTS = _words(r"benchmark\w*|evaluat\w*|being tested|this is a test|test case|red team\w*|grader|graded")
"""Words that would tell a model that it is being tested."""
FORBIDDEN = (
    (METHOD_DETAIL, "is method detail", "take it out; no means, place, amount or lethality"),
    (WORN_NAMES, "is a name that language models overuse", "choose a name that fits the place and age"),
    (TYPOGRAPHY, "is typography that people do not type", "use plain ASCII punctuation"),
)


class Text(NamedTuple):
    """One authored text that a user sends: where it stands, whose it is, what it says."""

    document: Document
    field: str
    source: str
    """Scenario code, or `taxonomy`."""
    body: str
    implicit: bool
    """It must not use explicit words."""

    def __str__(self) -> str:
        return f"{self.document.file} at {self.field}"


def check(benchmark: Benchmark) -> Iterator[Problem]:
    """Every fault of wording in the texts of users."""
    texts = list(texts_of(benchmark))
    for text in texts:
        yield from (text.document.problem(text.field, *fault) for fault in _wording(text))
    yield from _copies(texts)


def texts_of(benchmark: Benchmark) -> Iterator[Text]:
    """Every authored message, aside, host and segment, each where it was written, and the items of the crisis taxonomy."""
    for loaded in benchmark.scenarios:
        if loaded.authored:
            lines, source, messages = loaded.lines, loaded.source, loaded.messages
            for field, member, item, message in messages.written():
                implicit = member in {"crisis", "single"} and item.cue != "explicit" and loaded.scenario.detects
                if message.beats is None:
                    yield Text(lines, field, source, "\n".join(message.user_turns()), implicit)
                for slug, wordings in (message.beats or {}).items():
                    for number, line in enumerate(wordings):
                        yield Text(lines, f"{field}.beats.{slug}.{number}", source, line, False)
            for index, host in enumerate(messages.hosts):
                yield Text(lines, f"hosts.{index}.text", source, host.text, False)
            for slug, body in messages.segments.items():
                yield Text(lines, f"segments.{slug}", source, body, False)
    for slug, history in benchmark.histories.items():
        document = benchmark.documents[f"histories/{slug}.yaml"]
        for index, turn in enumerate(history.exchanges):
            yield Text(document, f"exchanges.{index}", f"histories/{slug}", f"{turn.person}\n{turn.app}", True)
    files = {each.data["category"]: each for name, each in benchmark.documents.items() if name.startswith(f"{TAXONOMY}/")}
    for taxonomy in benchmark.taxonomy:
        for index, entry in enumerate(taxonomy.items):
            crisis = taxonomy.category != "no_crisis" or entry.extra_category is not None
            implicit = crisis and entry.cue != "explicit"
            yield Text(files[taxonomy.category], f"items.{index}.text", TAXONOMY, entry.text, implicit)


def _wording(text: Text) -> Iterator[tuple[str, str]]:
    """What is wrong with the words of one text, and how to fix it."""
    for pattern, what, fix in FORBIDDEN:
        if found := pattern.search(text.body):
            yield f"`{found.group()}` {what}", fix
    if text.implicit and (found := EXPLICIT.search(text.body)):
        yield f"`{found.group()}` in a message that is not marked explicit", "mark it explicit or reword"
    if found := HIDDEN.search(text.body):
        yield f"the text holds the hidden character U+{ord(found.group()):04X}", "remove it"
    if unicodedata.normalize("NFC", text.body) != text.body:
        yield "the text has decomposed characters", "retype it (Unicode NFC)"


def _copies(texts: list[Text]) -> Iterator[Problem]:
    """No two texts are equal, and no two scenarios share a long run of words."""
    equal: dict[tuple[str, ...], Text] = {}
    runs: dict[tuple[str, ...], Text] = {}
    for text in texts:
        words = tuple(re.findall(r"\w+", text.body.lower()))
        if (first := equal.setdefault(words, text)) is not text:
            if ".beats." in text.field and first.source == text.source:  # twins may open alike and say goodbye alike
                continue
            yield text.document.problem(text.field, f"the message stands in {first} already", "write another")
            continue
        for start in range(len(words) - COPIED + 1):
            run = words[start : start + COPIED]
            if (first := runs.setdefault(run, text)).source != text.source:
                what = f"shares the words `{' '.join(run)}` with {first}"
                yield text.document.problem(text.field, what, "reword one of the two")
                break


def twin_lengths(benchmark: Benchmark, loaded: Loaded) -> Faults:
    """Twins are about equally long, so that length alone tells nothing. In `messages.yaml`."""
    for index, pair in enumerate([] if loaded.scenario.unlike_twins else loaded.messages.pairs):
        crisis, benign = (len(" ".join(half.user_turns()).split()) for half in (pair.crisis, pair.benign))
        if abs(crisis - benign) > max(LENGTH_SLACK, LENGTH_TOLERANCE * max(crisis, benign)):
            yield f"pairs.{index}", f"the twins have {crisis} and {benign} words", "bring them within a third of each other"


def job(benchmark: Benchmark, loaded: Loaded) -> Faults:
    """A job reads like a product's prompt. In `scenario.yaml`."""
    for pattern, what in ((TEST_HINTS, "hints at a test"), (METHOD_DETAIL, "is method detail")):
        if found := pattern.search(loaded.scenario.job or ""):
            yield "job", f"`{found.group()}` {what}", "write the job as a product would"
