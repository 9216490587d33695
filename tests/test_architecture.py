"""The rooms of docs/architecture.md: nothing imports against its arrows, and no two files import each other in a circle."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "helmbench_hf"
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / PACKAGE).rglob("*.py"))
}


def imported(module: str, *, late: bool) -> set[str]:
    """The modules of ours that a module imports; `late`: also inside functions and for type checkers alone."""
    tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
    nodes = ast.walk(tree) if late else iter(tree.body)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in FILES else node.module for name in whole}
    return {name for name in found if name in FILES and name != PACKAGE}


def room(module: str) -> str:
    return module.split(".")[1]


def arrows() -> dict[str, set[str]]:
    """Room -> the rooms that it may import, from the table of the page."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("<!-- arrows: begin")[2].partition("<!-- arrows: end")[0]
    found: dict[str, set[str]] = {}
    for line in table.splitlines():
        if match := re.match(r"\| `(\w+)` \|.*\|([^|]*)\|$", line):
            listed = set(re.findall(r"`(\w+)`", match[2]))
            everything = set(found) - listed if "everything above" in match[2] else listed
            found[match[1]] = everything
    return found


@pytest.mark.parametrize("module", [name for name in FILES if name != PACKAGE])
def test_every_import_follows_an_arrow(module: str) -> None:
    allowed = arrows()[room(module)] | {room(module)}
    against = {name for name in imported(module, late=True) if room(name) not in allowed}
    assert not against, f"{module} may not import {sorted(against)}; docs/architecture.md draws no such arrow"


def test_every_room_is_drawn_and_points_down() -> None:
    drawn = arrows()
    assert {room(name) for name in FILES if name != PACKAGE} == set(drawn)
    seen: set[str] = set()
    for name, below in drawn.items():
        assert below <= seen, f"{name} points at a room that is drawn below it"
        seen.add(name)


def test_no_files_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = defaultdict(set)
    for module in FILES:
        graph[module] = imported(module, late=False) - {module}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"these files import each other: {' -> '.join(error.args[1])}")
