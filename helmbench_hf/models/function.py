"""The engine for a function of the caller: messages in, text out, in this process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from helmbench_hf import __version__
from helmbench_hf.models.chat import ServerTemplate
from helmbench_hf.models.engine import EngineDescription, EngineError, EngineSpec, Request, answered, unanswered
from helmbench_hf.models.identity import ModelInfo, served
from helmbench_hf.models.keys import KeyContext
from helmbench_hf.models.withheld import WithheldError, policy_block
from helmbench_hf.records import Completion

Function = Callable[[list[dict[str, str]]], str]
"""Gets a conversation, each message with `role` and `content`, and gives the assistant's answer."""
NAME = "function"


class FunctionEngine:
    """Calls a function in as many threads as it may be called at once.

    What it raises is an engine failure of one request; a `WithheldError`, or a client's error in which a server says that a
    policy blocked the prompt or the answer, makes a withheld answer.
    """

    def __init__(self, function: Function, name: str, concurrency: int = 1) -> None:
        """Raise `EngineError` where `concurrency` is no number from 1 on."""
        if concurrency < 1:
            raise EngineError(f"concurrency must be a whole number of 1 or more, not {concurrency!r}.")
        self._function, self._name, self._concurrency = function, name, concurrency
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix=NAME)
        self._live: set[Future[Completion]] = set()

    @property
    def capacity(self) -> int:
        """No more than are called at once: after an interrupt nothing is left in a queue."""
        return self._concurrency

    def submit(self, request: Request) -> None:
        """Call the function for one request, in a thread."""
        self._live.add(self._pool.submit(self._ask, request))

    def collect(self) -> list[Completion]:
        """Wait for answers. Raises `EngineError` where the function gives no text."""
        done, self._live = wait(self._live, return_when=FIRST_COMPLETED)
        return [each.result() for each in done]

    def describe(self) -> EngineDescription:
        """Say what is known of a function: its name."""
        threads = self._concurrency
        return EngineDescription(NAME, __version__, self._name, batch_limit=threads, threads=threads)

    def _ask(self, request: Request) -> Completion:
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        try:
            text = self._function(messages)
        except WithheldError as error:
            return unanswered(request, "withheld", str(error))
        except Exception as error:
            if words := policy_block({"message": str(error), "error": getattr(error, "body", None)}):
                return unanswered(request, "withheld", words)
            return unanswered(request, "engine_error", f"The function {self._name} raised {type(error).__name__}: {error}")
        if not isinstance(text, str):
            raise EngineError(
                f"The function {self._name} returned {type(text).__name__}, not a string. Make it return the answer as a string."
            )
        return answered(request, text, "stop", opened=None)


def function_info(name: str) -> ModelInfo:
    """What is known of a function before it is called: the name under which its answers are stored, which proves nothing."""
    spec = EngineSpec(kind="endpoint", model=name)
    identity = served(spec)
    return ModelInfo(spec, ServerTemplate(), identity, KeyContext(model=identity.for_key(), template_sha="", engine=NAME))
