"""The engine for OpenAI-compatible servers: `vllm serve` on one GPU or many, llama.cpp, SGLang, TGI, hosted APIs.

The prompt and the key go to the host of `base_url` and to no other: no redirect is followed, and only the headers set here
are sent. Busy and broken answers (408, 409, 429, 5xx, lost connections) are retried here with growing pauses; what still
fails is an engine failure, which the driver tries again.
"""

from __future__ import annotations

import json
import os
import random
import re
import threading
import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import fields, replace
from hashlib import sha256
from importlib import metadata
from typing import Any, Self, TypeVar
from urllib.parse import urljoin, urlsplit
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from helmbench_hf.models.chat import single_tokens
from helmbench_hf.models.chat_format import (
    Card,
    Cards,
    Reply,
    Structured,
    Tokenized,
    conversation_body,
    read_completion,
    request_body,
)
from helmbench_hf.models.engine import (
    EngineDescription,
    EngineError,
    EngineSpec,
    Message,
    Request,
    Sampling,
    answered,
    shown_name,
    unanswered,
)
from helmbench_hf.models.withheld import WithheldError, policy_block, read_json
from helmbench_hf.records import Completion

Read = TypeVar("Read", bound=BaseModel)
WITHOUT = "Set structured=none (no schema is sent)."
RETRIED = (408, 409, 429)
"""Statuses that are retried, beside 5xx."""
REFUSES = (400, 413, 422)
"""This request is at fault: it is too long, the template breaks, a field is not known. TGI says 422."""
HOPELESS = (301, 302, 303, 307, 308, 401, 402, 403, 404, 405)
"""No other request would fare better."""
CONNECT_SECONDS, ALIVE_SECONDS, LONGEST_PAUSE = 5.0, 60.0, 60.0
TRIAL_TOKENS, TRIAL_SYSTEM, TRIAL_REPEATS = 16, "Be brief.", 40
TRIAL_SCHEMA = '{"type":"object","properties":{"yes":{"type":"boolean"}},"required":["yes"],"additionalProperties":false}'
ONE_TOKEN = Sampling(max_tokens=1)


class Endpoint(BaseModel):
    """Settings of an endpoint: what `--engine NAME=VALUE` may say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: str = ""
    """E.g. `http://127.0.0.1:8000/v1`."""
    concurrency: int = Field(32, ge=1)
    """Requests that the server gets at once."""
    timeout: float = Field(600.0, gt=0)
    """Seconds that one answer may take."""
    retries: int = Field(4, ge=0)
    """Tries after the first before an answer is an engine failure."""
    structured: Structured = "json_schema"
    """How a schema is sent: as `response_format`, or not at all."""
    data_parallel: int = Field(0, ge=0)
    """Replicas of `vllm serve --data-parallel-size N`: prompts that begin alike are sent to the same one, whose cache holds
    their prefix. 0: the server chooses."""
    key_env: str = ""
    """Environment variable that holds the server's key; else `HELMBENCH_API_KEY_` and the host's name."""

    @classmethod
    def of(cls, spec: EngineSpec) -> Self:
        """Read the settings of a spec. Raises `EngineError` with a sentence for what cannot be set, or not so."""
        plain = EngineSpec(kind=spec.kind, model=spec.model, template_kwargs=spec.template_kwargs, extra=spec.extra)
        if foreign := [item.name for item in fields(spec) if getattr(spec, item.name) != getattr(plain, item.name)]:
            raise EngineError(
                f"{', '.join(foreign)}: only the server can set this. Set it when you start the server, and leave it out here."
            )
        try:
            return cls.model_validate({"base_url": "", **spec.extra})
        except ValidationError as error:
            raise EngineError(f"An endpoint's settings are {', '.join(cls.model_fields)}. {_first_fault(error)}") from error

    @field_validator("base_url")
    @classmethod
    def _check_address(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            valid = False
        if not valid:
            raise ValueError(
                "say where the server is: base_url=http://127.0.0.1:8000/v1 (with --engine, or after the judge's name)"
            )
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("it contains more than an address, maybe a secret; put the key in an environment variable (key_env)")
        return url.rstrip("/")

    @property
    def host(self) -> str:
        """Host and port: what records name."""
        parts = urlsplit(self.base_url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    @property
    def key_name(self) -> str:
        """The one environment variable in which this server's key is looked for."""
        # two underscores for a dash: the key of a.b must not go to a-b
        return self.key_env or "HELMBENCH_API_KEY_" + re.sub(r"[^A-Z0-9]", "_", self.host.upper().replace("-", "__"))

    def key(self) -> str:
        """Give this server's key, or nothing. Raises `EngineError` for what no header can hold."""
        key = os.environ.get(self.key_name, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise EngineError(f"{self.key_name} contains characters that are never part of a key. Set it again.")
        if self.key_env and not key:
            raise EngineError(
                f"The environment variable {self.key_env} is not set. Set it to the key for {self.host}, or leave out key_env."
            )
        return key


class ServerError(Exception):
    """The server answered with an error: its status, and its body as JSON or text. Status 0: it did not answer."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(str(body))
        self.status, self.body = status, body


class EndpointEngine:
    """One model of one server, asked by a pool of threads."""

    def __init__(self, spec: EngineSpec) -> None:
        """Find the server and the model, and check that the system text counts. Raises `EngineError` with a sentence."""
        import httpx2

        self._spec, self._settings = spec, Endpoint.of(spec)
        self._key = self._settings.key()
        self._http: Any = httpx2.Client(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            timeout=httpx2.Timeout(self._settings.timeout, connect=CONNECT_SECONDS),
            limits=httpx2.Limits(max_connections=None),
            follow_redirects=False,
        )
        self._lock = threading.Lock()
        self._faults: dict[tuple[Sampling, bool], str] = {}
        self._labels: dict[tuple[tuple[str, ...], str], tuple[int, ...]] = {}
        self._pool = ThreadPoolExecutor(self._settings.concurrency, thread_name_prefix="endpoint")
        self._live: set[Future[Completion]] = set()
        self._dead: BaseException | None = None
        self._card = Card(id=spec.model)
        try:
            self._card = self._find()
            self._system = self._check_system()
            self._reads_labels = self._try_labels()
        except (ServerError, ValidationError, WithheldError) as error:
            raise self._sentence(error) from error

    @property
    def capacity(self) -> int:
        """Twice what the server gets at once, so that an answer is followed by the next request at once."""
        return 2 * self._settings.concurrency

    def submit(self, request: Request) -> None:
        """Queue one request; one that cannot run comes back from `collect` as `refused`."""
        self._live.add(self._pool.submit(self._ask, request))

    def collect(self) -> list[Completion]:
        """Wait for answers. Where the server is lost, those that came are handed out first, then `EngineError` is raised."""
        if self._dead is None:
            done, self._live = wait(self._live, return_when=FIRST_COMPLETED)
            self._dead = next((error for each in done if (error := each.exception()) is not None), None)
            ended = [each.result() for each in done if each.exception() is None]
            if ended or self._dead is None:
                return ended
        self._pool.shutdown(wait=False, cancel_futures=True)  # requests under way end by themselves
        raise self._dead

    def describe(self) -> EngineDescription:
        """Say what runs, as far as the server tells."""
        card, settings = self._card, self._settings
        return EngineDescription(
            name="endpoint",
            version=f"httpx2 {metadata.version('httpx2')}",
            model=self._spec.shown,
            abilities=(
                *(("schema",) if settings.structured != "none" else ()),
                *(("label_logprobs",) if self._reads_labels else ()),
            ),
            device=settings.host,
            max_model_len=card.max_model_len or 0,
            batch_limit=settings.concurrency,
            extra={
                "served": shown_name(card.root or card.id),
                "owned_by": card.owned_by or "unknown",
                "structured": settings.structured,
                "system_text": self._system,
            },
        )

    def _ask(self, request: Request) -> Completion:
        """Ask for one completion, in a thread of the pool. Raises `EngineError` where no request can be answered."""
        if (request.labels or request.prefill) and not self._reads_labels:
            return unanswered(request, "refused", "This server gives no exact label probabilities. Use the mode evidence.")
        try:
            return self._answer(request)
        except ServerError as error:
            if error.status in HOPELESS or (not error.status and self._gone()):
                raise self._sentence(error) from error
            how = f"failed ({error.status})" if error.status else "did not answer"
            return unanswered(request, "engine_error", f"The server {how}: {self._said(error)}")
        except ValidationError as error:
            return unanswered(request, "engine_error", f"The server's answer is no chat completion: {_first_fault(error)}")
        except ValueError as error:
            return unanswered(request, "refused", f"This request cannot be sent: {error}")

    def _answer(self, request: Request) -> Completion:
        try:
            if request.labels:
                return self._read_labels(request)
            reply = self._post(request)
        except WithheldError as error:
            return unanswered(request, "withheld", str(error))
        except ServerError as error:
            if error.status not in REFUSES:
                raise
            if not request.labels and (fault := self._fault(request)):
                raise EngineError(fault) from error
            return unanswered(request, "refused", f"The server refuses this request: {self._said(error)}")
        constrained = request.schema is not None and self._settings.structured != "none"
        if constrained and reply.outside_json and (fault := self._fault(request)):
            raise EngineError(fault)
        return read_completion(request if constrained else replace(request, schema=None), reply)

    def _post(self, request: Request, **extra_fields: Any) -> Reply:
        """Ask once. Raises `WithheldError` where the provider's policy blocks it, and `ServerError`."""
        spec, settings = self._spec, self._settings
        body = request_body(request, spec.model, settings.structured, spec.template_kwargs, self._card.owned_by)
        headers = {}
        if settings.data_parallel and request.group:
            rank = int.from_bytes(sha256(request.group.encode()).digest()[:8]) % settings.data_parallel
            headers["X-data-parallel-rank"] = str(rank)
        try:
            reply = self._send("POST", "chat/completions", Reply, {**body, **extra_fields}, headers)
        except ServerError as error:
            if words := policy_block(error.body):
                raise WithheldError(self._quoted(words)) from error
            raise
        if words := policy_block(reply.error):
            raise WithheldError(self._quoted(words))
        return reply

    def _send(self, method: str, path: str, kind: type[Read], body: Any = None, headers: Mapping[str, str] | None = None) -> Read:
        """Send one request, again where the server is busy. Raises `ServerError`, and `ValidationError` for a strange answer."""
        import httpx2

        data = None if body is None else json.dumps(body).encode()
        headers = {**(headers or {}), "Content-Type": "application/json"}
        url = urljoin(f"{self._settings.base_url}/", path)
        for left in range(self._settings.retries, -1, -1):
            pause = min(0.5 * 2 ** (self._settings.retries - left), 8.0) * random.uniform(0.75, 1.0)  # jitter, not a secret
            try:
                response = self._http.request(method, url, content=data, headers=headers)
            except httpx2.HTTPError as error:
                failure = ServerError(0, str(error) or type(error).__name__)
            else:
                if response.is_success:
                    return kind.model_validate_json(response.content)
                failure = ServerError(response.status_code, _error_body(response))
                if not (response.status_code in RETRIED or response.status_code >= 500):
                    break
                pause = _retry_after(response.headers, pause)
            if left:
                time.sleep(pause)
        raise failure

    def _fault(self, request: Request) -> str:
        """Why requests like this one cannot be asked here whatever their text is, or nothing.

        The plainest conversation, asked in the same way once, tells one bad prompt from a server that takes no schema, and a
        model that goes its own way from a server that silently drops the schema.
        """
        kind = (replace(request.sampling, max_tokens=TRIAL_TOKENS), request.schema is not None)
        with self._lock:
            if kind not in self._faults:
                self._faults[kind] = self._try(*kind)
            return self._faults[kind]

    def _try(self, sampling: Sampling, constrained: bool) -> str:
        host, way = self._settings.host, self._settings.structured
        try:
            reply = self._post(_plainest(sampling, TRIAL_SCHEMA if constrained else None))
        except WithheldError as error:
            return str(self._sentence(error))
        except ServerError as error:
            if error.status not in REFUSES:
                raise
            if constrained and not self._try(sampling, False):
                return f"The server {host} refuses structured={way}: {self._said(error)} {WITHOUT}"
            return f"The server {host} refuses even the plainest conversation asked like this: {self._said(error)}"
        if constrained and way != "none" and reply.outside_json:
            return f"The server {host} takes structured={way} and then keeps to no schema. {WITHOUT}"
        return ""

    def _find(self) -> Card:
        """Give the server's card of the model; where it lists none, what was asked for stands."""
        try:
            cards = self._send("GET", "models", Cards).data
        except ServerError as error:
            if error.status in (404, 405, 501):
                return self._card
            raise
        if (found := next((card for card in cards if card.id == self._spec.model), None)) is None:
            offered = ", ".join(card.id for card in cards[:10]) or "none"
            raise EngineError(
                f"The server {self._settings.host} does not offer the model {self._spec.model}. It offers: {offered}."
            )
        return found

    def _check_system(self) -> str:
        """Check that the system text reaches the prompt: a longer one must count more tokens."""
        # a word that no cache holds: some servers count only what they compute
        texts = [" ".join([uuid4().hex, *[TRIAL_SYSTEM] * times]) for times in (1, TRIAL_REPEATS)]
        short, long = (self._post(_plainest(ONE_TOKEN, None, text)).prompt_tokens for text in texts)
        if not (short and long):
            return "unknown: the server counts no prompt tokens"
        if long - short < TRIAL_REPEATS:
            raise EngineError(
                f"The server {self._settings.host} leaves the system text out of the prompt: {short} tokens with a short "
                f"one, {long} with a long one. Fix its chat template, or run the model with vllm: or transformers:."
            )
        return "counted in the prompt"

    def _try_labels(self) -> bool:
        """Say whether this server, a vLLM, gives the exact probability of each label that a judge reads."""
        if self._card.owned_by != "vllm":
            return False
        trial = replace(_plainest(ONE_TOKEN, None), labels=("A", "B", "C", "D", "E"), prefill="Verdict:")
        try:
            return self._read_labels(trial).status == "ok"
        except (ServerError, ValidationError, WithheldError):
            return False

    def _read_labels(self, request: Request) -> Completion:
        """Read one unconstrained step. The server renders and tokenizes, so it says which token each label is."""
        try:
            ids = self._label_ids(request.labels, request.prefill or "")
        except EngineError as error:
            return unanswered(request, "refused", str(error))
        asked = {"logprobs": True, "logprob_token_ids": list(ids), "return_tokens_as_token_ids": True}
        reply = self._post(replace(request, sampling=ONE_TOKEN), **asked)
        read = reply.label_logprobs(ids)
        made = answered(request, reply.text, reply.finish_reason or "length", output_tokens=1, label_logprobs=read)
        return replace(made, prompt_tokens=reply.prompt_tokens)

    def _label_ids(self, labels: tuple[str, ...], prefill: str) -> tuple[int, ...]:
        """The one token of each label after the prefill. Raises `EngineError` where a label is not one token there."""

        def tokenize(text: str) -> list[int]:
            body = conversation_body(self._spec.model, _plainest(ONE_TOKEN, None).messages, text, self._spec.template_kwargs)
            return self._send("POST", "../tokenize", Tokenized, body).tokens

        with self._lock:
            if (labels, prefill) not in self._labels:
                self._labels[labels, prefill] = single_tokens(tokenize, prefill, labels)
            return self._labels[labels, prefill]

    def _gone(self) -> bool:
        """Say whether nothing answers at the server's address any more, not even with an error."""
        import httpx2

        try:
            self._http.get(f"{self._settings.base_url}/models", timeout=ALIVE_SECONDS)
        except httpx2.HTTPError:
            return True
        return False

    def _sentence(self, error: Exception) -> EngineError:
        """Turn an error into what is wrong and what to do."""
        host, model = self._settings.host, self._spec.model
        if isinstance(error, WithheldError):
            return EngineError(f"The policy of the server {host} blocks even the plainest conversation: {error}")
        if isinstance(error, ValidationError):
            return EngineError(f"What answers at {host} speaks no chat completions: {_first_fault(error)} Fix base_url.")
        assert isinstance(error, ServerError)
        status, said = error.status, self._said(error)
        if not status:
            return EngineError(f"No server answers at {host}: {said} Start it and rerun to resume, or fix base_url.")
        if 300 <= status < 400:
            what = f"redirects to {said} Prompt and key go to no address but base_url. If you trust it, make it the base_url."
        elif status in (401, 403):
            how = f"Set {self._settings.key_name} to its key, or name another environment variable: key_env=NAME."
            what = f"refuses the key ({status}): {said} {how}"
        elif status in (404, 405):
            how = "Fix the name, or base_url, which mostly ends in /v1."
            what = f"has no chat completions of {model} at base_url ({status}): {said} {how}"
        elif status in REFUSES:
            what = f"refuses even the plainest conversation, system and user ({status}): {said}"
        else:
            what = f"does not work ({status}): {said} Fix it and rerun to resume."
        return EngineError(f"The server {host} {what}")

    def _said(self, error: ServerError) -> str:
        """Give the server's own words for an error."""
        found = error.body
        for name in ("error", "message", "detail"):
            if isinstance(found, dict):
                found = found.get(name) or found
        return self._quoted(str(found) or f"status {error.status}")

    def _quoted(self, said: str) -> str:
        """Give a server's words as a sentence, at most 300 characters, without the key, which some servers repeat."""
        said = said.replace(self._key, "***") if self._key else said
        return " ".join(said.split())[:300].rstrip(".") + "."


def _plainest(sampling: Sampling, schema: str | None, system: str = TRIAL_SYSTEM) -> Request:
    said = (Message("system", system), Message("user", "Hello."))
    return Request("", "trial", said, (), sampling, schema)


def _error_body(response: Any) -> Any:
    """What a server says of an error: where it redirects to, or the body, as JSON where it is."""
    if response.has_redirect_location:
        parts = urlsplit(response.headers["location"])
        return f"{parts.scheme}://{parts.netloc}" if parts.netloc else parts.path
    return read_json(response.text) or response.text


def _retry_after(headers: Mapping[str, str], pause: float) -> float:
    """Seconds that a busy server asks for, a minute at most; `pause` where it asks for none."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            return min(max(float(headers[name]) * unit, 0.0), LONGEST_PAUSE)
        except (KeyError, ValueError):
            continue
    return pause


def _first_fault(error: ValidationError) -> str:
    """Give the first fault, without the answer that has it."""
    fault = error.errors(include_input=False, include_url=False)[0]
    where, said = ".".join(map(str, fault["loc"])), fault["msg"].removeprefix("Value error, ")
    return f"{where}: {said}." if where else f"{said}."
