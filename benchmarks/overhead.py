"""What our loop costs: wall time of `drive` with a journal over raw `LLM.generate`, on the same token ids.

    python benchmarks/overhead.py [--rounds 8] [--prompts 192] [--model PATH]

Both use one loaded engine, take turns in going first, and begin with an empty prefix cache. The goal is a median of at
most 1.05; single rounds scatter by 0.94 to 1.17 even on a quiet machine (engineering review, section 1).
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import Timed, alternate, completions, engine_spec, generate, loop, parser, setting, timed

from helmbench_hf.hashing import digest
from helmbench_hf.models.chat import ChatTemplate
from helmbench_hf.models.engine import Message, Request, Sampling
from helmbench_hf.models.vllm import VllmEngine

SYSTEM = "You are the help desk of a small town library. " + "Members ask about loans, rooms, fees and events. " * 20
TOPICS = ("a lost card", "a late book", "a quiet room", "the reading group", "a wheelchair", "the printer", "a refund")


def main() -> int:
    """Measure pairs, print every ratio and the median."""
    made = parser(__doc__, rounds=8)
    made.add_argument("--prompts", type=int, default=192)
    options = made.parse_args()
    spec = engine_spec(options)
    requests = make_requests(ChatTemplate.load(spec.model), options.prompts)
    engine = VllmEngine(spec)
    loop(engine, requests[:16])  # warm up
    arms = {
        "raw": lambda: timed(engine, lambda: completions(requests, generate(engine, requests))),
        "loop": lambda: timed(engine, lambda: loop(engine, requests)),
    }
    rounds = [_ratios(each["loop"], each["raw"]) for each in alternate(arms, options.rounds)]
    summary = {
        **setting(engine),
        "pairs": len(rounds),
        "prompts": options.prompts,
        "median_ratio": statistics.median(each["ratio"] for each in rounds),
        "median_per_token_ratio": statistics.median(each["per_token_ratio"] for each in rounds),
        "rounds": rounds,
    }
    print(json.dumps(summary, indent=1))
    return 0


def _ratios(ours: Timed, theirs: Timed) -> dict[str, float]:
    ratio = ours.seconds / theirs.seconds
    # greedy texts depend on the batch, and so do their lengths: the same work is the same number of tokens
    per_token = ratio * theirs.output_tokens / ours.output_tokens
    return {
        "loop_s": round(ours.seconds, 2),
        "raw_s": round(theirs.seconds, 2),
        "ratio": round(ratio, 3),
        "per_token_ratio": round(per_token, 3),
        "loop_steps": ours.steps,
        "raw_steps": theirs.steps,
    }


def make_requests(chat: ChatTemplate, count: int) -> list[Request]:
    """Make prompts that share a long head, with budgets as uneven as real answers (lognormal, 6 to 192 tokens)."""
    dice = random.Random(0)
    requests = []
    for number in range(count):
        text = f"Message {number}: write to me about {dice.choice(TOPICS)} and about {dice.choice(TOPICS)}."
        messages = (Message("system", SYSTEM), Message("user", text))
        budget = int(min(192, max(6, dice.lognormvariate(3.2, 1.0))))
        key = digest([number])
        requests.append(Request(key, str(number), messages, chat.render(messages), Sampling(max_tokens=budget)))
    return requests


if __name__ == "__main__":
    sys.exit(main())
