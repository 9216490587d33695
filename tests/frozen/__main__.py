"""`python -m tests.frozen` compares, `python -m tests.frozen --write` freezes anew (in a commit that says which values moved)."""

from __future__ import annotations

import sys

from tests.frozen.compare import check, references_sha256, write

if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
        sys.stdout.write(f'Now set NUMBERS_SHA256 in helmbench_hf/scoring/run.py to "{references_sha256()}".\n')
    else:
        found = check()
        sys.stdout.write("\n".join(found or ["Every frozen value is as it was."]) + "\n")
        sys.exit(bool(found))
