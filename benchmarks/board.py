"""The board with many invented runs on the cells of core: how long its tables take to prepare and its pages to show.

`--models N` (200), `--no-browser`. Prints JSON. Scores are those of a simulated respondent with random pairs, so ranks and
intervals mean nothing; sizes are those of real runs.
"""

from __future__ import annotations

import argparse
import atexit
import copy
import json
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helmbench_hf.cli.scores import expected
from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.leaderboard import pages
from helmbench_hf.leaderboard.collect import Accepted
from helmbench_hf.leaderboard.data import Data, prepare
from helmbench_hf.leaderboard.marks import Marks
from helmbench_hf.leaderboard.query import Query
from helmbench_hf.leaderboard.transcripts import Index, write_index
from helmbench_hf.records import Case
from helmbench_hf.report.assemble import policy_rows, transcripts
from helmbench_hf.report.model import Transcript
from helmbench_hf.scoring.result import to_json
from helmbench_hf.scoring.run import score

QUERIES = {
    "board": Query(),
    "sorted": Query(sort="alarms"),
    "parts": Query(view="parts"),
    "scatter": Query(view="scatter"),
    "compare": Query(view="compare"),
    "model": Query(view="model"),
    "transcripts": Query(view="transcripts", read=True),
    "narrowed": Query(view="transcripts", read=True, outcome="not-passed", page=20),
    "case": Query(view="transcripts", read=True),
}
PAINT = "performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--no-browser", action="store_true")
    chosen = parser.parse_args()
    cases = load_cases("core").cases
    rows, base = policy_rows(*expected(cases)), simulated(cases)
    runs = [invented(base, number) for number in range(chosen.models)]
    found: dict[str, Any] = {"models": chosen.models, "pairs": sum(pair["headline"] for pair in runs[0].scores["pairs"])}
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("prepare_first_seconds", "prepare_again_seconds"):
            began = time.perf_counter()
            data = prepare(runs, [], Marks(), lambda design: rows, stores=(Path(scratch),))
            found[name] = round(time.perf_counter() - began, 2)
    runs.clear()
    found["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    index, found["index"] = answered(cases)
    first, second = (entry.run for entry in data.groups[0].entries[:2])
    for name, query in QUERIES.items():
        if query.view == "transcripts":
            query = replace(query, models=(first,), second=second, case=cases[-1].code if name == "case" else "")
        times, size = [], 0
        for _ in range(5):
            began = time.perf_counter()
            size = len(pages.render(data, query, lambda entry: index)[1].encode())
            times.append(1000 * (time.perf_counter() - began))
        found[f"render_{name}"] = {"median_ms": round(statistics.median(times), 1), "kib": size // 1024}
    if not chosen.no_browser:
        found["browser"] = painted(data, index)
    print(json.dumps(found, indent=1))


def simulated(cases: Sequence[Case]) -> dict[str, Any]:
    """Scores of a simulated respondent."""
    from coverage_model import JUDGE, Sample

    sample, drawn = Sample(default_benchmark(), cases), np.random.default_rng(0)
    verdicts = sample.verdicts(sample.draw(0.5, 1, drawn, None)[0].tolist())
    return to_json(score(cases, verdicts, benchmark=sample.benchmark, judges=[JUDGE], design="core"))


def invented(base: dict[str, Any], number: int) -> Accepted:
    """A run of a model of that number, better or worse than the others by chance."""
    from tests.leaderboard.boards import manifest

    drawn, scores = random.Random(number), copy.deepcopy(base)
    skill = drawn.uniform(-0.3, 0.6)
    for pair in scores["pairs"]:
        pair["value"] = min(1.0, max(-1.0, drawn.gauss(skill, 0.5)))
    for group in (scores["headline"]["overall"], *scores["pillars"], *scores["behaviors"]):
        group["score"]["value"] = drawn.gauss(skill, 0.05)
    for point in scores["operating"]:
        for name in ("sensitivity", "false_alarms"):
            point[name]["hits"] = drawn.randint(0, point[name]["n"])
    described = manifest(f"owner-{number % 17}/model-{number}", number)
    return Accepted(Path("nowhere"), f"{number:064x}", described, scores, ())


def answered(cases: Sequence[Case]) -> tuple[Index, dict[str, Any]]:
    """Transcripts of one run of three answers a case, with a long answer and four verdicts each; stands for any run."""
    began = time.perf_counter()
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path, drawn = Path(folder.name) / "index.sqlite", random.Random(0)

    def rows() -> Iterator[Transcript]:
        for draw in range(3):
            for entry in transcripts(cases, {}, [], default_benchmark(), draw):
                text = " ".join(f"word{drawn.randrange(5000)}" for _ in range(250))
                entry["replies"] = [{"text": text, "status": "ok"} for _ in entry["turns"]]
                entry["verdicts"] = [
                    {"criterion": f"K{number}", "title": "A criterion", "grader": "judge", "status": "scored", "kind": "credit",
                     "value": drawn.choice((0.0, 0.5, 1.0)), "detail": {"quote": text[:80]}}
                    for number in range(4)
                ]  # fmt: skip
                yield entry

    write_index(path, rows(), {case.code: case.twin for case in cases if case.twin})
    made = {"answers": 3 * len(cases), "seconds": round(time.perf_counter() - began, 2), "kib": path.stat().st_size // 1024}
    return Index(path), made


def painted(data: Data, index: Index) -> dict[str, Any]:
    """First paint of the board, and from a key on a column's head to the sorted table's first paint, in a real browser."""
    from tests.leaderboard.boards import served, visiting
    from tests.report.browser import chromium

    first, sort = [], []
    with served(data, index=lambda entry: index) as address, chromium() as browser:
        for _ in range(5):
            with visiting(browser, address) as seen:
                seen.open()
                while not (times := seen.page.evaluate(PAINT)):
                    seen.page.wait_for_timeout(10)
                first += times
                link = seen.page.get_by_role("columnheader", name="False alarms").get_by_role("link")
                began = time.perf_counter()
                link.press("Enter")
                seen.page.wait_for_url("**sort=alarms**", wait_until="domcontentloaded")
                seen.page.locator("th[aria-sort]").wait_for()
                sort.append(1000 * (time.perf_counter() - began))
    return {"first_paint_ms": round(statistics.median(first)), "sort_ms": round(statistics.median(sort))}


if __name__ == "__main__":
    main()
