"""Run folders with answers in them, and judges that are fake engines."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.load import CaseSet, DatasetIdentity
from helmbench_hf.judging import grade
from helmbench_hf.judging.judge import Judge, JudgeSpec, criteria_of
from helmbench_hf.models.chat import ChatTemplate
from helmbench_hf.models.engine import Engine
from helmbench_hf.models.identity import ModelIdentity
from helmbench_hf.models.keys import KeyContext
from helmbench_hf.records import Case, Completion
from helmbench_hf.runs import completions, generate
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.runs.journal import Journal
from helmbench_hf.runs.router import ACT
from tests.judging.build import done, hidden
from tests.support.checkpoints import CHATML, tiny_tokenizer
from tests.support.fake_engine import FakeEngine


def identity(version: str, **changes: Any) -> DatasetIdentity:
    return DatasetIdentity(**{
        "name": "HELMbench", "design": "smoke", "version": version, "scoring_version": version, "content_sha256": "c",
        "source": "embedded", **changes,
    })  # fmt: skip


def manifest(dataset: DatasetIdentity, cases: int, draws: int = 1) -> dict[str, Any]:
    return {
        "dataset": dataclasses.asdict(dataset),
        "selection": {"only": None, "limit": None, "cases": cases},
        "model": {"id": "tiny"},
        "settings": {"draws": draws},
    }


def answer_all(
    folder: RunFolder, cases: Sequence[Case], text: Callable[[Case, int], str | Completion | None], draws: int = 1
) -> None:
    """Journal an answer to every turn of every case; None leaves one out."""
    with Journal.open(folder.completions, "test") as journal:
        for case in cases:
            for draw in range(draws):
                for turn in range(1, case.most_turns + 1):
                    name = f"{case.code}/t{turn}/d{draw}"
                    given = text(case, turn)
                    if given is None:
                        continue
                    completion = done(given) if isinstance(given, str) else given
                    journal.append(dataclasses.replace(completion, key=f"key of {name}", request=name))
                    if case.route.beats:
                        journal.append(dataclasses.replace(done("cares"), key=f"act of {name}", request=f"{name}{ACT}"))


def fake_judge(engine: Engine | Callable[[], Engine] | None = None, *, weights: str = "tiny", **spec: Any) -> Judge:
    """A judge whose engine is fake; `weights` names its model."""
    made = engine if callable(engine) else (lambda: engine if engine is not None else FakeEngine())
    template = ChatTemplate(tiny_tokenizer(CHATML))
    sha = template.facts.template_sha
    return Judge(
        JudgeSpec(**{"id": "judge-a", "engine": "vllm:owner/tiny", "family": "tiny", **spec}),
        template,
        ModelIdentity(id=weights, commit="", files_sha=weights, dtype="auto", quantization="", template_sha=sha),
        KeyContext(model={"files": weights}, template_sha=sha, engine="fake 1.0"),
        made,
    )


@dataclass
class Ear:
    """Listens, and asks to stop after so many answers."""

    events: list[dict[str, Any]] = field(default_factory=list)
    patience: Callable[[], bool] = lambda: False

    def emit(self, event: dict[str, Any]) -> None:
        self.events.append(event)

    def stopping(self) -> bool:
        return self.patience()

    def named(self, name: str) -> Mapping[str, Any]:
        return next(event for event in self.events if event["event"] == name)


def planned(cases: Sequence[Case]) -> int:
    """Verdicts that a judge of these cases gives."""
    return sum(len(criteria_of(case)) * len(case.grading.turns) for case in cases)


def case_set(cases: Sequence[Case], version: str) -> CaseSet:
    return CaseSet(tuple(cases), identity(version))


def put(patch: pytest.MonkeyPatch, benchmark: Benchmark, cases: Sequence[Case]) -> None:
    """Let every stage take this benchmark for the embedded one, and these cases for any design of it."""
    version = benchmark.file.version

    def load(design: str = "smoke", *_: object) -> CaseSet:
        return CaseSet(tuple(cases), identity(version, design=design))

    for module in (completions, grade):
        patch.setattr(module, "default_benchmark", lambda: benchmark)
    for module in (completions, generate):
        patch.setattr(module, "load_cases", load)


def good(case: Case, turn: int) -> str:
    """An answer that every grader can read, and most like."""
    if case.grading.tags:
        return hidden("I am worried about you.", [case.grading.target])
    if case.grading.options:
        return json.dumps({"answer": case.grading.label})
    if case.response_schema:
        return json.dumps({"q1": "yes", "q2": "no", "reason": "r"})
    return f"I am worried about you ({turn}). Ring 116 123."
