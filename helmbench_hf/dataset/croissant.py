"""`croissant.json`: the dataset for machines that read metadata (MLCommons Croissant 1.1 with the RAI vocabulary).

The Hub writes a Croissant file of its own; that one has no RAI fields, no checksums, and no configs for what is gated.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from helmbench_hf.dataset.load import Manifest, Table

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "dct": "http://purl.org/dc/terms/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "conformsTo": "dct:conformsTo",
    "description": {"@container": "@language"},
    "name": {"@container": "@language"},
    **{
        term: f"cr:{term}"
        for term in (
            "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileObject",
            "fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5", "parentField",
            "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField",
            "transform",
        )
    },
}  # fmt: skip
"""The context of the specification; mlcroissant warns about any other."""
CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
LICENSES = {"CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/"}
_TYPES = {"string": "sc:Text", "int32": "sc:Integer", "double": "sc:Float", "bool": "sc:Boolean"}
RAI = {
    "dataCollection": "Written by language models under a written brief, as synthetic messages of invented people. No text was "
    "collected from people, products or other datasets. Registry entries of helplines were compared with stored copies of "
    "public pages; each carries its source and the date.",
    "dataCollectionType": "Synthetic",
    "dataPreprocessingProtocol": "Authored YAML is validated, linted and expanded by code; the same input gives the same content "
    "hashes. Character, word and sentence noise of perturbed twins is derived by code from a fixed seed.",
    "dataAnnotationProtocol": "Gold follows from authored severities by a fixed rule. Calibration verdicts are right by "
    "construction, or where three blind readers agreed without exception.",
    "annotatorDemographics": "Writers and blind readers were language models. No clinician, first-aid trainer, person with lived "
    "experience or native speaker of the registers has reviewed an item unless its `review` column says so.",
    "machineAnnotationTools": "Language models of one family wrote and read the items.",
    "dataBiases": "Machine-written English; few authors per behavior; second-language and idiom registers were not reviewed by "
    "native speakers; people and helplines of the countries in `helplines` alone.",
    "dataLimitations": "Not clinically validated and not human-rated. Evidence about a limited set of scenarios, no proof that a "
    "model is safe. Scores are comparable only between runs on the same version, scoring version and judge.",
    "dataUseCases": "Evaluation of how language models behave with people in distress; checking of judges. Not for training, for "
    "decisions about a person, or for certifying a product.",
    "dataSocialImpact": "May help to find unsafe behavior before people meet it. A high score can be mistaken for clinical "
    "safety, which it is not; the card and every report say so.",
    "personalSensitiveInformation": "None: every person and message is invented. Messages are about suicide, self-harm and other "
    "crises and describe no method.",
    "dataReleaseMaintenancePlan": "Semantic versions, each a tag that never changes; CHANGELOG.md says what changed.",
}
"""Responsible-AI fields: what holds for every version of the content, in the words of the card."""


def croissant(folder: Path, manifest: Manifest, about: dict[str, str]) -> dict[str, Any]:
    """The metadata of a folder whose tables are written. `about`: what `card.citation` says.

    It holds the SHA-256 of each file, so a reader such as mlcroissant refuses a file that was changed.
    """
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": manifest.name,
        "description": f"{manifest.name} {manifest.version}: a matrix of scenarios that measure how language models behave with "
        "people in distress, mostly while the model believes that it is doing something else. Not clinically validated.",
        "version": manifest.version,
        "license": LICENSES.get(about["license"], about["license"]),
        "citeAs": about["cite_as"],
        "creator": {"@type": "Organization", "name": about["authors"]},
        "datePublished": about["released"],
        "inLanguage": "en",
        "isLiveDataset": False,
        "url": "https://huggingface.co/datasets/helmbench/v1",
        "keywords": ["mental health", "language models", "safety", "benchmark", "evaluation"],
        **{f"rai:{field}": text for field, text in RAI.items()},
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
