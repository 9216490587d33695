"""Throughput of the journal: appending with its real sync policy, and reading back with every checksum verified.

    python benchmarks/journal.py                     20,000 answers of 2,000 characters, on the disk of --folder

The disk matters for the syncs: give --folder on the one that runs will be written to.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Write, read, print JSON."""
    from helmbench_hf.records import Completion
    from helmbench_hf.runs.journal import Journal

    options = _options()
    text = ('The card is lost, and I am worried about you: "please" ring 116 123.\n' * options.characters)[: options.characters]
    with tempfile.TemporaryDirectory(prefix="helm-journal-", dir=options.folder) as folder:
        began = time.monotonic()
        with Journal.open(Path(folder), "benchmark") as journal:
            for number in range(options.records):
                journal.append(Completion(f"{number:064x}", f"P1-B1-S1-C1-U11-PT4/t1/d{number}", "ok", text, prompt_sha="0" * 64))
        written = time.monotonic() - began
        size = journal.path.stat().st_size / 1e6
        began = time.monotonic()
        records = Journal.read(Path(folder))
        read = time.monotonic() - began
    if len(records) != options.records or records.passed.places:
        sys.exit("what was written was not read")
    found = {
        "records": options.records,
        "megabytes": round(size, 1),
        "append_mb_per_s": round(size / written, 1),
        "append_records_per_s": round(options.records / written),
        "read_mb_per_s": round(size / read, 1),
        "read_records_per_s": round(options.records / read),
    }
    print(json.dumps(found, indent=1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--characters", type=int, default=2_000, help="of each answer's text")
    parser.add_argument("--folder", type=Path, help="where to write (default: the temporary folder)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
