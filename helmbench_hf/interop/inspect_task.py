"""An Inspect task: the single-turn cases, graded by code as in every run.

    inspect eval helmbench_hf/interop/inspect_task.py -T design=smoke --model vllm/MODEL

Inspect is imported here and nowhere else.
"""

from __future__ import annotations

from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from helmbench_hf.interop.replies import chosen_cases, figures, pooled, reply_verdicts, single_turn_cases
from helmbench_hf.records import Case


@task
def helmbench(
    design: str = "core",
    source: str | None = None,
    revision: str | None = None,
    only: str | None = None,
    limit: int | None = None,
    thinking_tokens: int = 0,
) -> Task:
    """The single-turn cases of a design. Arguments as for `load_cases` and `helmbench run`.

    `thinking_tokens` are added to every budget, for models that reason before they answer.
    """
    cases = chosen_cases(design, source, revision, only, limit)
    return Task(
        dataset=MemoryDataset([sample_of(case) for case in cases], name=f"helmbench-{design}"),
        solver=within_budget(thinking_tokens),
        scorer=by_code(design, source, revision),
    )


def sample_of(case: Case) -> Sample:
    """A case as a sample; its id is the case's code."""
    system = [ChatMessageSystem(content=case.system)] if case.system else []
    return Sample(id=case.code, input=[*system, ChatMessageUser(content=case.turns[0])], metadata={"max_tokens": case.max_tokens})


@solver
def within_budget(thinking_tokens: int = 0) -> Solver:
    """Ask once, with the case's own token budget."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return await generate(state, max_tokens=state.metadata["max_tokens"] + thinking_tokens)

    return solve


@metric
def means() -> Metric:
    """The mean of every figure over the samples that have it, with its n."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        return pooled(each.score.as_dict() for each in scores)

    return compute


@scorer(metrics=[means()])
def by_code(design: str = "core", source: str | None = None, revision: str | None = None) -> Scorer:
    """The code graders; the verdicts stand in the score's metadata."""

    async def score(state: TaskState, target: Target) -> Score:
        case = single_turn_cases(design, source, revision)[str(state.sample_id)]
        text, end = state.output.completion, state.output.stop_reason
        verdicts = reply_verdicts(case, text, end in ("max_tokens", "model_length"), end == "content_filter")
        rows: list[dict[str, Any]] = [
            {"criterion": each.criterion, "status": each.status, "value": each.value} for each in verdicts
        ]
        return Score(value=dict(figures(case, verdicts)), answer=text, metadata={"verdicts": rows})

    return score
