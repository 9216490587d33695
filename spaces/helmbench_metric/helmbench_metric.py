"""HELMbench's code graders as a metric of the library `evaluate`: raw answers and case codes in, figures with their n out."""

import datasets
import evaluate

from helmbench_hf.interop.replies import FIGURES, grade_reply, pooled, single_turn_cases

_DESCRIPTION = "What code decides about answers to the single-turn cases of HELMbench. No score comes out: that needs judges."
_INPUTS = (
    "predictions: the raw answers, as the model wrote them. references: the codes of the cases that they answer, such as "
    "P1-B1-S1-C1-U11-PT4. Options of compute: design (core), source and revision of the dataset, as for load_cases. Gives the "
    "mean of each figure and its n: "
) + "; ".join(f"{name}: {meaning}" for name, meaning in FIGURES.items())


class HelmbenchMetric(evaluate.Metric):
    """Thin: every decision is made in helmbench_hf."""

    def _info(self):
        columns = {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation="",
            inputs_description=_INPUTS,
            features=datasets.Features(columns),
            license="Apache-2.0",
        )

    def _compute(self, predictions, references, design="core", source=None, revision=None):
        cases = single_turn_cases(design, source, revision)
        unknown = next((code for code in references if code not in cases), None)
        if unknown is not None:
            raise ValueError(f"{unknown} is no single-turn case of the design {design}; `helmbench cases` lists the cases")
        return pooled(grade_reply(cases[code], text) for code, text in zip(references, predictions, strict=True))
