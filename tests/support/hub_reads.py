"""What the Hub answers to who reads: files, trees, refs, history."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import parse_qs, unquote

from tests.support.hub_ask import API, CDN, FILES, Ask, RefusalError, Reply, commit_of, repo_of, signed_in
from tests.support.hub_repos import DATE, Json, blob_oid


def _whoami(ask: Ask) -> Reply:
    name = signed_in(ask)
    token = {"type": "access_token", "accessToken": {"displayName": "test", "role": "write"}}
    return Reply(200, {"type": "user", "id": "1", "name": name, "orgs": [], "auth": token})


def _resolve(ask: Ask, kinds: str | None, name: str, revision: str, path: str) -> Reply:
    repo = repo_of(ask, kinds, name)
    sha = commit_of(repo, revision)
    content = repo.commits[sha].files.get(unquote(path))
    if content is None:
        return Reply(404, {"error": "Entry not found"}, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": sha})
    oid = hashlib.sha256(content).hexdigest() if repo.is_lfs(path) else blob_oid(content)
    headers = {"X-Repo-Commit": sha, "ETag": f'"{oid}"', "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
    if ask.hub.cdn and repo.is_lfs(path):
        linked = {"Location": f"http://{CDN}/{oid}", "X-Linked-Etag": f'"{oid}"', "X-Linked-Size": str(len(content))}
        return Reply(302, b"", {"X-Repo-Commit": sha, **linked})
    asked = re.match(r"bytes=(\d+)-(\d*)", ask.headers.get("range", ""))
    if asked is None or ask.method == "HEAD":
        return Reply(200, content, headers)
    first, last = int(asked[1]), min(int(asked[2] or len(content) - 1), len(content) - 1)
    if first >= len(content):
        return Reply(416, b"", {**headers, "Content-Range": f"bytes */{len(content)}"})
    return Reply(206, content[first : last + 1], {**headers, "Content-Range": f"bytes {first}-{last}/{len(content)}"})


def _info(ask: Ask, kinds: str, name: str, revision: str | None = None) -> Reply:
    repo = repo_of(ask, kinds, name)
    sha = commit_of(repo, revision)
    files = [{"rfilename": path} for path in sorted(repo.commits[sha].files)]
    about = {"author": repo.owner, "lastModified": DATE, "createdAt": DATE, "private": repo.private, "gated": False}
    fixed = {"_id": "0" * 24, "disabled": False, "downloads": 0, "likes": 0, "tags": [], "cardData": None}
    return Reply(200, {**fixed, **about, "id": name, "sha": sha, "siblings": files})


def _refs(ask: Ask, kinds: str, name: str) -> Reply:
    repo = repo_of(ask, kinds, name)

    def listed(prefix: str, cut: int) -> list[Json]:
        return [{"name": ref[cut:], "ref": ref, "targetCommit": sha} for ref, sha in repo.refs.items() if ref.startswith(prefix)]

    tags = [{"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": sha} for tag, sha in repo.tags.items()]
    found: Json = {"branches": listed("refs/heads/", 11), "converts": [], "tags": tags}
    if ask.asked("include_prs"):
        found["pullRequests"] = listed("refs/pr/", 5)
    return Reply(200, found)


def _commits(ask: Ask, kinds: str, name: str, revision: str) -> Reply:
    repo = repo_of(ask, kinds, name)
    rows = [(sha, repo.commits[sha]) for sha in repo.history(commit_of(repo, revision))]
    return Reply(
        200,
        [{"id": s, "title": c.title, "message": c.description, "date": DATE, "authors": [{"user": c.author}]} for s, c in rows],
    )


def _tree(ask: Ask, kinds: str, name: str, revision: str, below: str | None = None) -> Reply:
    repo, base = repo_of(ask, kinds, name), unquote(below or "").strip("/")
    files, prefix, found = repo.commits[commit_of(repo, revision)].files, f"{base}/" if base else "", {}
    for path, content in files.items():
        if path.startswith(prefix):
            parts = path[len(prefix) :].split("/")
            deep = len(parts) if ask.asked("recursive") else 2
            for depth in range(1, min(len(parts), deep)):
                folder = prefix + "/".join(parts[:depth])
                found[folder] = {"type": "directory", "path": folder, "size": 0, "oid": "0" * 40}
            if ask.asked("recursive") or len(parts) == 1:
                found[path] = repo.entry(path, content)
    if base and not found:
        raise RefusalError(404, "EntryNotFound", f"{base} does not exist")
    return Reply(200, [found[path] for path in sorted(found)])


def _paths_info(ask: Ask, kinds: str, name: str, revision: str) -> Reply:
    repo = repo_of(ask, kinds, name)
    files = repo.commits[commit_of(repo, revision)].files
    paths = ask.json["paths"] if "json" in ask.headers.get("content-type", "") else parse_qs(ask.body.decode())["paths"]
    found = [repo.entry(path, files[path]) for path in paths if path in files]
    folders = [path.rstrip("/") for path in paths if any(name.startswith(f"{path.rstrip('/')}/") for name in files)]
    return Reply(200, [*found, *({"type": "directory", "path": path, "size": 0, "oid": "0" * 40} for path in folders)])


ROUTES = (
    (("GET",), r"/api/whoami-v2", _whoami),
    (("GET", "HEAD"), rf"{FILES}/resolve/([^/]+)/(.+)", _resolve),
    (("GET",), API, _info),
    (("GET",), rf"{API}/revision/([^/]+)", _info),
    (("GET",), rf"{API}/refs", _refs),
    (("GET",), rf"{API}/commits/([^/]+)", _commits),
    (("GET",), rf"{API}/tree/([^/]+)(?:/(.+))?", _tree),
    (("POST",), rf"{API}/paths-info/([^/]+)", _paths_info),
)
