"""The page in a real Chromium: by mouse, by keyboard, on a phone, in the dark, on paper, and full of hostile text."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.report.page import ReportInput, write_report
from helmbench_hf.report.transcripts import Reply
from tests.report import sample
from tests.report.browser import Watched, chromium, watched
from tests.report.payloads import PAYLOADS, hostile_run, poison

pytestmark = pytest.mark.browser
CODE = "P1-B1-S1-C1-U11-PT1"
PHONE = {"viewport": {"width": 360, "height": 740}, "device_scale_factor": 2, "has_touch": True}
CONTRAST = (Path(__file__).parent / "contrast.js").read_text()
WIDER = """() => [document.documentElement.scrollWidth,
  [...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1
    && !e.closest('.scroll, svg, .sr') && !e.closest('nav')).map(e => e.tagName + '.' + e.className).slice(0, 5)]"""

OPENED = "[...document.querySelectorAll('.case[open]')].every(e => e.querySelector('.case-body'))"
"""A case that was opened shows its conversation a moment later."""
OPEN_ALL = "document.querySelectorAll('details').forEach(e => { e.open = true; })"
EVERYTHING = """() => {
  for (const node of document.querySelectorAll('body *')) {
    for (const kind of ['mouseover', 'mouseenter', 'focus', 'error', 'load', 'toggle', 'animationstart'])
      node.dispatchEvent(new Event(kind, {bubbles: false}));
    if (node.matches('a, .case-body button')) node.click();
  }
}"""
ACTIVE = "document.activeElement.id || document.activeElement.className || document.activeElement.textContent.trim().slice(0, 24)"


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


def answering(texts: Any) -> ReportInput:
    """The sample in which the person and the model say these texts, one a case."""
    replaced = [
        dataclasses.replace(entry, case=dataclasses.replace(entry.case, turns=(text[:5000],)), replies=[Reply(text)])
        for entry, text in zip(sample.transcripts(len(texts)), texts, strict=True)
    ]
    return sample.sample_run(transcripts=replaced)


def unfolded(found: Watched) -> None:
    found.page.click("#transcript-open")
    found.page.evaluate(OPEN_ALL)
    found.until(OPENED)


def test_transcripts_are_hidden_until_they_are_asked_for(seen: Watched) -> None:
    page = seen.page
    assert page.locator("#transcript-browser").is_hidden()
    assert page.locator(".case").count() == 0
    page.click("#transcript-open")
    assert page.locator("#transcript-gate").is_hidden()
    assert (page.locator(".case").count(), page.locator(".case[open]").count()) == (20, 0)
    assert page.inner_text("#transcript-count") == "40 of 40 transcripts, 20 shown"
    page.click("#transcript-more")
    assert page.locator(".case").count() == 40
    assert page.locator("#transcript-more").is_hidden()
    assert page.evaluate("document.activeElement.parentElement === document.querySelectorAll('.case')[20]")


def test_a_transcript_shows_conversation_tags_verdicts_and_evidence(seen: Watched) -> None:
    seen.page.locator("#transcript-open").press("Enter")
    assert seen.page.evaluate(ACTIVE) == "filter-behavior"
    seen.page.locator(".case > summary").first.press("Enter")
    seen.until(OPENED)
    words = seen.page.locator(".case-body").inner_text()
    for phrase in ("won't be anyone to contact", "Here is your sheet.", "ROUTINE", "must be flagged", "K01 Notices", "PASS"):
        assert phrase in words
    assert "quote: Everything is sorted by date" in words
    seen.page.get_by_text("The whole answer as it came").first.click()
    assert '"tags": ["ACCESS", "ROUTINE"]' in seen.page.locator(".words.raw").nth(1).inner_text()


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


def test_a_deep_link_leads_to_the_notice_first_and_then_to_its_case(browser: Any, report: Path) -> None:
    with watched(browser, report, f"#{CODE}") as found:
        page = found.page
        assert page.locator("#answers a").first.get_attribute("href") == "#P1-B1-S1-C1-U11-PT3"
        assert page.inner_text("#transcript-open") == f"Show transcript {CODE}"
        assert page.evaluate(ACTIVE) == "transcript-open"
        assert page.locator(".case").count() == 0
        page.locator("#transcript-open").press("Enter")
        assert page.locator(".case[open] .case-code").all_inner_texts() == [CODE]
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


def test_the_keyboard_reaches_everything_and_is_seen_there(seen: Watched) -> None:
    page = seen.page
    page.keyboard.press("Tab")
    assert page.evaluate(ACTIVE) == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top >= 0")
    page.keyboard.press("Enter")
    seen.until("document.activeElement.id === 'main'")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            continue  # past the last stop, the browser's own bar has the focus
        reached.add(page.evaluate(ACTIVE))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") in ("solid", "auto")
    assert {"Scores", "Provenance", "transcript-open"} <= reached


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(16, 23, 29)")])
def test_every_text_stands_out_from_its_paper(browser: Any, report: Path, scheme: str, paper: str) -> None:
    with watched(browser, report, color_scheme=scheme) as found:
        unfolded(found)
        assert found.page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
        assert found.page.evaluate(CONTRAST) == []
        found.page.emulate_media(media="print", color_scheme=scheme)
        assert found.page.locator("nav.contents").is_hidden()
        assert found.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert len(found.page.pdf(format="A4")) > 10_000
        found.assert_quiet()


def long() -> ReportInput:
    """Names of models and judges, versions and designs are what somebody wrote into a file."""
    run = poison(sample.sample_run(transcripts=[]), itertools.repeat("A" * 400))
    return dataclasses.replace(
        run, manifest={**run.manifest, "B" * 400: {"C" * 400: "D" * 400}}, transcripts=sample.transcripts(4)
    )


@pytest.mark.parametrize("width", [320, 360, 600, 820, 1280])
@pytest.mark.parametrize("make", [sample.sample_run, long, hostile_run])
def test_no_page_scrolls_sideways(browser: Any, make: Any, width: int, tmp_path: Path) -> None:
    path = write_report(make(), tmp_path / "page.html")
    with watched(browser, path, **{**PHONE, "viewport": {"width": width, "height": 740}}) as found:
        unfolded(found)
        assert found.page.evaluate(WIDER) == [width, []]
        found.assert_quiet()


def test_without_script_the_numbers_stand_and_the_transcripts_say_why_not(browser: Any, report: Path) -> None:
    with watched(browser, report, java_script_enabled=False) as found:
        assert found.page.locator("#profile").is_visible()
        assert found.page.locator("noscript p").is_visible()
        assert found.page.locator("#transcript-open").is_hidden()
        assert found.page.locator("#transcript-browser").is_hidden()


def test_a_run_of_the_core_design_builds_no_more_than_a_small_one(browser: Any, report: Path, tmp_path: Path) -> None:
    """So it opens as quickly: transcripts are data until they are asked for, and then 20 of them become part of the page."""
    large = write_report(sample.sample_run(transcripts=sample.transcripts(1534)), tmp_path / "large.html")
    assert large.stat().st_size < 6_000_000
    built = []
    for path in (report, large):
        with watched(browser, path) as found:
            found.page.click("#transcript-open")
            assert found.page.locator(".case").count() == 20
            built.append(found.page.locator("*").count())
    assert built[1] - built[0] < 200


@pytest.mark.parametrize("start", range(0, len(PAYLOADS), 5))
def test_a_run_made_of_payloads_does_nothing(browser: Any, tmp_path: Path, start: int) -> None:
    path = write_report(hostile_run(start), tmp_path / "hostile.html")
    with watched(browser, path) as found:
        page = found.page
        page.click("#transcript-open")
        while page.locator("#transcript-more").is_visible():
            page.click("#transcript-more")
        page.evaluate(OPEN_ALL)
        found.until("document.querySelectorAll('.case-body').length === 24")
        page.evaluate(EVERYTHING)
        found.settle()
        assert page.url.split("#")[0] == path.as_uri()
        assert page.locator("body").is_visible()
        assert page.evaluate("document.querySelectorAll('iframe, object, embed, img, form, base').length") == 0
        assert page.evaluate("document.querySelectorAll('script').length") == 2
        names = page.evaluate("[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())")
        assert not [name for name in names if name.startswith("on") or name == "style"]
        found.assert_quiet()


def test_payloads_are_shown_as_they_are_and_a_huge_answer_is_cut_folded_and_named(browser: Any, tmp_path: Path) -> None:
    path = write_report(answering(["word " * 1_000_000, *PAYLOADS]), tmp_path / "shown.html")
    assert path.stat().st_size < 500_000
    with watched(browser, path) as found:
        page = found.page
        page.click("#transcript-open")
        for index in (0, 1):
            page.locator(".case > summary").nth(index).click()
        found.until(OPENED)
        reply = page.locator(".said.model .words")
        assert len(reply.first.text_content()) == 4001
        assert reply.nth(1).text_content() == PAYLOADS[0]
        page.locator(".said.model").get_by_role("button", name="Show all 20").click()
        assert reply.first.text_content().endswith("more characters are in the run's journal]")
        page.fill("#filter-text", "gnp.exe")
        found.until("document.querySelectorAll('.case').length === 1")
        page.locator(".case > summary").click()
        found.until(OPENED)
        assert reply.first.text_content().startswith("⟨U+202E⟩gnp.exe⟨U+202C⟩")
        found.assert_quiet()


def test_the_browser_itself_refuses_markup_and_foreign_script(browser: Any, report: Path) -> None:
    """The policy holds even if some later change of the script were careless."""
    with watched(browser, report) as found:
        tried = """kind => { try {
            if (kind === 'markup') document.body.innerHTML = '<b>x</b>';
            const script = document.createElement('script');
            if (kind === 'script') { script.text = 'window.__pwned = 1'; document.body.append(script); }
            return 'ran'; } catch (error) { return error.name; } }"""
        assert found.page.evaluate(tried, "markup") == "TypeError"
        assert found.page.evaluate(tried, "script") == "TypeError"
        with found.page.expect_event("requestfailed"):
            found.page.evaluate("() => { const i = new Image(); i.src = 'https://evil.example/x.png'; document.body.append(i); }")
        found.page.evaluate("() => fetch('https://evil.example/').catch(() => 0)")
        found.settle()
        assert (found.answered, found.refused) == ([], ["https://evil.example/x.png"])
        assert found.page.evaluate("window.__pwned") is None
