"""A private holdout: of the public benchmark's shape, with nothing of its text, and marked wherever it goes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import build_dataset
from helmbench_hf.cli.scores import write_scores
from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.dataset import holdout
from helmbench_hf.dataset.build import Built
from helmbench_hf.dataset.holdout import HoldoutError, check_holdout
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.generate.policies import run_policy
from helmbench_hf.run_folder import RunFolder
from tests.support.tree import HIDDEN, TODAY, Tree

OTHER = "Then "


@pytest.fixture
def private(tree: Tree, tiny: Benchmark, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A proper holdout of the tiny benchmark: every message in other words."""
    monkeypatch.setattr(holdout, "default_benchmark", lambda: tiny)
    tree.replace("benchmark.yaml", "seed: 7", "seed: 7\nprivate: true")
    tree.replace("benchmark.yaml", "TINY CANARY 00000000", "TINY CANARY 11111111")
    for path in [*tree.root.glob("P*/B*/S*/messages.yaml"), *tree.root.glob("taxonomy/*.yaml")]:
        path.write_text(reworded(path.read_text()))
    return tree


def reworded(text: str) -> str:
    """Every message begins with another word; keys and codes stay."""
    return re.sub(r"""(\btext: ["']?|\bturns: \[|\{A: )""", rf"\1{OTHER}", text)


def test_a_proper_holdout_is_taken(private: Tree) -> None:
    check_holdout(load_benchmark(private.root), private=True)


def test_private_content_is_not_built_as_public(private: Tree) -> None:
    with pytest.raises(HoldoutError, match="build it with --private"):
        check_holdout(load_benchmark(private.root), private=False)


@pytest.mark.parametrize(
    ("file", "before"), [("conditions/workplace.yaml", "slug: workplace"), ("criteria/k01.yaml", "slug: notices")]
)
def test_a_review_of_one_copy_alone_makes_no_other_benchmark(file: str, before: str, private: Tree) -> None:
    private.replace(file, before, f"{before}\nreview: reviewed by Ada Example (clinician), 2026-01-02")
    check_holdout(load_benchmark(private.root), private=True)


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("benchmark.yaml", "\nprivate: true", "", "does not say `private: true`"),
        ("benchmark.yaml", "CANARY 11111111", "CANARY 00000000", "the canary of the public benchmark"),
        ("benchmark.yaml", "version: 0.0.1", "version: 0.0.2", "version 0.0.2 and the public benchmark 0.0.1"),
        ("benchmark.yaml", "title: Orders it, weight: 20", "title: Orders it, weight: 21", "other pillars"),
        ("scoring.yaml", "severe_message: 8", "severe_message: 7", "other scoring"),
        ("conditions/workplace.yaml", "keep to", "hold to", None),
        ("conditions/workplace.yaml", "Keep to the house style", "Hold to the house style", "other conditions"),
        (f"{HIDDEN}/scenario.yaml", "conditions: [C1, C4, C5]", "conditions: [C1, C4]", "P1-B1-S1 C5"),
    ],
)
def test_what_makes_it_no_holdout_is_named(file: str, old: str, new: str, says: str | None, private: Tree) -> None:
    if says is None:
        assert old not in private.text(file)
        return
    private.replace(file, old, new)
    with pytest.raises(HoldoutError) as refused:
        check_holdout(load_benchmark(private.root), private=True)
    assert says in str(refused.value)


def test_a_public_message_is_found_whatever_its_case_and_spaces(tiny: Benchmark, private: Tree, tree: Tree) -> None:
    for path in tree.root.glob("P*/B*/S*/messages.yaml"):
        path.write_text(path.read_text().replace(OTHER, ""))
    with pytest.raises(HoldoutError, match=r"\d+ messages stand in the public benchmark too"):
        check_holdout(load_benchmark(tree.root), private=True)


def test_a_holdout_inside_the_repository_is_refused(private: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holdout, "__file__", str(private.root / "helmbench_hf" / "dataset" / "holdout.py"))
    with pytest.raises(HoldoutError, match="lies inside the repository"):
        check_holdout(load_benchmark(private.root), private=True)


def test_the_script_builds_it_with_its_own_canary_and_hash(
    private: Tree, built: tuple[Path, Built], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["build_dataset.py", "--content", str(private.root), "--out", str(tmp_path / "out"), "--today", str(TODAY)]
    monkeypatch.setattr("sys.argv", command)
    assert build_dataset.main() == 1
    assert "--private" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr("sys.argv", [*command, "--private"])
    assert build_dataset.main() == 0, capsys.readouterr().err
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    public = built[1].manifest
    assert manifest["private"] is True
    assert manifest["canary"] == "TINY CANARY 11111111"
    for config in ("core", "full", "smoke"):
        assert sum(e["rows"] for e in manifest["configs"][config].values()) == sum(
            e["rows"] for e in public["configs"][config].values()
        )
        assert manifest["configs"][config]["test"]["sha256"] != public["configs"][config]["test"]["sha256"]
    ours, theirs = (load_cases("core", str(folder)).identity for folder in (tmp_path / "out", built[0]))
    assert (ours.private, theirs.private) == (True, False)
    assert ours.content_sha256 != theirs.content_sha256


def test_a_run_on_it_says_so_in_manifest_and_scores(real_built: tuple[Path, Built], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(real_built[0], tmp_path / "holdout"))
    path = folder / "manifest.json"
    for private in (True, False):
        path.write_text(json.dumps({**json.loads(path.read_text()), "private": private}))
        run = RunFolder(tmp_path / f"run-{private}")
        loaded = load_cases("smoke", str(folder))
        run_policy("refuse-all", loaded, run)
        write_scores(run.root)
        dataset, provenance = run.manifest()["dataset"], json.loads(run.scores.read_text())["provenance"]
        assert dataset["private"] is private
        assert provenance.get("private", False) is private
        assert provenance["content_sha256"] == dataset["content_sha256"] == loaded.identity.content_sha256
