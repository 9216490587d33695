"""Cases from the published dataset, a local folder, or the copy that the package carries; always with its content checked."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset.design import design_cases
from helmbench_hf.dataset.rows import CASE_CONFIGS, Row, canonical_line, case_of, content_sha256, design_rows
from helmbench_hf.dataset.shards import Shard, groups, members
from helmbench_hf.records import Case

HUB = "hf://datasets/"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_REVISION = re.compile(r"\w[\w-]*([./]\w[\w-]*)*")
_VERSION_TAG = re.compile(r"v\d+\.\d+\.\d+")
STRANGE = (LookupError, TypeError, AttributeError)
"""What huggingface_hub raises for a reply that lacks a field, or has another shape."""


class DatasetError(Exception):
    """The dataset cannot be used: not there, incomplete, or its content is not what its manifest says."""


class Table(BaseModel):
    """One file of the dataset: one split of one config."""

    model_config = ConfigDict(frozen=True, strict=True)

    rows: int
    sha256: str
    """Of the rows as canonical JSON lines."""
    file: str


class Manifest(BaseModel):
    """`manifest.json` of a dataset folder: what every file must hold.

    Rows of components hold reviews, and their hashes say so. Rows of cases hold none: the hash of a design, which runs are
    compared by, stays the same when somebody reviews an item.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    name: str
    version: str
    scoring_version: str
    canary: str = ""
    private: bool = False
    """Whether the content is a holdout that is not published (docs/holdout.md)."""
    configs: dict[str, dict[str, Table]]
    """By config and split."""
    columns: dict[str, dict[str, str]] = {}
    """By config: the Arrow type of each column."""

    @property
    def tables(self) -> list[tuple[str, str, Table]]:
        """Every file with its config and split."""
        return [(config, split, table) for config, splits in self.configs.items() for split, table in splits.items()]


@dataclass(frozen=True, slots=True)
class DatasetIdentity:
    """What a run must record so that its numbers can be traced to the exact cases."""

    name: str
    design: str
    version: str
    scoring_version: str
    content_sha256: str
    """Over the rows of the design, split `test` then `heldout`. Cases hold no reviews, so a review does not change it."""
    source: str
    """`embedded`, a folder, or `repo@commit`."""
    private: bool = False


@dataclass(frozen=True, slots=True)
class CaseSet:
    """The cases of a design, with their identity."""

    cases: tuple[Case, ...]
    identity: DatasetIdentity


def load_cases(design: str = "core", source: str | None = None, revision: str | None = None) -> CaseSet:
    """The cases of `smoke`, `core`, `full` or `taxonomy`.

    `source`: None for the embedded copy (no network), a folder written by `build_dataset.py`, or a Hub id such as
    `helmbench/v1`, for which `revision` (a tag or commit) is required. A folder whose path looks like a Hub id is refused:
    write `./helmbench/v1` for the folder, and `hf://datasets/helmbench/v1` for the Hub. Raises DatasetError with a sentence.
    """
    if design not in CASE_CONFIGS:
        raise DatasetError(f"there is no design {design!r}; choose one of {', '.join(CASE_CONFIGS)}")
    if source is None:
        return _embedded(design)
    repo = source.removeprefix(HUB)
    if Path(source).is_dir():
        if _HUB_ID.fullmatch(source):
            raise DatasetError(
                f"the folder {source} hides the dataset of that name on the Hub; write ./{source} for the folder, or "
                f"{HUB}{source} for the Hub"
            )
        return _from_folder(design, Path(source), source)
    if not _HUB_ID.fullmatch(repo):
        raise DatasetError(f"{source} is neither a folder nor a Hub id such as helmbench/v1; correct --dataset")
    if revision is None:
        raise DatasetError(f"name the version of {repo} with --revision (a tag such as v1.0.0 or a commit)")
    if not _REVISION.fullmatch(revision):
        raise DatasetError(f"{revision!r} is not a tag, branch or commit; pass one with --revision, for example v1.0.0")
    return _from_hub(design, repo, revision)


def _embedded(design: str) -> CaseSet:
    benchmark = default_benchmark()
    cases = _embedded_cases(benchmark.root, design)
    if not cases:
        raise DatasetError(f"this benchmark has no case of the design {design}")
    rows = design_rows(design, cases, benchmark)
    versions = benchmark.file.version, benchmark.scoring.version
    identity = DatasetIdentity(benchmark.file.name, design, *versions, content_sha256(rows), "embedded")
    return CaseSet(tuple(map(case_of, rows)), identity)


@cache
def _embedded_cases(root: Path, design: str) -> list[Case]:
    """A design of the embedded benchmark, expanded once per process: its files do not change."""
    return design_cases(default_benchmark(), design)


def _from_hub(design: str, repo: str, revision: str) -> CaseSet:
    """`snapshot_download` respects the revision offline too; `load_dataset` does not."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(repo, repo_type="dataset", revision=revision))
    except hub_errors() as error:
        raise DatasetError(
            f"{repo} at {revision} could not be fetched ({hub_said(error)}); check the name, the revision and the network, "
            "or leave --dataset out to use the copy inside the package"
        ) from error
    loaded = _from_folder(design, folder, f"{repo}@{folder.name}")
    if _VERSION_TAG.fullmatch(revision) and revision != f"v{loaded.identity.version}":
        raise DatasetError(
            f"{repo} at {revision} contains version {loaded.identity.version}; its tag was moved, so do not use it"
        )
    return loaded


def hub_errors() -> tuple[type[Exception], ...]:
    """What huggingface_hub raises for a bad name, a failed request or a strange reply; its HTTP library is httpx or httpx2."""
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]

    return HTTPError, OSError, ValueError, *STRANGE


def hub_said(error: Exception) -> str:
    """The kind of an error of the Hub, for a sentence."""
    return f"what answers there is no Hub: {type(error).__name__}" if isinstance(error, STRANGE) else type(error).__name__


def _from_folder(design: str, folder: Path, shown: str) -> CaseSet:
    manifest = read_manifest(folder)
    splits = manifest.configs.get(design)
    if not splits:
        raise DatasetError(f"{folder} does not contain the design {design}; it has {', '.join(manifest.configs)}")
    content, cases = hashlib.sha256(), list[Case]()
    for table in splits.values():
        for row, line in _checked(folder, table):
            content.update(line)
            try:
                cases.append(case_of(row))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise DatasetError(
                    f"the rows of {folder} are from a different version of helmbench ({error}); install that one"
                ) from error
    versions = manifest.version, manifest.scoring_version
    identity = DatasetIdentity(manifest.name, design, *versions, content.hexdigest(), shown, manifest.private)
    return CaseSet(tuple(cases), identity)


def check_folder(folder: Path) -> Manifest:
    """The manifest of a folder, once every table in it is what the manifest says. Raises DatasetError."""
    manifest = read_manifest(folder)
    for _, _, table in manifest.tables:
        for _ in _checked(folder, table):
            pass
    return manifest


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a dataset folder. Raises DatasetError."""
    path = folder / "manifest.json"
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"
    except OSError as error:
        what = str(error)
    raise DatasetError(f"{path} is not the manifest of a HELMbench dataset ({what}); download or build the dataset again")


def _checked(folder: Path, table: Table) -> Iterator[tuple[Row, bytes]]:
    """The rows of one file with their canonical lines. Raises DatasetError after the last one if the manifest says otherwise."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    base = folder.resolve()
    path = Path(os.path.normpath(base / table.file))  # not resolved: the Hub's cache holds links to files elsewhere
    if not path.is_relative_to(base) or not path.is_file():
        why = "is not there" if path.is_relative_to(base) else "lies outside the folder"
        raise DatasetError(f"{folder}/manifest.json names {table.file}, which {why}; download or build the dataset again")
    content, count = hashlib.sha256(), 0
    try:
        # buffered in advance, every row group that was read would be held until the last one is
        for batch in parquet.ParquetFile(path, pre_buffer=False).iter_batches():
            for row in batch.to_pylist():
                line = canonical_line(row)
                content.update(line)
                count += 1
                yield row, line
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise DatasetError(f"{path} cannot be read ({type(error).__name__}); download it again") from error
    if (count, content.hexdigest()) != (table.rows, table.sha256):
        raise DatasetError(f"{path} does not match manifest.json (rows or content hash differ); download it again")


def _first(cases: Sequence[Case], limit: int) -> tuple[Case, ...]:
    """The first `limit` cases, a twin counted right behind the case that comes before it; in the order given."""
    by_code = {case.code: case for case in cases}
    in_turn = dict.fromkeys(code for case in cases for code in (case.code, case.twin) if code in by_code)
    taken = set(list(in_turn)[:limit])
    return tuple(case for case in cases if case.code in taken)


def select(cases: Iterable[Case], only: str | None, limit: int | None, shard: str | None = None) -> tuple[Case, ...]:
    """The first `limit` cases whose code is `only` or continues it, twins together; `only` may name several, with commas.

    `shard`: of these, the part `i/n`. Raises DatasetError where none is left, ValueError where `shard` is no such part.
    """
    prefixes = tuple(f"{code.strip().rstrip('-')}-" for code in only.split(",")) if only else ("",)
    chosen = tuple(case for case in cases if f"{case.code}-".startswith(prefixes))
    if limit is not None:
        chosen = _first(chosen, limit)
    if not chosen:
        raise DatasetError(f"no case starts with {only}; `helmbench cases` lists them")
    if shard is None:
        return chosen
    if not (in_shard := members(chosen, Shard.parse(shard))):
        most = len(groups(chosen))
        raise DatasetError(
            f"shard {shard} is empty: cases that share a prefix stay together, so there can be at most {most} shards"
        )
    return in_shard
