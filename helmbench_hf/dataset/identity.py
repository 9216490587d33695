"""The parts of the authored files: a version of each that people raise, and a SHA-256 of what it holds.

Hashes cover the parsed values, so comments and line breaks do not count, and neither do the versions themselves. When a
source was last checked does not count either, and reviews stand in files of their own: both say nothing about what an item is.
The published rows hold them all the same, and so do the hashes of the component tables.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from helmbench_hf.content.load import Benchmark, ContentError
from helmbench_hf.dataset.calibration import labels, unsettled
from helmbench_hf.hashing import digest
from helmbench_hf.strict_yaml import Problem

LOCK = "versions.json"
"""Beside `benchmark.yaml`; `helmbench content lock` writes it."""
AuthoredPart = Literal["dataset", "criteria", "scoring", "calibration"]
VERSIONS = ("version", "criteria_version", "calibration_version")
_PART_OF = {
    "criteria": "criteria",
    "calibration": "calibration",
    "scoring.yaml": "scoring",
    **dict.fromkeys(("policies.yaml", "style.yaml"), ""),
}
"""By folder or file; an empty part enters no score. Every file that is not named here belongs to the dataset."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the benchmark that has a version of its own."""

    version: str
    sha256: str


def authored(benchmark: Benchmark) -> dict[AuthoredPart, Part]:
    """The parts that decide the score of given verdicts: the dataset, the criteria, the numbers of scoring."""
    return {
        "dataset": Part(benchmark.file.version, digest(_files(benchmark, "dataset"))),
        "criteria": Part(benchmark.file.criteria_version, digest(_files(benchmark, "criteria"))),
        "scoring": Part(benchmark.scoring.version, digest(_files(benchmark, "scoring"))),
    }


def calibration(benchmark: Benchmark) -> Part:
    """The replies with known verdicts. Readers count only through the labels that they leave unsettled.

    Slow: it expands the matrix. Raises CalibrationError where a file names a case that is not there.
    """
    doubtful = sorted([label.reply.code, label.criterion] for label in unsettled(benchmark, labels(benchmark)))
    return Part(benchmark.file.calibration_version, digest({**_files(benchmark, "calibration"), "unsettled": doubtful}))


def _undated(value: Any) -> Any:
    """The same values without when a source was last checked."""
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if name != "checked" or not isinstance(item, dt.date)}
        return {name: _undated(item) for name, item in kept.items()}
    return [_undated(item) for item in value] if isinstance(value, list) else value


def _files(benchmark: Benchmark, part: AuthoredPart) -> dict[str, Any]:
    """The content of the files of a part, by path: as JSON has it, without versions and days of checks."""
    found = {}
    for shown, document in benchmark.documents.items():
        if _PART_OF.get(shown.partition("/")[0], "dataset") == part:
            kept = {name: value for name, value in document.data.items() if name not in VERSIONS}
            found[shown] = json.loads(json.dumps(_undated(kept), default=str))
    return found


def locked(root: Path) -> dict[str, dict[str, Any]]:
    """What the lock says of each part; empty where there is none. Raises ContentError where it cannot be read."""
    path = root / LOCK
    if not path.exists():
        return {}
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
        return {part: {**row} for part, row in found.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        problem = Problem(LOCK, 0, "", f"{path} cannot be read ({error})", "restore it from version control")
        raise ContentError([problem]) from error
