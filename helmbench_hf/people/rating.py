"""Rating by people: which replies, in which order, what each rater said, how far they agree, and the labels that come out.

OUT/rate.json        what is rated, and the raters' links
OUT/ratings/*.jsonl  every click as a line of a journal; a later verdict of a rater on a task replaces an earlier one
OUT/labels.csv       rater, reply_code, criterion, verdict; with OUT/replies.jsonl `helmbench judge check --labels` reads it
"""

from __future__ import annotations

import csv
import json
import random
import re
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from helmbench_hf.content.load import Benchmark
from helmbench_hf.hashing import digest
from helmbench_hf.judging import rubric
from helmbench_hf.judging.grade import exchanges
from helmbench_hf.judging.judge import criteria_of
from helmbench_hf.judging.labels import allowed, reply_row, write_replies
from helmbench_hf.judging.rubric import Exchange
from helmbench_hf.people.plan import PeopleError
from helmbench_hf.records import CREDIT, Case, JudgeInfo, Verdict
from helmbench_hf.runs.completions import run_answers
from helmbench_hf.runs.folder import RunFolder, replacing, write_json
from helmbench_hf.runs.journal import Journal, ReadReport, read_rows
from helmbench_hf.runs.turns import turn_name
from helmbench_hf.scoring.agreement import agreement
from helmbench_hf.scoring.scores import Agreement
from helmbench_hf.tasks.ledger import Ledger

FORMAT = 1
BLOCK = 20
"""Tasks that all raters do in the same stretch, each in a different order, so that their work overlaps early."""
CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,19}")
COLUMNS = ("rater", "reply_code", "criterion", "verdict")


@dataclass(frozen=True, slots=True)
class Task:
    """One reply under one criterion."""

    id: str
    """12 hex digits that say nothing of model or case."""
    exchange: Exchange
    criterion: str

    @property
    def reply(self) -> str:
        """Code of the reply: the name of its request."""
        return turn_name(self.exchange.case.code, self.exchange.turn, self.exchange.draw)


@dataclass(slots=True)
class Rater:
    """What one rater has done."""

    code: str
    consented: bool = False
    stopped: bool = False
    rested: int = 0
    """Tasks that were done at the last break."""
    said: dict[str, str] = field(default_factory=dict)
    """Task -> verdict; empty where it was skipped. In the order of the first answer."""


@dataclass(frozen=True, slots=True)
class Rated:
    """What is to be rated and by whom."""

    tasks: Mapping[str, Task]
    cases: tuple[Case, ...]
    draws: int
    links: Mapping[str, str]
    """Secret part of a link -> rater."""
    seed: int

    def order(self, rater: str) -> list[Task]:
        """The tasks in the order of one rater."""
        tasks, dice = list(self.tasks.values()), random.Random(f"rate/{self.seed}/{rater}")
        blocks = [tasks[start : start + BLOCK] for start in range(0, len(tasks), BLOCK)]
        for block in blocks:
            dice.shuffle(block)
        return [task for block in blocks for task in block]


def prepare(
    run: RunFolder, out: Path, benchmark: Benchmark, raters: Sequence[str], *, limit: int, criteria: Sequence[str], seed: int
) -> Rated:
    """Choose the tasks, or resume those of `out`; write what a judge needs to read the labels.

    Raises PeopleError where rater codes or criteria cannot be used, or `out` holds another rating, and what `run_answers`
    raises.
    """
    if len(set(raters)) < 2 or len(set(raters)) < len(raters) or not all(CODE.fullmatch(code) for code in raters):
        raise PeopleError("Name at least two raters, each once, using codes of letters, digits, - and _ (--rater R1 --rater R2).")
    if unknown := sorted(set(criteria) - set(benchmark.criteria)):
        raise PeopleError(f"The benchmark has no criterion {', '.join(unknown)}.")
    cases, completions = run_answers(run)
    manifest = run.manifest()
    draws = manifest.settings.draws
    every = [
        Task(digest(["rate", seed, reply.completion, code])[:12], reply, code)
        for reply in exchanges(cases, completions, draws)
        for code in criteria_of(reply.case, reply.turn)
        if allowed(benchmark, code) and (not criteria or code in criteria)
    ]
    what = {
        "format": FORMAT,
        "dataset": manifest.dataset.content_sha256,
        "answers": digest(sorted(task.exchange.completion for task in every)),
        "rubric": rubric.identity(benchmark),
        "limit": limit,
        "criteria": sorted(criteria),
        "seed": seed,
    }
    links = dict(_stored_links(out, what))
    links |= {code: secrets.token_urlsafe(12) for code in raters if code not in links}
    tasks = _sampled(every, limit, seed)
    if not tasks:
        raise PeopleError(f"{run.root} contains no reply that can be rated under these criteria.")
    write_json(out / "rate.json", {"what": what, "links": links})
    (out / "rate.json").chmod(0o600)
    asked: dict[str, list[str]] = defaultdict(list)
    for task in tasks:
        asked[task.reply].append(task.criterion)
    shown = {task.reply: task.exchange for task in tasks}
    write_replies(out, [
        reply_row(code, reply.case, reply.turn, completions[code].text, reply.earlier, manifest.model.id, asked[code])
        for code, reply in shown.items()
    ])  # fmt: skip
    by_secret = {secret: code for code, secret in links.items()}
    return Rated({task.id: task for task in tasks}, cases, draws, by_secret, seed)


def _stored_links(out: Path, what: Mapping[str, Any]) -> Mapping[str, str]:
    path = out / "rate.json"
    if not path.exists():
        return {}
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        same, links = found["what"] == what, found["links"]
    except (OSError, ValueError, KeyError) as error:
        raise PeopleError(f"{path} cannot be read ({error}); give another folder.") from error
    if not same:
        raise PeopleError(
            f"{out} contains a rating with different replies, criteria or numbers; give another folder, or the same options."
        )
    return dict(links)


def _sampled(every: Sequence[Task], limit: int, seed: int) -> list[Task]:
    """At most `limit` tasks, criterion after criterion by turns, at random within each: every criterion gets its share."""
    dice = random.Random(f"sample/{seed}")
    queues: dict[str, list[Task]] = defaultdict(list)
    for task in every:
        queues[task.criterion].append(task)
    for queue in queues.values():
        dice.shuffle(queue)
    found: list[Task] = []
    while len(found) < limit and any(queues.values()):
        found += [queue.pop() for queue in queues.values() if queue][: limit - len(found)]
    dice.shuffle(found)
    return found


class Ratings:
    """Everything that raters have said: kept in memory, and on disk before a click is answered."""

    def __init__(self, rated: Rated, benchmark: Benchmark, out: Path, journal: Journal) -> None:
        self.rated, self.benchmark = rated, benchmark
        self._out, self._journal, self._lock = out, journal, Lock()
        self.raters = {code: Rater(code) for code in rated.links.values()}
        for row in read_rows(out / "ratings", ReadReport()):
            self._apply(row)
        self._export()

    def add(self, rater: str, event: str, task: str = "", verdict: str = "") -> None:
        """Keep one click. Raises PeopleError where it means nothing, and JournalError where the disk is full."""
        if event == "verdict" and (task not in self.rated.tasks or verdict not in ("", *self.verdicts(task))):
            raise PeopleError("this verdict does not belong to any task.")
        if event not in ("consent", "verdict", "rest", "stop", "resume"):
            raise PeopleError("there is no such button.")
        row = {"rater": rater, "event": event, "task": task, "verdict": verdict}
        with self._lock:
            self._journal.append_row(row)
            self._apply(row)
            self._export()

    def verdicts(self, task: str) -> tuple[str, ...]:
        """What may be said of a task."""
        return allowed(self.benchmark, self.rated.tasks[task].criterion)

    def next(self, rater: str) -> Task | None:
        """The first task without an answer."""
        said = self.raters[rater].said
        return next((task for task in self.rated.order(rater) if task.id not in said), None)

    def _apply(self, row: Mapping[str, Any]) -> None:
        rater = self.raters.get(row.get("rater", ""))
        if rater is None:
            return
        match row.get("event"):
            case "consent":
                rater.consented, rater.stopped = True, False
            case "verdict" if row.get("task") in self.rated.tasks:
                rater.said[row["task"]] = row["verdict"]
            case "rest":
                rater.rested = len(rater.said)
            case "stop":
                rater.stopped = True
            case "resume":
                rater.stopped = False

    def labels(self) -> list[tuple[str, str, str, str]]:
        """Every verdict that was given, by rater, reply and criterion."""
        return sorted((rater, task.reply, task.criterion, said) for rater, task, said in self._given())

    def _export(self) -> None:
        with replacing(self._out / "labels.csv") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(COLUMNS)
            rows.writerows(self.labels())

    def agreement(self) -> Agreement:
        """Kappa of every two raters and alpha of all, by criterion, by the code that compares judges."""
        verdicts = []
        for rater, task, said in self._given():
            reply = task.exchange
            verdicts.append(Verdict(reply.case.code, reply.turn, reply.draw, task.criterion, rater, "scored", CREDIT[said]))
        raters = [JudgeInfo(code, code) for code in self.raters]
        return agreement(Ledger(self.rated.cases, verdicts, raters, self.rated.draws), self.benchmark)

    def _given(self) -> Iterable[tuple[str, Task, Any]]:
        """Rater, task and verdict; what was skipped is left out."""
        for rater in self.raters.values():
            for task, said in list(rater.said.items()):  # a copy: other raters' clicks come in meanwhile
                if said:
                    yield rater.code, self.rated.tasks[task], said
