"""One judge at work on a run: what it is, what it still has to answer, and the loop that asks it.

The judge's folder is owned by the process that runs this: it holds the lock, writes `judge.json` and the journal.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from helmbench_hf.content.load import Benchmark, default_benchmark
from helmbench_hf.grading import rubric
from helmbench_hf.grading.exchanges import exchanges, run_cases, run_completions
from helmbench_hf.grading.judge import Ask, JudgeError, JudgeSpec, asks, criteria_of, resolve_mode
from helmbench_hf.inference.chat import ChatTemplate
from helmbench_hf.inference.engine import Engine, Request, drive, open_engine
from helmbench_hf.inference.identity import ModelIdentity, identify, versions, vllm_version
from helmbench_hf.inference.journal import Journal, RunLock
from helmbench_hf.inference.keys import KeyContext, engine_label
from helmbench_hf.records import Completion
from helmbench_hf.run_folder import RunFolder, write_json

FILE = "judge.json"
Row = dict[str, Any]


class Listener(Protocol):
    """Who hears of the work and may end it: `host.Reporter`."""

    def emit(self, event: Row) -> None:
        """Take one event of plain JSON values."""
        ...

    def stopping(self) -> bool:
        """Say whether to stop: finish what is live, journal it, return."""
        ...


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge before its weights are loaded."""

    spec: JudgeSpec
    template: ChatTemplate
    model: ModelIdentity
    context: KeyContext
    open: Callable[[], Engine]
    """Loads the model."""


def find_judge(spec: JudgeSpec) -> Judge:
    """Find the judge's tokenizer and name its weights. Raises `EngineError` and `JudgeError` with sentences."""
    engine = spec.engine_spec()
    template = ChatTemplate.load(engine.model, engine.revision, engine.template_kwargs)
    model = identify(engine.model, engine.revision, dtype=engine.dtype, template_sha=template.facts.template_sha)
    version = vllm_version() if engine.kind == "vllm" else versions(["transformers"])["transformers"]
    label = engine_label(engine.kind, version)
    context = KeyContext(model.for_key(), template.facts.template_sha, label, template.key_kwargs())
    return Judge(spec, template, model, context, lambda: open_engine(engine))


def judge_rows(folder: RunFolder) -> list[Row]:
    """What `judge.json` says of each judge of a run, in the order in which they were first called."""
    rows = [row for path in folder.judgments.glob(f"*/{FILE}") if (row := _row(path)) is not None]
    return sorted(rows, key=lambda row: (row["number"], row["id"]))


def key_context(row: Row) -> KeyContext:
    """What the keys of a judge's answers rest on, as `judge.json` recorded it."""
    return KeyContext(**row["key"])


def judge_run(folder: RunFolder, judge: Judge, listener: Listener) -> None:
    """Ask the judge all that has no answer yet, in the order of shared prefixes; journal each answer as it comes.

    Raises `JudgeError` where another judge has this id here or `fast` cannot be, `RunError` where there is no run to grade,
    `JournalError` where another process writes this judge's folder, `EngineError` where the engine died for good.
    """
    completions = run_completions(folder)
    cases = run_cases(folder, completions)
    replies = list(exchanges(cases, completions, folder.manifest()["settings"]["draws"]))
    benchmark = default_benchmark()
    with RunLock.acquire(folder.judgments / judge.spec.id):
        engine, row = _settle(folder, judge, benchmark, listener)
        wanted = {
            ask.key(judge.context): ask
            for reply in replies
            for code in criteria_of(reply.case)
            for ask in asks(reply, code, benchmark, row["mode"], row["orders"])
        }
        stored = Journal.read(folder.judgments / judge.spec.id)
        # all that varies stands in the last message, the most varied at its end: text order walks the prefix tree
        work = sorted((key for key in wanted if key not in stored), key=lambda key: wanted[key].messages[-1].content)
        done = len(wanted) - len(work)
        listener.emit({"event": "planned", "turns": len(wanted), "stored": done, "open": len(work)})
        if work:
            engine = engine or _open(judge, listener)
            with Journal.open(folder.judgments / judge.spec.id, "judge") as journal:
                _ask(engine, _requests(work, wanted, judge.template), journal, _Counter(listener, len(wanted), done))


def _settle(folder: RunFolder, judge: Judge, benchmark: Benchmark, listener: Listener) -> tuple[Engine | None, Row]:
    """Write `judge.json`, after a check that it names this judge. The engine is opened only where its abilities decide."""
    spec, path = judge.spec, folder.judgments / judge.spec.id / FILE
    old = _row(path)
    context = {**asdict(judge.context), "model": dict(judge.context.model)}
    if old is not None and old["key"] != context:
        raise JudgeError(
            f"{path.parent} holds the answers of another model, engine or template under the id {spec.id}. "
            "Give this judge another id, or remove that folder."
        )
    new: Row = {
        "id": spec.id,
        "family": spec.family,
        "engine": spec.engine,
        "number": old["number"] if old else len(judge_rows(folder)),
        "orders": spec.orders,
        "rubric": rubric.identity(benchmark),
        "key": context,
        "model": judge.model.as_row(),
        "chat": asdict(judge.template.facts),
    }
    if old is not None and spec.mode in ("auto", old["mode"]):
        engine, settled = None, {name: old[name] for name in ("mode", "description")}
    else:
        engine = _open(judge, listener)
        described = engine.describe()
        settled = {"mode": resolve_mode(spec, judge.template, described), "description": asdict(described)}
    write_json(path, {**new, **settled})
    return engine, {**new, **settled}


def _open(judge: Judge, listener: Listener) -> Engine:
    began = time.monotonic()
    engine = judge.open()
    seconds = time.monotonic() - began
    listener.emit({"event": "ready", "load_seconds": seconds, "engine": asdict(engine.describe())})
    return engine


def _requests(work: list[str], wanted: Mapping[str, Ask], template: ChatTemplate) -> Iterator[Request]:
    """Render as the window has room: the token ids of a whole run would not fit in memory."""
    for key in work:
        yield wanted[key].request(key, template)


def _ask(engine: Engine, work: Iterator[Request], journal: Journal, counter: _Counter) -> None:
    def save(completion: Completion) -> None:
        journal.append(completion)
        counter.count(completion)

    driven = drive(engine, work, lambda request, completion: None, save, stop=counter.listener.stopping)
    counter.listener.emit({"event": "end", "stopped": driven.stopped, "retried": driven.retried, **counter.totals()})


class _Counter:
    """Counts answers, and tells the listener at most ten times a second."""

    def __init__(self, listener: Listener, planned: int, done: int) -> None:
        self.listener, self._planned, self._done = listener, planned, done
        self._statuses: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._began = self._told = time.monotonic()

    def count(self, completion: Completion) -> None:
        self._done += 1
        self._statuses[completion.status] += 1
        for name in ("prompt_tokens", "cached_tokens", "output_tokens"):
            self._tokens[name] += getattr(completion, name)
        if time.monotonic() - self._told > 0.1:
            self._told = time.monotonic()
            self.listener.emit({"event": "progress", "done": self._done, "planned": self._planned, **self.totals()})

    def totals(self) -> Row:
        """Seconds since the engine was ready, answers by status, tokens."""
        seconds = time.monotonic() - self._began
        return {"seconds": seconds, "completions": sum(self._statuses.values()), "statuses": dict(self._statuses), **self._tokens}


def _row(path: Path) -> Row | None:
    """Read `judge.json`; None where there is none yet. Raises `JudgeError` where it cannot be read."""
    try:
        row: Row = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise JudgeError(f"{path} cannot be read ({error}); restore it, or remove the judge's folder.") from error
    return row
