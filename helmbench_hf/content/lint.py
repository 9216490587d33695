"""Checks that cross files: `check` runs them all, from the tables below. None changes anything."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from helmbench_hf.content import library_checks, style, wording
from helmbench_hf.content.load import Benchmark, ContentError, Faults, Loaded, load_benchmark, outside
from helmbench_hf.content.scenario_checks import ANSWERS, MESSAGES, SCENARIO
from helmbench_hf.strict_yaml import Document, Problem

Check = Callable[[Benchmark, Loaded], Faults]


def check(benchmark: Benchmark, today: dt.date) -> list[Problem]:
    """Every fault across the authored files; dates are compared with `today`."""
    problems = [*structure(benchmark), *_strays(benchmark), *_libraries(benchmark)]
    problems += [*library_checks.stale(benchmark, today), *wording.check(benchmark), *style.problems(benchmark)]
    for loaded in benchmark.scenarios:
        if loaded.authored:
            problems += _faults(benchmark, loaded, loaded.lines, [wording.twin_lengths])
            problems += _faults(benchmark, loaded, loaded.scenario_lines, [wording.job])
    return problems


def structure(benchmark: Benchmark) -> list[Problem]:
    """Faults that keep the matrix from being expanded: links that lead out, unknown references, answers of a wrong shape."""
    problems = [*_links(benchmark), *_descriptions(benchmark)]
    for loaded in benchmark.scenarios:
        problems += _faults(benchmark, loaded, loaded.scenario_lines, SCENARIO)
        problems += _faults(benchmark, loaded, loaded.lines if loaded.authored else loaded.scenario_lines, ANSWERS)
        if loaded.authored:
            problems += _faults(benchmark, loaded, loaded.lines, MESSAGES)
    return problems


def load_sound(root: Path) -> Benchmark:
    """The benchmark under `root`, fit to be expanded. Raises ContentError with every fault in a file or between files."""
    benchmark = load_benchmark(root)
    if problems := structure(benchmark):
        raise ContentError(problems)
    return benchmark


def _faults(benchmark: Benchmark, loaded: Loaded, file: Document, checks: Iterable[Check]) -> Iterator[Problem]:
    """The problems that the checks find in one file of a scenario."""
    for each in checks:
        yield from (file.problem(*fault) for fault in each(benchmark, loaded))


def _libraries(benchmark: Benchmark) -> Iterator[Problem]:
    for shown, record in benchmark.records.items():
        if check_record := library_checks.LIBRARIES.get(type(record)):
            yield from (benchmark.documents[shown].problem(*fault) for fault in check_record(benchmark, record))


def _links(benchmark: Benchmark) -> Iterator[Problem]:
    """Texts, reads and locks are read where they stand: no link may lead out of the benchmark's folder."""
    for path in sorted(benchmark.root.rglob("*")):
        if path.is_symlink() and (problem := outside(benchmark.root, path)):
            yield problem


def _strays(benchmark: Benchmark) -> Iterator[Problem]:
    """A file in the wrong place would be left out in silence."""
    for path in sorted(benchmark.root.rglob("*")):
        if path.suffix in {".yaml", ".yml"} and benchmark.show(path) not in benchmark.documents:
            yield Problem(benchmark.show(path), 0, "", "the file is not read", "move it to its place, as .yaml, or remove it")


def _descriptions(benchmark: Benchmark) -> Iterator[Problem]:
    """Every behavior that has a scenario is described."""
    for folder in sorted({loaded.folder.parent for loaded in benchmark.scenarios}):
        if not (folder / "behavior.md").is_file():
            what = "the behavior has no description"
            yield Problem(benchmark.show(folder / "behavior.md"), 0, "", what, "write its claim, rationale and pass line")
