"""A Hub on the loopback for tests: what huggingface_hub 1.31 to 2.4 and datasets 5.2 ask for, and a log of who asked what.

A client in a process of its own (`Hub.client`) has this server as its endpoint and as its proxy, so that a request to any
other host is in the log as well, and is refused.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.waiting import PATIENCE

Json = dict[str, Any]
OWNER, OTHER = "helmbench", "alice"
TOKENS = {OWNER: "hf_" + "o" * 34, OTHER: "hf_" + "a" * 34}
CDN = "cdn.invalid"
"""The host that large files come from."""
MAIN, DATE = "refs/heads/main", "2026-01-01T00:00:00.000Z"
ATTRIBUTES = {".gitattributes": b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"}
CHECKOUT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Commit:
    parent: str | None
    files: dict[str, bytes]
    title: str
    description: str
    author: str


@dataclass(slots=True)
class Discussion:
    """A pull request, whose head is `refs/pr/NUMBER`."""

    number: int
    title: str
    author: str
    base: str
    status: str = "open"
    events: list[Json] = field(default_factory=list)
    merged: str | None = None

    def say(self, author: str, kind: str, data: Json) -> Json:
        """Add an event: a comment or a change of status."""
        event = {"id": f"e{len(self.events)}", "type": kind, "createdAt": DATE, "author": {"name": author}, "data": data}
        self.events.append(event)
        return event


def comment(text: str) -> Json:
    return {"edited": False, "hidden": False, "latest": {"raw": text}}


@dataclass(slots=True)
class Repo:
    """One repository; `kind` is model, dataset or space. `lfs`: parquet files are LFS objects, as on the real Hub."""

    kind: str
    name: str
    private: bool = False
    lfs: bool = False
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
        listed = sorted((path, self.oid(path, content)) for path, content in files.items())
        sha = hashlib.sha1(repr((self.name, parent, title, description, len(self.commits), listed)).encode()).hexdigest()
        self.commits[sha] = Commit(parent, files, title, description, author)
        return sha

    def is_lfs(self, path: str) -> bool:
        return self.lfs and path.endswith(".parquet")

    def oid(self, path: str, content: bytes) -> str:
        """The name of a file's content: an LFS object's, or git's for a blob."""
        if self.is_lfs(path):
            return hashlib.sha256(content).hexdigest()
        return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()

    def entry(self, path: str, content: bytes) -> Json:
        """A file as the tree lists it."""
        found: Json = {"type": "file", "path": path, "size": len(content), "oid": self.oid(path, content)}
        if self.is_lfs(path):
            found["lfs"] = {"oid": found["oid"], "size": len(content), "pointerSize": 130}
        return found

    def open_pull_request(self, title: str, text: str, author: str, files: dict[str, bytes]) -> tuple[Discussion, str]:
        number, base = len(self.discussions) + 1, self.refs[MAIN]
        made = self.discussions[number] = Discussion(number, title, author, base)
        made.say(author, "comment", comment(text))
        sha = self.refs[f"refs/pr/{number}"] = self.commit(base, files, title, text, author)
        return made, sha

    def merge(self, number: int, author: str) -> None:
        """Put what a pull request changed on top of main."""
        request, base = self.discussions[number], self.refs[MAIN]
        theirs, before = self.commits[self.refs[f"refs/pr/{number}"]].files, self.commits[request.base].files
        files = {path: content for path, content in self.commits[base].files.items() if path in theirs or path not in before}
        files |= {path: content for path, content in theirs.items() if before.get(path) != content}
        self.refs[MAIN] = request.merged = self.commit(base, files, f"{request.title} (#{number})", "", author)
        request.status = "merged"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came in, whatever host it was meant for."""

    method: str
    host: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes = b""

    @property
    def token(self) -> str | None:
        """The token that was sent along."""
        return self.headers.get("authorization", "").removeprefix("Bearer ") or None

    @property
    def user(self) -> str | None:
        """Who asks; None for nobody."""
        return next((name for name, token in TOKENS.items() if token == self.token), None)

    @property
    def json(self) -> Any:
        return json.loads(self.body or b"{}")

    def asked(self, name: str) -> bool:
        """Whether a parameter is true."""
        return parse_qs(self.query).get(name, ["false"])[0].lower() in ("1", "true")


@dataclass(slots=True)
class Fault:
    """The next requests of that method and path go wrong: refused with 503, or done while the reply is lost."""

    method: str
    path: str
    done: bool
    times: int = 1


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: Any = None
    """JSON, or bytes."""
    headers: dict[str, str] = field(default_factory=dict)


class RefusalError(Exception):
    """The request ends with this reply."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.reply = Reply(status, {"error": message}, {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})})


@dataclass(slots=True)
class Hub:
    """`with Hub() as hub:` listens on 127.0.0.1. Users own the namespace of their name; None is nobody."""

    lfs: bool = False
    cdn: bool = False
    """Whether LFS files are on another host, to which the Hub redirects."""
    repos: dict[tuple[str, str], Repo] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    endpoint: str = ""
    lock: Any = field(default_factory=threading.RLock)
    _server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Nobody listens after this."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def repo(self, name: str, kind: str = "dataset", **options: Any) -> Repo:
        """A repository, made where it does not exist."""
        if (kind, name) not in self.repos:
            self.repos[kind, name] = Repo(kind, name, **{"lfs": self.lfs, **options})
        return self.repos[kind, name]

    def api(self, user: str | None = OWNER) -> Any:
        """`huggingface_hub.HfApi` of a user in this process; no stored token is read."""
        from huggingface_hub import HfApi

        return HfApi(endpoint=self.endpoint, token=TOKENS[user] if user else False)

    @property
    def hosts(self) -> set[str]:
        """Every host that was asked for anything."""
        return {request.host for request in self.requests}

    def asked(self, method: str, path: str) -> list[Request]:
        """The requests of that method whose path matches."""
        return [each for each in self.requests if each.method == method and re.search(path, each.path)]

    def environment(self, home: Path, user: str | None = None, *, offline: bool = False, **env: str) -> dict[str, str]:
        """What a process of its own needs: `home` as its home and cache, the user's token, and this Hub as the only one."""
        home.mkdir(parents=True, exist_ok=True)
        around = {"PATH": os.environ["PATH"], "HOME": str(home), "HF_HOME": str(home / "hf"), "PYTHONPATH": str(CHECKOUT)}
        around |= {"HF_ENDPOINT": self.endpoint, "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_XET": "1"}
        around |= dict.fromkeys(("HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT"), str(int(PATIENCE)))
        around |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), self.endpoint)
        around |= {"HF_TOKEN": TOKENS[user]} if user else {}
        around |= {"HF_HUB_OFFLINE": "1"} if offline else {}
        return {**around, **env}

    def client(
        self, code: str, home: Path, user: str | None = None, *, offline: bool = False, cwd: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run Python code in a process of its own (`environment`)."""
        around = self.environment(home, user, offline=offline, **env)
        return subprocess.run(
            [sys.executable, "-c", code], cwd=cwd or home, env=around, capture_output=True, text=True, timeout=PATIENCE
        )

    def answer(self, request: Request) -> Reply:
        """The reply to a request; an unknown route is 404, as on the Hub."""
        try:
            for method, pattern, route in ROUTES:
                if request.method in method and (match := re.fullmatch(pattern, request.path)):
                    return route(self, request, *match.groups())
        except RefusalError as refused:
            return refused.reply
        return Reply(404, {"error": f"no route {request.method} {request.path}"})


def _repo(hub: Hub, request: Request, kinds: str | None, name: str, write: bool = False) -> Repo:
    """A private repository does not exist for others."""
    repo = hub.repos.get(((kinds or "models").removesuffix("s"), name))
    if repo is None or (repo.private and request.user != repo.owner):
        raise RefusalError(404 if request.user else 401, "Repository not found", "RepoNotFound")
    if write and _user(request) != repo.owner:
        raise RefusalError(403, "Authorization error: you have no write access to this repository")
    return repo


def _user(request: Request) -> str:
    if request.user is None:
        raise RefusalError(401, "Invalid username or password.")
    return request.user


def _sha(repo: Repo, revision: str | None) -> str:
    """The commit of a branch, a ref, a tag or a commit."""
    name = unquote(revision or "main")
    for ref in (name, f"refs/heads/{name}"):
        if ref in repo.refs:
            return repo.refs[ref]
    found = repo.tags.get(name.removeprefix("refs/tags/")) or (name if name in repo.commits else None)
    if found is None:
        raise RefusalError(404, f"Invalid rev id: {name}", "RevisionNotFound")
    return found


def _resolve(hub: Hub, request: Request, kinds: str | None, name: str, revision: str, path: str) -> Reply:
    repo = _repo(hub, request, kinds, name)
    sha = _sha(repo, revision)
    content = repo.commits[sha].files.get(unquote(path))
    if content is None:
        return Reply(404, {"error": "Entry not found"}, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": sha})
    oid = repo.oid(path, content)
    if hub.cdn and repo.is_lfs(path):
        linked = {"Location": f"http://{CDN}/{oid}", "X-Linked-Etag": f'"{oid}"', "X-Linked-Size": str(len(content))}
        return Reply(302, b"", {"X-Repo-Commit": sha, **linked})
    return Reply(200, content, {"X-Repo-Commit": sha, "ETag": f'"{oid}"', "Content-Type": "application/octet-stream"})


def _info(hub: Hub, request: Request, kinds: str, name: str, revision: str | None = None) -> Reply:
    repo = _repo(hub, request, kinds, name)
    sha = _sha(repo, revision)
    files = [{"rfilename": path} for path in sorted(repo.commits[sha].files)]
    about = {"author": repo.owner, "lastModified": DATE, "createdAt": DATE, "private": repo.private, "gated": False}
    fixed = {"_id": "0" * 24, "disabled": False, "downloads": 0, "likes": 0, "tags": [], "cardData": None}
    return Reply(200, {**fixed, **about, "id": name, "sha": sha, "siblings": files})


def _refs(hub: Hub, request: Request, kinds: str, name: str) -> Reply:
    repo = _repo(hub, request, kinds, name)

    def listed(prefix: str, refs: dict[str, str]) -> list[Json]:
        found = {ref: sha for ref, sha in refs.items() if ref.startswith(prefix)}
        return [{"name": ref.removeprefix(prefix), "ref": ref, "targetCommit": sha} for ref, sha in found.items()]

    tags = {f"refs/tags/{tag}": sha for tag, sha in repo.tags.items()}
    found: Json = {"branches": listed("refs/heads/", repo.refs), "converts": [], "tags": listed("refs/tags/", tags)}
    return Reply(200, found | ({"pullRequests": listed("refs/pr/", repo.refs)} if request.asked("include_prs") else {}))


def _commits(hub: Hub, request: Request, kinds: str, name: str, revision: str) -> Reply:
    repo = _repo(hub, request, kinds, name)
    rows = [(sha, repo.commits[sha]) for sha in repo.history(_sha(repo, revision))]
    fixed = {"date": DATE, "message": ""}
    return Reply(200, [{**fixed, "id": sha, "title": each.title, "authors": [{"user": each.author}]} for sha, each in rows])


def _tree(hub: Hub, request: Request, kinds: str, name: str, revision: str, below: str | None = None) -> Reply:
    repo, base = _repo(hub, request, kinds, name), unquote(below or "").strip("/")
    files, prefix, found = repo.commits[_sha(repo, revision)].files, f"{base}/" if base else "", dict[str, Json]()
    for path, content in files.items():
        if path.startswith(prefix):
            *folders, _ = path[len(prefix) :].split("/")
            for depth in range(1, len(folders) + 1 if request.asked("recursive") else min(len(folders), 1) + 1):
                folder = prefix + "/".join(folders[:depth])
                found[folder] = {"type": "directory", "path": folder, "size": 0, "oid": "0" * 40}
            if request.asked("recursive") or not folders:
                found[path] = repo.entry(path, content)
    if base and not found:
        raise RefusalError(404, f"{base} does not exist", "EntryNotFound")
    return Reply(200, [found[path] for path in sorted(found)])


def _paths_info(hub: Hub, request: Request, kinds: str, name: str, revision: str) -> Reply:
    repo = _repo(hub, request, kinds, name)
    files = repo.commits[_sha(repo, revision)].files
    as_json = "json" in request.headers.get("content-type", "")
    paths = [path.rstrip("/") for path in (request.json["paths"] if as_json else parse_qs(request.body.decode())["paths"])]
    found = [repo.entry(path, files[path]) for path in paths if path in files]
    folders = [path for path in paths if any(name.startswith(f"{path}/") for name in files)]
    return Reply(200, [*found, *({"type": "directory", "path": path, "size": 0, "oid": "0" * 40} for path in folders)])


def _validate(hub: Hub, request: Request) -> Reply:
    """Any card is valid that has metadata between its first two lines of dashes."""
    bare = not request.json["content"].startswith("---")
    return Reply(200, {"errors": [], "warnings": [{"message": "empty or missing yaml metadata in repo card"}] if bare else []})


def _create(hub: Hub, request: Request) -> Reply:
    wanted, user = request.json, _user(request)
    kind, name = wanted.get("type", "model"), f"{wanted.get('organization') or user}/{wanted['name']}"
    if name.partition("/")[0] != user:
        raise RefusalError(403, f"You don't have the rights to create a {kind} under that namespace")
    url = f"https://huggingface.co/{kind}s/{name}"
    if (kind, name) in hub.repos:
        return Reply(409, {"error": "You already created this repo", "url": url})
    hub.repo(name, kind)
    return Reply(200, {"url": url, "id": name, "name": name})


def _preupload(hub: Hub, request: Request, kinds: str, name: str, revision: str) -> Reply:
    _user(request)
    repo = _repo(hub, request, kinds, name)
    files, found = repo.commits[_sha(repo, revision)].files, []
    for path in [each["path"] for each in request.json["files"]]:
        oid = repo.oid(path, files[path]) if path in files else None
        mode = "lfs" if repo.is_lfs(path) else "regular"
        found.append({"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": oid})
    return Reply(200, {"files": found})


def _lfs_batch(hub: Hub, request: Request, kinds: str | None, name: str) -> Reply:
    _repo(hub, request, kinds, name)
    objects = [{"oid": each["oid"], "size": each["size"]} for each in request.json["objects"]]
    for each in objects:
        if each["oid"] not in hub.objects:
            each["actions"] = {"upload": {"href": f"{hub.endpoint}/_lfs/{each['oid']}"}}
    return Reply(200, {"transfer": "basic", "objects": objects})


def _lfs_put(hub: Hub, request: Request, oid: str) -> Reply:
    if hashlib.sha256(request.body).hexdigest() != oid:
        raise RefusalError(400, "the object is not what its name says")
    hub.objects[oid] = request.body
    return Reply(200, {})


def _commit(hub: Hub, request: Request, kinds: str, name: str, revision: str) -> Reply:
    pull = request.asked("create_pr")
    repo, user = _repo(hub, request, kinds, name, write=not pull), _user(request)
    parent, ref = _sha(repo, revision), f"refs/heads/{unquote(revision)}"
    lines = [(entry["key"], entry["value"]) for entry in map(json.loads, request.body.splitlines())]
    header = next(value for key, value in lines if key == "header")
    if header.get("parentCommit") not in (None, parent):
        raise RefusalError(412, "A commit has happened since. Please refresh and try again.")
    files = dict(repo.commits[parent].files)
    for key, value in lines:
        if key == "file":
            files[value["path"]] = base64.b64decode(value["content"])
        elif key == "lfsFile":
            files[value["path"]] = hub.objects[value["oid"]]
        elif key == "deletedFile" and files.pop(value["path"], None) is None:
            raise RefusalError(404, f"there is no file {value['path']} to delete", "EntryNotFound")
    title, text = header["summary"], header.get("description", "")
    url = f"{hub.endpoint}/{'' if repo.kind == 'model' else f'{repo.kind}s/'}{name}"
    opened = {}
    if pull:
        made, sha = repo.open_pull_request(title, text, user, files)
        opened = {"pullRequestUrl": f"{url}/discussions/{made.number}"}
    else:
        sha = repo.refs[ref] = repo.commit(parent, files, title, text, user)
    return Reply(200, {"success": True, "commitOid": sha, "commitUrl": f"{url}/commit/{sha}", "hookOutput": "", **opened})


def _tag(hub: Hub, request: Request, kinds: str, name: str, revision: str) -> Reply:
    repo = _repo(hub, request, kinds, name, write=True)
    if (tag := request.json["tag"]) in repo.tags:
        raise RefusalError(409, "Tag reference exists already")
    repo.tags[tag] = _sha(repo, revision)
    return Reply(200, {})


def _shown(repo: Repo, each: Discussion) -> Json:
    """A pull request in the list, and by itself."""
    found: Json = {"num": each.number, "title": each.title, "status": each.status, "author": {"name": each.author}}
    found |= {"createdAt": DATE, "isPullRequest": True, "repo": {"name": repo.name, "type": repo.kind}}
    changes = {"base": MAIN, **({"mergeCommitId": each.merged} if each.merged else {})}
    return found | {"events": each.events, "changes": changes, "filesWithConflicts": [], "diff": ""}


def _discussions(hub: Hub, request: Request, kinds: str, name: str) -> Reply:
    repo = _repo(hub, request, kinds, name)
    listed = [_shown(repo, each) for each in repo.discussions.values()]
    return Reply(200, {"discussions": listed, "count": len(listed), "start": 0})


def _discussion(hub: Hub, request: Request, kinds: str, name: str, number: str, action: str | None = None) -> Reply:
    repo = _repo(hub, request, kinds, name, write=action == "merge")
    found = repo.discussions.get(int(number))
    if found is None:
        raise RefusalError(404, "there is no such discussion")
    if action is None:
        return Reply(200, _shown(repo, found))
    user = _user(request)
    if action == "comment":
        return Reply(200, {"newMessage": found.say(user, "comment", comment(request.json["comment"]))})
    repo.merge(found.number, user)
    return Reply(200, {"newStatus": found.say(user, "status-change", {"status": found.status})})


ID = r"([^/]+/[^/]+)"
API, FILES = rf"/api/(models|datasets|spaces)/{ID}", rf"/(?:(datasets|spaces)/)?{ID}"
ROUTES: tuple[tuple[tuple[str, ...], str, Any], ...] = (
    (("GET", "HEAD"), rf"{FILES}/resolve/([^/]+)/(.+)", _resolve),
    (("GET",), API, _info),
    (("GET",), rf"{API}/revision/([^/]+)", _info),
    (("GET",), rf"{API}/refs", _refs),
    (("GET",), rf"{API}/commits/([^/]+)", _commits),
    (("GET",), rf"{API}/tree/([^/]+)(?:/(.+))?", _tree),
    (("POST",), rf"{API}/paths-info/([^/]+)", _paths_info),
    (("POST",), r"/api/repos/create", _create),
    (("POST",), r"/api/validate-yaml", _validate),
    (("POST",), rf"{FILES}\.git/info/lfs/objects/batch", _lfs_batch),
    (("PUT",), r"/_lfs/(\w+)", _lfs_put),
    (("POST",), rf"{API}/preupload/([^/]+)", _preupload),
    (("POST",), rf"{API}/commit/([^/]+)", _commit),
    (("POST",), rf"{API}/tag/([^/]+)", _tag),
    (("GET",), rf"{API}/discussions", _discussions),
    (("GET",), rf"{API}/discussions/(\d+)", _discussion),
    (("POST",), rf"{API}/discussions/(\d+)/(comment|merge)", _discussion),
)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *_: object) -> None:
        """Requests are logged by `Hub.requests`."""

    def _handle(self) -> None:
        url = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self._chunks() if "chunked" in headers.get("transfer-encoding", "") else self._body(headers)
        asked = urlsplit(f"//{headers.get('host', '')}") if url.hostname is None else url
        request = Request(self.command, asked.hostname or "", url.path, url.query, headers, body)
        with self.hub.lock:
            self.hub.requests.append(request)
            if self.hub.cdn and asked.hostname == CDN:
                self._send(Reply(200, self.hub.objects[url.path[1:]], {"Content-Type": "application/octet-stream"}))
                return
            if f"http://{asked.hostname}:{asked.port or 80}" != self.hub.endpoint:
                self._send(Reply(502, {"error": f"{asked.hostname} is not this Hub"}))
                return
            faults = [each for each in self.hub.faults if each.times and each.method == self.command]
            fault = next((each for each in faults if re.search(each.path, url.path)), None)
            if fault is not None:
                fault.times -= 1
            reply = self.hub.answer(request) if fault is None or fault.done else Reply(503, {"error": "try again later"})
        if fault is not None and fault.done:
            self.close_connection = True
            return
        self._send(reply)

    def _body(self, headers: dict[str, str]) -> bytes:
        return self.rfile.read(int(headers.get("content-length") or 0))

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _send(self, reply: Reply) -> None:
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815 (named by http.server)

    def do_CONNECT(self) -> None:
        """A client asks its proxy for an HTTPS host."""
        host = self.path.partition(":")[0]
        with self.hub.lock:
            self.hub.requests.append(Request("CONNECT", host, "", "", {k.lower(): v for k, v in self.headers.items()}))
        self._send(Reply(502, {"error": f"{host} is not this Hub"}))
