"""A request to the Hub as its routes see it: who asks for what, and what is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tests.support.hub_repos import Repo

if TYPE_CHECKING:
    from tests.support.hub import Hub

CDN = "cdn.invalid"
"""The host that large files come from."""
ID = r"([^/]+/[^/]+)"
API = rf"/api/(models|datasets|spaces)/{ID}"
FILES = rf"/(?:(datasets|spaces)/)?{ID}"


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: Any = None
    """JSON, or bytes."""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, parsed. `user`: who asks, None for nobody."""

    hub: Hub
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes
    user: str | None

    @property
    def json(self) -> Any:
        return json.loads(self.body or b"{}")

    def asked(self, name: str) -> bool:
        return self.query.get(name, ["false"])[0].lower() in ("1", "true")

    def may_write(self, repo: Repo) -> bool:
        return self.user == repo.owner


class RefusalError(Exception):
    """The request ends with this reply."""

    def __init__(self, status: int, code: str, message: str) -> None:
        headers = {"X-Error-Code": code, "X-Error-Message": message} if code else {"X-Error-Message": message}
        super().__init__(message)
        self.reply = Reply(status, {"error": message}, headers)


def signed_in(ask: Ask) -> str:
    if ask.user is None:
        raise RefusalError(401, "", "Invalid username or password.")
    return ask.user


def repo_of(ask: Ask, kinds: str | None, name: str) -> Repo:
    """A private repository is not there for others."""
    repo = ask.hub.repos.get(((kinds or "models").removesuffix("s"), name))
    if repo is None or (repo.private and not ask.may_write(repo)):
        raise RefusalError(404 if ask.user else 401, "RepoNotFound", "Repository not found")
    return repo


def commit_of(repo: Repo, revision: str | None) -> str:
    sha = repo.resolve(unquote(revision or "main"))
    if sha is None:
        raise RefusalError(404, "RevisionNotFound", f"Invalid rev id: {unquote(revision or '')}")
    return sha


def owner_of(ask: Ask, repo: Repo) -> str:
    user = signed_in(ask)
    if not ask.may_write(repo):
        raise RefusalError(403, "", "Authorization error: you have no write access to this repository")
    return user
