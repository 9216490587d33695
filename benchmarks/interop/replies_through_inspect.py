"""Inspect: our task over replies that are given. Arguments: the file of replies, the file to write."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from inspect_ai import eval as inspect_eval
from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, get_model, modelapi

from helmbench_hf.interop.inspect_task import helmbench
from helmbench_hf.interop.replies import single_turn_cases

GIVEN: dict[tuple[str, ...], str] = {}
"""By the texts of a prompt, the reply."""


@modelapi(name="replies")
class Replies(ModelAPI):  # type: ignore[misc]
    """Gives the reply that belongs to a prompt; a prompt that is not ours is an error."""

    def __init__(self, model_name: str, config: GenerateConfig | None = None, **_: Any) -> None:
        super().__init__(model_name, config=config or GenerateConfig())

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> Any:  # noqa: A002 (named by Inspect)
        return ModelOutput.from_content(self.model_name, GIVEN[tuple(message.text for message in input)])


def main() -> None:
    """Run the task, then read its log."""
    given = json.loads(Path(sys.argv[1]).read_text())
    for code, case in single_turn_cases(given["design"]).items():
        GIVEN[tuple(text for text in (case.system, case.turns[0]) if text)] = given["replies"][code]
    [log] = inspect_eval(
        helmbench(design=given["design"]), model=get_model("replies/given"), display="none", log_dir="logs", score_display=False
    )
    if log.status != "success":
        raise SystemExit(f"{log.status}: {log.error}")
    samples = log.samples or []
    figures = {sample.id: sample.scores["by_code"].value for sample in samples}
    messages = {sample.id: [[each.role, each.text] for each in sample.input] for sample in samples}
    [scores] = log.results.scores
    pooled = {name: metric.value for name, metric in scores.metrics.items()}
    Path(sys.argv[2]).write_text(json.dumps({"figures": figures, "pooled": pooled, "messages": messages}))


if __name__ == "__main__":
    main()
