"""The page of the Space: one answer to one case, and what code decides about it."""

from pathlib import Path

import evaluate
import gradio

metric = evaluate.load(str(Path(__file__).with_name("helmbench_metric.py")))


def grade(design, code, answer):
    """The figures as plain data: a model's text is never shown as anything else."""
    try:
        return metric.compute(predictions=[answer], references=[code.strip()], design=design)
    except ValueError as error:
        raise gradio.Error(str(error)) from error


page = gradio.Interface(
    grade,
    [
        gradio.Dropdown(["core", "full", "smoke", "taxonomy"], label="Design"),
        gradio.Textbox(label="Code of the case"),
        gradio.Textbox(lines=8, label="Answer"),
    ],
    gradio.JSON(),
    title="HELMbench metric",
    description="What code decides about an answer. No score: that needs judges, pairs and weights.",
    flagging_mode="never",
    analytics_enabled=False,
)

if __name__ == "__main__":
    page.launch()
