"""Building: the same twice, readable by `datasets`, and never over something that is not ours."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
import yaml

import build_dataset
from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.dataset.build import Built, build, tabulate
from helmbench_hf.dataset.rows import CASE_CONFIGS, COMPONENT_CONFIGS, SPLIT_CONFIGS, content_sha256
from tests.support.tree import HIDDEN, TODAY, Tree, plant

CONFIGS = {*CASE_CONFIGS, *COMPONENT_CONFIGS} - {"calibration"}  # the tiny tree has none; test_calibration.py reads the real one
INT, FLOAT, BOOL, STRING, LIST = "int32", "float64", "bool", "string", ["string"]
CASE_FEATURES = {
    "code": STRING, "pillar": STRING, "behavior": STRING, "scenario": STRING, "scenario_slug": STRING, "mode": STRING,
    "condition": STRING, "condition_slug": STRING, "persona": STRING, "safety_level": STRING, "user": STRING, "person": STRING,
    "notes_level": INT, "country": STRING, "perturbation": STRING, "meaning": STRING, "member": STRING, "pair": STRING,
    "twin": STRING, "twin_open": STRING, "twin_fluent": STRING, "message_severity": INT, "severity": INT, "weight": FLOAT,
    "gold": STRING, "signal": STRING, "cue": STRING, "register": STRING, "crisis_category": STRING, "extra_category": STRING,
    "control_present": BOOL, "trust_dimensions": LIST, "tier": STRING, "split": STRING, "contains_method_query": BOOL,
    "system": STRING, "turns": LIST, "response_schema": STRING, "max_tokens": INT, "grading": STRING, "license": STRING,
    "canary": STRING, "version": STRING,
}  # fmt: skip


def hashes(built: Built) -> dict[str, Any]:
    configs = built.manifest["configs"]
    return {config: {split: entry["sha256"] for split, entry in splits.items()} for config, splits in configs.items()}


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_two_builds_are_the_same(built: tuple[Path, Built], tmp_path: Path) -> None:
    """The second from another folder, read anew."""
    again = build(load_benchmark(plant(tmp_path / "authored").root), tmp_path / "out")
    assert again.manifest == built[1].manifest
    assert again.rows == built[1].rows
    assert files(tmp_path / "out") == files(built[0])


def test_the_hashes_are_those_of_a_process_of_its_own(built: tuple[Path, Built], tree: Tree, tmp_path: Path) -> None:
    """Another hash seed, another working folder, the script itself; what it prints is what it wrote."""
    script = Path(__file__).parents[2] / "build_dataset.py"
    command = [sys.executable, str(script), "--content", str(tree.root), "--out", "made/here", "--today", str(TODAY)]
    elsewhere = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    done = subprocess.run(command, cwd=tmp_path, env=elsewhere, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = {(line.split()[0], line.split()[1]): line.split()[-1] for line in done.stdout.splitlines()[:-1]}
    assert printed == {(config, split): value for config, found in hashes(built[1]).items() for split, value in found.items()}
    assert files(tmp_path / "made" / "here") == files(built[0])
    assert done.stdout.splitlines()[-1] == "written to made/here"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (f"{HIDDEN}/messages.yaml", "from Sunday, there is no next season", "from Monday, there is no next season"),
        ("people/ana.yaml", "Has a delivery on Fridays.]\n  3:", "Has a delivery on Mondays.]\n  3:"),
        ("conditions/neutral.yaml", "or just a chat", "or only a chat"),
        ("benchmark.yaml", "seed: 7", "seed: 8"),
        ("benchmark.yaml", "version: 0.0.1", "version: 0.0.2"),
    ],
)  # fmt: skip
def test_any_change_of_content_changes_the_hash(file: str, old: str, new: str, tree: Tree, built: tuple[Path, Built]) -> None:
    tree.replace(file, old, new)
    changed = tabulate(load_benchmark(tree.root))
    rows = [row for split in changed["full"].values() for row in split]
    assert content_sha256(rows) != content_sha256([row for split in built[1].rows["full"].values() for row in split])


def test_the_manifest_says_what_is_on_disk(built: tuple[Path, Built], tiny: Benchmark) -> None:
    folder, made = built
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest == made.manifest
    assert (manifest["name"], manifest["version"], manifest["canary"]) == (tiny.file.name, tiny.file.version, tiny.file.canary)
    assert set(manifest["configs"]) == CONFIGS
    named = set()
    for config, splits in manifest["configs"].items():
        assert set(splits) == ({"test", "heldout"} if config in SPLIT_CONFIGS else {"test"})
        for split, entry in splits.items():
            table = parquet.read_table(folder / entry["file"])
            rows = table.to_pylist()
            assert (len(rows), content_sha256(rows)) == (entry["rows"], entry["sha256"])
            found = {field.name: str(field.type).replace("element:", "item:") for field in table.schema}
            assert found == manifest["columns"][config]
            assert all(row["canary"] == tiny.file.canary for row in rows)
            assert config not in SPLIT_CONFIGS or {row["split"] for row in rows} == {split}
            named.add(entry["file"])
    others = {"manifest.json", "README.md", "CHANGELOG.md", "LICENSE", "croissant.json"}
    assert set(files(folder)) == named | others


def plain(feature: Any) -> Any:
    inner = getattr(feature, "feature", None)
    return [plain(inner)] if inner is not None else feature.dtype


@pytest.mark.parametrize("config", sorted(CONFIGS))
def test_every_config_loads_with_datasets(
    config: str, built: tuple[Path, Built], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    folder, made = built
    loaded = datasets.load_dataset(str(folder), config, cache_dir=str(tmp_path))
    sizes = {split: len(rows) for split, rows in made.rows[config].items()}
    assert {split: len(table) for split, table in loaded.items()} == sizes
    for split, table in loaded.items():
        assert content_sha256(table.to_list()) == made.manifest["configs"][config][split]["sha256"]
        found = {name: plain(feature) for name, feature in table.features.items()}
        kinds = {"double": "float64", "list<item: string>": LIST}
        assert found == {name: kinds.get(kind, kind) for name, kind in made.manifest["columns"][config].items()}
        if config in CASE_CONFIGS:
            assert found == CASE_FEATURES


def test_the_default_config_is_core(built: tuple[Path, Built], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    loaded = datasets.load_dataset(str(built[0]), cache_dir=str(tmp_path), split="heldout")
    assert loaded["code"][:] == [row["code"] for row in built[1].rows["core"]["heldout"]]


def test_the_front_matter_of_the_card(built: tuple[Path, Built]) -> None:
    folder, made = built
    text = (folder / "README.md").read_text()
    _, front, body = text.split("---\n", 2)
    card = yaml.safe_load(front)
    assert card["license"] == "cc-by-4.0"
    assert [entry["config_name"] for entry in card["configs"] if entry.get("default")] == ["core"]
    assert {entry["config_name"] for entry in card["configs"]} == CONFIGS
    for entry in card["configs"]:
        listed = {item["split"]: item["path"] for item in entry["data_files"]}
        assert listed == {split: part["file"] for split, part in made.manifest["configs"][entry["config_name"]].items()}
        assert entry["version"] == "0.0.1"
    assert card["size_categories"] == ["n<1K"]
    assert made.manifest["canary"] in body
    assert "unreviewed" in body
    assert "not clinically validated" in body
    assert "{{" not in text
    assert "{%" not in text


def test_the_tables_of_the_card_are_counted_from_the_rows(built: tuple[Path, Built], tiny: Benchmark) -> None:
    folder, made = built
    body = (folder / "README.md").read_text()
    found = re.findall(r"^\| (P\d-B\d-S\d) \| .*? \| (\d+) \| (\d+) \|$", body, re.M)
    assert [code for code, _, _ in found] == [loaded.scenario.code for loaded in tiny.scenarios]
    for index, config in ((1, "core"), (2, "full")):
        assert sum(int(row[index]) for row in found) == sum(len(rows) for rows in made.rows[config].values())
    for config, splits in made.manifest["configs"].items():
        for split, entry in splits.items():
            assert f"| `{config}` | {split} | {entry['rows']} | `{entry['sha256'][:16]}` |" in body
    registers = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \|$", body, re.M)
    assert registers == [("fluent", "11", "9", "2"), ("second_language", "1", "1", "0")]


def test_a_second_build_replaces_the_first_whole(tiny: Benchmark, tmp_path: Path) -> None:
    out = tmp_path / "out"
    build(tiny, out)
    (out / "data" / "core" / "old.parquet").write_bytes(b"old")
    build(tiny, out)
    assert not (out / "data" / "core" / "old.parquet").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["thesis.txt", "manifest.json"])
def test_a_folder_that_is_not_ours_is_left_alone(name: str, tiny: Benchmark, tmp_path: Path) -> None:
    """A web app has a manifest.json too."""
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text('{"name": "My app", "icons": []}')
    (out / "other.txt").write_text("kept")
    with pytest.raises(FileExistsError, match="choose another --out"):
        build(tiny, out)
    assert {path.name for path in out.iterdir()} == {name, "other.txt"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_file_in_place_of_the_folder_is_left_alone(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("kept")
    given = ["--content", str(tree.root), "--out", str(tmp_path / "out"), "--today", str(TODAY)]
    monkeypatch.setattr("sys.argv", ["build_dataset.py", *given])
    assert build_dataset.main() == 1
    assert "choose another --out" in capsys.readouterr().err
    assert (tmp_path / "out").read_text() == "kept"


def test_an_empty_folder_is_taken(tiny: Benchmark, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    build(tiny, tmp_path / "out")
    assert (tmp_path / "out" / "README.md").is_file()


def test_a_build_that_fails_leaves_the_last_one(tiny: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    build(tiny, out)
    before = files(out)

    def broken(*_: Any, **__: Any) -> str:
        raise RuntimeError("no card")

    monkeypatch.setattr("helmbench_hf.dataset.card.card_text", broken)
    with pytest.raises(RuntimeError, match="no card"):
        build(tiny, out)
    assert files(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
