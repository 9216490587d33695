"""Lints of the libraries: conditions, people, criteria, helplines."""

from __future__ import annotations

from collections.abc import Iterator

from helmbench_hf.content.lexicon import METHOD_DETAIL, TEST_HINTS
from helmbench_hf.content.library import CountryFile, Service
from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.strict_yaml import Problem

CONDITION_WORDS = (40, 110)


def check(benchmark: Benchmark) -> Iterator[Problem]:
    """Every fault of the libraries, but for their dates (lint_dates.py)."""
    yield from _conditions(benchmark)
    yield from _people(benchmark)
    yield from _criteria(benchmark)
    numbers: dict[int, str] = {}
    for code, country in sorted(benchmark.countries.items()):
        if country.number in numbers:
            yield _at(
                benchmark,
                "helplines",
                code,
                ("number",),
                f"{country.number} is {numbers[country.number]}'s",
                "give it its own",
            )
        numbers[country.number] = code
        yield from _country(benchmark, country)


def _file(benchmark: Benchmark, folder: str, key: str) -> str:
    """The file of a library entry, found by the value of its identifying field."""
    for shown, document in benchmark.documents.items():
        if shown.startswith(f"{folder}/") and key in (
            document.data.get("code"),
            document.data.get("slug"),
            document.data.get("country"),
        ):
            return shown
    return folder


def _at(benchmark: Benchmark, folder: str, key: str, path: tuple[str | int, ...], what: str, mend: str) -> Problem:
    shown = _file(benchmark, folder, key)
    line = benchmark.documents[shown].line(path) if shown in benchmark.documents else 0
    return Problem(shown, line, ".".join(str(part) for part in path), what, mend)


def _conditions(benchmark: Benchmark) -> Iterator[Problem]:
    for code, condition in sorted(benchmark.conditions.items()):
        words = len(condition.text.split())
        if not CONDITION_WORDS[0] <= words <= CONDITION_WORDS[1]:
            mend = f"write {CONDITION_WORDS[0]} to {CONDITION_WORDS[1]}"
            yield _at(benchmark, "conditions", code, ("text",), f"the text has {words} words", mend)
        if (condition.level == "none") != (condition.safety is None):
            what = f"level {condition.level} and a {'missing' if condition.safety is None else 'given'} safety text do not fit"
            yield _at(
                benchmark,
                "conditions",
                code,
                ("safety",),
                what,
                "level none has no safety text, every other level has one",
            )
        if (condition.level == "explicit") != (condition.tag_rule is not None):
            yield _at(
                benchmark,
                "conditions",
                code,
                ("tag_rule",),
                "`tag_rule` goes with the explicit level",
                "add or remove it",
            )
        if condition.tag_rule is not None and "{target}" not in condition.tag_rule:
            yield _at(benchmark, "conditions", code, ("tag_rule",), "the tag rule does not name {target}", "name it")
        for name in ("text", "safety", "tag_rule"):
            if hint := TEST_HINTS.search(getattr(condition, name) or ""):
                what = f"`{hint.group()}` hints at a test"
                yield _at(benchmark, "conditions", code, (name,), what, "write it as a product would")


def _people(benchmark: Benchmark) -> Iterator[Problem]:
    names: dict[str, str] = {}
    for person in benchmark.people.values():
        shown = _file(benchmark, "people", person.slug)
        if shown != f"people/{person.slug}.yaml":
            yield _at(
                benchmark,
                "people",
                person.slug,
                ("slug",),
                f"the file is {shown}",
                f"rename it to people/{person.slug}.yaml",
            )
        for level in sorted(set(person.levels) - {1, 2, 3, 4, 5}):
            yield _at(benchmark, "people", person.slug, ("levels", level), f"there is no level {level}", "levels are 1 to 5")
        if person.name in names:
            yield _at(
                benchmark,
                "people",
                person.slug,
                ("name",),
                f"{person.name} is also {names[person.name]}'s name",
                "choose another",
            )
        names[person.name] = person.slug
        for level, notes in person.levels.items():
            if found := METHOD_DETAIL.search(" ".join(notes.notes)):
                what = f"`{found.group()}` is method detail"
                yield _at(benchmark, "people", person.slug, ("levels", level), what, "take it out")


def _criteria(benchmark: Benchmark) -> Iterator[Problem]:
    for code, criterion in sorted(benchmark.criteria.items()):
        anchors = [text.lower() for text in (criterion.passes, criterion.partial, criterion.fails) if text]
        if len(set(anchors)) != len(anchors):
            yield _at(benchmark, "criteria", code, ("passes",), "two anchors are the same", "make them exclude each other")
        listed = code in benchmark.scoring.vetoes
        if (criterion.kind == "veto") != listed:
            yield _at(
                benchmark,
                "criteria",
                code,
                ("kind",),
                "`kind: veto` and scoring.yaml disagree",
                "list it in both or in neither",
            )
        if criterion.kind == "contrast" and not code.startswith("X"):
            yield _at(benchmark, "criteria", code, ("code",), "a criterion that only contrasts is coded X..", "rename it")

    for code in benchmark.scoring.always_vetoes:
        if code not in benchmark.criteria or code not in benchmark.scoring.vetoes:
            line = benchmark.documents["scoring.yaml"].line(("always_vetoes",))
            what = f"{code} is no veto of criteria/ and `vetoes`"
            yield Problem("scoring.yaml", line, "always_vetoes", what, "add the criterion or take it out")


def _country(benchmark: Benchmark, country: CountryFile) -> Iterator[Problem]:
    lines = [service for service in country.services if service.kind == "crisis_line" and service.status == "active"]
    if country.match == "must" and not any(service.confidence == "high" for service in lines):
        what = "a must-match country has no active crisis line of high confidence"
        yield _at(benchmark, "helplines", country.country, ("match",), what, "add its line, or lower `match`")
    if country.match != "must" and any(service.confidence == "high" for service in lines):
        what = "a high-confidence line stands in a country that need not match"
        yield _at(benchmark, "helplines", country.country, ("match",), what, "set `match: must`, or lower the confidence")
    for index, service in enumerate(country.services):
        yield from _service(benchmark, country, index, service)
    retired = {number for s in country.services if s.status == "retired" for number in _numbers(s)}
    active = {number for s in country.services if s.status == "active" for number in _numbers(s)}
    for number in sorted(retired & active):
        what = f"{number} is both active and retired"
        yield _at(benchmark, "helplines", country.country, ("services",), what, "decide by the source")


def _numbers(service: Service) -> set[str]:
    return {number for channel in service.channels for number in (channel.e164, channel.short_code) if number}


def _service(benchmark: Benchmark, country: CountryFile, index: int, service: Service) -> Iterator[Problem]:
    code = country.country
    if not service.channels and service.url is None:
        yield _at(
            benchmark,
            "helplines",
            code,
            ("services", index),
            f"{service.name} cannot be reached",
            "give a channel or a url",
        )
    for place, channel in enumerate(service.channels):
        path = ("services", index, "channels", place)
        if channel.kind in {"phone", "text", "whatsapp"} and not (channel.e164 or channel.short_code):
            yield _at(benchmark, "helplines", code, path, f"{channel.printed} has no number", "give `e164` or `short_code`")
        if channel.e164 and not channel.e164.startswith(country.dialing_prefix):
            what = f"{channel.e164} does not start with {country.dialing_prefix}"
            yield _at(benchmark, "helplines", code, path, what, "correct the number or the prefix")
        digits = "".join(filter(str.isdigit, channel.printed))
        national = (channel.e164 or "").removeprefix(country.dialing_prefix)
        for number, part in ((channel.e164, national), (channel.short_code, channel.short_code or "")):
            if channel.kind == "phone" and number and part not in digits:
                what = f"`{channel.printed}` and {number} differ"
                yield _at(benchmark, "helplines", code, path, what, "make them the same number")
