"""Building: the same twice, from a clean commit, readable by `datasets` and mlcroissant, never over something else."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import mlcroissant
import pyarrow.parquet as parquet
import pytest
import yaml
from datasets.info import DatasetInfosDict
from huggingface_hub import DatasetCard

import build_dataset
from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.dataset.build import Built, SourceError, build, build_inputs, check_reload, clean_commit, tabulate
from helmbench_hf.dataset.rows import CASE_CONFIGS, COMPONENT_CONFIGS, SPLIT_CONFIGS, content_sha256
from helmbench_hf.records import Case
from tests.support.tree import HIDDEN, TODAY, Tree

TYPES = {"int": "int32", "float": "double", "bool": "bool", "tuple[str, ...]": "list<item: string>"}
CASE_COLUMNS = {field.name: TYPES.get(str(field.type).removesuffix(" | None"), "string") for field in dataclasses.fields(Case)}
CASE_COLUMNS |= {"license": "string", "canary": "string", "version": "string"}


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def front(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)[1])
    return found


def test_a_process_of_its_own_builds_the_same_files(built: tuple[Path, Built], tree: Tree, tmp_path: Path) -> None:
    """Other hash seed, time zone and working folder; what the script prints is what it wrote."""
    script = Path(__file__).parents[2] / "build_dataset.py"
    command = [sys.executable, str(script), "--content", str(tree.root), "--out", "made/here", "--today", str(TODAY)]
    elsewhere = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    done = subprocess.run(command, cwd=tmp_path, env=elsewhere, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *printed, last = done.stdout.splitlines()
    assert [line.split()[::4] for line in printed] == [[config, table.sha256] for config, _, table in built[1].manifest.tables]
    assert last == "written to made/here"
    assert files(tmp_path / "made" / "here") == files(built[0])


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (f"{HIDDEN}/messages.yaml", "from Sunday, there is no next season", "from Monday, there is no next season"),
        ("people/ana.yaml", "Has a delivery on Fridays.]\n  3:", "Has a delivery on Mondays.]\n  3:"),
        ("benchmark.yaml", "seed: 7", "seed: 8"),
    ],
)
def test_any_change_of_content_changes_the_hash(file: str, old: str, new: str, tree: Tree, built: tuple[Path, Built]) -> None:
    tree.replace(file, old, new)
    changed, before = (rows["full"] for rows in (tabulate(load_benchmark(tree.root)), built[1].rows))
    assert [content_sha256(rows) for rows in changed.values()] != [content_sha256(rows) for rows in before.values()]


def test_the_manifest_says_what_is_on_disk(built: tuple[Path, Built], tiny: Benchmark) -> None:
    folder, made = built
    manifest = made.manifest
    assert json.loads((folder / "manifest.json").read_text()) == manifest.model_dump(exclude_defaults=True)
    assert (manifest.name, manifest.version, manifest.canary) == (tiny.file.name, tiny.file.version, tiny.file.canary)
    assert set(manifest.configs) == {*CASE_CONFIGS, *COMPONENT_CONFIGS} - {"calibration", "long"}  # the tiny tree has neither
    for config, split, table in manifest.tables:
        found = parquet.read_table(folder / table.file)
        rows = found.to_pylist()
        assert (len(rows), content_sha256(rows)) == (table.rows, table.sha256)
        assert {field.name: str(field.type).replace("element:", "item:") for field in found.schema} == manifest.columns[config]
        assert {row["canary"] for row in rows} == {tiny.file.canary}
        assert {row["split"] for row in rows} == {split} if config in SPLIT_CONFIGS else split == "test"
        assert manifest.columns[config] == CASE_COLUMNS or config not in CASE_CONFIGS
    others = {"manifest.json", "README.md", "CHANGELOG.md", "LICENSE", "croissant.json"}
    assert set(files(folder)) == {table.file for _, _, table in manifest.tables} | others


def test_every_config_loads_with_datasets_and_core_is_the_default(
    built: tuple[Path, Built], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    folder, made = built
    check_reload(folder, made.manifest)
    default = datasets.load_dataset(str(folder), cache_dir=str(tmp_path), split="heldout")
    assert default["code"][:] == [row["code"] for row in made.rows["core"]["heldout"]]


def test_the_metadata_of_the_card_is_what_was_built(built: tuple[Path, Built]) -> None:
    folder, made = built
    card = front(folder)
    assert DatasetCard.load(folder / "README.md").data.to_dict() == card
    assert (card["license"], card["size_categories"]) == ("cc-by-4.0", ["n<1K"])
    listed = {each["config_name"]: {item["split"]: item["path"] for item in each["data_files"]} for each in card["configs"]}
    assert listed == {name: {s: table.file for s, table in splits.items()} for name, splits in made.manifest.configs.items()}
    assert {each["version"] for each in card["configs"]} == {"0.0.1"}
    infos = DatasetInfosDict.from_directory(str(folder))
    for config, splits in made.manifest.configs.items():
        info = infos[config]
        assert {name: split.num_examples for name, split in info.splits.items()} == {k: table.rows for k, table in splits.items()}
        assert info.download_size == sum((folder / table.file).stat().st_size for table in splits.values())
        assert info.features == datasets.Features.from_arrow_schema(parquet.read_schema(folder / splits["test"].file))


def test_the_tables_of_the_card_are_counted_from_the_rows(built: tuple[Path, Built], tiny: Benchmark) -> None:
    folder, made = built
    body = (folder / "README.md").read_text()
    found = re.findall(r"^\| (P\d-B\d-S\d) \| .*? \| (\d+) \| (\d+) \|$", body, re.M)
    assert [code for code, _, _ in found] == [loaded.scenario.code for loaded in tiny.scenarios]
    for index, config in ((1, "core"), (2, "full")):
        assert sum(int(row[index]) for row in found) == sum(len(rows) for rows in made.rows[config].values())
    for config, split, table in made.manifest.tables:
        assert f"| `{config}` | {split} | {table.rows} | `{table.sha256[:16]}` |" in body
    registers = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \|$", body, re.M)
    assert registers == [("fluent", "11", "9", "2"), ("second_language", "1", "1", "0")]
    assert "{{" not in body
    assert "{%" not in body


def test_the_card_says_what_a_reader_must_know(real_built: tuple[Path, Built], real: Benchmark) -> None:
    text = (real_built[0] / "README.md").read_text(encoding="utf-8")
    body = text.split("---\n", 2)[2]
    note = body[: body.index("## Use")]
    assert body.index("Content note") < body.index("measures how a language model")
    line = next(each for each in real.countries["US"].services if each.kind == "crisis_line")
    for said in (f"United States: {line.name}, 988 (checked {line.checked})", "findahelpline.com", "not clinically validated"):
        assert said in note
    for heading in ("Motivation", "Composition", "Collection", "Preprocessing, labeling", "Uses", "Distribution", "Maintenance"):
        assert f"- *{heading}*: " in body
    for section in ("Design decisions where", "Bias, risks, limits", "Datasheet", "Versions", "Citation"):
        assert f"\n## {section}" in body
    version = re.escape(real.file.version)
    assert f'  version = "{real.file.version}",' in body
    assert re.search(rf"^- {version} \(\d{{4}}-\d\d-\d\d\), tag `v{version}`$", body, re.M)
    assert real.file.canary in body
    assert "extra_gated" not in text
    assert "Private holdout" not in text


def test_a_gated_card_has_an_access_form_and_a_private_one_says_so(tree: Tree, built: tuple[Path, Built], tmp_path: Path) -> None:
    build(load_benchmark(tree.root), tmp_path / "out", gated=True)
    gated, plain = front(tmp_path / "out"), front(built[0])
    form = {"extra_gated_heading", "extra_gated_prompt", "extra_gated_fields", "extra_gated_button_content"}
    assert {key: value for key, value in gated.items() if key not in form} == plain
    kinds = {kind if isinstance(kind, str) else kind["type"] for kind in gated["extra_gated_fields"].values()}
    assert kinds == {"text", "checkbox", "select"}
    tree.replace("benchmark.yaml", "seed: 7", "seed: 7\nprivate: true")
    build(load_benchmark(tree.root), tmp_path / "out")
    assert "**Private holdout.**" in (tmp_path / "out" / "README.md").read_text()
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["private"] is True


def test_croissant_is_valid_gives_the_rows_and_refuses_a_changed_file(built: tuple[Path, Built], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(built[0], tmp_path / "copy"))
    dataset = mlcroissant.Dataset(folder / "croissant.json")
    assert not dataset.metadata.ctx.issues.errors
    assert not dataset.metadata.ctx.issues.warnings
    assert "Not clinically validated" in dataset.metadata.data_limitations[0]
    wanted = [(row["text"], row["sources"]) for row in built[1].rows["crisis_taxonomy"]["test"]]
    records = list(dataset.records("crisis_taxonomy_test"))
    name = "crisis_taxonomy_test"
    assert [(each[f"{name}/text"].decode(), [s.decode() for s in each[f"{name}/sources"]]) for each in records] == wanted
    path = folder / "data/crisis_taxonomy/test-00000-of-00001.parquet"
    raw = path.read_bytes()
    path.write_bytes(raw[:200] + bytes([raw[200] ^ 0xFF]) + raw[201:])
    with pytest.raises(Exception, match=r"Download\(file/crisis_taxonomy/test\)"):
        list(mlcroissant.Dataset(folder / "croissant.json").records("crisis_taxonomy_test"))


def test_a_build_replaces_the_last_one_entirely_or_not_at_all(
    tiny: Benchmark, built: tuple[Path, Built], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    build(tiny, out)
    (out / "data" / "core" / "old.parquet").write_bytes(b"old")
    build(tiny, out)
    assert files(out) == files(built[0])

    def broken(*_: Any, **__: Any) -> str:
        raise RuntimeError("no card")

    monkeypatch.setattr("helmbench_hf.dataset.build.card_text", broken)
    with pytest.raises(RuntimeError, match="no card"):
        build(tiny, out)
    assert files(out) == files(built[0])
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["thesis.txt", "manifest.json", ""])
def test_what_is_no_dataset_is_left_alone(
    name: str, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A web app has a manifest.json too; where there is no name, a file is in place of the folder."""
    out = tmp_path / "out"
    if name:
        out.mkdir()
        (out / "other.txt").write_text("kept")
    (out / name if name else out).write_text('{"name": "My app", "icons": []}')
    before = files(tmp_path)
    given = ["--content", str(tree.root), "--out", str(out), "--today", str(TODAY)]
    monkeypatch.setattr("sys.argv", ["build_dataset.py", *given])
    assert build_dataset.main() == 1
    assert "choose another --out" in capsys.readouterr().err
    assert files(tmp_path) == before


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with content, code, and something else."""
    root = tmp_path / "checkout"
    for name in ("content/a.yaml", "content/b.yaml", "code/c.py", "notes/n.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / ".gitignore").write_text("*.secret\n__pycache__/\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all")
    return root


def test_a_clean_tree_gives_its_commit(checkout: Path) -> None:
    (checkout / "notes/n.txt").write_text("changed, and no part of the dataset")
    (checkout / "code/__pycache__").mkdir()
    (checkout / "code/__pycache__/c.pyc").write_bytes(b"")
    assert clean_commit([checkout / "content", checkout / "code"]) == git(checkout, "rev-parse", "HEAD")
    inputs = [path.name for path in build_inputs(checkout)]
    assert inputs == ["checkout", "helmbench_hf", "build_dataset.py", "dataset_card.md", "CHANGELOG.md", "LICENSE-CONTENT"]


@pytest.mark.parametrize("name", ["content/a.yaml", "content/new.yaml", "content/ignored.secret", "code/c.py", "content/b.yaml"])
@pytest.mark.parametrize("staged", [False, True])
def test_what_no_commit_holds_is_refused_by_name(name: str, staged: bool, checkout: Path) -> None:
    if name == "content/b.yaml":
        (checkout / name).unlink()
    else:
        (checkout / name).write_text("changed")
    if staged:
        git(checkout, "add", "-A", "-f")
    with pytest.raises(SourceError, match=name.rpartition("/")[2]):
        clean_commit([checkout / "content", checkout / "code"])


def test_a_folder_without_a_commit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(SourceError, match="not in a git checkout with a commit"):
        clean_commit([tmp_path])
    git(tmp_path, "init", "-q")
    with pytest.raises(SourceError, match="not in a git checkout with a commit"):
        clean_commit([tmp_path])
