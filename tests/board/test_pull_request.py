"""A submission as a pull request on the loopback Hub, with the real client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete
from typer.testing import CliRunner

from helmbench_hf.board.files import RejectedError
from helmbench_hf.board.pull_request import fetch, open_pull_request
from helmbench_hf.board.submission import Submission
from helmbench_hf.cli.app import app
from helmbench_hf.dataset import publish
from helmbench_hf.runs.folder import RunError
from tests.board.made import checked, codes
from tests.support.hub import OTHER, TOKENS, Fault, Hub

REPO = "helmbench/results"
runner = CliRunner()


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A results repository with a page of its own."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(publish, "PAUSE", 0.0)
    with Hub() as hub:
        hub.repo(REPO)
        change(hub, CommitOperationAdd("README.md", b"# Results"), user="helmbench")
        hub.requests.clear()
        yield hub


def change(hub: Hub, *operations: object, user: str = OTHER, pull: bool = False) -> int:
    made = hub.api(user).create_commit(REPO, operations, commit_message="a change", repo_type="dataset", create_pr=pull)
    return int(made.pr_num or 0)


def test_one_pull_request_by_one_commit_is_fetched_and_accepted(results: Hub, submission: Submission, tmp_path: Path) -> None:
    address = open_pull_request(results.api(OTHER), REPO, submission)
    assert address.endswith("/discussions/1")
    assert len(results.asked("POST", "/commit/")) == 1
    change(results, CommitOperationAdd("later.md", b"the main branch goes on"), user="helmbench")
    folder = fetch(results.api(None), REPO, 1, tmp_path / "scratch")
    assert checked(folder).accepted
    assert open_pull_request(results.api(OTHER), REPO, submission) == address, "it is open already"
    results.api().merge_pull_request(REPO, 1, repo_type="dataset")
    with pytest.raises(RunError, match="already"):
        open_pull_request(results.api(OTHER), REPO, submission)
    with pytest.raises(RunError, match="not an open pull request"):
        fetch(results.api(None), REPO, 1, tmp_path / "again")
    assert results.hosts == {"127.0.0.1"}


@pytest.mark.parametrize("done", [True, False])
def test_a_lost_reply_opens_no_second_pull_request(results: Hub, submission: Submission, done: bool) -> None:
    results.faults.append(Fault("POST", "/commit/", done))
    assert open_pull_request(results.api(OTHER), REPO, submission).endswith("/discussions/1")
    assert len(results.repo(REPO).discussions) == 1


def test_nobody_without_a_token_and_no_token_in_an_error(
    results: Hub, submission: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RunError, match="no token"):
        open_pull_request(results.api(None), REPO, submission)
    assert not results.asked("POST", "/commit/")
    with pytest.raises(publish.PublishError) as refused:
        open_pull_request(results.api(OTHER), "helmbench/nothing", submission)
    assert TOKENS[OTHER] not in str(refused.value)


def test_a_pull_request_does_nothing_but_add_one_submission(results: Hub, submission: Submission, tmp_path: Path) -> None:
    place = submission.manifest.place
    complete = {f"{place}/{name}": content for name, content in submission.content.items()}
    kept = "submissions/other/0123456789abcdef/manifest.json"
    change(results, CommitOperationAdd(kept, b"{}"), user="helmbench")
    cases: list[tuple[dict[str, bytes | None], str]] = [
        ({**complete, kept: None}, "pull-request.changes"),
        ({**complete, kept: b"{ }"}, "pull-request.changes"),
        ({**complete, "README.md": b"mine"}, "pull-request.changes"),
        ({**complete, ".github/workflows/verify.yml": b"on: push"}, "pull-request.changes"),
        ({**complete, "submissions/a/0123456789abcdef/scores.json": b"{}"}, "pull-request.changes"),
        ({"submissions/tiny/latest/scores.json": b"{}"}, "pull-request.changes"),
        ({"submissions/Tiny/0123456789abcdef/scores.json": b"{}"}, "pull-request.changes"),
        ({f"{place}/manifest.json": b" " * (2 << 20)}, "files.size"),
        ({f"{place}/model.pkl": b"x"}, "pull-request.changes"),
    ]
    for touched, code in cases:
        operations = [
            CommitOperationDelete(path) if content is None else CommitOperationAdd(path, content)
            for path, content in touched.items()
        ]
        number = change(results, *operations, pull=True)
        results.requests.clear()
        with pytest.raises(RejectedError) as refused:
            fetch(results.api(None), REPO, number, tmp_path / str(number))
        assert refused.value.code == code
        assert not results.asked("GET", "/resolve/"), "nothing of it is fetched"


def test_the_commands(results: Hub, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apis, user = {name: results.api(name) for name in TOKENS}, [OTHER]
    monkeypatch.setattr("huggingface_hub.HfApi", lambda **_: apis[user[0]])
    sent = runner.invoke(app, ["submit", str(run), "--repo", REPO])
    assert sent.exit_code == 0, sent.output
    assert "/discussions/1" in sent.output
    assert TOKENS[OTHER] not in sent.output
    user[0] = "helmbench"
    done = runner.invoke(app, ["verify", "--pull-request", "1", "--repo", REPO, "--comment", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["accepted"]
    said = results.api().get_discussion_details(REPO, 1, repo_type="dataset").events[-1].content
    assert "accepted: tiny" in said
    number = change(results, CommitOperationAdd("README.md", b"mine"), pull=True)
    done = runner.invoke(app, ["verify", "--pull-request", str(number), "--repo", REPO, "--json"])
    assert done.exit_code == 1
    assert {each["code"] for each in json.loads(done.stdout)["reasons"]} == {"pull-request.changes"}
    assert runner.invoke(app, ["verify", "--pull-request", "99", "--repo", REPO]).exit_code == 2


def test_a_forged_pull_request_is_rejected(results: Hub, copy: Path, tmp_path: Path) -> None:
    (copy / "scores.json").write_text("{}")
    place = f"submissions/{copy.parent.name}/{copy.name}"
    adds = [
        CommitOperationAdd(f"{place}/{path.relative_to(copy)}", path.read_bytes()) for path in copy.rglob("*") if path.is_file()
    ]
    number = change(results, *adds, pull=True)
    assert codes(checked(fetch(results.api(None), REPO, number, tmp_path / "scratch"))) == {"files.hash"}
