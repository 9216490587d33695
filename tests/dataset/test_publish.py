"""Publishing to a Hub on the loopback: one commit, read back, then the tag; and everything that stands against it."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import CommitOperationAdd

from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.dataset import publish as publishing
from helmbench_hf.dataset.build import Built, build
from helmbench_hf.dataset.load import DatasetError
from helmbench_hf.dataset.publish import PublishError, Release, prepare, publish, redacted
from tests.support.hub import OTHER, OWNER, TOKENS, Fault, Hub
from tests.support.hub_repos import Repo
from tests.support.tree import HIDDEN, Tree

REPO = "helmbench/v1"


RELOAD = publishing.check_reload


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading back with `datasets` takes longer than all the rest; tests of a damaged folder do it, and test_hub_load.py."""
    monkeypatch.setattr(publishing, "PAUSE", 0.0)
    monkeypatch.setattr(publishing, "check_reload", lambda *_: None)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)


@pytest.fixture
def repo(hub: Hub) -> Repo:
    return hub.repo(REPO)


@pytest.fixture
def first(built: tuple[Path, Built]) -> Release:
    return Release(built[0], REPO, "v0.0.1", "c0ffee")


def push(hub: Hub, release: Release, user: str | None = OWNER) -> str:
    api = hub.api(user)
    return publish(api, release, *prepare(api, release))


def next_release(tree: Tree, out: Path, **changes: Any) -> Release:
    """The same content as version 0.0.2."""
    tree.replace("benchmark.yaml", "version: 0.0.1", "version: 0.0.2")
    build(load_benchmark(tree.root), out)
    return Release(out, REPO, "v0.0.2", "decaf", **changes)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("lfs", [False, True])
def test_a_release_is_one_commit_of_the_folder_and_a_tag_on_it(lfs: bool, hub: Hub, first: Release) -> None:
    repo = hub.repo(REPO, lfs=lfs)
    sha = push(hub, first)
    assert {name: body for name, body in repo.files.items() if name != ".gitattributes"} == contents(first.folder)
    assert [commit.title for commit in repo.log] == ["Tiny v0.0.1", "initial commit"]
    assert repo.tags == {"v0.0.1": sha}
    assert repo.refs["refs/heads/main"] == sha
    manifest = json.loads((first.folder / "manifest.json").read_text())
    text = repo.log[0].description
    assert text.startswith("Built from commit c0ffee.\n")
    for config, splits in manifest["configs"].items():
        for split, entry in splits.items():
            assert f"{config} {split}: {entry['rows']} rows, {entry['sha256']}" in text


def test_a_second_release_changes_what_changed_and_deletes_what_is_stale(
    hub: Hub, repo: Repo, first: Release, tree: Tree, tmp_path: Path
) -> None:
    before = push(hub, first)
    operation = CommitOperationAdd("data/old/test.parquet", b"old")
    hub.api().create_commit(REPO, [operation], commit_message="stray", repo_type="dataset")
    second = next_release(tree, tmp_path / "out")
    sha = push(hub, second)
    assert {name: body for name, body in repo.files.items() if name != ".gitattributes"} == contents(second.folder)
    assert repo.tags == {"v0.0.1": before, "v0.0.2": sha}
    assert len(repo.log) == 4
    sent = hub.asked("POST", "/commit/main")[-1]
    assert sent.host == "127.0.0.1"
    unchanged = (first.folder / "LICENSE").read_bytes()
    assert repo.files["LICENSE"] == unchanged


def test_the_difference_names_files_rows_and_removed_codes(
    hub: Hub, repo: Repo, first: Release, tree: Tree, tmp_path: Path
) -> None:
    push(hub, first)
    second = dataclasses.replace(without_a_condition(tree, tmp_path / "out"), allow_fewer="C5 was a mistake")
    head, commits = repo.refs["refs/heads/main"], len(repo.commits)
    published, difference = prepare(hub.api(), second)
    assert published.head == head
    assert len(repo.commits) == commits
    shown = "\n".join(difference.lines())
    assert difference.added == ()
    assert difference.deleted == ()
    assert "~ manifest.json" in shown
    assert "LICENSE" in difference.same
    manifests = [json.loads((each.folder / "manifest.json").read_text()) for each in (first, second)]
    rows = [manifest["configs"]["full"]["test"]["rows"] for manifest in manifests]
    assert rows[1] < rows[0]
    assert f"full             test     {rows[0]} -> {rows[1]} rows, content changed" in shown
    removed = difference.removed["full"]
    assert removed
    assert all("-C5-" in code for code in removed)
    assert f"full: {len(removed)} codes removed: {removed[0]}" in shown
    assert "conditions" not in difference.removed
    push(hub, second)
    assert repo.log[0].description.endswith("\n\nFewer rows: C5 was a mistake")


def without_a_condition(tree: Tree, out: Path) -> Release:
    tree.replace(f"{HIDDEN}/scenario.yaml", "conditions: [C1, C4, C5]", "conditions: [C1, C4]")
    return next_release(tree, out)


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_fewer_rows_need_a_reason(reason: str | None, hub: Hub, repo: Repo, first: Release, tree: Tree, tmp_path: Path) -> None:
    push(hub, first)
    release = dataclasses.replace(without_a_condition(tree, tmp_path / "out"), allow_fewer=reason)
    with pytest.raises(PublishError, match=r"full +test +\d+ -> \d+ rows.*--allow-fewer"):
        prepare(hub.api(), release)
    assert set(repo.tags) == {"v0.0.1"}


@pytest.mark.parametrize(
    ("tag", "says"),
    [
        ("0.0.1", "no tag of a version"), ("v0.0", "no tag of a version"), ("v0.0.1\n", "no tag of a version"),
        ("v0.0.01", "no tag of a version"), ("v0.0.1-rc1", "no tag of a version"), ("main", "no tag of a version"),
        ("v0.0.2", "version 0.0.1 and the tag v0.0.2"), (TOKENS[OWNER], "no tag of a version"),
    ],
)  # fmt: skip
def test_a_tag_that_is_not_the_versions_is_refused(tag: str, says: str, hub: Hub, repo: Repo, first: Release) -> None:
    with pytest.raises(PublishError, match=says) as refused:
        prepare(hub.api(), dataclasses.replace(first, tag=tag))
    assert TOKENS[OWNER] not in str(refused.value)
    assert len(repo.log) == 1


def test_a_tagged_version_is_never_changed(hub: Hub, repo: Repo, first: Release) -> None:
    push(hub, first)
    with pytest.raises(PublishError, match=r"has a tag v0\.0\.1 already"):
        prepare(hub.api(), first)


def torn(folder: Path) -> None:
    path = folder / "data/core/test-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-50])


def other_rows(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"rows": ', '"rows": 1', 1))


def card_of_another_split(folder: Path) -> None:
    path = folder / "README.md"
    path.write_text(path.read_text().replace("path: data/core/heldout-", "path: data/core/test-", 1))


@pytest.mark.parametrize("damage", [torn, other_rows, card_of_another_split])
def test_a_folder_that_does_not_reload_is_not_published(
    damage: Callable[[Path], None], hub: Hub, repo: Repo, first: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "check_reload", RELOAD)
    folder = Path(shutil.copytree(first.folder, tmp_path / "damaged"))
    damage(folder)
    with pytest.raises(DatasetError):
        prepare(hub.api(), dataclasses.replace(first, folder=folder))
    assert {request.method for request in hub.requests} <= {"GET", "HEAD"}


def test_another_dataset_is_not_overwritten(hub: Hub, repo: Repo, first: Release) -> None:
    manifest = json.dumps({"name": "Tiny", "canary": "ANOTHER", "configs": {}}).encode()
    for path, body, says in (("thesis.txt", b"kept", "holds other files"), ("manifest.json", manifest, "another dataset")):
        hub.api().create_commit(REPO, [CommitOperationAdd(path, body)], commit_message="theirs", repo_type="dataset")
        with pytest.raises(PublishError, match=says):
            prepare(hub.api(), first)


def test_who_may_not_write_is_told_so_without_a_token(hub: Hub, repo: Repo, first: Release) -> None:
    with pytest.raises(PublishError, match="403") as refused:
        push(hub, first, OTHER)
    assert TOKENS[OTHER] not in str(refused.value)
    with pytest.raises(PublishError, match="there is no token"):
        push(hub, first, None)
    with pytest.raises(PublishError, match="hf repos create"):
        prepare(hub.api(), dataclasses.replace(first, repo="helmbench/v9"))
    assert len(repo.log) == 1
    assert not repo.tags


@pytest.mark.parametrize(("path", "done"), [("/commit/", True), ("/commit/", False), ("/tag/", True), ("/tag/", False)])
def test_a_lost_reply_and_a_busy_server_lead_to_one_commit_and_one_tag(
    path: str, done: bool, hub: Hub, repo: Repo, first: Release
) -> None:
    hub.faults.append(Fault("POST", path, done))
    sha = push(hub, first)
    assert not hub.faults[0].times
    assert len(repo.log) == 2
    assert repo.tags == {"v0.0.1": sha}


def test_a_server_that_stays_away_is_given_up_and_the_next_try_goes_on(hub: Hub, repo: Repo, first: Release) -> None:
    hub.faults.append(Fault("POST", "/tag/", False, times=publishing.TRIES))
    with pytest.raises(PublishError, match=r"the tag v0\.0\.1 on .* failed"):
        push(hub, first)
    assert (len(repo.log), repo.tags) == (2, {})
    sha = push(hub, first)
    assert (len(repo.log), repo.tags) == (2, {"v0.0.1": sha})


def test_who_pushed_meanwhile_is_not_overwritten(hub: Hub, repo: Repo, first: Release) -> None:
    api = hub.api()
    published, difference = prepare(api, first)
    theirs = api.create_commit(REPO, [CommitOperationAdd("a", b"a")], commit_message="theirs", repo_type="dataset").oid
    with pytest.raises(PublishError, match="somebody else changed"):
        publish(api, first, published, difference)
    assert repo.refs["refs/heads/main"] == theirs
    assert not repo.tags


def test_private_content_goes_to_a_private_repository_alone_and_when_asked(
    hub: Hub, repo: Repo, tree: Tree, tmp_path: Path
) -> None:
    tree.replace("benchmark.yaml", "seed: 7", "seed: 7\nprivate: true")
    benchmark: Benchmark = load_benchmark(tree.root)
    build(benchmark, tmp_path / "out")
    release = Release(tmp_path / "out", REPO, "v0.0.1", "c0ffee")
    with pytest.raises(PublishError, match="is private and is not pushed"):
        prepare(hub.api(), release)
    with pytest.raises(PublishError, match="is public and this content is private"):
        prepare(hub.api(), dataclasses.replace(release, allow_private=True))
    secret = hub.repo("helmbench/secret", private=True)
    with pytest.raises(PublishError, match="is not pushed"):
        prepare(hub.api(), dataclasses.replace(release, repo="helmbench/secret"))
    push(hub, dataclasses.replace(release, repo="helmbench/secret", allow_private=True))
    assert set(secret.tags) == {"v0.0.1"}
    assert len(repo.log) == 1


def test_tokens_are_cut_out_of_what_is_shown(hub: Hub) -> None:
    assert redacted("a hf_abcdefghijkl b") == "a hf_... b"
    assert redacted(f"Bearer {TOKENS[OWNER]}", hub.api()) == "Bearer hf_..."
