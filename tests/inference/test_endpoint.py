"""The endpoint engine on a server of the loopback: the contract of every engine, and every way in which a server fails."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from helmbench_hf.inference import endpoint as module
from helmbench_hf.inference.chat import ServerTemplate
from helmbench_hf.inference.drive import drive
from helmbench_hf.inference.endpoint import EndpointEngine
from helmbench_hf.inference.engine import EngineError, EngineSpec, Request, Sampling, open_engine
from helmbench_hf.records import Completion
from tests.inference import contract
from tests.support.chat_server import WINDOW, Answer, Body, ChatServer, Fate, Status, model_says
from tests.support.waiting import PATIENCE, until

CHAT = ServerTemplate()


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in module.KEYS:
        monkeypatch.delenv(name, raising=False)


def opened(server: ChatServer, **options: Any) -> EndpointEngine:
    made = open_engine(EngineSpec.parse("endpoint:tiny", **{"base_url": server.url, "concurrency": 4, "retries": 1, **options}))
    assert isinstance(made, EndpointEngine)
    return made


def ask(name: str = "a", text: str = "Is the library open?", **changes: Any) -> Request:
    return contract.ask(CHAT, name, text, **changes)


def real(body: Body) -> bool:
    """Say whether a request is none of the engine's own trials."""
    return bool(body["messages"][-1]["content"] != "Hello.")


def once(fate: Fate) -> Any:
    """Let every conversation meet this fate at its first try."""
    return lambda body, number: fate if real(body) and number == 1 else None


class TestContract:
    @pytest.fixture
    def engine(self) -> Iterator[EndpointEngine]:
        with ChatServer() as server:
            yield opened(server)

    def test_constrained_answers_parse(self, engine: EndpointEngine) -> None:
        contract.constrained_answers_parse(engine, CHAT)

    def test_bad_prompts_are_typed_rows_among_good_ones(self, engine: EndpointEngine) -> None:
        contract.bad_prompts_are_typed_rows_among_good_ones(engine, CHAT, contract.bad_messages(engine, CHAT))

    def test_answers_are_capped(self, engine: EndpointEngine) -> None:
        contract.answers_are_capped(engine, CHAT)

    def test_drawing_follows_the_seed(self, engine: EndpointEngine) -> None:
        contract.drawing_follows_the_seed(engine, CHAT)

    def test_it_says_what_it_is(self, engine: EndpointEngine) -> None:
        contract.it_says_what_it_is(engine, "endpoint", "unknown", {"schema"})
        said = engine.describe()
        assert said.max_model_len == WINDOW
        assert said.device.startswith("127.0.0.1:")
        # a path on the server's disk is nobody's business
        assert said.extra == {
            "served": "tiny-chat", "owned_by": "vllm", "structured": "json_schema", "system_text": "counted in the prompt",
        }  # fmt: skip


def test_many_are_asked_at_once_and_never_more() -> None:
    together = threading.Barrier(4, timeout=PATIENCE)

    def fate(body: Body, number: int) -> Fate:
        if real(body):
            together.wait()  # breaks, and answers nothing, unless four are here at once
        return None

    with ChatServer(fate=fate) as server:
        done = contract.run(opened(server), [ask(str(number), f"Question {number}") for number in range(16)])
        assert {each.status for each in done.values()} == {"ok"}
        assert server.most_live == 4


@pytest.mark.parametrize("headers", [{"retry-after": "0.01"}, {"retry-after-ms": "1"}])
def test_a_busy_server_is_asked_again_when_it_says(headers: dict[str, str]) -> None:
    with ChatServer(fate=once(Status(429, headers=headers))) as server:
        done = contract.run(opened(server), [ask()])["a"]
        assert (done.status, done.attempt) == ("ok", 1)
        tries = [sent["x-stainless-retry-count"] for body, sent in zip(server.asked, server.headers, strict=True) if real(body)]
        assert tries == ["0", "1"]


@pytest.mark.parametrize(
    ("fate", "reason"),
    [
        (Status(429), "failed (429): told to fail"),
        (Status(500), "failed (500)"),
        (Status(503, body={"detail": "overloaded"}), "overloaded"),
        (Status(424, body={"error": "generation failed", "error_type": "generation"}), "generation failed"),
        ("drop", "did not answer"),
        ("garbage", "no chat completion: Invalid JSON"),
        ("shape", "no chat completion: choices: Field required"),
    ],
)
def test_a_failure_is_tried_again_by_the_driver_and_then_recorded(fate: Fate, reason: str) -> None:
    with ChatServer(fate=lambda body, number: fate if "bad" in body["messages"][-1]["content"] else None) as server:
        done = contract.run(opened(server, retries=0), [ask("bad", "a bad one"), ask("good"), ask("too", "Good too?")])
        assert {name: each.status for name, each in done.items()} == {"bad": "engine_error", "good": "ok", "too": "ok"}
        assert done["bad"].attempt == 3
        assert reason in done["bad"].error


def test_a_server_that_hangs_is_given_up_after_the_time_that_was_set() -> None:
    engines: list[EndpointEngine] = []

    def opens() -> bool:
        with contextlib.suppress(EngineError):  # a busy machine may take longer even for the trial
            engines.append(opened(server, retries=0, timeout=0.5))
        return bool(engines)

    with ChatServer(fate=lambda body, number: "hang" if real(body) else None) as server:
        until(opens, "the engine opens")
        done = contract.run(engines[0], [ask("bad")])["bad"]
    assert (done.status, done.attempt) == ("engine_error", 3)
    assert "did not answer: timed out" in done.error


@pytest.mark.parametrize("fate", [Status(500), "drop", "garbage", "shape"])
def test_a_passing_failure_leaves_no_trace_but_the_attempt(fate: Fate) -> None:
    with ChatServer(fate=once(fate)) as server:
        done = contract.run(opened(server, retries=0), [ask()])["a"]
        assert (done.status, done.attempt, done.text) == ("ok", 2, "You said: Is the library open?")


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, r"refuses the key \(401\): told to fail. Set HELMBENCH_API_KEY"),
        (403, r"refuses the key \(403\)"),
        (404, r"no chat completions of tiny at base_url \(404\)"),
        (402, r"does not work \(402\)"),
    ],
)
def test_a_server_that_will_answer_nobody_ends_the_run_at_once(status: int, sentence: str) -> None:
    saved: list[Completion] = []

    def fate(body: Body, number: int) -> Fate:
        return Status(status) if "last" in body["messages"][-1]["content"] else None

    requests = [ask("first"), *(ask(str(number), f"The last {number}") for number in range(40))]
    with ChatServer(fate=fate) as server, pytest.raises(EngineError, match=sentence):
        drive(opened(server, concurrency=1), requests, lambda request, completion: None, saved.append)
    assert [each.key for each in saved] == ["first"]
    assert len(server.conversations) < 40


def test_answers_that_came_are_handed_out_before_the_bad_news() -> None:
    late = threading.Event()

    def fate(body: Body, number: int) -> Fate:
        if "late" in body["messages"][-1]["content"]:
            late.wait(PATIENCE)
            return Status(401)
        return None

    with ChatServer(fate=fate) as server:
        engine = opened(server)
        for request in (ask("late", "The late one"), ask("good")):
            engine.submit(request)
        assert [each.key for each in engine.collect()] == ["good"]
        late.set()
        with pytest.raises(EngineError):
            engine.collect()
        with pytest.raises(EngineError):
            engine.collect()


def test_a_server_that_goes_away_ends_the_run_and_not_its_answers() -> None:
    saved: list[Completion] = []
    with ChatServer() as server:
        engine = opened(server, retries=0)

        def save(completion: Completion) -> None:
            saved.append(completion)
            server.close()

        with pytest.raises(EngineError, match=r"No server answers at 127.0.0.1:\d+: .*run the same command again"):
            drive(engine, [ask(str(number)) for number in range(20)], lambda request, completion: None, save)
    assert saved


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"models": {"data": [{"id": "big"}, {"id": "small"}]}}, "offers no model tiny. It offers: big, small."),
        ({"models": {"data": []}}, "It offers: none."),
        ({"models": ["tiny"]}, "speaks no chat completions: .*Mend base_url"),
        ({"models_fate": lambda: "garbage"}, "speaks no chat completions: Invalid JSON"),
        ({"models_fate": lambda: Status(401)}, "refuses the key"),
        (
            {"models_fate": lambda: Status(503, body={"error": {"message": "Loading model"}})},
            r"does not work \(503\): Loading model",
        ),
        ({"models_fate": lambda: Status(404), "fate": lambda body, number: Status(404)}, "base_url, which mostly ends in /v1"),
        ({"fate": lambda body, number: Status(400)}, "refuses even the plainest conversation, system and user"),
        ({"counts_system": False}, "leaves the system text out of the prompt: 1 tokens with a short one, 1 with a long one"),
    ],
)
def test_why_it_does_not_start(options: dict[str, Any], sentence: str) -> None:
    with ChatServer(**options) as server, pytest.raises(EngineError, match=sentence):
        opened(server, retries=0)


def test_thinking_cannot_be_switched_where_nobody_here_can_see_it() -> None:
    with pytest.raises(EngineError, match=r"the server renders the prompt.*Switch it on the server"):
        EngineSpec.parse("endpoint:tiny", base_url="http://127.0.0.1:9/v1", thinking="off")


def test_where_nobody_listens() -> None:
    with ChatServer() as server:
        pass
    with pytest.raises(EngineError, match=r"No server answers at 127.0.0.1:\d+: .*refused"):
        opened(server, retries=0)


def test_a_server_may_list_no_models_and_count_no_tokens() -> None:
    with ChatServer(lambda body: Answer("Yes.", usage=None), models_fate=lambda: Status(404)) as server:
        engine = opened(server)
        said = engine.describe()
        assert (said.max_model_len, said.extra["served"], said.extra["owned_by"]) == (0, "tiny", "unknown")
        assert said.extra["system_text"].startswith("unknown")
        assert contract.run(engine, [ask()])["a"].status == "ok"


class TestSchemas:
    """A schema is held to, or the run ends with a sentence; it is never left out unsaid."""

    def constrained(self, name: str = "a", **changes: Any) -> Request:
        return ask(name, schema=contract.SCHEMA, **changes)

    def test_a_server_that_takes_none(self) -> None:
        def fate(body: Body, number: int) -> Fate:
            return Status(400, body={"error": {"message": "no response_format here"}}) if "response_format" in body else None

        sentence = r"refuses structured=json_schema: no response_format here. Set structured=guided_json .* or structured=none"
        with ChatServer(fate=fate) as server, pytest.raises(EngineError, match=sentence):
            contract.run(opened(server), [ask("free"), self.constrained()])

    @pytest.mark.parametrize("way", ["json_schema", "guided_json"])
    def test_a_server_that_drops_it_and_says_nothing(self, way: str) -> None:
        with ChatServer(lambda body: Answer("Sure! Here you are.")) as server:
            with pytest.raises(EngineError, match=f"takes structured={way} and then keeps to no schema"):
                contract.run(opened(server, structured=way), [self.constrained()])
            assert ("guided_json" in server.conversations[0]) == (way == "guided_json")

    def test_one_schema_that_is_too_much_for_it(self) -> None:
        def fate(body: Body, number: int) -> Fate:
            return Status(400) if "maxLength" in str(body.get("response_format")) else None

        with ChatServer(fate=fate) as server:
            done = contract.run(opened(server), [self.constrained(str(number)) for number in range(9)])
            assert {each.status for each in done.values()} == {"refused"}
            # the plainest conversation was asked in the same way once, by all of them
            assert len(server.asked) - len(server.conversations) == 3

    def test_a_field_that_the_server_does_not_know(self) -> None:
        def fate(body: Body, number: int) -> Fate:
            return Status(422, body={"detail": "min_p is unknown"}) if body.get("min_p") else None

        drawn = Sampling(max_tokens=9, temperature=1.0, min_p=0.1, seed=1)
        with (
            ChatServer(fate=fate) as server,
            pytest.raises(EngineError, match="plainest conversation asked like this: min_p is unk"),
        ):
            contract.run(opened(server), [self.constrained(sampling=drawn)])

    def test_a_model_that_goes_its_own_way_is_the_models_doing(self) -> None:
        def answer(body: Body) -> Answer:
            return Answer(None, message={"refusal": "I can't."}) if real(body) else model_says(body)

        with ChatServer(answer) as server:
            done = contract.run(opened(server), [self.constrained()])["a"]
        assert (done.status, done.text) == ("ok", "I can't.")

    def test_without_one_by_choice(self) -> None:
        with ChatServer(lambda body: Answer("<think>hm</think>No JSON.")) as server:
            engine = opened(server, structured="none")
            done = contract.run(engine, [self.constrained()])["a"]
            assert "response_format" not in server.conversations[0]
        assert (done.status, done.text, done.reasoning) == ("ok", "No JSON.", "hm")
        assert engine.describe().abilities == ()


class TestKeys:
    KEY = "sk-0123456789"

    @pytest.mark.parametrize(
        ("variables", "sent"),
        [
            ({"HELMBENCH_API_KEY": KEY, "OPENAI_API_KEY": "other"}, KEY),
            ({"HELMBENCH_API_KEY": " ", "OPENAI_API_KEY": f"{KEY}\n"}, KEY),
            ({}, "none"),
        ],
    )
    def test_it_comes_from_the_environment(self, variables: dict[str, str], sent: str, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        with ChatServer() as server:
            contract.run(opened(server), [ask()])
            assert {headers["authorization"] for headers in server.headers} == {f"Bearer {sent}"}

    def test_a_server_that_repeats_it_is_not_quoted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HELMBENCH_API_KEY", self.KEY)
        said = Status(500, body={"error": {"message": f"Bearer {self.KEY} is wrong"}})
        with ChatServer(fate=lambda body, number: said if real(body) else None) as server:
            error = contract.run(opened(server, retries=0), [ask()])["a"].error
        assert "Bearer *** is wrong" in error
        with ChatServer(models_fate=lambda: Status(401, body=said.body)) as server, pytest.raises(EngineError) as found:
            opened(server)
        assert self.KEY not in str(found.value)

    def test_what_no_header_can_hold_is_a_sentence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-\u00e9\u4e2d")
        with ChatServer() as server, pytest.raises(EngineError, match="OPENAI_API_KEY holds characters that no key has"):
            opened(server)
