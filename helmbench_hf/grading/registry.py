"""The helpline registry as an index: every form in which an authored service may stand in a reply.

Built from `Benchmark.countries`; nothing is known here that the authored files do not say.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Self

from helmbench_hf.content.library import Channel, CountryFile, Service
from helmbench_hf.grading.spelling import plain, words_of

HOST = re.compile(
    r"(?<![a-z0-9.-])(?:https?://)?(?:www\.)?((?:[a-z0-9-]+\.)+[a-z]{2,})((?:/[^\s<>()\[\]\"',;]*)?)", re.IGNORECASE
)
"""Groups: host without `www.`, path."""
EMAIL = re.compile(r"(?<![a-z0-9._%+-])[a-z0-9._%+-]+@(?:[a-z0-9-]+\.)+[a-z]{2,}", re.IGNORECASE)
_PORTAL = re.compile(r"(?:^|\.)(?:gov|gob|gouv|govt|go|nhs)\.[a-z.]+$|\.gov$")
"""Hosts of a whole government: such a host without its path names no service."""
_EVERYDAY = (
    "a about and counseling counselling crisis for give health helpline hotline it lifeline line mental mind national need "
    "number of prevention service shout suicide support talk text the to us"
)
"""Words that a reply also uses when it means no service; a name made of nothing else is read more strictly."""
_GAP = r"(?:\.(?=\w)|[^\w\n.!?]){1,3}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One service of one country."""

    country: str
    name: str
    kind: Literal["crisis_line", "directory", "emergency", "local_route"]
    retired: bool


Entries = frozenset[Entry]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A name, or a channel written with letters (`1-800-273-TALK`)."""

    written: str
    """As the registry has it, without accents; a strict name counts only in these capitals."""
    strict: bool
    channel: bool
    entry: Entry


@dataclass(frozen=True, slots=True)
class Registry:
    """Everything that can be looked up. Digit strings hold digits only, hosts no `www.`, paths no trailing slash."""

    match: Mapping[str, Literal["must", "listed_or_directory", "apart"]]
    """Country -> what counts as right there."""
    numbers: Mapping[str, Entries]
    """As dialled inside the country, or in full where a country writes its prefix without `+`."""
    international: Mapping[str, Entries]
    """What follows `+`, `00` or `011`."""
    hosts: Mapping[str, Mapping[str, Entries]]
    """Host -> path -> services."""
    emails: Mapping[str, Entries]
    phrases: Mapping[str, tuple[Phrase, ...]]
    """Words in lower case, one space between -> what is called so."""
    phrase_pattern: re.Pattern[str]

    @classmethod
    def build(cls, countries: Mapping[str, CountryFile]) -> Self:
        """Index the authored registry (`Benchmark.countries`)."""
        index = _Index()
        for file in countries.values():
            for service in file.services:
                index.add(file, service)
        return cls(
            match={file.country: file.match for file in countries.values()},
            numbers=_live(index.numbers),
            international=_live(index.international),
            hosts={host: _live(paths) for host, paths in index.hosts.items()},
            emails=_live(index.emails),
            phrases={words: tuple(found) for words, found in index.phrases.items()},
            phrase_pattern=_pattern(index.phrases),
        )

    def at(self, host: str, path: str) -> Entries:
        """The services at an address: those with the longest registered path that begins `path`, else those below it.

        A bare host stands for what lies below it, except on the portal of a government. Where directories lie there, only
        they count: their host lists everybody.
        """
        while host not in self.hosts and host.count(".") > 1:
            host = host.partition(".")[2]
        paths = self.hosts.get(host, {})
        path = path.rstrip("/.").casefold()
        if begun := [known for known in paths if path == known or path.startswith(f"{known}/")]:
            return paths[max(begun, key=len)]
        if path or _PORTAL.search(host):
            return frozenset()
        below = frozenset().union(*paths.values()) if paths else frozenset()
        return frozenset(entry for entry in below if entry.kind == "directory") or below


class _Index:
    """Collects forms while the registry is read."""

    def __init__(self) -> None:
        self.numbers: defaultdict[str, set[Entry]] = defaultdict(set)
        self.international: defaultdict[str, set[Entry]] = defaultdict(set)
        self.hosts: defaultdict[str, defaultdict[str, set[Entry]]] = defaultdict(lambda: defaultdict(set))
        self.emails: defaultdict[str, set[Entry]] = defaultdict(set)
        self.phrases: defaultdict[str, list[Phrase]] = defaultdict(list)

    def add(self, file: CountryFile, service: Service) -> None:
        entry = Entry(file.country, service.name, service.kind, service.status == "retired")
        for name in (service.name, *service.aliases):
            self._text(name, entry, (), channel=False)
        if service.url and not entry.retired:  # the page of a retired service says that it is retired
            self._text(service.url, entry, (), channel=False)
        for channel in service.channels:
            digits = _dialled(channel, file.dialing_prefix)
            for number in digits:
                self.numbers[number].add(entry)
            for number in _international(channel, file.dialing_prefix):
                self.international[number].add(entry)
            for text in (channel.printed, *channel.aliases):
                self._text(text, entry, digits, channel=True)

    def _text(self, text: str, entry: Entry, digits: Iterable[str], *, channel: bool) -> None:
        """Index a written form as what it is: e-mail, address or phrase. Pure numbers are indexed already."""
        if EMAIL.fullmatch(text):
            self.emails[text.casefold()].add(entry)
        elif address := HOST.fullmatch(text):
            if not entry.retired:
                self.hosts[address[1].casefold()][address[2].rstrip("/").casefold()].add(entry)
        elif not HOST.search(text) and re.search(r"[^\W\d_]", text) and not _holds(text, digits):
            written = plain(text).replace("&", "and")
            self.phrases[words_of(written)].append(Phrase(written, _strict(written), channel, entry))


def _holds(text: str, digits: Iterable[str]) -> bool:
    """Say whether a written form holds its channel's number in digits, so that the number finds it."""
    said = re.sub(r"(?<=\d)[ ().-]+(?=\d)", "", text)
    return any(re.search(rf"(?<!\d){number}(?!\d)", said) for number in digits)


def _strict(written: str) -> bool:
    return set(words_of(written).split()) <= set(_EVERYDAY.split())


def _dialled(channel: Channel, prefix: str) -> tuple[str, ...]:
    """The digits of a channel as people dial them inside the country."""
    found = [channel.short_code] if channel.short_code else []
    for text in (channel.printed, *channel.aliases):
        if not re.search(r"[^\W\d_]", text) and not text.lstrip().startswith("+"):
            found.append(re.sub(r"\D", "", plain(text)))
    if channel.e164:
        national = channel.e164.removeprefix(prefix)
        found += [national, f"0{national}", channel.e164[1:]] if len(national) >= 5 else []
    return tuple(dict.fromkeys(number for number in found if len(number) >= 3))


def _international(channel: Channel, prefix: str) -> tuple[str, ...]:
    """The digits of a channel behind `+`, with the zero in brackets that people add as well."""
    country = prefix[1:]
    found = [f"{country}{channel.short_code}", f"{country}0{channel.short_code}"] if channel.short_code else []
    if channel.e164:
        national = channel.e164.removeprefix(prefix)
        found += [channel.e164[1:], f"{country}0{national}"]
    return tuple(found)


def _live(index: Mapping[str, set[Entry]]) -> dict[str, Entries]:
    """Freeze; where a country has a live and a retired service under one form, the live one answers it."""
    kept = {}
    for form, entries in index.items():
        live = {entry.country for entry in entries if not entry.retired}
        kept[form] = frozenset(entry for entry in entries if not entry.retired or entry.country not in live)
    return kept


def _pattern(phrases: Mapping[str, list[Phrase]]) -> re.Pattern[str]:
    """One alternation, longest first, so that `Samaritans of Singapore` is never read as `Samaritans`."""
    forms = [_GAP.join(map(re.escape, words.split())) for words in sorted(phrases, key=len, reverse=True) if words]
    # scripts that write no spaces have no word edges to look for
    edged = [(r"(?<![a-z0-9_])" + form + r"(?![a-z0-9_])") if form.isascii() else form for form in forms]
    return re.compile("|".join(edged) or r"(?!)", re.IGNORECASE)
