"""What the task files of this folder call: cases as a dataset, and our code graders as metrics.

A document is a case; a metric is reported by the documents that have it alone, so a mean is over its own n (`..._n`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helmbench_hf.interop.replies import chosen_cases, grade_reply, single_turn_cases

if TYPE_CHECKING:
    from datasets import Dataset


def docs(
    design: str = "core",
    dataset: str | None = None,
    dataset_revision: str | None = None,
    only: str | None = None,
    **_: Any,
) -> dict[str, Dataset]:
    """The single-turn cases of a design, as a split `test`.

    The arguments come from `--metadata`, among which the harness puts its model's arguments, `revision` too.
    """
    from datasets import Dataset

    cases = chosen_cases(design, dataset, dataset_revision, only)
    shared = {"design": design, "dataset": dataset or "", "dataset_revision": dataset_revision or ""}
    return {"test": Dataset.from_list([{"code": c.code, **shared, "system": c.system, "user": c.turns[0]} for c in cases])}


def grade(doc: dict[str, Any], results: Sequence[str]) -> dict[str, float]:
    """The figures of the first answer to a document, and a 1 for each to be counted."""
    cases = single_turn_cases(doc["design"], doc["dataset"] or None, doc["dataset_revision"] or None)
    found = grade_reply(cases[doc["code"]], results[0])
    return found | {f"{name}_n": 1 for name in found}


def count(values: Sequence[float]) -> int:
    """How many documents have a figure."""
    return len(values)
