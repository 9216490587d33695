"""What every engine with a model must do; run on each of them by its own test module."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from helmbench_hf.inference.chat import ChatTemplate
from helmbench_hf.inference.engine import Engine, Message, Request, Sampling, drive
from helmbench_hf.inference.keys import tokens_sha
from helmbench_hf.records import Completion

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "reply": {"type": "string", "maxLength": 40},
            "tags": {"type": "array", "items": {"enum": ["late", "lost", "loud"]}, "minItems": 1, "maxItems": 3},
            "count": {"type": "integer", "minimum": 0, "maximum": 99},
        },
        "required": ["reply", "tags", "count"],
        "additionalProperties": False,
    }
)


def ask(chat: ChatTemplate, name: str, text: str, prefill: str | None = None, **changes: Any) -> Request:
    messages = (Message("system", "You help in a library."), Message("user", text))
    request = Request(name, name, messages, chat.render(messages, prefill), Sampling(max_tokens=160), prefill=prefill)
    return replace(request, **changes)


def run(engine: Engine, requests: Sequence[Request]) -> dict[str, Completion]:
    saved: dict[str, Completion] = {}
    drive(engine, requests, lambda request, completion: None, lambda each: saved.update({each.key: each}))
    assert set(saved) == {request.key for request in requests}
    return saved


def constrained_answers_parse(engine: Engine, chat: ChatTemplate) -> None:
    requests = [ask(chat, str(number), f"Card {number} is lost.", schema=SCHEMA) for number in range(4)]
    for each in run(engine, requests).values():
        assert each.status == "ok"
        answer = json.loads(each.text)
        assert list(answer) == ["reply", "tags", "count"]
        assert set(answer["tags"]) <= {"late", "lost", "loud"}
        assert json.dumps(answer, separators=(",", ":"), ensure_ascii=False) == each.text


def labels_have_an_honest_mass(engine: Engine, chat: ChatTemplate) -> None:
    texts = ["Is a cat an animal? A: yes. B: no. C: unclear.", "Is a stone an animal? A: yes. B: no. C: unclear."]
    requests = [ask(chat, str(number), text, "Verdict:", labels=("A", "B", "C")) for number, text in enumerate(texts)]
    requests.append(ask(chat, "two", texts[0], "Verdict:", labels=("B", "A")))
    done = run(engine, requests)
    for each in done.values():
        assert each.label_logprobs is not None
        assert 0 < sum(map(math.exp, each.label_logprobs)) <= 1
        assert (each.status, each.output_tokens) == ("ok", 1)
    first, swapped = done["0"].label_logprobs, done["two"].label_logprobs
    assert first is not None
    assert swapped is not None
    assert math.isclose(first[0], swapped[1], abs_tol=0.1)
    assert math.isclose(first[1], swapped[0], abs_tol=0.1)


def bad_prompts_are_typed_rows_among_good_ones(engine: Engine, chat: ChatTemplate) -> None:
    window = engine.describe().max_model_len
    short = Sampling(max_tokens=4)
    requests = [ask(chat, f"good {number}", f"Say the number {number}.", sampling=short) for number in range(12)]
    bad = {
        "long": ask(chat, "long", "x", tokens=(20,) * window),
        "empty": ask(chat, "empty", "x", tokens=()),
        "broken": ask(chat, "broken", "x", tokens=(), refusal="The chat template breaks."),
        "no such token": ask(chat, "no such token", "x", tokens=(10**7, 5)),
        "no schema": ask(chat, "no schema", "x", schema="not json"),
        "words": ask(chat, "words", "x", "Verdict:", labels=("PASS", "FAIL")),
    }
    for place, request in enumerate(bad.values()):
        requests.insert(2 * place + 1, request)
    done = run(engine, requests)
    assert Counter(each.status for each in done.values()) == {"refused": len(bad), "truncated": 12}
    assert all(done[name].error for name in bad)
    assert str(window) in done["long"].error
    assert "empty" in done["empty"].error
    assert "one token" in done["words"].error


def answers_are_counted_and_capped(engine: Engine, chat: ChatTemplate) -> None:
    request = ask(chat, "a", "Tell me a long story.", sampling=Sampling(max_tokens=9))
    nearly = ask(chat, "b", "x", tokens=request.tokens[:1] * (engine.describe().max_model_len - 3))
    done = run(engine, [request, nearly])
    assert (done["a"].status, done["a"].output_tokens, done["a"].finish_reason) == ("truncated", 9, "length")
    assert done["a"].prompt_sha == tokens_sha(request.tokens)
    assert done["a"].prompt_tokens == len(request.tokens)
    assert done["b"].status in ("truncated", "ok")
    assert done["b"].output_tokens <= 3


def drawing_follows_the_seed(engine: Engine, chat: ChatTemplate) -> None:
    def drawn(seed: int) -> str:
        sampling = Sampling(temperature=1.0, top_p=0.95, top_k=50, min_p=0.01, max_tokens=10, seed=seed)
        return run(engine, [ask(chat, "a", "Invent a name for a ship.", sampling=sampling)])["a"].text

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(3)}) > 1


def it_says_what_it_is(engine: Engine, name: str) -> None:
    said = engine.describe()
    assert json.loads(json.dumps(asdict(said)))["name"] == name
    assert said.dtype == "float32"
    assert set(said.abilities) == {"schema", "label_logprobs"}
    assert engine.capacity >= 2 * said.batch_limit
    assert said.threads >= 1
