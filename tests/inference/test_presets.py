"""Presets as files: every fault is named with its file, line and mend; what they carry holds together."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from helmbench_hf.content.load import ContentError
from helmbench_hf.inference.presets import default_folder, load_presets
from tests.content.fault import Fault, assert_named, damage
from tests.support.presets import JUDGE, MUSE, PLAIN, plant_presets
from tests.support.tree import Tree

FAULTS = [
    Fault("unquoted on", MUSE, 'default: "on"', "default: on", "default: on", "thinking.default", "`on` is ambiguous", "quotes"),
    Fault("unknown field", MUSE, "title: Muse 1.5", "title: Muse 1.5\nvendor: Acme", "vendor: Acme", "vendor",
        "extra inputs", "ModelPreset has slug, title, family"),
    Fault("misspelt unknown", MUSE, "{name: mit, source: [card]}", "unkown", "license: unkown", "license", "'unknown'",
        "write one of 'unknown'"),
    Fault("no source", MUSE, "presence_penalty: 1.5, source: [card, recipe]", "presence_penalty: 1.5", "presence_penalty",
        "sampling.plain.source", "required", "add `source`"),
    Fault("empty source", MUSE, "[card, recipe]", "[]", "presence_penalty", "sampling.plain.source", "at least 1", "at least 1"),
    Fault("source that is not there", MUSE, "[card, recipe]", "[card, blog]", "presence_penalty",
        "sampling.plain.source.1", "no source blog", "name one of card, recipe"),
    Fault("source without a date", MUSE, 'card: {title: "Model card", seen: 2026-11-22}', 'card: {title: "Model card"}',
        "card: {title", "sources.card.seen", "required", "add `seen`"),
    Fault("temperature below zero", MUSE, "temperature: 0.6", "temperature: -0.6", "thinking: {temp",
        "sampling.thinking.temperature", "greater than or equal to 0", "write 0"),
    Fault("top_p above one", MUSE, "top_p: 0.95", "top_p: 1.5", "thinking: {temp", "sampling.thinking.top_p",
        "less than or equal to 1", "write 1"),
    Fault("hub id that is a path", MUSE, "acme/muse-7b", "/models/muse", "7b: {hub", "sizes.7b.hub", "pattern", "in the form"),
    Fault("no such default", MUSE, "default: 7b", "default: 8b", "default: 8b", "default", "no size 8b", "7b, 70b, huge"),
    Fault("thinks without sampling", MUSE, "  thinking: {temperature: 0.6, top_p: 0.95, top_k: 20, min_p: 0.0, source: [card]}\n",
        "", "sampling:", "sampling", "no `thinking` sampling", "unknown"),
    Fault("other name than the file's", PLAIN, "slug: plain", "slug: plane", "slug: plane", "slug", "not called by its slug",
        "same name"),
    Fault("judge of no model", JUDGE, "model: muse-1.5", "model: mouse", "model: mouse", "model", "no model preset mouse",
        "muse-1.5, plain"),
    Fault("judge of no size", JUDGE, "size: 70b", "size: 80b", "size: 80b", "size", "muse-1.5 has no size 80b", "70b"),
    Fault("judge with a third order", JUDGE, "orders: 2", "orders: 3", "orders: 3", "orders", "1 or 2", "write one of 1 or 2"),
]  # fmt: skip


@pytest.fixture
def presets(tmp_path: Path) -> Tree:
    return plant_presets(tmp_path / "configs")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.kind)
def test_a_fault_is_named_with_file_line_and_mend(fault: Fault, presets: Tree) -> None:
    where = damage(presets, fault)
    with pytest.raises(ContentError) as caught:
        load_presets(presets.root)
    lines = str(caught.value).splitlines()
    assert len(lines) == fault.count
    assert_named(lines, where, fault.field, fault.what, fault.mend)


def test_two_faults_are_both_named(presets: Tree) -> None:
    presets.replace(MUSE, "top_p: 0.95", "top_p: 2")
    presets.replace(PLAIN, "family: plain", "family: Plain One")
    with pytest.raises(ContentError) as caught:
        load_presets(presets.root)
    assert {problem.file for problem in caught.value.problems} == {MUSE, PLAIN}


def test_a_clean_folder_is_read_with_the_hash_of_every_file(presets: Tree) -> None:
    found = load_presets(presets.root)
    assert (set(found.models), set(found.judges)) == ({"muse-1.5", "plain"}, {"strict"})
    assert found.files == {name: hashlib.sha256(presets.text(name).encode()).hexdigest() for name in (MUSE, PLAIN, JUDGE)}


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
