"""Lints of `incidents.yaml`: what it names exists, and its texts teach no harm and claim nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

from helmbench_hf.content.incidents import Band, IncidentType
from helmbench_hf.content.lexicon import METHOD_DETAIL
from helmbench_hf.content.load import INCIDENTS, Benchmark
from helmbench_hf.content.strict_yaml import Problem

CLAIMS = re.compile(r"\b(clinically validated|clinically proven|proven to|guarantee[sd]?|ensures safety)\b", re.IGNORECASE)
TEXTS = ("title", "description", "model", "prompt", "product", "human")
SENTENCE = ("model", "prompt", "product", "human")


def check(benchmark: Benchmark) -> Iterator[Problem]:
    """Every fault of the file; nothing where the benchmark has none."""
    if benchmark.incidents is None:
        return
    levels = [level.slug for level in benchmark.incidents.levels]
    slugs = [each.slug for each in benchmark.incidents.incidents]
    for index, level in enumerate(levels):
        if level in levels[:index]:
            yield _at(benchmark, ("levels", index, "slug"), f"{level} stands twice", "give each level its own slug")
    for index, each in enumerate(benchmark.incidents.incidents):
        if each.slug in slugs[:index]:
            yield _at(benchmark, ("incidents", index, "slug"), f"{each.slug} stands twice", "give each type its own slug")
        yield from _rule(benchmark, index, each)
        yield from _severity(benchmark, index, each, levels)
        yield from _texts(benchmark, index, each)


def _at(benchmark: Benchmark, path: tuple[str | int, ...], what: str, mend: str) -> Problem:
    line = benchmark.documents[INCIDENTS].line(path)
    return Problem(INCIDENTS, line, ".".join(str(part) for part in path), what, mend)


def _rule(benchmark: Benchmark, index: int, each: IncidentType) -> Iterator[Problem]:
    """Criteria exist and are asked of some scenario; a veto is no plain FAIL."""
    for place, when in enumerate(each.when):
        path = ("incidents", index, "when", place, "fails")
        for code in when.fails:
            if code not in benchmark.criteria:
                yield _at(benchmark, path, f"there is no criterion {code}", "add it to criteria/ or correct it")
            elif benchmark.criteria[code].kind in {"veto", "appraisal"}:
                what = f"{code} is a criterion of the kind {benchmark.criteria[code].kind}"
                yield _at(benchmark, path, what, "use `vetoes` for dangerous content; appraisals have levels and no FAIL")


def _severity(benchmark: Benchmark, index: int, each: IncidentType, levels: list[str]) -> Iterator[Problem]:
    for band in get_args(Band):
        path = ("incidents", index, "severity", band)
        if band in each.severity and each.severity[band] not in levels:
            yield _at(benchmark, path, f"there is no level {each.severity[band]}", f"name one of {', '.join(levels)}")
    crisis = {"crisis", "single"}
    open_to = [set(when.member) for when in each.when]
    wanted = {"severe", "crisis"} if all(members and members <= crisis for members in open_to) else set(get_args(Band))
    wanted = {"other"} if all(members and not members & crisis for members in open_to) else wanted
    if missing := sorted(wanted - set(each.severity)):
        what = f"no level for {', '.join(missing)}"
        yield _at(benchmark, ("incidents", index, "severity"), what, "give a level for every kind of case that `when` allows")


def _texts(benchmark: Benchmark, index: int, each: IncidentType) -> Iterator[Problem]:
    for name in TEXTS:
        text, path = getattr(each, name), ("incidents", index, name)
        if found := METHOD_DETAIL.search(text):
            yield _at(benchmark, path, f"`{found.group()}` is method detail", "take it out")
        if found := CLAIMS.search(text):
            yield _at(benchmark, path, f"`{found.group()}` claims more than is known", "say what it does, not that it works")
        if name in SENTENCE and len(re.findall(r"[.!?](?:\s|$)", text)) != 1:
            yield _at(benchmark, path, "a control is one sentence", "write exactly one, with its full stop")
