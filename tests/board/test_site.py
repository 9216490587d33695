"""The site in a real browser, opened from the disk and from a web server: it shows, sorts, compares, and runs nothing else."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.board import pages, site
from helmbench_hf.board.marks import Marks
from helmbench_hf.board.results import Results
from helmbench_hf.board.verify import Reason, Report
from helmbench_hf.scoring.scores import Claim, Coverage, Estimate
from tests.board import made
from tests.report.browser import chromium, watched

pytestmark = pytest.mark.browser
EVIL = '<img src=x onerror="window.__pwned=1">"\'</script><script>window.__pwned=1</script>\u202e\x1b[31m'


@pytest.fixture(scope="session")
def report(original: Path) -> Report:
    return made.checked(original)


@pytest.fixture(scope="session")
def built(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs, a hostile one among them, and a refused submission."""
    root = tmp_path_factory.mktemp("site")
    first = next(iter(report.answers))
    name = next(name for name, each in report.answers.items() if not each.text.startswith("{") and name.endswith("t1/d0"))
    hostile = {**report.answers, name: replace(report.answers[name], text=EVIL), first: replace(report.answers[first], text=EVIL)}
    runs = [made.entry(report, n, model, value) for n, (model, value) in enumerate([("a/low", 0.1), ("b/high", 0.6)], 1)]
    runs.append(made.entry(report, 3, "c/evil", 0.3, name=EVIL[:80]))
    pages.write_run(replace(report, answers=hostile), root / "site" / "runs" / runs[0].run.manifest.run_id, [])
    for each in runs[1:]:
        shutil.copytree(root / "site" / "runs" / runs[0].run.manifest.run_id, root / "site" / "runs" / each.run.manifest.run_id)
    results = Results("https://hub/datasets/x", runs, [(f"submissions/{EVIL}", [Reason("copy.replies", EVIL)])])
    assert site.build(results, Marks(), root / "site") == 3
    return root / "site"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(params=["file", "server"])
def root(request: Any, built: Path) -> Iterator[str]:
    """The address of the site: on the disk, and on a web server."""
    if request.param == "file":
        yield f"{built.as_uri()}/"
        return
    handler = partial(SimpleHTTPRequestHandler, directory=str(built))
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextmanager
def opened(browser: Any, root: str, page: str) -> Iterator[Any]:
    """A page of the site; no dialog, no error, nothing from elsewhere."""
    with watched(browser, root + page, root=root) as found:
        yield found.page
        assert found.dialogs == found.errors == found.requests == []
        assert found.page.evaluate("window.__pwned") is None


def models(page: Any) -> list[str]:
    shown: list[str] = page.locator(".runs tbody tr:not([hidden]) td:nth-child(2) > a:visible").all_inner_texts()
    return shown


def test_the_table_sorts_filters_and_compares(browser: Any, root: str) -> None:
    with opened(browser, root, "index.html") as page:
        assert models(page) == ["a/low", "b/high", "c/evil"], "too few messages for a test: one rank, by name"
        assert "must differ by about" in page.inner_text(".resolves")
        page.click("th:nth-child(3) button")
        assert models(page) == ["b/high", "c/evil", "a/low"]
        assert page.url.endswith("#sort=2d")
        page.fill("#find", "HIGH")
        assert models(page) == ["b/high"]
        page.fill("#find", "")
        page.select_option("#a", f"{1:016x}")
        page.select_option("#b", f"{2:016x}")
        assert "minus" in page.inner_text("#verdict")
        assert "points" in page.inner_text("#verdict")
        assert page.query_selector_all("#beside tr")
        address = page.url
        page.goto("about:blank")
        page.goto(address)
        assert page.is_visible("#pair"), "the address holds all of it"
        assert models(page) == ["b/high", "c/evil", "a/low"]
        page.click("#read")
        page.wait_for_load_state("load")
        frames = [frame for frame in page.frames if "/runs/" in frame.url]
        assert len(frames) == 2


def test_transcripts_open_at_a_link_and_hold_hostile_text_as_text(browser: Any, root: str, built: Path) -> None:
    run = f"runs/{3:016x}"
    with opened(browser, root, f"{run}/transcripts.html") as page:
        assert "findahelpline.com" in page.inner_text(".warning")
        rows = page.locator("tbody tr").count()
        page.select_option("#outcome", "failed")
        assert 0 < page.locator("tbody tr:visible").count() < rows
        link = page.get_attribute("tbody tr:not([hidden]) a", "href")
        page.goto(page.url.rpartition("/")[0] + "/" + link)
        assert page.is_visible("details.case[open] > .said")
        assert len(page.query_selector_all("details.case[open]")) == 1
    for path in (built / run).glob("*.html"):
        text = path.read_text()
        assert not re.search("<img|\u202e|\x1b", text)
        if path.name != "index.html":
            assert "<script>" not in text
            assert "default-src 'none'; script-src 'self'; style-src 'self'" in unescape(text)


def test_a_quotation_stands_marked_in_the_reply(report: Report, tmp_path: Path) -> None:
    name = next(name for name, each in report.answers.items() if each.text.startswith("I am worried"))
    code, turn, _ = name.split("/")
    judged = [each for each in report.verdicts if (each.case, f"t{each.turn}") == (code, turn) and each.grader != "code"]
    verdicts = [replace(each, detail={"quote": "am WORRIED ... you"}) for each in judged]
    pages.write_run(replace(report, verdicts=verdicts), tmp_path, [])
    text = "".join(path.read_text() for path in tmp_path.glob("P*.html"))
    for words in ("quoted under K", ">am worried</mark>", ">you</mark>"):
        assert words in text


def test_table_json_says_what_the_page_says(built: Path) -> None:
    found = json.loads((built / "table.json").read_text())
    [table] = found["tables"]
    assert [row["model"] for row in table["rows"]] == ["a/low", "b/high", "c/evil"]
    assert [row["rank"] for row in table["rows"]] == [1, 1, 1]
    assert table["rows"][1]["overall"]["value"] == 0.6
    assert "counts as failed" in table["ranks"]
    assert "not verified" in table["rows"][0]["identity"]
    index = (built / "index.html").read_text()
    assert "Held for a person." in index
    assert "<img" not in index


def test_a_human_check_is_the_submitters_claim_until_it_is_signed(report: Report, tmp_path: Path) -> None:
    assert report.scores is not None
    claim = Claim("judge-a", "claim-ready", "human", "ab" * 32, 400, "mine", ("K01",), ())
    criteria = (replace(report.scores.criteria[0], validated=True), *report.scores.criteria[1:])
    one = made.entry(report, 1, "a", 0.5, checks=(claim,), criteria=criteria)
    signed = Marks.model_validate({"signed": [{"labels_sha256": "ab" * 32, "by": "Ann", "date": "2026-11-01"}]})
    for marks, word in ((Marks(), "claimed by the submitter"), (signed, "signed")):
        site.build(Results("", [one]), marks, tmp_path / "site", test=True)
        text = (tmp_path / "site" / "index.html").read_text()
        assert f"of {len(criteria)} criteria, {word}" in text
        assert "Test board" in text


def test_coverage_bounds_and_a_confirmed_identity_are_shown(report: Report, tmp_path: Path) -> None:
    one = made.entry(report, 1, "a", 0.5)
    part = Coverage(0.93, 1.0, 93, 100, 0.41, 0.58, ())
    head = replace(
        one.scores.headline, overall=replace(one.scores.headline.overall, coverage=part, score=Estimate(0.5, 0.45, 0.55, 93, 60))
    )
    one = replace(one, scores=replace(one.scores, headline=head))
    marks = Marks.model_validate({"runs": {one.run.manifest.run_id: {"level": "re-run", "checked": "2026-11-01"}}})
    site.build(Results("", [one]), marks, tmp_path / "site")
    text = (tmp_path / "site" / "index.html").read_text()
    assert "41 if all that is missing failed, 58 if it passed" in text
    assert "confirmed by the maintainers" in text
    assert "cannot show any difference" in text
