"""The lock: which version of each part of the benchmark stands for which content.

A released version (from 1.0.0, without a `.dev` or `rc` suffix) stands for one content for ever. Whoever changes the content
raises the version. A version that is not released can be locked again as often as one likes: there the hash is the truth, in
scores.json and wherever runs are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.design import designs
from helmbench_hf.dataset.identity import LOCK, authored, calibration, locked
from helmbench_hf.dataset.rows import CASE_CONFIGS, content_sha256, design_rows
from helmbench_hf.judging import rubric
from helmbench_hf.runs.folder import write_json
from helmbench_hf.scoring.run import NUMBERS_SHA256
from helmbench_hf.strict_yaml import Problem
from helmbench_hf.tasks.expand import expand

Parts = Mapping[str, Mapping[str, Any]]
WHERE = {
    "dataset": "`version` in benchmark.yaml",
    "criteria": "`criteria_version` in benchmark.yaml",
    "scoring": "`version` in scoring.yaml",
    "calibration": "`calibration_version` in benchmark.yaml",
    "rubric": "`RUBRIC_VERSION` in judging/rubric.py",
}
"""Where the version of a part is raised."""
COMMAND = "helmbench content lock"


class VersionError(Exception):
    """The lock cannot be written; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A part that is not what the lock says."""

    part: str
    what: str
    fix: str
    fault: bool
    """It must be fixed before the benchmark is used; else it is only shown."""
    lockable: bool
    """Locking again fixes it."""

    def __str__(self) -> str:
        return f"{LOCK}: {self.what}; {self.fix}"


def parts(benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """What the lock holds of each part: `version` and `sha256`, and what its code makes of it.

    dataset: `designs`, the content hash of each design's rows, as runs record it. scoring: what its arithmetic makes of
    the frozen runs. The judge prompt's hash is over the prompt of every criterion as a judge gets it, on a fixed example.
    """
    found: dict[str, dict[str, Any]] = {part: asdict(each) for part, each in authored(benchmark).items()}
    found["calibration"] = asdict(calibration(benchmark))
    by_design = designs(benchmark, expand(benchmark))
    found["dataset"]["designs"] = {
        name: content_sha256(design_rows(name, by_design[name], benchmark)) for name in CASE_CONFIGS if by_design[name]
    }
    found["scoring"]["numbers_sha256"] = NUMBERS_SHA256
    found["rubric"] = rubric.identity(benchmark)
    return found


def released(version: str) -> bool:
    """Whether a version stands for one content for ever: 1.0.0 or higher, without a suffix."""
    number, suffix = _order(version)
    return number >= (1, 0, 0) and suffix == _FINAL


_FINAL = ("z", 0)
"""Sorts behind `.dev` and `rc`."""


def _order(version: str) -> tuple[tuple[int, ...], tuple[str, int]]:
    number, name, count = re.fullmatch(r"([0-9.]+?)(?:\.?(dev|rc)([0-9]+))?", version).groups()  # type: ignore[union-attr]
    return tuple(map(int, number.split("."))), (name, int(count)) if name else _FINAL


def drifts(now: Parts, lock: Parts) -> Iterator[Drift]:
    """Every part that is not what the lock says of it."""
    for part, found in now.items():
        was = lock.get(part)
        if was != found and (drift := _drift(part, found, was)) is not None:
            yield drift


def _drift(part: str, now: Mapping[str, Any], was: Mapping[str, Any] | None) -> Drift | None:
    version = now["version"]
    named, public = f"{part} {version}", released(version)
    if was is None:
        return Drift(part, f"{named} is not locked", f"run `{COMMAND}`", public, lockable=True)
    if released(was["version"]) and _order(version) < _order(was["version"]):
        what = f"{named} comes before {was['version']}, which was released"
        return Drift(part, what, f"raise {WHERE[part]}", fault=True, lockable=False)
    if version != was["version"]:
        return Drift(part, f"{named} is not locked, {was['version']} is", f"run `{COMMAND}`", public, lockable=True)
    if not public:
        what = f"{named} is not released and has changed since it was locked{_numbers(part, now, was)}"
        return Drift(part, what, f"run `{COMMAND}`", fault=False, lockable=True)
    what = f"{named} was released and has changed{_numbers(part, now, was)}"
    return Drift(part, what, f"raise {WHERE[part]}, then run `{COMMAND}`", fault=True, lockable=False)


def _numbers(part: str, now: Mapping[str, Any], was: Mapping[str, Any]) -> str:
    same = part == "scoring" and now["sha256"] == was["sha256"]
    return ": the same verdicts give other numbers" if same else ""


def check(benchmark: Benchmark) -> list[Drift]:
    """Every part that differs from the lock; nothing where the authored files were never locked."""
    lock = locked(benchmark.root)
    return list(drifts(parts(benchmark), lock)) if lock else []


def problems(found: list[Drift]) -> list[Problem]:
    """Those that are faults, as `content check` shows them."""
    return [Problem(LOCK, 0, drift.part, drift.what, drift.fix) for drift in found if drift.fault]


def lock(benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """Write the lock and give what it holds. Raises VersionError where a released version would stand for other content."""
    found = parts(benchmark)
    if kept := [drift for drift in drifts(found, locked(benchmark.root)) if not drift.lockable]:
        raise VersionError("\n".join(map(str, kept)))
    write_json(benchmark.root / LOCK, found)
    return found
