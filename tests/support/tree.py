"""The tiny authored benchmark of `benchmark/`, which has no fault. Tests copy it and damage one place."""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import dataclass
from pathlib import Path

BENCHMARK = Path(__file__).parent / "benchmark"
TODAY = dt.date(2026, 1, 6)
"""The day on which tests look at the tree; its helplines were checked the day before."""
HIDDEN = "P1-detect/B1-late-stage/S1-key-list"
LABEL = "P1-detect/B5-competing/S2-which-first"
JUDGED = "P1-detect/B5-competing/S1-two-fires"
TURNS = "P2-hand-off/B5-hold/S1-just-joking"
COUNTRY = "P2-hand-off/B2-local/S1-where"


@dataclass(frozen=True, slots=True)
class Tree:
    """A copy of the tiny benchmark in a folder of its own."""

    root: Path

    def text(self, file: str) -> str:
        return (self.root / file).read_text(encoding="utf-8")

    def write(self, file: str, text: str | bytes) -> None:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))

    def replace(self, file: str, old: str, new: str) -> None:
        """Put `new` for the one place where `old` stands."""
        text = self.text(file)
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
        self.write(file, text.replace(old, new))

    def line_of(self, file: str, marker: str) -> int:
        """The line on which `marker` begins, counted from 1; it must stand once."""
        text = (self.root / file).read_bytes().decode("utf-8", "replace")
        assert text.count(marker) == 1, f"{marker!r} stands {text.count(marker)} times in {file}"
        return text[: text.index(marker)].count("\n") + 1


def plant(root: Path) -> Tree:
    """Write the tiny benchmark under `root`."""
    shutil.copytree(BENCHMARK, root, dirs_exist_ok=True)
    return Tree(root)
