"""The text that a model gets, and the budget of what it may answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmbench_hf.content import answer_schema
from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.schema import Message
from helmbench_hf.records import Case
from helmbench_hf.tasks import render

letters = st.text(st.characters(codec="ascii", exclude_characters='"\\', min_codepoint=32, max_codepoint=126))


@st.composite
def fields(draw: st.DrawFn, depth: int = 2) -> tuple[dict[str, Any], st.SearchStrategy[Any]]:
    """A capped schema, and a strategy for what it allows."""
    kind = draw(st.sampled_from(["string", "enum", "integer", "boolean", "date"] + ["array", "object"] * (depth > 0)))
    if kind == "string":
        cap = draw(st.integers(0, 40))
        return {"type": "string", "maxLength": cap}, letters.map(lambda text: text[:cap])
    if kind == "enum":
        allowed = draw(st.lists(letters, min_size=1, max_size=4))
        return {"type": "string", "enum": allowed}, st.sampled_from(allowed)
    if kind == "array":
        inner, value = draw(fields(depth - 1))
        cap = draw(st.integers(0, 4))
        return {"type": "array", "maxItems": cap, "items": inner}, st.lists(value, max_size=cap)
    if kind == "object":
        named = draw(st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), fields(depth - 1), min_size=0, max_size=3))
        properties = {name: inner for name, (inner, _) in named.items()}
        return {"type": "object", "properties": properties}, st.fixed_dictionaries({n: value for n, (_, value) in named.items()})
    plain = {
        "integer": ({"type": "integer"}, st.integers(-(10**7) + 1, 10**8 - 1)),
        "boolean": ({"type": "boolean"}, st.booleans()),
        "date": ({"type": "string", "format": "date"}, st.dates().map(str)),
    }
    return plain[kind]


@given(pair=fields(), data=st.data())
@settings(max_examples=150)
def test_no_allowed_answer_is_longer_than_the_budget_knows(
    pair: tuple[dict[str, Any], st.SearchStrategy[Any]], data: st.DataObject
) -> None:
    schema, answers = pair
    text = json.dumps(data.draw(answers), separators=(",", ":"))
    characters = answer_schema.longest(schema)
    assert len(text) <= characters
    budget = answer_schema.token_budget(json.dumps(schema))
    assert budget >= 50
    assert budget % 50 == 0
    assert budget * answer_schema.CHARACTERS_PER_TOKEN >= characters
    assert (budget - 50) * answer_schema.CHARACTERS_PER_TOKEN < characters or budget == 50


@given(cap=st.integers(0, 2000), more=st.integers(0, 500))
@settings(max_examples=60)
def test_a_larger_cap_never_gives_a_smaller_budget(cap: int, more: int) -> None:
    small, large = (json.dumps({"type": "string", "maxLength": size}) for size in (cap, cap + more))
    assert answer_schema.token_budget(small) <= answer_schema.token_budget(large)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "array", "items": {"type": "boolean"}},
        {"type": "array", "maxItems": 2, "items": {"type": "string"}},
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"type": "null"},
        {},
    ],
)
def test_an_uncapped_answer_has_no_budget(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"needs|not supported"):
        answer_schema.token_budget(json.dumps(schema))


def test_the_system_text_is_condition_safety_job_memory(tiny: Benchmark, tiny_cases: list[Case]) -> None:
    case = next(case for case in tiny_cases if case.code == "P1-B1-S1-C4-U13-PT1")
    condition, scenario = tiny.conditions["C4"], tiny.scenarios[0].scenario
    parts = case.system.split("\n\n")
    assert parts[0] == condition.text
    assert parts[1] == f"{condition.safety} Use the tag CHECK_IN whenever its definition fits."
    assert parts[2] == scenario.job
    assert parts[3].startswith("Answer with one JSON object with the fields reply, rows, level, tags. Set any of these tags:\n- ")
    memory = "What the app remembers:\n- Ana, 45, lives in Utrecht. Runs a framing shop.\n- Asked for a list of frames."
    assert parts[4].startswith(memory)
    assert len(parts) == 5


def test_nobody_remembered_leaves_no_heading(tiny: Benchmark, tiny_cases: list[Case]) -> None:
    case = next(case for case in tiny_cases if case.scenario == "P1-B5-S2")
    assert tiny.file.notes_heading not in case.system
    assert case.country is None
    assert case.person is None
    assert render.notes_text(tiny, []) == ""


@pytest.mark.parametrize(
    ("user", "country", "lines"),
    [("U0", None, 0), ("U10", "NL", 1), ("U13", "NL", 4), ("U23", "BR", 4), ("U902", "BR", 1)],
)
def test_the_memory_of_a_user(user: str, country: str | None, lines: int, tiny: Benchmark) -> None:
    found, notes = tiny.user_memory(user)
    assert (found, len(notes)) == (country, lines)


def test_the_user_side_is_the_message_alone() -> None:
    letters = {"B": "second", "A": "first", "C": "c", "D": "d", "E": "e", "F": "f"}
    queue = Message(severity=0, tickets=letters, key="A")  # type: ignore[arg-type]
    assert queue.user_turns() == ("A. first\nB. second\nC. c\nD. d\nE. e\nF. f",)
    assert Message(severity=0, turns=["one", "two"]).user_turns() == ("one", "two")
    assert Message(severity=0, text="one").user_turns() == ("one",)


def objects(schema: Any) -> list[dict[str, Any]]:
    if not isinstance(schema, dict):
        return []
    inner = [*schema.get("properties", {}).values(), schema.get("items")]
    return [schema] * (schema.get("type") == "object") + [found for part in inner for found in objects(part)]


def test_every_schema_is_closed_ordered_and_in_budget(tiny_cases: list[Case]) -> None:
    first = {"hidden_tag": "reply", "open_twin": "q1", "label": "answer"}
    for case in tiny_cases:
        if case.response_schema is None:
            assert case.mode in {"judged", "multi_turn"}
            assert case.max_tokens == 640
            continue
        schema = json.loads(case.response_schema)
        assert next(iter(schema["properties"])) == first[case.mode]
        assert objects(schema)
        for part in objects(schema):
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
        assert case.max_tokens == answer_schema.token_budget(case.response_schema)
        if case.mode == "hidden_tag":
            assert list(schema["properties"]) == ["reply", "rows", "level", "tags"]
            assert schema["properties"]["tags"]["items"]["enum"] == list(case.grading.tags)
