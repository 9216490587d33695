"""The hashes of the authored files, from the files themselves: PyYAML and hashlib, without the package's reader."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
SCORED_BY = ("scoring.yaml", "policies.yaml", "plan.yaml")


class Plain(yaml.SafeLoader):
    """YAML without dates: a day stays the text that it is written as."""


Plain.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def authored_hashes(benchmark: Any) -> Json:
    """What `provenance` says of dataset, criteria and scoring; a benchmark without files has the hash of nothing."""
    root = Path(benchmark.root)
    files = sorted(root.rglob("*.yaml")) if (root / "benchmark.yaml").exists() else []
    criteria = [path for path in files if path.relative_to(root).parts[0] == "criteria"]
    scoring = [path for path in files if path == root / "scoring.yaml"]
    apart = [path for path in files if path.relative_to(root).parts[0] == "calibration" or path.name in SCORED_BY]
    dataset = [path for path in files if path not in {*criteria, *scoring, *apart}]
    lock = root / "versions.json"
    numbers = json.loads(lock.read_text(encoding="utf-8"))["scoring"]["numbers_sha256"] if files and lock.exists() else ""
    return {
        "criteria_version": benchmark.file.criteria_version,
        "dataset_sha256": _sha(root, dataset),
        "criteria_sha256": _sha(root, criteria),
        "scoring_sha256": _sha(root, scoring),
        "numbers_sha256": numbers,
    }


def _sha(root: Path, files: list[Path]) -> str:
    rows = {str(path.relative_to(root)): _values(path) for path in files}
    return hashlib.sha256(json.dumps(rows, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _values(path: Path) -> Any:
    data = yaml.load(path.read_text(encoding="utf-8"), Plain)
    if path.name in ("benchmark.yaml", "scoring.yaml"):
        data = {name: value for name, value in data.items() if not name.endswith("version")}
    return json.loads(json.dumps(data))
