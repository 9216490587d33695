"""Checks that cross files. `check` runs them all; each is a generator of problems, and none changes anything."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from helmbench_hf.content import (
    lexicon,
    lint_corpus,
    lint_dates,
    lint_incidents,
    lint_library,
    lint_messages,
    lint_task,
    lint_text,
)
from helmbench_hf.content.load import Benchmark, ContentError, Loaded, load_benchmark, outside
from helmbench_hf.content.place import in_messages, in_scenario
from helmbench_hf.content.schema import Scenario
from helmbench_hf.content.strict_yaml import Problem
from helmbench_hf.matrix import counts
from helmbench_hf.matrix.render import user_memory

READ_ELSEWHERE = ("policies.yaml",)
"""Authored files that are no part of the dataset: content/policies.py reads them."""


def check(benchmark: Benchmark, today: dt.date) -> list[Problem]:
    """Every fault across the authored files, whose dates are held against `today`.

    The counts come last, and only where the structure is sound: counting expands the matrix, which rests on it.
    """
    unsound = structure(benchmark)
    problems = [*unsound, *_strays(benchmark), *_taxonomy_sources(benchmark), *_replies(benchmark)]
    problems += [*lint_library.check(benchmark), *lint_dates.check(benchmark, today), *lint_incidents.check(benchmark)]
    problems += [*lint_text.check(benchmark), *lint_corpus.check(lint_text.texts_of(benchmark))]
    if benchmark.plan and not unsound:
        problems += counts.check(benchmark, benchmark.plan)
    return problems


def structure(benchmark: Benchmark) -> list[Problem]:
    """What keeps the matrix from being expanded: links that lead out, references that lead nowhere, answers of a wrong shape."""
    per_scenario: tuple[Callable[[Benchmark, Loaded], Iterator[Problem]], ...] = (
        _place,
        _references,
        _own_criteria,
        _sources,
        lint_task.check,
        lint_messages.check,
    )
    found = [problem for loaded in benchmark.scenarios for lint in per_scenario for problem in lint(benchmark, loaded)]
    return [*_links(benchmark), *_weights(benchmark), *found]


def load_sound(root: Path) -> Benchmark:
    """The benchmark under `root`, fit to be expanded. Raises ContentError with every fault of a file or between files."""
    benchmark = load_benchmark(root)
    if problems := structure(benchmark):
        raise ContentError(problems)
    return benchmark


def _links(benchmark: Benchmark) -> Iterator[Problem]:
    """Texts, reads and locks are read where they stand: no link may lead out of the benchmark's folder."""
    for path in sorted(benchmark.root.rglob("*")):
        if path.is_symlink() and (problem := outside(benchmark.root, path)):
            yield problem


def _strays(benchmark: Benchmark) -> Iterator[Problem]:
    """A file in the wrong place would be left out in silence."""
    known = {*benchmark.documents, *READ_ELSEWHERE}
    for path in sorted(benchmark.root.rglob("*")):
        if path.suffix in {".yaml", ".yml"} and benchmark.show(path) not in known:
            yield Problem(benchmark.show(path), 0, "", "the file is not read", "move it to its place, as .yaml, or remove it")


def _sources(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """Every message rests on public guidance: its own, or its scenario's."""
    messages = loaded.messages
    bare = sum(not entry.sources for entry in (*messages.pairs, *messages.singles, *messages.ambiguous))
    if bare and loaded.source == loaded.scenario.code and not loaded.scenario.sources:
        mend = "name it here (author, year, title, section), or at each message"
        yield in_scenario(benchmark, loaded, "sources", f"{bare} messages rest on no public guidance", mend)


def _replies(benchmark: Benchmark) -> Iterator[Problem]:
    """Replies of the calibration set have their codes once, edit what is there, and teach no harm, bad ones neither."""
    written = [(file, index, reply) for file in benchmark.calibration for index, reply in enumerate(file.replies)]
    codes = Counter(reply.code for _, _, reply in written)
    texts = {reply.code: reply.reply for _, _, reply in written}
    for file, index, reply in written:
        shown = f"calibration/{file.scenario}.yaml"
        line = benchmark.documents[shown].line(("replies", index))
        if codes[reply.code] > 1:
            yield Problem(shown, line, "code", f"{reply.code} stands {codes[reply.code]} times", "give each reply its own code")
        if reply.edits and reply.edits not in codes:
            yield Problem(shown, line, "edits", f"there is no reply {reply.edits}", "name the reply that this one edits")
        elif reply.source == "twin" and reply.reply != texts[reply.edits or ""]:
            yield Problem(shown, line, "reply", f"it is not {reply.edits} word for word", "repeat that reply, or call it an edit")
        if found := lexicon.METHOD_DETAIL.search(reply.reply):
            yield Problem(shown, line, "reply", f"`{found.group()}` is method detail", "take it out; no means, place or amount")
    for file in benchmark.calibration:
        for index, public in enumerate(file.lines):
            if not any(public.printed in reply.reply for reply in file.replies):
                shown = f"calibration/{file.scenario}.yaml"
                line = benchmark.documents[shown].line(("lines", index))
                what = f"no reply writes `{public.printed}`"
                yield Problem(shown, line, "lines", what, "take it out, or print it as a reply does")


def _taxonomy_sources(benchmark: Benchmark) -> Iterator[Problem]:
    for file in benchmark.taxonomy:
        if not file.sources and any(not item.sources for item in file.items):
            shown = f"taxonomy/{file.category}.yaml"
            yield Problem(shown, 0, "sources", "the items rest on no public guidance", "name it (author, year, title, section)")


def _weights(benchmark: Benchmark) -> Iterator[Problem]:
    document, seen = benchmark.documents["benchmark.yaml"], set[str]()
    total = sum(behavior.weight for pillar in benchmark.file.pillars for behavior in pillar.behaviors)
    if total != 100:
        what = f"the weights sum to {total}"
        yield Problem("benchmark.yaml", document.line(("pillars",)), "pillars", what, "make them sum to 100")
    for place, pillar in enumerate(benchmark.file.pillars):
        for index, behavior in enumerate(pillar.behaviors):
            field = f"pillars.{place}.behaviors.{index}.code"
            line = document.line(("pillars", place, "behaviors", index, "code"))
            if not behavior.code.startswith(f"{pillar.code}-"):
                what = f"{behavior.code} stands under {pillar.code}"
                yield Problem("benchmark.yaml", line, field, what, "move it to its own pillar")
            if behavior.code in seen:
                yield Problem("benchmark.yaml", line, field, f"{behavior.code} stands here already", "keep one of the two")
            seen.add(behavior.code)


def _place(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """Folder names say what the files say; the behavior is declared and described."""
    pillars = {b.code: (p, b) for p in benchmark.file.pillars for b in p.behaviors}
    if loaded.behavior not in pillars:
        yield in_scenario(
            benchmark,
            loaded,
            "code",
            f"{loaded.behavior} is not in benchmark.yaml",
            "correct the code or add the behavior",
        )
        return
    pillar, behavior = pillars[loaded.behavior]
    number = loaded.scenario.code.rpartition("-")[2]
    expected = f"{pillar.code}-{pillar.slug}/{behavior.code[3:]}-{behavior.slug}/{number}-{loaded.scenario.slug}"
    if benchmark.show(loaded.folder) != expected:
        yield in_scenario(benchmark, loaded, "slug", f"the folder is {benchmark.show(loaded.folder)}", f"rename it to {expected}")
    if not (loaded.folder.parent / "behavior.md").is_file():
        where = benchmark.show(loaded.folder.parent / "behavior.md")
        yield Problem(where, 0, "", "the behavior has no description", "write its claim, rationale and pass line")


def _references(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    """Conditions, users and criteria exist, once each."""
    scenario = loaded.scenario
    for index, code in enumerate(scenario.conditions):
        if code not in benchmark.conditions:
            yield in_scenario(
                benchmark,
                loaded,
                f"conditions.{index}",
                f"there is no condition {code}",
                "add it to conditions/ or correct it",
            )
        if code in scenario.conditions[:index]:
            yield in_scenario(benchmark, loaded, f"conditions.{index}", f"{code} is listed twice", "keep one")
    for index, user in enumerate(scenario.users):
        if reason := lint_messages.unknown_user(benchmark, user):
            yield in_scenario(benchmark, loaded, f"users.{index}", reason, "add the context or correct the code")
        elif scenario.resources and user_memory(benchmark, user)[0] not in benchmark.countries:
            what = f"{user} lives in no country that has a helplines file"
            yield in_scenario(benchmark, loaded, f"users.{index}", what, "choose another user or write the file")
        if user in scenario.users[:index]:
            yield in_scenario(benchmark, loaded, f"users.{index}", f"{user} is listed twice", "keep one")
    for field, codes in _criteria_fields(scenario):
        for code in codes:
            if code not in benchmark.criteria:
                yield in_scenario(benchmark, loaded, field, f"there is no criterion {code}", "add it to criteria/ or correct it")
            elif (benchmark.criteria[code].kind == "veto") != (field == "criteria.vetoes"):
                yield in_scenario(
                    benchmark,
                    loaded,
                    field,
                    f"{code} is a {benchmark.criteria[code].kind}",
                    "vetoes go under `vetoes`, all others not",
                )


def _own_criteria(benchmark: Benchmark, loaded: Loaded) -> Iterator[Problem]:
    for group in ("pairs", "singles", "ambiguous"):
        for index, item in enumerate(getattr(loaded.messages, group)):
            for code in item.criteria:
                if code not in benchmark.criteria or benchmark.criteria[code].kind != "credit":
                    what = f"{code} is no criterion that earns credit"
                    yield in_messages(benchmark, loaded, f"{group}.{index}.criteria", what, "correct it")


def _criteria_fields(scenario: Scenario) -> Iterator[tuple[str, list[str]]]:
    for name in ("crisis", "benign", "ambiguous", "vetoes", "reported"):
        yield f"criteria.{name}", getattr(scenario.criteria, name)
    if scenario.contrast:
        yield "contrast.criterion", [scenario.contrast.criterion]
