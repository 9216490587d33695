"""Write the dataset folder, know which commit it was built from, and read it back as its users will."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.card import Sizes, card_text, citation, documents
from helmbench_hf.dataset.croissant import croissant
from helmbench_hf.dataset.design import designs
from helmbench_hf.dataset.load import DatasetError, Manifest, Table
from helmbench_hf.dataset.rows import (
    CASE_CONFIGS,
    COMPONENT_CONFIGS,
    Tables,
    by_split,
    case_row,
    column_types,
    component_rows,
    content_sha256,
    schema_of,
)
from helmbench_hf.tasks.expand import expand

SHOWN = 5
"""Changed files that a refusal names."""


class SourceError(Exception):
    """The files that a release is built from are not what a commit holds. The message is a sentence."""


@dataclass(frozen=True, slots=True)
class Built:
    """What was written: the manifest, and the rows by config and split."""

    manifest: Manifest
    rows: Tables


def tabulate(benchmark: Benchmark) -> Tables:
    """Rows by config and split. The same authored files always give the same rows in the same order."""
    by_design = designs(benchmark, expand(benchmark))
    configs = {name: [case_row(case, benchmark) for case in by_design[name]] for name in CASE_CONFIGS}
    configs |= {name: component_rows(benchmark, name) for name in COMPONENT_CONFIGS}
    return {name: by_split(name, rows) for name, rows in configs.items() if rows}


def build(benchmark: Benchmark, out: Path, *, gated: bool = False) -> Built:
    """Write the dataset into `out`; an earlier build there is replaced entirely. `gated`: the card has an access form's texts.

    Raises FileExistsError where `out` holds something that is not a HELMbench dataset.
    """
    if out.exists() and not _may_replace(out):
        raise FileExistsError(
            f"{out} exists and is not a HELMbench dataset (it has no dataset manifest.json); choose another --out"
        )
    rows = tabulate(benchmark)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".building-") as name:
        folder = Path(name) / "dataset"
        manifest, sizes = _write_tables(folder, benchmark, rows)
        plain = manifest.model_dump(exclude_defaults=True)
        texts = {
            "manifest.json": json.dumps(plain, indent=2, ensure_ascii=False) + "\n",
            "README.md": card_text(benchmark, manifest, rows, sizes, gated),
            "croissant.json": json.dumps(croissant(folder, manifest, citation(benchmark)), indent=1, ensure_ascii=False) + "\n",
            **documents(),
        }
        for target, text in texts.items():
            (folder / target).write_text(text, encoding="utf-8")
        if out.exists():
            shutil.rmtree(out)
        folder.rename(out)
    return Built(manifest, rows)


def _write_tables(folder: Path, benchmark: Benchmark, rows: Tables) -> tuple[Manifest, Sizes]:
    """Write the parquet file of every config and split."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    configs: dict[str, dict[str, Table]] = {}
    columns: dict[str, dict[str, str]] = {}
    sizes: Sizes = {}
    for config, splits in rows.items():
        schema = schema_of([row for items in splits.values() for row in items])
        columns[config] = column_types(schema)
        configs[config], sizes[config] = {}, {}
        for split, items in splits.items():
            file = f"data/{config}/{split}-00000-of-00001.parquet"
            table = pa.Table.from_pylist(items, schema=schema)
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            parquet.write_table(table, folder / file)
            configs[config][split] = Table(rows=len(items), sha256=content_sha256(items), file=file)
            sizes[config][split] = table.nbytes, (folder / file).stat().st_size
    manifest = Manifest(
        name=benchmark.file.name,
        version=benchmark.file.version,
        scoring_version=benchmark.scoring.version,
        canary=benchmark.file.canary,
        private=benchmark.file.private,
        configs=configs,
        columns=columns,
    )
    return manifest, sizes


def _may_replace(out: Path) -> bool:
    """Whether it is an empty folder, or one whose manifest is a dataset's: other things have a manifest.json too."""
    if not out.is_dir() or out.is_symlink():
        return False
    try:
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return not any(out.iterdir())
    return isinstance(manifest, dict) and {"canary", "scoring_version", "configs"} <= set(manifest)


def check_reload(folder: Path, manifest: Manifest) -> None:
    """Load every config with `datasets`, as users will: a card that does not fit its tables is found before a release.

    Raises DatasetError where a config does not load by its name with the rows, types and hashes of the manifest. Contacts no
    host; every config goes into a cache of its own.
    """
    import datasets

    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False  # counting contacts a host that is not the endpoint
    datasets.disable_progress_bars()
    for config, splits in manifest.configs.items():
        with tempfile.TemporaryDirectory() as cache:
            try:
                loaded = datasets.load_dataset(str(folder.resolve()), config, cache_dir=cache)
            except Exception as error:  # the errors of datasets have no common base
                raise DatasetError(f"{folder} does not load as {config} ({type(error).__name__}: {error})") from error
            if {split: found.num_rows for split, found in loaded.items()} != {split: each.rows for split, each in splits.items()}:
                raise DatasetError(f"the card of {folder} gives different splits for {config} than manifest.json does")
            for split, found in loaded.items():
                if column_types(found.features.arrow_schema) != manifest.columns[config]:
                    raise DatasetError(f"the card of {folder} gives different columns for {config} than manifest.json does")
                if content_sha256(found.to_list()) != splits[split].sha256:
                    raise DatasetError(f"{config} {split} of {folder}, once loaded, does not match manifest.json")


def build_inputs(content: Path) -> list[Path]:
    """What the bytes of a dataset depend on: the authored files, and the code and texts of this checkout."""
    checkout = Path(__file__).resolve().parents[2]
    names = ("helmbench_hf", "build_dataset.py", "dataset_card.md", "CHANGELOG.md", "LICENSE-CONTENT")
    return [content, *(path for name in names if (path := checkout / name).exists())]


def clean_commit(paths: list[Path]) -> str:
    """The commit that holds the first of `paths`, once every one of them is as its own checkout committed it.

    Raises SourceError where one is in no git checkout, or has changes or new files that no commit holds, even ignored ones.
    """
    commits = []
    for path in paths:
        folder = path if path.is_dir() else path.parent
        commits.append(_git(folder, "rev-parse", "HEAD").strip())
        listed = _git(folder, "status", "--porcelain", "--ignored", "--untracked-files=all", "--", str(path.resolve()))
        if changed := [line[3:] for line in listed.splitlines() if "__pycache__" not in line]:
            others = f" and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
            raise SourceError(
                f"{path} differs from its git commit ({', '.join(changed[:SHOWN])}{others}); commit or remove the changes, "
                "then publish"
            )
    return commits[0]


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise SourceError(f"git cannot be run ({error.strerror}); a release is built from a git checkout") from error
    if done.returncode:
        raise SourceError(f"{folder} is not in a git checkout with a commit; a release is built from one")
    return done.stdout
