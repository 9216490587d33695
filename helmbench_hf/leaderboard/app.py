"""The board as a Gradio server: its own pages on Gradio's server mode, so that it runs here and as a Space alike.

Gradio's page of components is not used: it needs scripts that may run anything, and its tables take text as markup. Here no
page of the board has a script, and each link is an address.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from helmbench_hf.leaderboard import export, pages
from helmbench_hf.leaderboard.data import Data
from helmbench_hf.leaderboard.files import RejectedError
from helmbench_hf.leaderboard.query import read_query
from helmbench_hf.leaderboard.reports import Indexes, Pages
from helmbench_hf.report.text import plain
from helmbench_hf.run_folder import RunError

if TYPE_CHECKING:
    from gradio import Server

HOST = "127.0.0.1"
TABLE = "/table.json"
OPEN = ("/", TABLE, "/gradio_api/startup-events")
"""Every address that answers; Gradio asks for the last when it starts. Its uploads, files and queue are closed."""
HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"}


def build(data: Data, reports: Pages, indexes: Indexes) -> Server:
    """The server, not yet started. `reports` and `indexes` give a run's report and its transcripts."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    from gradio import Server
    from starlette.responses import HTMLResponse, JSONResponse

    def answer(request: Any) -> Any:
        query = read_query(request.url.query)
        entry = data.entry(query.model) if query.view == "report" else None
        if entry is None:
            status, text = pages.render(data, query, indexes)
            return HTMLResponse(text, status, {**HEADERS, "Content-Security-Policy": pages.content_policy()})
        group = data.group(entry.group)
        text = reports(entry, group.policies if group else ())
        # the report brings a policy of its own, which names its script by hash
        return HTMLResponse(text, 200, {**HEADERS, "Content-Security-Policy": pages.FRAMES})

    def table(request: Any) -> Any:
        query = read_query(request.url.query)
        found = export.table(data, pages.asked_group(data, query), query)
        return JSONResponse(found, 200, {**HEADERS, "Content-Security-Policy": "default-src 'none'"})

    def refused(request: Any, error: Exception) -> Any:
        from starlette.responses import PlainTextResponse

        return PlainTextResponse(plain(error, 1000), 409, HEADERS)

    server = Server(title="HELMbench board", docs_url=None, redoc_url=None, openapi_url=None)
    server.add_middleware(Only)
    server.add_route("/", answer, methods=["GET"])
    server.add_route(TABLE, table, methods=["GET"])
    for kind in (RunError, RejectedError):
        server.add_exception_handler(kind, refused)
    return server


class Only:
    """Answers 404 for whatever is not `OPEN`, before Gradio sees it."""

    def __init__(self, app: Any) -> None:
        """Wrap an ASGI application."""
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan" or (scope["type"] == "http" and scope["path"] in OPEN):
            await self._app(scope, receive, send)
            return
        from starlette.responses import PlainTextResponse

        if scope["type"] == "http":
            await PlainTextResponse("There is nothing here.", 404, HEADERS)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})


def serve(
    data: Data, reports: Pages, indexes: Indexes, *, host: str | None = HOST, port: int | None = None, block: bool = True
) -> Any:
    """Start it and give (server, address); with `block` only when it ends. `host` None: what a Space's environment says."""
    server = build(data, reports, indexes)
    _, address, _ = server.launch(
        server_name=host,
        server_port=port,
        share=False,
        quiet=True,
        inbrowser=False,
        ssr_mode=False,
        mcp_server=False,
        run_history=False,
        enable_monitoring=False,
        prevent_thread_lock=not block,
        # no check of the front page, which would have to be a 200 within 3 seconds: an empty board's is a 404, and a busy
        # machine may take longer
        _frontend=False,
    )
    return server, address
