"""Loading cases: from the package, from a folder; whatever is not what the manifest says is refused with a sentence."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset import load
from helmbench_hf.dataset.build import Built
from helmbench_hf.dataset.design import designs
from helmbench_hf.dataset.load import DatasetError, load_cases, select
from helmbench_hf.dataset.rows import content_sha256
from helmbench_hf.records import Case
from helmbench_hf.tasks.expand import expand

DESIGNS = ("core", "full", "smoke", "taxonomy")
Damage = Callable[[Path], Any]
Rows = list[dict[str, Any]]


@pytest.fixture
def folder(built: tuple[Path, Built], tmp_path: Path) -> Path:
    """A copy of the built dataset, to be damaged."""
    return Path(shutil.copytree(built[0], tmp_path / "dataset"))


@pytest.mark.parametrize("design", DESIGNS)
def test_the_folder_and_the_embedded_copy_give_the_cases_of_the_design(
    design: str, built: tuple[Path, Built], tiny: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "default_benchmark", lambda: tiny)
    cases = designs(tiny, expand(tiny))[design]
    sha = content_sha256([row for items in built[1].rows[design].values() for row in items])
    for source, shown in ((None, "embedded"), (str(built[0]), str(built[0]))):
        found = load_cases(design, source)
        assert list(found.cases) == [case for split in ("test", "heldout") for case in cases if case.split == split]
        assert found.identity == load.DatasetIdentity("Tiny", design, "0.0.1", "0.0.1", sha, shown)


def manifest_with(change: Callable[[dict[str, Any]], Any]) -> Damage:
    def damage(folder: Path) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        change(manifest)
        (folder / "manifest.json").write_text(json.dumps(manifest))

    return damage


def entry(**fields: Any) -> Damage:
    """Other fields of the table `core`, `test`."""
    return manifest_with(lambda manifest: manifest["configs"]["core"]["test"].update(fields))


def part(folder: Path) -> Path:
    return folder / "data/core/test-00000-of-00001.parquet"


def part_is(change: Callable[[bytes], bytes]) -> Damage:
    return lambda folder: part(folder).write_bytes(change(part(folder).read_bytes()))


def rewritten(change: Callable[[Rows], Rows], fits: bool = False) -> Damage:
    """Other rows in the table; `fits`: with their hash in the manifest, as another version of helmbench would write it."""

    def damage(folder: Path) -> None:
        rows = change(parquet.read_table(part(folder)).to_pylist())
        parquet.write_table(pa.Table.from_pylist(rows), part(folder))
        if fits:
            entry(sha256=content_sha256(rows))(folder)

    return damage


def outside(folder: Path, path: str = "") -> None:
    """The table of another folder: by an absolute path, or by the one that is given."""
    shutil.copy(part(folder), secret := folder.parent / "secret.parquet")
    entry(file=path or str(secret))(folder)


DAMAGE: dict[str, tuple[Damage, str]] = {
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "No such file"),
    "manifest torn": (lambda folder: (folder / "manifest.json").write_bytes(b'{"name": "Ti'), "is not the manifest"),
    "manifest of another program": (
        lambda folder: (folder / "manifest.json").write_bytes(b'{"name": "app"}'),
        "is not the manifest",
    ),
    "no version": (manifest_with(lambda manifest: manifest.pop("version")), "version: Field required"),
    "no such design": (manifest_with(lambda m: m["configs"].pop("core")), "does not contain the design core; it has full"),
    "other hash": (entry(sha256="0" * 64), "rows or content hash differ"),
    "other split's file": (entry(file="data/core/heldout-00000-of-00001.parquet"), "content hash differ"),
    "file gone": (lambda folder: part(folder).unlink(), "not there"),
    "path up and out": (lambda folder: outside(folder, "../secret.parquet"), "outside"),
    "absolute path": (outside, "outside"),
    "truncated parquet": (part_is(lambda raw: raw[:-100]), "cannot be read"),
    "flipped byte": (part_is(lambda raw: raw[:200] + bytes([raw[200] ^ 0xFF]) + raw[201:]), "download it again"),
    "a row left out": (rewritten(lambda rows: rows[1:]), "rows or content hash differ"),
    "rows in another order": (rewritten(lambda rows: rows[::-1]), "rows or content hash differ"),
    "one word changed": (rewritten(lambda rows: [rows[0] | {"gold": "either"}, *rows[1:]]), "rows or content hash differ"),
    "a column that is no JSON": (
        rewritten(lambda rows: [row | {"day": dt.date(1970, 1, 1)} for row in rows]),
        "download it again",
    ),
    "a column missing": (
        rewritten(lambda rows: [{name: row[name] for name in row if name != "gold"} for row in rows], fits=True),
        "lacks the columns gold",
    ),
    "another grading": (
        rewritten(lambda rows: [row | {"grading": '{"odd": 1, "task_key": []}'} for row in rows], fits=True),
        "a different version of helmbench",
    ),
}


@pytest.mark.parametrize(("damage", "says"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_folder_is_refused_with_a_sentence(damage: Damage, says: str, folder: Path) -> None:
    damage(folder)
    with pytest.raises(DatasetError) as refused:
        load_cases("core", str(folder))
    sentence = str(refused.value)
    assert says in sentence
    assert str(folder) in sentence
    assert "\n" not in sentence


def test_a_damaged_table_leaves_the_others_and_a_linked_file_is_followed(folder: Path) -> None:
    """The Hub's cache holds links to blobs outside the snapshot; their content is checked like any other."""
    part(folder).rename(blob := folder.parent / "blob")
    part(folder).symlink_to(blob)
    assert load_cases("core", str(folder)).cases
    blob.write_bytes(b"")
    assert load_cases("smoke", str(folder)).cases


def test_a_folder_is_named_from_the_working_directory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    assert load_cases("core", "dataset").cases == load_cases("core", "dataset/../dataset/").cases
    monkeypatch.chdir(folder)
    assert load_cases("core", ".").identity.source == "."


@pytest.mark.parametrize(
    ("design", "source", "says"),
    [
        ("cores", None, "choose one of core, full, smoke"),
        ("core", "nowhere", "neither a folder nor a Hub id"),
        ("core", "helmbench/v1", "--revision"),
    ],
)
def test_a_wrong_name_is_answered_with_a_sentence(design: str, source: str | None, says: str) -> None:
    with pytest.raises(DatasetError, match=says):
        load_cases(design, source)


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
            select(tiny_cases, only, limit)
        return
    chosen = select(tiny_cases, only, limit)
    assert len(chosen) == count
    assert chosen == tuple(case for case in tiny_cases if case in chosen)


def test_a_limit_takes_twins_together(tiny_cases: list[Case]) -> None:
    chosen = {case.code for case in select(tiny_cases, None, 10)}
    paired = [case for case in tiny_cases if case.code in chosen and case.twin]
    assert len(chosen) == 10
    assert paired
    assert all(case.twin in chosen for case in paired)
    assert len(select(tiny_cases, None, 1)) == 1
