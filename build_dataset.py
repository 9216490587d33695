"""Build the HELMbench dataset from the authored files: `python build_dataset.py --out DIR`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from helmbench_hf.content.lint import check
from helmbench_hf.content.load import ContentError, default_root, load_benchmark
from helmbench_hf.dataset.build import build


def main() -> int:
    """Check the content, write the dataset, print what was written; 1 where the content has faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("dist/helmbench/v1"), help="folder to write (default: %(default)s)")
    parser.add_argument("--content", type=Path, default=default_root(), help="authored files (default: those of this checkout)")
    options = parser.parse_args()
    try:
        benchmark = load_benchmark(options.content)
        if problems := check(benchmark):
            raise ContentError(problems)
        built = build(benchmark, options.out)
    except (ContentError, FileExistsError) as error:
        print(error, file=sys.stderr)
        return 1
    for config, splits in built.manifest["configs"].items():
        for split, entry in splits.items():
            print(f"{config:14} {split:8} {entry['rows']:6} rows  {entry['sha256']}")
    print(f"written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
