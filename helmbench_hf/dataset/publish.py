"""Publish a built dataset on the Hub: one commit on the head that was compared, read back, then the tag on that commit.

Not `push_to_hub`, which commits per config and keeps stale features, nor `upload_folder`, which splits large commits
(research/hf.md, 0 and 1.4). A lost reply is never answered by a blind second try: the head is read first.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from helmbench_hf.dataset.difference import Difference, compare, file_changes
from helmbench_hf.dataset.load import check_folder, hub_errors, hub_said
from helmbench_hf.dataset.reload import check_reload

if TYPE_CHECKING:
    from huggingface_hub import HfApi

TRIES = 4
PAUSE = 2.0
"""Seconds before the second try; doubled for each further one."""
UNSURE = {408, 409, 412, 429, 500, 502, 503, 504}
"""Statuses after which it may have arrived, or may yet: 409 and 412 may be answers to our own earlier try."""
Result = TypeVar("Result")


class PublishError(Exception):
    """The dataset is not published. The message is a sentence and holds no token."""


@dataclass(frozen=True, slots=True)
class Release:
    """What to publish where."""

    folder: Path
    repo: str
    tag: str
    source: str
    """Commit of git that the folder was built from."""
    allow_fewer: str | None = None
    """Why rows may get fewer; goes into the commit message."""
    allow_private: bool = False
    """Whether private content may go to a private repository."""


@dataclass(frozen=True, slots=True)
class Published:
    """What the repository holds."""

    head: str
    private: bool
    files: Mapping[str, str]
    """Fingerprint by path, at the head."""
    tags: Mapping[str, str]


def prepare(api: HfApi, release: Release) -> tuple[Published, Difference]:
    """Check the folder and the release against the repository; nothing is written.

    Raises PublishError with what stands against the release, and DatasetError where the folder is not what its manifest says.
    """
    manifest = check_folder(release.folder)
    check_tag(release.tag, manifest["version"])
    published = read_published(api, release.repo)
    if release.tag in published.tags:
        raise PublishError(
            f"{release.repo} has a tag {release.tag} already; a published version never changes, so raise the version in "
            "benchmark.yaml and publish that"
        )
    _check_private(manifest, published, release)
    _check_same_dataset(api, release, published, manifest)
    check_reload(release.folder, manifest)
    try:
        difference = compare(release.folder, published.files, lambda file: _fetch(api, release.repo, file, published.head))
    except ValueError as error:
        raise PublishError(f"{release.repo} cannot be compared: {error}; mend the repository by hand first") from error
    fewer = [str(count) for count in difference.counts if count.fell]
    if fewer and not (release.allow_fewer or "").strip():
        raise PublishError(
            f"rows would get fewer ({'; '.join(fewer)}); say why with --allow-fewer 'REASON', or restore what is missing"
        )
    return published, difference


def publish(api: HfApi, release: Release, published: Published, difference: Difference) -> str:
    """Commit, read back, tag; the sha of the commit.

    Where the head holds the folder already (an earlier try was cut off before its tag), it is tagged as it is.
    """
    from huggingface_hub import get_token

    if not (api.token or (api.token is None and get_token())):
        raise PublishError("there is no token: set HF_TOKEN, or sign in with `hf auth login`; it needs the right to write")
    sha = _commit(api, release, published, difference) if difference.any else published.head
    if differs := _differing(api, release, sha):
        raise PublishError(f"{release.repo} at {sha} is not what was sent ({', '.join(differs[:5])}); nothing was tagged")
    _tag(api, release, sha)
    return sha


def read_published(api: HfApi, repo: str) -> Published:
    """Head, files and tags of a dataset repository. Raises PublishError where it cannot be read."""
    info = asked(lambda: api.dataset_info(repo), f"{repo} cannot be read")
    refs = asked(lambda: api.list_repo_refs(repo, repo_type="dataset"), f"the tags of {repo} cannot be read")
    tags = {each.name: each.target_commit for each in refs.tags}
    return Published(str(info.sha), bool(info.private), _files(api, repo, str(info.sha)), tags)


def redacted(text: str, api: HfApi | None = None) -> str:
    """The text without what is, or looks like, a token."""
    if api is not None and isinstance(api.token, str) and api.token:
        text = text.replace(api.token, "hf_...")
    return re.sub(r"hf_[A-Za-z0-9]{4,}", "hf_...", text)


def check_tag(tag: str, version: str) -> None:
    """Raises PublishError unless the tag is that of the version."""
    if not re.fullmatch(r"v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", tag):
        raise PublishError(f"{redacted(tag)} is no tag of a version; write --tag vX.Y.Z, here v{version}")
    if tag != f"v{version}":
        raise PublishError(f"the content is version {version} and the tag {tag}; give --tag v{version} or raise the version")


def _check_private(manifest: Mapping[str, Any], published: Published, release: Release) -> None:
    """Private content goes nowhere that anybody can read."""
    if not manifest.get("private"):
        return
    if not release.allow_private:
        raise PublishError("this content is private and is not pushed; --push-private sends it to a private repository")
    if not published.private:
        raise PublishError(f"{release.repo} is public and this content is private; it is never pushed there")


def _check_same_dataset(api: HfApi, release: Release, published: Published, manifest: Mapping[str, Any]) -> None:
    """A repository that holds something else is not overwritten."""
    if "manifest.json" not in published.files:
        if foreign := sorted({*published.files} - {".gitattributes", "README.md"}):
            raise PublishError(f"{release.repo} holds other files ({', '.join(foreign[:5])}); use another repository")
        return
    try:
        old = json.loads(_fetch(api, release.repo, "manifest.json", published.head).read_text(encoding="utf-8"))
        same = (old["name"], old["canary"]) == (manifest["name"], manifest["canary"])
    except (ValueError, KeyError, TypeError) as error:
        raise PublishError(f"the manifest.json of {release.repo} cannot be read; mend the repository by hand first") from error
    if not same:
        raise PublishError(f"{release.repo} holds another dataset (its name or canary differs); use another repository")


def _files(api: HfApi, repo: str, revision: str) -> dict[str, str]:
    from huggingface_hub.hf_api import RepoFile

    def listed() -> list[Any]:
        return list(api.list_repo_tree(repo, repo_type="dataset", revision=revision, recursive=True))

    entries = asked(listed, f"the files of {repo} cannot be listed")
    return {each.path: each.lfs.sha256 if each.lfs else each.blob_id for each in entries if isinstance(each, RepoFile)}


def _fetch(api: HfApi, repo: str, file: str, revision: str) -> Path:
    what = f"{file} of {repo} cannot be fetched"
    return Path(asked(lambda: api.hf_hub_download(repo, file, repo_type="dataset", revision=revision), what))


def _differing(api: HfApi, release: Release, revision: str) -> tuple[str, ...]:
    """Files that are not the same at that revision and in the folder."""
    changes = file_changes(release.folder, _files(api, release.repo, revision))
    return (*changes["added"], *changes["changed"], *changes["deleted"])


def _commit(api: HfApi, release: Release, published: Published, difference: Difference) -> str:
    """One commit whose parent is the head that was compared."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    def send() -> str:
        adds = [CommitOperationAdd(name, release.folder / name) for name in (*difference.added, *difference.changed)]
        title, text = commit_message(release, difference)
        made = api.create_commit(
            release.repo,
            [*adds, *(CommitOperationDelete(name) for name in difference.deleted)],
            commit_message=title,
            commit_description=text,
            repo_type="dataset",
            parent_commit=published.head,
        )
        return str(made.oid)

    def landed() -> str | None:
        head = str(api.dataset_info(release.repo).sha)
        if head == published.head:
            return None
        if _differing(api, release, head):
            raise PublishError(f"somebody else changed {release.repo} meanwhile (its head is {head}); look with --dry-run")
        return head

    return insist(send, landed, f"the commit to {release.repo}", api)


def _tag(api: HfApi, release: Release, sha: str) -> None:
    def send() -> str:
        api.create_tag(release.repo, tag=release.tag, revision=sha, repo_type="dataset")
        return sha

    def landed() -> str | None:
        tags = {each.name: each.target_commit for each in api.list_repo_refs(release.repo, repo_type="dataset").tags}
        if tags.get(release.tag, sha) != sha:
            raise PublishError(f"{release.tag} names {tags[release.tag]} and not {sha}; somebody else published that version")
        return tags.get(release.tag)

    insist(send, landed, f"the tag {release.tag} on {sha}", api)


def commit_message(release: Release, difference: Difference) -> tuple[str, str]:
    """Title and text: where the content comes from, its rows and hashes, and why rows got fewer."""
    manifest = json.loads((release.folder / "manifest.json").read_text(encoding="utf-8"))
    lines = [f"Built from commit {release.source}.", ""]
    for config, splits in manifest["configs"].items():
        lines += [f"{config} {split}: {entry['rows']} rows, {entry['sha256']}" for split, entry in splits.items()]
    if any(count.fell for count in difference.counts):
        lines += ["", f"Fewer rows: {release.allow_fewer}"]
    return f"{manifest['name']} {release.tag}", "\n".join(lines)


def insist(send: Callable[[], Result], landed: Callable[[], Result | None], what: str, api: HfApi) -> Result:
    """Send once; after a failure that may pass, look whether it arrived before it is sent again. Raises PublishError."""
    last: Exception | None = None
    for number in range(TRIES):
        if last is not None:
            time.sleep(PAUSE * 2 ** (number - 1))
        try:
            if last is not None and (found := landed()) is not None:
                return found
            return send()
        except hub_errors() as error:
            last = error
            if not _may_pass(error):
                break
    raise PublishError(f"{what} failed: {redacted(_short(last), api)}") from None


def _may_pass(error: Exception) -> bool:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status in UNSURE or (status is None and not isinstance(error, ValueError))


def asked(ask: Callable[[], Result], what: str, kind: str = "dataset") -> Result:
    """What the Hub answers about a repository of that kind. Raises PublishError with `what` and the reason."""
    try:
        return ask()
    except hub_errors() as error:
        raise PublishError(
            f"{what}: {redacted(_short(error))}; check its name, that it was made (`hf repos create REPO --repo-type {kind}`), "
            "the network and the token"
        ) from None


def _short(error: Exception | None) -> str:
    """The first sentence of the server's words and the kind of error."""
    said = getattr(error, "server_message", None) or str(error).strip().partition("\n")[0]
    status = getattr(getattr(error, "response", None), "status_code", None)
    kind = "none" if error is None else hub_said(error)
    return f"{kind}{f' {status}' if status else ''}: {str(said)[:300]}"
