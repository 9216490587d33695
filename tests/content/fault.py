"""A fault that an author can make, and what the program must say about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.tree import TODAY, Tree


@dataclass(frozen=True, slots=True)
class Fault:
    """One damaged place. `at` is text on the line that must be named, or its number (0: the file alone)."""

    kind: str
    file: str
    old: str
    new: str
    at: str | int
    field: str
    what: str
    mend: str
    count: int = 1
    """How many faults must be named in all."""
    named: str = ""
    """The file that must be named, where it is not the damaged one."""


def damage(tree: Tree, fault: Fault) -> str:
    """Make the fault; returns how its place must be named, as `file:line`."""
    tree.replace(fault.file, fault.old, fault.new)
    file = fault.named or fault.file
    line = tree.line_of(file, fault.at) if isinstance(fault.at, str) else fault.at
    return f"{file}:{line}" if line else file


def refusal(tree: Tree, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What `build_dataset.py` prints about a tree that it must refuse: one line a fault, and nothing written."""
    import build_dataset

    given = ["--content", str(tree.root), "--out", str(out), "--today", str(TODAY)]
    monkeypatch.setattr("sys.argv", ["build_dataset.py", *given])
    assert build_dataset.main() == 1
    assert not out.exists()
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err.splitlines()


def assert_named(lines: list[str], where: str, field: str, what: str, mend: str) -> None:
    """One of the lines names the place, the field, what is wrong and how to mend it."""
    start = f"{where}: {field}: " if field else f"{where}: "
    for line in lines:
        said, _, mended = line.partition(" Mend: ")
        if line.startswith(start) and what in said and mend in mended and mended.rstrip("."):
            return
    pytest.fail(f"no line starts with {start!r}, says {what!r} and mends by {mend!r}:\n" + "\n".join(lines))
