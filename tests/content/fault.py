"""A fault that an author can make, and what the program must say about it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from helmbench_hf.content.lint import check
from helmbench_hf.content.load import ContentError, load_benchmark
from tests.support.tree import TODAY, Tree


@dataclass(frozen=True, slots=True)
class Fault:
    """One damaged place. `at` is text on the line that must be named, or its number (0: the file; "": where `new` begins)."""

    file: str
    old: str
    new: str
    field: str
    what: str
    fix: str
    at: str | int = ""
    count: int = 1
    """How many faults must be named in all."""
    named: str = ""
    """The file that must be named, if it is not the damaged one."""


def damage(tree: Tree, fault: Fault) -> str:
    """Make the fault; returns how its place must be named, as `file:line`."""
    before = tree.text(fault.file).split("\n")
    tree.replace(fault.file, fault.old, fault.new)
    file, line = fault.named or fault.file, fault.at
    if line == "":
        after = tree.text(fault.file).split("\n")
        line = next(index for index, (old, new) in enumerate(zip([*before, ""], [*after, ""], strict=False), 1) if old != new)
    elif isinstance(line, str):
        line = tree.line_of(file, line)
    return f"{file}:{line}" if line else file


def problems(tree: Tree) -> list[str]:
    """What is wrong with a tree, one line a fault."""
    try:
        return [str(problem) for problem in check(load_benchmark(tree.root), TODAY)]
    except ContentError as error:
        return [str(problem) for problem in error.problems]


def assert_named(lines: list[str], where: str, field: str, what: str, fix: str) -> None:
    """One of the lines names the place, the field, what is wrong and how to fix it."""
    start = f"{where}: {field}: " if field else f"{where}: "
    for line in lines:
        said, _, fixed = line.partition(" Fix: ")
        if line.startswith(start) and what in said and fix in fixed and fixed.rstrip("."):
            return
    pytest.fail(f"no line starts with {start!r}, says {what!r} and fixes it by {fix!r}:\n" + "\n".join(lines))
