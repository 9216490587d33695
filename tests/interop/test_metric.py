"""The metric folder with the real library `evaluate`, from a local folder, without a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import CommitOperationAdd

from helmbench_hf.interop.replies import grade_reply, pooled, single_turn_cases
from tests.judging.runs import good
from tests.support.hub import Hub

REPO = "helmbench/helmbench_metric"
FOLDER = Path(__file__).parents[2] / "spaces" / "helmbench_metric"


@pytest.fixture(scope="module")
def metric(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        patch.setattr("evaluate.config.HF_MODULES_CACHE", str(home / "modules"))
        patch.setattr("evaluate.config.HF_METRICS_CACHE", str(home / "metrics"))
        patch.setattr("evaluate.config.HF_EVALUATE_OFFLINE", True)
        import evaluate

        yield evaluate.load(str(FOLDER))


def test_figures_are_those_of_our_graders(metric: Any) -> None:
    cases = single_turn_cases("smoke")
    answers = {code: good(case, 1) if number % 3 else "no JSON" for number, (code, case) in enumerate(cases.items())}
    found = metric.compute(predictions=list(answers.values()), references=list(answers), design="smoke")
    assert found == pytest.approx(pooled(grade_reply(cases[code], text) for code, text in answers.items()))
    assert found["usable_n"] == len(cases)
    assert 0 < found["usable"] < 1
    metric.add(prediction='{"answer": "x"}', reference=next(iter(cases)))
    assert metric.compute(design="smoke")["usable_n"] == 1


@pytest.mark.slow
def test_the_same_folder_is_read_as_a_space_of_the_hub(tmp_path: Path) -> None:
    code = next(iter(single_turn_cases("smoke")))
    asked = f"predictions=['no JSON'], references=[{code!r}], design='smoke'"
    script = f"import evaluate, json; print(json.dumps(evaluate.load({REPO!r}).compute({asked})))"
    with Hub() as hub:
        hub.repo(REPO, "space")
        adds = [CommitOperationAdd(path.name, path.read_bytes()) for path in FOLDER.iterdir() if path.is_file()]
        hub.api().create_commit(REPO, adds, commit_message="The metric", repo_type="space")
        done = hub.client(script, tmp_path / "home", HF_UPDATE_DOWNLOAD_COUNTS="0")
        assert done.returncode == 0, done.stderr
        assert hub.hosts == {"127.0.0.1"}
    assert json.loads(done.stdout) == pooled([grade_reply(single_turn_cases("smoke")[code], "no JSON")])


def test_an_unknown_case_is_said(metric: Any) -> None:
    with pytest.raises(ValueError, match="P9-B9 is no single-turn case of the design smoke"):
        metric.compute(predictions=["a"], references=["P9-B9"], design="smoke")


def test_the_folder_is_a_space() -> None:
    card = yaml.safe_load((FOLDER / "README.md").read_text().split("---")[1])
    assert card["sdk"] == "static"
    assert {"evaluate", "metric"} <= set(card["tags"])
    assert "helmbench-hf" in (FOLDER / "requirements.txt").read_text().split()
