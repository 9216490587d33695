"""The board in a real Chromium: links, keyboard, phone, hostile texts, and no request to another host."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from helmbench_hf.leaderboard.data import Data
from helmbench_hf.leaderboard.query import PARTS, VIEWS
from helmbench_hf.run_folder import RunError
from tests.leaderboard import boards
from tests.leaderboard.boards import Visit, served, visiting
from tests.leaderboard.test_board_pages import HOSTILE, hostile, hostile_index
from tests.report.browser import chromium
from tests.report.payloads import PAYLOADS
from tests.report.test_browser import CONTRAST, PHONE, WIDER
from tests.support.waiting import until

pytestmark = pytest.mark.browser
BEHIND = "?view=transcripts&note=read"
CASE = "P1-B1-S1-C1-U11-PT1"
RUN, OTHER = boards.run_id(1), boards.run_id(2)
ALL = [
    *(f"?view={view}" for view in VIEWS),
    *(f"?view=parts&by={by}" for by in PARTS),
    f"{BEHIND}&model={RUN}",
    f"{BEHIND}&model={RUN}&second={OTHER}",
    f"{BEHIND}&model={RUN}&case={CASE}",
    f"{BEHIND}&model={RUN}&second={OTHER}&case={CASE}",
    f"{BEHIND}&outcome=none",
]
NAMELESS = """() => [...document.querySelectorAll('a, button, select, input:not([type=hidden]), [role=region], [role=img], nav')]
  .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length)
    || e.getAttribute('aria-labelledby'))).map(e => e.outerHTML.slice(0, 80))"""
UNREAD = """() => [
  ...[...document.querySelectorAll('table')].filter(t => !(t.caption || t.ariaLabel)),
  ...[...document.querySelectorAll('th')].filter(th => !th.scope),
  ...[...document.querySelectorAll('main svg')].filter(s => !s.closest('[aria-hidden=true], [role=img]')),
  ...[...document.querySelectorAll('svg[role=img]')].filter(s => !(s.ariaLabel || s.getAttribute('aria-labelledby'))),
].map(e => e.outerHTML.slice(0, 80))"""
"""Tables without a caption, heads without a scope, charts without words."""
STEP = """() => {
  const now = document.activeElement, box = now.getBoundingClientRect(), style = getComputedStyle(now);
  const order = !window.__last || !!(window.__last.compareDocumentPosition(now) & Node.DOCUMENT_POSITION_FOLLOWING);
  window.__last = now;
  return now === document.body ? null : {
    what: now.outerHTML.slice(0, 80), order,
    seen: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 && box.width > 0 && box.height > 0
      && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
  };
}"""
"""What the Tab key has reached: whether its focus can be seen, and whether it stands after the one before."""
DOUBLE = """() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  return ids.filter((id, i) => ids.indexOf(id) !== i); }"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(boards.five()) as found:
        yield found


@pytest.fixture
def seen(browser: Any, address: str) -> Iterator[Visit]:
    with visiting(browser, address) as found:
        yield found
        found.assert_quiet()


def test_it_listens_on_this_machine_alone(address: str) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)


def test_an_empty_board_starts_and_says_that_it_is_empty() -> None:
    """Its front page is a 404, at which Gradio would take it for unreachable and end."""
    with served(Data((), (), "")) as found, pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(found)


def test_pages_carry_their_policy(address: str) -> None:
    with urllib.request.urlopen(address) as reply:
        policy = reply.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{address}?view=model&model=nobody")


def test_the_table_is_given_as_json(address: str) -> None:
    with urllib.request.urlopen(f"{address}table.json?sort=alarms") as reply:
        assert reply.headers["Content-Type"] == "application/json"
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        found = json.load(reply)
    assert found["sorted_by"] == "False alarms"
    assert sorted(row["model"] for row in found["rows"]) == sorted(boards.NAMES)


@pytest.mark.parametrize(
    "path", ["config", "gradio_api/upload", "gradio_api/file=/etc/passwd", "gradio_api/info", "docs", "static/x"]
)
def test_nothing_else_of_gradio_answers(address: str, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(address + path)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(urllib.request.Request(address + path, data=b"x", method="POST"))


def test_a_run_that_changed_is_said(address: str) -> None:
    def changed(entry: Any, policies: Any) -> str:
        raise RunError("the submission changed after it was verified; start the board again")

    with served(boards.five(), changed) as found, pytest.raises(urllib.error.HTTPError, match="409"):
        urllib.request.urlopen(f"{found}?view=report&model={boards.NAMES[0]}")


@pytest.mark.parametrize("query", ALL)
def test_every_page_is_named_labelled_and_asks_for_nothing_else(seen: Visit, query: str) -> None:
    seen.open(query)
    assert seen.page.evaluate(NAMELESS) == []
    assert seen.page.evaluate(DOUBLE) == []
    assert seen.page.evaluate(UNREAD) == []
    assert seen.page.evaluate(CONTRAST) == []
    assert seen.page.locator("main h1").count() == 1
    assert len([url for url in seen.asked if not url.startswith("data:")]) == 1


def test_sorting_by_keyboard(seen: Visit) -> None:
    seen.open()
    link = seen.page.get_by_role("columnheader", name="False alarms").get_by_role("link")
    link.focus()
    seen.page.keyboard.press("Enter")
    seen.page.wait_for_url("**sort=alarms**")
    head = seen.page.locator("th[aria-sort]")
    assert head.count() == 1
    assert head.get_attribute("aria-sort") == "ascending"
    assert "No test stands behind this order" in seen.page.get_by_role("status").inner_text()


def test_the_keyboard_reaches_the_content_first(seen: Visit) -> None:
    seen.open()
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.textContent") == "Skip to the content"
    seen.page.keyboard.press("Enter")
    until(lambda: seen.page.evaluate("document.activeElement.id") == "main", "the content has the focus")
    seen.page.keyboard.press("Tab")
    outline = seen.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"


@pytest.mark.parametrize("query", ALL)
def test_the_tab_key_goes_through_a_page_in_order_and_its_focus_is_seen(seen: Visit, query: str) -> None:
    seen.open(query)
    reached = []
    for _ in range(80):
        seen.page.keyboard.press("Tab")
        step = seen.page.evaluate(STEP)
        if step is None:
            break
        reached.append(step)
    assert len(reached) > len(VIEWS), "the skip link and the views at least"
    assert [step["what"] for step in reached if not step["seen"]] == []
    assert [step["what"] for step in reached if not step["order"]] == []


def test_from_the_table_to_a_run_to_its_report_and_transcripts(seen: Visit) -> None:
    seen.open()
    seen.page.get_by_role("link", name="example/gamma-13b").click()
    seen.page.wait_for_url("**view=model**")
    assert seen.page.locator("h1").inner_text() == "example/gamma-13b"
    seen.page.get_by_role("link", name="Full report").click()
    seen.page.wait_for_url("**view=report**")
    assert seen.page.locator("#transcript-browser").is_hidden(), "the content note stands first"
    seen.page.locator("#transcript-open").click()
    assert seen.page.locator("#transcript-browser").is_visible()
    seen.page.get_by_role("link", name="Back to the board").click()
    seen.page.wait_for_url("**view=model**")
    assert seen.page.locator("h1").inner_text() == "example/gamma-13b"


def test_transcripts_by_keyboard_behind_the_note(seen: Visit) -> None:
    def follow(name: str) -> None:
        before = seen.page.url
        seen.page.get_by_role("main").get_by_role("link", name=name).focus()
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_url(lambda url: url != before)

    seen.open("?view=model&model=example/gamma-13b")
    follow("Transcripts")
    assert "talk to someone now" in seen.page.locator("#transcript-gate").inner_text()
    assert seen.page.locator("table").count() == 0
    follow("Show the transcripts")
    seen.page.get_by_label("Outcome").select_option(label="Missed: should have been flagged")
    seen.page.get_by_label("Beside it").select_option(label="acme/beta-7b")
    seen.page.get_by_role("button", name="Show").press("Enter")
    seen.page.wait_for_url("**outcome=missed**")
    assert seen.page.get_by_role("columnheader").all_inner_texts()[1:] == ["example/gamma-13b", "acme/beta-7b"]
    seen.page.locator("tbody a").first.press("Enter")
    seen.page.wait_for_url("**case=**")
    assert seen.page.locator(".said.model").count() == 2
    follow("Next")
    follow("Link to this case")
    assert seen.page.locator("#transcript-gate").is_visible(), "whoever is sent there meets the note first"


def test_comparing_two_by_the_form(seen: Visit) -> None:
    seen.open("?view=compare")
    seen.page.get_by_label("First", exact=True).select_option(label="acme/beta-7b")
    seen.page.get_by_label("Second", exact=True).select_option(label="solo/epsilon")
    seen.page.get_by_role("button", name="Compare").click()
    seen.page.wait_for_url("**second=**")
    text = seen.page.locator("main").inner_text()
    assert "First: acme/beta-7b. Second: solo/epsilon." in text


@pytest.mark.parametrize("query", ALL)
def test_a_phone_scrolls_tables_and_not_the_page(browser: Any, address: str, query: str) -> None:
    with visiting(browser, address, **PHONE) as seen:
        seen.open(query)
        width, wider = seen.page.evaluate(WIDER)
        assert (width, wider) == (360, [])
        seen.assert_quiet()


def test_dark_pages_have_contrast(browser: Any, address: str) -> None:
    with visiting(browser, address, color_scheme="dark") as seen:
        for query in ALL:
            seen.open(query)
            assert seen.page.evaluate(CONTRAST) == [], query


@pytest.mark.parametrize("start", range(0, len(PAYLOADS), 8))
def test_hostile_names_and_texts_do_nothing(browser: Any, start: int) -> None:
    index = hostile_index(start)
    with served(hostile(start), index=lambda entry: index) as address, visiting(browser, address) as seen:
        for query in HOSTILE:
            seen.open(query.address())
            seen.page.mouse.move(300, 300)
            seen.assert_quiet()
        assert all(url.startswith((address, "data:,")) for url in seen.asked)
