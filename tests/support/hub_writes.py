"""What the Hub does for who writes: repositories, commits, tags, branches, discussions."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any
from urllib.parse import unquote

from tests.support.hub_ask import API, FILES, Ask, RefusalError, Reply, commit_of, owner_of, repo_of, signed_in
from tests.support.hub_repos import DATE, MAIN, Discussion, Json, Repo, blob_oid


def _validate(ask: Ask) -> Reply:
    """Any card is right that has metadata between its first two lines of dashes."""
    bare = not ask.json["content"].startswith("---")
    return Reply(200, {"errors": [], "warnings": [{"message": "empty or missing yaml metadata in repo card"}] if bare else []})


def _create(ask: Ask) -> Reply:
    wanted, user = ask.json, signed_in(ask)
    space, kind = wanted.get("organization") or user, wanted.get("type", "model")
    if space != user:
        raise RefusalError(403, "", f"You don't have the rights to create a {kind} under the namespace {space}")
    name = f"{space}/{wanted['name']}"
    url = ask.hub.url(kind, name)
    if (kind, name) in ask.hub.repos:
        return Reply(409, {"error": "You already created this repo", "url": url})
    private = wanted.get("visibility") == "private" or bool(wanted.get("private"))
    ask.hub.repos[kind, name] = Repo(kind, name, private, ask.hub.lfs)
    return Reply(200, {"url": url, "id": name, "name": name})


def _delete(ask: Ask) -> Reply:
    wanted, user = ask.json, signed_in(ask)
    repo = repo_of(ask, wanted.get("type", "model"), f"{wanted.get('organization') or user}/{wanted['name']}")
    owner_of(ask, repo)
    del ask.hub.repos[repo.kind, repo.name]
    return Reply(200, {})


def _preupload(ask: Ask, kinds: str, name: str, revision: str) -> Reply:
    signed_in(ask)
    repo = repo_of(ask, kinds, name)
    files = repo.commits[commit_of(repo, revision)].files

    def upload(path: str) -> Json:
        lfs, known = repo.is_lfs(path), files.get(path)
        oid = None if known is None else (hashlib.sha256(known).hexdigest() if lfs else blob_oid(known))
        return {"path": path, "uploadMode": "lfs" if lfs else "regular", "shouldIgnore": False, "oid": oid}

    return Reply(200, {"files": [upload(each["path"]) for each in ask.json["files"]]})


def _lfs_batch(ask: Ask, kinds: str | None, name: str) -> Reply:
    repo_of(ask, kinds, name)
    objects = [{"oid": each["oid"], "size": each["size"]} for each in ask.json["objects"]]
    for each in objects:
        if each["oid"] not in ask.hub.objects:
            each["actions"] = {"upload": {"href": f"{ask.hub.endpoint}/_lfs/{each['oid']}"}}
    return Reply(200, {"transfer": "basic", "objects": objects})


def _lfs_put(ask: Ask, oid: str) -> Reply:
    if hashlib.sha256(ask.body).hexdigest() != oid:
        raise RefusalError(400, "", "the object is not what its name says")
    ask.hub.objects[oid] = ask.body
    return Reply(200, {})


def _commit(ask: Ask, kinds: str, name: str, revision: str) -> Reply:
    repo, user, revision = repo_of(ask, kinds, name), signed_in(ask), unquote(revision)
    ref = revision if revision.startswith("refs/pr/") else f"refs/heads/{revision}"
    theirs = ref.startswith("refs/pr/") and repo.discussions[int(ref.rpartition("/")[2])].author == user
    if not (ask.asked("create_pr") or theirs):
        owner_of(ask, repo)
    parent = commit_of(repo, revision)
    header, files = _changed(ask, repo, parent)
    if header.get("parentCommit") not in (None, parent):
        raise RefusalError(412, "", "A commit has happened since. Please refresh and try again.")
    text = header.get("description", "")
    pull = repo.open_discussion(header["summary"], text, user, "open", True) if ask.asked("create_pr") else None
    sha = repo.commit(parent, files, header["summary"], text, user)
    repo.refs[f"refs/pr/{pull.number}" if pull else ref] = sha
    url = ask.hub.url(repo.kind, name)
    opened = {"pullRequestUrl": f"{url}/discussions/{pull.number}"} if pull else {}
    return Reply(200, {"success": True, "commitOid": sha, "commitUrl": f"{url}/commit/{sha}", "hookOutput": "", **opened})


def _changed(ask: Ask, repo: Repo, parent: str) -> tuple[Json, dict[str, bytes]]:
    """The header of a commit and the files after it."""
    files, header = dict(repo.commits[parent].files), dict[str, Any]()
    for line in ask.body.splitlines():
        entry = json.loads(line)
        key, value = entry["key"], entry["value"]
        if key == "header":
            header = value
        elif key == "file":
            files[value["path"]] = base64.b64decode(value["content"])
        elif key == "lfsFile":
            files[value["path"]] = ask.hub.objects[value["oid"]]
        elif key == "deletedFile" and files.pop(value["path"], None) is None:
            raise RefusalError(404, "EntryNotFound", f"there is no file {value['path']} to delete")
        elif key == "deletedFolder":
            files = {path: content for path, content in files.items() if not path.startswith(value["path"].rstrip("/") + "/")}
    return header, files


def _tag(ask: Ask, kinds: str, name: str, revision: str) -> Reply:
    repo = repo_of(ask, kinds, name)
    owner_of(ask, repo)
    if ask.method == "DELETE":
        repo.tags.pop(unquote(revision), None)
        return Reply(200, {})
    sha, tag = commit_of(repo, revision), ask.json["tag"]
    if tag in repo.tags:
        raise RefusalError(409, "", "Tag reference exists already")
    repo.tags[tag] = sha
    return Reply(200, {})


def _branch(ask: Ask, kinds: str, name: str, branch: str) -> Reply:
    repo, ref = repo_of(ask, kinds, name), f"refs/heads/{unquote(branch)}"
    owner_of(ask, repo)
    if ask.method == "DELETE":
        repo.refs.pop(ref)
    elif ref in repo.refs:
        raise RefusalError(409, "", "Reference already exists")
    else:
        repo.refs[ref] = commit_of(repo, ask.json.get("startingPoint"))
    return Reply(200, {})


def _shown(repo: Repo, each: Discussion, whole: bool = False) -> Json:
    found: Json = {"num": each.number, "title": each.title, "status": each.status, "author": {"name": each.author}}
    found |= {"createdAt": DATE, "isPullRequest": each.is_pull_request, "repo": {"name": repo.name, "type": repo.kind}}
    if whole:
        merged = {"mergeCommitId": each.merged} if each.merged else {}
        changes = {"base": MAIN, **merged} if each.is_pull_request else None
        found |= {"events": each.events, "changes": changes, "filesWithConflicts": [], "diff": ""}
    return found


def _discussions(ask: Ask, kinds: str, name: str) -> Reply:
    repo = repo_of(ask, kinds, name)
    if ask.method == "GET":
        listed = [_shown(repo, each) for each in repo.discussions.values()]
        return Reply(200, {"discussions": listed, "count": len(listed), "start": 0})
    wanted, user = ask.json, signed_in(ask)
    pull = bool(wanted.get("pullRequest"))
    made = repo.open_discussion(wanted["title"], wanted["description"], user, "draft" if pull else "open", pull)
    return Reply(200, {"num": made.number, "pullRequest": pull})


def _discussion(ask: Ask, kinds: str, name: str, number: str, action: str | None = None) -> Reply:
    repo = repo_of(ask, kinds, name)
    found = repo.discussions.get(int(number))
    if found is None:
        raise RefusalError(404, "", "there is no such discussion")
    if ask.method == "GET":
        return Reply(200, _shown(repo, found, whole=True))
    user = signed_in(ask)
    if action == "comment":
        event = found.say(user, "comment", {"edited": False, "hidden": False, "latest": {"raw": ask.json["comment"]}})
        return Reply(200, {"newMessage": event})
    if action == "merge":
        owner_of(ask, repo)
        repo.merge(found.number, user)
    elif user not in (repo.owner, found.author):
        raise RefusalError(403, "", "Only the owner and the author may do that")
    else:
        found.status = ask.json["status"]
    return Reply(200, {"newStatus": found.say(user, "status-change", {"status": found.status})})


ROUTES = (
    (("POST",), r"/api/validate-yaml", _validate),
    (("POST",), r"/api/repos/create", _create),
    (("DELETE",), r"/api/repos/delete", _delete),
    (("POST",), rf"{FILES}\.git/info/lfs/objects/batch", _lfs_batch),
    (("PUT",), r"/_lfs/(\w+)", _lfs_put),
    (("POST",), rf"{API}/preupload/([^/]+)", _preupload),
    (("POST",), rf"{API}/commit/([^/]+)", _commit),
    (("POST", "DELETE"), rf"{API}/tag/([^/]+)", _tag),
    (("POST", "DELETE"), rf"{API}/branch/(.+)", _branch),
    (("GET", "POST"), rf"{API}/discussions", _discussions),
    (("GET", "POST"), rf"{API}/discussions/(\d+)(?:/(comment|status|merge))?", _discussion),
)
