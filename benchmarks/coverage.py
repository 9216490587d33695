"""How often the figures of a run hold the truth, on a simulated respondent. `python benchmarks/coverage.py --only scores`

Arms: `scores` (95% intervals of overall, pillars, behaviors), `missing` (the same with missing verdicts, and the bounds),
`judges` (an imperfect judge: raw and corrected intervals), `compare` (two runs: false positives and power), `few` (false
positives by number of messages), `boards` (20 equal respondents; a run of low coverage), `floors` (cleared, not shown,
breached), `marks` (gap, effects, midpoints), `bounds` (scores near their bounds, beside the t interval). Prints JSON; shares in
percent.
`coverage_model.py` says what is simulated: the cases of `core`, verdict by verdict, scored by the scoring package itself.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from coverage_bounds import bounds_coverage
from coverage_compare import boards, comparisons
from coverage_few import few_messages
from coverage_floors import floor_states
from coverage_judges import judge_coverage
from coverage_marks import mark_coverage
from coverage_model import Sample, headline
from coverage_scores import missing_coverage, score_coverage

from helmbench_hf.content.load import default_root, load_benchmark
from helmbench_hf.dataset.design import designs
from helmbench_hf.tasks.expand import expand

TARGET = (93.0, 97.0)


def main() -> int:
    """Run the wanted arms; exit status 1 where `scores` is off target at any level (mean over the abilities)."""
    arguments = _arguments()
    benchmark = load_benchmark(default_root())
    plans = designs(benchmark, expand(benchmark))
    core = plans["core"]
    pairs, every = headline(benchmark, core), Sample(benchmark, core)
    arms: dict[str, tuple[Callable[[int, int], dict[str, Any]], int]] = {
        "scores": (lambda n, seed: score_coverage(pairs, n, seed), 600),
        "missing": (lambda n, seed: missing_coverage(pairs, n, seed), 300),
        "judges": (lambda n, seed: judge_coverage(pairs, n, seed), 300),
        "compare": (lambda n, seed: comparisons(pairs, n, seed), 600),
        "few": (lambda n, seed: few_messages(pairs, n, seed), 4000),
        "boards": (lambda n, seed: boards(pairs, n, seed), 200),
        "floors": (lambda n, seed: floor_states(benchmark, {name: plans[name] for name in ("core", "taxonomy")}, n, seed), 1000),
        "marks": (lambda n, seed: mark_coverage(every, n, seed), 300),
        "bounds": (lambda n, seed: bounds_coverage(pairs, n, seed), 300),
    }
    found: dict[str, Any] = {}
    for name in arguments.only or arms:
        run, replicates = arms[name]
        replicates = arguments.replicates or replicates
        started = time.process_time()
        result = run(replicates, arguments.seed)
        error = 100 * (0.95 * 0.05 / replicates) ** 0.5
        note = {"replicates": replicates, "seed": arguments.seed, "monte_carlo_error_at_95": round(error, 2)}
        found[name] = {**note, "cpu_seconds": round(time.process_time() - started), **_rounded(result)}
    print(json.dumps(found, indent=1))
    mean = found.get("scores", {}).get("mean", {})
    return 0 if all(TARGET[0] <= round(value, 1) <= TARGET[1] for value in mean.values()) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    names = ("scores", "missing", "judges", "compare", "few", "boards", "floors", "marks", "bounds")
    parser.add_argument("--only", nargs="*", choices=names, help="arms to run; none: all")
    parser.add_argument("--replicates", type=int, default=0, help="of every arm; 0: each arm's own number")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return {name: _rounded(item) for name, item in value.items()} if isinstance(value, dict) else value


if __name__ == "__main__":
    sys.exit(main())
