"""What prompt order and prefix caching save: depth-first order against shuffled, cache on and off, in a small KV cache.

    python benchmarks/caching.py                    four arms, seconds too: the demo model, four scenarios of `core`
    python benchmarks/caching.py --tiny --only "" --max-model-len 8192 --kv-tokens 65536 --arms ordered,shuffled --rounds 1
                                                    all of `core`: steps and tokens
    python benchmarks/caching.py --tiny --only "" --max-model-len 8192 --kv-tokens 0 --arms ordered --rounds 1 --tokens 16

Prompts are the first turns of real cases, answered with few tokens, so that reading prompts is the work. `ideal` is what an
unlimited cache would give; the goal is 0.95 of it in our order. Arms: ordered, shuffled, ordered_off, shuffled_off.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import Timed, alternate, conversations, distinct, engine_spec, loop, parser, setting, timed

from helmbench_hf.dataset.load import load_cases, select
from helmbench_hf.models.engine import Request
from helmbench_hf.models.vllm import CPU_BLOCK, VllmEngine
from helmbench_hf.runs.plan import ideal_cached

ARMS = ("ordered", "shuffled", "ordered_off", "shuffled_off")
SCENARIOS = "P1-B4-S2,P2-B2-S1,P2-B3-S1,P3-B5-S1"


def main() -> int:
    """Measure rounds of the chosen arms, print what each read and what the cache gave."""
    made = parser(__doc__)
    made.add_argument("--only", default=SCENARIOS, help='codes of core cases, commas between; "" for all')
    made.add_argument("--kv-tokens", type=int, default=4096, help="tokens that the KV cache holds; 0: what fits")
    made.add_argument("--max-model-len", type=int, default=2048, help="context window; the cache must hold one and a block")
    made.add_argument("--tokens", type=int, default=1, help="tokens of each answer at most")
    made.add_argument("--arms", default=",".join(ARMS), type=lambda text: text.split(","))
    made.add_argument("--block", type=int, default=CPU_BLOCK, help="tokens of a cache block")
    options = made.parse_args()
    if unknown := set(options.arms) - set(ARMS):
        made.error(f"there is no arm {', '.join(sorted(unknown))}; choose from {', '.join(ARMS)}")
    size = {"num_gpu_blocks_override": options.kv_tokens // options.block} if options.kv_tokens else {}
    spec = replace(engine_spec(options, block_size=options.block, **size), max_model_len=options.max_model_len)
    planned = distinct(conversations(select(load_cases("core").cases, options.only, None), spec))
    requests = [replace(request, sampling=replace(request.sampling, max_tokens=options.tokens)) for request in planned]
    engines = {
        cached: VllmEngine(replace(spec, extra={**spec.extra, "enable_prefix_caching": cached}))
        for cached in sorted({not arm.endswith("_off") for arm in options.arms})
    }
    for engine in engines.values():
        loop(engine, requests[:8])  # warm up
    rounds = alternate({arm: _arm(arm, engines, requests) for arm in options.arms}, options.rounds)
    ideal = _ideal(next(iter(engines.values())), requests)
    summary = {
        **setting(next(iter(engines.values()))),
        "cases": options.only or "all of core",
        "prompts": len(requests),
        "prompt_tokens": sum(len(request.tokens) for request in requests),
        "ideal_cached_tokens": ideal,
        "arms": {arm: _summary([each[arm] for each in rounds], ideal) for arm in options.arms},
        "rounds": [{name: arm.as_row() for name, arm in each.items()} for each in rounds],
    }
    print(json.dumps(summary, indent=1))
    return 0


def _arm(arm: str, engines: dict[bool, VllmEngine], requests: Sequence[Request]) -> Callable[[], Timed]:
    order = list(requests)
    if arm.startswith("shuffled"):
        random.Random(0).shuffle(order)
    engine = engines[not arm.endswith("_off")]
    return lambda: timed(engine, lambda: loop(engine, order))


def _ideal(engine: VllmEngine, requests: Sequence[Request]) -> int:
    """Tokens that an unlimited cache would give; `requests` in our order. A prompt over the context window is refused."""
    window, block = engine.describe().max_model_len, engine.describe().block_size
    return ideal_cached([request.tokens for request in requests if len(request.tokens) < window], block)


def _summary(rounds: Sequence[Timed], ideal: int) -> dict[str, Any]:
    """Medians over the rounds."""
    middle = {name: statistics.median(getattr(each, name) for each in rounds) for name in ("seconds", "steps", "cached_tokens")}
    return {**middle, "cached_over_ideal": round(middle["cached_tokens"] / ideal, 4)}


if __name__ == "__main__":
    sys.exit(main())
