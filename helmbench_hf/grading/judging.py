"""One judge at work on a run or a check: what it is, what it still has to answer, and the loop that asks it.

The judge's folder is owned by the process that runs this: it holds the lock, writes `judge.json` and the journal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from helmbench_hf.content.load import Benchmark, default_benchmark
from helmbench_hf.grading import rubric
from helmbench_hf.grading.exchanges import exchanges, run_answers
from helmbench_hf.grading.judge import Ask, JudgeError, JudgeSpec, asks, criteria_of, resolve_mode
from helmbench_hf.grading.rubric import Exchange
from helmbench_hf.inference.chat import Chat
from helmbench_hf.inference.counting import Counting, Listener
from helmbench_hf.inference.drive import drive
from helmbench_hf.inference.engine import Engine, Request, open_engine
from helmbench_hf.inference.identity import ModelIdentity
from helmbench_hf.inference.journal import Journal, RunLock
from helmbench_hf.inference.keys import KeyContext
from helmbench_hf.inference.known import know
from helmbench_hf.records import Completion
from helmbench_hf.run_folder import KeyShape, RunFolder, Shape, read_json, write_json

FILE = "judge.json"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge before its weights are loaded."""

    spec: JudgeSpec
    template: Chat
    model: ModelIdentity
    context: KeyContext
    open: Callable[[], Engine]
    """Loads the model."""


def find_judge(spec: JudgeSpec) -> Judge:
    """Find the judge's tokenizer and name its weights. Raises `EngineError` and `JudgeError` with sentences."""
    known = know(spec.engine_spec())
    return Judge(spec, known.template, known.identity, known.context, lambda: open_engine(known.spec))


def judge_rows(folder: RunFolder) -> list[Row]:
    """What `judge.json` says of each judge of a run, in the order in which they were first called."""
    rows = [row for path in folder.judgments.glob(f"*/{FILE}") if (row := _row(path)) is not None]
    return sorted(rows, key=lambda row: (row["number"], row["id"]))


def key_context(row: Mapping[str, Any]) -> KeyContext:
    """What the keys of a judge's answers rest on, as `judge.json` recorded it."""
    return KeyContext(**row["key"])


def judge_run(folder: RunFolder, judge: Judge, listener: Listener) -> None:
    """Ask the judge all that has no answer yet, in the order of shared prefixes; journal each answer as it comes.

    Raises `JudgeError` where another judge has this id here or `fast` cannot be, `RunError` where there is no run to grade,
    `JournalError` where another process writes this judge's folder, `EngineError` where the engine died for good.
    """
    cases, completions = run_answers(folder)
    for note in completions.notes:
        listener.emit({"event": "note", "message": note})
    replies = exchanges(cases, completions, folder.manifest()["settings"]["draws"])
    pairs = ((reply, code) for reply in replies for code in criteria_of(reply.case))
    ask_judge(folder, judge, pairs, default_benchmark(), listener)


def ask_judge(
    folder: RunFolder,
    judge: Judge,
    pairs: Iterable[tuple[Exchange, str]],
    benchmark: Benchmark,
    listener: Listener,
    *,
    orders: int | None = None,
) -> None:
    """Ask the judge about each (reply, criterion) that has no answer in `folder.judgments` yet, under the judge's lock.

    `orders`: letter orders that are asked in fast mode; None: those over which this judge's verdicts are averaged. Raises
    what `judge_run` raises, but for what is wrong with a run.
    """
    with RunLock.acquire(folder.judgments / judge.spec.id):
        engine, row = _settle(folder, judge, benchmark, listener)
        wanted = {
            ask.key(judge.context): ask
            for reply, code in pairs
            for ask in asks(reply, code, benchmark, row["mode"], orders or row["orders"])
        }
        stored = Journal.read(folder.judgments / judge.spec.id)
        if stored.passed.counts:
            listener.emit({"event": "note", "message": str(stored.passed)})
        # all that varies stands in the last message, the most varied at its end: text order walks the prefix tree
        work = sorted((key for key in wanted if key not in stored), key=lambda key: wanted[key].messages[-1].content)
        done = len(wanted) - len(work)
        listener.emit({"event": "planned", "turns": len(wanted), "stored": done, "open": len(work)})
        if work:
            with Journal.open(folder.judgments / judge.spec.id, "judge") as journal:
                engine = engine or _open(judge, listener, row)
                _ask(engine, _requests(work, wanted, judge.template), journal, Counting(listener, len(wanted), done))


def _settle(folder: RunFolder, judge: Judge, benchmark: Benchmark, listener: Listener) -> tuple[Engine | None, Row]:
    """Write `judge.json`, after a check that it names this judge. The engine is opened only where its abilities decide."""
    spec, engine_spec, path = judge.spec, judge.spec.engine_spec(), folder.judgments / judge.spec.id / FILE
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
        "engine": f"{engine_spec.kind}:{engine_spec.shown}",
        "number": old["number"] if old else len(judge_rows(folder)),
        "orders": spec.orders,
        "rubric": rubric.identity(benchmark),
        "key": context,
        "model": judge.model.as_row(),
        "chat": asdict(judge.template.facts),
        **({"preset": spec.preset} if spec.preset else {}),
    }
    if old is not None and spec.mode in ("auto", old["mode"]):
        engine, settled = None, {name: old[name] for name in ("mode", "description")}
    else:
        engine = _open(judge, listener, old)
        described = engine.describe()
        settled = {"mode": resolve_mode(spec, judge.template, described), "description": asdict(described)}
    write_json(path, {**new, **settled})
    return engine, {**new, **settled}


def _open(judge: Judge, listener: Listener, before: Row | None) -> Engine:
    """Open the engine. Raises `JudgeError` where its server now offers another model under the name that `before` records."""
    began = time.monotonic()
    engine = judge.open()
    seconds = time.monotonic() - began
    if before is not None and not engine.describe().continues(before["description"]):
        raise JudgeError(
            f"The server of the judge {judge.spec.id} offers another model under the same name now; their verdicts must not mix. "
            "Serve the model that judged before, or give this judge another id."
        )
    listener.emit({"event": "ready", "load_seconds": seconds, "engine": asdict(engine.describe())})
    return engine


def _requests(work: list[str], wanted: Mapping[str, Ask], template: Chat) -> Iterator[Request]:
    """Render as the window has room: the token ids of a whole run would not fit in memory."""
    for key in work:
        yield wanted[key].request(key, template)


def _ask(engine: Engine, work: Iterator[Request], journal: Journal, counter: Counting) -> None:
    def save(completion: Completion) -> None:
        journal.append(completion)
        counter.count(completion)

    driven = drive(engine, work, lambda request, completion: None, save, stop=counter.listener.stopping)
    counter.listener.emit({"event": "end", "stopped": driven.stopped, "retried": driven.retried, **counter.totals()})


class _Row(Shape):
    """`judge.json`."""

    id: str
    family: str
    mode: Literal["fast", "evidence"]
    number: int
    orders: Literal[1, 2]
    rubric: dict[str, str]
    key: KeyShape
    model: dict[str, Any]
    description: dict[str, Any]


def _row(path: Path) -> Row | None:
    """Read `judge.json`; None where there is none yet. Raises what `read_json` raises."""
    return read_json(path, _Row, "restore it, or remove the judge's folder") if path.exists() else None
