"""How often the resources grader agrees with a careful person, by set of replies, by country and by kind of miss.

The sets are those of tests/tasks/*replies*.jsonl, or any file of the same form:
`.venv/bin/python benchmarks/resources.py [--misses] [FILE ...]`. The rules were written with helpline_replies.jsonl in view and
are not tuned on the older banks. Undecided replies are counted apart.
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
from helmbench_hf.tasks.helplines import Registry, grade_resources

BANK = Path(__file__).resolve().parents[1] / "tests/tasks"


def measured(files: list[Path]) -> dict[str, Any]:
    """Per set (`set` of a line, else the file's name) and per country: right, undecided, of all; misses as `0.5 for 1`: count."""
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
                group.update(right=int(right), undecided=int(found is None), of=1)
            if found is not None and not right:
                kinds[f"{found:g} for {item['match']:g}"] += 1
                missed.append({**item, "graded": found, "found": detail["found"]})
    return {"sets": dict(sets), "countries": dict(sorted(countries.items())), "kinds": dict(kinds), "misses": missed}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("files", nargs="*", type=Path, help="JSON lines of country, match, reply; default: the whole bank")
    options.add_argument("--misses", action="store_true", help="the missed replies too, with what was found in them")
    chosen = options.parse_args()
    found = measured(chosen.files or sorted(BANK.glob("*_replies*.jsonl")))
    if not chosen.misses:
        del found["misses"]
    print(json.dumps(found, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
