"""What the authored files are, part by part: a version that people raise, and a SHA-256 that nobody can forget to.

Hashes are over the parsed values, so that comments and line breaks decide nothing, and without the versions themselves, so
that a raised version alone changes no hash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from helmbench_hf.content.load import Benchmark
from helmbench_hf.inference.keys import digest
from helmbench_hf.matrix.calibration import stored

LOCK = "versions.json"
"""Beside `benchmark.yaml`; `helmbench content lock` writes it."""
AuthoredPart = Literal["dataset", "criteria", "scoring", "calibration"]
VERSIONS = ("version", "criteria_version", "calibration_version")
_FOLDERS: Mapping[str, AuthoredPart] = {"criteria": "criteria", "calibration": "calibration"}
_FILES: Mapping[str, AuthoredPart | None] = {"scoring.yaml": "scoring", "policies.yaml": None, "plan.yaml": None}
"""None: part of no score. Every file that is not named here is the dataset's."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the benchmark that has a version of its own."""

    version: str
    sha256: str


def authored(benchmark: Benchmark) -> dict[AuthoredPart, Part]:
    """The parts that people write: the dataset (all but what follows), the criteria, the numbers of scoring, the calibration.

    The calibration covers what readers made of it, because their agreement decides which of its labels count.
    """
    versions: dict[AuthoredPart, str] = {
        "dataset": benchmark.file.version,
        "criteria": benchmark.file.criteria_version,
        "scoring": benchmark.scoring.version,
        "calibration": benchmark.file.calibration_version,
    }
    found: dict[AuthoredPart, dict[str, Any]] = {part: {} for part in versions}
    for shown, document in benchmark.documents.items():
        if (part := _part_of(shown)) is not None:
            found[part][shown] = _plain(document.data)
    found["calibration"]["reads"] = [asdict(read) for read in stored(benchmark.root)]
    return {part: Part(version, digest(found[part])) for part, version in versions.items()}


def _part_of(shown: str) -> AuthoredPart | None:
    return _FOLDERS[top] if (top := shown.partition("/")[0]) in _FOLDERS else _FILES.get(shown, "dataset")


def _plain(data: Any) -> Any:
    """The values as JSON has them: dates as text, keys as text; without the versions of the parts."""
    kept = {name: value for name, value in data.items() if name not in VERSIONS} if isinstance(data, dict) else data
    return json.loads(json.dumps(kept, default=str))


class LockError(ValueError):
    """The lock cannot be read. The message is a sentence."""


def locked(root: Path) -> dict[str, dict[str, Any]]:
    """What the lock says of each part; empty where there is none. Raises LockError where it cannot be read."""
    path = root / LOCK
    if not path.exists():
        return {}
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
        return {part: {**row} for part, row in found.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise LockError(f"{path} cannot be read ({error}); restore it from version control.") from error
