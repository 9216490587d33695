"""Cases from the published dataset, a local folder, or the copy that the package carries; always with its content checked."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset import shards
from helmbench_hf.dataset.rows import CASE_CONFIGS, Row, canonical_line, case_of, content_sha256
from helmbench_hf.records import Case

HUB = "hf://datasets/"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_REVISION = re.compile(r"\w[\w-]*([./]\w[\w-]*)*")
_VERSION_TAG = re.compile(r"v\d+\.\d+\.\d+")
BATCH = 2_000
"""Rows that are decoded at a time."""


class DatasetError(Exception):
    """The dataset cannot be used: not there, incomplete, or its content is not what its manifest says."""


@dataclass(frozen=True, slots=True)
class DatasetIdentity:
    """What a run must record so that its numbers can be traced to the exact cases."""

    name: str
    design: str
    version: str
    scoring_version: str
    content_sha256: str
    """Over the rows of the design, split `test` then `heldout`. A case says nothing of reviews, so none changes it."""
    source: str
    """`embedded`, a folder, or `repo@commit`."""
    private: bool = False
    """Whether the content is a holdout that is not published (docs/holdout.md)."""


class Cases(Protocol):
    """Cases that can be counted and gone through again: a tuple, or a `CaseStore`."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Case]: ...


Kept = TypeVar("Kept", bound=Cases)
Keep = Callable[[Iterator[Case]], Kept]
"""Puts cases away as they come."""


@dataclass(frozen=True, slots=True)
class CaseSet:
    """The cases of a design, with their identity."""

    cases: tuple[Case, ...]
    identity: DatasetIdentity


def load_cases(design: str = "core", source: str | None = None, revision: str | None = None) -> CaseSet:
    """The cases of `smoke`, `core` or `full`.

    `source`: None for the embedded copy (no network), a folder written by `build_dataset.py`, or a Hub id such as
    `helmbench/v1`, for which `revision` (a tag or commit) is required. A folder that has the form of a Hub id is refused: it
    is written `./helmbench/v1`, and the Hub's dataset `hf://datasets/helmbench/v1`. Raises DatasetError in sentences.
    """
    return CaseSet(*read_cases(tuple, design, source, revision, shared={}))


def read_cases(
    keep: Keep[Kept],
    design: str,
    source: str | None = None,
    revision: str | None = None,
    *,
    shared: dict[Any, Any] | None = None,
) -> tuple[Kept, DatasetIdentity]:
    """What `keep` makes of the cases as they are read, and their identity. Source and errors are those of `load_cases`.

    `keep` goes through them to the end: the content of a table is known to be right behind its last row. `shared`: see
    `case_of`.
    """
    if design not in CASE_CONFIGS:
        raise DatasetError(f"there is no design {design!r}; choose one of {', '.join(CASE_CONFIGS)}")
    if source is None:
        return _embedded(keep, design, shared)
    repo = source.removeprefix(HUB)
    if Path(source).is_dir():
        if _HUB_ID.fullmatch(source):
            raise DatasetError(
                f"the folder {source} hides the dataset of that name on the Hub; write ./{source} for the folder, or "
                f"{HUB}{source} for the Hub"
            )
        return _from_folder(keep, design, Path(source), source, shared)
    if not _HUB_ID.fullmatch(repo):
        raise DatasetError(f"{source} is neither a folder nor a Hub id such as helmbench/v1; correct --dataset")
    if revision is None:
        raise DatasetError(f"name the version of {repo} with --revision (a tag such as v1.0.0 or a commit)")
    if not _REVISION.fullmatch(revision):
        raise DatasetError(f"{revision!r} is no tag, branch or commit; give --revision one such as v1.0.0")
    return _from_hub(keep, design, repo, revision, shared)


def _embedded(keep: Keep[Kept], design: str, shared: dict[Any, Any] | None) -> tuple[Kept, DatasetIdentity]:
    from helmbench_hf.dataset.build import by_split
    from helmbench_hf.dataset.rows import case_row

    benchmark, cases = default_benchmark(), _designs_of(default_benchmark().root)[design]
    if not cases:
        raise DatasetError(f"this benchmark has no case of the design {design}")
    splits = by_split(design, [case_row(case, benchmark) for case in cases])
    rows = [row for items in splits.values() for row in items]
    identity = DatasetIdentity(
        name=benchmark.file.name,
        design=design,
        version=benchmark.file.version,
        scoring_version=benchmark.scoring.version,
        content_sha256=content_sha256(rows),
        source="embedded",
    )
    return keep(case_of(row, shared) for row in rows), identity


@cache
def _designs_of(root: Path) -> dict[str, list[Case]]:
    """The designs of the embedded benchmark, expanded once a process: the authored files do not change under it."""
    from helmbench_hf.matrix.design import designs
    from helmbench_hf.matrix.expand import expand

    return designs(default_benchmark(), expand(default_benchmark()))


def _from_hub(
    keep: Keep[Kept], design: str, repo: str, revision: str, shared: dict[Any, Any] | None
) -> tuple[Kept, DatasetIdentity]:
    """`snapshot_download` honors the revision offline too; `load_dataset` does not (research/hf.md, 1.3)."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(repo, repo_type="dataset", revision=revision))
    except hub_errors() as error:
        raise DatasetError(
            f"{repo} at {revision} could not be fetched ({hub_said(error)}); check the name, the revision and the network, "
            "or leave --dataset out to use the copy inside the package"
        ) from error
    kept, identity = _from_folder(keep, design, folder, f"{repo}@{folder.name}", shared)
    if _VERSION_TAG.fullmatch(revision) and revision != f"v{identity.version}":
        raise DatasetError(f"{repo} at {revision} holds version {identity.version}; its tag was moved, do not use it")
    return kept, identity


STRANGE = (LookupError, TypeError, AttributeError)
"""What huggingface_hub stumbles over in a reply that lacks a field, or is of another shape."""


def hub_errors() -> tuple[type[Exception], ...]:
    """What huggingface_hub raises for a bad name, a failed request or a strange reply; its HTTP library is httpx or httpx2."""
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]

    return HTTPError, OSError, ValueError, *STRANGE


def hub_said(error: Exception) -> str:
    """The kind of an error of the Hub, for a sentence."""
    return f"what answers there is no Hub: {type(error).__name__}" if isinstance(error, STRANGE) else type(error).__name__


def check_folder(folder: Path) -> dict[str, Any]:
    """The manifest of a folder, once every table in it is what the manifest says. Raises DatasetError."""
    manifest = _manifest(folder)
    for config, splits in manifest["configs"].items():
        if not isinstance(splits, dict) or not splits:
            raise DatasetError(f"{folder}/manifest.json does not describe {config}; build the dataset again")
        for split, entry in splits.items():
            for _ in _checked(folder, split, entry, lambda _: None):
                pass
    return manifest


def _from_folder(
    keep: Keep[Kept], design: str, folder: Path, shown: str, shared: dict[Any, Any] | None
) -> tuple[Kept, DatasetIdentity]:
    manifest = _manifest(folder)
    splits = manifest["configs"].get(design)
    if not splits:
        raise DatasetError(f"{folder} holds no design {design}; it has {', '.join(manifest['configs'])}")
    if not isinstance(splits, dict):
        raise DatasetError(f"{folder}/manifest.json does not describe {design}; download or build the dataset again")
    whole = hashlib.sha256()
    kept = keep(_decoded(folder, splits, whole.update, shared))
    identity = DatasetIdentity(
        name=manifest["name"],
        design=design,
        version=manifest["version"],
        scoring_version=manifest["scoring_version"],
        content_sha256=whole.hexdigest(),
        source=shown,
        private=manifest.get("private") is True,
    )
    return kept, identity


def _decoded(
    folder: Path, splits: Mapping[str, Any], hashed: Callable[[bytes], None], shared: dict[Any, Any] | None
) -> Iterator[Case]:
    try:
        for split, entry in splits.items():
            for row in _checked(folder, split, entry, hashed):
                yield case_of(row, shared)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DatasetError(f"the rows of {folder} are of another version of helmbench ({error}); install that one") from error


def _checked(folder: Path, split: str, entry: Any, hashed: Callable[[bytes], None]) -> Iterator[Row]:
    """The rows of one file, batch by batch; an error behind the last one if the file is not what the manifest says."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path = _path(folder, split, entry)
    own, count = hashlib.sha256(), 0
    try:
        # buffered in advance, every row group that was read would be held until the last one is
        for batch in parquet.ParquetFile(path, pre_buffer=False).iter_batches(BATCH):
            for row in batch.to_pylist():
                line = canonical_line(row)
                own.update(line)
                hashed(line)
                count += 1
                yield row
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise DatasetError(f"{path} cannot be read ({type(error).__name__}); download it again") from error
    if count != entry["rows"] or own.hexdigest() != entry["sha256"]:
        raise DatasetError(f"{path} is not what manifest.json says ({split}: rows or content hash differ); download it again")


def _path(folder: Path, split: str, entry: Any) -> Path:
    """Where the file of a split lies."""
    named = f"{folder}/manifest.json"
    if not isinstance(entry, dict) or not isinstance(entry.get("file"), str) or not {"rows", "sha256"} <= set(entry):
        raise DatasetError(f"{named} does not describe its split {split}; download or build the dataset again")
    base = folder.resolve()
    path = Path(os.path.normpath(base / entry["file"]))  # not resolved: the Hub's cache holds links to files elsewhere
    if not path.is_relative_to(base):
        raise DatasetError(f"{named} names {entry['file']}, which lies outside the folder; download or build the dataset again")
    if not path.is_file():
        raise DatasetError(f"{named} names {entry['file']}, which is not there; download or build the dataset again")
    return path


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        if isinstance(manifest["configs"], dict) and {"name", "version", "scoring_version"} <= set(manifest):
            return manifest
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DatasetError(
            f"{folder} has no readable manifest.json ({error}); is it a folder made by build_dataset.py?"
        ) from error
    raise DatasetError(f"{folder}/manifest.json lacks its identity; build the dataset again")


def select(cases: Iterable[Case], only: str | None, limit: int | None, shard: str | None = None) -> tuple[Case, ...]:
    """The cases whose code is `only`, or continues it, the first `limit` of them; commas stand between several.

    `shard`: of these, the part `i/n` (`dataset/shards.py`). DatasetError where none is left, ValueError where `shard` is none.
    """
    return select_into(tuple, cases, only, limit, shard)


def select_into(keep: Keep[Kept], cases: Iterable[Case], only: str | None, limit: int | None, shard: str | None = None) -> Kept:
    """What `keep` makes of the cases that `select` takes; `cases` are gone through once, to the end."""
    chosen = keep(_named(cases, only, limit))
    if not chosen:
        raise DatasetError(f"no case starts with {only}; `helmbench cases` lists them")
    if shard is None:
        return chosen
    part = keep(shards.members(chosen, shards.Shard.parse(shard)))
    if not part:
        most = len(shards.groups(chosen))
        raise DatasetError(f"shard {shard} is empty: what shares a prefix stays together, so {most} shards hold all there is")
    return part


def _named(cases: Iterable[Case], only: str | None, limit: int | None) -> Iterator[Case]:
    prefixes = tuple(f"{part.strip().rstrip('-')}-" for part in only.split(",")) if only else ("",)
    taken = 0
    for case in cases:
        if (limit is None or taken < limit) and f"{case.code}-".startswith(prefixes):
            taken += 1
            yield case
