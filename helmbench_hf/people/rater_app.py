"""The rater app: a page for each rater, served on this machine alone.

Plain HTML forms and no script at all: a page is text with escapes, its policy allows its own style and posts to itself.
A link's secret part says who rates. Every post has to come from the page itself: Host and Origin are held against the address
of the server, so that neither another site nor another name for this machine can click.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from helmbench_hf.judging import rubric
from helmbench_hf.people import helplines
from helmbench_hf.people.forms import NOTICE, TEMPLATES, source
from helmbench_hf.people.plan import PeopleError
from helmbench_hf.people.rating import Ratings, Task
from helmbench_hf.report.text import visible
from helmbench_hf.runs.journal import JournalError

HOST = "127.0.0.1"
BREAK_AFTER = 20
"""Verdicts between two breaks."""
STYLE = "/people.css"
POLICY = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
LARGEST = 10_000
"""Bytes of one post."""


class Pages:
    """What each page says."""

    def __init__(self, ratings: Ratings) -> None:
        self.ratings = ratings
        self.css = source("people.css")
        self._countries = helplines.countries(ratings.benchmark.countries)

    def rater(self, code: str, query: dict[str, str]) -> str:
        """The page that a rater sees next."""
        rater, ratings = self.ratings.raters[code], self.ratings
        task = self._task(code, query.get("task", ""))
        done = len(rater.said)
        screen = "task" if task else "end"
        if not rater.consented:
            screen = "notice"
        elif rater.stopped:
            screen = "stop"
        elif task and task.id not in rater.said and done and done % BREAK_AFTER == 0 and rater.rested < done:
            screen = "break"
        return TEMPLATES.get_template("rate.html.j2").render(
            style=STYLE,
            screen=screen,
            code=code,
            done=done,
            total=len(ratings.rated.tasks),
            last=next(reversed(rater.said), ""),
            notice=NOTICE,
            break_after=BREAK_AFTER,
            countries=self._countries,
            country=next((each for each in self._countries if each["code"] == query.get("country")), None),
            directory=helplines.DIRECTORY,
            **(self._shown(task, rater.said.get(task.id)) if screen == "task" and task else {}),
        )

    def _task(self, code: str, wanted: str) -> Task | None:
        """The task that is asked for again, where it was answered; else the next one."""
        if wanted in self.ratings.raters[code].said:
            return self.ratings.rated.tasks[wanted]
        return self.ratings.next(code)

    def _shown(self, task: Task, said: str | None) -> dict[str, Any]:
        """What a judge sees of a task, with what would act unseen shown as a mark."""
        benchmark = self.ratings.benchmark
        criterion = benchmark.criteria[task.criterion]
        return {
            "task": task.id,
            "said": said,
            "rules": rubric.RULES.partition("The material")[1] + rubric.RULES.partition("The material")[2],
            "material": visible(rubric.material(task.exchange)),
            "criterion": rubric.anchors(criterion, rubric.limits(task.exchange.case, criterion)),
            "verdicts": self.ratings.verdicts(task.id),
        }


def serve(ratings: Ratings, port: int, ready: Callable[[ThreadingHTTPServer], None]) -> None:
    """Serve until interrupted. `ready` gets the server once it listens. Raises PeopleError where the port is taken."""
    try:
        server = make_server(ratings, port)
    except OSError as error:
        raise PeopleError(f"Port {port} of this machine cannot be used ({error.strerror}); give another --port.") from error
    with server:
        ready(server)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def make_server(ratings: Ratings, port: int = 0) -> ThreadingHTTPServer:
    """A server on the loopback address; port 0 takes a free one."""
    pages = Pages(ratings)

    class Handler(_Handler):
        """The pages of these ratings."""

        shown = pages

    server = ThreadingHTTPServer((HOST, port), Handler)
    server.daemon_threads = True
    return server


class _Handler(BaseHTTPRequestHandler):
    """One request. Nothing of it is printed."""

    shown: Pages
    timeout = 30
    server_version, sys_version = "helmbench", ""

    def do_GET(self) -> None:
        """Show a page."""
        if self.path == STYLE and self.headers.get("Host") in self._names():
            return self._answer(200, self.shown.css, "css")
        if (who := self._who()) is not None:
            query = {name: values[-1] for name, values in parse_qs(urlsplit(self.path).query).items()}
            self._answer(200, self.shown.rater(who, query))
        return None

    def do_POST(self) -> None:
        """Keep a click, then send the browser to the next page."""
        who = self._who()
        if who is None:
            return None
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site", "same-origin")
        if origin not in {f"http://{name}" for name in self._names()} or site != "same-origin":
            return self._answer(403, "This click did not come from the page.")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST:
            return self._answer(413, "This is too much for one click.")
        sent = parse_qs(self.rfile.read(int(length)).decode("utf-8", "replace"), keep_blank_values=True)
        given = {name: values[-1] for name, values in sent.items()}
        try:
            self.shown.ratings.add(who, given.get("event", ""), given.get("task", ""), given.get("verdict", ""))
        except PeopleError as error:
            return self._answer(400, f"Nothing was saved: {error}")
        except JournalError as error:
            return self._answer(507, f"This click was NOT saved. Tell the coordinator. {error}")
        self.send_response(303)
        self.send_header("Location", urlsplit(self.path).path)
        self.send_header("Content-Length", "0")
        self.end_headers()
        return None

    def _names(self) -> tuple[str, str]:
        assert isinstance(self.server, ThreadingHTTPServer)
        port = self.server.server_port
        return f"{HOST}:{port}", f"localhost:{port}"

    def _who(self) -> str | None:
        """The rater of the link; None where it was refused."""
        if self.headers.get("Host") not in self._names():
            self._answer(403, "This server answers only to its address.")
            return None
        secret = urlsplit(self.path).path.strip("/").encode()
        for link, code in self.shown.ratings.rated.links.items():
            if hmac.compare_digest(link.encode(), secret):
                return code
        self._answer(404, "There is nothing here. Use the whole link that the coordinator gave you.")
        return None

    def _answer(self, status: int, page: str, kind: str = "") -> None:
        body = page.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", f"text/{kind or ('html' if status == 200 else 'plain')}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "same-origin")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Links are secrets: no request is logged."""
