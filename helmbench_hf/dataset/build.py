"""Write the dataset folder: parquet per config and split, card, manifest, licence, changelog."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset import rows as tables
from helmbench_hf.dataset.rows import Row
from helmbench_hf.matrix.design import designs
from helmbench_hf.matrix.expand import expand


@dataclass(frozen=True, slots=True)
class Built:
    """What was written: `manifest.json`'s content and the rows of every config and split."""

    manifest: dict[str, Any]
    rows: dict[str, dict[str, list[Row]]]


def tabulate(benchmark: Benchmark) -> dict[str, dict[str, list[Row]]]:
    """Rows by config and split. The same authored files always give the same rows in the same order."""
    by_design = designs(benchmark, expand(benchmark))
    configs: dict[str, list[Row]] = {
        name: [tables.case_row(case, benchmark) for case in by_design[name]] for name in tables.CASE_CONFIGS
    }
    configs |= {name: tables.component_rows(benchmark, name) for name in tables.COMPONENT_CONFIGS}
    return {name: by_split(name, rows) for name, rows in configs.items() if rows}


def manifest_of(benchmark: Benchmark, rows: dict[str, dict[str, list[Row]]]) -> dict[str, Any]:
    """What every file must hold: per config and split the number of rows, the hash of their content, the columns.

    Rows of components hold reviews, and their hashes say so. Rows of cases hold none: the hash of a design, which runs are
    compared by, stays what it is when somebody reviews an item.
    """
    return {
        "name": benchmark.file.name,
        "version": benchmark.file.version,
        "scoring_version": benchmark.scoring.version,
        "canary": benchmark.file.canary,
        **({"private": True} if benchmark.file.private else {}),
        "configs": {
            config: {
                split: {
                    "rows": len(items),
                    "sha256": tables.content_sha256(items),
                    "file": f"data/{config}/{split}-00000-of-00001.parquet",
                }
                for split, items in splits.items()
            }
            for config, splits in rows.items()
        },
        "columns": {
            config: {field.name: str(field.type) for field in tables.schema_of([r for s in splits.values() for r in s])}
            for config, splits in rows.items()
        },
    }


def build(benchmark: Benchmark, out: Path, *, gated: bool = False) -> Built:
    """Write the dataset into `out`, replacing an earlier build of it whole. `gated`: the card carries an access form's texts.

    Raises FileExistsError where `out` holds something that is not a HELMbench dataset.
    """
    import pyarrow.parquet as parquet

    from helmbench_hf.dataset.card import Sizes, card_text, citation, documents
    from helmbench_hf.dataset.croissant import croissant

    if out.exists() and not _may_replace(out):
        raise FileExistsError(f"{out} is there and no dataset of ours (no manifest.json of one); choose another --out")
    rows = tabulate(benchmark)
    manifest = manifest_of(benchmark, rows)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".building-") as name:
        folder = Path(name) / "dataset"
        sizes: Sizes = {config: {} for config in rows}
        for config, splits in rows.items():
            schema = tables.schema_of([row for items in splits.values() for row in items])
            for split, items in splits.items():
                path = folder / manifest["configs"][config][split]["file"]
                path.parent.mkdir(parents=True, exist_ok=True)
                table = tables.table_with(items, schema)
                parquet.write_table(table, path)
                sizes[config][split] = table.nbytes, path.stat().st_size
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        (folder / "README.md").write_text(card_text(benchmark, manifest, rows, sizes, gated), encoding="utf-8")
        cited = citation(benchmark)
        about = {"license": benchmark.file.license, "cite_as": cited["cite_as"], "creator": cited["authors"]}
        metadata = croissant(folder, manifest, about | {"published": cited["released"]})
        (folder / "croissant.json").write_text(json.dumps(metadata, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        for target, text in documents().items():
            (folder / target).write_text(text, encoding="utf-8")
        if out.exists():
            shutil.rmtree(out)
        folder.rename(out)
    return Built(manifest, rows)


def _may_replace(out: Path) -> bool:
    """An empty folder, or one whose manifest is a dataset's: other things have a manifest.json too."""
    if not out.is_dir() or out.is_symlink():
        return False
    try:
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return not any(out.iterdir())
    return isinstance(manifest, dict) and {"canary", "scoring_version", "configs"} <= set(manifest)


def by_split(config: str, rows: list[Row]) -> dict[str, list[Row]]:
    """The rows of a config by split, in their order."""
    if config not in tables.SPLIT_CONFIGS:
        return {"test": rows}
    parts = {split: [row for row in rows if row["split"] == split] for split in ("test", "heldout")}
    return {split: items for split, items in parts.items() if items}
