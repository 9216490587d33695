"""One model answers the cases of a design: what is asked, what ran, and the child process that asks it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from helmbench_hf import __version__
from helmbench_hf.dataset.load import DatasetIdentity, read_cases, select_into
from helmbench_hf.dataset.store import CaseStore
from helmbench_hf.generate.turns import Conversations, History, Settings
from helmbench_hf.inference.counting import Counting, Listener
from helmbench_hf.inference.drive import drive
from helmbench_hf.inference.engine import Engine, EngineSpec, open_engine
from helmbench_hf.inference.host import Reporter
from helmbench_hf.inference.journal import Journal, RunLock
from helmbench_hf.inference.keys import digest
from helmbench_hf.inference.known import KnownModel, know
from helmbench_hf.inference.reasoning import ReasoningState, reasoning_state
from helmbench_hf.records import Case, Completion
from helmbench_hf.run_folder import Manifest, RunError, RunFolder, write_json

JOB = "helmbench_hf.generate.run:child"
REUSE = ("missing", "always", "never", "only")
"""missing: run what has no answer, and engine failures again. always: failures stand too. never: run everything again,
beside the old answers; such a run that was stopped is resumed. only: run nothing."""
ANEW = "anew.json"
"""Stands in the folder of answers from the start of a `--reuse never` to its end."""
RESUMED = "the answers here are of a --reuse never that was stopped; it is resumed"
KEPT = ("started", "engine", "parts", "history")
"""What a resumed run keeps of its manifest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What the command line asked for; plain JSON in and out, because the child gets it as its payload."""

    run: str
    engine: EngineSpec
    settings: Settings
    design: str = "core"
    dataset: str | None = None
    revision: str | None = None
    only: str | None = None
    limit: int | None = None
    shard: str | None = None
    """`i/n`: one part of the cases, into a folder of its own."""
    reuse: str = "missing"
    preset: dict[str, Any] | None = None
    """What a preset filled in (`Filled.record`); the manifest keeps it."""

    def as_payload(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)

    @staticmethod
    def of(payload: dict[str, Any]) -> Ask:
        """Read `as_payload` back."""
        engine, settings = EngineSpec(**payload["engine"]), Settings(**payload["settings"])
        return Ask(**{**payload, "engine": engine, "settings": settings})


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that is known before a weight is loaded; made without torch."""

    cases: CaseStore
    identity: DatasetIdentity
    model: KnownModel

    def conversations(self, settings: Settings, stored: Mapping[str, Completion]) -> Conversations:
        """The conversations of these cases, the stored answers walked through."""
        return Conversations(self.cases, self.model.template, self.model.context, settings, stored)


def prepare(ask: Ask, model: KnownModel | None = None) -> Prepared:
    """Load cases, template and identities. Raises DatasetError and EngineError with sentences.

    `model`: what is known of it, where the engine of `ask` does not say it.
    """

    def keep(cases: Iterator[Case]) -> CaseStore:
        return select_into(CaseStore, cases, ask.only, ask.limit, ask.shard)

    return Prepared(*read_cases(keep, ask.design, ask.dataset, ask.revision), model or know(ask.engine))


def manifest_of(ask: Ask, prepared: Prepared) -> Manifest:
    """What the run records before its engine starts."""
    return {
        "helmbench": __version__,
        "dataset": asdict(prepared.identity),
        "selection": {"only": ask.only, "limit": ask.limit, "shard": ask.shard, "cases": len(prepared.cases)},
        "model": prepared.model.identity.as_row(),
        "chat": asdict(prepared.model.template.facts),
        "settings": ask.settings.as_row(),
        "engine_label": prepared.model.context.engine,
        "key": {**asdict(prepared.model.context), "model": dict(prepared.model.context.model)},
        **({"preset": ask.preset} if ask.preset else {}),
        "context_sha": digest(asdict(prepared.model.context)),
        "started": _now(),
    }


def differing(old: Manifest, new: Manifest) -> list[str]:
    """Name what keeps the answers of two runs apart: dataset version, model, settings, engine, or its arguments."""
    pairs = {
        "dataset version": [run["dataset"]["version"] for run in (old, new)],
        "model": [_content(run["model"]) for run in (old, new)],
        "settings": [run["settings"] for run in (old, new)],
        "setting of the chat template": [run.get("chat", {}).get("template_kwargs") for run in (old, new)],
        "engine": [run.get("engine_label") for run in (old, new)],
    }
    found = [name for name, (before, now) in pairs.items() if before != now]
    if found:
        return found
    known_later = {
        "argument of engine or template": [run.get("context_sha") for run in (old, new)],
        "model behind the same served name": [run.get("engine", {}).get("extra", {}).get("served") for run in (old, new)],
    }
    return [name for name, (before, now) in known_later.items() if before and now and before != now]


def check_same(old: Manifest, new: Manifest, folder: RunFolder) -> None:
    """Refuse to mix answers: a run folder holds one dataset version, one model, one setting, one shard. Raises RunError."""
    if found := differing(old, new):
        raise RunError(
            f"{folder.root} holds a run with another {' and another '.join(found)}; its answers and these must not mix. "
            "Give another run folder."
        )
    same_design = old["dataset"]["design"] == new["dataset"]["design"]
    if same_design and old["dataset"]["content_sha256"] != new["dataset"]["content_sha256"]:
        raise RunError(f"{folder.root} was made from other content of the same version; give another run folder")
    before, now = _shard_of(old), _shard_of(new)
    if before != now:
        held, wanted = (f"shard {shard['shard']}" if shard else "a run without shards" for shard in (before, now))
        raise RunError(
            f"{folder.root} holds {held}, not {wanted}{' of other cases' if held == wanted else ''}. "
            "Give each shard a folder of its own, then put them together with `helmbench merge`."
        )


def _shard_of(run: Manifest) -> dict[str, Any] | None:
    """Which shard of which cases; None for a run without shards, whose selection may change."""
    selection = run.get("selection", {})
    return {**selection, "design": run["dataset"]["design"]} if selection.get("shard") else None


def _content(model: Mapping[str, Any]) -> tuple[Any, ...]:
    """What names a model: its commit or its files' hash; behind a server its name alone."""
    name = model.get("commit") or model.get("files_sha") or model.get("sha") or model["id"]
    return name, *(model.get(part) for part in ("dtype", "template_sha"))


def child(payload: dict[str, Any], reporter: Reporter) -> int | None:
    """The job of the child process: own the folder, ask what is missing, journal every answer as it ends."""
    ask = Ask.of(payload)
    return ask_all(ask, lambda: prepare(ask), lambda: open_engine(ask.engine), reporter)


def ask_all(ask: Ask, prepared: Callable[[], Prepared], opened: Callable[[], Engine], reporter: Listener) -> int | None:
    """The work of `child` in this process, under the lock of the run folder; `prepared` and `opened` make what it works with."""
    folder = RunFolder(Path(ask.run))
    with RunLock.acquire(folder.root):
        return _generate(ask, folder, prepared(), opened, reporter)


def _generate(ask: Ask, folder: RunFolder, prepared: Prepared, opened: Callable[[], Engine], reporter: Listener) -> int | None:
    manifest = manifest_of(ask, prepared)
    if (folder.root / "manifest.json").exists():
        old = folder.manifest()
        check_same(old, manifest, folder)
        manifest = {**manifest, **{name: old[name] for name in KEPT if name in old}}
    folder.write_manifest(manifest)
    if ask.reuse == "never":
        _start_anew(folder, reporter)
    stored = Journal.read(folder.completions)
    if stored.passed.counts:
        reporter.emit({"event": "note", "message": str(stored.passed)})
    known = stored.everything() if ask.reuse == "always" else stored
    talks = prepared.conversations(ask.settings, known)
    work = None if ask.reuse == "only" else talks.missing()
    reporter.emit({"event": "planned", "turns": talks.planned_turns, "stored": len(stored), "open": len(work or ())})
    if not work:
        record_reasoning(folder, stored)
        _record_history(folder, talks.history(stored), reporter)
        if work is not None:
            _end_anew(folder)
        return None
    with Journal.open(folder.completions, "generate") as journal:  # before the weights: a folder may be read-only
        began = time.monotonic()
        engine = opened()
        described = engine.describe()
        if not described.continues(manifest.get("engine", {})):
            raise RunError(
                f"The server offers another model under the name {ask.engine.shown} than the one whose answers {folder.root} "
                "holds. Serve that one again, or give another run folder."
            )
        folder.write_manifest({**manifest, "engine": asdict(described)})
        reporter.emit({"event": "ready", "load_seconds": time.monotonic() - began, "engine": asdict(described)})
        counter = Counting(reporter, talks.planned_turns, len(stored))

        def save(completion: Completion) -> None:
            journal.append(completion)
            counter.count(completion)

        driven = drive(engine, work, talks.follow_up, save, stop=reporter.stopping, saved=journal.written)
    stored = Journal.read(folder.completions)
    record_reasoning(folder, stored)
    _record_history(folder, talks.history(stored), reporter)
    if not reporter.stopping():
        _end_anew(folder)
    reporter.emit({"event": "end", "stopped": driven.stopped, "retried": driven.retried, **counter.totals()})
    return None


def record_reasoning(folder: RunFolder, stored: Mapping[str, Completion]) -> None:
    """Add to the manifest how many of the run's answers came without reasoning, after it, and never because it did not end."""
    counted = Counter(reasoning_state(completion) for completion in stored.values())
    folder.write_manifest({**folder.manifest(), "reasoning": {state: counted[state] for state in get_args(ReasoningState)}})


def _record_history(folder: RunFolder, history: History, reporter: Listener) -> None:
    """Add to the manifest how later turns carry what came before; say so where a template renders its history anew."""
    if not history.later_turns:
        return
    folder.write_manifest({**folder.manifest(), "history": asdict(history)})
    if history.prompt_changed:
        message = (
            f"{history.prompt_changed} of {history.later_turns} later turns do not begin with the prompt of the turn before: "
            "the chat template renders its history anew, and a prefix cache serves less of it"
        )
        reporter.emit({"event": "note", "message": message})


def _start_anew(folder: RunFolder, reporter: Listener) -> None:
    """`--reuse never`: the old answers stay on disk, beside the new ones. Those of a stopped one are the new ones."""
    begun = folder.completions / ANEW
    if begun.exists():
        reporter.emit({"event": "note", "message": RESUMED})
        return
    if folder.completions.is_dir():
        number = 1
        while (aside := folder.root / f"completions.{number}").exists():
            number += 1
        folder.completions.rename(aside)
    write_json(begun, {"started": _now()})


def _end_anew(folder: RunFolder) -> None:
    """Nothing is left to run: the next `--reuse never` is another one."""
    (folder.completions / ANEW).unlink(missing_ok=True)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
