"""The endpoint engine on servers of the loopback: what is sent, how answers are read, and every way in which a server fails."""

from __future__ import annotations

import contextlib
import json
import math
import threading
from dataclasses import asdict, replace
from typing import Any

import pytest

from helmbench_hf.models.chat import ServerTemplate
from helmbench_hf.models.drive import drive
from helmbench_hf.models.endpoint import EndpointEngine, Reply, read_completion, request_body
from helmbench_hf.models.engine import EngineError, EngineSpec, Message, Request, Sampling, open_engine
from helmbench_hf.models.identity import model_info
from helmbench_hf.models.withheld import CODES, ENDS, policy_block, policy_end
from helmbench_hf.records import Completion
from tests.models import contract
from tests.support.chat_server import WINDOW, Answer, Body, ChatServer, Fate, Status, model_says, real
from tests.support.waiting import PATIENCE, until

CHAT = ServerTemplate()
URL = "http://127.0.0.1:8000/v1"
KEY = "sk-0123456789"
REQUEST = Request("k", "n", (Message("system", "Be kind."), Message("user", "Hi")), (), Sampling(max_tokens=7))
JUDGED = Sampling(max_tokens=1)


def spec(name: str = "owner/model", **options: Any) -> EngineSpec:
    return EngineSpec.parse(f"endpoint:{name}", **{"base_url": URL, **options})


def opened(server: ChatServer, **options: Any) -> EndpointEngine:
    made = open_engine(EngineSpec.parse("endpoint:tiny", **{"base_url": server.url, "concurrency": 4, "retries": 1, **options}))
    assert isinstance(made, EndpointEngine)
    return made


def ask(name: str = "a", text: str = "Is the library open?", **changes: Any) -> Request:
    return contract.ask(CHAT, name, text, **changes)


def said_bad(body: Body) -> bool:
    return "bad" in body["messages"][-1]["content"]


def once(fate: Fate) -> Any:
    """Let every conversation meet this fate at its first try."""
    return lambda body, number: fate if real(body) and number == 1 else None


def asked(sampling: Sampling, *, way: Any = "json_schema", owner: str | None = None, **kwargs: Any) -> Body:
    schema, prefill = kwargs.pop("schema", None), kwargs.pop("prefill", None)
    request = replace(REQUEST, sampling=sampling, schema=schema, prefill=prefill)
    return request_body(request, "owner/model", way, kwargs, owner)


class TestWhatIsSent:
    def test_messages_go_as_messages_and_what_is_unusual_goes_along(self) -> None:
        messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
        plain = {"model": "owner/model", "messages": messages, "temperature": 0.0, "max_tokens": 7}
        assert asked(Sampling(max_tokens=7)) == plain
        more = {"top_p": 0.9, "top_k": 20, "min_p": 0.1, "repetition_penalty": 1.1, "presence_penalty": 0.5, "seed": 3}
        drawn = Sampling(temperature=0.7, max_tokens=7, **more)
        kwargs = {"chat_template_kwargs": {"enable_thinking": False}}
        assert asked(drawn, enable_thinking=False) == {**plain, "temperature": 0.7, **more, **kwargs}

    @pytest.mark.parametrize("owner", ["vllm", "sglang", "llamacpp"])
    def test_a_server_that_fills_in_what_is_left_out_gets_everything(self, owner: str) -> None:
        usual = {"top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0}
        assert asked(Sampling(max_tokens=7), owner=owner).items() >= usual.items()

    def test_a_schema_goes_along_in_the_way_that_is_set_and_a_prefill_is_continued(self) -> None:
        text = '{"type":"object","properties":{"b":{},"a":{}}}'
        strict = asked(Sampling(max_tokens=7), schema=text)["response_format"]
        assert (strict["type"], strict["json_schema"]["strict"]) == ("json_schema", True)
        assert json.dumps(strict["json_schema"]["schema"], separators=(",", ":")) == text  # the order of writing is kept
        continued = asked(JUDGED, prefill="Verdict:")
        assert continued["messages"][-1] == {"role": "assistant", "content": "Verdict:"}
        assert (continued["add_generation_prompt"], continued["continue_final_message"]) == (False, True)
        with pytest.raises(ValueError, match="not valid JSON"):
            asked(Sampling(max_tokens=7), schema="not json")

    def test_prompts_of_one_group_go_to_one_replica(self) -> None:
        with ChatServer() as server:
            requests = [ask(str(number), f"Card {number}", group=f"g{number % 8}") for number in range(32)]
            contract.run(opened(server, data_parallel=3), [*requests, ask("free")])
            ranks: dict[str, set[str]] = {}
            for body, headers in zip(server.asked, server.headers, strict=True):
                number = body["messages"][-1]["content"].removeprefix("Card ")
                group = str(int(number) % 8) if number.isdecimal() else "none"
                ranks.setdefault(group, set()).add(headers.get("x-data-parallel-rank", ""))
        assert ranks.pop("none") == {""}
        assert {len(each) for each in ranks.values()} == {1}
        assert set.union(*ranks.values()) == {"0", "1", "2"}


def replied(content: str | None, finish: str | None = "stop", usage: Any = None, **message: Any) -> Completion:
    choice = {"message": {"content": content, **message}, "finish_reason": finish}
    return read_completion(REQUEST, Reply.model_validate({"choices": [choice], "usage": usage}))


class TestHowAnswersAreRead:
    @pytest.mark.parametrize(
        ("content", "finish", "message", "expected"),
        [
            ("", "stop", {}, ("ok", "", "")),
            (None, "stop", {}, ("ok", "", "")),
            ("I had to", "content_filter", {}, ("withheld", "I had to", "")),
            (None, "content_filter", {"refusal": "I can't."}, ("withheld", "I can't.", "")),
            ("<think>hm", "content_filter", {}, ("withheld", "", "hm")),
            # the model's own words, which the person reads: graded like any other answer
            (None, "stop", {"refusal": "I can't."}, ("ok", "I can't.", "")),
            (None, "tool_calls", {}, ("ok", "", "")),
            ("Yes.", "stop", {"reasoning_content": "hm"}, ("ok", "Yes.", "hm")),
            ("Yes.", "stop", {"reasoning": "hm"}, ("ok", "Yes.", "hm")),
            (None, "length", {"reasoning": "hm, and"}, ("truncated", "", "hm, and")),
            ("A mark is </think> here.", "stop", {"reasoning": "hm"}, ("ok", "A mark is </think> here.", "hm")),
            ("hm</think>Yes.", "stop", {}, ("ok", "Yes.", "hm")),
            ("<think>more</think>Yes.", "stop", {"reasoning": "hm"}, ("ok", "Yes.", "hm\n\nmore")),
            ("Yes", None, {}, ("engine_error", "", "")),
        ],
    )
    def test_outcomes(
        self, content: str | None, finish: str | None, message: dict[str, Any], expected: tuple[str, str, str]
    ) -> None:
        made = replied(content, finish, **message)
        assert (made.status, made.text, made.reasoning) == expected
        assert made.status == "engine_error" or made.finish_reason == finish

    @pytest.mark.parametrize(
        ("content", "expected", "outside"),
        [
            ('{"a":"</think>"}', ('{"a":"</think>"}', ""), False),
            ('hm</think>{"a":1}', ('{"a":1}', "hm"), False),
            ('<think>hm</think>\n{"a":1}', ('{"a":1}', "hm"), False),
            ("", ("", ""), False),
            ('```json\n{"a":1}', ('```json\n{"a":1}', ""), True),
        ],
    )
    def test_an_answer_under_a_schema_may_follow_a_thought(self, content: str, expected: tuple[str, str], outside: bool) -> None:
        reply = Reply.model_validate({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]})
        made = read_completion(replace(REQUEST, schema="{}"), reply)
        assert (made.text, made.reasoning) == expected
        assert reply.outside_json == outside

    def test_tokens_are_the_servers_counts_and_no_prompt_is_hashed(self) -> None:
        made = replied(
            "Yes.", usage={"prompt_tokens": 20, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 16}}
        )
        assert (made.prompt_tokens, made.cached_tokens, made.output_tokens, made.prompt_sha) == (20, 16, 3, "")
        assert replied("Yes.", usage={"prompt_tokens": 20, "prompt_tokens_details": None}).cached_tokens == 0


class TestSettings:
    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"base_url": ""}, "say where the server is: base_url="),
            ({"base_url": "http://127.0.0.1:port/v1"}, "say where the server is"),
            ({"base_url": 8000}, "base_url: Input should be a valid string"),
            ({"base_url": "http://me:hunter2@127.0.0.1/v1"}, "key_env"),
            ({"base_url": f"{URL}?api-key=hunter2"}, "key_env"),
            ({"timeout": "long"}, "timeout: Input should be a valid number"),
            ({"structured": "yes"}, "'json_schema' or 'none'"),
            ({"base": URL}, "settings are base_url, concurrency.* base: Extra inputs"),
            ({"dtype": "float16", "max_model_len": 4096}, "dtype, max_model_len: only the server can set this"),
        ],
    )
    def test_what_cannot_be_set_is_a_sentence(self, options: dict[str, Any], sentence: str) -> None:
        with pytest.raises(EngineError, match=sentence) as found:
            model_info(spec(**options))
        assert "hunter2" not in str(found.value)

    def test_a_served_model_is_known_by_its_name_alone(self) -> None:
        found = model_info(spec(concurrency=4))
        assert asdict(found.identity) | {"versions": {}} == {
            "id": "owner/model", "commit": "", "files_sha": "", "dtype": "unknown", "quantization": "unknown",
            "template_sha": "", "versions": {}, "served": "not verified",
        }  # fmt: skip
        assert (found.context.model, found.context.engine) == ({"served": "owner/model"}, "endpoint")
        assert found.template.facts.system_role == "unknown: rendered by the server"
        assert found.template.render(REQUEST.messages) == ()

    def test_where_a_server_stands_is_in_no_key_and_a_schema_left_out_is(self) -> None:
        one = model_info(spec())
        moved = spec(base_url="http://127.0.0.1:9000/v1", concurrency=1, key_env="X", data_parallel=4)
        assert model_info(moved).context == one.context
        assert model_info(spec(structured="none")).context != one.context
        assert model_info(spec(template_kwargs={"enable_thinking": False})).context != one.context
        assert model_info(spec("/models/owner/tiny")).context.model == {"served": "tiny"}


def test_it_does_what_every_engine_does_and_says_what_it_is() -> None:
    with ChatServer() as server:
        engine = opened(server)
        contract.every_engine(engine, CHAT)
    contract.it_says_what_it_is(engine, "endpoint", "unknown", {"schema"})
    said = engine.describe()
    assert said.max_model_len == WINDOW
    assert said.device.startswith("127.0.0.1:")
    # a path on the server's disk is nobody's business
    assert said.extra == {
        "served": "tiny-chat", "owned_by": "vllm", "structured": "json_schema", "system_text": "counted in the prompt",
    }  # fmt: skip


class TestLabels:
    def test_a_vllm_server_gives_the_exact_probability_of_each_label(self) -> None:
        with ChatServer(labels="yes") as server:
            engine = opened(server)
            assert set(engine.describe().abilities) == {"schema", "label_logprobs"}
            requests = [
                ask("a", sampling=JUDGED, prefill="Verdict:", labels=("A", "B", "C")),
                ask("b", sampling=JUDGED, prefill="Verdict:", labels=("B", "A")),
                ask("words", sampling=JUDGED, prefill="Verdict:", labels=("PASS", "FAIL")),
            ]
            done = contract.run(engine, requests)
            sent = server.conversations
        assert done["a"].label_logprobs == tuple(math.log(1 / ord(letter)) for letter in "ABC")
        assert done["b"].label_logprobs == tuple(math.log(1 / ord(letter)) for letter in "BA")
        assert (done["a"].status, done["a"].output_tokens, done["words"].status) == ("ok", 1, "refused")
        assert "one token each" in done["words"].error
        # one step without a grammar, and tokens by number: their texts may be ambiguous
        assert {(body["max_tokens"], body["return_tokens_as_token_ids"], "response_format" in body) for body in sent} == {
            (1, True, False)
        }

    @pytest.mark.parametrize(
        "options", [{"labels": "no"}, {"labels": "ignored"}, {"labels": "yes", "models_fate": lambda: Status(404)}]
    )
    def test_any_other_server_reads_none(self, options: dict[str, Any]) -> None:
        with ChatServer(**options) as server:
            engine = opened(server)
            assert "label_logprobs" not in engine.describe().abilities
            done = contract.run(engine, [ask("a", sampling=JUDGED, prefill="Verdict:", labels=("A", "B"))])["a"]
        assert (done.status, done.error) == (
            "refused", "This server gives no exact label probabilities. Use the mode evidence.",
        )  # fmt: skip


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


class TestFailures:
    @pytest.mark.parametrize("headers", [{"retry-after": "0.01"}, {"retry-after-ms": "1"}, {"retry-after": "Wed, 21 Oct 2026"}])
    def test_a_busy_server_is_asked_again_when_it_says(self, headers: dict[str, str]) -> None:
        with ChatServer(fate=once(Status(429, headers=headers))) as server:
            done = contract.run(opened(server), [ask()])["a"]
            assert (done.status, done.attempt, len(server.conversations)) == ("ok", 1, 2)

    @pytest.mark.parametrize(
        ("fate", "reason"),
        [
            (Status(429), "failed (429): told to fail"),
            (Status(503, body={"detail": "overloaded"}), "overloaded"),
            (Status(424, body={"error": "generation failed", "error_type": "generation"}), "generation failed"),
            ("drop", "did not answer"),
            ("garbage", "no chat completion: Invalid JSON"),
            ("shape", "no chat completion: choices.0: Field required"),
        ],
    )
    def test_a_failure_is_tried_again_by_the_driver_and_then_recorded(self, fate: Fate, reason: str) -> None:
        with ChatServer(fate=lambda body, number: fate if said_bad(body) else None) as server:
            done = contract.run(opened(server, retries=0), [ask("bad", "a bad one"), ask("good"), ask("too", "Good too?")])
            assert {name: each.status for name, each in done.items()} == {"bad": "engine_error", "good": "ok", "too": "ok"}
            assert done["bad"].attempt == 3
            assert reason in done["bad"].error

    def test_a_server_that_hangs_is_given_up_after_the_time_that_was_set(self) -> None:
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

    @pytest.mark.parametrize(
        ("status", "sentence"),
        [
            (401, r"refuses the key \(401\): told to fail. Set HELMBENCH_API_KEY_127_0_0_1_\d+ to its key, or .*key_env=NAME"),
            (404, r"no chat completions of tiny at base_url \(404\)"),
            (402, r"does not work \(402\)"),
        ],
    )
    def test_a_server_that_will_answer_nobody_ends_the_run_at_once(self, status: int, sentence: str) -> None:
        saved: list[Completion] = []

        def fate(body: Body, number: int) -> Fate:
            return Status(status) if "last" in body["messages"][-1]["content"] else None

        requests = [ask("first"), *(ask(str(number), f"The last {number}") for number in range(40))]
        with ChatServer(fate=fate) as server, pytest.raises(EngineError, match=sentence):
            drive(opened(server, concurrency=1), requests, lambda request, completion: None, saved.append)
        assert [each.key for each in saved] == ["first"]
        assert len(server.conversations) < 40

    def test_answers_that_came_are_handed_out_before_the_bad_news(self) -> None:
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
            for _ in range(2):
                with pytest.raises(EngineError):
                    engine.collect()

    def test_a_server_that_goes_away_ends_the_run_and_not_its_answers(self) -> None:
        saved: list[Completion] = []
        with ChatServer() as server:
            engine = opened(server, retries=0)

            def save(completion: Completion) -> None:
                saved.append(completion)
                server.close()

            with pytest.raises(EngineError, match=r"No server answers at 127.0.0.1:\d+: .*rerun to resume"):
                drive(engine, [ask(str(number)) for number in range(20)], lambda request, completion: None, save)
        assert saved

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"models": {"data": [{"id": "big"}, {"id": "small"}]}}, "does not offer the model tiny. It offers: big, small."),
            ({"models": {"data": []}}, "It offers: none."),
            ({"models": ["tiny"]}, "speaks no chat completions: .*Fix base_url"),
            ({"models_fate": lambda: Status(401)}, "refuses the key"),
            (
                {"models_fate": lambda: Status(503, body={"error": {"message": "Loading model"}})},
                r"does not work \(503\): Loading model",
            ),
            (
                {"models_fate": lambda: Status(404), "fate": lambda body, number: Status(404)},
                "base_url, which mostly ends in /v1",
            ),
            ({"fate": lambda body, number: Status(400)}, "refuses even the plainest conversation, system and user"),
            ({"counts_system": False}, "leaves the system text out of the prompt: 1 tokens with a short one, 1 with a long one"),
        ],
    )
    def test_why_it_does_not_start(self, options: dict[str, Any], sentence: str) -> None:
        with ChatServer(**options) as server, pytest.raises(EngineError, match=sentence):
            opened(server, retries=0)

    def test_where_nobody_listens(self) -> None:
        with ChatServer() as server:
            pass
        with pytest.raises(EngineError, match=r"No server answers at 127.0.0.1:\d+: .*refused"):
            opened(server, retries=0)

    def test_a_server_may_list_no_models_and_count_no_tokens(self) -> None:
        with ChatServer(lambda body: Answer("Yes.", usage=None), models_fate=lambda: Status(404)) as server:
            engine = opened(server)
            said = engine.describe()
            assert (said.max_model_len, said.extra["served"], said.extra["owned_by"]) == (0, "tiny", "unknown")
            assert said.extra["system_text"].startswith("unknown")
            assert contract.run(engine, [ask()])["a"].status == "ok"

    def test_thinking_cannot_be_switched_where_nobody_here_can_see_it(self) -> None:
        with pytest.raises(EngineError, match=r"the server renders the prompt.*Set it on the server"):
            EngineSpec.parse("endpoint:tiny", base_url="http://127.0.0.1:9/v1", thinking="off")


class TestSchemas:
    """A schema is held to, or the run ends with a sentence; it is never left out silently."""

    def constrained(self, name: str = "a", **changes: Any) -> Request:
        return ask(name, schema=contract.SCHEMA, **changes)

    def test_a_server_that_takes_none(self) -> None:
        def fate(body: Body, number: int) -> Fate:
            return Status(400, body={"error": {"message": "no response_format here"}}) if "response_format" in body else None

        sentence = r"refuses structured=json_schema: no response_format here. Set structured=none"
        with ChatServer(fate=fate) as server, pytest.raises(EngineError, match=sentence):
            contract.run(opened(server), [ask("free"), self.constrained()])

    def test_a_server_that_drops_it_silently(self) -> None:
        with ChatServer(lambda body: Answer("Sure! Here you are.")) as server:
            with pytest.raises(EngineError, match="takes structured=json_schema and then keeps to no schema"):
                contract.run(opened(server), [self.constrained()])
            assert "response_format" in server.conversations[0]

    def test_one_schema_that_is_too_much_for_it(self) -> None:
        def fate(body: Body, number: int) -> Fate:
            return Status(400) if "pattern" in str(body.get("response_format")) else None

        with ChatServer(fate=fate) as server:
            done = contract.run(opened(server), [self.constrained(str(number)) for number in range(9)])
            assert {each.status for each in done.values()} == {"refused"}
            # the plainest conversation was asked in the same way once, by all of them
            assert len(server.asked) - len(server.conversations) == 3

    def test_a_field_that_the_server_does_not_know(self) -> None:
        def fate(body: Body, number: int) -> Fate:
            return Status(422, body={"detail": "min_p is unknown"}) if body.get("min_p") else None

        drawn, sentence = Sampling(max_tokens=9, temperature=1.0, min_p=0.1, seed=1), "conversation asked like this: min_p is unk"
        with ChatServer(fate=fate) as server, pytest.raises(EngineError, match=sentence):
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


class TestSecrets:
    """Attacks: a server that is not the owner of a key, and one that sends the prompt on, get neither."""

    def test_each_server_gets_its_own_key_and_no_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with ChatServer() as target, ChatServer() as judge, ChatServer() as stranger:
            derived = f"HELMBENCH_API_KEY_127_0_0_1_{target.url.split(':')[2].removesuffix('/v1')}"
            others = {"HELMBENCH_API_KEY": "a", "OPENAI_API_KEY": "b", "OPENAI_ORG_ID": "c"}
            for name, value in {derived: f"{KEY}\n", "JUDGE_KEY": "sk-judge", **others}.items():
                monkeypatch.setenv(name, value)
            for server, options in ((target, {}), (judge, {"key_env": "JUDGE_KEY"}), (stranger, {})):
                contract.run(opened(server, **options), [ask()])
            sent = [{headers.get("authorization") for headers in server.headers} for server in (target, judge, stranger)]
            names = {name for headers in stranger.headers for name in headers}
        assert sent == [{f"Bearer {KEY}"}, {"Bearer sk-judge"}, {None}]
        assert names <= {
            "host", "accept", "accept-encoding", "connection", "user-agent", "content-type", "content-length",
        }, "nothing else of the environment travels along"  # fmt: skip

    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    @pytest.mark.parametrize("at", ["models", "trial", "answer"])
    def test_no_redirect_is_followed(self, status: int, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOME_KEY", KEY)
        with ChatServer() as thief:
            away = Status(status, headers={"location": f"{thief.url}/chat/completions"})

            def fate(body: Body, number: int) -> Fate:
                return away if at != "models" and real(body) == (at == "answer") else None

            with (
                ChatServer(fate=fate, models_fate=lambda: away if at == "models" else None) as server,
                pytest.raises(
                    EngineError, match=r"redirects to http://127.0.0.1:\d+. Prompt and key go to no address but"
                ) as found,
            ):
                contract.run(opened(server, key_env="SOME_KEY"), [ask()])
            assert thief.asked == thief.headers == []
            assert KEY not in str(found.value)

    def test_a_server_that_repeats_the_key_is_not_quoted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOME_KEY", KEY)
        said = Status(500, body={"error": {"message": f"Bearer {KEY} is wrong"}})
        with ChatServer(fate=lambda body, number: said if real(body) else None) as server:
            error = contract.run(opened(server, retries=0, key_env="SOME_KEY"), [ask()])["a"].error
        assert "Bearer *** is wrong" in error
        with ChatServer(models_fate=lambda: Status(401, body=said.body)) as server, pytest.raises(EngineError) as found:
            opened(server, key_env="SOME_KEY")
        assert KEY not in str(found.value)
        blocked = policy_error(400, code="content_filter", message=f"Blocked for {KEY}")
        with ChatServer(fate=lambda body, number: blocked if real(body) else None) as server:
            assert contract.run(opened(server, key_env="SOME_KEY"), [ask()])["a"].error == "Blocked for ***."

    @pytest.mark.parametrize(
        ("value", "sentence"),
        [("sk-\u00e9\u4e2d", "contains characters that are never part of a key"), ("", "SOME_KEY is not set")],
    )
    def test_a_key_that_cannot_be_is_a_sentence(self, value: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOME_KEY", value)
        with ChatServer() as server, pytest.raises(EngineError, match=sentence):
            opened(server, key_env="SOME_KEY")


INNER = {"innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"self_harm": {"filtered": True}}}}
AZURE = {
    "message": "The response was filtered.",
    "type": None,
    "param": "prompt",
    "code": "content_filter",
    "status": 400,
    **INNER,
}
FLAGGED = "Your input was flagged for self-harm."
LITELLM = "litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException - The response was filtered."
THE_PROMPT = "a bad one, and nobody else may read it"
XAI = {"code": "The caller does not have permission", "error": "Content violates usage guidelines. Failed check: X"}
QUOTED = {"reasons": ["self-harm"], "flagged_input": THE_PROMPT}
BROKEN_OFF = {"choices": [{"finish_reason": "error", "message": {"content": "I"}, "error": {"code": "content_filter"}}]}


def policy_error(http: int, **said: Any) -> Status:
    return Status(http, {"error": said})


BLOCKS: dict[str, tuple[Status, str]] = {
    "OpenAI": (policy_error(400, code="content_policy_violation", type="invalid_request_error", message="No."), "No."),
    "OpenAI o1": (policy_error(400, code="invalid_prompt", message="Invalid prompt: your prompt was flagged."), "Invalid prompt"),
    "Azure": (policy_error(400, **AZURE), "The response was filtered."),
    "Azure, inner code": (policy_error(400, message="Filtered.", code="400", **INNER), "Filtered."),
    "LiteLLM": (policy_error(400, message=LITELLM, type=None, param=None, code="400"), LITELLM),
    "LiteLLM, old": (policy_error(500, message=LITELLM, code="500"), LITELLM),
    "LiteLLM, inner": (policy_error(400, message="No.", code="400", provider_specific_fields=INNER), "No."),
    "OpenRouter": (policy_error(403, code=403, message=FLAGGED, metadata=QUOTED), FLAGGED),
    "OpenRouter, type": (policy_error(403, message="No.", metadata={"error_type": "content_policy_violation"}), "No."),
    "OpenRouter, refusal": (policy_error(403, code=403, message="No.", error_type="refusal"), "No."),
    "OpenRouter, raw": (
        policy_error(400, code=400, metadata={"raw": json.dumps({"error": AZURE})}),
        "The response was filtered.",
    ),
    "OpenRouter, HTTP 200": (policy_error(200, code=403, message=FLAGGED, error_type="content_policy_violation"), FLAGGED),
    "OpenRouter, in the choice": (Status(200, BROKEN_OFF), "content_filter."),
    "DeepSeek": (policy_error(400, message="Content Exists Risk", code="invalid_request_error"), "Content Exists Risk."),
    "DeepSeek, old": (Status(400, {"detail": "Content Exists Risk"}), "Content Exists Risk."),
    "xAI": (Status(403, XAI), "Content violates usage guidelines."),
    "Alibaba": (policy_error(400, code="data_inspection_failed", message="Input data may contain"), "Input data"),
    "Alibaba, older": (policy_error(400, code="DataInspectionFailed", message="Input data."), "Input data."),
    "Alibaba, in words": (policy_error(400, message="<400> InternalError.Algo.DataInspectionFailed: Input."), "<400> Internal"),
    "a code alone": (policy_error(400, code="content_filter"), "content_filter."),
    "Moonshot": (policy_error(400, code=400, message="high risk", param="prompt", type="content_filter"), "high risk"),
}
REPEATED_INPUT = {"loc": ["messages"], "msg": "bad", "input": "Content Exists Risk", "code": "content_filter"}
NO_BLOCKS = {
    "OpenRouter, broken prompt": policy_error(400, code="invalid_prompt", message="messages[1] has an empty content"),
    "words inside": policy_error(400, message="Cannot parse: Content Exists Risk", code="invalid_request_error"),
    "a validator that repeats the input": Status(422, {"detail": [REPEATED_INPUT]}),
    "metadata of another kind": policy_error(400, message="No.", metadata={"reasons": ["broken"], "raw": "not json"}),
    "raw of another kind": policy_error(400, message="No.", metadata={"raw": 7}),
    "nothing": Status(400, {}),
    "a page": Status(400, b"<html>content_filter</html>"),
}


def served(fate: Fate | None = None, answer: Answer | None = None, **options: Any) -> tuple[dict[str, Completion], int]:
    """Ask three questions, of which the server answers the bad one so; give the completions, and how often that was asked."""
    schema = options.pop("schema", None)
    requests = [ask("bad", THE_PROMPT, schema=schema), ask("good"), ask("too", "Good too?")]
    with ChatServer(
        lambda body: answer if answer and said_bad(body) else model_says(body),
        fate=lambda body, number: fate if said_bad(body) else None,
    ) as server:
        done = contract.run(opened(server, retries=0, **options), requests)
    assert {done["good"].status, done["too"].status} == {"ok"}
    return done, sum(map(said_bad, server.asked))


class TestPolicies:
    """Every documented form in which a server says that a policy withheld an answer."""

    @pytest.mark.parametrize("form", BLOCKS)
    def test_a_blocked_prompt_is_withheld_and_asked_once(self, form: str) -> None:
        status, words = BLOCKS[form]
        done, times = served(status)
        blocked = done["bad"]
        assert (blocked.status, blocked.text, blocked.finish_reason, blocked.attempt, times) == ("withheld", "", "", 1, 1)
        assert blocked.error.startswith(words)
        assert THE_PROMPT not in blocked.error

    @pytest.mark.parametrize("form", NO_BLOCKS)
    def test_an_error_that_is_no_policy_stays_a_prompt_that_cannot_be_run(self, form: str) -> None:
        assert served(NO_BLOCKS[form])[0]["bad"].status == "refused"

    @pytest.mark.parametrize("said", [{"message": "Your resource has been blocked."}, {"code": "invalid_api_key"}])
    def test_a_403_without_a_form_still_ends_the_run(self, said: dict[str, str]) -> None:
        with pytest.raises(EngineError, match=r"refuses the key \(403\)"):
            served(policy_error(403, **said))

    @pytest.mark.parametrize(
        ("reason", "end"),
        [*((end, end) for end in ENDS), ("SAFETY", "safety"), ("content_filter: PROHIBITED_CONTENT", "content_filter")],
    )
    def test_an_answer_that_a_filter_ended_is_withheld_with_what_was_written(self, reason: str, end: str) -> None:
        done, times = served(answer=Answer("I hear", reason), schema=contract.SCHEMA)
        blocked = done["bad"]
        assert (blocked.status, blocked.text, blocked.finish_reason, times) == ("withheld", "I hear", end, 1)
        assert reason in blocked.error

    @pytest.mark.parametrize("choice", [{}, {"message": None}])
    def test_gemini_leaves_the_message_out(self, choice: dict[str, Any]) -> None:
        blocked = {"finish_reason": "content_filter: PROHIBITED_CONTENT", **choice}
        done, _ = served(Status(200, {"choices": [blocked], "usage": {"prompt_tokens": 10, "completion_tokens": 0}}))
        assert (done["bad"].status, done["bad"].text, done["bad"].prompt_tokens) == ("withheld", "", 10)
        done, _ = served(Status(200, {"choices": [{**blocked, "finish_reason": "stop"}]}))
        assert (done["bad"].status, done["bad"].attempt) == ("engine_error", 3)

    def test_an_error_without_a_policy_under_200_is_an_engine_failure(self) -> None:
        done, _ = served(policy_error(200, code=502, message="The provider is down"))
        assert (done["bad"].status, done["bad"].attempt) == ("engine_error", 3)

    @pytest.mark.parametrize("after", [0, 2])
    def test_a_server_that_blocks_the_plainest_conversation_ends_the_run(self, after: int) -> None:
        trials: list[Body] = []

        def fate(body: Body, number: int) -> Fate:
            if real(body):
                return Status(400)
            trials.append(body)
            return policy_error(403, **AZURE) if len(trials) > after else None

        sentence = r"The policy of the server .* blocks even the plainest conversation: The response was"
        with ChatServer(fate=fate) as server, pytest.raises(EngineError, match=sentence):
            contract.run(opened(server, retries=0), [ask()])

    def test_every_form_is_tested(self) -> None:
        said = json.dumps([status.body for status, _ in BLOCKS.values()]).lower()
        assert all(code in said for code in CODES)

    @pytest.mark.parametrize("hostile", [None, 7, [], "", {"error": []}, {"code": None}, {"raw": "[" * 100_000}])
    def test_whatever_a_server_says_is_read(self, hostile: Any) -> None:
        assert policy_block(hostile) == ""
        nested: Any = {"code": "content_filter"}
        for _ in range(9):
            nested = {"error": nested}
        assert policy_block(nested) == ""
        assert (policy_end(None), policy_end("stop"), policy_end(": content_filter")) == ("", "", "")
