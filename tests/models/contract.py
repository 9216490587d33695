"""What every engine with a model must do; run on each of them by its own test module."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from helmbench_hf.hashing import tokens_sha
from helmbench_hf.models.chat import Chat
from helmbench_hf.models.drive import drive
from helmbench_hf.models.engine import Ability, Engine, Message, Request, Sampling
from helmbench_hf.records import Completion

# random weights write control characters into text that is free
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "reply": {"type": "string", "pattern": "^[a-z ]{0,20}$"},
            "tags": {"type": "array", "items": {"enum": ["late", "lost", "loud"]}, "minItems": 1, "maxItems": 3},
            "count": {"type": "integer", "minimum": 0, "maximum": 99},
        },
        "required": ["reply", "tags", "count"],
        "additionalProperties": False,
    }
)


def ask(chat: Chat, name: str, text: str, prefill: str | None = None, **changes: Any) -> Request:
    messages = (Message("system", "You help in a library."), Message("user", text))
    request = Request(name, name, messages, chat.render(messages, prefill), Sampling(max_tokens=160), prefill=prefill)
    return replace(request, **changes)


def run(engine: Engine, requests: Sequence[Request]) -> dict[str, Completion]:
    saved: dict[str, Completion] = {}
    drive(engine, requests, lambda request, completion: None, lambda each: saved.update({each.key: each}))
    assert set(saved) == {request.key for request in requests}
    return saved


def every_engine(engine: Engine, chat: Chat) -> None:
    constrained_answers_parse(engine, chat)
    answers_are_capped(engine, chat)
    drawing_follows_the_seed(engine, chat)
    faults = bad_messages(engine, chat) if chat.facts.by_server else bad_tokens(engine, chat)
    bad_prompts_are_typed_rows_among_good_ones(engine, chat, faults)


def every_engine_with_tokens(engine: Engine, chat: Chat) -> None:
    """For engines that get the rendered prompt."""
    labels_have_an_honest_mass(engine, chat)
    prompts_are_counted_and_may_nearly_fill_the_window(engine, chat)
    presence_is_penalized(engine, chat)


def constrained_answers_parse(engine: Engine, chat: Chat) -> None:
    requests = [ask(chat, str(number), f"Card {number} is lost.", schema=SCHEMA) for number in range(4)]
    for each in run(engine, requests).values():
        assert each.status == "ok"
        answer = json.loads(each.text)
        assert list(answer) == ["reply", "tags", "count"]
        assert set(answer["tags"]) <= {"late", "lost", "loud"}
        assert json.dumps(answer, separators=(",", ":"), ensure_ascii=False) == each.text


def labels_have_an_honest_mass(engine: Engine, chat: Chat) -> None:
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


Bad = dict[str, tuple[Request, str]]
"""By name: a request that cannot be run, and what must stand in the reason."""


def bad_tokens(engine: Engine, chat: Chat) -> Bad:
    """For engines that get the rendered prompt."""
    window = engine.describe().max_model_len
    return {
        "long": (ask(chat, "long", "x", tokens=(20,) * window), str(window)),
        "empty": (ask(chat, "empty", "x", tokens=()), "empty"),
        "no such token": (ask(chat, "no such token", "x", tokens=(10**7, 5)), ""),
        "words": (ask(chat, "words", "x", "Verdict:", labels=("PASS", "FAIL")), "one token"),
    }


def bad_messages(engine: Engine, chat: Chat) -> Bad:
    """For engines whose server renders the prompt."""
    window = engine.describe().max_model_len
    found = {"long": (ask(chat, "long", "a word " * window), str(window))}
    if "label_logprobs" in engine.describe().abilities:
        return {**found, "words": (ask(chat, "words", "x", "Verdict:", labels=("PASS", "FAIL")), "one token")}
    begun = replace(ask(chat, "begun", "x"), prefill="Verdict:")
    return {**found, "begun": (begun, "evidence"), "labels": (ask(chat, "labels", "x", labels=("A", "B")), "evidence")}


def bad_prompts_are_typed_rows_among_good_ones(engine: Engine, chat: Chat, faults: Bad) -> None:
    short = Sampling(max_tokens=4)
    requests = [ask(chat, f"good {number}", f"Say the number {number}.", sampling=short) for number in range(12)]
    bad = {
        **faults,
        "broken": (ask(chat, "broken", "x", tokens=(), refusal="The chat template breaks."), "breaks"),
        "no schema": (ask(chat, "no schema", "x", schema="not json"), ""),
    }
    for place, (request, _) in enumerate(bad.values()):
        requests.insert(2 * place + 1, request)
    done = run(engine, requests)
    assert Counter(each.status for each in done.values()) == {"refused": len(bad), "truncated": 12}
    for name, (_, reason) in bad.items():
        assert done[name].error
        assert reason in done[name].error


def answers_are_capped(engine: Engine, chat: Chat) -> None:
    request = ask(chat, "a", "Tell me a long story.", sampling=Sampling(max_tokens=9))
    done = run(engine, [request])["a"]
    assert (done.status, done.output_tokens, done.finish_reason) == ("truncated", 9, "length")
    assert done.prompt_tokens > 9


def prompts_are_counted_and_may_nearly_fill_the_window(engine: Engine, chat: Chat) -> None:
    request = ask(chat, "a", "Tell me a long story.", sampling=Sampling(max_tokens=9))
    nearly = ask(chat, "b", "x", tokens=request.tokens[:1] * (engine.describe().max_model_len - 3))
    done = run(engine, [request, nearly])
    assert done["a"].prompt_sha == tokens_sha(request.tokens)
    assert done["a"].prompt_tokens == len(request.tokens)
    assert done["b"].status in ("truncated", "ok")
    assert done["b"].output_tokens <= 3


def drawing_follows_the_seed(engine: Engine, chat: Chat) -> None:
    def drawn(seed: int) -> str:
        sampling = Sampling(temperature=1.0, top_p=0.95, top_k=50, min_p=0.01, max_tokens=10, seed=seed)
        return run(engine, [ask(chat, "a", "Invent a name for a ship.", sampling=sampling)])["a"].text

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(3)}) > 1


def presence_is_penalized(engine: Engine, chat: Chat) -> None:
    def answer(penalty: float) -> str:
        sampling = Sampling(max_tokens=24, presence_penalty=penalty)
        return run(engine, [ask(chat, "a", "Say the word card again and again.", sampling=sampling)])["a"].text

    assert answer(0.0) == answer(0.0) != answer(2.0)


def it_says_what_it_is(engine: Engine, name: str, dtype: str, abilities: set[Ability]) -> None:
    said = engine.describe()
    assert json.loads(json.dumps(asdict(said)))["name"] == name
    assert said.dtype == dtype
    assert set(said.abilities) == abilities
    assert engine.capacity >= 2 * said.batch_limit
