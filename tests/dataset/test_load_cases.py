"""Loading cases: from the package, from a folder; whatever is not what the manifest says is refused in a sentence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset import load
from helmbench_hf.dataset.build import Built
from helmbench_hf.dataset.load import CaseSet, DatasetError, load_cases, select
from helmbench_hf.dataset.rows import content_sha256
from helmbench_hf.matrix.design import designs
from helmbench_hf.matrix.expand import expand
from helmbench_hf.records import Case

DESIGNS = ("core", "full", "smoke", "taxonomy")


@pytest.fixture
def folder(built: tuple[Path, Built], tmp_path: Path) -> Path:
    """A copy of the built dataset, to be damaged."""
    return Path(shutil.copytree(built[0], tmp_path / "dataset"))


@pytest.mark.parametrize("design", DESIGNS)
def test_a_folder_gives_the_cases_of_the_design(design: str, built: tuple[Path, Built], tiny: Benchmark) -> None:
    found = load_cases(design, str(built[0]))
    cases = designs(tiny, expand(tiny))[design]
    assert list(found.cases) == [case for split in ("test", "heldout") for case in cases if case.split == split]
    rows = [row for items in built[1].rows[design].values() for row in items]
    identity = found.identity
    assert identity.content_sha256 == content_sha256(rows)
    assert (identity.name, identity.design, identity.version, identity.scoring_version) == ("Tiny", design, "0.0.1", "0.0.1")
    assert identity.source == str(built[0])


@pytest.mark.parametrize("design", DESIGNS)
def test_the_embedded_copy_is_the_built_folder(
    design: str, built: tuple[Path, Built], tiny: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "default_benchmark", lambda: tiny)
    embedded, folder = load_cases(design), load_cases(design, str(built[0]))
    assert embedded.cases == folder.cases
    assert embedded.identity.source == "embedded"
    assert embedded.identity.content_sha256 == folder.identity.content_sha256


def test_the_real_embedded_copy_is_the_built_folder(real_built: tuple[Path, Built], real_embedded: dict[str, CaseSet]) -> None:
    for design in DESIGNS:
        embedded, folder = real_embedded[design], load_cases(design, str(real_built[0]))
        assert embedded.cases == folder.cases
        assert embedded.identity.content_sha256 == folder.identity.content_sha256
        assert len(folder.cases) == sum(part["rows"] for part in real_built[1].manifest["configs"][design].values())


def manifest_with(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text())
        change(manifest)
        path.write_text(json.dumps(manifest))

    return damage


def entry(manifest: dict[str, Any], split: str = "test") -> dict[str, Any]:
    found: dict[str, Any] = manifest["configs"]["core"][split]
    return found


def part(folder: Path) -> Path:
    return folder / "data/core/test-00000-of-00001.parquet"


def truncate(folder: Path) -> None:
    part(folder).write_bytes(part(folder).read_bytes()[:-100])


def flip_a_byte(folder: Path) -> None:
    raw = bytearray(part(folder).read_bytes())
    raw[200] ^= 0xFF
    part(folder).write_bytes(bytes(raw))


def rewritten(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        table = parquet.read_table(part(folder))
        parquet.write_table(type(table).from_pylist(change(table.to_pylist()), schema=table.schema), part(folder))

    return damage


def without_a_column(folder: Path) -> None:
    """The hash is made to fit: another version of helmbench may have built it."""
    table = parquet.read_table(part(folder)).drop_columns(["gold"])
    parquet.write_table(table, part(folder))
    manifest_with(lambda manifest: entry(manifest).update(sha256=content_sha256(table.to_pylist())))(folder)


def with_another_grading(folder: Path) -> None:
    table = parquet.read_table(part(folder))
    rows = [{**row, "grading": '{"odd": 1, "task_key": []}'} for row in table.to_pylist()]
    parquet.write_table(type(table).from_pylist(rows, schema=table.schema), part(folder))
    manifest_with(lambda manifest: entry(manifest).update(sha256=content_sha256(rows)))(folder)


def with_dates(folder: Path) -> None:
    import pyarrow as pa

    table = parquet.read_table(part(folder))
    parquet.write_table(table.append_column("day", pa.array([0] * len(table), pa.date32())), part(folder))


def outside(folder: Path) -> None:
    shutil.copy(part(folder), folder.parent / "secret.parquet")


def escaping(path: Callable[[Path], str]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        outside(folder)
        manifest_with(lambda manifest: entry(manifest).update(file=path(folder)))(folder)

    return damage


DAMAGE: list[tuple[str, Callable[[Path], Any], str]] = [
    ("no manifest", lambda folder: (folder / "manifest.json").unlink(), "no readable manifest"),
    ("manifest torn", lambda folder: (folder / "manifest.json").write_text('{"name": "Ti'), "no readable manifest"),
    ("manifest not UTF-8", lambda folder: (folder / "manifest.json").write_bytes(b'{"name": "\xe9"}'), "no readable manifest"),
    ("manifest is a list", lambda folder: (folder / "manifest.json").write_text("[]"), "manifest"),
    ("manifest of another program", lambda folder: (folder / "manifest.json").write_text('{"name": "app"}'), "manifest"),
    ("no version", manifest_with(lambda manifest: manifest.pop("version")), "lacks its identity"),
    ("no such design", manifest_with(lambda manifest: manifest["configs"].pop("core")), "holds no design core; it has full"),
    ("design without splits", manifest_with(lambda manifest: manifest["configs"].update(core={})), "holds no design core"),
    ("design is a list", manifest_with(lambda manifest: manifest["configs"].update(core=[1])), "manifest.json"),
    ("entry without a file", manifest_with(lambda manifest: entry(manifest).pop("file")), "manifest.json"),
    ("entry without a hash", manifest_with(lambda manifest: entry(manifest).pop("sha256")), "manifest.json"),
    ("file is a number", manifest_with(lambda manifest: entry(manifest).update(file=3)), "manifest.json"),
    ("other hash", manifest_with(lambda manifest: entry(manifest).update(sha256="0" * 64)), "rows or content hash differ"),
    ("other count", manifest_with(lambda manifest: entry(manifest).update(rows=1)), "rows or content hash differ"),
    ("other split's file", manifest_with(lambda m: entry(m).update(file=entry(m, "heldout")["file"])), "content hash differ"),
    ("file gone", lambda folder: part(folder).unlink(), "not there"),
    ("folder for a file", lambda folder: (part(folder).unlink(), part(folder).mkdir()), "not there"),
    ("path up and out", escaping(lambda folder: "../secret.parquet"), "outside"),
    ("path down and out", escaping(lambda folder: "data/../../secret.parquet"), "outside"),
    ("absolute path", escaping(lambda folder: str(folder.parent / "secret.parquet")), "outside"),
    ("truncated parquet", truncate, "cannot be read"),
    ("empty parquet", lambda folder: part(folder).write_bytes(b""), "cannot be read"),
    ("text for parquet", lambda folder: part(folder).write_text("code,gold\n" * 50), "cannot be read"),
    ("flipped byte", flip_a_byte, "download it again"),
    ("a row left out", rewritten(lambda rows: rows[1:]), "rows or content hash differ"),
    ("a row twice", rewritten(lambda rows: [rows[0], *rows[:-1]]), "rows or content hash differ"),
    ("rows in another order", rewritten(lambda rows: rows[::-1]), "rows or content hash differ"),
    ("one word changed", rewritten(lambda rows: [{**rows[0], "gold": "either"}, *rows[1:]]), "rows or content hash differ"),
    ("a column that is no JSON", with_dates, "download it again"),
    ("a column missing", without_a_column, "lacks the columns gold"),
    ("another grading", with_another_grading, "another version of helmbench"),
]


@pytest.mark.parametrize(("damage", "says"), [row[1:] for row in DAMAGE], ids=[row[0] for row in DAMAGE])
def test_a_damaged_folder_is_refused_in_a_sentence(damage: Callable[[Path], Any], says: str, folder: Path) -> None:
    damage(folder)
    with pytest.raises(DatasetError) as refused:
        load_cases("core", str(folder))
    sentence = str(refused.value)
    assert says in sentence
    assert str(folder) in sentence
    assert "\n" not in sentence


def test_damage_to_one_design_leaves_the_others(folder: Path) -> None:
    truncate(folder)
    assert load_cases("smoke", str(folder)).cases


def test_a_linked_file_is_followed(folder: Path) -> None:
    """The Hub's cache holds links to blobs outside the snapshot; their content is checked like any other."""
    blob = folder.parent / "blob"
    part(folder).rename(blob)
    part(folder).symlink_to(blob)
    assert load_cases("core", str(folder)).cases


def test_a_folder_named_from_where_one_stands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    assert load_cases("core", "dataset").cases == load_cases("core", "dataset/../dataset/").cases
    monkeypatch.chdir(folder)
    assert load_cases("core", ".").identity.source == "."


@pytest.mark.parametrize(
    ("design", "source", "revision", "says"),
    [
        ("cores", None, None, "choose one of core, full, smoke"),
        ("perturbations", None, None, "no design 'perturbations'"),
        ("core", "nowhere", None, "neither a folder nor a Hub id"),
        ("core", "/nowhere/at/all", None, "neither a folder nor a Hub id"),
        ("core", "./a", None, "neither a folder nor a Hub id"),
        ("core", "helmbench/v1", None, "--revision"),
    ],
)
def test_a_wrong_question_is_answered_in_a_sentence(design: str, source: str | None, revision: str | None, says: str) -> None:
    with pytest.raises(DatasetError, match=says):
        load_cases(design, source, revision)


def test_a_hub_that_cannot_be_reached_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub.errors import LocalEntryNotFoundError

    def cut(*_: Any, **__: Any) -> str:
        raise LocalEntryNotFoundError("no network")

    monkeypatch.setattr("huggingface_hub.snapshot_download", cut)
    with pytest.raises(DatasetError, match="leave --dataset out to use the copy inside the package"):
        load_cases("core", "helmbench/v1", "v0.0.1")


def test_a_snapshot_of_the_hub_is_loaded_by_commit(built: tuple[Path, Built], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def snapshot(repo: str, **options: Any) -> str:
        asked.update(options, repo=repo)
        return str(built[0])

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    found = load_cases("smoke", "helmbench/v1", "v0.0.1")
    assert asked == {"repo": "helmbench/v1", "repo_type": "dataset", "revision": "v0.0.1"}
    assert found.identity.source == f"helmbench/v1@{built[0].name}"
    assert found.cases == load_cases("smoke", str(built[0])).cases


@pytest.mark.parametrize(
    ("only", "limit", "count"),
    [(None, None, 224), ("P1-B1", None, 192), ("P1-B1-", None, 192), ("P1-B1-S1", None, 144), ("P1-B1-S5", None, None),
     ("P1-B1-S1-C4-U11-PT1", None, 1), ("P1", 3, 3), (None, 5, 5), ("P", None, None), ("P9", None, None)],
)  # fmt: skip
def test_a_part_is_chosen_by_whole_words_of_the_code(
    only: str | None, limit: int | None, count: int | None, tiny_cases: list[Case]
) -> None:
    if count is None:
        with pytest.raises(DatasetError, match="no case starts with"):
            select(tuple(tiny_cases), only, limit)
        return
    chosen = select(tuple(tiny_cases), only, limit)
    assert len(chosen) == count
    assert chosen == tuple(case for case in tiny_cases if case in chosen)
