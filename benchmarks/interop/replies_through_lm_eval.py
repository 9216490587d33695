"""lm-evaluation-harness: our task folder over replies that are given. Arguments: the file of replies, the file to write."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

import helmbench_hf

TASKS = {"core": "helmbench", "smoke": "helmbench_smoke"}


class Replies(LM):  # type: ignore[misc]
    """Gives the reply of a document's case, and keeps the messages that it was asked with."""

    tokenizer_name = "none"

    def __init__(self, replies: dict[str, str]) -> None:
        super().__init__()
        self._replies = replies
        self.messages: dict[str, list[list[str]]] = {}

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        return json.dumps([[message["role"], message["content"]] for message in chat_history])

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
        for request in requests:
            self.messages[request.doc["code"]] = json.loads(request.args[0])
        return [self._replies[request.doc["code"]] for request in requests]

    def loglikelihood(self, requests: Any, disable_tqdm: bool = False) -> Any:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: Any, disable_tqdm: bool = False) -> Any:
        raise NotImplementedError


def main() -> None:
    """Run the task, then read its samples."""
    given = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(helmbench_hf.__file__).parent / "interop" / "lm_eval" / "helmbench"
    model, task = Replies(given["replies"]), TASKS[given["design"]]
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    found = simple_evaluate(model=model, tasks=[task], task_manager=manager, apply_chat_template=True, bootstrap_iters=0)
    figures = {
        sample["doc"]["code"]: {name: sample[name] for name in sample["metrics"] if not name.endswith("_n")}
        for sample in found["samples"][task]
    }
    results = found["results"][task]
    names = {name for row in figures.values() for name in row}
    pooled = {key: results[f"{key},none"] for name in names for key in (name, f"{name}_n")}
    Path(sys.argv[2]).write_text(json.dumps({"figures": figures, "pooled": pooled, "messages": model.messages}))


if __name__ == "__main__":
    main()
