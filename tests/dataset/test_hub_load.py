"""From authored files to a published dataset and back, with the real clients in processes of their own."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.dataset.build import Built
from tests.dataset.test_source import git
from tests.support.hub import OTHER, OWNER, TOKENS, Fault, Hub
from tests.support.hub_ask import CDN
from tests.support.tree import HIDDEN, TODAY, Tree, plant

REPO = "helmbench/v1"
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
    found = load_cases({design!r}, {source!r}, {revision!r})
    print(json.dumps(dict(rows=len(found.cases), version=found.identity.version, sha=found.identity.content_sha256,
                          source=found.identity.source)))
except DatasetError as error:
    print(error, file=sys.stderr)
    sys.exit(3)
"""


def push(hub: Hub, home: Path, content: Path, *arguments: str, user: str | None = OWNER) -> subprocess.CompletedProcess[str]:
    given = ["--content", str(content), "--today", str(TODAY), "--push", REPO, *arguments]
    return hub.client(BUILD.format(arguments=given), home, user)


def loaded(hub: Hub, home: Path, revision: str, source: str = REPO, **options: Any) -> subprocess.CompletedProcess[str]:
    return hub.client(LOAD.format(design="full", source=source, revision=revision), home, **options)


def committed(tree: Tree) -> Path:
    if not (tree.root / ".git").exists():
        git(tree.root, "init", "-q")
    git(tree.root, "add", "-A")
    git(tree.root, "commit", "-qm", "content")
    return tree.root


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A Hub that has versions 0.0.1 and 0.0.2, the second with fewer cases, and what the two pushes said."""
    home = tmp_path_factory.mktemp("publisher")
    tree = plant(home / "content")
    with Hub() as hub:
        hub.repo(REPO)
        said = [push(hub, home, committed(tree), "--tag", "v0.0.1")]
        tree.replace("benchmark.yaml", "version: 0.0.1", "version: 0.0.2")
        tree.replace(f"{HIDDEN}/scenario.yaml", "conditions: [C1, C4, C5]", "conditions: [C1, C4]")
        said.append(push(hub, home, committed(tree), "--tag", "v0.0.2", "--allow-fewer", "C5 is gone"))
        yield hub, said, tree


def manifest(hub: Hub, tag: str) -> Any:
    repo = hub.repo(REPO)
    return json.loads(repo.commits[repo.tags[tag]].files["manifest.json"])


def rows(hub: Hub, tag: str) -> int:
    return sum(entry["rows"] for entry in manifest(hub, tag)["configs"]["full"].values())


def test_the_script_publishes_and_says_what_it_did(published: Any) -> None:
    hub, said, tree = published
    assert [done.returncode for done in said] == [0, 0], said
    repo = hub.repo(REPO)
    assert set(repo.tags) == {"v0.0.1", "v0.0.2"}
    assert len(repo.log) == 3
    assert said[1].stdout.splitlines()[-1] == f"published as v0.0.2: {hub.endpoint}/datasets/{REPO}/tree/{repo.tags['v0.0.2']}"
    assert re.search(r"^full: \d+ codes removed: P1-B1-S1-C5-", said[1].stdout, re.M)
    assert repo.log[0].description.startswith(f"Built from commit {git(tree.root, 'rev-parse', 'HEAD')}.")
    for done in said:
        assert TOKENS[OWNER] not in done.stdout + done.stderr


def test_no_host_but_the_endpoint_is_asked_and_the_token_goes_nowhere_else(published: Any) -> None:
    hub, _, _ = published
    assert hub.hosts == {"127.0.0.1"}
    assert {request.token for request in hub.requests} <= {None, TOKENS[OWNER], TOKENS[OTHER]}


def test_a_dry_run_writes_nothing_and_needs_no_token(published: Any, tmp_path: Path) -> None:
    hub, _, _ = published
    commits, asked = len(hub.repo(REPO).commits), len(hub.requests)
    copy = plant(tmp_path / "content")
    copy.replace("benchmark.yaml", "version: 0.0.1", "version: 0.0.3")
    done = push(hub, tmp_path / "home", committed(copy), "--tag", "v0.0.3", "--dry-run", user=None)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "nothing was published (--dry-run)"
    assert "~ data/core/test-00000-of-00001.parquet" in done.stdout
    assert {each.method for each in hub.requests[asked:]} <= {"GET", "HEAD"}
    assert len(hub.repo(REPO).commits) == commits


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(("--tag", "v0.0.2"), "tag v0.0.2 already"), (("--tag", "v0.0.9"), "version 0.0.2 and the tag v0.0.9")],
)
def test_the_script_refuses_in_a_sentence(arguments: tuple[str, ...], says: str, published: Any, tmp_path: Path) -> None:
    hub, _, tree = published
    done = push(hub, tmp_path, tree.root, *arguments)
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_changed_content_is_refused(published: Any, tmp_path: Path) -> None:
    hub, _, _ = published
    copy = plant(tmp_path / "content")
    committed(copy)
    copy.replace("benchmark.yaml", "seed: 7", "seed: 8")
    done = push(hub, tmp_path / "home", copy.root, "--tag", "v0.0.1")
    assert (done.returncode, "benchmark.yaml" in done.stderr) == (1, True), done.stderr


def test_each_tag_gives_its_own_rows_online_and_offline(published: Any, tmp_path: Path) -> None:
    """Also the older one after the newer one: `load_dataset` would give the newer rows (research/hf.md, 1.3)."""
    hub, _, _ = published
    assert rows(hub, "v0.0.2") < rows(hub, "v0.0.1")
    for offline in (False, True):
        for tag in ("v0.0.1", "v0.0.2") if not offline else ("v0.0.1", "v0.0.2", "v0.0.1"):
            done = loaded(hub, tmp_path, tag, offline=offline)
            assert done.returncode == 0, done.stderr
            found = json.loads(done.stdout)
            assert (found["rows"], found["version"]) == (rows(hub, tag), tag[1:])
            assert found["source"] == f"{REPO}@{hub.repo(REPO).tags[tag]}"
    for offline, revision in ((True, "v0.0.9"), (True, "main"), (False, "v0.0.9"), (True, "../v0.0.1")):
        done = loaded(hub, tmp_path, revision, offline=offline)
        assert done.returncode == 3, done.stdout
        assert revision in done.stderr
    assert hub.hosts == {"127.0.0.1"}


def test_a_hub_that_is_away_gives_the_version_that_was_asked_for(published: Any, tmp_path: Path) -> None:
    hub, _, _ = published
    for tag in ("v0.0.1", "v0.0.2"):
        assert loaded(hub, tmp_path, tag).returncode == 0
    hub.faults += [Fault("GET", f"/revision/{tag}", False, times=50) for tag in ("v0.0.1", "v0.0.9")]
    try:
        found = json.loads(loaded(hub, tmp_path, "v0.0.1").stdout)
        assert (found["rows"], found["version"]) == (rows(hub, "v0.0.1"), "0.0.1")
        assert loaded(hub, tmp_path, "v0.0.9").returncode == 3
    finally:
        hub.faults.clear()


def test_a_table_that_was_changed_in_the_cache_is_refused(published: Any, tmp_path: Path) -> None:
    hub, _, _ = published
    assert loaded(hub, tmp_path, "v0.0.1").returncode == 0
    (file,) = (tmp_path / "hf").rglob("data/full/test-*.parquet")
    real = file.resolve()
    raw = bytearray(real.read_bytes())
    raw[200] ^= 0xFF
    real.write_bytes(bytes(raw))
    done = loaded(hub, tmp_path, "v0.0.1", offline=True)
    assert done.returncode == 3
    assert "download it again" in done.stderr


def test_a_moved_tag_is_refused(published: Any, tmp_path: Path) -> None:
    hub, _, _ = published
    tags = hub.repo(REPO).tags
    tags["v0.0.7"] = tags["v0.0.1"]
    try:
        done = loaded(hub, tmp_path, "v0.0.7")
    finally:
        del tags["v0.0.7"]
    assert done.returncode == 3
    assert "holds version 0.0.1" in done.stderr


def test_a_folder_of_the_same_name_is_refused_and_can_be_stepped_over(published: Any, tmp_path: Path) -> None:
    hub, _, _ = published
    (tmp_path / REPO).mkdir(parents=True)
    done = loaded(hub, tmp_path, "v0.0.1", cwd=tmp_path)
    assert done.returncode == 3
    assert "hides the dataset of that name" in done.stderr
    done = loaded(hub, tmp_path, "v0.0.1", f"hf://datasets/{REPO}", cwd=tmp_path)
    assert json.loads(done.stdout)["rows"] == rows(hub, "v0.0.1")


def test_load_dataset_reads_the_published_repository(published: Any, tmp_path: Path) -> None:
    """As the card says, with the user's token set: every config by name, its schema, and the default."""
    hub, _, _ = published
    before = len(hub.requests)
    code = f"""
import json
from datasets import get_dataset_config_names, load_dataset
from helmbench_hf.dataset.reload import _types
found = {{}}
for config in get_dataset_config_names({REPO!r}, revision="v0.0.1"):
    loaded = load_dataset({REPO!r}, config, revision="v0.0.1")
    found[config] = {{
        split: [table.num_rows, _types(table.features), str(table.info.version)] for split, table in loaded.items()
    }}
print(json.dumps([found, load_dataset({REPO!r}, revision="v0.0.1")["test"].num_rows]))
"""
    done = hub.client(code, tmp_path, OTHER, HF_UPDATE_DOWNLOAD_COUNTS="0")
    assert done.returncode == 0, done.stderr
    found, default = json.loads(done.stdout.splitlines()[-1])
    said = manifest(hub, "v0.0.1")
    assert set(found) == set(said["configs"])
    for config, splits in said["configs"].items():
        expected = {split: [entry["rows"], said["columns"][config], "0.0.1"] for split, entry in splits.items()}
        assert found[config] == expected
    assert default == said["configs"]["core"]["test"]["rows"]
    assert {request.host for request in hub.requests[before:]} == {"127.0.0.1"}


def test_a_file_on_another_host_is_fetched_without_the_token(built: tuple[Path, Built], tmp_path: Path) -> None:
    """Large files of the Hub come from a host to which it redirects."""
    with Hub(lfs=True, cdn=True) as hub:
        repo = hub.repo(REPO, private=True)
        files = {path.relative_to(built[0]).as_posix(): path.read_bytes() for path in built[0].rglob("*") if path.is_file()}
        hub.objects |= {hashlib.sha256(content).hexdigest(): content for content in files.values()}
        repo.tags["v0.0.1"] = repo.commit(repo.refs["refs/heads/main"], files, "files", "", OWNER)
        done = loaded(hub, tmp_path, "v0.0.1", user=OWNER)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["rows"] == sum(len(rows) for rows in built[1].rows["full"].values())
        assert hub.hosts == {"127.0.0.1", CDN}
        assert {each.token for each in hub.requests if each.host == CDN} == {None}
        assert {each.token for each in hub.requests if each.host != CDN} >= {TOKENS[OWNER]}
        assert TOKENS[OWNER] not in done.stdout + done.stderr
        assert loaded(hub, tmp_path / "nobody", "v0.0.1").returncode == 3
