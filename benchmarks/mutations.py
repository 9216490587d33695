"""Random damage to a small valid submission, signed again where that can be done: none may crash `verify`, and none may be
accepted with other numbers. `--count N` (10,000), `--first SEED` (0).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support import mutations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        original = mutations.small(Path(scratch))
        began, cpu = time.monotonic(), time.process_time()
        outcome = mutations.run(original, Path(scratch) / "damaged", range(chosen.first, chosen.first + chosen.count))
        seconds = {"wall_seconds": round(time.monotonic() - began, 1), "cpu_seconds": round(time.process_time() - cpu, 1)}
    counts = {"tried": outcome.tried, "accepted_with_other_numbers": outcome.changed, "accepted": dict(outcome.accepted)}
    print(json.dumps({**counts, "rejected": dict(outcome.rejected.most_common()), **seconds}, indent=1))
    sys.exit(1 if outcome.changed else 0)


if __name__ == "__main__":
    main()
