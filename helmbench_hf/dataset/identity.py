"""What the authored files are, part by part: a version that people raise, and a SHA-256 that nobody can forget to.

Hashes are over the parsed values, so that comments and line breaks decide nothing, and without the versions themselves, so
that a raised version alone changes no hash. Who looked at an item, and when, is no part of what it is: `unreviewed` says what
is left out of every comparison. The rows that are published hold it all the same, and so do the hashes of their files.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from helmbench_hf.content.load import Benchmark, ContentError
from helmbench_hf.content.schema import Review
from helmbench_hf.content.strict_yaml import Problem
from helmbench_hf.inference.keys import digest
from helmbench_hf.matrix.calibration import labels, unsettled

LOCK = "versions.json"
"""Beside `benchmark.yaml`; `helmbench content lock` writes it."""
AuthoredPart = Literal["dataset", "criteria", "scoring", "calibration"]
VERSIONS = ("version", "criteria_version", "calibration_version")
_FOLDERS: Mapping[str, AuthoredPart] = {"criteria": "criteria", "calibration": "calibration"}
_FILES: Mapping[str, AuthoredPart | None] = {"scoring.yaml": "scoring", "policies.yaml": None, "plan.yaml": None}
"""None: part of no score. Every file that is not named here is the dataset's."""
_REVIEW: TypeAdapter[str] = TypeAdapter(Review)


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
    """The replies with known verdicts. Of their readers it holds what they decide, which labels do not count, and no more.

    Slow: it expands the matrix. Raises CalibrationError where a file names a case that is not there.
    """
    doubtful = sorted([label.reply.code, label.criterion] for label in unsettled(benchmark, labels(benchmark)))
    return Part(benchmark.file.calibration_version, digest({**_files(benchmark, "calibration"), "unsettled": doubtful}))


def unreviewed(value: Any) -> Any:
    """The same values without what people said of them: who reviewed an item, and when a source was last checked."""
    if isinstance(value, dict):
        return {name: unreviewed(item) for name, item in value.items() if not _is_review(name, item)}
    return [unreviewed(item) for item in value] if isinstance(value, list) else value


def _is_review(name: object, value: Any) -> bool:
    """By name and form, because an answer's field may be called `review` too."""
    if name == "checked":
        return isinstance(value, dt.date)
    if name != "review":
        return False
    try:
        _REVIEW.validate_python(value)
    except ValidationError:
        return False
    return True


def _files(benchmark: Benchmark, part: AuthoredPart) -> dict[str, Any]:
    """The content of the files of a part, by path."""
    return {shown: _plain(document.data) for shown, document in benchmark.documents.items() if _part_of(shown) == part}


def _part_of(shown: str) -> AuthoredPart | None:
    return _FOLDERS[top] if (top := shown.partition("/")[0]) in _FOLDERS else _FILES.get(shown, "dataset")


def _plain(data: Any) -> Any:
    """The values as JSON has them: dates as text, keys as text; without the versions of the parts and without reviews."""
    kept = {name: value for name, value in data.items() if name not in VERSIONS} if isinstance(data, dict) else data
    return json.loads(json.dumps(unreviewed(kept), default=str))


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
