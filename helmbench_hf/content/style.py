"""How messages are typed, in numbers, beside messages of real people: lengths, punctuation, slips, stock words.

The figures of real corpora and the ranges that ours must keep stand in `style.yaml`. A number says nothing about one message,
but a feature that lies outside all real corpora is a tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median, quantiles

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.schema import Register, StyleFile
from helmbench_hf.strict_yaml import Problem

Texts = Sequence[str]
_EMOJI = re.compile("[\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001faff]")
_HEDGE = re.compile(
    r"\b(?:i (?:guess|think|suppose|just)|idk|i? ?(?:don'?t|dont|do not) know|not (?:really )?sure|kind ?of|kinda|sort of|maybe|"
    r"probably|i feel like)\b",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(r"\b(?:i|i'?m|i'?ve|i'?d|i'?ll|me|my|myself)\b", re.IGNORECASE)
_DROPPED = re.compile(
    r"\b(?:dont|cant|wont|didnt|doesnt|isnt|wasnt|couldnt|wouldnt|shouldnt|havent|hasnt|arent|im|ive|thats|whats|youre|theyre)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r'"[^"\n]{2,}"|(?<!\w)\'[^\'\n]{2,}\'(?!\w)|\u201c[^\u201d\n]{2,}\u201d')
_SIMILE = re.compile(r"\b(?:like (?:a|an|the|i'?m|i am|some|someone|my)|as if|as though|as \w+ as (?:a|an|the))\b", re.IGNORECASE)


def _words(text: str) -> int:
    return len(text.split())


def _share(has: Callable[[str], object]) -> Callable[[Texts], float]:
    return lambda texts: 100 * sum(bool(has(text)) for text in texts) / len(texts)


def _pattern(pattern: str, flags: int = re.IGNORECASE) -> Callable[[Texts], float]:
    return _share(re.compile(pattern, flags).search)


def _length(texts: Texts, place: int) -> float:
    lengths = [_words(text) for text in texts]
    return quantiles(lengths, n=10)[place] if len(lengths) > 1 else lengths[0]


def _sentence(texts: Texts) -> float:
    return median(_words(each) for text in texts for each in re.split(r"[.!?\n]+", text) if each.strip())


def _commas(texts: Texts) -> float:
    return 100 * sum(text.count(",") for text in texts) / max(1, sum(map(_words, texts)))


def _hedges(texts: Texts) -> float:
    """Among messages in the first person."""
    personal = [text for text in texts if _FIRST_PERSON.search(text)]
    return _share(_HEDGE.search)(personal) if personal else 0.0


FEATURES: dict[str, Callable[[Texts], float]] = {
    "words, shortest tenth": lambda texts: _length(texts, 0),
    "words, median": lambda texts: median(map(_words, texts)),
    "words, longest tenth": lambda texts: _length(texts, 8),
    "words in a sentence, median": _sentence,
    "commas per 100 words": _commas,
    "% without a comma": _share(lambda text: "," not in text),
    "% with a hedge, of those in the first person": _hedges,
    "% that begin in lower case": _share(lambda text: text[:1].islower()),
    "% with a bare i": _pattern(r"(?<![\w'.])i(?=[\s',]|$|[.!?](?:\s|$))", 0),
    "% with a dropped apostrophe": _share(_DROPPED.search),
    "% without a final mark": _share(lambda text: re.search(r"[^\W_]\s*$", text)),
    "% with a question mark": _share(lambda text: "?" in text),
    "% with a digit": _pattern(r"\d"),
    "% with a dash": _pattern("[\u2013\u2014]| -{1,2} "),
    "% with a semicolon": _share(lambda text: ";" in text),
    "% with quoted speech": _share(_QUOTED.search),
    "% with an emoji": _share(_EMOJI.search),
    "% with ...": _pattern(r"\.\.\.|\u2026"),
    "% with just": _pattern(r"\bjust\b"),
    "% with feel": _pattern(r"\b(?:feel|feels|feeling|felt)\b"),
    "% with really": _pattern(r"\breally\b"),
    "% with please": _pattern(r"\b(?:please|pls|plz)\b"),
    "% with sorry": _pattern(r"\bsorry\b"),
    "% with thanks": _pattern(r"\b(?:thanks|thank you|thx|ty)\b"),
    "% with a simile": _share(_SIMILE.search),
}
"""Each feature of a set of messages, by the name that `style.yaml` and the table use."""
SLANG_EMOJI = "% of slang messages with an emoji"
"""Of the messages of one register, so no feature of a corpus."""


def figures(texts: Texts) -> dict[str, float]:
    """Every feature of a set of messages."""
    return {name: feature(texts) for name, feature in FEATURES.items()} if texts else {}


def messages_of(benchmark: Benchmark) -> Iterator[tuple[Register, str]]:
    """Everything that a person types in the matrix and the taxonomy, one message or turn each, with its register.

    Exam questions (`choices`) and the long documents that asides stand in are no such messages.
    """
    for loaded in benchmark.scenarios:
        for written in loaded.messages.written() if loaded.authored else ():
            message = written.message
            if message.choices is None:
                bodies: Iterable[str] = (message.tickets or {}).values() or message.user_turns()
                yield from ((written.item.speech, body) for body in bodies)
    for history in benchmark.histories.values():
        yield from (("fluent", turn.person) for turn in history.exchanges)
    for taxonomy in benchmark.taxonomy:
        yield from ((item.speech, item.text) for item in taxonomy.items)


def ours(benchmark: Benchmark) -> dict[str, float]:
    """Every feature of the benchmark's messages."""
    typed = list(messages_of(benchmark))
    slang = [text for register, text in typed if register == "slang_emoji"]
    found = figures([text for _, text in typed])
    return found | ({SLANG_EMOJI: _share(_EMOJI.search)(slang)} if slang else {})


def problems(benchmark: Benchmark) -> Iterator[Problem]:
    """Features outside the range that `style.yaml` states."""
    if benchmark.style is None:
        return
    found = ours(benchmark)
    for name, (least, most) in ranges(benchmark.style).items():
        if name in found and not least <= found[name] <= most:
            fix = "rewrite the messages that have it, or those that lack it, until it is"
            yield Problem("style.yaml", 0, name, f"our messages have {found[name]:.1f}, outside {least:g} to {most:g}", fix)


def ranges(file: StyleFile) -> dict[str, tuple[float, float]]:
    """The range of each feature that has one."""
    return {each.feature: (each.least, each.most) for each in file.ranges}


def table(benchmark: Benchmark, others: Mapping[str, Texts]) -> Iterator[tuple[str, ...]]:
    """Head and rows: feature, ours, its range, the recorded corpora, and the sets of messages given here."""
    file = benchmark.style
    recorded = {corpus.name: corpus.figures for corpus in file.corpora} if file else {}
    given = {name: figures(texts) for name, texts in others.items()}
    found, limits = ours(benchmark), ranges(file) if file else {}
    yield ("feature", "ours", "range", *recorded, *given)
    for name, value in found.items():
        low, high = limits.get(name, (None, None))
        between = "" if low is None else f"{low:g} to {high:g}"
        columns = [each.get(name) for each in (*recorded.values(), *given.values())]
        yield (name, f"{value:.1f}", between, *("" if cell is None else f"{cell:.1f}" for cell in columns))
