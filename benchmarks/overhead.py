"""What our loop costs: wall time of `drive` with a journal over raw `LLM.generate`, on the same token ids.

    python benchmarks/overhead.py [--pairs 8] [--prompts 192] [--model PATH]

Both use one loaded engine, take turns in going first, and begin with an empty prefix cache. The goal is a median of at
most 1.05; single rounds scatter by 0.94 to 1.17 even on a quiet machine (engineering review, section 1).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helmbench_hf.demo_model import demo_model_path
from helmbench_hf.inference.chat import ChatTemplate
from helmbench_hf.inference.engine import EngineSpec, Message, Request, Sampling, drive
from helmbench_hf.inference.journal import Journal
from helmbench_hf.inference.keys import digest
from helmbench_hf.inference.vllm import VllmEngine
from helmbench_hf.records import Completion

SYSTEM = "You are the help desk of a small town library. " + "Members ask about loans, rooms, fees and events. " * 20
TOPICS = ("a lost card", "a late book", "a quiet room", "the reading group", "a wheelchair", "the printer", "a refund")


def main() -> int:
    """Measure pairs, print every ratio and the median."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--prompts", type=int, default=192)
    parser.add_argument("--model", default=None, help="a folder or Hub id; default: the demo model")
    parser.add_argument("--dtype", default="float32", help="bfloat16 is emulated, and slow, on CPUs without its instructions")
    options = parser.parse_args()
    model = options.model or str(demo_model_path())
    requests = make_requests(ChatTemplate.load(model), options.prompts)
    engine = VllmEngine(EngineSpec.parse(f"vllm:{model}", dtype=options.dtype))
    loop(engine, requests[:16])  # warm up
    rounds = []
    for number in range(options.pairs):
        order = (loop, raw) if number % 2 else (raw, loop)
        measured = {each.__name__: each(engine, requests) for each in order}
        (ours, our_tokens), (theirs, their_tokens) = measured["loop"], measured["raw"]
        rounds.append({"loop_s": round(ours, 2), "raw_s": round(theirs, 2), "ratio": round(ours / theirs, 3)})
        # greedy texts depend on the batch, and so do their lengths: the same work is the same number of tokens
        rounds[-1]["per_token_ratio"] = round((ours / our_tokens) / (theirs / their_tokens), 3)
        print(rounds[-1], file=sys.stderr, flush=True)
    summary = {
        "pairs": len(rounds),
        "prompts": options.prompts,
        "median_ratio": statistics.median(each["ratio"] for each in rounds),
        "median_per_token_ratio": statistics.median(each["per_token_ratio"] for each in rounds),
        "load_average": os.getloadavg()[0],
        "rounds": rounds,
    }
    print(json.dumps(summary, indent=1))
    return 0


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


def loop(engine: VllmEngine, requests: list[Request]) -> tuple[float, int]:
    """Time our way: the driver, a journal on disk; seconds and output tokens."""
    engine._llm.reset_prefix_cache()
    done: list[Completion] = []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, Journal.open(Path(folder), "bench") as journal:

        def save(completion: Completion) -> None:
            journal.append(completion)
            done.append(completion)

        drive(engine, requests, lambda request, completion: None, save)
    return time.perf_counter() - began, sum(each.output_tokens for each in done)


def raw(engine: VllmEngine, requests: list[Request]) -> tuple[float, int]:
    """Time vLLM's own way: one call of `LLM.generate`; seconds and output tokens."""
    engine._llm.reset_prefix_cache()
    began = time.perf_counter()
    outputs = engine._llm.generate(
        [{"prompt_token_ids": list(request.tokens)} for request in requests],
        [engine._sampling(request) for request in requests],
        use_tqdm=False,
    )
    seconds = time.perf_counter() - began
    return seconds, sum(len(output.outputs[0].token_ids) for output in outputs)


if __name__ == "__main__":
    sys.exit(main())
