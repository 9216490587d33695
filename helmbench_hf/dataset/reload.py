"""Read a built folder back with `datasets`, as its users will: a card that does not fit its tables is found before a release."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helmbench_hf.dataset.load import DatasetError
from helmbench_hf.dataset.rows import content_sha256

_TYPES = {"float64": "double"}


def check_reload(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Raises DatasetError where a config does not load by its name with the rows, types and hashes of the manifest.

    Contacts no host. Every config is read whole into a cache of its own.
    """
    import datasets

    # a load is counted on a server of its own, not on the endpoint (research/hf.md, 4.4)
    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False
    datasets.disable_progress_bars()
    for config, splits in manifest["configs"].items():
        with tempfile.TemporaryDirectory() as cache:
            try:
                loaded = datasets.load_dataset(str(folder.resolve()), config, cache_dir=cache)
            except Exception as error:  # datasets has no common base of its errors
                raise DatasetError(f"{folder} does not load as {config} ({type(error).__name__}: {error})") from error
            if {split: table.num_rows for split, table in loaded.items()} != {split: e["rows"] for split, e in splits.items()}:
                raise DatasetError(f"the card of {folder} gives other splits of {config} than manifest.json")
            for split, table in loaded.items():
                if _types(table.features) != manifest["columns"][config]:
                    raise DatasetError(f"the card of {folder} gives other columns of {config} than manifest.json")
                if content_sha256(table.to_list()) != splits[split]["sha256"]:
                    raise DatasetError(f"{config} {split} of {folder} is not what manifest.json says once it is loaded")


def _types(features: Mapping[str, Any]) -> dict[str, str]:
    """Features in the words of the manifest."""
    found = {}
    for name, feature in features.items():
        inner = getattr(feature, "feature", None)
        kind = (inner or feature).dtype
        found[name] = f"list<item: {kind}>" if inner is not None else _TYPES.get(kind, kind)
    return found
