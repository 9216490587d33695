"""The Python API, with a function and with the fake engine behind the real child processes."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import helmbench_hf
from helmbench_hf import evaluate, load_cases
from helmbench_hf.judging import grade as grading
from helmbench_hf.judging.judge import JudgeSpec
from helmbench_hf.models.engine import EngineError
from helmbench_hf.models.withheld import WithheldError
from helmbench_hf.runs import generate as generating
from helmbench_hf.runs.folder import RunError, RunFolder
from tests.judging.runs import good
from tests.support.checkpoints import tiny_checkpoint

SCENARIO = "P1-B5-S2"


@pytest.fixture(scope="module")
def few() -> Any:
    """The labeled cases of `smoke`."""
    whole = load_cases("smoke")
    return dataclasses.replace(whole, cases=tuple(case for case in whole.cases if case.scenario == SCENARIO))


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = "{'numpy', 'pyarrow', 'pydantic'}"
    code = f"import helmbench_hf, sys; print(helmbench_hf.__version__, *sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [helmbench_hf.__version__]
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        helmbench_hf.evaluat  # noqa: B018


def test_a_function_that_is_right_and_one_that_is_wrong(few: Any, tmp_path: Path) -> None:
    keys = {case.turns[0]: case for case in few.cases}
    asked: list[list[dict[str, str]]] = []

    def right(messages: list[dict[str, str]]) -> str:
        asked.append(messages)
        return good(keys[messages[-1]["content"]], 1)

    def wrong(messages: list[dict[str, str]]) -> str:
        case = keys[messages[-1]["content"]]
        return json.dumps({"answer": next(each for each in case.grading.options if each != case.grading.label)})

    best = evaluate(right, few, run=tmp_path / "right", concurrency=3)
    [scenario] = best["scenarios"]
    assert scenario["code"] == SCENARIO
    worst = evaluate(wrong, few, run=tmp_path / "wrong")
    assert worst["scenarios"][0]["score"]["value"] < scenario["score"]["value"] == pytest.approx(1.0)
    assert [message["role"] for message in asked[0]] == ["system", "user"]
    assert asked[0][0]["content"] == keys[asked[0][1]["content"]].system
    count = len(asked)
    assert evaluate(right, few, run=tmp_path / "right") == best
    assert len(asked) == count, "stored answers are not asked for again"
    manifest = RunFolder(tmp_path / "right").manifest().to_json()
    assert manifest["model"]["id"] == "right"
    assert manifest["settings"]["free_form"] is True
    assert manifest["selection"]["cases"] == len(few.cases)


def test_what_a_function_raises_is_an_engine_failure_and_never_an_answer(few: Any, tmp_path: Path) -> None:
    def broken(messages: list[dict[str, str]]) -> str:
        raise TimeoutError("no answer")

    scores = evaluate(broken, few, run=tmp_path / "run")
    assert scores["headline"]["overall"]["score"]["value"] is None
    assert scores["quality"][0]["engine_failures"] == len(few.cases)
    with pytest.raises(EngineError, match="returned int, not a string"):
        evaluate(lambda messages: 7, few, run=tmp_path / "seven", name="seven")  # type: ignore[arg-type, return-value]


class FilteredError(Exception):
    """As a client raises it for a blocked prompt."""

    body = {"code": "content_filter", "message": "The response was filtered."}  # noqa: RUF012


@pytest.mark.parametrize("error", [FilteredError("Error code: 400"), WithheldError("Blocked.")])
def test_what_a_provider_blocks_is_withheld_and_not_an_engine_failure(few: Any, error: Exception, tmp_path: Path) -> None:
    calls = []

    def blocked(messages: list[dict[str, str]]) -> str:
        calls.append(messages)
        raise error

    scores = evaluate(blocked, few, run=tmp_path / "run")
    assert sum(row["withheld"] for row in scores["quality"]) == len(few.cases) == len(calls)
    assert sum(row["engine_failures"] for row in scores["quality"]) == 0


def test_what_cannot_be_evaluated_is_said(few: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give it one with name="):
        evaluate(lambda messages: "", few, run=tmp_path)
    with pytest.raises(ValueError, match="does its own sampling"):
        evaluate(good, few, run=tmp_path, engine={"dtype": "float32"})  # type: ignore[arg-type]
    changed = dataclasses.replace(few, cases=(dataclasses.replace(few.cases[0], system="Be kind."),))
    with pytest.raises(ValueError, match="take them unchanged from `load_cases`"):
        evaluate(good, changed, run=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there are no cases"):
        evaluate(good, dataclasses.replace(few, cases=()), run=tmp_path)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_model_and_a_judge_by_name_run_in_children_of_their_own(
    few: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generating, "JOB", "tests.support.fake_cli:generate")
    monkeypatch.setattr(grading, "JOB", "tests.support.fake_cli:grade")
    whole = load_cases("smoke")
    judged = dataclasses.replace(whole, cases=tuple(case for case in whole.cases if case.mode == "judged")[:4])
    model = tiny_checkpoint(tmp_path / "tiny")
    events: list[dict[str, Any]] = []
    judge = JudgeSpec(id="judge-a", engine=f"vllm:{model}", family="tiny", mode="fast")
    scores = evaluate(f"vllm:{model}", judged, run=tmp_path / "run", judge=judge, on_event=events.append)
    assert [row["id"] for row in scores["provenance"]["judges"]] == ["judge-a"]
    assert scores["provenance"]["cases"] == 4
    assert {"planned", "ready", "end"} <= {event["event"] for event in events}
    assert (tmp_path / "run" / "verdicts.jsonl").is_file()
    with pytest.raises(RunError, match="no folder"):
        evaluate(f"vllm:{tmp_path}/nowhere", judged, run=tmp_path / "other")
