"""What a release would change: the built folder beside what is published, by file, by row count, by code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helmbench_hf.dataset.rows import CASE_CONFIGS

KEYS = dict.fromkeys((*CASE_CONFIGS, "scenarios", "conditions", "user_contexts", "criteria"), ("code",)) | {
    "perturbations": ("scenario", "perturbation"),
    "helplines": ("country", "name"),
    "crisis_taxonomy": ("number",),
    "calibration": ("reply_code", "criterion"),
}
"""What names a row of each config."""
HUB_FILES = {".gitattributes"}
"""Files that the Hub makes; a release leaves them alone."""
SHOWN = 10
"""Removed codes that are printed per config."""


@dataclass(frozen=True, slots=True)
class Count:
    """Rows of one split of one config before and after; None where it is not there."""

    config: str
    split: str
    before: int | None
    after: int | None
    changed: bool
    """Whether the content hash is another."""

    @property
    def fell(self) -> bool:
        """Whether rows would get fewer."""
        return (self.after or 0) < (self.before or 0)

    def __str__(self) -> str:
        before, after = ("none" if rows is None else str(rows) for rows in (self.before, self.after))
        rows = f"{after} rows" if before == after else f"{before} -> {after} rows"
        if self.before is None or self.after is None:
            return f"{self.config:16} {self.split:8} {rows}"
        return f"{self.config:16} {self.split:8} {rows}, content {'changed' if self.changed else 'the same'}"


@dataclass(frozen=True, slots=True)
class Difference:
    """Files by what happens to them, rows per config and split, and codes that would no longer be there."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    deleted: tuple[str, ...]
    same: tuple[str, ...]
    counts: tuple[Count, ...]
    removed: Mapping[str, tuple[str, ...]]

    @property
    def any(self) -> bool:
        """Whether a commit is needed."""
        return bool(self.added or self.changed or self.deleted)

    def lines(self) -> list[str]:
        """The difference for a person, one fact a line."""
        by_sign = {"+": self.added, "~": self.changed, "-": self.deleted}
        found = [f"{sign} {name}" for sign, names in by_sign.items() for name in names]
        found += [f"{len(self.same)} files stay as they are", *(str(count) for count in self.counts)]
        for config, codes in self.removed.items():
            more = f" and {len(codes) - SHOWN} more" if len(codes) > SHOWN else ""
            found.append(f"{config}: {len(codes)} codes removed: {', '.join(codes[:SHOWN])}{more}")
        return found


def fingerprints(content: bytes) -> set[str]:
    """The names under which a Hub may list this content: as a git blob, as an LFS object."""
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return {blob, hashlib.sha256(content).hexdigest()}


def file_changes(folder: Path, published: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """`added`, `changed`, `deleted`, `same`: files of the folder against `published`, a fingerprint by path."""
    local = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    both = [name for name in local if name in published]
    same = tuple(name for name in both if published[name] in fingerprints(local[name].read_bytes()))
    return {
        "added": tuple(name for name in local if name not in published),
        "changed": tuple(name for name in both if name not in same),
        "deleted": tuple(sorted({*published} - {*local} - HUB_FILES)),
        "same": same,
    }


def compare(folder: Path, published: Mapping[str, str], fetch: Callable[[str], Path]) -> Difference:
    """What publishing `folder` would change.

    `published`: a fingerprint by path; `fetch`: brings a published file and gives its path. Raises ValueError where the
    published manifest or table cannot be read.
    """
    now = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["configs"]
    before = configs_of(fetch("manifest.json")) if "manifest.json" in published else {}
    counts = []
    for config in dict.fromkeys((*now, *before)):
        for split in dict.fromkeys((*now.get(config, {}), *before.get(config, {}))):
            new, old = now.get(config, {}).get(split), before.get(config, {}).get(split)
            hashes = [entry and entry["sha256"] for entry in (old, new)]
            rows = [entry and entry["rows"] for entry in (old, new)]
            counts.append(Count(config, split, rows[0], rows[1], hashes[0] != hashes[1]))
    touched = {count.config for count in counts if count.changed and count.config in before}
    removed = {
        config: _removed(config, before[config], now.get(config, {}), folder, published, fetch) for config in sorted(touched)
    }
    return Difference(
        **file_changes(folder, published), counts=tuple(counts), removed={name: codes for name, codes in removed.items() if codes}
    )


def configs_of(manifest: Path) -> dict[str, dict[str, Any]]:
    """The configs that a published manifest lists. Raises ValueError where it is none of ours."""
    try:
        configs: dict[str, dict[str, Any]] = json.loads(manifest.read_text(encoding="utf-8"))["configs"]
        for splits in configs.values():
            for entry in splits.values():
                if not (isinstance(entry["rows"], int) and isinstance(entry["sha256"], str) and isinstance(entry["file"], str)):
                    raise TypeError("an entry lacks its rows, hash or file")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the published manifest.json is not one of a HELMbench dataset ({error})") from error
    return configs


def _removed(
    config: str,
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    folder: Path,
    published: Mapping[str, str],
    fetch: Callable[[str], Path],
) -> tuple[str, ...]:
    """Codes of a config that are published and not in the folder, in any split."""
    if missing := [entry["file"] for entry in before.values() if entry["file"] not in published]:
        raise ValueError(f"the published manifest.json names {missing[0]}, which is not published")
    old = [code for entry in before.values() for code in _codes(config, fetch(entry["file"]))]
    kept = {code for entry in now.values() for code in _codes(config, folder / entry["file"])}
    return tuple(sorted({*old} - kept))


def _codes(config: str, path: Path) -> list[str]:
    """What names the rows of a table: `P1-B1-S1 PT4`."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    if config not in KEYS:
        return []
    try:
        rows = parquet.read_table(path, columns=list(KEYS[config])).to_pylist()
        return [" ".join(str(row[name]) for name in KEYS[config]) for row in rows]
    except (pa.ArrowException, OSError, KeyError) as error:
        raise ValueError(f"the table {path.name} of {config} cannot be read ({type(error).__name__})") from error
