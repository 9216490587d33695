"""Every documented form in which a server says that a policy withheld an answer, end to end through the engine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from helmbench_hf.inference import endpoint as module
from helmbench_hf.inference.engine import EngineError
from helmbench_hf.inference.withheld import CODES, ENDS, MESSAGES, policy_block, policy_end
from helmbench_hf.records import Completion
from tests.inference import contract
from tests.inference.test_endpoint import ask, opened
from tests.support.chat_server import Answer, Body, ChatServer, Fate, Status, model_says

AZURE = {
    "message": "The response was filtered due to the prompt triggering the content management policy.",
    "type": None, "param": "prompt", "code": "content_filter", "status": 400,
    "innererror": {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"self_harm": {"filtered": True}}},
}  # fmt: skip
FLAGGED = "Your input was flagged for self-harm."
LITELLM = "litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException - The response was filtered."
THE_PROMPT = "a bad one, and nobody else may read it"


def error(http: int, **said: Any) -> Status:
    return Status(http, {"error": said})


BLOCKS: dict[str, tuple[Status, str]] = {
    "OpenAI": (error(400, code="content_policy_violation", type="invalid_request_error", message="No."), "No."),
    "OpenAI, reasoning": (
        error(400, code="invalid_prompt", message="Invalid prompt: your prompt was flagged as potentially violating our policy."),
        "Invalid prompt: your prompt was flagged",
    ),
    "Azure": (error(400, **AZURE), "The response was filtered due to"),
    "Azure, inner code alone": (
        error(400, message="Filtered.", code="400", innererror={"code": "ResponsibleAIPolicyViolation"}),
        "Filtered.",
    ),
    "LiteLLM": (error(400, message=LITELLM, type=None, param=None, code="400"), LITELLM),
    "LiteLLM, old": (error(500, message=LITELLM, code="500"), LITELLM),
    "LiteLLM, fields of the provider": (
        error(400, message="No.", code="400", provider_specific_fields={"innererror": AZURE["innererror"]}),
        "No.",
    ),
    "OpenRouter, moderation": (
        error(403, code=403, message=FLAGGED, metadata={"reasons": ["self-harm"], "flagged_input": THE_PROMPT}),
        FLAGGED,
    ),
    "OpenRouter, by type": (error(403, code=403, message="No.", metadata={"error_type": "content_policy_violation"}), "No."),
    "OpenRouter, refusal": (error(403, code=403, message="No.", error_type="refusal"), "No."),
    "OpenRouter, the provider's own error": (
        error(400, code=400, message="Provider returned error", metadata={"raw": json.dumps({"error": AZURE})}),
        "The response was filtered due to",
    ),
    "OpenRouter, HTTP 200": (error(200, code=403, message=FLAGGED, error_type="content_policy_violation"), FLAGGED),
    "OpenRouter, in the choice": (
        Status(200, {"choices": [{"finish_reason": "error", "message": {"content": "I"}, "error": {"code": "content_filter"}}]}),
        "content_filter.",
    ),
    "DeepSeek": (error(400, message="Content Exists Risk", code="invalid_request_error"), "Content Exists Risk."),
    "DeepSeek, old": (Status(400, {"detail": "Content Exists Risk"}), "Content Exists Risk."),
    "xAI": (
        Status(
            403, {"code": "The caller does not have permission", "error": "Content violates usage guidelines. Failed check: X"}
        ),
        "Content violates usage guidelines.",
    ),
    "Alibaba": (error(400, code="data_inspection_failed", message="Input data may contain inappropriate content."), "Input data"),
    "Alibaba, older": (error(400, code="DataInspectionFailed", message="Input data."), "Input data."),
    "Alibaba, in words": (error(400, message="<400> InternalError.Algo.DataInspectionFailed: Input text."), "<400> Internal"),
    "a code alone": (error(400, code="content_filter"), "content_filter."),
    "Moonshot": (error(400, code=400, message="considered high risk", param="prompt", type="content_filter"), "considered high"),
}
NO_BLOCKS = {
    "too long": error(400, message="This model's maximum context length is 10 tokens.", type="BadRequestError", code=400),
    "OpenRouter, broken prompt": error(400, code="invalid_prompt", message="messages[1] has an empty content"),
    "words inside": error(400, message="Cannot parse: Content Exists Risk", code="invalid_request_error"),
    "a validator that repeats the input": Status(
        422, {"detail": [{"loc": ["messages"], "msg": "bad", "input": "Content Exists Risk", "code": "content_filter"}]}
    ),
    "metadata of another kind": error(400, message="No.", metadata={"reasons": ["broken"], "raw": "not json"}),
    "raw of another kind": error(400, message="No.", metadata={"raw": 7}),
    "nothing": Status(400, {}),
    "a page": Status(400, b"<html>content_filter</html>"),
}


def served(fate: Fate | None = None, answer: Answer | None = None, **options: Any) -> tuple[dict[str, Completion], ChatServer]:
    """Ask three questions, of which the server answers the bad one so."""
    bad = lambda body: "bad" in body["messages"][-1]["content"]  # noqa: E731
    with ChatServer(
        lambda body: answer if answer and bad(body) else model_says(body), fate=lambda body, number: fate if bad(body) else None
    ) as server:
        schema = options.pop("schema", None)
        requests = [ask("bad", THE_PROMPT, schema=schema), ask("good"), ask("too", "Good too?")]
        return contract.run(opened(server, retries=0, **options), requests), server


def times(server: ChatServer) -> int:
    return sum(THE_PROMPT in body["messages"][-1]["content"] for body in server.conversations)


@pytest.mark.parametrize("form", BLOCKS)
def test_a_blocked_prompt_is_withheld_asked_once_and_its_neighbors_are_answered(form: str) -> None:
    status, words = BLOCKS[form]
    done, server = served(status)
    blocked = done["bad"]
    assert {name: each.status for name, each in done.items()} == {"bad": "withheld", "good": "ok", "too": "ok"}
    assert blocked.error.startswith(words)
    assert (blocked.text, blocked.finish_reason, blocked.attempt) == ("", "", 1)
    assert THE_PROMPT not in blocked.error
    assert times(server) == 1


@pytest.mark.parametrize("form", NO_BLOCKS)
def test_an_error_that_is_no_policy_stays_a_prompt_that_cannot_be_run(form: str) -> None:
    done, _ = served(NO_BLOCKS[form])
    assert done["bad"].status == "refused"


@pytest.mark.parametrize("said", [{"message": "Your resource has been blocked."}, {"code": "invalid_api_key"}])
def test_a_403_without_a_form_still_ends_the_run(said: dict[str, str]) -> None:
    with pytest.raises(EngineError, match=r"refuses the key \(403\)"):
        served(error(403, **said))


@pytest.mark.parametrize(
    ("reason", "end"),
    [*((end, end) for end in ENDS), ("SAFETY", "safety"), ("content_filter: PROHIBITED_CONTENT", "content_filter")],
)
def test_an_answer_that_a_filter_ended_is_withheld_with_what_was_written(reason: str, end: str) -> None:
    done, server = served(answer=Answer("I hear", reason), schema=contract.SCHEMA)
    blocked = done["bad"]
    assert (blocked.status, blocked.text, blocked.finish_reason) == ("withheld", "I hear", end)
    assert reason in blocked.error
    assert times(server) == 1


@pytest.mark.parametrize("choice", [{}, {"message": None}])
def test_gemini_leaves_the_message_out(choice: dict[str, Any]) -> None:
    blocked = {"finish_reason": "content_filter: PROHIBITED_CONTENT", **choice}
    done, _ = served(Status(200, {"choices": [blocked], "usage": {"prompt_tokens": 10, "completion_tokens": 0}}))
    assert (done["bad"].status, done["bad"].text, done["bad"].prompt_tokens) == ("withheld", "", 10)
    done, _ = served(Status(200, {"choices": [{**blocked, "finish_reason": "stop"}]}))
    assert (done["bad"].status, done["bad"].attempt) == ("engine_error", 3)


def test_the_models_own_refusal_is_its_answer() -> None:
    done, _ = served(answer=Answer(None, message={"refusal": "I'm sorry, I can't help with that."}))
    assert (done["bad"].status, done["bad"].text) == ("ok", "I'm sorry, I can't help with that.")


def test_an_error_without_a_policy_under_200_is_an_engine_failure() -> None:
    done, _ = served(error(200, code=502, message="The provider is down"))
    assert (done["bad"].status, done["bad"].attempt) == ("engine_error", 3)


def test_a_key_that_the_server_repeats_is_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(module.KEYS[0], "sk-0123456789")
    done, _ = served(error(400, code="content_filter", message="Blocked for sk-0123456789"))
    assert done["bad"].error == "Blocked for ***."


def test_a_server_that_blocks_everything_does_not_start() -> None:
    sentence = r"The policy of the server .* blocks even the plainest conversation: The response was"
    with ChatServer(fate=lambda body, number: error(400, **AZURE)) as server, pytest.raises(EngineError, match=sentence):
        opened(server, retries=0)


def test_a_trial_that_is_blocked_says_so() -> None:
    trials: list[Body] = []

    def fate(body: Body, number: int) -> Fate:
        if body["messages"][-1]["content"] == "Hello.":
            trials.append(body)
            return error(403, **AZURE) if len(trials) > 2 else None
        return Status(400)

    with ChatServer(fate=fate) as server, pytest.raises(EngineError, match="blocks even the plainest conversation"):
        contract.run(opened(server), [ask()])


def test_every_form_is_tested_and_says_where_it_is_from() -> None:
    said = json.dumps([status.body for status, _ in BLOCKS.values()]).lower()
    assert all(code in said for code in CODES)
    assert all(source for table in (CODES, MESSAGES, ENDS) for source in table.values())


@pytest.mark.parametrize("hostile", [None, 7, [], "", {"error": []}, {"code": None}, {"raw": "[" * 100_000}])
def test_whatever_a_server_says_is_read(hostile: Any) -> None:
    assert policy_block(hostile) == ""
    nested: Any = {"code": "content_filter"}
    for _ in range(9):
        nested = {"error": nested}
    assert policy_block(nested) == ""
    assert (policy_end(None), policy_end("stop"), policy_end(": content_filter")) == ("", "", "")
