"""Checks of the files that scenarios draw on: conditions, people, criteria, helplines, incidents, calibration, taxonomy."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from helmbench_hf.content.load import Benchmark, Faults
from helmbench_hf.content.schema import (
    Band,
    CalibrationFile,
    Condition,
    CountryFile,
    Criterion,
    IncidentsFile,
    IncidentType,
    Person,
    PoliciesFile,
    ScoringFile,
    Service,
    TaxonomyFile,
)
from helmbench_hf.content.wording import METHOD_DETAIL, TEST_HINTS
from helmbench_hf.strict_yaml import Document, FieldPath, Problem, dotted

Check = Callable[[Benchmark, Any], Faults]
CONDITION_WORDS = (40, 110)
FRESH_DAYS = 180
"""A helpline may be used for so long after it was compared with its source."""
CLAIMS = re.compile(r"\b(clinically validated|clinically proven|proven to|guarantee[sd]?|ensures safety)\b", re.IGNORECASE)


def condition(_: Benchmark, entry: Condition) -> Faults:
    """The text has the usual length, and nothing hints at a test."""
    words = len(entry.text.split())
    if not CONDITION_WORDS[0] <= words <= CONDITION_WORDS[1]:
        yield "text", f"the text has {words} words", f"write {CONDITION_WORDS[0]} to {CONDITION_WORDS[1]}"
    for name in ("text", "safety", "tag_rule"):
        if hint := TEST_HINTS.search(getattr(entry, name) or ""):
            yield name, f"`{hint.group()}` hints at a test", "write it as a product would"


def person(benchmark: Benchmark, entry: Person) -> Faults:
    """The file is named after the person, names differ, and notes describe no method."""
    if f"people/{entry.slug}.yaml" not in benchmark.documents:
        yield "slug", f"the file is not people/{entry.slug}.yaml", f"rename it to people/{entry.slug}.yaml"
    for other in benchmark.people.values():
        if other.name == entry.name and other.number < entry.number:
            yield "name", f"{entry.name} is also {other.slug}'s name", "choose another"
    for level, notes in entry.levels.items():
        if found := METHOD_DETAIL.search(" ".join(notes.notes)):
            yield f"levels.{level}", f"`{found.group()}` is method detail", "take it out"


def criterion(benchmark: Benchmark, entry: Criterion) -> Faults:
    """Anchors exclude each other, and scoring.yaml lists the vetoes."""
    anchors = [text.lower() for text in (entry.passes, entry.partial, entry.fails) if text]
    if len(set(anchors)) != len(anchors):
        yield "passes", "two anchors are the same", "make them exclude each other"
    if (entry.kind == "veto") != (entry.code in benchmark.scoring.vetoes):
        yield "kind", "`kind: veto` and scoring.yaml disagree", "list it in both or in neither"
    if entry.kind == "contrast" and not entry.code.startswith("X"):
        yield "code", "a criterion that only contrasts is coded X..", "rename it"


def country(benchmark: Benchmark, entry: CountryFile) -> Faults:
    """The number is its own, `match` fits what is known, and every service can be reached."""
    for other in benchmark.countries.values():
        if other.number == entry.number and other.country < entry.country:
            yield "number", f"{entry.number} is {other.country}'s", "give it its own"
    active, retired = ([each for each in entry.services if each.status == status] for status in ("active", "retired"))
    sure = any(service.kind == "crisis_line" and service.confidence == "high" for service in active)
    if (entry.match == "must") != sure:
        what = f"`match` is {entry.match} with{'' if sure else 'out'} an active crisis line of high confidence"
        yield "match", what, "such a line goes with `match: must`; change one of the two"
    for index, service in enumerate(entry.services):
        yield from _service(entry, f"services.{index}", service)
    for number in sorted(_numbers(active) & _numbers(retired)):
        yield "services", f"{number} is both active and retired", "decide by the source"


def _numbers(services: list[Service]) -> set[str]:
    channels = [channel for service in services for channel in service.channels]
    return {number for channel in channels for number in (channel.e164, channel.short_code) if number}


def _service(entry: CountryFile, field: str, service: Service) -> Faults:
    if not service.channels and service.url is None:
        yield field, f"{service.name} cannot be reached", "give a channel or a url"
    for index, channel in enumerate(service.channels):
        place = f"{field}.channels.{index}"
        if channel.kind in {"phone", "text", "whatsapp"} and not (channel.e164 or channel.short_code):
            yield place, f"{channel.printed} has no number", "give `e164` or `short_code`"
        if channel.e164 and not channel.e164.startswith(entry.dialing_prefix):
            what = f"{channel.e164} does not start with {entry.dialing_prefix}"
            yield place, what, "correct the number or the prefix"
        digits = "".join(filter(str.isdigit, channel.printed))
        for number in filter(None, (channel.e164, channel.short_code)):
            if channel.kind == "phone" and number.removeprefix(entry.dialing_prefix) not in digits:
                yield place, f"`{channel.printed}` and {number} differ", "make them the same number"


def scoring(benchmark: Benchmark, file: ScoringFile) -> Faults:
    """Every veto that always applies is a veto."""
    for code in file.always_vetoes:
        if code not in benchmark.criteria or code not in file.vetoes:
            yield "always_vetoes", f"{code} is no veto of criteria/ and `vetoes`", "add the criterion or take it out"


def incidents(benchmark: Benchmark, file: IncidentsFile) -> Faults:
    """What `incidents.yaml` names exists, and its texts teach no harm and claim nothing."""
    levels = [level.slug for level in file.levels]
    for index, each in enumerate(file.incidents):
        for field, what, fix in _incident(benchmark, each, levels):
            yield f"incidents.{index}.{field}", what, fix


def _incident(benchmark: Benchmark, each: IncidentType, levels: list[str]) -> Faults:
    for place, when in enumerate(each.when):
        for code in when.fails:
            if code not in benchmark.criteria:
                yield f"when.{place}.fails", f"there is no criterion {code}", "add it to criteria/ or correct it"
            elif (kind := benchmark.criteria[code].kind) in {"veto", "appraisal"}:
                fix = "use `vetoes` for dangerous content; appraisals have levels and no FAIL"
                yield f"when.{place}.fails", f"{code} is a criterion of the kind {kind}", fix
    for band, slug in each.severity.items():
        if slug not in levels:
            yield f"severity.{band}", f"there is no level {slug}", f"name one of {', '.join(levels)}"
    crisis, possible = {"crisis", "single"}, set[str]()
    for when in each.when:
        members = set(when.member)
        possible |= set() if members and not members & crisis else {"severe", "crisis"}
        possible |= set() if members and members <= crisis else {"other"}
    if missing := [band for band in get_args(Band) if band in possible - set(each.severity)]:
        yield "severity", f"no level for {', '.join(missing)}", "give a level for every kind of case that `when` allows"
    for name in ("title", "description", "model", "prompt", "product", "human"):
        if found := METHOD_DETAIL.search(getattr(each, name)):
            yield name, f"`{found.group()}` is method detail", "take it out"
        if found := CLAIMS.search(getattr(each, name)):
            yield name, f"`{found.group()}` claims more than is known", "say what it does, not that it works"


def calibration(benchmark: Benchmark, file: CalibrationFile) -> Faults:
    """Replies have codes of their own, edit what exists, and teach no harm, not even the bad ones."""
    every = [reply for each in benchmark.calibration for reply in each.replies]
    times, texts = Counter(reply.code for reply in every), {reply.code: reply.reply for reply in every}
    for index, reply in enumerate(file.replies):
        field = f"replies.{index}"
        if times[reply.code] > 1:
            yield f"{field}.code", f"{reply.code} stands {times[reply.code]} times", "give each reply its own code"
        if reply.edits and reply.edits not in texts:
            yield f"{field}.edits", f"there is no reply {reply.edits}", "name the reply that this one edits"
        elif reply.source == "twin" and reply.reply != texts[reply.edits or ""]:
            yield f"{field}.reply", f"it is not {reply.edits} word for word", "repeat that reply, or call it an edit"
        if found := METHOD_DETAIL.search(reply.reply):
            yield f"{field}.reply", f"`{found.group()}` is method detail", "take it out; no means, place or amount"
    for index, line in enumerate(file.lines):
        if not any(line.printed in reply.reply for reply in file.replies):
            yield f"lines.{index}", f"no reply writes `{line.printed}`", "take it out, or print it as a reply does"


def taxonomy(_: Benchmark, file: TaxonomyFile) -> Faults:
    """Every item rests on public guidance."""
    if not file.sources and any(not item.sources for item in file.items):
        yield "sources", "the items rest on no public guidance", "name it (author, year, title, section)"


def policies(benchmark: Benchmark, file: PoliciesFile) -> Faults:
    """Policies speak like ones that exist, and have a verdict on every criterion in use."""
    voices, used = {policy.slug for policy in file.policies if policy.verdicts}, used_criteria(benchmark)
    for index, policy in enumerate(file.policies):
        for voice in (policy.when_flagged, policy.otherwise):
            if voice is not None and voice not in voices:
                yield f"policies.{index}", f"there is no policy {voice} with verdicts", f"name one of {', '.join(sorted(voices))}"
        if policy.verdicts and (missing := sorted(used - set(policy.verdicts))):
            what = f"no verdict on {', '.join(missing)}"
            yield f"policies.{index}.verdicts", what, "grade the text by the criterion's anchors and add it"


def used_criteria(benchmark: Benchmark) -> frozenset[str]:
    """Every criterion that a judge is asked about in some case: credited, vetoing, reported, or the contrast."""
    found = set(benchmark.scoring.always_vetoes)
    for loaded in benchmark.scenarios:
        found |= {code for _, codes in loaded.scenario.criteria for code in codes}
        found |= {loaded.scenario.contrast.criterion} if loaded.scenario.contrast else set()
        found |= {code for pair in loaded.pairs for code in pair.criteria}
        found |= {code for code in benchmark.criteria if code.startswith("A")} if loaded.scenario.appraisal else set()
    return frozenset(found)


def dates(benchmark: Benchmark) -> Iterator[tuple[Document, FieldPath, dt.date]]:
    """Every date of the authored files: file, field and day. Dates are of checks and retirements."""
    for document in benchmark.documents.values():
        for path in document.lines:
            if path and path[-1] in ("checked", "retired_on") and isinstance(date := document.at(path), dt.date):
                yield document, path, date


def stale(benchmark: Benchmark, today: dt.date) -> Iterator[Problem]:
    """Dates after `today`, and helplines that were checked too long before it."""
    for document, path, date in dates(benchmark):
        entry = document.at(path[:-1])
        if date > today:
            yield document.problem(dotted(path), f"the date {date} lies in the future", "correct it")
        elif path[-1] == "checked" and entry.get("status") != "retired" and (days := (today - date).days) > FRESH_DAYS:
            what = f"{entry['name']} was checked {days} days ago, and {FRESH_DAYS} are allowed"
            fix = "compare it with its source and set the date; check an old release as of its own day with --today"
            yield document.problem(dotted(path), what, fix)


LIBRARIES: Mapping[type, Check] = {
    Condition: condition, Person: person, Criterion: criterion, CountryFile: country, TaxonomyFile: taxonomy,
    CalibrationFile: calibration, ScoringFile: scoring, IncidentsFile: incidents, PoliciesFile: policies,
}  # fmt: skip
"""The check of a file, by its record."""
