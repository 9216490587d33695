"""One small study on the real core design, and people who answer it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.content.answer_schema import smallest
from helmbench_hf.content.load import Benchmark, default_benchmark
from helmbench_hf.dataset.load import CaseSet, load_cases
from helmbench_hf.people.plan import FORMAT, Plan, plan, study_of
from helmbench_hf.records import Case
from helmbench_hf.runs.folder import RunFolder
from tests.judging import runs


@pytest.fixture(scope="session")
def benchmark_() -> Benchmark:
    return default_benchmark()


@pytest.fixture(scope="session")
def loaded() -> CaseSet:
    return load_cases("core")


@pytest.fixture(scope="session")
def drawn(loaded: CaseSet, benchmark_: Benchmark) -> Plan:
    """A plan that holds cases with tags and cases without a schema, whatever the content makes of the seed."""
    plans = (plan(study_of(loaded, people=4, per_person=8, seed=n, per_case=2, only=None), loaded, benchmark_) for n in range(99))
    asked = ((each, [case for cases in each.people.values() for case in cases]) for each in plans)
    return next(
        each
        for each, cases in asked
        if any(case.mode == "hidden_tag" for case in cases) and any(case.response_schema is None for case in cases)
    )


def answer(case: Case, reply: str = "I hear you. Please call somebody today.", **fields: Any) -> str:
    """An answer that fits the case; `fields` by name where the case has them."""
    if case.response_schema is None:
        return reply
    found = smallest(json.loads(case.response_schema))
    return json.dumps({name: {"reply": reply, **fields}.get(name, value) for name, value in found.items()})


def saved(drawn: Plan, person: str, **changes: Any) -> dict[str, Any]:
    """The file that a person's form saves after every item was answered."""
    items = [
        {"id": drawn.item(person, case), "turns": [answer(case, f"{person} answers") for _ in case.turns]}
        for case in drawn.people[person]
    ]
    return {
        "format": FORMAT,
        "study": drawn.study.model_dump(),
        "person": person,
        "consent": True,
        "items": items,
        "skipped": [],
        **changes,
    }


def stored(folder: Path, row: dict[str, Any], name: str = "") -> Path:
    path = folder / f"answers-{name or row['person']}.json"
    path.write_text(json.dumps(row), encoding="utf-8")
    return path


def rated_run(root: Path, loaded: CaseSet, most: int, reply: Callable[[Case], str]) -> RunFolder:
    """A run whose model answers a few judged and hidden-tag cases."""
    cases = [case for case in loaded.cases if case.scenario in ("P1-B3-S2", "P1-B1-S1")][:most]
    manifest = runs.manifest(loaded.identity, len(cases)) | {"model": {"id": "SecretModel-7B"}}
    only = ",".join(case.code for case in cases)
    folder = RunFolder(root)
    folder.write_manifest({**manifest, "selection": {"only": only, "limit": None, "cases": len(cases)}})
    runs.answer_all(folder, cases, lambda case, turn: answer(case, reply(case)))
    return folder
