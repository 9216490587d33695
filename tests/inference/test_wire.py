"""What is sent to a server and how its answers are read."""

import json
from dataclasses import replace
from typing import Any

import pytest

from helmbench_hf.inference.engine import EngineError, EngineSpec, Message, Request, Sampling
from helmbench_hf.inference.known import know
from helmbench_hf.inference.wire import Endpoint, Reply, body, completion

URL = "http://127.0.0.1:8000/v1"
REQUEST = Request("k", "n", (Message("system", "Be kind."), Message("user", "Hi")), (), Sampling(max_tokens=7))


def spec(name: str = "owner/model", **options: Any) -> EngineSpec:
    return EngineSpec.parse(f"endpoint:{name}", **{"base_url": URL, **options})


def asked(
    sampling: Sampling, *, schema: str | None = None, way: Any = "json_schema", owner: str | None = None, **kwargs: Any
) -> Any:
    return body(Request("k", "n", REQUEST.messages, (), sampling, schema), "owner/model", way, kwargs, owner)


def test_messages_go_as_messages() -> None:
    assert asked(Sampling(max_tokens=7)) == {
        "model": "owner/model",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}],
        "temperature": 0.0,
        "max_tokens": 7,
        "extra_body": {},
    }


def test_what_is_not_usual_goes_along() -> None:
    drawn = Sampling(
        temperature=0.7, top_p=0.9, top_k=20, min_p=0.1, repetition_penalty=1.1, presence_penalty=0.5, max_tokens=7, seed=3
    )
    sent = asked(drawn, enable_thinking=False)
    assert (sent["temperature"], sent["seed"]) == (0.7, 3)
    more = {"top_p": 0.9, "top_k": 20, "min_p": 0.1, "repetition_penalty": 1.1, "presence_penalty": 0.5}
    assert sent["extra_body"] == {**more, "chat_template_kwargs": {"enable_thinking": False}}


@pytest.mark.parametrize("owner", ["vllm", "sglang", "llamacpp"])
def test_a_server_that_fills_in_what_is_left_out_gets_everything(owner: str) -> None:
    usual = {"top_p": 1.0, "top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0}
    assert asked(Sampling(max_tokens=7), owner=owner)["extra_body"] == usual


def test_a_schema_goes_along_in_the_way_that_is_set() -> None:
    text = '{"type":"object","properties":{"b":{},"a":{}}}'
    strict = asked(Sampling(max_tokens=7), schema=text)["response_format"]
    assert strict["type"] == "json_schema"
    assert strict["json_schema"]["strict"] is True
    assert json.dumps(strict["json_schema"]["schema"], separators=(",", ":")) == text  # the order of writing is kept
    older = asked(Sampling(max_tokens=7), schema=text, way="guided_json")
    assert "response_format" not in older
    assert older["extra_body"] == {"guided_json": json.loads(text)}
    with pytest.raises(ValueError, match="no JSON"):
        asked(Sampling(max_tokens=7), schema="not json")


def replied(content: str | None, finish: str | None = "stop", usage: Any = None, **message: Any) -> Any:
    reply = Reply.model_validate(
        {"choices": [{"message": {"content": content, **message}, "finish_reason": finish}], "usage": usage}
    )
    return completion(REQUEST, reply)


@pytest.mark.parametrize(
    ("content", "finish", "message", "expected"),
    [
        ("Yes.", "stop", {}, ("ok", "Yes.", "")),
        ("", "stop", {}, ("ok", "", "")),
        (None, "stop", {}, ("ok", "", "")),
        ("Ye", "length", {}, ("truncated", "Ye", "")),
        ("I had to", "content_filter", {}, ("withheld", "I had to", "")),
        (None, "content_filter", {}, ("withheld", "", "")),
        (None, "content_filter", {"refusal": "I can't."}, ("withheld", "I can't.", "")),
        ("<think>hm", "content_filter", {}, ("withheld", "", "hm")),
        # the model's own words, which the person reads: graded like any other answer
        (None, "stop", {"refusal": "I can't."}, ("ok", "I can't.", "")),
        (None, "tool_calls", {}, ("ok", "", "")),
        ("Yes.", "stop", {"reasoning_content": "hm"}, ("ok", "Yes.", "hm")),
        ("Yes.", "stop", {"reasoning": "hm"}, ("ok", "Yes.", "hm")),
        (None, "length", {"reasoning": "hm, and"}, ("truncated", "", "hm, and")),
        ("A mark is </think> here.", "stop", {"reasoning": "hm"}, ("ok", "A mark is </think> here.", "hm")),
        ("<think>hm</think>Yes.", "stop", {}, ("ok", "Yes.", "hm")),
        ("hm</think>Yes.", "stop", {}, ("ok", "Yes.", "hm")),
        ("<think>hm", "length", {}, ("truncated", "", "hm")),
        ("<think>more</think>Yes.", "stop", {"reasoning": "hm"}, ("ok", "Yes.", "hm\n\nmore")),
        ("Yes", "abort", {}, ("engine_error", "", "")),
        ("Yes", None, {}, ("engine_error", "", "")),
    ],
)
def test_outcomes(content: str | None, finish: str | None, message: dict[str, Any], expected: tuple[str, str, str]) -> None:
    made = replied(content, finish, **message)
    assert (made.status, made.text, made.reasoning) == expected
    assert made.status == "engine_error" or made.finish_reason == finish


@pytest.mark.parametrize(
    ("content", "expected", "outside"),
    [
        ('{"a":"</think>"}', ('{"a":"</think>"}', ""), False),
        ('hm</think>{"a":1}', ('{"a":1}', "hm"), False),
        ('<think>hm</think>\n{"a":1}', ('{"a":1}', "hm"), False),
        ("<think>hm", ("", "hm"), False),
        ("", ("", ""), False),
        ("Sure!", ("Sure!", ""), True),
        ('```json\n{"a":1}', ('```json\n{"a":1}', ""), True),
    ],
)
def test_an_answer_under_a_schema_may_follow_a_thought(content: str, expected: tuple[str, str], outside: bool) -> None:
    reply = Reply.model_validate({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]})
    made = completion(replace(REQUEST, schema="{}"), reply)
    assert (made.text, made.reasoning) == expected
    assert reply.outside_json == outside


def test_tokens_are_the_servers_counts_and_no_prompt_is_hashed() -> None:
    made = replied("Yes.", usage={"prompt_tokens": 20, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 16}})
    assert (made.prompt_tokens, made.cached_tokens, made.output_tokens, made.prompt_sha) == (20, 16, 3, "")
    assert replied("Yes.", usage={"prompt_tokens": 20, "prompt_tokens_details": None}).cached_tokens == 0
    assert replied("Yes.").prompt_tokens == 0


def test_settings_of_the_command_line() -> None:
    made = Endpoint.of(spec(concurrency=4, timeout=60, retries=0, structured="none"))
    assert (made.host, made.concurrency, made.timeout, made.retries, made.structured) == ("127.0.0.1:8000", 4, 60, 0, "none")
    assert Endpoint.of(spec(base_url="https://models.example.org/v1")).host == "models.example.org"
    assert spec("qwen3:8b").model == "qwen3:8b"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"base_url": ""}, "Say where the server is: base_url="),
        ({"base_url": "127.0.0.1:8000"}, "Say where the server is"),
        ({"base_url": "http://127.0.0.1:port/v1"}, "Say where the server is"),
        ({"base_url": 8000}, "Say where the server is"),
        ({"base_url": "http://me:hunter2@127.0.0.1/v1"}, "HELMBENCH_API_KEY"),
        ({"base_url": f"{URL}?api-key=hunter2"}, "HELMBENCH_API_KEY"),
        ({"concurrency": 0}, "concurrency is a number from 1"),
        ({"timeout": "long"}, "timeout is in seconds"),
        ({"retries": -1}, "retries one from 0"),
        ({"structured": "yes"}, "json_schema, guided_json, none"),
        ({"base": URL}, "no such setting.*it has base_url, concurrency"),
        ({"dtype": "float16", "max_model_len": 4096}, "dtype, max_model_len: the server decides that"),
        ({"revision": "main"}, "revision: the server decides that"),
    ],
)
def test_what_cannot_be_set_is_a_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(EngineError, match=sentence) as found:
        know(spec(**options))
    assert "hunter2" not in str(found.value)


def test_a_served_model_is_known_by_its_name_alone() -> None:
    known = know(spec(concurrency=4))
    assert known.identity.as_row() | {"versions": {}} == {
        "id": "owner/model", "commit": "", "files_sha": "", "dtype": "unknown", "quantization": "unknown", "template_sha": "",
        "versions": {}, "served": "not verified",
    }  # fmt: skip
    assert (known.context.model, known.context.engine) == ({"served": "owner/model"}, "endpoint")
    assert known.template.facts.system_role == "unknown: rendered by the server"
    assert known.template.render(REQUEST.messages) == ()


def test_where_a_server_stands_is_in_no_key_and_a_schema_left_out_is() -> None:
    one, other = know(spec()), know(spec(base_url="http://127.0.0.1:9000/v1", concurrency=1, structured="guided_json"))
    assert one.context == other.context
    assert know(spec(structured="none")).context != one.context
    assert know(spec(template_kwargs={"enable_thinking": False})).context != one.context
    assert know(spec("/models/owner/tiny")).context.model == {"served": "tiny"}
