"""One model answers the cases of a design: what is asked, what ran, and the child process that asks it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from helmbench_hf import __version__
from helmbench_hf.dataset.load import DatasetIdentity, load_cases, select
from helmbench_hf.hashing import digest
from helmbench_hf.models.drive import Counting, Listener, drive
from helmbench_hf.models.engine import Engine, EngineSpec, open_engine
from helmbench_hf.models.identity import ModelInfo, model_info
from helmbench_hf.models.reasoning import ReasoningState, reasoning_state
from helmbench_hf.models.roles import TARGET, Memory, Models, distinct, shared
from helmbench_hf.records import Case, Completion
from helmbench_hf.runs.folder import (
    FORMAT,
    Dataset,
    Manifest,
    RunError,
    RunFolder,
    RunModel,
    RunRouter,
    RunSettings,
    RunUser,
    Selection,
    write_json,
)
from helmbench_hf.runs.journal import Journal, run_lock
from helmbench_hf.runs.router import Router, mode_of
from helmbench_hf.runs.turns import Conversations, Settings, is_answer
from helmbench_hf.runs.worded import User

JOB = "helmbench_hf.runs.generate:child"
REUSE = ("missing", "always", "never", "only")
"""missing: run what has no answer, and engine failures again. always: failures stand too. never: run everything again,
beside the old answers; such a run that was stopped is resumed. only: run nothing."""
RESTARTED = "anew.json"
"""Stands in the folder of answers from the start of a `--reuse never` to its end."""
RESUMED = "the answers here are those of a --reuse never that was stopped; it is resumed"
NO_ROUTER = "without a router (--router MODEL) they end after their first turn and are not scored"
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
    """What a preset filled in; the manifest keeps it."""
    router: EngineSpec | None = None
    """The model that sorts the replies of reactive conversations; without one they end after their first turn."""
    user: EngineSpec | None = None
    """The model that words the person's lines in them; without one they stand as authored."""
    memory: Memory = "both"
    """Whether the models stay loaded together, or take turns."""

    def as_payload(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)

    @staticmethod
    def of(payload: dict[str, Any]) -> Ask:
        """Read `as_payload` back."""
        engine, settings = EngineSpec(**payload["engine"]), Settings(**payload["settings"])
        others = {role: EngineSpec(**payload[role]) if payload[role] else None for role in ("router", "user")}
        return Ask(**{**payload, "engine": engine, "settings": settings, **others})


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that is found out before a weight is loaded; made without torch."""

    cases: tuple[Case, ...]
    identity: DatasetIdentity
    model: ModelInfo
    router: ModelInfo | None = None
    """None also where no conversation is reactive; so is `user`."""
    user: ModelInfo | None = None

    def conversations(
        self, settings: Settings, stored: Mapping[str, Completion], words: Mapping[str, Completion] | None = None
    ) -> Conversations:
        """The conversations of these cases, the stored answers and the words of router and user walked through."""
        model, sorts = self.model, None
        if (router := self.router) is not None:
            sorts = Router(router.context, mode_of(router.template, router.spec.kind), router.template)
        user = User(self.user.context, self.user.template) if self.user else None
        return Conversations(self.cases, model.template, model.context, settings, stored, sorts, words or {}, user)


def prepare(ask: Ask, model: ModelInfo | None = None) -> Prepared:
    """Load cases, template and identities. Raises DatasetError and EngineError with sentences.

    `model`: where it is not the engine of `ask` that says which model runs.
    """
    loaded = load_cases(ask.design, ask.dataset, ask.revision)
    cases = select(loaded.cases, ask.only, ask.limit, ask.shard)
    answering = any(case.route.beats for case in cases)
    router, user = (model_info(spec) if spec is not None and answering else None for spec in (ask.router, ask.user))
    return Prepared(cases, loaded.identity, model or model_info(ask.engine), router, user)


def manifest_of(ask: Ask, prepared: Prepared) -> Manifest:
    """What the run records before its engine starts."""
    context = prepared.model.context
    made = Manifest(
        format=FORMAT,
        helmbench=__version__,
        dataset=Dataset(**asdict(prepared.identity)),
        selection=Selection(only=ask.only, limit=ask.limit, shard=ask.shard, cases=len(prepared.cases)),
        model=RunModel(**asdict(prepared.model.identity)),
        chat=asdict(prepared.model.template.facts),
        settings=RunSettings(**asdict(ask.settings)),
        engine_label=context.engine,
        key=context,
        context_sha=digest(asdict(context)),
        started=now(),
    )
    update: dict[str, Any] = {"preset": ask.preset} if ask.preset else {}
    if (router := prepared.router) is not None:
        update["router"] = RunRouter(
            engine=f"{router.spec.kind}:{router.spec.shown}",
            mode=mode_of(router.template, router.spec.kind),
            key=router.context,
            model=asdict(router.identity),
        )
    if (user := prepared.user) is not None:
        update["user"] = RunUser(engine=f"{user.spec.kind}:{user.spec.shown}", key=user.context, model=asdict(user.identity))
    return made.model_copy(update=update)


def differing(old: Manifest, new: Manifest) -> list[str]:
    """Name what keeps the answers of two runs apart: dataset version, model, settings, engine, or its arguments."""
    before, after = _settled(old), _settled(new)
    if found := [name for name, value in before.items() if value != after[name]]:
        return found
    before, after = _recorded(old), _recorded(new)
    return [name for name, value in before.items() if value and after[name] and value != after[name]]


def _settled(run: Manifest) -> dict[str, Any]:
    return {
        "dataset version": run.dataset.version,
        "model": run.model.content,
        "settings": run.settings,
        "setting of the chat template": run.chat.get("template_kwargs"),
        "engine": run.engine_label,
        "router": run.router and (run.router.key, run.router.mode),
        "user model": run.user and run.user.key,
    }


def _recorded(run: Manifest) -> dict[str, Any]:
    """What tells two runs apart only where both have recorded it."""
    served = (run.engine or {}).get("extra", {}).get("served")
    return {"argument of engine or template": run.context_sha, "model behind the same served name": served}


def check_same(old: Manifest, new: Manifest, folder: RunFolder) -> None:
    """Refuse to mix answers: a run folder holds one dataset version, one model, one setting, one shard. Raises RunError."""
    if found := differing(old, new):
        raise RunError(
            f"{folder.root} contains a run with a different {' and a different '.join(found)}; its answers must not be "
            "mixed with these. Give another run folder."
        )
    if old.dataset.design == new.dataset.design and old.dataset.content_sha256 != new.dataset.content_sha256:
        raise RunError(f"{folder.root} was made from different content of the same version; give another run folder")
    before, after = ((run.selection, run.dataset.design) if run.selection.shard else None for run in (old, new))
    if before != after:
        held, wanted = (f"shard {shard[0].shard}" if shard else "a run without shards" for shard in (before, after))
        raise RunError(
            f"{folder.root} holds {held}, not {wanted}{' of other cases' if held == wanted else ''}. "
            "Give each shard a folder of its own, then put them together with `helmbench merge`."
        )


def child(payload: dict[str, Any], reporter: Listener) -> None:
    """The job of the child process: own the folder, ask what is missing, journal every answer as it ends."""
    ask = Ask.of(payload)
    ask_all(ask, lambda: prepare(ask), open_engine, reporter)


def ask_all(ask: Ask, prepared: Callable[[], Prepared], opened: Callable[[EngineSpec], Engine], reporter: Listener) -> None:
    """Do the work of `child` in this process, under the lock of the run folder. `opened` loads an engine, if it is needed."""
    folder = RunFolder(Path(ask.run))
    with run_lock(folder.root):
        _generate(ask, folder, prepared(), opened, reporter)


def _generate(
    ask: Ask, folder: RunFolder, prepared: Prepared, opened: Callable[[EngineSpec], Engine], reporter: Listener
) -> None:
    manifest = manifest_of(ask, prepared)
    if (folder.root / "manifest.json").exists():
        old = folder.manifest()
        check_same(old, manifest, folder)
        manifest = manifest.model_copy(update={name: getattr(old, name) for name in KEPT if name in old.model_fields_set})
    folder.write_manifest(manifest)
    if ask.reuse == "never":
        _begin_restart(folder, reporter)
    stored, words = Journal.read(folder.completions), Journal.read(folder.acts)
    for read in (stored, words):
        if read.passed.places:
            reporter.emit({"event": "note", "message": str(read.passed)})
    if prepared.router is None and (waiting := sum(bool(case.route.beats) for case in prepared.cases)):
        reporter.emit({"event": "note", "message": f"{waiting} conversations are reactive; {NO_ROUTER}"})
    talks = prepared.conversations(ask.settings, stored.everything() if ask.reuse == "always" else stored, words)
    work = [] if ask.reuse == "only" else talks.missing()
    reporter.emit({"event": "planned", "turns": talks.planned_turns, "stored": len(stored), "open": len(work)})
    if not work:
        _record(folder, stored, talks, reporter)
        if ask.reuse != "only":
            _end_restart(folder)
        return
    with ExitStack() as journals:  # before the weights: a folder may be read-only
        journal = journals.enter_context(Journal.open(folder.completions, "generate"))
        spoken = journals.enter_context(Journal.open(folder.acts, "router")) if prepared.router else journal
        engine = _open(ask, folder, prepared, opened, reporter)
        counter = Counting(reporter, talks.planned_turns, len(stored))

        def save(completion: Completion) -> None:
            if not is_answer(completion.request):
                spoken.append(completion)
                return
            journal.append(completion)
            counter.count(completion)

        driven = drive(engine, map(talks.request, work), talks.follow_up, save, stop=reporter.stopping)
    _record(folder, Journal.read(folder.completions), talks, reporter)
    if not driven.stopped:
        _end_restart(folder)
    reporter.emit({"event": "end", "stopped": driven.stopped, "retried": driven.retried, **counter.totals()})


def _open(ask: Ask, folder: RunFolder, prepared: Prepared, opened: Callable[[EngineSpec], Engine], reporter: Listener) -> Engine:
    """Open the engine, with those of router and user where there are any, and record what it is.

    Raises `RunError` where its server now offers another model under that name.
    """
    began, manifest = time.monotonic(), folder.manifest()
    if prepared.router is None:
        engine = opened(ask.engine)
    else:
        others = {"router": prepared.router, "user": prepared.user}
        specs = shared({TARGET: ask.engine, **{role: info.spec for role, info in others.items() if info}}, ask.memory)
        loaded = [(spec, opened(spec)) for spec in distinct(list(specs.values()))]
        engines = {role: next(engine for held, engine in loaded if held == spec) for role, spec in specs.items()}
        engine = Models(engines, ask.memory)
    described = engine.describe()
    if not described.continues(manifest.engine or {}):
        raise RunError(
            f"The model that the server offers under the name {ask.engine.shown} is not the one whose answers are in "
            f"{folder.root}. Serve that one again, or give another run folder."
        )
    folder.write_manifest(manifest.model_copy(update={"engine": asdict(described)}))
    reporter.emit({"event": "ready", "load_seconds": time.monotonic() - began, "engine": asdict(described)})
    return engine


def record_reasoning(folder: RunFolder, stored: Mapping[str, Completion]) -> None:
    """Add to the manifest how many of the run's answers came without reasoning, after it, and never because it did not end."""
    counted = Counter(reasoning_state(completion) for completion in stored.values())
    states = {state: counted[state] for state in get_args(ReasoningState)}
    folder.write_manifest(folder.manifest().model_copy(update={"reasoning": states}))


def _record(folder: RunFolder, stored: Mapping[str, Completion], talks: Conversations, reporter: Listener) -> None:
    """Add to the manifest what the answers show; say so where a template changes the history of a conversation."""
    record_reasoning(folder, stored)
    history = talks.history(stored)
    if not history.later_turns:
        return
    folder.write_manifest(folder.manifest().model_copy(update={"history": asdict(history)}))
    if history.prompt_changed:
        message = (
            f"{history.prompt_changed} of {history.later_turns} later turns do not begin with the prompt of the turn before: "
            "the chat template renders its history anew, and a prefix cache serves less of it"
        )
        reporter.emit({"event": "note", "message": message})


def _begin_restart(folder: RunFolder, reporter: Listener) -> None:
    """`--reuse never`: the old answers stay on disk, beside the new ones. Those of a stopped one are the new ones."""
    begun = folder.completions / RESTARTED
    if begun.exists():
        reporter.emit({"event": "note", "message": RESUMED})
        return
    if folder.completions.is_dir():
        number = 1
        while (aside := folder.root / f"completions.{number}").exists():
            number += 1
        folder.completions.rename(aside)
    write_json(begun, {"started": now()})


def _end_restart(folder: RunFolder) -> None:
    """Nothing is left to run: the next `--reuse never` is another one."""
    (folder.completions / RESTARTED).unlink(missing_ok=True)


def now() -> str:
    """The time as manifests record it, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
