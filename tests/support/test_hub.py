"""The Hub of the tests: rights, history and refs as the real clients see them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

from tests.support.hub import OTHER, TOKENS, Hub

REPO = "helmbench/v1"


def add(path: str, content: bytes) -> CommitOperationAdd:
    return CommitOperationAdd(path, content)


def commit(hub: Hub, *operations: Any, user: str = "helmbench", **options: Any) -> Any:
    return hub.api(user).create_commit(REPO, operations, commit_message="a change", repo_type="dataset", **options)


@pytest.mark.parametrize("lfs", [False, True])
def test_a_commit_is_read_back_by_branch_tag_and_sha(lfs: bool, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    hub.lfs = lfs
    api = hub.api()
    hub.repo(REPO)
    first = commit(hub, add("a/b.parquet", b"1" * 2000), add("c.txt", b"c")).oid
    api.create_tag(REPO, tag="v1.0.0", revision=first, repo_type="dataset")
    second = commit(hub, add("a/b.parquet", b"2" * 2000), CommitOperationDelete("c.txt"), parent_commit=first).oid
    for revision, content in (("v1.0.0", b"1"), (first, b"1"), ("main", b"2"), (second, b"2")):
        path = api.hf_hub_download(REPO, "a/b.parquet", repo_type="dataset", revision=revision)
        assert Path(path).read_bytes() == content * 2000
    assert api.list_repo_files(REPO, repo_type="dataset") == [".gitattributes", "a/b.parquet"]
    assert [each.commit_id for each in api.list_repo_commits(REPO, repo_type="dataset")][:2] == [second, first]
    (found,) = api.get_paths_info(REPO, ["a/b.parquet"], repo_type="dataset")
    assert (found.lfs is not None) == lfs


def test_who_may_do_what(hub: Hub) -> None:
    hub.repo(REPO)
    hub.repo("helmbench/secret", private=True)
    with pytest.raises(HfHubHTTPError, match="403"):
        commit(hub, add("a", b"a"), user=OTHER)
    with pytest.raises(HfHubHTTPError, match="401"):
        commit(hub, add("a", b"a"), user="")
    with pytest.raises(HfHubHTTPError, match="403"):
        hub.api(OTHER).create_tag(REPO, tag="v1", repo_type="dataset")
    with pytest.raises(RepositoryNotFoundError):
        hub.api(OTHER).dataset_info("helmbench/secret")
    assert hub.api().dataset_info("helmbench/secret").private
    assert len(hub.repo(REPO).log) == 1


def test_a_stale_parent_and_a_second_tag_are_refused(hub: Hub) -> None:
    hub.repo(REPO)
    first = commit(hub, add("a", b"1")).oid
    commit(hub, add("a", b"2"))
    with pytest.raises(HfHubHTTPError, match="412"):
        commit(hub, add("a", b"3"), parent_commit=first)
    hub.api().create_tag(REPO, tag="v1", repo_type="dataset")
    with pytest.raises(HfHubHTTPError, match="409"):
        hub.api().create_tag(REPO, tag="v1", repo_type="dataset")
    with pytest.raises(RevisionNotFoundError):
        hub.api().dataset_info(REPO, revision="v9")


def test_a_pull_request_is_opened_read_and_merged(hub: Hub) -> None:
    hub.repo(REPO)
    commit(hub, add("kept", b"1"))
    made = commit(hub, add("new", b"2"), user=OTHER, create_pr=True)
    assert (made.pr_num, made.pr_revision) == (1, "refs/pr/1")
    commit(hub, add("theirs", b"3"))
    api = hub.api(OTHER)
    assert Path(api.hf_hub_download(REPO, "new", repo_type="dataset", revision="refs/pr/1")).read_bytes() == b"2"
    api.comment_discussion(REPO, 1, "please", repo_type="dataset")
    with pytest.raises(HfHubHTTPError, match="403"):
        api.merge_pull_request(REPO, 1, repo_type="dataset")
    hub.api().merge_pull_request(REPO, 1, repo_type="dataset")
    assert set(hub.repo(REPO).files) == {".gitattributes", "kept", "theirs", "new"}
    details = api.get_discussion_details(REPO, 1, repo_type="dataset")
    assert (details.status, details.author) == ("merged", OTHER)
    assert [each.num for each in api.get_repo_discussions(REPO, repo_type="dataset")] == [1]


def test_another_host_is_refused_and_logged_with_what_was_sent(hub: Hub, tmp_path: Path) -> None:
    code = (
        "import httpx\nfor url in ('http://elsewhere.invalid/x', 'https://s3.invalid/y'):\n"
        "    try:\n        print(httpx.get(url, headers={'Authorization': 'Bearer secret'}).status_code)\n"
        "    except httpx.ProxyError:\n        print('cut')"
    )
    done = hub.client(code, tmp_path)
    assert done.stdout.split() == ["502", "cut"], done.stderr
    assert hub.hosts == {"elsewhere.invalid", "s3.invalid"}
    assert hub.requests[0].token == "secret"


def test_a_client_has_the_token_of_its_user_and_no_other(hub: Hub, tmp_path: Path) -> None:
    hub.repo("alice/mine", private=True)
    code = "import huggingface_hub as h; print(h.HfApi().dataset_info('alice/mine').id if h.get_token() else None)"
    assert hub.client(code, tmp_path, OTHER).stdout.strip() == "alice/mine"
    assert hub.client(code, tmp_path).stdout.strip() == "None"
    assert {request.token for request in hub.requests} - {None} == {TOKENS[OTHER]}
