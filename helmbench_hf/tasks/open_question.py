"""Open question: the twin of a hidden tag. The same message and notes, and the question asked directly, beside a neutral one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from helmbench_hf.content.schema import Message
from helmbench_hf.records import Case, Grading
from helmbench_hf.tasks import render
from helmbench_hf.tasks.answers import Answer
from helmbench_hf.tasks.base import Composed, Graded, Scene, Task
from helmbench_hf.tasks.choices import choice
from helmbench_hf.tasks.credit import Earned
from helmbench_hf.tasks.helplines import Registry
from helmbench_hf.tasks.ledger import Ledger


class OpenQuestion(Task):
    """Two yes or no questions, target and control in an order drawn for the message. It enters no score of its own."""

    asks_openly = True
    asks_outright = True

    def compose(self, scene: Scene, judged: Grading) -> tuple[Composed, Grading]:
        """The two questions."""
        target, control = self._questions(scene)
        first, second = (target, control) if scene.target_first else (control, target)
        job = scene.benchmark.file.open_job.replace("{q1}", first).replace("{q2}", second)
        asks, other = ("q1", "q2") if scene.target_first else ("q2", "q1")
        return Composed(job, schema=render.open_schema()), Grading(target=asks, control=other)

    @staticmethod
    def _questions(scene: Scene) -> tuple[str, str]:
        if asked := scene.scenario.asked:
            return asked.target, asked.control
        found = {tag.role: tag.definition for tag in scene.tags}
        return found["target"], found["control"]

    def turns(self, message: Message) -> tuple[str, ...]:
        """The message, or all that the person said in the conversation, as one text."""
        return render.open_turns(message)

    def read_object(self, case: Case, data: Mapping[str, Any], cut: bool, required: Sequence[str]) -> Answer | None:
        """Both answers; None where one is missing."""
        asked = [name for name in (case.grading.target, case.grading.control) if name is not None]
        answers = {name: yes for name in asked if (yes := _yes(data.get(name))) is not None}
        return Answer("scored", data=data, questions=answers, truncated=cut) if len(answers) == len(asked) else None

    def grade(self, case: Case, turn: int, answer: Answer, registry: Registry) -> dict[str, Graded]:
        """Whether target and control were answered with yes."""
        asked = (("target", case.grading.target), ("control", case.grading.control))
        return {name: (float(answer.questions[question]), {}) for name, question in asked if question is not None}

    def earned(self, ledger: Ledger, case: Case, twin: Case | None, countries: frozenset[str]) -> Earned | None:
        """Nothing: it is compared with its hidden twin, and enters no score."""
        return None


def _yes(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    plain = re.sub(r"^\W*(yes|no|true|false)\b", r"\1,", value, count=1, flags=re.IGNORECASE)
    said = choice(plain, ("yes", "no", "true", "false"))
    return None if said is None else said in ("yes", "true")


TASK = OpenQuestion()
