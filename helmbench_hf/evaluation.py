"""The Python API: a model answers cases, judges read them, scores come back. The stages that the commands run, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset.load import CaseSet, load_cases
from helmbench_hf.judging.claims import read_check
from helmbench_hf.judging.grade import Graded, collect, grade
from helmbench_hf.judging.judge import JudgeSpec
from helmbench_hf.judging.scored import find_scores
from helmbench_hf.models import host
from helmbench_hf.models.engine import Engine, EngineSpec
from helmbench_hf.models.function import Function, FunctionEngine, function_info
from helmbench_hf.runs import generate as generating
from helmbench_hf.runs.completions import source_of
from helmbench_hf.runs.folder import RunError, RunFolder, write_json
from helmbench_hf.runs.generate import Ask
from helmbench_hf.runs.turns import Settings
from helmbench_hf.scoring.scores import to_json

Hear = Callable[[dict[str, Any]], None]


def evaluate(
    model: str | EngineSpec | Function,
    cases: CaseSet,
    *,
    run: str | Path,
    judge: str | JudgeSpec | Sequence[str | JudgeSpec] = (),
    engine: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    name: str | None = None,
    concurrency: int = 1,
    checks: Sequence[Path] = (),
    panel: str = "first",
    on_event: Hear | None = None,
) -> dict[str, Any]:
    """Let a model answer the cases, grade the answers, and give `scores.json` as a dictionary.

    `model`: `vllm:MODEL`, `transformers:MODEL` or `endpoint:NAME` with the engine's settings in `engine`, an `EngineSpec`, or a
    function that gets the messages (dictionaries with `role` and `content`) and gives the answer's text.
    `cases`: what `load_cases` gives, or the same with fewer cases.
    `run`: the run folder; stored answers are not asked for again, so that the same call resumes after a stop.
    `judge`: one or several, as model texts or `JudgeSpec`; without one, only what code decides is scored. The first also sorts
    the replies in reactive conversations; with a function as the model these end after their first turn.
    `settings`: how answers are drawn; of a function only it knows, so there they are refused.
    `name`: of a function (default: its `__name__`). Its answers are stored under it: give another function another name.
    `concurrency`: calls of a function at once, from as many threads.
    `checks`, `panel`: as for `helmbench report`. `on_event` hears of the progress.

    A score is 100 times `scores["headline"]["overall"]["score"]["value"]`; None means that it cannot be said. Raises
    `ValueError`, `RunError`, `EngineError`, `DatasetError` or `ScoringError` with a sentence, `KeyboardInterrupt` after a stop.
    """
    folder, hear = Path(run), _Ear(on_event)
    listed = [judge] if isinstance(judge, str | JudgeSpec) else judge
    specs = [each if isinstance(each, JudgeSpec) else JudgeSpec.named(each) for each in listed]
    if isinstance(model, str | EngineSpec):
        spec = EngineSpec.parse(model, **(engine or {})) if isinstance(model, str) else model
        ask = replace(ask_for(cases, folder, spec, settings or Settings()), router=specs[0].engine_spec() if specs else None)
        folder.mkdir(parents=True, exist_ok=True)
        hear.check(host.run(generating.JOB, ask.as_payload(), hear, log=folder / "engine.log"), folder)
    else:
        if engine or settings is not None:
            raise ValueError("a function does its own sampling; `engine` and `settings` are for models given as a string")
        _ask_function(model, cases, folder, name or _name_of(model), concurrency, hear)
    hear.check(grade(folder, specs, hear, log=folder / "judge.log"), folder)
    for note in write_scores(folder, checks, panel).notes:
        hear({"event": "note", "message": note})
    scores: dict[str, Any] = json.loads(RunFolder(folder).scores.read_text(encoding="utf-8"))
    return scores


def ask_for(cases: CaseSet, run: Path, spec: EngineSpec, settings: Settings) -> Ask:
    """What the stages are asked, from a set of cases. ValueError where it holds other cases than its dataset."""
    identity = cases.identity
    dataset, revision = source_of(identity.source)
    in_design = {case.code: case for case in load_cases(identity.design, dataset, revision).cases}
    if strange := [case.code for case in cases.cases if in_design.get(case.code) != case]:
        raise ValueError(
            f"{strange[0]} differs from the case in the design {identity.design} of {identity.source}; only the dataset's "
            f"own cases can be scored, so take them unchanged from `load_cases`"
        )
    if not cases.cases:
        raise ValueError("there are no cases to answer; take some from `load_cases`")
    only = None if len(cases.cases) == len(in_design) else ",".join(case.code for case in cases.cases)
    return Ask(
        run=str(run), engine=spec, settings=settings, design=identity.design, dataset=dataset, revision=revision, only=only
    )


WORDED_DESIGN = " with worded lines"
"""Behind the name of the design in the scores of such a run, so that nothing compares it with authored lines."""


def write_scores(run: Path, checks: Sequence[Path] = (), panel: str = "first") -> Graded:
    """Derive every verdict from the journals, score them, write `verdicts.jsonl` and `scores.json`.

    Raises RunError where there is no run or two checks have one name, ScoringError where it cannot be scored.
    """
    folder = RunFolder(run)
    found = {path.resolve().name: read_check(path) for path in checks}
    if len(found) < len(checks):
        raise RunError("two checks have the same folder name; scores cite a check by that name, so rename one")
    graded = collect(folder)
    manifest = folder.manifest()
    scores = find_scores(
        graded.cases,
        graded.verdicts,
        graded.judge_rows,
        found,
        benchmark=default_benchmark(),
        draws=manifest.settings.draws,
        design=f"{manifest.dataset.design}{WORDED_DESIGN if manifest.user else ''}",
        content_sha256=manifest.dataset.content_sha256,
        panel=panel,
    )
    graded.write(folder)
    written = to_json(scores)
    if manifest.dataset.private:
        written["provenance"]["private"] = True
    write_json(folder.scores, written)
    return graded


class _Ear:
    """Hears the stages, keeps what went wrong, and never asks them to stop: in a program an exception does."""

    def __init__(self, on_event: Hear | None) -> None:
        self._on_event = on_event
        self._said: list[str] = []

    def __call__(self, event: dict[str, Any]) -> None:
        if event.get("event") == "error":
            self._said.append(str(event["message"]))
        if self._on_event is not None:
            self._on_event(event)

    def emit(self, event: dict[str, Any]) -> None:
        self(event)

    def stopping(self) -> bool:
        return False

    def check(self, code: int | None, run: Path) -> None:
        """Raise what an exit code means."""
        if code == host.STOPPED:
            raise KeyboardInterrupt
        if code:
            raise RunError(" ".join(self._said) or f"the stage ended with code {code}; the engine's own messages are in {run}")


def _ask_function(function: Function, cases: CaseSet, run: Path, name: str, concurrency: int, hear: _Ear) -> None:
    """The stage `generate` in this process: a function cannot go to a child."""
    model = function_info(name)
    ask = ask_for(cases, run, model.spec, Settings(free_form=True))

    def opened(_: EngineSpec) -> Engine:
        return FunctionEngine(function, name, concurrency)

    generating.ask_all(ask, lambda: generating.prepare(ask, model), opened, hear)


def _name_of(function: Function) -> str:
    name = getattr(function, "__name__", "")
    if not name.isidentifier():
        raise ValueError("this function has no name to store its answers under; give it one with name=")
    return str(name)
