"""A real Chromium for tests. Where there is none, tests skip with a sentence; in CI that is a failure."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

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

    def until(self, expression: str, seconds: float = 5) -> None:
        """Wait until an expression holds (the page's own policy forbids Playwright's way of waiting)."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"{expression} did not hold within {seconds} s"
            self.page.wait_for_timeout(20)

    def assert_quiet(self) -> None:
        """Nothing executed, nothing was asked for, nothing complained."""
        assert self.dialogs == []
        assert self.requests == []
        assert self.errors == []
        assert self.page.evaluate("window.__pwned") is None
        assert self.page.evaluate("({}).polluted") is None
        assert self.page.evaluate("window.frames.length") == 0


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
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def watched(browser: Any, path: Path, fragment: str = "", **options: Any) -> Iterator[Watched]:
    """Open a page of a file and watch it."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 860}, "reduced_motion": "reduce", **options})
    found = Watched(context.new_page())
    own = path.as_uri()

    def requested(request: Any) -> None:
        if request.url.split("#")[0] not in (own, "data:,"):
            found.requests.append(request.url)

    def dialog(opened: Any) -> None:
        found.dialogs.append(opened.message)
        opened.dismiss()

    found.page.on("request", requested)
    found.page.on("requestfailed", lambda request: found.refused.append(request.url) if request.failure == "csp" else None)
    found.page.on("response", lambda response: found.answered.append(response.url) if response.url != own else None)
    found.page.on("dialog", dialog)
    found.page.on("popup", lambda popup: found.requests.append(popup.url))
    found.page.on("pageerror", lambda error: found.errors.append(str(error)))
    found.page.on("console", lambda message: found.errors.append(message.text) if message.type in ("error", "warning") else None)
    try:
        found.page.goto(own + fragment)
        yield found
    finally:
        context.close()
