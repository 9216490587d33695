"""The engine for a server of others: any OpenAI-compatible chat completions, over HTTP.

The client's own retries serve for 408, 409, 429, 5xx, broken connections and timeouts: pauses of 0.5 to 8 seconds less up
to a quarter, or what Retry-After says (a minute at most in openai 2, two in openai 3). What still fails is an engine
failure, which the driver tries again. Only this module imports openai.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from importlib import metadata
from typing import Any, TypeVar
from uuid import uuid4

from pydantic import BaseModel, ValidationError

from helmbench_hf.inference.engine import (
    EngineDescription,
    EngineError,
    EngineSpec,
    Message,
    Request,
    Sampling,
    failed,
    refused,
    shown_name,
    withheld,
)
from helmbench_hf.inference.wire import Card, Cards, Endpoint, Reply, Structured, body, completion
from helmbench_hf.inference.withheld import WithheldError, policy_block
from helmbench_hf.records import Completion

KEYS = ("HELMBENCH_API_KEY", "OPENAI_API_KEY")
"""Variables of the environment in which a key is looked for."""
REFUSES = (400, 413, 422)
"""This request is at fault: it is too long, the template breaks, a field is not known. TGI says 422."""
HOPELESS = (401, 402, 403, 404, 405)
"""No other request would fare better."""
CONNECT_SECONDS, ALIVE_SECONDS = 5.0, 60.0
WAYS: dict[Structured, str] = {
    "json_schema": "response_format, which most servers take",
    "guided_json": "older vLLM",
    "none": "no schema is sent",
}
TRIAL_TOKENS = 16
TRIAL_SCHEMA = '{"type":"object","properties":{"yes":{"type":"boolean"}},"required":["yes"],"additionalProperties":false}'
SYSTEM = "Be brief."
LONGER = 40
"""Repeats of the system text whose tokens must show in the server's count of the prompt."""
Read = TypeVar("Read", bound=BaseModel)


class EndpointEngine:
    """One model of one server, asked by a pool of threads."""

    def __init__(self, spec: EngineSpec) -> None:
        """Find the server and the model, and see that the system text counts. Raises `EngineError` with a sentence."""
        try:
            import openai
        except ImportError as error:
            raise EngineError("The package openai is not installed. Install `helmbench-hf[endpoint]`.") from error
        self._spec, self._settings = spec, Endpoint.of(spec)
        self._key = _key()
        self._client: Any = openai.OpenAI(
            base_url=self._settings.base_url,
            api_key=self._key or "none",  # servers without keys take any, the client wants one
            max_retries=self._settings.retries,
            timeout=openai.Timeout(float(self._settings.timeout), connect=CONNECT_SECONDS),
        )
        self._lock = threading.Lock()
        self._faults: dict[tuple[Sampling, bool], str] = {}
        self._pool = ThreadPoolExecutor(self._settings.concurrency, thread_name_prefix="endpoint")
        self._live: set[Future[Completion]] = set()
        self._dead: BaseException | None = None
        self._card = Card(id=spec.model)
        try:
            self._card = self._find()
            self._system = self._check_system()
        except (openai.OpenAIError, ValidationError, WithheldError) as error:
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
        self.close()
        raise self._dead

    def describe(self) -> EngineDescription:
        """Say what runs, as far as the server tells."""
        card, settings = self._card, self._settings
        return EngineDescription(
            name="endpoint",
            version=f"openai {metadata.version('openai')}",
            model=self._spec.shown,
            abilities=() if settings.structured == "none" else ("schema",),
            dtype="unknown",
            device=settings.host,
            max_model_len=card.max_model_len or 0,
            batch_limit=settings.concurrency,
            threads=0,
            block_size=0,
            extra={
                "served": shown_name(card.root or card.id),
                "owned_by": card.owned_by or "unknown",
                "structured": settings.structured,
                "system_text": self._system,
            },
        )

    def close(self) -> None:
        """Drop what is queued; requests under way end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, request: Request) -> Completion:
        """Ask for one completion, in a thread of the pool. Raises `EngineError` where no request can be answered."""
        import openai

        if request.labels or request.prefill:
            return refused(request, "An endpoint reads no label probabilities and begins no answers. Use the mode evidence.")
        if self._settings.structured == "none":
            request = replace(request, schema=None)
        try:
            return self._answer(request)
        except openai.APIStatusError as error:
            if error.status_code in HOPELESS:
                raise self._sentence(error) from error
            return failed(request, f"The server failed ({error.status_code}): {self._said(error)}")
        except openai.APIConnectionError as error:
            if self._gone():
                raise self._sentence(error) from error
            return failed(request, f"The server did not answer: {self._said(error)}")
        except ValidationError as error:
            return failed(request, f"The server's answer is no chat completion: {_first(error)}")
        except ValueError as error:
            return refused(request, f"This request cannot be sent: {error}")

    def _answer(self, request: Request) -> Completion:
        import openai

        try:
            reply = self._post(request)
        except WithheldError as error:
            return withheld(request, str(error))
        except openai.APIStatusError as error:
            if error.status_code not in REFUSES:
                raise
            if fault := self._fault(request):
                raise EngineError(fault) from error
            return refused(request, f"The server refuses this request: {self._said(error)}")
        if request.schema is not None and reply.outside_json and (fault := self._fault(request)):
            raise EngineError(fault)
        return completion(request, reply)

    def _post(self, request: Request) -> Reply:
        """Ask once. Raises `WithheldError` where the provider's policy blocks it, and what the client raises."""
        import openai

        asked = body(request, self._spec.model, self._settings.structured, self._spec.template_kwargs, self._card.owned_by)
        try:
            reply = _read(Reply, self._client.chat.completions.with_raw_response.create(**asked))
        except openai.APIStatusError as error:
            if words := policy_block(error.body):
                raise WithheldError(self._quoted(words)) from error
            raise
        if words := policy_block(reply.choices[0].error):
            raise WithheldError(self._quoted(words))
        return reply

    def _fault(self, request: Request) -> str:
        """Why requests like this one cannot be asked here whatever their text is, or nothing.

        The plainest conversation tells, asked in the same way, once: so one bad prompt is told from a server that takes no
        schema, and a model that goes its own way from a server that drops the schema and says nothing.
        """
        kind = (replace(request.sampling, max_tokens=TRIAL_TOKENS), request.schema is not None)
        with self._lock:
            if kind not in self._faults:
                self._faults[kind] = self._try(*kind)
            return self._faults[kind]

    def _try(self, sampling: Sampling, constrained: bool) -> str:
        import openai

        host, way = self._settings.host, self._settings.structured
        choice = "Set " + " or ".join(f"structured={name} ({what})" for name, what in WAYS.items() if name != way)
        try:
            reply = self._post(_plainest(sampling, TRIAL_SCHEMA if constrained else None))
        except WithheldError as error:
            return f"The policy of the server {host} blocks even the plainest conversation: {error}"
        except openai.APIStatusError as error:
            if error.status_code not in REFUSES:
                raise
            if constrained and not self._try(sampling, False):
                return f"The server {host} refuses structured={way}: {self._said(error)} {choice}."
            return f"The server {host} refuses even the plainest conversation asked like this: {self._said(error)}"
        if constrained and reply.outside_json:
            return f"The server {host} takes structured={way} and then keeps to no schema. {choice}."
        return ""

    def _find(self) -> Card:
        """Give the server's card of the model; where it lists none, what was asked for stands."""
        import openai

        try:
            cards = _read(Cards, self._client.models.with_raw_response.list()).data
        except openai.APIStatusError as error:
            if error.status_code in (404, 405, 501):
                return self._card
            raise
        if (found := next((card for card in cards if card.id == self._spec.model), None)) is None:
            offered = ", ".join(card.id for card in cards[:10]) or "none"
            raise EngineError(f"The server {self._settings.host} offers no model {self._spec.model}. It offers: {offered}.")
        return found

    def _check_system(self) -> str:
        """Look whether the system text reaches the prompt: a longer one must count more tokens."""
        counts = []
        for times in (1, LONGER):
            # words that no cache holds: some servers count only what they compute
            text = " ".join([uuid4().hex, *[SYSTEM] * times])
            reply = self._post(_plainest(Sampling(max_tokens=1), None, text))
            counts.append(reply.usage.prompt_tokens if reply.usage else 0)
        if not all(counts):
            return "unknown: the server counts no prompt tokens"
        if counts[1] - counts[0] < LONGER:
            raise EngineError(
                f"The server {self._settings.host} leaves the system text out of the prompt: {counts[0]} tokens with a short "
                f"one, {counts[1]} with a long one. Mend its chat template, or run the model with vllm: or transformers:."
            )
        return "counted in the prompt"

    def _gone(self) -> bool:
        """Say whether nothing answers at the server's address any more, not even with an error."""
        import openai

        try:
            self._client.with_options(max_retries=0, timeout=ALIVE_SECONDS).models.with_raw_response.list()
        except openai.APIConnectionError:
            return True
        except openai.APIStatusError:
            return False
        return False

    def _sentence(self, error: Exception) -> EngineError:
        """Turn what the client raises into what is wrong and what to do."""
        import openai

        host, model = self._settings.host, self._spec.model
        if isinstance(error, WithheldError):
            return EngineError(f"The policy of the server {host} blocks even the plainest conversation: {error}")
        if isinstance(error, ValidationError):
            return EngineError(f"What answers at {host} speaks no chat completions: {_first(error)} Mend base_url.")
        if isinstance(error, openai.APIConnectionError):
            return EngineError(
                f"No server answers at {host}: {self._said(error)} Start it and run the same command again, or mend base_url."
            )
        status, said = getattr(error, "status_code", "error"), self._said(error)
        if status in (401, 403):
            return EngineError(f"The server {host} refuses the key ({status}): {said} Set {KEYS[0]} to one that it takes.")
        if status in (404, 405):
            return EngineError(
                f"The server {host} has no chat completions of {model} at base_url ({status}): {said} "
                "Mend the name, or base_url, which mostly ends in /v1."
            )
        if status in REFUSES:
            return EngineError(f"The server {host} refuses even the plainest conversation, system and user ({status}): {said}")
        return EngineError(f"The server {host} does not work ({status}): {said} Mend it and run the same command again.")

    def _said(self, error: Exception) -> str:
        """Give the server's own words for an error."""
        found: Any = getattr(error, "body", None) or error.__cause__ or error
        if isinstance(found, dict):
            found = found.get("message") or found.get("detail") or found
        return self._quoted(str(found) or type(found).__name__)

    def _quoted(self, said: str) -> str:
        """Give a server's words as a sentence, at most 300 characters, without the key, which some servers repeat."""
        said = said.replace(self._key, "***") if self._key else said
        return " ".join(said.split())[:300].rstrip(".") + "."


def _plainest(sampling: Sampling, schema: str | None, system: str = SYSTEM) -> Request:
    said = (Message("system", system), Message("user", "Hello."))
    return Request("", "trial", said, (), sampling, schema)


def _read(kind: type[Read], raw: Any) -> Read:
    return kind.model_validate_json(raw.content)


def _key() -> str:
    """Give the key of the environment, or nothing. Raises `EngineError` for what no header can hold."""
    name, key = next(((name, key) for name in KEYS if (key := os.environ.get(name, "").strip())), ("", ""))
    if not (key.isascii() and key.isprintable()):
        raise EngineError(f"{name} holds characters that no key has. Set it anew.")
    return key


def _first(error: ValidationError) -> str:
    """Give the first fault, without the answer that has it."""
    fault = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    return f"{where}: {fault['msg']}." if where else f"{fault['msg']}."
