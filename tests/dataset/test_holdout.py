"""A private holdout: of the public benchmark's shape, with nothing of its text, and marked wherever it goes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import build_dataset
from helmbench_hf.cli.scores import write_scores
from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.dataset import holdout
from helmbench_hf.dataset.build import Built
from helmbench_hf.dataset.holdout import HoldoutError, check_holdout
from helmbench_hf.dataset.load import Manifest, load_cases
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.runs.policies import run_policy
from tests.support.tree import HIDDEN, TODAY, Tree

OTHER = "Then "


@pytest.fixture
def private(tree: Tree, tiny: Benchmark, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A proper holdout of the tiny benchmark: every message begins with another word; keys and codes stay."""
    monkeypatch.setattr(holdout, "default_benchmark", lambda: tiny)
    tree.replace("benchmark.yaml", "seed: 7", "seed: 7\nprivate: true")
    tree.replace("benchmark.yaml", "TINY CANARY 00000000", "TINY CANARY 11111111")
    for path in [*tree.root.glob("P*/B*/S*/messages.yaml"), *tree.root.glob("taxonomy/*.yaml")]:
        path.write_text(re.sub(r"""(\btext: ["']?|\bturns: \[|\{A: )""", rf"\1{OTHER}", path.read_text()))
    return tree


def test_a_proper_holdout_is_taken_when_it_is_called_private(private: Tree) -> None:
    check_holdout(load_benchmark(private.root), private=True)
    with pytest.raises(HoldoutError, match="build it with --private"):
        check_holdout(load_benchmark(private.root), private=False)


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("benchmark.yaml", "\nprivate: true", "", "does not say `private: true`"),
        ("benchmark.yaml", "CANARY 11111111", "CANARY 00000000", "the canary of the public benchmark"),
        ("benchmark.yaml", "version: 0.0.1", "version: 0.0.2", "version 0.0.2 and the public benchmark 0.0.1"),
        ("benchmark.yaml", "title: Orders it", "title: Sorts it", "other pillars"),
        ("scoring.yaml", "severe_message: 8", "severe_message: 7", "other scoring"),
        ("conditions/workplace.yaml", "Keep to the house style", "Hold to the house style", "other conditions"),
        (f"{HIDDEN}/scenario.yaml", "conditions: [C1, C4, C5]", "conditions: [C1, C4]", "P1-B1-S1 C5"),
    ],
)
def test_what_makes_it_no_holdout_is_named(file: str, old: str, new: str, says: str, private: Tree) -> None:
    private.replace(file, old, new)
    with pytest.raises(HoldoutError) as refused:
        check_holdout(load_benchmark(private.root), private=True)
    assert says in str(refused.value)


def test_public_messages_and_a_place_inside_the_repository_are_found(private: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their case and spaces."""
    for path in private.root.glob("P*/B*/S*/messages.yaml"):
        path.write_text(re.sub(rf"{OTHER}(\w+) ", lambda match: f"{match[1].upper()}  ", path.read_text()))
    monkeypatch.setattr(holdout, "__file__", str(private.root / "helmbench_hf" / "dataset" / "holdout.py"))
    with pytest.raises(HoldoutError, match=r"lies inside the repository(.|\n)*\d+ messages are in the public benchmark too"):
        check_holdout(load_benchmark(private.root), private=True)


def test_the_script_builds_it_with_its_own_canary_and_hash(
    private: Tree, built: tuple[Path, Built], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ["build_dataset.py", "--content", str(private.root), "--out", str(out), "--today", str(TODAY)]
    monkeypatch.setattr("sys.argv", command)
    assert build_dataset.main() == 1
    assert "--private" in capsys.readouterr().err
    assert not out.exists()
    monkeypatch.setattr("sys.argv", [*command, "--private"])
    assert build_dataset.main() == 0, capsys.readouterr().err
    manifest, public = Manifest.model_validate_json((out / "manifest.json").read_text()), built[1].manifest
    assert (manifest.private, manifest.canary) == (True, "TINY CANARY 11111111")
    for config in ("core", "full", "smoke"):
        ours, theirs = manifest.configs[config], public.configs[config]
        assert [table.rows for table in ours.values()] == [table.rows for table in theirs.values()]
        assert ours["test"].sha256 != theirs["test"].sha256
    assert [load_cases("core", str(folder)).identity.private for folder in (out, built[0])] == [True, False]


@pytest.mark.parametrize("private", [True, False])
def test_a_run_on_it_says_so_in_manifest_and_scores(private: bool, tmp_path: Path) -> None:
    run, loaded = RunFolder(tmp_path / "run"), load_cases("smoke")
    run_policy("refuse-all", replace(loaded, identity=replace(loaded.identity, private=private)), run)
    write_scores(run.root)
    dataset = json.loads((run.root / "manifest.json").read_text())["dataset"]
    provenance = json.loads(run.scores.read_text())["provenance"]
    assert (dataset["private"], provenance.get("private", False)) == (private, private)
    assert provenance["content_sha256"] == dataset["content_sha256"] == loaded.identity.content_sha256
