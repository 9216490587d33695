"""What a page shows as an example holds, and every page for readers of a report carries the caveats."""

from __future__ import annotations

import datetime as dt
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from helmbench_hf.content.lint import check
from helmbench_hf.content.load import default_root, load_benchmark
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.scoring.run import score
from tests.docs.pages import DOCS, PAGES, ROOT, fences
from tests.docs.samples import READING, REPORT, write_reading, write_sample

FLOORS = ("dangerous-reply", "missed-when-asked", "missed-when-hidden", "yielded")
READERS = ("index", "clinicians", "product-teams", "regulators")
CAVEATS = (
    "not proof of safety",
    "Not clinically validated",
    "One judge",
    "Small samples",
    "Hidden versus asked",
    "Both kinds of mistake count",
    "A gray area remains",
    "Helplines carry a date",
    "English, and few cultures",
    "Prewritten lines",
    "A model, not your product",
    "The test is public",
)
"""What the review in the seeds warns of, and what followed from it."""
OWN_CAVEAT = {
    "index": "Do not write",
    "clinicians": "Where the line is a judgment call",
    "product-teams": "Add tests of your own",
    "regulators": "too few scenarios for regulatory confidence",
}
"""What the review tells each group of readers."""


def test_the_scenario_that_is_shown_passes_every_check(tmp_path: Path, real_day: dt.date) -> None:
    shown = dict(fences((DOCS / "author-a-scenario.md").read_text(encoding="utf-8"), "yaml"))
    root = tmp_path / "v1"
    shutil.copytree(default_root(), root)
    folder = root / "P1-detect" / "B1-late-stage-preparation" / "S3-plant-sitting"
    folder.mkdir()
    for name in ("scenario.yaml", "messages.yaml"):
        (folder / name).write_text(shown[name], encoding="utf-8")

    benchmark = load_benchmark(root)

    problems = [str(problem) for problem in check(benchmark, real_day)]
    assert problems == []
    assert "P1-B1-S3" in {loaded.scenario.code for loaded in benchmark.scenarios}


def test_python_on_the_pages_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "runs" / "mine"
    run.mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "report" / "scores.sample.json", run / "scores.json")
    monkeypatch.chdir(tmp_path)
    pages = ("api/index.md", "interop.md")
    examples = [(page, *each) for page in pages for each in fences((DOCS / page).read_text(encoding="utf-8"), "python")]
    for page, title, body in examples:
        if not title:  # what it needs is not here
            exec(compile(body, page, "exec"), {})
    printed = capsys.readouterr().out
    assert sum(not title for _, title, _ in examples) == 3
    assert all(words in printed for words in ("GB", "Detects distress", "'answers': "))
    assert (tmp_path / "runs" / "function" / "scores.json").is_file()


def test_each_section_of_the_report_is_explained() -> None:
    template = (ROOT / "helmbench_hf" / "report" / "templates" / "report.html.j2").read_text(encoding="utf-8")
    page = (DOCS / "reading" / "index.md").read_text(encoding="utf-8")
    sections = re.findall(r'<li><a href="#[\w-]+">([^<]+)</a></li>', template)
    assert len(sections) >= 9
    assert [name for name in sections if f"| {name} |" not in page] == []


def test_readers_of_a_report_meet_every_caveat() -> None:
    caveats = (DOCS / "reading" / "caveats.md").read_text(encoding="utf-8")
    assert [words for words in CAVEATS if words not in caveats] == []
    for reader in READERS:
        page = (DOCS / "reading" / f"{reader}.md").read_text(encoding="utf-8")
        assert "(caveats.md)" in page, reader
        assert OWN_CAVEAT[reader] in page, reader


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_path_of_a_machine_stands_on_a_page(page: Path) -> None:
    assert re.findall(r"(?:^|[\s`(\"'])(/(?:work|home|root|tmp|Users)/\S*)", page.read_text(encoding="utf-8")) == []


def test_every_file_that_a_page_names_is_there() -> None:
    named = re.compile(r"`((?:benchmarks|configs|docs|helmbench_hf|tests)/(?:[\w-]+[./])+(?:py|md|yaml|json|jsonl))`")
    missing = {
        f"{page.relative_to(ROOT)}: {path}"
        for page in PAGES
        for path in named.findall(page.read_text(encoding="utf-8"))
        if not (ROOT / path).exists()
    }
    assert missing == set()


@pytest.mark.slow
def test_the_pages_say_how_many_messages_the_floors_have() -> None:
    loaded, benchmark = load_cases("core"), load_benchmark(default_root())
    floors = {each.slug: each for each in score(loaded.cases, [], benchmark=benchmark, judges=(), design="core").floors}
    dangerous, asked, hidden, yielded = (floors[slug].planned_meanings for slug in FLOORS)
    pages = {
        name: (DOCS / name).read_text(encoding="utf-8") for name in ("limits.md", "design-decisions.md", "reading/regulators.md")
    }
    assert f"needs 299 (there are {dangerous}), and the one on yielding needs 59 (there are {yielded})" in pages["limits.md"]
    assert f"(14 needed, {hidden} there) or asked about outright (59 needed, {asked} there)" in pages["limits.md"]
    assert f"holds {dangerous} for dangerous replies, {asked} for severe messages asked about" in pages["design-decisions.md"]
    assert f"{hidden} for hidden ones, {yielded} for yielding" in pages["design-decisions.md"]
    assert f"`core` has {dangerous}" in pages["reading/regulators.md"]


@pytest.mark.slow
@pytest.mark.parametrize(("kept", "write"), [(REPORT, write_sample), (READING, write_reading)])
def test_a_sample_is_what_the_code_writes(kept: Path, write: Callable[[Path], Path], tmp_path: Path) -> None:
    fresh = write(tmp_path / kept.name).read_text(encoding="utf-8")
    assert kept.read_text(encoding="utf-8") == fresh, "run `python -m tests.docs.screenshots`"
