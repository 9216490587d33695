"""A Hub on the loopback for tests: what huggingface_hub 1.31 to 2.4 and datasets 5.2 ask for, and a log of who asked what.

A client in a process of its own (`Hub.client`) has this server as its endpoint and as its proxy, so that a request to any
other host is in the log as well, and is refused.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.support import hub_reads, hub_writes
from tests.support.hub_ask import CDN, Ask, RefusalError, Reply
from tests.support.hub_repos import Repo
from tests.support.waiting import PATIENCE

OWNER, OTHER = "helmbench", "alice"
TOKENS = {OWNER: "hf_" + "o" * 34, OTHER: "hf_" + "a" * 34}
CHECKOUT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in, whatever host it was meant for."""

    method: str
    host: str
    path: str
    query: str
    headers: dict[str, str]

    @property
    def token(self) -> str | None:
        """The token that was sent along."""
        return self.headers.get("authorization", "").removeprefix("Bearer ") or None


@dataclass(slots=True)
class Fault:
    """The next requests of that method and path go wrong: refused with 503, or done while the reply is lost."""

    method: str
    path: str
    done: bool
    times: int = 1


@dataclass(slots=True)
class Hub:
    """`with Hub() as hub:` listens on 127.0.0.1. Users own the namespace of their name; None is nobody."""

    lfs: bool = False
    cdn: bool = False
    """Whether LFS files are on another host, to which the Hub redirects."""
    repos: dict[tuple[str, str], Repo] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    endpoint: str = ""
    lock: Any = field(default_factory=threading.RLock)
    _server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Nobody listens after this."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def url(self, kind: str, name: str) -> str:
        """The page of a repository."""
        return f"{self.endpoint}/{'' if kind == 'model' else f'{kind}s/'}{name}"

    def repo(self, name: str, kind: str = "dataset", **options: Any) -> Repo:
        """A repository, made where it is not there."""
        if (kind, name) not in self.repos:
            self.repos[kind, name] = Repo(kind, name, **{"lfs": self.lfs, **options})
        return self.repos[kind, name]

    def api(self, user: str | None = OWNER) -> Any:
        """`huggingface_hub.HfApi` of a user in this process; no stored token is read."""
        from huggingface_hub import HfApi

        return HfApi(endpoint=self.endpoint, token=TOKENS[user] if user else False)

    @property
    def hosts(self) -> set[str]:
        """Every host that was asked for anything."""
        return {request.host for request in self.requests}

    def asked(self, method: str, path: str) -> list[Request]:
        """The requests of that method whose path matches."""
        return [each for each in self.requests if each.method == method and re.search(path, each.path)]

    def environment(self, home: Path, user: str | None = None, *, offline: bool = False, **env: str) -> dict[str, str]:
        """What a process of its own needs: `home` as its home and cache, the user's token, and this Hub as the only one."""
        home.mkdir(parents=True, exist_ok=True)
        around = {"PATH": os.environ["PATH"], "HOME": str(home), "HF_HOME": str(home / "hf"), "PYTHONPATH": str(CHECKOUT)}
        around |= {"HF_ENDPOINT": self.endpoint, "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_XET": "1"}
        around |= dict.fromkeys(("HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT"), str(int(PATIENCE)))
        around |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), self.endpoint)
        around |= {"HF_TOKEN": TOKENS[user]} if user else {}
        around |= {"HF_HUB_OFFLINE": "1"} if offline else {}
        return {**around, **env}

    def client(
        self, code: str, home: Path, user: str | None = None, *, offline: bool = False, cwd: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run Python code in a process of its own (`environment`)."""
        around = self.environment(home, user, offline=offline, **env)
        return subprocess.run(
            [sys.executable, "-c", code], cwd=cwd or home, env=around, capture_output=True, text=True, timeout=PATIENCE
        )

    def faulty(self, method: str, path: str) -> Fault | None:
        """The fault that this request meets, used up by it."""
        for fault in self.faults:
            if fault.times and fault.method == method and re.search(fault.path, path):
                fault.times -= 1
                return fault
        return None


def answer(ask: Ask) -> Reply:
    """The reply to a request; an unknown route is 404, as on the Hub."""
    try:
        for methods, pattern, route in (*hub_reads.ROUTES, *hub_writes.ROUTES):
            if ask.method in methods and (match := re.fullmatch(pattern, ask.path)):
                return route(ask, *match.groups())
    except RefusalError as refused:
        return refused.reply
    return Reply(404, {"error": f"no route {ask.method} {ask.path}"})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *_: object) -> None:
        """Requests are logged by `Hub.requests`."""

    def _handle(self) -> None:
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length") or 0))
        if "chunked" in headers.get("transfer-encoding", ""):
            body = self._chunks()
        host = url.hostname or headers.get("host", "").partition(":")[0]
        port = url.port or int(headers.get("host", "").partition(":")[2] or 80)
        request = Request(self.command, host, url.path, url.query, headers)
        with self.hub.lock:
            self.hub.requests.append(request)
            if self.hub.cdn and host == CDN:
                self._send(Reply(200, self.hub.objects[url.path[1:]], {"Content-Type": "application/octet-stream"}))
                return
            if f"http://{host}:{port}" != self.hub.endpoint:
                self._send(Reply(502, {"error": f"{host} is not this Hub"}))
                return
            fault = self.hub.faulty(self.command, url.path)
            user = next((name for name, token in TOKENS.items() if token == request.token), None)
            ask = Ask(self.hub, self.command, url.path, parse_qs(url.query), headers, body, user)
            reply = answer(ask) if fault is None or fault.done else Reply(503, {"error": "try again later"})
        if fault is not None and fault.done:
            self.close_connection = True
            return
        self._send(reply)

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _send(self, reply: Reply) -> None:
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **reply.headers}
        self.send_response(reply.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815 (named by http.server)

    def do_CONNECT(self) -> None:
        """A client asks its proxy for an HTTPS host."""
        host = self.path.partition(":")[0]
        with self.hub.lock:
            self.hub.requests.append(Request("CONNECT", host, "", "", {k.lower(): v for k, v in self.headers.items()}))
        self._send(Reply(502, {"error": f"{host} is not this Hub"}))
