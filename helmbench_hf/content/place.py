"""Problems of a scenario at the line of their field."""

from __future__ import annotations

from helmbench_hf.content.load import Benchmark, Loaded
from helmbench_hf.content.strict_yaml import Problem


def in_scenario(benchmark: Benchmark, loaded: Loaded, field: str, what: str, mend: str) -> Problem:
    """A problem of `scenario.yaml` at the field."""
    line = loaded.scenario_lines.line(path(field))
    return Problem(benchmark.show(loaded.folder / "scenario.yaml"), line, field, what, mend)


def in_messages(benchmark: Benchmark, loaded: Loaded, field: str, what: str, mend: str) -> Problem:
    """A problem of `messages.yaml` at the field."""
    return Problem(benchmark.show(loaded.folder / "messages.yaml"), loaded.lines.line(path(field)), field, what, mend)


def path(field: str) -> tuple[str | int, ...]:
    """The keys and indices that a dotted field names."""
    return tuple(int(part) if part.isdigit() else part for part in field.split("."))
