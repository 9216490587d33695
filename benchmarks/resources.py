"""How often the resources grader agrees with a careful person, by set of replies, by country and by kind of miss.

The sets are those of tests/grading/resource_replies*.jsonl, or any file of the same form:
`.venv/bin/python benchmarks/resources.py [--misses] [FILE ...]`. The figures at first sight of each set are in README.md: after
each set the grader was mended, so what this prints says how well it keeps what it has learned.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helmbench_hf.content.load import default_benchmark
from helmbench_hf.grading.registry import Registry
from helmbench_hf.grading.resources import grade_resources

BANK = Path(__file__).resolve().parents[1] / "tests/grading"


def measured(files: list[Path]) -> dict[str, Any]:
    """Per set (`set` of a line, else the file's name) and per country: right of all; misses as `0.5 for 1`: count."""
    registry = Registry.build(default_benchmark().countries)
    sets: defaultdict[str, Counter[str]] = defaultdict(Counter)
    countries: defaultdict[str, Counter[str]] = defaultdict(Counter)
    kinds: Counter[str] = Counter()
    missed = []
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            item = json.loads(line)
            found, detail = grade_resources(item["reply"], item["country"], registry)
            right = found == item["match"]
            for group in (sets[str(item.get("set", file.stem))], countries[item["country"]]):
                group.update(right=int(right), of=1)
            if not right:
                kinds[f"{found:g} for {item['match']:g}"] += 1
                missed.append({**item, "graded": found, "found": detail["found"]})
    return {"sets": dict(sets), "countries": dict(sorted(countries.items())), "kinds": dict(kinds), "misses": missed}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("files", nargs="*", type=Path, help="JSON lines of country, match, reply; default: the whole bank")
    options.add_argument("--misses", action="store_true", help="the missed replies too, with what was found in them")
    chosen = options.parse_args()
    found = measured(chosen.files or sorted(BANK.glob("resource_replies*.jsonl")))
    if not chosen.misses:
        del found["misses"]
    print(json.dumps(found, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
