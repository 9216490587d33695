"""Hostile text in a real Chromium: nothing executes, nothing is asked for, nothing breaks the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.report import write_report
from tests.report import sample
from tests.report.browser import chromium, watched
from tests.report.payloads import PAYLOADS, hostile_run
from tests.report.test_browser import TOLD

pytestmark = pytest.mark.browser
EVERYTHING = """() => {
  for (const details of document.querySelectorAll('details')) details.open = true;
  for (const node of document.querySelectorAll('body *')) {
    for (const kind of ['mouseover', 'mouseenter', 'focus', 'error', 'load', 'toggle', 'animationstart'])
      node.dispatchEvent(new Event(kind, {bubbles: false}));
    if (node.matches('a, .case-body button')) node.click();
  }
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.mark.parametrize("start", range(0, len(PAYLOADS), 5))
def test_a_run_made_of_payloads_does_nothing(browser: Any, tmp_path: Path, start: int) -> None:
    path = write_report(hostile_run(start), tmp_path / "hostile.html")
    with watched(browser, path) as found:
        page = found.page
        page.click("#transcript-open")
        while page.locator("#transcript-more").is_visible():
            page.click("#transcript-more")
        assert page.locator(".case").count() == 24
        page.evaluate("document.querySelectorAll('.case').forEach(e => { e.open = true; })")
        found.until("document.querySelectorAll('.case-body').length === 24")
        page.evaluate(EVERYTHING)
        found.settle()
        assert page.url.split("#")[0] == path.as_uri()
        assert page.locator("body").is_visible()
        assert page.evaluate("document.querySelectorAll('iframe, object, embed, img, form, base').length") == 0
        assert page.evaluate("document.querySelectorAll('script').length") == 2
        assert (
            page.evaluate(
                "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).filter(n => /^on|^style$/.test(n))"
            )
            == []
        )
        found.assert_quiet()


def test_payloads_are_shown_as_they_are(browser: Any, tmp_path: Path) -> None:
    transcripts = sample.transcripts(len(PAYLOADS))
    for entry, payload in zip(transcripts, PAYLOADS, strict=True):
        entry |= {"turns": [payload], "replies": [{"text": payload, "visible": None, "status": "ok"}]}  # type: ignore[misc]
    path = write_report(sample.sample_run(transcripts=transcripts), tmp_path / "shown.html")
    with watched(browser, path) as found:
        page = found.page
        page.click("#transcript-open")
        page.locator(".case > summary").first.click()
        assert page.locator(".said.model .words").first.text_content() == PAYLOADS[0]
        page.fill("#filter-text", "gnp.exe")
        found.until("document.querySelectorAll('.case').length === 1")
        page.locator(".case > summary").first.click()
        assert page.locator(".said.model .words").first.text_content().startswith("⟨U+202E⟩gnp.exe⟨U+202C⟩")
        found.assert_quiet()


def test_text_without_spaces_widens_no_phone(browser: Any, tmp_path: Path) -> None:
    path = write_report(hostile_run(), tmp_path / "wide.html")
    with watched(browser, path, viewport={"width": 360, "height": 740}) as found:
        found.page.click("#transcript-open")
        found.page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        found.until(TOLD)
        assert found.page.evaluate("document.documentElement.scrollWidth") == 360


def test_a_huge_answer_is_cut_folded_and_named(browser: Any, tmp_path: Path) -> None:
    transcripts = sample.transcripts(4)
    transcripts[1] |= {"replies": [{"text": "word " * 1_000_000, "visible": None, "status": "ok"}]}  # type: ignore[misc]
    path = write_report(sample.sample_run(transcripts=transcripts), tmp_path / "huge.html")
    assert path.stat().st_size < 400_000
    with watched(browser, path) as found:
        page = found.page
        page.click("#transcript-open")
        page.locator(".case > summary").nth(1).click()
        reply = page.locator(".said.model .words").first
        assert len(reply.text_content()) == 4001
        page.get_by_role("button", name="Show all 20").click()
        assert reply.text_content().endswith("more characters are in the run's journal]")
        found.assert_quiet()


def test_the_browser_itself_refuses_markup_and_foreign_script(browser: Any, tmp_path: Path) -> None:
    """The policy holds even if some later change of the script were careless."""
    path = write_report(sample.sample_run(), tmp_path / "policy.html")
    with watched(browser, path) as found:
        tried = """kind => { try {
            if (kind === 'markup') document.body.innerHTML = '<b>x</b>';
            const script = document.createElement('script');
            if (kind === 'script') { script.text = 'window.__pwned = 1'; document.body.append(script); }
            if (kind === 'eval') (0, eval)('window.__pwned = 1');
            return 'ran'; } catch (error) { return error.name; } }"""
        assert found.page.evaluate(tried, "markup") == "TypeError"
        assert found.page.evaluate(tried, "script") == "TypeError"
        with found.page.expect_event("requestfailed"):
            found.page.evaluate("() => { const i = new Image(); i.src = 'https://evil.example/x.png'; document.body.append(i); }")
        found.page.evaluate("() => fetch('https://evil.example/').catch(() => 0)")
        found.settle()
        assert found.answered == []
        assert found.refused == ["https://evil.example/x.png"]
        assert found.page.evaluate("window.__pwned") is None
