"""What code can decide about an answer: usable or not, tags, open questions, labels, keyed task fields, helplines."""

from __future__ import annotations

from typing import Any

from helmbench_hf.records import NO_DETAIL, Case, Completion, Verdict, VerdictStatus
from helmbench_hf.tasks.answers import Answer
from helmbench_hf.tasks.helplines import Registry
from helmbench_hf.tasks.kinds import read_answer, task_of

GRADER = "code"


def code_verdicts(case: Case, turn: int, draw: int, completion: Completion | None, registry: Registry) -> list[Verdict]:
    """Grade one turn's completion (None: it is missing) by code.

    The first verdict is `answer`: scored 1.0 where the answer is usable, `model_failure` with `detail.reason` in empty |
    truncated | unparseable | reasoning_truncated | withheld, or `engine_failure` with the reason missing | refused |
    engine_error; both without a value. Only a usable answer has further verdicts. A free reply that met the token limit and
    holds text is usable and graded, with `detail.truncated`; cut JSON is not. Where code can't decide whether the helplines fit,
    `resources` is a `judge_failure` without a value, with the reason `undecided`: it lowers coverage and is never a 0.
    """
    answer = read_answer(case, completion)
    key = completion.key if completion else ""

    def verdict(criterion: str, value: float | None, detail: dict[str, Any] | None = None) -> Verdict:
        status: VerdictStatus = "scored" if value is not None else "judge_failure"
        return Verdict(case.code, turn, draw, criterion, GRADER, status, value, detail or NO_DETAIL, key)

    if not answer.usable:
        failure = {"reason": answer.reason}
        return [Verdict(case.code, turn, draw, "answer", GRADER, answer.status, None, failure, key)]
    found = [verdict("answer", 1.0, _notes(answer))]
    for criterion, (value, detail) in task_of(case).grade(case, turn, answer, registry).items():
        found.append(verdict(criterion, value, detail))
    return found


def _notes(answer: Answer) -> dict[str, Any]:
    """What is worth knowing about a usable answer; nothing, mostly."""
    notes: dict[str, Any] = {}
    if answer.truncated:
        notes["truncated"] = True
    if answer.missing:
        notes["missing"] = list(answer.missing)
    return notes
