"""The metadata of the card and of croissant.json: what the Hub, `datasets` and mlcroissant read from them is what was built."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.dataset.build import Built, build
from helmbench_hf.dataset.croissant import RAI
from tests.support.tree import Tree


def front(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)[1])
    return found


def test_the_metadata_is_whole_and_read_by_the_hubs_own_reader(built: tuple[Path, Built]) -> None:
    from huggingface_hub import DatasetCard

    data = DatasetCard.load(built[0] / "README.md").data.to_dict()
    wanted = {"language", "language_details", "multilinguality", "license", "pretty_name", "size_categories", "task_categories"}
    wanted |= {"task_ids", "annotations_creators", "language_creators", "source_datasets", "tags", "configs", "dataset_info"}
    assert set(data) == wanted
    assert data == front(built[0])


def test_features_rows_and_bytes_are_those_of_the_tables(built: tuple[Path, Built]) -> None:
    import pyarrow.parquet as parquet
    from datasets import Features
    from datasets.info import DatasetInfosDict

    folder, made = built
    infos = DatasetInfosDict.from_directory(str(folder))
    assert set(infos) == set(made.manifest["configs"])
    for config, splits in made.manifest["configs"].items():
        info = infos[config]
        assert {name: split.num_examples for name, split in info.splits.items()} == {k: e["rows"] for k, e in splits.items()}
        assert info.download_size == sum((folder / entry["file"]).stat().st_size for entry in splits.values())
        assert info.dataset_size == sum(split.num_bytes for split in info.splits.values())
        schema = parquet.read_schema(folder / splits["test"]["file"])
        assert info.features == Features.from_arrow_schema(schema)


def test_the_card_says_what_a_reader_must_know(real_built: tuple[Path, Built], real: Benchmark) -> None:
    text = (real_built[0] / "README.md").read_text(encoding="utf-8")
    body = text.split("---\n", 2)[2]
    note = body[: body.index("## Use")]
    assert body.index("Content note") < body.index("measures how a language model")
    line = next(each for each in real.countries["US"].services if each.kind == "crisis_line")
    assert f"United States: {line.name}, 988 (checked {line.checked})" in note
    assert "findahelpline.com" in note
    for heading in ("Motivation", "Composition", "Collection", "Preprocessing, labeling", "Uses", "Distribution", "Maintenance"):
        assert f"- *{heading}*: " in body
    for section in ("Design decisions where", "Bias, risks, limits", "Datasheet", "Versions", "Citation"):
        assert f"\n## {section}" in body
    assert "not clinically validated" in note
    assert f'  version = "{real.file.version}",' in body
    assert re.search(
        rf"^- {re.escape(real.file.version)} \(\d{{4}}-\d\d-\d\d\), tag `v{re.escape(real.file.version)}`$", body, re.M
    )
    assert real.file.canary in body
    assert "extra_gated" not in text
    assert "Private holdout" not in text


def test_a_gated_card_has_an_access_form_and_nothing_else_changes(
    tiny: Benchmark, built: tuple[Path, Built], tmp_path: Path
) -> None:
    build(tiny, tmp_path / "out", gated=True)
    gated, plain = front(tmp_path / "out"), front(built[0])
    assert {key for key in gated if key not in plain} == {
        "extra_gated_heading", "extra_gated_prompt", "extra_gated_fields", "extra_gated_button_content"
    }  # fmt: skip
    assert {key: gated[key] for key in plain} == plain
    kinds = {kind if isinstance(kind, str) else kind["type"] for kind in gated["extra_gated_fields"].values()}
    assert kinds == {"text", "checkbox", "select"}


def test_a_private_card_says_so(tree: Tree, tmp_path: Path) -> None:
    tree.replace("benchmark.yaml", "seed: 7", "seed: 7\nprivate: true")
    build(load_benchmark(tree.root), tmp_path / "out")
    assert "**Private holdout.**" in (tmp_path / "out" / "README.md").read_text()
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["private"] is True


def test_croissant_is_valid_and_has_every_rai_field(built: tuple[Path, Built]) -> None:
    croissant = pytest.importorskip("mlcroissant")
    path = built[0] / "croissant.json"
    dataset = croissant.Dataset(path)
    assert not dataset.metadata.ctx.issues.errors
    assert not dataset.metadata.ctx.issues.warnings
    written = json.loads(path.read_text())
    assert {key.removeprefix("rai:") for key in written if key.startswith("rai:")} == set(RAI)
    assert all(value == written[f"rai:{key}"] for key, value in RAI.items())
    for name in ("data_biases", "data_limitations", "data_use_cases", "data_social_impact", "personal_sensitive_information"):
        assert getattr(dataset.metadata, name)


def test_croissant_gives_the_rows_and_refuses_a_changed_file(built: tuple[Path, Built], tmp_path: Path) -> None:
    croissant = pytest.importorskip("mlcroissant")
    folder = Path(shutil.copytree(built[0], tmp_path / "copy"))
    wanted = built[1].rows["crisis_taxonomy"]["test"]
    records = list(croissant.Dataset(folder / "croissant.json").records("crisis_taxonomy_test"))
    assert [record["crisis_taxonomy_test/text"].decode() for record in records] == [row["text"] for row in wanted]
    assert [[each.decode() for each in record["crisis_taxonomy_test/sources"]] for record in records] == [
        row["sources"] for row in wanted
    ]
    path = folder / "data/crisis_taxonomy/test-00000-of-00001.parquet"
    raw = bytearray(path.read_bytes())
    raw[200] ^= 0xFF
    path.write_bytes(bytes(raw))
    with pytest.raises(Exception, match=r"Download\(file/crisis_taxonomy/test\)"):
        list(croissant.Dataset(folder / "croissant.json").records("crisis_taxonomy_test"))
