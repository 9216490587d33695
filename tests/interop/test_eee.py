"""Records of Every Eval Ever hold against its own schema, and their numbers against the scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from helmbench_hf.board.submission import Submission
from helmbench_hf.dataset.load import load_cases
from helmbench_hf.interop.eee import place, record
from helmbench_hf.runs.folder import RunError, RunFolder
from helmbench_hf.runs.policies import run_policy
from helmbench_hf.scoring.scores import to_json
from tests.interop.conftest import rescored
from tests.support.commands import helmbench

SCHEMA = Path(__file__).parent / "eee-0.3.0" / "eval.schema.json"


def valid(found: dict[str, Any]) -> None:
    schema = json.loads(SCHEMA.read_text())
    assert schema["version"] == found["schema_version"]
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.Draft7Validator(schema).validate(found)


def test_a_record_is_valid_and_says_what_the_scores_say(whole: Submission) -> None:
    found = record(whole, "Example Lab", "first_party")
    valid(found)
    scores = to_json(whole.scores)
    results = {each["evaluation_result_id"].rpartition("/")[2]: each for each in found["evaluation_results"]}
    overall = scores["headline"]["overall"]
    groups = {group["code"]: group for group in (overall, *scores["pillars"], *scores["behaviors"])}
    assert set(results) == {code for code, group in groups.items() if group["score"]["value"] is not None}
    assert len(results) > len(scores["pillars"]) + 1, "no behavior has a score"
    for code, result in results.items():
        score, said = groups[code]["score"], result["score_details"]
        assert said["score"] == pytest.approx(100 * score["value"])
        assert said["uncertainty"]["num_samples"] == score["n_pairs"]
        interval = said["uncertainty"].get("confidence_interval")
        assert (interval is None) == (score["low"] is None)
        if interval:
            assert interval["method"].startswith("score interval (Wilson)")
            assert (interval["lower"], interval["upper"]) == pytest.approx((100 * score["low"], 100 * score["high"]))
    assert results["all"]["score_details"]["details"]["printed"] == str(scores["headline"]["printed"])
    [judge] = results["all"]["metric_config"]["llm_scoring"]["judges"]
    assert judge["additional_details"]["id"] == "judge-a"


def test_the_schema_would_find_a_fault(submission: Submission) -> None:
    found = record(submission, "Example Lab")
    del found["model_info"]["additional_details"]["model_availability"]
    with pytest.raises(jsonschema.ValidationError, match="model_availability"):
        valid(found)


def test_one_run_has_one_place(submission: Submission) -> None:
    assert place(submission) == place(submission)
    assert place(submission).startswith("data/helmbench-smoke/unknown/tiny/")


def test_the_command_writes_it_and_refuses_a_policy(run: Path, tmp_path: Path) -> None:
    options = ("--out", tmp_path, "--organization", "Example Lab")
    said = helmbench("export", "eee", run, *options).stdout
    [path] = tmp_path.rglob("*.json")
    assert said.strip() == str(path)
    valid(json.loads(path.read_text()))
    assert "Invalid value for '--relationship'" in helmbench("export", "eee", run, *options, "--relationship", "x", code=2).stderr
    policy = tmp_path / "policy"
    run_policy("always-flag", load_cases("smoke"), RunFolder(policy), limit=3)
    refused = helmbench("export", "eee", policy, *options, code=1).stderr
    assert "Only a model's run can be submitted" in refused


def test_a_run_without_a_score_has_no_record(submission: Submission) -> None:
    def nothing(scores: dict[str, Any]) -> None:
        scores["headline"]["overall"]["score"]["value"] = None
        scores |= {"pillars": [], "behaviors": []}

    with pytest.raises(RunError, match="has no score that could be exported"):
        record(rescored(submission, nothing), "Example Lab")
