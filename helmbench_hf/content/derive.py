"""Messages that nobody writes: asides set into long documents, and noisy copies of fluent pairs. The same on every machine."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from helmbench_hf.content.schema import Host, Message, Messages, Pair, Scenario

KEEP = frozenset({"no", "not", "never", "none", "nobody", "nothing", "without", "dont", "cant", "wont", "isnt", "didnt"})
"""Words that noise leaves alone: without them a message says something else."""
SMALL = frozenset(
    {"a", "an", "the", "to", "of", "is", "are", "was", "it", "its", "my", "me", "that", "and", "so", "for", "in", "on"}
)
FILLERS = (
    "Sent from my phone.",
    "Sorry, the keyboard on this thing sticks.",
    "Typing this on the bus.",
    "I hope this goes through this time.",
    "The form lost my first try.",
    "Ignore the last bit if it came twice.",
)
"""What sentence noise sets between two sentences: neutral, and about the sending alone."""
CHARACTER_RATE, WORD_RATE = 0.25, 0.12
"""Share of the longer words that get one slip, and of the words that are lost or doubled."""
NEIGHBORS = dict(zip("qwertyuiopasdfghjklzxcvbnm", "wertyuioposdfghjkklxcvbnmn", strict=True))
NOISES = ("noise_character", "noise_word", "noise_sentence")


def all_pairs(scenario: Scenario, messages: Messages, seed: int) -> tuple[Pair, ...]:
    """The authored pairs as models get them, then the derived ones, numbered on.

    With hosts, every aside stands in the short form of its host and again in the long one; with noise, every fluent pair
    stands again with each kind of noise (deterministic in the benchmark's seed). The asides themselves are no messages.
    """
    pairs = sorted(messages.pairs, key=lambda pair: pair.pair)
    if messages.hosts:
        hosts = {host.slug: host for host in messages.hosts}
        short = [_hosted(pair, hosts[pair.host], messages, long=False) for pair in pairs if pair.host in hosts]
        long = [_hosted(pair, hosts[pair.host], messages, long=True) for pair in pairs if pair.host in hosts]
        pairs = _numbered([*short, *long])
    if scenario.noise:
        fluent = [pair for pair in pairs if pair.speech == "fluent"]
        pairs = _numbered([*pairs, *(_noisy(pair, kind, f"{seed}/{scenario.code}") for kind in NOISES for pair in fluent)])
    return tuple(pairs)


def _numbered(pairs: Sequence[Pair]) -> list[Pair]:
    return [pair.model_copy(update={"pair": number}) for number, pair in enumerate(pairs, 1)]


def _hosted(pair: Pair, host: Host, messages: Messages, *, long: bool) -> Pair:
    """The pair with both asides set into the document."""
    segments = [messages.segments[slug] for slug in host.more] if long else []

    def in_document(message: Message) -> Message:
        return message.model_copy(update={"text": document(host, segments).replace("{aside}", message.text or "")})

    return pair.model_copy(update={"crisis": in_document(pair.crisis), "benign": in_document(pair.benign)})


def document(host: Host, segments: Sequence[str]) -> str:
    """The host's text with the segments shared out evenly over its `{more}` places, in order."""
    text, *rest = re.split(r"[ \t]*\{more\}[ \t]*\n?", host.text)
    cuts = [round(place * len(segments) / len(rest)) for place in range(len(rest) + 1)]
    for place, piece in enumerate(rest):
        text += "".join(f"{segment}\n" for segment in segments[cuts[place] : cuts[place + 1]]) + piece
    return text


def _noisy(pair: Pair, kind: str, seed: str) -> Pair:
    def noisy(member: str, message: Message) -> Message:
        dice = random.Random(f"{seed}/{pair.pair}/{member}/{kind}")
        return message.model_copy(update={"text": MAKERS[kind](message.text or "", dice)})

    halves = {"crisis": noisy("crisis", pair.crisis), "benign": noisy("benign", pair.benign)}
    return pair.model_copy(update={**halves, "speech": kind, "twin_fluent": pair.pair})


def _characters(text: str, dice: random.Random) -> str:
    """One slip (swapped, lost, doubled or neighboring letter) in a quarter of the words of four letters and more."""

    def slip(word: str) -> str:
        place = dice.randrange(1, len(word) - 1)
        letter = word[place]
        slips = (
            word[:place] + word[place + 1] + letter + word[place + 2 :],
            word[:place] + word[place + 1 :],
            word[:place] + letter + word[place:],
            word[:place] + NEIGHBORS.get(letter, letter) + word[place + 1 :],
        )
        return dice.choice([each for each in slips if each != word])  # two equal letters change nothing by changing places

    words = re.split(r"(\s+)", text)
    places = [index for index, word in enumerate(words) if len(word) >= 4 and word.isalpha() and word.casefold() not in KEEP]
    for index in sorted(_some(places, CHARACTER_RATE, dice)):
        words[index] = slip(words[index])
    return "".join(words)


def _words(text: str, dice: random.Random) -> str:
    """An eighth of the words: small ones are lost, others are doubled; line breaks, numbers and negations stay."""
    words = re.split(r"(\s+)", text)
    places = [index for index, word in enumerate(words) if word.strip() and word.isalpha() and word.casefold() not in KEEP]
    for index in sorted(_some(places, WORD_RATE, dice), reverse=True):
        if words[index].casefold() in SMALL and index + 1 < len(words) and "\n" not in words[index + 1]:
            del words[index : index + 2]
        else:
            words[index] = f"{words[index]} {words[index]}"
    return "".join(words)


def _sentences(text: str, dice: random.Random) -> str:
    """One neutral sentence about the sending, after a sentence of the message."""
    ends = [match.end() for match in re.finditer(r"[.!?\n]+(?=\s)", text)] or [len(text)]
    place, filler = dice.choice(ends), dice.choice(FILLERS)
    joined = f"{text[:place]} {filler}{text[place:]}"
    return re.sub(r"\n {1,}", "\n", joined)


def _some(places: Sequence[int], rate: float, dice: random.Random) -> list[int]:
    """A share of the places, at least one where there is any."""
    return dice.sample(list(places), min(len(places), max(1, round(rate * len(places)))))


MAKERS: dict[str, Callable[[str, random.Random], str]] = dict(zip(NOISES, (_characters, _words, _sentences), strict=True))
