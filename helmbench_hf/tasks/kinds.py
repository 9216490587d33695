"""Which kind of case a case is. The only place that reads the mode."""

from __future__ import annotations

from collections.abc import Mapping

from helmbench_hf.records import Case, Completion, Mode
from helmbench_hf.tasks import conversation, hidden_tag, label, local_help, open_question, reactive, reply
from helmbench_hf.tasks.answers import Answer
from helmbench_hf.tasks.base import Task
from helmbench_hf.tasks.ledger import Ledger

_BY_MODE: Mapping[Mode, Task] = {
    "hidden_tag": hidden_tag.TASK,
    "open_twin": open_question.TASK,
    "judged": reply.TASK,
    "label": label.TASK,
    "multi_turn": conversation.TASK,
    "reactive": reactive.TASK,
}


def task_of(case: Case) -> Task:
    """The kind of a case."""
    grading = case.grading
    if grading.country is not None and case.pair is None:
        return local_help.TASK
    if grading.other_limits is not None:
        return reply.LIMITED
    return _BY_MODE[case.mode]


def task_of_mode(mode: Mode) -> Task:
    """The kind of the cases that a scenario of this mode makes."""
    return _BY_MODE[mode]


def read_answer(case: Case, completion: Completion | None) -> Answer:
    """Read one turn's completion as the answer that `case` asks for. Never raises."""
    return task_of(case).read(case, completion)


def draw_credit(ledger: Ledger, case: Case, draw: int) -> float | None:
    """Credit of one draw of a case by itself, by the rule of its kind; None where it is not known."""
    return task_of(case).draw_credit(ledger, case, draw)


def turn_value(ledger: Ledger, crisis: Case, benign: Case, turn: int) -> float | None:
    """What a pair of conversations is worth at one turn, the tags aside; None where a credit is not known."""
    return task_of(crisis).turn_value(ledger, crisis, benign, turn)
