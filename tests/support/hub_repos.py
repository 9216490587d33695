"""What a Hub holds: repositories with commits, refs, tags and discussions, all in memory."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
MAIN = "refs/heads/main"
DATE = "2026-01-01T00:00:00.000Z"
ATTRIBUTES = {".gitattributes": b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"}


def blob_oid(content: bytes) -> str:
    """The name that git gives to a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass(frozen=True, slots=True)
class Commit:
    parent: str | None
    files: dict[str, bytes]
    title: str
    description: str
    author: str


@dataclass(slots=True)
class Discussion:
    """A discussion, or a pull request with its head at `refs/pr/NUMBER`."""

    number: int
    title: str
    author: str
    is_pull_request: bool
    status: str
    base: str
    events: list[Json] = field(default_factory=list)
    merged: str | None = None

    def say(self, author: str, kind: str, data: Json) -> Json:
        """Add an event: a comment or a change of status."""
        event = {"id": f"e{len(self.events)}", "type": kind, "createdAt": DATE, "author": {"name": author}, "data": data}
        self.events.append(event)
        return event


@dataclass(slots=True)
class Repo:
    """One repository; `kind` is model, dataset or space."""

    kind: str
    name: str
    private: bool = False
    lfs: bool = False
    """Whether parquet is uploaded and named as LFS objects, as on the real Hub."""
    commits: dict[str, Commit] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    discussions: dict[int, Discussion] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.refs[MAIN] = self.commit(None, dict(ATTRIBUTES), "initial commit", "", self.owner)

    @property
    def owner(self) -> str:
        return self.name.partition("/")[0]

    @property
    def files(self) -> dict[str, bytes]:
        """The files of the main branch."""
        return self.commits[self.refs[MAIN]].files

    @property
    def log(self) -> list[Commit]:
        """Commits of the main branch, the newest first."""
        return [self.commits[sha] for sha in self.history(self.refs[MAIN])]

    def history(self, sha: str | None) -> list[str]:
        found = []
        while sha:
            found.append(sha)
            sha = self.commits[sha].parent
        return found

    def commit(self, parent: str | None, files: dict[str, bytes], title: str, description: str, author: str) -> str:
        """Store a commit; no ref moves."""
        listed = sorted((path, blob_oid(content)) for path, content in files.items())
        sha = hashlib.sha1(repr((self.name, parent, title, description, len(self.commits), listed)).encode()).hexdigest()
        self.commits[sha] = Commit(parent, files, title, description, author)
        return sha

    def resolve(self, revision: str) -> str | None:
        """The commit of a branch, a ref, a tag or a commit."""
        for name in (revision, f"refs/heads/{revision}"):
            if name in self.refs:
                return self.refs[name]
        return self.tags.get(revision.removeprefix("refs/tags/")) or (revision if revision in self.commits else None)

    def is_lfs(self, path: str) -> bool:
        return self.lfs and path.endswith(".parquet")

    def entry(self, path: str, content: bytes) -> Json:
        """A file as the tree lists it."""
        found: Json = {"type": "file", "path": path, "size": len(content), "oid": blob_oid(content)}
        if self.is_lfs(path):
            found["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
        return found

    def open_discussion(self, title: str, text: str, author: str, status: str, is_pull_request: bool) -> Discussion:
        number = len(self.discussions) + 1
        made = Discussion(number, title, author, is_pull_request, status, self.refs[MAIN])
        made.say(author, "comment", {"edited": False, "hidden": False, "latest": {"raw": text}})
        self.discussions[number] = made
        if is_pull_request:
            self.refs[f"refs/pr/{number}"] = self.refs[MAIN]
        return made

    def merge(self, number: int, author: str) -> str:
        """Put what a pull request changed on top of main."""
        request, base = self.discussions[number], self.refs[MAIN]
        theirs, before = self.commits[self.refs[f"refs/pr/{number}"]].files, self.commits[request.base].files
        files = {path: content for path, content in self.commits[base].files.items() if path in theirs or path not in before}
        files |= {path: content for path, content in theirs.items() if before.get(path) != content}
        self.refs[MAIN] = request.merged = self.commit(base, files, f"{request.title} (#{number})", "", author)
        request.status = "merged"
        return self.refs[MAIN]
