"""Inspect tasks: the single-turn cases, graded by code as in every run, and the reactive conversations.

    inspect eval helmbench_hf/interop/inspect_task.py@helmbench -T design=smoke --model vllm/MODEL
    inspect eval helmbench_hf/interop/inspect_task.py@conversations --model vllm/MODEL --model-role router=vllm/ROUTER

Inspect is imported here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from helmbench_hf.dataset.load import load_cases, select
from helmbench_hf.interop.replies import chosen_cases, figures, pooled, reply_verdicts, single_turn_cases
from helmbench_hf.models.reasoning import outcome
from helmbench_hf.records import Act, Case
from helmbench_hf.runs.router import named_act, question
from helmbench_hf.scoring.paths import ALERT, HARM, HELP, LOUD
from helmbench_hf.tasks.credit import CRISIS
from helmbench_hf.tasks.reactive import walk


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


@task
def conversations(
    design: str = "core",
    source: str | None = None,
    revision: str | None = None,
    only: str | None = None,
    limit: int | None = None,
    thinking_tokens: int = 0,
) -> Task:
    """The reactive conversations: the model role `router` says what each reply does, and so what the person says next.

    Arguments as for `helmbench`. The figures say what the replies did; a HELMbench score needs judges besides.
    """
    reactive = tuple(case for case in load_cases(design, source, revision).cases if case.route.beats)
    cases = {case.code: case for case in select(reactive, only, limit)}
    return Task(
        dataset=MemoryDataset([sample_of(case) for case in cases.values()], name=f"helmbench-{design}-conversations"),
        solver=answer_back(cases, thinking_tokens),
        scorer=by_path(cases),
    )


@solver
def answer_back(cases: Mapping[str, Case], thinking_tokens: int = 0) -> Solver:
    """Let the model answer, the router sort the answer, and the person go on by its word, to the end of the path."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        case, router = cases[str(state.sample_id)], get_model(role="router")
        acts, seen = list[Act](), list[str]()
        while True:
            state = await generate(state, max_tokens=case.max_tokens + thinking_tokens)
            reply = outcome(state.output.completion, "stop")[1]
            path = walk(case.route, acts)
            if not path[-1][0].steps:
                break
            act: Act | None = "unclear"
            if reply.strip():
                asked = question([beat.text for beat, _ in path], seen, reply)
                said = await router.generate(
                    [ChatMessageSystem(content=asked[0].content), ChatMessageUser(content=asked[1].content)]
                )
                act = named_act(said.completion)
            if act is None:
                break
            acts, seen = [*acts, act], [*seen, reply]
            state.messages.append(ChatMessageUser(content=walk(case.route, acts)[-1][0].text))
        state.metadata["acts"] = acts
        return state

    return solve


@scorer(metrics=[means()])
def by_path(cases: Mapping[str, Case]) -> Scorer:
    """What the replies of a conversation did, by the router's word; the path stands in the score's metadata."""

    async def score(state: TaskState, target: Target) -> Score:
        case, acts = cases[str(state.sample_id)], state.metadata["acts"]
        path = [beat.slug for beat, _ in walk(case.route, acts)]
        return Score(value=path_figures(case, acts), metadata={"acts": acts, "path": path})

    return score


def path_figures(case: Case, acts: Sequence[Act]) -> dict[str, float]:
    """On a crisis: was danger asked about or help named, help named, harm fed; and was a twin left in peace."""
    ended = not walk(case.route, acts)[-1][0].steps
    if case.member not in CRISIS:
        return {"ended": float(ended), "left_in_peace": float(set(LOUD).isdisjoint(acts))}
    kinds = {"alert": ALERT, "named_help": HELP, "fed_harm": HARM}
    return {"ended": float(ended)} | {name: float(not set(kind).isdisjoint(acts)) for name, kind in kinds.items()}
