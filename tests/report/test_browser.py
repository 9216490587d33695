"""The page in a real Chromium: it works by mouse, by keyboard, on a phone, in the dark and on paper."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.report import write_report
from tests.report import sample
from tests.report.browser import Watched, chromium, watched
from tests.report.payloads import poison

pytestmark = pytest.mark.browser
CODE = "P1-B1-S1-C1-U11-PT1"
PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2, "has_touch": True}
CONTRAST = """() => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return [...m.slice(0, 3), m.length > 3 ? m[3] : 1]; };
  const light = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const paper = e => {
    for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > .99) return c; }
    return [255, 255, 255, 1]; };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, s = getComputedStyle(e), box = e.getBoundingClientRect();
    if (!walk.currentNode.data.trim() || !box.width || e.closest('script,style,title,desc,.sr,.skip')) continue;
    const ink = parse(e.namespaceURI.endsWith('svg') ? s.fill : s.color), back = paper(e);
    const [a, b] = [light(ink.slice(0, 3)), light(back.slice(0, 3))].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    const large = parseFloat(s.fontSize) >= 24 || (parseFloat(s.fontSize) >= 18.6 && s.fontWeight >= 600);
    if (ratio < (large ? 3 : 4.5)) found.push([walk.currentNode.data.trim().slice(0, 40), e.className, ratio.toFixed(2)]);
  }
  return found;
}"""
WIDER = """() => [document.documentElement.scrollWidth,
  [...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1
    && !e.closest('.scroll, svg, .sr') && !e.closest('nav')).map(e => e.tagName + '.' + e.className).slice(0, 5)]"""

TOLD = "[...document.querySelectorAll('.case[open]')].every(e => e.querySelector('.case-body'))"
"""A case that was opened shows its conversation a moment later."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(sample.sample_run(), tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture
def seen(browser: Any, report: Path) -> Iterator[Watched]:
    with watched(browser, report) as found:
        yield found
        found.assert_quiet()


def test_transcripts_are_hidden_until_they_are_asked_for(seen: Watched) -> None:
    page = seen.page
    assert page.locator("#transcript-browser").is_hidden()
    assert page.locator(".case").count() == 0
    page.click("#transcript-open")
    assert page.locator("#transcript-gate").is_hidden()
    assert page.locator(".case").count() == 20
    assert page.locator(".case[open]").count() == 0
    assert page.inner_text("#transcript-count") == "40 of 40 transcripts, 20 shown"
    page.click("#transcript-more")
    assert page.locator(".case").count() == 40
    assert page.locator("#transcript-more").is_hidden()
    assert page.evaluate("document.activeElement.parentElement === document.querySelectorAll('.case')[20]")


def test_a_transcript_shows_conversation_tags_verdicts_and_evidence(seen: Watched) -> None:
    page = seen.page
    page.click("#transcript-open")
    page.locator(".case > summary").first.click()
    words = page.locator(".case-body").first.inner_text()
    for phrase in (
        "there won't be anyone to contact",
        "Here is your sheet.",
        "ROUTINE",
        "must be flagged",
        "K01 Notices the person",
        "PASS",
    ):
        assert phrase in words
    assert "quote: Everything is sorted by date" in words
    page.get_by_text("The whole answer as it came").first.click()
    assert '"tags": ["ACCESS", "ROUTINE"]' in page.locator(".words.raw").nth(1).inner_text()


def test_filters_and_search_narrow_the_list(seen: Watched) -> None:
    page = seen.page
    page.click("#transcript-open")
    page.select_option("#filter-behavior", "P2-B5")
    assert page.inner_text("#transcript-count") == "10 of 40 transcripts"
    page.select_option("#filter-condition", "C4")
    assert set(page.locator(".case-title").all_inner_texts()) == {"Just joking"}
    page.select_option("#filter-behavior", "")
    page.select_option("#filter-condition", "")
    page.select_option("#filter-outcome", "missed")
    assert page.locator(".case").count() == page.locator(".chip", has_text="missed").count() > 0
    page.select_option("#filter-outcome", "")
    page.fill("#filter-text", "BLUE album")
    seen.until("document.getElementById('transcript-count').textContent.startsWith('5 of 40')")
    page.fill("#filter-text", "nothing says this")
    seen.until("document.getElementById('transcript-count').textContent === '0 of 40 transcripts'")
    assert page.locator(".case").count() == 0


def test_a_deep_link_leads_to_the_notice_first_and_then_to_its_case(browser: Any, report: Path) -> None:
    with watched(browser, report, f"#{CODE}") as found:
        page = found.page
        button = page.locator("#transcript-open")
        assert button.inner_text() == f"Show transcript {CODE}"
        assert page.evaluate("document.activeElement.id") == "transcript-open"
        assert page.locator(".case").count() == 0
        button.press("Enter")
        assert page.locator(".case[open] .case-code").all_inner_texts() == [CODE]
        assert "anyone to contact" in page.locator(".case-body").inner_text()
        page.evaluate("location.hash = '#P4-B2-S1-C1-U11-PT4'")
        found.until("document.querySelector('.case[open] .case-code')?.textContent === 'P4-B2-S1-C1-U11-PT4'")
        found.assert_quiet()


@pytest.mark.parametrize("fragment", ["#%E0%A4%A", "#__proto__", "#<img src=x onerror=alert(1)>", "#transcript-data", "#P9-none"])
def test_a_link_to_nothing_does_nothing(browser: Any, report: Path, fragment: str) -> None:
    with watched(browser, report, fragment) as found:
        assert found.page.inner_text("#transcript-open") == "Show 40 transcripts"
        found.page.click("#transcript-open")
        assert found.page.locator(".case[open]").count() == 0
        found.assert_quiet()


def test_the_list_of_vetoes_leads_to_its_transcript(seen: Watched) -> None:
    link = seen.page.locator("#answers a").first
    assert link.get_attribute("href") == "#P1-B1-S1-C1-U11-PT3"


def test_the_keyboard_reaches_everything_and_is_seen_there(seen: Watched) -> None:
    page = seen.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top >= 0")
    page.keyboard.press("Enter")
    seen.until("document.activeElement.id === 'main'")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            continue  # past the last stop, the browser's own bar has the focus
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim().slice(0, 24)"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") in ("solid", "auto")
    assert {"Scores", "Provenance", "transcript-open"} <= reached


def test_a_case_opens_by_keyboard(seen: Watched) -> None:
    page = seen.page
    page.locator("#transcript-open").press("Enter")
    assert page.evaluate("document.activeElement.id") == "filter-behavior"
    page.locator(".case > summary").nth(2).press("Enter")
    assert page.locator(".case[open]").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_paper(browser: Any, report: Path, scheme: str) -> None:
    with watched(browser, report, color_scheme=scheme) as found:
        found.page.click("#transcript-open")
        for index in range(4):
            found.page.locator(".case > summary").nth(index).click()
        found.page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        found.until(TOLD)
        assert found.page.evaluate(CONTRAST) == []
        found.assert_quiet()


def test_dark_is_dark(browser: Any, report: Path) -> None:
    with watched(browser, report, color_scheme="dark") as found:
        assert found.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 23, 29)"


@pytest.mark.parametrize("width", [320, 360, 600, 820])
def test_no_page_scrolls_sideways(browser: Any, report: Path, width: int) -> None:
    with watched(browser, report, **{**PHONE, "viewport": {"width": width, "height": 740}}) as found:
        page = found.page
        page.click("#transcript-open")
        page.locator(".case > summary").nth(0).click()
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        found.until(TOLD)
        assert page.evaluate(WIDER) == [width, []]
        found.assert_quiet()


def test_paper_has_no_controls_and_no_closed_conversation(seen: Watched) -> None:
    page = seen.page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("nav.contents").is_hidden()
    assert page.locator("#transcript-open").is_hidden()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf(format="A4")) > 10_000


def test_without_script_the_numbers_stand_and_the_transcripts_say_why_not(browser: Any, report: Path) -> None:
    with watched(browser, report, java_script_enabled=False) as found:
        assert found.page.locator("#profile").is_visible()
        assert found.page.locator("noscript p").is_visible()
        assert found.page.locator("#transcript-open").is_hidden()
        assert found.page.locator("#transcript-browser").is_hidden()


def test_a_run_of_the_core_design_builds_no_more_than_a_small_one(browser: Any, report: Path, tmp_path: Path) -> None:
    """So it opens as quickly: transcripts are data until they are asked for, and then 20 of them become a part of the page."""
    large = write_report(sample.sample_run(transcripts=sample.transcripts(1534)), tmp_path / "large.html")
    assert large.stat().st_size < 6_000_000
    built: dict[Path, list[int]] = {}
    for path in (report, large):
        with watched(browser, path) as found:
            count = lambda page=found.page: page.locator("*").count()  # noqa: E731
            before = count()
            found.page.click("#transcript-open")
            assert found.page.locator(".case").count() == 20
            built[path] = [before, count()]
            found.assert_quiet()
    assert all(more - fewer < 200 for more, fewer in zip(built[large], built[report], strict=True)), built


@pytest.mark.parametrize("width", [360, 1280])
def test_a_long_string_of_manifest_or_scores_widens_nothing(browser: Any, tmp_path: Path, width: int) -> None:
    """Names of models and judges, versions and designs are what somebody wrote into a file."""
    run, long = sample.sample_run(), itertools.repeat("A" * 400)
    scores = {**poison(run.scores, long), "format": run.scores["format"]}
    manifest = {**poison(sample.manifest(), long), "B" * 400: {"C" * 400: "D" * 400}}
    path = write_report(dataclasses.replace(run, scores=scores, manifest=manifest), tmp_path / "long.html")
    with watched(browser, path, viewport={"width": width, "height": 740}) as found:
        found.page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        assert found.page.evaluate(WIDER) == [width, []]
        found.assert_quiet()
