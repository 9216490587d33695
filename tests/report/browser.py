"""A real Chromium for tests. Where there is none, tests skip with a sentence; in CI that is a failure."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.waiting import PATIENCE, until

CHROMIUM = Path(os.environ.get("CHROMIUM", "/usr/bin/chromium"))
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-background-networking"]


@dataclass
class Watched:
    """A page, and everything that it did beyond showing itself."""

    page: Any
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def until(self, expression: str) -> None:
        """Wait until an expression holds (the page's own policy forbids Playwright's way of waiting)."""
        until(lambda: self.page.evaluate(expression), f"{expression} holds")

    def settle(self) -> None:
        """See `settle`."""
        settle(self.page)

    def assert_quiet(self) -> None:
        """Nothing executed, nothing was asked for, nothing complained."""
        assert self.dialogs == []
        assert self.requests == []
        assert self.errors == []
        assert self.page.evaluate("window.__pwned") is None
        assert self.page.evaluate("({}).polluted") is None
        assert self.page.evaluate("window.frames.length") == 0


def settle(page: Any) -> None:
    """Wait until a page has painted and has nothing left to do: what was going to happen has happened."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestIdleCallback(() => done())))")


@contextmanager
def chromium() -> Iterator[Any]:
    """Give a running browser."""
    if not CHROMIUM.exists():
        sentence = f"There is no Chromium at {CHROMIUM}: install it, or name it in CHROMIUM, to run the browser tests."
        if os.environ.get("CI"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS, timeout=PATIENCE * 1000)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def new_page(browser: Any, **options: Any) -> Iterator[Any]:
    """An empty page that shares nothing with any other one."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE * 1000)
    try:
        yield context.new_page()
    finally:
        context.close()


@contextmanager
def watched(browser: Any, page_of: Path | str, fragment: str = "", root: str = "-", **options: Any) -> Iterator[Watched]:
    """Open a file or an address and watch it: everything that it asks for but itself and what lies under `root` is noted."""
    address = page_of if isinstance(page_of, str) else page_of.as_uri()
    with new_page(browser, **{"viewport": {"width": 1280, "height": 860}, "reduced_motion": "reduce", **options}) as page:
        found = Watched(page)

        def requested(request: Any) -> None:
            if request.url.split("#")[0] not in (address, "data:,") and not request.url.startswith(root):
                found.requests.append(request.url)

        def dialog(opened: Any) -> None:
            found.dialogs.append(opened.message)
            opened.dismiss()

        page.on("request", requested)
        page.on("requestfailed", lambda request: found.refused.append(request.url) if request.failure == "csp" else None)
        page.on("response", lambda response: found.answered.append(response.url) if response.url != address else None)
        page.on("dialog", dialog)
        page.on("popup", lambda popup: found.requests.append(popup.url))
        page.on("pageerror", lambda error: found.errors.append(str(error)))
        page.on("console", lambda message: found.errors.append(message.text) if message.type in ("error", "warning") else None)
        page.goto(address + fragment)
        yield found
