"""A submission as a pull request on the results repository: opened by who submits, fetched by who keeps the board."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import huggingface_hub
from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.hf_api import RepoFile

from helmbench_hf.board import files
from helmbench_hf.board.files import RejectedError, quoted
from helmbench_hf.board.submission import Submission
from helmbench_hf.dataset.publish import asked, insist
from helmbench_hf.runs.folder import RunError

PLACE = r"(submissions/[a-z0-9._-]{1,120}/[0-9a-f]{16})/([A-Za-z0-9._/-]+)"


def open_pull_request(api: HfApi, repo: str, submission: Submission) -> str:
    """Open one pull request that adds the submission; raises RunError where it is there already, and as `propose`."""
    manifest = submission.manifest
    place, judges = manifest.place, ", ".join(f"{judge.id} ({judge.mode})" for judge in submission.judges) or "none"
    check_token(api)
    if asked(lambda: api.get_paths_info(repo, [f"{place}/{files.MANIFEST}"], repo_type="dataset"), f"{repo} cannot be read"):
        raise RunError(f"{repo} already contains this run, at {place}")
    said = f"Design {manifest.dataset.design} v{manifest.dataset.version}; judges: {judges}. `helmbench verify` checks it."
    added = {f"{place}/{name}": content for name, content in submission.content.items()}
    return propose(api, repo, "dataset", f"Submission of {manifest.model.id}, run {manifest.run_id}", said, added)


def check_token(api: HfApi) -> None:
    """Raises RunError where nobody is signed in."""
    if not (api.token or (api.token is None and huggingface_hub.get_token())):
        raise RunError(
            "there is no token: set HF_TOKEN, or sign in with `hf auth login`; it needs permission to open pull requests"
        )


def propose(api: HfApi, repo: str, kind: str, title: str, said: str, added: Mapping[str, bytes]) -> str:
    """Open one pull request that adds files, and give its address; an open one of that title is given instead.

    The Hub's client does not repeat a commit whose reply was lost. Here it is repeated, after a look whether it arrived.
    Raises RunError where there is no token, PublishError where the Hub refuses.
    """
    check_token(api)
    adds = [CommitOperationAdd(path, content) for path, content in added.items()]

    def send() -> str:
        made = api.create_commit(repo, adds, commit_message=title, commit_description=said, repo_type=kind, create_pr=True)
        return str(made.pr_url)

    def arrived() -> str | None:
        pulls = api.get_repo_discussions(repo, repo_type=kind, discussion_type="pull_request", discussion_status="open")
        return next((str(each.url) for each in pulls if each.title == title), None)

    if (open_already := asked(arrived, f"the pull requests of {repo} cannot be read", kind)) is not None:
        return open_already
    return insist(send, arrived, f"the pull request on {repo}", api)


def fetch(api: HfApi, repo: str, number: int, scratch: Path) -> Path:
    """The submission that a pull request adds, in a folder under `scratch`.

    Raises RejectedError where it does anything else than to add one submission, before a byte of it is fetched, PublishError
    where the Hub cannot be read, and RunError where there is no such open pull request.
    """
    what = f"pull request {number} of {repo} cannot be read"
    head, added = asked(lambda: _changes(api, repo, number), what)
    place = _only_place(added)
    for path in added:
        fetched = partial(api.hf_hub_download, repo, path, repo_type="dataset", revision=head, cache_dir=scratch / "cache")
        source = asked(fetched, what)
        target = scratch / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(Path(source).read_bytes())
    return scratch / place


def _changes(api: HfApi, repo: str, number: int) -> tuple[str, dict[str, int]]:
    """Head of the pull request, and sizes of the files that it adds by path. RejectedError for a changed or deleted file.

    What it changes is counted from the commit at which it left the main branch.
    """

    def tree(revision: str) -> dict[str, Any]:
        listed = api.list_repo_tree(repo, repo_type="dataset", revision=revision, recursive=True)
        return {each.path: each for each in listed if isinstance(each, RepoFile)}

    details = api.get_discussion_details(repo, number, repo_type="dataset")
    if not details.is_pull_request or details.status not in ("open", "draft"):
        raise RunError(f"{number} is not an open pull request in {repo}")
    theirs = [each.commit_id for each in api.list_repo_commits(repo, repo_type="dataset", revision=f"refs/pr/{number}")]
    ours = {each.commit_id for each in api.list_repo_commits(repo, repo_type="dataset")}
    base = next((commit for commit in theirs if commit in ours), None)
    if base is None:
        raise RejectedError("pull-request.base", "the pull request has no commit in common with the main branch")
    before, after = tree(base), tree(theirs[0])
    touched = [path for path in before if path not in after or before[path].blob_id != after[path].blob_id]
    if touched:
        raise RejectedError("pull-request.changes", f"it changes or deletes {quoted(touched[0])}; a submission only adds files")
    return theirs[0], {path: after[path].size for path in after if path not in before}


def _only_place(added: Mapping[str, int]) -> str:
    """The one folder in which everything lies that was added."""
    found = {path: re.fullmatch(PLACE, path) for path in added}
    odd = [path for path, match in found.items() if match is None or not files.limit_of(match[2])]
    if odd:
        raise RejectedError("pull-request.changes", f"it adds {quoted(odd[0])}, which is not a file of a submission")
    places = {match[1] for match in found.values() if match}
    if len(places) != 1:
        raise RejectedError("pull-request.changes", f"it adds {len(places)} submissions; one pull request adds one")
    if len(added) > files.MOST_FILES:
        raise RejectedError("files.many", f"the submission holds more than {files.MOST_FILES} files")
    for path, match in found.items():
        if match and added[path] > files.limit_of(match[2]):
            raise RejectedError("files.size", f"{quoted(path)} is larger than its kind may be")
    return places.pop()


def comment(api: HfApi, repo: str, number: int, text: str) -> None:
    """Put the result under the pull request, as text that is not rendered."""
    asked(lambda: api.comment_discussion(repo, number, f"```\n{text}\n```", repo_type="dataset"), f"{repo} takes no comment")
