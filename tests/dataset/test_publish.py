"""Publishing to a Hub on the loopback and loading from it: one commit, read back, then the tag; and what forbids a release.

The first part runs in this process. The second runs the script and `load_cases` in processes of their own, with real clients.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import CommitOperationAdd

from helmbench_hf.content.load import load_benchmark
from helmbench_hf.dataset import publish as publishing
from helmbench_hf.dataset.build import Built, build, check_reload
from helmbench_hf.dataset.load import DatasetError
from helmbench_hf.dataset.publish import PublishError, Release, prepare, publish, redacted
from tests.dataset.test_build import files, git
from tests.support.hub import CDN, OTHER, OWNER, TOKENS, Fault, Hub, Repo
from tests.support.tree import HIDDEN, TODAY, Tree, plant

REPO = "helmbench/v1"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading with `datasets` takes longer than all the rest; the second part does it."""
    monkeypatch.setattr(publishing, "PAUSE", 0.0)
    monkeypatch.setattr(publishing, "check_reload", lambda *_: None)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)


@pytest.fixture
def repo(hub: Hub, quick: None) -> Repo:
    return hub.repo(REPO)


@pytest.fixture
def first(built: tuple[Path, Built], quick: None) -> Release:
    return Release(built[0], REPO, "v0.0.1", "c0ffee")


def push(hub: Hub, release: Release, user: str | None = OWNER) -> str:
    api = hub.api(user)
    return publish(api, release, prepare(api, release))


def theirs(hub: Hub, path: str, body: bytes) -> str:
    """A commit of somebody else."""
    made = hub.api().create_commit(REPO, [CommitOperationAdd(path, body)], commit_message="theirs", repo_type="dataset")
    return str(made.oid)


@pytest.mark.parametrize("lfs", [False, True])
def test_a_release_is_one_commit_of_the_folder_and_a_tag_on_it(lfs: bool, hub: Hub, first: Release) -> None:
    repo = hub.repo(REPO, lfs=lfs)
    sha = push(hub, first)
    assert {name: body for name, body in repo.files.items() if name != ".gitattributes"} == files(first.folder)
    assert [commit.title for commit in repo.log] == ["Tiny v0.0.1", "initial commit"]
    assert (repo.tags, repo.refs["refs/heads/main"]) == ({"v0.0.1": sha}, sha)
    text = repo.log[0].description
    assert text.startswith("Built from commit c0ffee.\n")
    for config, splits in json.loads((first.folder / "manifest.json").read_text())["configs"].items():
        assert all(f"{config} {split}: {entry['rows']} rows, {entry['sha256']}" in text for split, entry in splits.items())


def test_a_second_release_deletes_what_is_stale_and_says_what_changes_and_why_rows_get_fewer(
    hub: Hub, repo: Repo, first: Release, tree: Tree, tmp_path: Path
) -> None:
    before = push(hub, first)
    theirs(hub, "data/old/test.parquet", b"old")
    tree.replace("benchmark.yaml", "version: 0.0.1", "version: 0.0.2")
    tree.replace(f"{HIDDEN}/scenario.yaml", "conditions: [C1, C4, C5]", "conditions: [C1, C4]")
    build(load_benchmark(tree.root), tmp_path / "out")
    second = Release(tmp_path / "out", REPO, "v0.0.2", "decaf", allow_fewer="C5 was a mistake")
    with pytest.raises(PublishError, match=r"full +test +\d+ -> \d+ rows.*--allow-fewer"):
        prepare(hub.api(), replace(second, allow_fewer="  "))
    difference = prepare(hub.api(), second)
    assert difference.head == repo.refs["refs/heads/main"]
    assert (difference.named("+"), difference.named("-")) == ([], ["data/old/test.parquet"])
    assert "LICENSE" in difference.named("=")
    shown, removed = "\n".join(difference.lines()), difference.removed["full"]
    assert re.search(r"^full +test +\d+ -> \d+ rows, content changed$", shown, re.M)
    assert f"full: {len(removed)} codes removed: {removed[0]}" in shown
    assert "~ manifest.json" in shown
    assert all("-C5-" in code for code in removed)
    sha = publish(hub.api(), second, difference)
    assert {name: body for name, body in repo.files.items() if name != ".gitattributes"} == files(second.folder)
    assert repo.tags == {"v0.0.1": before, "v0.0.2": sha}
    assert repo.log[0].description.endswith("\n\nFewer rows: C5 was a mistake")


@pytest.mark.parametrize("tag", ["0.0.1", "v0.0.1\n", "v0.0.01", "v0.0.1-rc1", "v0.0.2", TOKENS[OWNER]])
def test_a_tag_that_is_not_the_versions_is_refused(tag: str, hub: Hub, repo: Repo, first: Release) -> None:
    says = "version 0.0.1, but the tag is v0.0.2" if tag == "v0.0.2" else "not a version tag"
    with pytest.raises(PublishError, match=says) as refused:
        prepare(hub.api(), replace(first, tag=tag))
    assert TOKENS[OWNER] not in str(refused.value)
    assert len(repo.log) == 1


def torn(folder: Path) -> None:
    path = folder / "data/core/test-00000-of-00001.parquet"
    path.write_bytes(path.read_bytes()[:-50])


def replaced(file: str, old: str, new: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / file).write_text((folder / file).read_text().replace(old, new, 1))


@pytest.mark.parametrize(
    "damage",
    [
        torn,
        replaced("manifest.json", '"rows": ', '"rows": 1'),
        replaced("README.md", "path: data/core/heldout-", "path: data/core/test-"),
        replaced("README.md", "name: severity\n    dtype: int32", "name: severity\n    dtype: int64"),
    ],
)
def test_a_folder_that_does_not_reload_is_not_published(
    damage: Callable[[Path], Any], hub: Hub, repo: Repo, first: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "check_reload", check_reload)
    folder = Path(shutil.copytree(first.folder, tmp_path / "damaged"))
    before = files(folder)
    damage(folder)
    assert files(folder) != before
    with pytest.raises(DatasetError):
        prepare(hub.api(), replace(first, folder=folder))
    assert {request.method for request in hub.requests} <= {"GET", "HEAD"}


def test_a_tagged_version_is_never_changed_and_another_dataset_never_overwritten(hub: Hub, repo: Repo, first: Release) -> None:
    manifest = json.loads((first.folder / "manifest.json").read_text())
    for path, body, says in (
        ("thesis.txt", b"kept", "contains other files"),
        ("manifest.json", b"{", "fix the repository by hand first"),
        ("manifest.json", json.dumps(manifest).encode(), "which is not there; fix the repository by hand first"),
        ("manifest.json", json.dumps(manifest | {"canary": "ANOTHER"}).encode(), "a different dataset"),
    ):
        theirs(hub, path, body)
        with pytest.raises(PublishError, match=says):
            prepare(hub.api(), first)
    repo.tags["v0.0.1"] = repo.refs["refs/heads/main"]
    with pytest.raises(PublishError, match=r"already has a tag v0\.0\.1"):
        prepare(hub.api(), first)


def test_who_may_not_write_is_told_so_without_a_token(hub: Hub, repo: Repo, first: Release) -> None:
    with pytest.raises(PublishError, match="403") as refused:
        push(hub, first, OTHER)
    assert TOKENS[OTHER] not in str(refused.value)
    with pytest.raises(PublishError, match="there is no token"):
        push(hub, first, None)
    with pytest.raises(PublishError, match="hf repos create"):
        prepare(hub.api(), replace(first, repo="helmbench/v9"))
    assert (len(repo.log), repo.tags) == (1, {})
    assert redacted("a hf_abcdefghijkl b") == "a hf_... b"
    assert redacted(f"Bearer {TOKENS[OWNER]}", hub.api()) == "Bearer hf_..."


@pytest.mark.parametrize(("path", "done"), [("/commit/", True), ("/commit/", False), ("/tag/", True), ("/tag/", False)])
def test_a_lost_reply_and_a_busy_server_lead_to_one_commit_and_one_tag(
    path: str, done: bool, hub: Hub, repo: Repo, first: Release
) -> None:
    hub.faults.append(Fault("POST", path, done))
    sha = push(hub, first)
    assert not hub.faults[0].times
    assert (len(repo.log), repo.tags) == (2, {"v0.0.1": sha})


def test_a_server_that_stays_away_is_given_up_and_the_next_try_resumes(hub: Hub, repo: Repo, first: Release) -> None:
    hub.faults.append(Fault("POST", "/tag/", False, times=publishing.TRIES))
    with pytest.raises(PublishError, match=r"the tag v0\.0\.1 on .* failed"):
        push(hub, first)
    assert (len(repo.log), repo.tags) == (2, {})
    sha = push(hub, first)
    assert (len(repo.log), repo.tags) == (2, {"v0.0.1": sha})


def test_who_pushed_meanwhile_is_not_overwritten(hub: Hub, repo: Repo, first: Release) -> None:
    difference = prepare(hub.api(), first)
    head = theirs(hub, "a", b"a")
    with pytest.raises(PublishError, match="somebody else changed"):
        publish(hub.api(), first, difference)
    assert (repo.refs["refs/heads/main"], repo.tags) == (head, {})


def test_private_content_goes_only_to_a_private_repository_and_only_when_asked(
    hub: Hub, repo: Repo, tree: Tree, tmp_path: Path
) -> None:
    tree.replace("benchmark.yaml", "seed: 7", "seed: 7\nprivate: true")
    build(load_benchmark(tree.root), tmp_path / "out")
    secret = hub.repo("helmbench/secret", private=True)
    for name, allowed, says in (
        (REPO, False, "is private and is not pushed"),
        (REPO, True, "is public and this content is private"),
        (secret.name, False, "is not pushed"),
    ):
        with pytest.raises(PublishError, match=says):
            prepare(hub.api(), Release(tmp_path / "out", name, "v0.0.1", "c0ffee", allow_private=allowed))
    push(hub, Release(tmp_path / "out", secret.name, "v0.0.1", "c0ffee", allow_private=True))
    assert (set(secret.tags), len(repo.log)) == ({"v0.0.1"}, 1)


BUILD = """
import sys, build_dataset
build_dataset.build_inputs = lambda content: [content]  # a developer's checkout has changes
sys.argv = ["build_dataset.py", *{arguments!r}]
sys.exit(build_dataset.main())
"""
LOAD = """
import json, sys
from helmbench_hf.dataset.load import DatasetError, load_cases
try:
    found = load_cases("full", {source!r}, {revision!r})
    print(json.dumps([len(found.cases), found.identity.version, found.identity.source]))
except DatasetError as error:
    print(error, file=sys.stderr)
    sys.exit(3)
"""
USERS = f"""
import json
from datasets import get_dataset_config_names, load_dataset
found = {{}}
for config in get_dataset_config_names({REPO!r}, revision="v0.0.1"):
    for split, table in load_dataset({REPO!r}, config, revision="v0.0.1").items():
        columns = {{field.name: str(field.type) for field in table.features.arrow_schema}}
        found.setdefault(config, {{}})[split] = [table.num_rows, columns, str(table.info.version)]
print(json.dumps([found, load_dataset({REPO!r}, revision="v0.0.1")["test"].num_rows]))
"""


def script(hub: Hub, home: Path, content: Path, *arguments: str, user: str | None = OWNER) -> subprocess.CompletedProcess[str]:
    given = ["--content", str(content), "--today", str(TODAY), "--push", REPO, *arguments]
    return hub.client(BUILD.format(arguments=given), home, user)


def loads(hub: Hub, home: Path, revision: str, source: str = REPO, **options: Any) -> Any:
    """Rows, version and source that a process of its own loads, or the sentence with which it refuses."""
    done = hub.client(LOAD.format(source=source, revision=revision), home, **options)
    assert done.returncode in {0, 3}, done.stderr
    assert TOKENS[OWNER] not in done.stdout + done.stderr
    return done.stderr if done.returncode else json.loads(done.stdout)


def committed(tree: Tree) -> Path:
    if not (tree.root / ".git").exists():
        git(tree.root, "init", "-q")
    git(tree.root, "add", "-A")
    git(tree.root, "commit", "-qm", "content")
    return tree.root


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A Hub that has versions 0.0.1 and 0.0.2, the second with fewer cases, and what the two pushes printed."""
    home = tmp_path_factory.mktemp("publisher")
    tree = plant(home / "content")
    with Hub() as hub:
        hub.repo(REPO)
        said = [script(hub, home, committed(tree), "--tag", "v0.0.1")]
        tree.replace("benchmark.yaml", "version: 0.0.1", "version: 0.0.2")
        tree.replace(f"{HIDDEN}/scenario.yaml", "conditions: [C1, C4, C5]", "conditions: [C1, C4]")
        said.append(script(hub, home, committed(tree), "--tag", "v0.0.2", "--allow-fewer", "C5 is gone"))
        assert [done.returncode for done in said] == [0, 0], said
        yield hub, said, tree
        assert hub.hosts == {"127.0.0.1"}
        assert {request.token for request in hub.requests} <= {None, TOKENS[OWNER], TOKENS[OTHER]}


def wanted(hub: Hub, tag: str) -> list[Any]:
    """What `loads` gives for a tag."""
    repo = hub.repo(REPO)
    tables = json.loads(repo.commits[repo.tags[tag]].files["manifest.json"])["configs"]["full"].values()
    return [sum(table["rows"] for table in tables), tag[1:], f"{REPO}@{repo.tags[tag]}"]


def test_the_script_publishes_and_says_what_it_did(published: Any) -> None:
    hub, said, tree = published
    repo = hub.repo(REPO)
    assert (set(repo.tags), len(repo.log)) == ({"v0.0.1", "v0.0.2"}, 3)
    assert said[1].stdout.splitlines()[-1] == f"published as v0.0.2: {hub.endpoint}/datasets/{REPO}/tree/{repo.tags['v0.0.2']}"
    assert re.search(r"^full: \d+ codes removed: P1-B1-S1-C5-", said[1].stdout, re.M)
    assert repo.log[0].description.startswith(f"Built from commit {git(tree.root, 'rev-parse', 'HEAD')}.")
    assert not any(TOKENS[OWNER] in done.stdout + done.stderr for done in said)


def test_a_dry_run_writes_nothing_and_a_refusal_is_a_sentence(published: Any, tmp_path: Path) -> None:
    hub, _, tree = published
    commits, asked = len(hub.repo(REPO).commits), len(hub.requests)
    copy = plant(tmp_path / "content")
    copy.replace("benchmark.yaml", "version: 0.0.1", "version: 0.0.3")
    done = script(hub, tmp_path / "home", committed(copy), "--tag", "v0.0.3", "--dry-run", user=None)
    assert done.stdout.splitlines()[-1] == "nothing was published (--dry-run)", done.stderr
    assert "~ data/core/test-00000-of-00001.parquet" in done.stdout
    copy.replace("benchmark.yaml", "seed: 7", "seed: 8")
    for root, tag, says in ((tree.root, "v0.0.2", "already has a tag v0.0.2"), (copy.root, "v0.0.3", "benchmark.yaml")):
        done = script(hub, tmp_path / "home", root, "--tag", tag)
        assert (done.returncode, says in done.stderr, "Traceback" in done.stderr) == (1, True, False), done.stderr
    assert {each.method for each in hub.requests[asked:]} <= {"GET", "HEAD"}
    assert len(hub.repo(REPO).commits) == commits


def test_each_tag_gives_its_own_rows_online_offline_and_when_the_hub_is_away(published: Any, tmp_path: Path) -> None:
    """Also the older one after the newer one, where `load_dataset` would give the newer rows."""
    hub, _, _ = published
    for offline, tag in ((False, "v0.0.1"), (False, "v0.0.2"), (True, "v0.0.1")):
        assert loads(hub, tmp_path, tag, offline=offline) == wanted(hub, tag)
    for offline, revision in ((True, "v0.0.9"), (False, "v0.0.9"), (True, "../v0.0.1")):
        assert revision in loads(hub, tmp_path, revision, offline=offline)
    hub.faults += [Fault("GET", "/revision/v0.0.1", False, times=50)]
    assert loads(hub, tmp_path, "v0.0.1") == wanted(hub, "v0.0.1")
    hub.faults.clear()
    (file,) = (tmp_path / "hf").rglob(f"{hub.repo(REPO).tags['v0.0.1']}/data/full/test-*.parquet")
    raw = bytearray(file.resolve().read_bytes())
    raw[200] ^= 0xFF
    file.resolve().write_bytes(bytes(raw))
    assert "download it again" in loads(hub, tmp_path, "v0.0.1", offline=True)


def test_a_moved_tag_and_a_folder_of_the_same_name_are_refused(published: Any, tmp_path: Path) -> None:
    hub, _, _ = published
    tags = hub.repo(REPO).tags
    tags["v0.0.7"] = tags["v0.0.1"]
    assert "contains version 0.0.1" in loads(hub, tmp_path, "v0.0.7")
    del tags["v0.0.7"]
    (tmp_path / REPO).mkdir(parents=True)
    assert "hides the dataset of that name" in loads(hub, tmp_path, "v0.0.1", cwd=tmp_path)
    assert loads(hub, tmp_path, "v0.0.1", f"hf://datasets/{REPO}", cwd=tmp_path) == wanted(hub, "v0.0.1")


def test_load_dataset_reads_the_published_repository(published: Any, tmp_path: Path) -> None:
    """As the card says, with the user's token set: every config by name, its schema, and the default."""
    hub, _, _ = published
    done = hub.client(USERS, tmp_path, OTHER, HF_UPDATE_DOWNLOAD_COUNTS="0")
    assert done.returncode == 0, done.stderr
    found, default = json.loads(done.stdout.splitlines()[-1])
    said = json.loads(hub.repo(REPO).commits[hub.repo(REPO).tags["v0.0.1"]].files["manifest.json"])
    assert found == {
        config: {split: [table["rows"], said["columns"][config], "0.0.1"] for split, table in splits.items()}
        for config, splits in said["configs"].items()
    }
    assert default == said["configs"]["core"]["test"]["rows"]


def test_a_file_on_another_host_is_fetched_without_the_token(built: tuple[Path, Built], tmp_path: Path) -> None:
    """Large files of the Hub come from a host to which it redirects."""
    with Hub(lfs=True, cdn=True) as hub:
        repo = hub.repo(REPO, private=True)
        content = files(built[0])
        hub.objects |= {hashlib.sha256(each).hexdigest(): each for each in content.values()}
        repo.tags["v0.0.1"] = repo.commit(repo.refs["refs/heads/main"], content, "files", "", OWNER)
        assert loads(hub, tmp_path, "v0.0.1", user=OWNER) == wanted(hub, "v0.0.1")
        assert hub.hosts == {"127.0.0.1", CDN}
        assert {each.token for each in hub.requests if each.host == CDN} == {None}
        assert {each.token for each in hub.requests if each.host != CDN} >= {TOKENS[OWNER]}
        assert "could not be fetched" in loads(hub, tmp_path / "nobody", "v0.0.1")
