"""The pages in docs/behaviors are those of the authored files, and nothing that an author wrote is lost on them."""

from __future__ import annotations

from pathlib import Path

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.pages import pages

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "behaviors"


def test_the_pages_are_current(real: Benchmark) -> None:
    found = pages(real)
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()} == found, "run `helmbench content pages`"


def test_every_behavior_and_scenario_has_its_place(real: Benchmark) -> None:
    found = pages(real)
    for loaded in real.scenarios:
        page = found[f"{loaded.behavior}.md"]
        assert f"### {loaded.scenario.code} {loaded.scenario.title}" in page
        assert (loaded.folder.parent / "behavior.md").read_text(encoding="utf-8").strip() in page
        assert f"({loaded.behavior}.md)" in found["README.md"]
