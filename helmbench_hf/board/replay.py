"""From rows to verdicts, by the code that grades every run: what `submit` copies and what `verify` computes again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter

from helmbench_hf.board.files import RejectedError, json_lines, parse_json
from helmbench_hf.board.manifest import TOKENS, Judge
from helmbench_hf.content.load import Benchmark
from helmbench_hf.hashing import digest
from helmbench_hf.judging.grade import by_code, exchanges, questions
from helmbench_hf.judging.judge import verdict
from helmbench_hf.models.chat import ServerTemplate
from helmbench_hf.models.engine import Message
from helmbench_hf.models.keys import KeyContext
from helmbench_hf.models.withheld import ENDS
from helmbench_hf.records import Case, Completion, Verdict
from helmbench_hf.runs.journal import line_of, row_of
from helmbench_hf.runs.turns import Conversations, Settings, turn_name
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
JUDGE_TOKENS = 256
"""Most of a judge's answer: a short quote with its verdict, or one letter. A quarter of the characters a token is plenty here."""


@dataclass(slots=True)
class Asked:
    """One planned request: the names of all conversations that have it, its longest answer, the hash of what was put."""

    names: list[str]
    budget: int
    prompt: str

    @property
    def name(self) -> str:
        """The name under which its row stands: that of the first conversation in the plan."""
        return self.names[0]


@dataclass(slots=True)
class Answers:
    """The planned requests of a run, found among its rows by their keys."""

    asked: dict[str, Asked] = field(default_factory=dict)
    """By key."""
    by_name: dict[str, Completion] = field(default_factory=dict)
    """Under the name of every conversation that has it."""
    missing: list[str] = field(default_factory=list)
    """Planned answers that should be there and are not. One after a refused, failed or withheld turn need not be."""


def find_answers(cases: Sequence[Case], context: KeyContext, settings: Settings, rows: Mapping[str, Completion]) -> Answers:
    """Walk every conversation of the plan from its first key, each answer leading to the next turn's."""
    found, ended = Answers(), set[tuple[str, int]]()
    for each in Conversations(cases, ServerTemplate(), context, settings, rows).reached():
        completion = rows.get(each.key)
        budget = each.case.max_tokens + settings.thinking_tokens
        known = found.asked.setdefault(each.key, Asked([], budget, messages_sha(each.messages)))
        known.names.append(each.name)
        if completion is not None:
            found.by_name[each.name] = completion
            if completion.status in ENDED:
                ended.add((each.case.code, each.draw))
    for case in cases:
        for draw in range(settings.draws):
            if (case.code, draw) not in ended:
                names = (turn_name(case.code, number, draw) for number in range(1, len(case.turns) + 1))
                found.missing += [name for name in names if name not in found.by_name]
    return found


def messages_sha(messages: Sequence[Message]) -> str:
    """Hash of a conversation as it was put."""
    return digest([[message.role, message.content] for message in messages])


def find_judged(
    judge: Judge, cases: Sequence[Case], answers: Answers, draws: int, said: Mapping[str, Completion], benchmark: Benchmark
) -> tuple[dict[str, Asked], list[Verdict]]:
    """Every call of one judge by key, and each verdict as the parser gives it for the judge's answer and this very reply."""
    asked: dict[str, Asked] = {}
    verdicts = []
    for reply, code, calls in questions(judge.row(), exchanges(cases, answers.by_name, draws), benchmark):
        for ask, key in calls:
            known = asked.setdefault(key, Asked([], JUDGE_TOKENS, messages_sha(ask.messages)))
            known.names.append(ask.name)
        verdicts.append(verdict(reply, code, judge.id, calls, said))
    return asked, verdicts


def code_verdicts(cases: Sequence[Case], answers: Answers, draws: int, benchmark: Benchmark) -> Iterator[Verdict]:
    """What code decides on every planned reply."""
    return by_code(cases, answers.by_name, Registry.build(benchmark.countries), draws)


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
    read = row.label_logprobs
    if read is not None and not (judge and len(read) <= 5 and all(-1e6 <= each <= 1e-3 for each in read)):
        raise RejectedError("rows.shape", f"{where}: label_logprobs are not log-probabilities of letters")
    ends = (*FINISHED[row.status], *(("length",) if read is not None else ()))
    if row.finish_reason not in ends or (row.status in NO_ANSWER and (row.text or row.reasoning)):
        raise RejectedError("rows.status", f"{where}: status, finish_reason and text contradict each other")
    if TOKENS.search(row.text) or TOKENS.search(row.reasoning):
        raise RejectedError("secret.token", f"{where} holds what looks like an access token; revoke it if it is one")
    return row
