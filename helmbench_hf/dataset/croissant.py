"""`croissant.json`: the dataset for machines that read metadata (MLCommons Croissant 1.1 with the RAI vocabulary).

The Hub writes a Croissant file of its own; that one has no RAI fields, no checksums, and no configs for what is gated.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import yaml

from helmbench_hf.dataset.load import Manifest, Table

CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
LICENSES = {"CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/"}
_TYPES = {"string": "sc:Text", "int32": "sc:Integer", "double": "sc:Float", "bool": "sc:Boolean"}


def croissant(folder: Path, manifest: Manifest, about: dict[str, str]) -> dict[str, Any]:
    """The metadata of a folder whose tables are written. `about`: what `card.citation` says.

    It holds the SHA-256 of each file, so a reader such as mlcroissant refuses a file that was changed.
    """
    fixed = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return {
        "@context": fixed["context"] | {term: f"cr:{term}" for term in fixed["terms"]},
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": manifest.name,
        "description": f"{manifest.name} {manifest.version}: a matrix of scenarios that measure how language models behave with "
        "people in distress, mostly while the model is working on something else. Not clinically validated.",
        "version": manifest.version,
        "license": LICENSES.get(about["license"], about["license"]),
        "citeAs": about["cite_as"],
        "creator": {"@type": "Organization", "name": about["authors"]},
        "datePublished": about["released"],
        "inLanguage": "en",
        "isLiveDataset": False,
        "url": "https://huggingface.co/datasets/helmbench/v1",
        "keywords": ["mental health", "language models", "safety", "benchmark", "evaluation"],
        **{f"rai:{field}": text for field, text in fixed["rai"].items()},
        "distribution": [_file(folder, *table) for table in manifest.tables],
        "recordSet": [_records(manifest.columns[config], config, split, table) for config, split, table in manifest.tables],
    }


def _file(folder: Path, config: str, split: str, table: Table) -> dict[str, Any]:
    content = (folder / table.file).read_bytes()
    return {
        "@type": "cr:FileObject",
        "@id": f"file/{config}/{split}",
        "name": f"{config}_{split}_parquet",
        "description": f"The split {split} of the config {config}.",
        "contentUrl": table.file,
        "contentSize": f"{len(content)} B",
        "encodingFormat": "application/x-parquet",
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _records(columns: dict[str, str], config: str, split: str, table: Table) -> dict[str, Any]:
    name = f"{config}_{split}"
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"{table.rows} rows; SHA-256 of their canonical JSON {table.sha256}.",
        "field": [_field(name, f"file/{config}/{split}", column, kind) for column, kind in columns.items()],
    }


def _field(records: str, file: str, column: str, kind: str) -> dict[str, Any]:
    """A column; lists are one-dimensional and of any length."""
    inner = kind.removeprefix("list<item: ").removesuffix(">")
    return {
        "@type": "cr:Field",
        "@id": f"{records}/{column}",
        "name": column,
        "description": f"Column {column}.",
        "dataType": _TYPES[inner],
        **({"isArray": True, "arrayShape": "-1"} if inner != kind else {}),
        "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
    }
