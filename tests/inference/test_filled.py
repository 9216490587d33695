"""What a preset fills in, and that what a person gives always wins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helmbench_hf.generate.turns import Settings
from helmbench_hf.inference.chat import ChatTemplate
from helmbench_hf.inference.engine import EngineError, EngineSpec
from helmbench_hf.inference.filled import PROMPT_ROOM, differences, fill_judge, fill_model
from helmbench_hf.inference.presets import Presets, load_presets
from tests.support.checkpoints import tiny_tokenizer
from tests.support.presets import plant_presets

CHATML = "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"


@pytest.fixture
def presets(tmp_path: Path) -> Presets:
    return load_presets(plant_presets(tmp_path).root)


def test_a_family_that_thinks_gets_its_sampling_its_budget_and_a_window_for_both(presets: Presets) -> None:
    filled = fill_model(presets, "muse-1.5", None, (), ())
    assert filled.model == "acme/muse-7b"
    assert filled.settings == {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "min_p": 0.0, "thinking_tokens": 2000}
    assert filled.engine == {"tensor_parallel_size": 1, "max_model_len": PROMPT_ROOM + 2000}
    Settings(**filled.settings)
    EngineSpec.parse(filled.model, **filled.engine)


def test_without_thinking_it_gets_the_other_sampling_and_no_budget(presets: Presets) -> None:
    filled = fill_model(presets, "muse-1.5", "off", (), ())
    assert filled.settings == {"temperature": 0.7, "top_p": 0.8, "presence_penalty": 1.5}
    assert filled.engine["max_model_len"] == PROMPT_ROOM
    Settings(**filled.settings)


def test_a_size_is_chosen_and_a_short_context_bounds_the_window(presets: Presets) -> None:
    filled = fill_model(presets, "muse-1.5@70b", None, (), ())
    assert (filled.model, filled.engine) == ("acme/muse-70b", {"tensor_parallel_size": 4, "max_model_len": 9000})


@pytest.mark.parametrize(
    ("given_engine", "given_settings", "left"),
    [
        ((), ("temperature",), {"top_p", "top_k", "min_p", "thinking_tokens", "tensor_parallel_size", "max_model_len"}),
        (("max_model_len",), ("thinking_tokens", "seed"), {"temperature", "top_p", "top_k", "min_p", "tensor_parallel_size"}),
    ],
)
def test_what_is_given_is_not_filled_and_is_named(
    presets: Presets, given_engine: tuple[str, ...], given_settings: tuple[str, ...], left: set[str]
) -> None:
    filled = fill_model(presets, "muse-1.5", None, given_engine, given_settings)
    assert {*filled.settings, *filled.engine} == left
    assert set(filled.record["given"]) == {*given_engine, *given_settings} - {"seed"}
    assert set(filled.record["filled"]) == left


def test_what_is_unknown_stays_open_and_is_said(presets: Presets) -> None:
    huge = fill_model(presets, "muse-1.5@huge", None, (), ())
    assert (huge.engine, huge.record["unknown"]) == ({}, ["context", "gpus"])
    plain = fill_model(presets, "plain", None, (), ())
    assert (plain.settings, plain.record["unknown"]) == ({}, ["sampling"])
    assert "sampling unknown" in plain.shown


def test_the_record_is_plain_json_and_names_preset_file_and_hash(presets: Presets) -> None:
    record = fill_model(presets, "muse-1.5", None, (), ()).record
    assert json.loads(json.dumps(record)) == record
    assert (record["preset"], record["file"], record["hub"]) == ("muse-1.5@7b", "models/muse-1.5.yaml", "acme/muse-7b")
    assert record["sha256"] == presets.files["models/muse-1.5.yaml"]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("muse", r"no model preset muse; there are muse-1\.5, plain"),
        ("plain@2b", "plain has no size '2b'; it has 1b"),
        ("plain@", "no size ''"),
    ],
)
def test_what_is_not_there_is_a_sentence(presets: Presets, name: str, what: str) -> None:
    with pytest.raises(EngineError, match=what):
        fill_model(presets, name, None, (), ())


def test_a_judge_gets_its_engine_and_its_own_thinking(presets: Presets) -> None:
    judge, filled = fill_judge(presets, "strict", ())
    assert (judge.mode, judge.orders, filled.family, filled.model) == ("evidence", 2, "muse", "acme/muse-70b")
    assert filled.engine == {"tensor_parallel_size": 4, "max_model_len": 9000, "thinking": "off"}
    assert filled.record["model_sha256"] == presets.files["models/muse-1.5.yaml"]
    assert "thinking" not in fill_judge(presets, "strict", ("thinking",))[1].engine
    with pytest.raises(EngineError, match="no judge preset lenient; there are strict"):
        fill_judge(presets, "lenient", ())


def test_a_template_unlike_its_preset_is_noticed(presets: Presets) -> None:
    facts = ChatTemplate(tiny_tokenizer(CHATML)).facts
    assert differences(presets.models["muse-1.5"], facts) == ["thinking_switch"]
    assert differences(presets.models["plain"], facts) == []
    assert "system_role" in differences(
        presets.models["muse-1.5"], ChatTemplate(tiny_tokenizer("{{ messages[-1].content }}")).facts
    )
