"""Both judge modes on a real model through real vLLM, by the very job that `helmbench grade` runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.dataset.load import load_cases
from helmbench_hf.judging.grade import collect, grade
from helmbench_hf.judging.judge import JudgeSpec
from helmbench_hf.runs.completions import run_answers, run_cases
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.runs.journal import Journal
from tests.judging import runs
from tests.judging.hostile import HOSTILE
from tests.judging.runs import good, planned
from tests.support.checkpoints import smollm2_path

LIMIT = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    loaded = load_cases("smoke")
    made = RunFolder(tmp_path_factory.mktemp("judged"))
    manifest = runs.manifest(loaded.identity, LIMIT)
    made.write_manifest({**manifest, "selection": {"only": None, "limit": LIMIT}})
    cases = run_cases(made, {})
    # one of the replies speaks to the judge, control tokens included
    runs.answer_all(
        made,
        cases,
        lambda case, turn: (
            good(case, turn).replace("I am worried", HOSTILE[7].replace("\n", " ")) if case is cases[0] else good(case, turn)
        ),
    )
    return made


@pytest.mark.vllm
@pytest.mark.parametrize("mode", ["fast", "evidence"])
def test_smollm2_judges(folder: RunFolder, mode: Any, tmp_path: Path) -> None:
    options = {"max_model_len": 6144, "dtype": "float32"}
    spec = JudgeSpec(id=f"smollm2-{mode}", engine=f"vllm:{smollm2_path()}", family="smollm", mode=mode, options=options)
    events: list[dict[str, Any]] = []
    assert grade(folder.root, [spec], events.append, log=tmp_path / "log") == 0, (tmp_path / "log").read_text()[-3000:]
    graded = collect(folder)
    found = [verdict for verdict in graded.verdicts if verdict.grader == spec.id]
    cases, _ = run_answers(folder)
    assert len(found) == planned(cases)
    scored = [verdict for verdict in found if verdict.status == "scored"]
    reasons = {verdict.detail["reason"] for verdict in found if verdict.status != "scored"}
    stored = Journal.read(folder.judgments / spec.id)
    assert stored.failures == {}
    if mode == "fast":
        # the model is no judge: its letters were read, and it would rather have said something else
        assert reasons <= {"low_mass", "tie"}
        assert all(0 < verdict.detail["mass"] <= 1.0001 for verdict in found)
        assert all(completion.output_tokens == 1 for completion in stored.values())
    else:
        assert reasons <= {"truncated", "quote_not_found"}
        assert all(len(verdict.detail["quote"]) <= 160 for verdict in scored)
    prompts = sum(completion.prompt_tokens for completion in stored.values())
    assert sum(completion.cached_tokens for completion in stored.values()) > 0.3 * prompts
    events.clear()
    assert grade(folder.root, [spec], events.append) == 0
    assert [event["event"] for event in events] == ["planned"]
    assert events[0]["open"] == 0
