"""From rows to verdicts and scores, by the code that grades every run: what `submit` writes and what `verify` computes again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter

from helmbench_hf.board.files import RejectedError, json_lines, parse_json
from helmbench_hf.board.manifest import TOKENS, Judge, Manifest
from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.load import CaseSet
from helmbench_hf.hashing import digest
from helmbench_hf.judging.grade import by_code, exchanges, questions
from helmbench_hf.judging.judge import verdict
from helmbench_hf.judging.scored import find_scores
from helmbench_hf.models.chat import ServerTemplate
from helmbench_hf.models.engine import Message
from helmbench_hf.models.withheld import ENDS
from helmbench_hf.records import Completion, Verdict
from helmbench_hf.runs.completions import as_said, ended
from helmbench_hf.runs.journal import line_of, row_of
from helmbench_hf.runs.router import ACT, LETTERS, SCHEMA_TOKENS
from helmbench_hf.runs.turns import Conversations, turn_name
from helmbench_hf.scoring.scores import Scores
from helmbench_hf.tasks.helplines import Registry

NO_ANSWER = ("refused", "engine_error")
ENDED = (*NO_ANSWER, "withheld")
"""No turn of a conversation comes after these."""
FINISHED: dict[str, tuple[str, ...]] = {
    "ok": ("stop",),
    "truncated": ("stop", "length", "repetition"),
    "withheld": ("", *ENDS),
    "refused": ("",),
    "engine_error": ("",),
}
"""How an engine may have ended an answer of each status. A judge's letter is cut off after one token: `length` there."""
CHARACTERS_A_TOKEN = 256
"""No tokenizer writes more with one token; a longer text was not written within its budget."""
SORT_TOKENS = SCHEMA_TOKENS
"""Most of a router's answer."""
JUDGE_TOKENS = 256
"""Most of a judge's answer: a short quote with its verdict, or one letter. A quarter of the characters a token is plenty here."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One planned request: the name of the first conversation that has it, its longest answer, the hash of what was put."""

    name: str
    budget: int
    prompt: str


@dataclass(slots=True)
class Replay:
    """The planned requests of a run, found among its rows by their keys, and the verdicts that follow."""

    asked: dict[str, Asked] = field(default_factory=dict)
    """By key."""
    answers: dict[str, Completion] = field(default_factory=dict)
    """Under the name of every conversation that has it."""
    missing: list[str] = field(default_factory=list)
    """Planned answers that should be there and are not. One after a refused, failed or withheld turn need not be."""
    sorts: dict[str, Asked] = field(default_factory=dict)
    """The router's planned questions, by key."""
    questions: dict[str, dict[str, Asked]] = field(default_factory=dict)
    """By judge and key."""
    verdicts: list[Verdict] = field(default_factory=list)

    def scores(
        self, loaded: CaseSet, manifest: Manifest, judges: Sequence[Judge], checks: Mapping[str, Any], benchmark: Benchmark
    ) -> Scores:
        """Every number of the run. `checks`: what each cited check holds, by its name."""
        return find_scores(
            loaded.cases,
            self.verdicts,
            [judge.row() for judge in judges],
            checks,
            benchmark=benchmark,
            draws=manifest.settings.draws,
            design=manifest.dataset.design,
            content_sha256=loaded.identity.content_sha256,
            panel=manifest.submission.panel,
        )


def replay(
    loaded: CaseSet,
    manifest: Manifest,
    rows: Mapping[str, Completion],
    judges: Sequence[tuple[Judge, Mapping[str, Completion]]],
    benchmark: Benchmark,
    acts: Mapping[str, Completion] = MappingProxyType({}),
) -> Replay:
    """Walk every conversation of the plan from its first key, then every question to each judge about the answers found.

    `rows`: the model's answers by key; `judges`: each with its answers by key; `acts`: the router's answers by key.
    """
    found, cases, settings, over = Replay(), loaded.cases, manifest.chosen(), set[tuple[str, int]]()
    router = manifest.router.router() if manifest.router else None
    talks = Conversations(cases, ServerTemplate(), manifest.key.context(), settings, rows, router, acts)
    for each in talks.reached():
        completion = rows.get(each.key)
        budget = each.case.max_tokens + settings.thinking_tokens
        found.asked.setdefault(each.key, Asked(each.name, budget, messages_sha(each.messages)))
        if completion is not None:
            found.answers[each.name] = completion
            if completion.status in ENDED:
                over.add((each.case.code, each.draw))
            elif (doubt := talks.doubt(each, completion)) is not None:
                found.sorts.setdefault(doubt.key, Asked(doubt.name, SORT_TOKENS, messages_sha(doubt.messages)))
    found.answers |= dict(talks.labels())
    for case in cases:
        for draw in range(settings.draws):
            if (case.code, draw) not in over:
                spoken = as_said(case, found.answers, draw)
                found.missing += (
                    [] if ended(case, found.answers, draw) else [f"{turn_name(case.code, len(spoken.turns), draw)}{ACT}"]
                )
                names = (turn_name(case.code, number, draw) for number in range(1, len(spoken.turns) + 1))
                found.missing += [name for name in names if name not in found.answers]
    found.verdicts += by_code(cases, found.answers, Registry.build(benchmark.countries), settings.draws)
    for judge, said in judges:
        asked = found.questions[judge.id] = {}
        for reply, code, calls in questions(judge.row(), exchanges(cases, found.answers, settings.draws), benchmark):
            asked |= {key: Asked(ask.name, JUDGE_TOKENS, messages_sha(ask.messages)) for ask, key in calls if key not in asked}
            found.verdicts.append(verdict(reply, code, judge.id, calls, said))
    return found


def messages_sha(messages: Sequence[Message]) -> str:
    """Hash of a conversation as it was put."""
    return digest([[message.role, message.content] for message in messages])


def segment(stored: Mapping[str, Completion], asked: Mapping[str, Asked] | None = None) -> bytes:
    """A journal of stored answers, or of those that were `asked`, without an engine's error messages: these name machines."""
    if asked is None:
        rows = [replace(stored[key], error="") for key in sorted(stored)]
    else:
        rows = [replace(stored[key], error="", request=plan.name) for key, plan in asked.items() if key in stored]
    return b"".join(line_of(row_of(row)) for row in rows)


_ROW = TypeAdapter(Completion)


def read_journal(content: bytes, name: str, most: int, *, judge: bool) -> list[Completion]:
    """The completions of a submitted journal. Raises `RejectedError` for a line that a journal does not write so."""
    return [_completion(line, where, judge) for where, line in json_lines(content, name, most)]


def _completion(line: bytes, where: str, judge: bool) -> Completion:
    entry = parse_json(line, where)
    try:
        row = _ROW.validate_json(json.dumps(entry["row"]), strict=True)
        same = line_of(row_of(row)) == line + b"\n" and not row.error
    except (KeyError, TypeError, ValueError) as error:
        raise RejectedError("rows.shape", f"{where} has other fields or types than a completion") from error
    if not same or min(row.prompt_tokens, row.cached_tokens, row.output_tokens, row.attempt) < 0:
        raise RejectedError("rows.shape", f"{where} is not as a journal writes it, or its checksum is wrong")
    if not re.fullmatch(r"[0-9a-f]{64}", row.key) or not re.fullmatch(r"([0-9a-f]{64})?", row.prompt_sha):
        raise RejectedError("rows.shape", f"{where}: key or prompt_sha is not a SHA-256")
    letters = row.label_logprobs
    if letters is not None and not (judge and len(letters) <= len(LETTERS) and all(-1e6 <= each <= 1e-3 for each in letters)):
        raise RejectedError("rows.shape", f"{where}: label_logprobs are not log-probabilities of letters")
    ends = (*FINISHED[row.status], *(("length",) if letters is not None else ()))
    if row.finish_reason not in ends or (row.status in NO_ANSWER and (row.text or row.reasoning)):
        raise RejectedError("rows.status", f"{where}: status, finish_reason and text contradict each other")
    if TOKENS.search(row.text) or TOKENS.search(row.reasoning):
        raise RejectedError("secret.token", f"{where} holds what looks like an access token; revoke it if it is one")
    return row
