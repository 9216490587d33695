"""The rater app over HTTP and in a real Chromium: blinding, forged clicks, hostile replies, keyboard, widths."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.load import CaseSet
from helmbench_hf.people.rater_app import BREAK_AFTER, make_server
from helmbench_hf.people.rating import Ratings, prepare
from helmbench_hf.runs.journal import Journal
from tests.people.conftest import rated_run
from tests.report.browser import chromium, new_page
from tests.report.payloads import PAYLOADS
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.browser


@dataclass
class Served:
    """A running app with hostile replies."""

    server: ThreadingHTTPServer
    ratings: Ratings

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.server_address[1]}"

    def path(self, who: str) -> str:
        return f"/{ {code: secret for secret, code in self.ratings.rated.links.items()}[who] }"

    def send(self, method: str, path: str, body: str = "", **headers: str) -> tuple[int, str, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_address[1], timeout=PATIENCE)
        connection.request(method, path, body or None, {"Origin": f"http://{self.address}", **headers})
        answered = connection.getresponse()
        return answered.status, answered.read().decode(), dict(answered.getheaders())


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def served(tmp_path: Path, loaded: CaseSet, benchmark_: Benchmark) -> Iterator[Served]:
    bank = iter(PAYLOADS)
    folder = rated_run(tmp_path / "run", loaded, len(PAYLOADS), lambda case: next(bank))
    out = tmp_path / "out"
    rated = prepare(folder, out, benchmark_, ("R1", "R2"), limit=400, criteria=(), seed=1)
    with Journal.open(out / "ratings", "rate") as journal:
        ratings = Ratings(rated, benchmark_, out, journal)
        server = make_server(ratings)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield Served(server, ratings)
        server.shutdown()
        server.server_close()
        thread.join()


def test_forged_clicks_are_refused(served: Served) -> None:
    path, form = served.path("R1"), "event=consent"
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "evil.example"},
        {"Host": f"evil.example:{served.address.rpartition(':')[2]}"},
    ):
        assert served.send("POST", path, form, **headers)[0] == 403
    assert served.send("POST", "/guess", form)[0] == 404
    assert served.send("POST", path, "event=verdict&task=x&verdict=PASS")[0] == 400
    assert served.send("POST", path, "x" * 20_000)[0] == 413
    assert served.send("GET", path, Host="evil.example")[0] == 403
    assert served.send("GET", "/")[0] == 404
    assert served.send("GET", "/..%2f..%2fetc/passwd")[0] == 404
    assert not served.ratings.raters["R1"].consented
    assert served.send("POST", path, form)[0] == 303
    assert served.ratings.raters["R1"].consented


def test_the_server_listens_on_this_machine_alone_and_pages_say_what_they_may(served: Served) -> None:
    assert served.server.server_address[0] == "127.0.0.1"
    status, _, headers = served.send("GET", served.path("R1"))
    assert status == 200
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_a_rater_sees_neither_the_model_nor_other_raters(served: Served) -> None:
    served.send("POST", served.path("R1"), "event=consent")
    served.send("POST", served.path("R2"), "event=consent")
    for task in served.ratings.rated.order("R2")[:6]:
        served.send("POST", served.path("R2"), f"event=verdict&task={task.id}&verdict=FAIL")
    for task in served.ratings.rated.order("R1")[:6]:
        page = served.send("GET", served.path("R1"))[1]
        assert "SecretModel" not in page
        assert "R2" not in page
        assert task.exchange.case.code not in page
        served.send("POST", served.path("R1"), f"event=verdict&task={task.id}&verdict=PASS")


def test_hostile_replies_are_text(browser: Any, served: Served) -> None:
    """Every reply of the bank is shown under every criterion: nothing runs, nothing is asked for, no dialog opens."""
    asked, dialogs, errors, shown = [], [], [], set()
    served.ratings.add("R1", "consent")
    with new_page(browser) as page:
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        page.on("pageerror", lambda error: errors.append(str(error)))
        for task in served.ratings.rated.order("R1"):
            if task.reply in shown:
                continue
            shown.add(task.reply)
            served.ratings.add("R1", "verdict", task.id, "FAIL")
            page.goto(f"http://{served.address}{served.path('R1')}?task={task.id}")
            assert page.locator("#material").count() == 1
            assert page.locator("script, iframe, img, object, form[action], base").count() == 0
            assert page.evaluate("window.__pwned") is None
            reply = task.exchange.answer.reply
            if reply.isascii() and reply.isprintable():
                assert reply in page.evaluate("document.getElementById('material').textContent")
    assert len(shown) == len({task.reply for task in served.ratings.rated.tasks.values()})
    assert {url.partition("?")[0] for url in asked} == {
        f"http://{served.address}{served.path('R1')}",
        f"http://{served.address}/people.css",
    }
    assert dialogs == []
    assert errors == []


def press(page: Any, button: str) -> None:
    """By the keyboard; the next page is there when this returns."""
    with page.expect_navigation():
        page.focus(button)
        page.keyboard.press("Enter")


def follow(page: Any, control: str) -> None:
    """By the mouse; the next page is there when this returns."""
    with page.expect_navigation():
        page.click(control)


@pytest.mark.parametrize("size", [(1280, 860), (390, 844)])
def test_a_rater_rates_rests_goes_back_and_stops(browser: Any, served: Served, size: tuple[int, int]) -> None:
    with new_page(browser, viewport={"width": size[0], "height": size[1]}) as page:
        page.goto(f"http://{served.address}{served.path('R1')}")
        fits = lambda: page.evaluate("document.documentElement.scrollWidth") <= size[0]  # noqa: E731
        assert "suicide" in page.inner_text(".notice")
        assert page.locator("#material").count() == 0
        assert fits()
        press(page, "main button")
        for _ in range(BREAK_AFTER):
            assert fits()
            press(page, "button[value=FAIL]")
        assert page.inner_text("h1") == "A break"
        assert len(served.ratings.labels()) == BREAK_AFTER
        follow(page, "main button")
        follow(page, "text=Change my last answer")
        assert "You said: FAIL" in page.inner_text("main")
        follow(page, "button[value=PASS]")
        assert [row[3] for row in served.ratings.labels()].count("PASS") == 1
        follow(page, "text=Stop and find help")
        page.select_option("#country", "GB")
        follow(page, "text=Show services")
        assert "Samaritans" in page.inner_text("main")
        assert "Compared with it on" in page.inner_text("main")
        assert fits()
        follow(page, "text=Go back to rating")
        assert page.locator("#material").count() == 1
