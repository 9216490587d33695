"""The site builds without a warning, holds every page, and loads nothing from another host."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import DOCS, ROOT
from tests.docs.samples import DEMO, DEMO_MARK, MARK
from tests.docs.test_pages import CAVEATS, READERS
from tests.report.browser import chromium, new_page, settle
from tests.report.page import Page

pytestmark = pytest.mark.slow

LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src", "object": "data"}
LINKS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload"}
ELSEWHERE = re.compile(r"^(?:https?:)?//")
IN_CSS = re.compile(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")\s]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    if importlib.util.find_spec("mkdocstrings") is None:
        sentence = 'mkdocs-material or mkdocstrings is not installed: pip install -e ".[docs]" to test the site.'
        if os.environ.get("CI"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    out = tmp_path_factory.mktemp("site")
    # no --quiet: --strict counts only the warnings that are logged
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def built(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_page_is_there(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        path = page.relative_to(DOCS)
        if path.parts[0] == "includes":
            assert not (site / path.with_suffix(".html")).exists()
        else:
            name = "index.html" if path.name == "README.md" else path.with_suffix(".html").name
            assert (site / path.parent / name).exists(), path


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    found = set()
    for path in built(site):
        for element in Page(path.read_text(encoding="utf-8")).elements:
            loaded = element.attributes.get(LOADS.get(element.name, ""))
            if element.name == "link" and LINKS & set((element.attributes.get("rel") or "").split()):
                loaded = element.attributes.get("href")
            for address in (loaded, *IN_CSS.findall(element.attributes.get("style") or "")):
                if address and ELSEWHERE.match(address):
                    found.add((path.name, address))
    for path in site.rglob("*.css"):
        found |= {(path.name, address) for address in IN_CSS.findall(path.read_text(encoding="utf-8"))}
    assert found == set()


def test_readers_see_the_caveats(site: Path) -> None:
    caveats = (site / "reading" / "caveats.html").read_text(encoding="utf-8")
    assert [words for words in CAVEATS if words not in caveats] == []
    for reader in READERS:
        text = (site / "reading" / f"{reader}.html").read_text(encoding="utf-8")
        assert "caveats.html" in text, reader


def test_the_reference_shows_docstrings(site: Path) -> None:
    text = (site / "api" / "cases.html").read_text(encoding="utf-8")
    assert 'id="helmbench_hf.dataset.load.load_cases"' in text
    assert "for which <code>revision</code> (a tag or commit) is required" in text


def test_the_samples_say_that_they_are_invented(site: Path) -> None:
    pages = [path for path in built(site / "sample") if path.name not in {"smollm2.html", "reading.html"}]
    assert {site / "sample" / name for name in ("report.html", "board/index.html")} < set(pages)
    for path in pages:
        head, marked, body = path.read_text(encoding="utf-8").partition(MARK)
        assert marked, path
        assert "<main" in body, "the mark stands at the top"
        assert "<h1" not in head, path
        assert "smollm2" not in (head + body).lower(), "no real model's name stands over invented numbers"


def test_the_demo_report_is_marked_as_a_real_model_that_is_too_small(site: Path) -> None:
    text = (site / "sample" / "smollm2.html").read_text(encoding="utf-8")
    assert (DEMO_MARK if DEMO.exists() else "make demo docs") in text


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site without a line for each request."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site, served on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.browser
def test_a_browser_asks_no_other_host_and_a_phone_shows_every_page(site: Path, address: str) -> None:
    asked: list[str] = []
    errors: list[str] = []
    wide: list[str] = []
    with chromium() as browser, new_page(browser, viewport={"width": 390, "height": 800}) as page:
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        for path in built(site):
            page.goto(f"{address}/{path.relative_to(site)}")
            settle(page)
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wide.append(str(path.relative_to(site)))
    assert [url for url in asked if not url.startswith((f"{address}/", "data:"))] == []
    assert errors == []
    assert wide == []


@pytest.mark.browser
def test_the_search_finds_a_page(address: str) -> None:
    with chromium() as browser, new_page(browser) as page:
        page.goto(f"{address}/index.html")
        # key by key: the search reads the field when a key comes up, and what `fill` puts there can go unread
        page.locator("input.md-search__input").press_sequentially("entrapment")
        page.wait_for_selector(".md-search-result__link")
        found = page.eval_on_selector_all(".md-search-result__link", "links => links.map(link => link.href)")
    assert any("P1-B3" in link for link in found)
