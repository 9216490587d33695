"""A server of chat completions on the loopback, for tests: it answers by a function, and fails on demand.

It counts words where a real one counts tokens, and holds a window of them.
"""

from __future__ import annotations

import json
import math
import random
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

from helmbench_hf.content.answer_schema import smallest
from tests.support.waiting import PATIENCE

Body = dict[str, Any]
WINDOW = 6000
STORY = "once upon a time there was a very small ship that did not want to sail at all and so it stayed"


@dataclass(frozen=True)
class Answer:
    """What the model says, and what a server tells about it."""

    text: str | None
    finish: str = "stop"
    message: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the message, such as `reasoning`."""
    usage: Mapping[str, Any] | None = field(default_factory=dict)
    """Further fields of the usage; None: no usage at all."""


@dataclass(frozen=True)
class Status:
    """An answer that is an error."""

    code: int
    body: Any = field(default_factory=lambda: {"error": {"message": "told to fail"}})
    headers: Mapping[str, str] = field(default_factory=lambda: {"retry-after-ms": "1"})


Fate = Literal["hang", "drop", "garbage", "shape"] | Status | None
"""`hang`: no answer until the server ends. `drop`: the connection is closed. `garbage`: 200 and no JSON. `shape`: 200 and
JSON that is no completion. None: an answer."""


def model_says(body: Body) -> Answer:
    """Answer as a model would: JSON where a schema is set, a drawn or a fixed text otherwise, within the budget."""
    if (form := body.get("response_format")) is not None:
        return Answer(json.dumps(smallest(form["json_schema"]["schema"]), separators=(",", ":")))
    said = body["messages"][-1]["content"]
    words = (STORY if "story" in said else f"You said: {said}").split()
    if body["temperature"] > 0:
        words = random.Random(f"{body['seed']}/{said}").sample(STORY.split(), 10)
    cut = words[: body["max_tokens"]]
    return Answer(" ".join(cut), "length" if len(cut) < len(words) else "stop")


def real(body: Body) -> bool:
    """Say whether a request is none of the engine's own trials, whose user says `Hello.`"""
    return all(message["content"] != "Hello." for message in body["messages"])


def tokens_of(body: Body) -> list[int]:
    """Tokens of a conversation: a space with one capital letter is one token, and so is every other character."""
    text = "".join(f"<{message['role']}>{message['content']}" for message in body["messages"])
    return [1000 + ord(piece[1]) if len(piece) == 2 else ord(piece) for piece in re.findall(r" [A-Z](?![A-Z])|.", text, re.S)]


class ChatServer:
    """Serve until `with` ends. `fate(body, number)` says how the number-th request (from 1) of a conversation ends.

    What came stands in `asked` (bodies) and `headers`. `labels`: like vLLM, it tokenizes and gives log-probabilities;
    `ignored`: it tokenizes, and ignores the field that asks for log-probabilities, as an older vLLM does.
    """

    def __init__(
        self,
        answer: Callable[[Body], Answer] = model_says,
        *,
        fate: Callable[[Body, int], Fate] | None = None,
        models: Any = None,
        models_fate: Callable[[], Fate] | None = None,
        counts_system: bool = True,
        labels: Literal["no", "yes", "ignored"] = "no",
    ) -> None:
        self.labels = labels
        self.answer, self.fate = answer, fate or (lambda body, number: None)
        card = {"id": "tiny", "object": "model", "owned_by": "vllm", "root": "/models/owner/tiny-chat", "max_model_len": WINDOW}
        self.models = {"object": "list", "data": [card]} if models is None else models
        self.models_fate = models_fate or (lambda: None)
        self.counts_system = counts_system
        self.asked: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.live = self.most_live = 0
        self._numbers: dict[str, int] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def conversations(self) -> list[Body]:
        """What was asked, the engine's own trials left out."""
        return [body for body in self.asked if real(body)]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End: whoever hangs is let go, kept connections are dropped, and the port is free."""
        self._over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _take(self, body: Body, headers: Mapping[str, str]) -> Fate:
        with self._lock:
            self.asked.append(body)
            self.headers.append({name.lower(): value for name, value in headers.items()})
            name = json.dumps(body["messages"])
            self._numbers[name] = self._numbers.get(name, 0) + 1
            number = self._numbers[name]
        return "drop" if self._over.is_set() else self.fate(body, number)

    def _counted(self, body: Body) -> int:
        said = (each["content"] for each in body["messages"] if self.counts_system or each["role"] != "system")
        return sum(len(text.split()) for text in said)

    def _reply(self, body: Body) -> tuple[int, Any]:
        if (length := self._counted(body)) >= WINDOW:
            said = f"This model's maximum context length is {WINDOW} tokens. However, your prompt contains {length} input tokens."
            return 400, {"error": {"message": said, "type": "BadRequestError", "code": 400}}
        made = self.answer(body)
        message = {"role": "assistant", "content": made.text, **made.message}
        whole: dict[str, Any] = {"choices": [{"index": 0, "message": message, "finish_reason": made.finish}]}
        if self.labels == "yes" and (ids := body.get("logprob_token_ids")):
            read = [{"token": f"token_id:{number}", "logprob": math.log(1 / (number - 1000))} for number in ids]
            whole["choices"][0] |= {"logprobs": {"content": [{"top_logprobs": read}]}, "finish_reason": "length"}
        if made.usage is not None:
            words = len((made.text or "").split())
            whole["usage"] = {"prompt_tokens": length, "completion_tokens": words, **made.usage}
        return 200, whole

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = PATIENCE

            def do_GET(self) -> None:
                fate = "drop" if server._over.is_set() else server.models_fate()
                if isinstance(fate, Status):
                    self.give(fate.code, fate.body, fate.headers)
                elif fate is None:
                    self.give(200, server.models)
                else:
                    self.fail(fate)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path == "/tokenize":
                    known = server.labels != "no"
                    self.give(200 if known else 404, {"tokens": tokens_of(body)} if known else {})
                    return
                with server._lock:
                    server.live += 1
                    server.most_live = max(server.most_live, server.live)
                try:
                    fate = server._take(body, self.headers)
                    if isinstance(fate, Status):
                        self.give(fate.code, fate.body, fate.headers)
                    elif fate is None:
                        self.give(*server._reply(body))
                    else:
                        self.fail(fate)
                finally:
                    with server._lock:
                        server.live -= 1

            def fail(self, fate: str) -> None:
                if fate == "garbage":
                    self.give(200, b'{"choices": [')
                elif fate == "shape":
                    self.give(200, {"object": "list", "data": [1, 2]})
                else:
                    if fate == "hang":
                        server._over.wait(PATIENCE)
                    self.close_connection = True

            def give(self, code: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(code)
                for name, value in {
                    "content-type": "application/json",
                    "content-length": str(len(data)),
                    **(headers or {}),
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

            def handle(self) -> None:
                try:
                    super().handle()
                except OSError:  # the client has given up
                    self.close_connection = True

        return Handler
