"""Publish a built dataset on the Hub: compare, one commit on the head that was compared, read back, then tag that commit.

`push_to_hub` commits per config and keeps stale features, and `upload_folder` splits large commits, so neither is used. After a
lost reply the head is read before anything is sent again.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from helmbench_hf.dataset.build import check_reload
from helmbench_hf.dataset.load import DatasetError, Manifest, Table, check_folder, hub_errors, hub_said, read_manifest
from helmbench_hf.dataset.rows import CASE_CONFIGS

if TYPE_CHECKING:
    from huggingface_hub import HfApi

TRIES = 4
PAUSE = 2.0
"""Seconds before the second try; doubled for each further one."""
UNSURE = {408, 409, 412, 429, 500, 502, 503, 504}
"""Statuses after which it may have arrived, or may yet: 409 and 412 may answer our own earlier try."""
KEYS = dict.fromkeys((*CASE_CONFIGS, "scenarios", "conditions", "user_contexts", "criteria"), ("code",)) | {
    "perturbations": ("scenario", "perturbation"),
    "helplines": ("country", "name"),
    "crisis_taxonomy": ("number",),
    "calibration": ("reply_code", "criterion"),
}
"""The columns that name a row of each config."""
HUB_FILES = {".gitattributes"}
"""Files that the Hub makes; a release leaves them alone."""
SHOWN = 10
"""Removed codes that are printed per config."""
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
    """The git commit that the folder was built from."""
    allow_fewer: str | None = None
    """Why rows may get fewer; goes into the commit message."""
    allow_private: bool = False
    """Whether private content may go to a private repository."""


@dataclass(frozen=True, slots=True)
class Split:
    """One split of one config before and after; None where it does not exist."""

    config: str
    name: str
    before: Table | None
    after: Table | None

    @property
    def changed(self) -> bool:
        """Whether the content differs."""
        return self.before is None or self.after is None or self.before.sha256 != self.after.sha256

    @property
    def fell(self) -> bool:
        """Whether rows would get fewer."""
        return self.before is not None and (self.after.rows if self.after else 0) < self.before.rows

    def __str__(self) -> str:
        before, after = (str(table.rows) if table else "none" for table in (self.before, self.after))
        rows = f"{after} rows" if before == after else f"{before} -> {after} rows"
        content = f", content {'changed' if self.changed else 'the same'}" if self.before and self.after else ""
        return f"{self.config:16} {self.name:8} {rows}{content}"


@dataclass(frozen=True, slots=True)
class Difference:
    """What a release would change: files, rows per config and split, and codes that would disappear."""

    head: str
    """The commit that was compared."""
    files: Mapping[str, str]
    """What becomes of every file: `+` added, `~` changed, `-` deleted, `=` the same."""
    splits: tuple[Split, ...]
    removed: Mapping[str, tuple[str, ...]]

    def named(self, signs: str) -> list[str]:
        """The files with one of these signs."""
        return [name for name, sign in self.files.items() if sign in signs]

    def lines(self) -> list[str]:
        """The difference for a person, one fact per line."""
        found = [f"{sign} {name}" for sign in "+~-" for name in self.named(sign)]
        found += [f"{len(self.named('='))} files stay as they are", *map(str, self.splits)]
        for config, codes in self.removed.items():
            others = f" and {len(codes) - SHOWN} more" if len(codes) > SHOWN else ""
            found.append(f"{config}: {len(codes)} codes removed: {', '.join(codes[:SHOWN])}{others}")
        return found


def prepare(api: HfApi, release: Release) -> Difference:
    """Check the folder and the release against the repository; nothing is written.

    Raises PublishError with what forbids the release, and DatasetError where the folder is not what its manifest says.
    """
    repo, manifest = release.repo, check_folder(release.folder)
    check_tag(release.tag, manifest.version)
    info = asked(lambda: api.dataset_info(repo), f"{repo} cannot be read")
    head, files = str(info.sha), _files(api, repo, str(info.sha))
    tags = asked(lambda: api.list_repo_refs(repo, repo_type="dataset"), f"the tags of {repo} cannot be read").tags
    if release.tag in {each.name for each in tags}:
        raise PublishError(
            f"{repo} already has a tag {release.tag}; a published version never changes, so raise the version in "
            f"benchmark.yaml and publish that"
        )
    if manifest.private and not release.allow_private:
        raise PublishError("this content is private and is not pushed; --push-private sends it to a private repository")
    if manifest.private and not info.private:
        raise PublishError(f"{repo} is public and this content is private; it is never pushed there")
    before = _published_manifest(api, release, head, files, manifest)
    check_reload(release.folder, manifest)
    was, now = ({(config, split): table for config, split, table in each.tables} for each in (before, manifest))
    splits = tuple(Split(*place, was.get(place), now.get(place)) for place in {**now, **was})
    fewer = [str(split) for split in splits if split.fell]
    if fewer and not (release.allow_fewer or "").strip():
        raise PublishError(
            f"there would be fewer rows ({'; '.join(fewer)}); say why with --allow-fewer 'REASON', or restore what is missing"
        )
    return Difference(head, _file_changes(release.folder, files), splits, _removed(api, release, head, splits))


def publish(api: HfApi, release: Release, difference: Difference) -> str:
    """Commit, read back, tag; the sha of the commit.

    Where the head holds the folder already (an earlier try was cut off before its tag), only the tag is added.
    """
    from huggingface_hub import get_token

    if not (api.token or (api.token is None and get_token())):
        raise PublishError("there is no token: set HF_TOKEN, or sign in with `hf auth login`; it needs write permission")
    sha = _commit(api, release, difference) if difference.named("+~-") else difference.head
    if differs := _differing(api, release, sha):
        raise PublishError(f"{release.repo} at {sha} is not what was sent ({', '.join(differs[:5])}); nothing was tagged")
    _tag(api, release, sha)
    return sha


def check_tag(tag: str, version: str) -> None:
    """Raises PublishError unless the tag is that of the version."""
    if not re.fullmatch(r"v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", tag):
        raise PublishError(f"{redacted(tag)} is not a version tag; write --tag vX.Y.Z, here v{version}")
    if tag != f"v{version}":
        raise PublishError(f"the content is version {version}, but the tag is {tag}; give --tag v{version} or raise the version")


def redacted(text: str, api: HfApi | None = None) -> str:
    """The text without what is, or looks like, a token."""
    if api is not None and isinstance(api.token, str) and api.token:
        text = text.replace(api.token, "hf_...")
    return re.sub(r"hf_[A-Za-z0-9]{4,}", "hf_...", text)


def _published_manifest(api: HfApi, release: Release, head: str, files: Mapping[str, str], ours: Manifest) -> Manifest:
    """The manifest at the head, without configs where the repository is empty.

    Raises PublishError where the repository holds something else.
    """
    repo = release.repo
    if "manifest.json" not in files:
        if foreign := sorted({*files} - {".gitattributes", "README.md"}):
            raise PublishError(f"{repo} contains other files ({', '.join(foreign[:5])}); use another repository")
        return ours.model_copy(update={"configs": {}})
    try:
        before = read_manifest(_fetch(api, repo, "manifest.json", head).parent)
    except DatasetError as error:
        raise PublishError(f"{repo} cannot be compared: {error}; fix the repository by hand first") from error
    if (before.name, before.canary) != (ours.name, ours.canary):
        raise PublishError(f"{repo} contains a different dataset (its name or canary differs); use another repository")
    if missing := [table.file for _, _, table in before.tables if table.file not in files]:
        raise PublishError(
            f"the manifest.json of {repo} names {missing[0]}, which is not there; fix the repository by hand first"
        )
    return before


def _removed(api: HfApi, release: Release, head: str, splits: Sequence[Split]) -> dict[str, tuple[str, ...]]:
    """By config, the codes that are published and in no split of the folder."""
    found = {}
    for config in sorted({split.config for split in splits if split.changed} & set(KEYS)):
        tables = [split for split in splits if split.config == config]
        old = {
            code for each in tables if each.before for code in _codes(config, _fetch(api, release.repo, each.before.file, head))
        }
        new = {code for each in tables if each.after for code in _codes(config, release.folder / each.after.file)}
        if old - new:
            found[config] = tuple(sorted(old - new))
    return found


def _codes(config: str, path: Path) -> list[str]:
    """What names the rows of a table: `P1-B1-S1 PT4`."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        columns = parquet.read_table(path, columns=list(KEYS[config])).to_pydict()
        return [" ".join(map(str, names)) for names in zip(*(columns[name] for name in KEYS[config]), strict=True)]
    except (pa.ArrowException, OSError, KeyError) as error:
        raise PublishError(
            f"the table {path.name} of {config} cannot be read ({type(error).__name__}); fix the repository by hand first"
        ) from error


def _file_changes(folder: Path, published: Mapping[str, str]) -> dict[str, str]:
    """What becomes of every file if the folder takes the place of `published` (what `_files` lists)."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        same = published.get(name) in _object_names(path.read_bytes())
        found[name] = "=" if same else "~" if name in published else "+"
    return found | dict.fromkeys(sorted({*published} - {*found} - HUB_FILES), "-")


def _object_names(content: bytes) -> set[str]:
    """The names under which a Hub may list this content: as a git blob, as an LFS object."""
    return {hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(), hashlib.sha256(content).hexdigest()}


def _files(api: HfApi, repo: str, revision: str) -> dict[str, str]:
    """The name of the object at each path."""
    from huggingface_hub.hf_api import RepoFile

    def listed() -> list[Any]:
        return list(api.list_repo_tree(repo, repo_type="dataset", revision=revision, recursive=True))

    entries = asked(listed, f"the files of {repo} cannot be listed")
    return {each.path: each.lfs.sha256 if each.lfs else each.blob_id for each in entries if isinstance(each, RepoFile)}


def _fetch(api: HfApi, repo: str, file: str, revision: str) -> Path:
    what = f"{file} of {repo} cannot be fetched"
    return Path(asked(lambda: api.hf_hub_download(repo, file, repo_type="dataset", revision=revision), what))


def _differing(api: HfApi, release: Release, revision: str) -> list[str]:
    """Files that are not the same at that revision and in the folder."""
    changes = _file_changes(release.folder, _files(api, release.repo, revision))
    return [name for name, sign in changes.items() if sign != "="]


def _commit(api: HfApi, release: Release, difference: Difference) -> str:
    """One commit whose parent is the head that was compared."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    def send() -> str:
        adds = [CommitOperationAdd(name, release.folder / name) for name in difference.named("+~")]
        title, text = _commit_message(release, difference)
        made = api.create_commit(
            release.repo,
            [*adds, *(CommitOperationDelete(name) for name in difference.named("-"))],
            commit_message=title,
            commit_description=text,
            repo_type="dataset",
            parent_commit=difference.head,
        )
        return str(made.oid)

    def landed() -> str | None:
        head = str(api.dataset_info(release.repo).sha)
        if head == difference.head:
            return None
        if _differing(api, release, head):
            raise PublishError(
                f"somebody else changed {release.repo} in the meantime (its head is {head}); take a look with --dry-run"
            )
        return head

    return insist(send, landed, f"the commit to {release.repo}", api)


def _commit_message(release: Release, difference: Difference) -> tuple[str, str]:
    """Title and text: where the content comes from, its rows and hashes, and why rows got fewer."""
    manifest = read_manifest(release.folder)
    lines = [f"Built from commit {release.source}.", ""]
    lines += [f"{config} {split}: {table.rows} rows, {table.sha256}" for config, split, table in manifest.tables]
    if any(split.fell for split in difference.splits):
        lines += ["", f"Fewer rows: {release.allow_fewer}"]
    return f"{manifest.name} {release.tag}", "\n".join(lines)


def _tag(api: HfApi, release: Release, sha: str) -> None:
    def send() -> str:
        api.create_tag(release.repo, tag=release.tag, revision=sha, repo_type="dataset")
        return sha

    def landed() -> str | None:
        tags = {each.name: each.target_commit for each in api.list_repo_refs(release.repo, repo_type="dataset").tags}
        if tags.get(release.tag, sha) != sha:
            raise PublishError(f"{release.tag} points to {tags[release.tag]}, not to {sha}; somebody else published that version")
        return tags.get(release.tag)

    insist(send, landed, f"the tag {release.tag} on {sha}", api)


def insist(send: Callable[[], Result], landed: Callable[[], Result | None], what: str, api: HfApi) -> Result:
    """Send; after a failure that may pass, check whether it arrived before sending again. Raises PublishError."""
    for number in itertools.count(1):
        try:
            if number > 1 and (found := landed()) is not None:
                return found
            return send()
        except hub_errors() as error:
            status = getattr(getattr(error, "response", None), "status_code", None)
            may_pass = status in UNSURE or (status is None and not isinstance(error, ValueError))
            if number == TRIES or not may_pass:
                raise PublishError(f"{what} failed: {redacted(_reason(error), api)}") from None
        time.sleep(PAUSE * 2 ** (number - 1))
    raise AssertionError("count never ends")


def asked(ask: Callable[[], Result], what: str, kind: str = "dataset") -> Result:
    """What the Hub answers about a repository of that kind. Raises PublishError with `what` and the reason."""
    try:
        return ask()
    except hub_errors() as error:
        raise PublishError(
            f"{what}: {redacted(_reason(error))}; check its name, that it exists (`hf repos create REPO --repo-type {kind}`), "
            "the network and the token"
        ) from None


def _reason(error: Exception) -> str:
    """The kind of the error, its status, and the first line of what the server said."""
    said = getattr(error, "server_message", None) or str(error).strip().partition("\n")[0]
    status = getattr(getattr(error, "response", None), "status_code", None)
    return f"{hub_said(error)}{f' {status}' if status else ''}: {str(said)[:300]}"
