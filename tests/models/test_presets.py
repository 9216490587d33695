"""Presets: every fault is named with its file and line; what a preset supplies, and that what a person gives always wins."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.content.load import ContentError
from helmbench_hf.models.engine import EngineError, EngineSpec
from helmbench_hf.models.presets import PROMPT_ROOM, Presets, default_folder, fill_judge, fill_model, load_presets
from helmbench_hf.runs.turns import Settings
from tests.support.presets import JUDGE, MUSE, PLAIN, plant_presets
from tests.support.tree import Tree

EACH = "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
# file, what is written, what stands there instead, the field, what the error says
FAULTS = [
    (MUSE, 'default: "on"', "default: on", "thinking.default", "`on` is ambiguous"),
    (MUSE, "{name: mit, source: [card]}", "unkown", "license", "'unknown'"),
    (MUSE, ", source: [card, recipe]", "", "sampling.plain.source", "field required"),
    (MUSE, "[card, recipe]", "[card, blog]", "", "no source blog; name one of card, recipe"),
    (MUSE, "top_p: 0.95", "top_p: 1.5", "sampling.thinking.top_p", "less than or equal to 1"),
    (MUSE, "acme/muse-7b", "/models/muse", "sizes.7b.hub", "pattern"),
    (MUSE, "default: 7b", "default: 8b", "", "no size 8b; default must be one of 7b, 70b, huge"),
    (
        MUSE,
        "  thinking: {temperature: 0.6, top_p: 0.95, top_k: 20, min_p: 0.0, source: [card]}\n",
        "",
        "",
        "no `thinking` sampling",
    ),
    (PLAIN, "slug: plain", "slug: plane", "slug", "the file is called plain"),
    (JUDGE, "size: 70b", "size: 80b", "model", "no model preset muse-1.5@80b"),
]


@pytest.fixture
def planted(tmp_path: Path) -> Tree:
    return plant_presets(tmp_path / "configs")


@pytest.fixture
def presets(planted: Tree) -> Presets:
    return load_presets(planted.root)


@pytest.mark.parametrize(("file", "good", "bad", "field", "said"), FAULTS)
def test_a_fault_is_named_with_file_line_and_field(file: str, good: str, bad: str, field: str, said: str, planted: Tree) -> None:
    line = planted.text(file)[: planted.text(file).index(good)].count("\n") + 1
    planted.replace(file, good, bad)
    with pytest.raises(ContentError) as caught:
        load_presets(planted.root)
    [problem] = caught.value.problems
    assert (problem.file, problem.field) == (file, field)
    assert said in problem.what
    assert abs(problem.line - (line if field else 1)) <= 1


def test_a_clean_folder_is_read_with_the_hash_of_every_file(planted: Tree, presets: Presets) -> None:
    assert (set(presets.models), set(presets.judges)) == ({"muse-1.5", "plain"}, {"strict"})
    assert presets.files == {name: hashlib.sha256(planted.text(name).encode()).hexdigest() for name in (MUSE, PLAIN, JUDGE)}


def test_the_presets_of_this_copy_are_clean_and_many_enough() -> None:
    found = load_presets()
    assert len({preset.family for preset in found.models.values()}) >= 8
    judged = {found.models[judge.model].family for judge in found.judges.values()}
    assert len(judged) >= 3, "a veto needs judges of two families"
    assert {f"{default_folder() / name}" for name in found.files} == {
        str(path) for folder in ("models", "judges") for path in (default_folder() / folder).glob("*")
    }


def test_every_source_is_used_and_says_where_and_when() -> None:
    for slug, preset in load_presets().models.items():
        text = (default_folder() / "models" / f"{slug}.yaml").read_text(encoding="utf-8").partition("\nsources:")[0]
        unused = [name for name in preset.sources if name not in text]
        assert not unused, f"{slug}: nobody refers to {unused}"


THINKING = {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "min_p": 0.0, "thinking_tokens": 2000}
PLAIN_DRAW = {"temperature": 0.7, "top_p": 0.8, "presence_penalty": 1.5}


@pytest.mark.parametrize(
    ("name", "thinking", "model", "settings", "gpus", "window"),
    [
        ("muse-1.5", None, "acme/muse-7b", THINKING, 1, PROMPT_ROOM + 2000),
        ("muse-1.5", "off", "acme/muse-7b", PLAIN_DRAW, 1, PROMPT_ROOM),
        ("muse-1.5@70b", None, "acme/muse-70b", THINKING, 4, 9000),
    ],
)
def test_a_family_gets_its_sampling_its_budget_and_a_window_for_both(
    presets: Presets, name: str, thinking: Any, model: str, settings: dict[str, Any], gpus: int, window: int
) -> None:
    filled = fill_model(presets, name, thinking, (), ())
    assert (filled.model, filled.settings) == (model, settings)
    assert filled.engine == {"tensor_parallel_size": gpus, "max_model_len": window}
    Settings(**filled.settings)
    EngineSpec.parse(filled.model, **filled.engine)
    record = filled.record
    assert json.loads(json.dumps(record)) == record
    assert (record["preset"].partition("@")[0], record["file"], record["hub"]) == ("muse-1.5", MUSE, model)
    assert record["sha256"] == presets.files[MUSE]


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


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("muse", r"no model preset muse; choose from muse-1\.5, plain"),
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
    with pytest.raises(EngineError, match="no judge preset lenient; choose from strict"):
        fill_judge(presets, "lenient", ())
