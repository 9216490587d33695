"""From rows to numbers, by the code that grades and scores every run: what `submit` exports and `verify` compares with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.identity import calibration
from helmbench_hf.generate.turns import Conversations, Settings, turn_name
from helmbench_hf.grading.exchanges import exchanges
from helmbench_hf.grading.judge import verdict
from helmbench_hf.grading.registry import Registry
from helmbench_hf.grading.run import by_code, judge_info, questions
from helmbench_hf.inference.chat import ServerTemplate
from helmbench_hf.inference.engine import Message
from helmbench_hf.inference.keys import KeyContext, digest
from helmbench_hf.records import Case, Completion, Verdict
from helmbench_hf.scoring.claims import cite
from helmbench_hf.scoring.result import to_json
from helmbench_hf.scoring.run import score
from helmbench_hf.scoring.verdicts import Panel

ENDED = ("refused", "engine_error")
"""No answer came."""
LAST = (*ENDED, "withheld")
"""No turn of a conversation comes after these."""


@dataclass(slots=True)
class Answers:
    """The planned requests of a run, found among its rows by their keys."""

    by_name: dict[str, Completion] = field(default_factory=dict)
    """Under the name of every conversation that has it."""
    names: dict[str, str] = field(default_factory=dict)
    """By key, the canonical name: that of the first conversation in the plan."""
    budgets: dict[str, int] = field(default_factory=dict)
    """By key, the most tokens that the answer may have."""
    prompts: dict[str, str] = field(default_factory=dict)
    """By key, the hash of the messages that were put."""
    ended: list[tuple[str, str]] = field(default_factory=list)
    """(name, reason) of planned answers that there cannot be: refused, failed, or after such a turn or a withheld one."""
    missing: list[str] = field(default_factory=list)
    """Names of planned answers that should be there."""


def find_answers(cases: Sequence[Case], context: KeyContext, settings: Settings, rows: Mapping[str, Completion]) -> Answers:
    """Walk every conversation of the plan from its first key, each answer leading to the next turn's."""
    found, ends = Answers(), dict[tuple[str, int], str]()
    for asked in Conversations(cases, ServerTemplate(), context, settings, rows).reached():
        turn, completion = asked.turn, rows.get(asked.key)
        found.names.setdefault(asked.key, turn.name)
        found.budgets[asked.key] = turn.case.max_tokens + settings.thinking_tokens
        found.prompts[asked.key] = messages_sha(asked.messages)
        if completion is None:
            ends[turn.case.code, turn.draw] = "missing"
            continue
        found.by_name[turn.name] = completion
        if completion.status in LAST:
            ends[turn.case.code, turn.draw] = completion.status
    for case in cases:
        for draw in range(settings.draws):
            _note_ends(found, case, draw, ends.get((case.code, draw), ""))
    return found


def _note_ends(found: Answers, case: Case, draw: int, end: str) -> None:
    for number in range(1, len(case.turns) + 1):
        name = turn_name(case.code, number, draw)
        completion = found.by_name.get(name)
        if completion is not None and completion.status in ENDED:
            found.ended.append((name, completion.status))
        elif completion is None and end in LAST:
            found.ended.append((name, "earlier_turn"))
        elif completion is None:
            found.missing.append(name)


def messages_sha(messages: Sequence[Message]) -> str:
    """Hash of a conversation as it was put."""
    return digest([[message.role, message.content] for message in messages])


@dataclass(slots=True)
class Judged:
    """What a judge was to decide, and what its answers amount to."""

    names: dict[str, str] = field(default_factory=dict)
    """By key, the canonical name of the call."""
    prompts: dict[str, str] = field(default_factory=dict)
    """By key, the hash of the messages that were put."""
    verdicts: list[Verdict] = field(default_factory=list)


def find_judged(
    row: Mapping[str, Any],
    cases: Sequence[Case],
    answers: Answers,
    draws: int,
    said: Mapping[str, Completion],
    benchmark: Benchmark,
) -> Judged:
    """Every call of one judge by key, and each verdict as the parser gives it for the judge's answer and this very reply."""
    found = Judged()
    for reply, code, asked in questions(row, exchanges(cases, answers.by_name, draws), benchmark):
        for ask, key in asked:
            found.names.setdefault(key, ask.name)
            found.prompts[key] = messages_sha(ask.messages)
        found.verdicts.append(verdict(reply, code, row["id"], asked, said))
    return found


def code_verdicts(cases: Sequence[Case], answers: Answers, draws: int, benchmark: Benchmark) -> Iterator[Verdict]:
    """What code decides on every planned reply."""
    return by_code(cases, answers.by_name, Registry.build(benchmark.countries), draws)


def find_scores(
    cases: Sequence[Case],
    verdicts: Sequence[Verdict],
    judges: Sequence[Mapping[str, Any]],
    checks: Mapping[str, Mapping[str, Any]],
    *,
    benchmark: Benchmark,
    draws: int,
    design: str,
    content_sha256: str,
    panel: str,
) -> dict[str, Any]:
    """The whole of `scores.json` as plain JSON. `judges`: rows of `judge.json`; `checks`: by name.

    Raises ScoringError where the verdicts contradict themselves or the plan.
    """
    rows = [dict(row) for row in judges]
    # in one expression, so that neither the records nor their copy as JSON values live beside what is read back
    written = json.dumps(
        to_json(
            score(
                cases,
                verdicts,
                benchmark=benchmark,
                judges=tuple(map(judge_info, rows)),
                draws=draws,
                design=design,
                content_sha256=content_sha256,
                rubric=rows[0]["rubric"] if rows else {},
                claims=cite(checks, rows, calibration(benchmark) if checks else None),
                panel=cast("Panel", panel),
            )
        )
    )
    plain: dict[str, Any] = json.loads(written)
    return plain
