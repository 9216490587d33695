"""Scores for a model's page of the Hub: what stands in the file, what is refused, and the pull request with the real client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from helmbench_hf.board.submission import Submission
from helmbench_hf.dataset import publish
from helmbench_hf.interop.eval_results import PATH, eval_results, open_pull_request
from helmbench_hf.runs.folder import RunError
from tests.interop.conftest import rescored
from tests.support.commands import helmbench
from tests.support.hub import OTHER, TOKENS, Fault, Hub

MODEL, COMMIT = "acme/tiny-1b", "ab" * 20


@pytest.fixture
def made(whole: Submission) -> Submission:
    """As if the run were on `core` and its model from the Hub."""
    manifest = whole.manifest
    model = manifest.model.model_copy(update={"id": MODEL, "commit": COMMIT, "files_sha": ""})
    dataset = manifest.dataset.model_copy(update={"design": "core", "source": f"helmbench/v1@{'cd' * 20}"})
    return replace(whole, manifest=manifest.model_copy(update={"model": model, "dataset": dataset}))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(publish, "PAUSE", 0.0)
    with Hub() as hub:
        hub.repo(MODEL, "model")
        yield hub


def test_every_entry_is_read_by_the_hubs_own_client(made: Submission) -> None:
    entries = parse_eval_result_entries(yaml.safe_load(eval_results(made)))
    pillars = [each for each in made.scores.pillars if each.score.value is not None]
    assert [entry.task_id for entry in entries] == ["overall", *(each.slug for each in pillars)]
    assert entries[0].value == 41.26
    for entry, pillar in zip(entries[1:], pillars, strict=True):
        assert entry.value == round(100 * (pillar.score.value or 0), 2)
    assert {entry.dataset_id for entry in entries} == {"helmbench/v1"}
    assert {entry.dataset_revision for entry in entries} == {"cd" * 20}
    assert "judges: judge-a, panel first" in entries[0].notes
    assert f"n={made.scores.headline.overall.score.n_pairs} pairs" in entries[0].notes


def test_a_score_below_chance_stays_below_0(made: Submission) -> None:
    def low(scores: dict[str, Any]) -> None:
        scores["pillars"] = scores["pillars"][:1]
        scores["pillars"][0]["score"]["value"] = -0.1234
        scores["headline"]["printed"] = 0.0
        scores["headline"]["overall"]["score"] |= {"value": -0.051, "low": -0.08, "high": -0.02}

    overall, pillar = parse_eval_result_entries(yaml.safe_load(eval_results(rescored(made, low))))
    assert pillar.value == -12.34
    assert overall.value == 0  # the composite as it is printed everywhere; what it was before stands beside it
    assert "-5.1 before clipping at 0 and capping at a breached floor; 95% interval -8.0 to -2.0" in (overall.notes or "")


def test_a_number_that_means_nothing_on_a_models_page_is_refused(made: Submission, submission: Submission) -> None:
    with pytest.raises(RunError, match="only scores for core"):
        eval_results(submission)
    folder = made.manifest.model.model_copy(update={"commit": ""})
    with pytest.raises(RunError, match="not a commit on the Hub"):
        eval_results(replace(made, manifest=made.manifest.model_copy(update={"model": folder})))

    def little(scores: dict[str, Any]) -> None:
        scores["headline"]["printed"] = None
        scores["headline"]["overall"]["score"]["note"] = "only 35% was scored"

    with pytest.raises(RunError, match="has no composite: only 35% was scored"):
        eval_results(rescored(made, little))


def test_one_pull_request_on_the_models_own_repository(hub: Hub, made: Submission) -> None:
    text = eval_results(made)
    hub.faults.append(Fault("POST", "/commit/", done=True))
    address = open_pull_request(hub.api(OTHER), MODEL, made, text)
    assert address.endswith(f"{MODEL}/discussions/1")
    assert open_pull_request(hub.api(OTHER), MODEL, made, text) == address, "it is open already"
    found = hub.api(None).hf_hub_download(MODEL, PATH, revision="refs/pr/1")
    assert Path(found).read_text() == text
    assert len(hub.repo(MODEL, "model").discussions) == 1
    assert hub.hosts == {"127.0.0.1"}


def test_another_models_page_and_nobody_are_refused(hub: Hub, made: Submission, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunError, match="do not belong on the page of acme/other"):
        open_pull_request(hub.api(OTHER), "acme/other", made, "")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(RunError, match="there is no token") as caught:
        open_pull_request(hub.api(None), MODEL, made, "")
    assert not any(token in str(caught.value) for token in TOKENS.values())
    assert hub.requests == []
    hub.repos.clear()
    with pytest.raises(publish.PublishError, match="hf repos create REPO --repo-type model"):
        open_pull_request(hub.api(OTHER), MODEL, made, "")


def test_the_command_says_why_a_run_cannot_go(run: Path) -> None:
    assert "only scores for core" in helmbench("export", "eval-results", run, code=1).stderr
