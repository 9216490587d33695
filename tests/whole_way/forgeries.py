"""Forged copies of an accepted submission, one of each kind, by somebody who makes every hash right again.

`tests/board` holds the other forgeries; here each goes the way of a pull request.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helmbench_hf.board import files
from helmbench_hf.hashing import text_sha
from tests.board.made import edit_json, edit_rows, put, sign
from tests.support.hub import OTHER
from tests.whole_way.way import RESULTS, Way

FAKE = text_sha("another")


@dataclass(frozen=True, slots=True)
class Forgery:
    """One kind of forgery, and the reason that it must be rejected for."""

    what: str
    code: str
    make: Callable[[Path], Path]
    """Forges the copy in a folder `submissions/MODEL/RUN` and gives its folder, which may be another."""
    beside: tuple[str, ...] = ()
    """Files outside of the submission that the pull request touches as well."""


def signed(name: str, value: object) -> Callable[[Path], Path]:
    """Set a field of the manifest and sign."""
    return lambda folder: sign(folder, put(name, value))


def rows(name: str, edit: Callable[[list[Any]], object]) -> Callable[[Path], Path]:
    """Edit the rows of a file and sign."""
    return lambda folder: edit_rows(folder, name, edit)


def higher_score(folder: Path) -> Path:
    return edit_json(folder, files.SCORES, lambda scores: scores["headline"].update(printed=99.0))


def failing_verdict_passes(verdicts: list[Any]) -> None:
    next(row for row in verdicts if row["value"] == 0).update(value=1.0)


def large_manifest(folder: Path) -> Path:
    folder = signed("started", "2026-01-01T00:00:00Z")(folder)
    (folder / files.MANIFEST).write_text((folder / files.MANIFEST).read_text() + " " * files.limit_of(files.MANIFEST))
    return folder


FORGERIES = (
    Forgery("leave an answer out", "rows.missing", rows(files.COMPLETIONS, lambda answers: answers.pop())),
    Forgery("a failed verdict passes", "verdict.edited", rows(files.VERDICTS, failing_verdict_passes)),
    Forgery("a higher headline", "scores.edited", higher_score),
    Forgery("another dataset version", "dataset.version", signed("dataset.version", "9.9.9")),
    Forgery("another model's weights", "model.identity", signed("model.files_sha", FAKE)),
    Forgery("the repository's page beside it", "pull-request.changes", signed("started", "2026-01-01T00:00:00Z"), ("README.md",)),
    Forgery("a manifest of more than 1 MiB", "files.size", large_manifest),
)


def forge(way: Way) -> None:
    """Each forgery as a pull request of the submitter, verified by the maintainer; what was said."""
    from huggingface_hub import CommitOperationAdd

    with way.step(f"{OTHER}: helmbench submit run --export original"):
        way.type(OTHER, "helmbench", "submit", "run", "--export", "original", "--name", "Alice Example")
    [original] = (way.home(OTHER) / "original" / "submissions").glob("*/*")
    with way.step(f"{OTHER} opens {len(FORGERIES)} pull requests with forged copies; helmbench verify rejects each"):
        for number, forgery in enumerate(FORGERIES):
            top = way.root / "forged" / str(number)
            folder = forgery.make(Path(shutil.copytree(original, top / "submissions" / original.parent.name / original.name)))
            content = {str(path.relative_to(top)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
            content |= dict.fromkeys(forgery.beside, b"---\nlicense: cc-by-4.0\n---\nmine\n")
            adds = [CommitOperationAdd(path, data) for path, data in content.items()]
            made = way.hub.api(OTHER).create_commit(
                RESULTS, adds, commit_message=forgery.what, repo_type="dataset", create_pr=True
            )
            codes = [each["code"] for each in json.loads(way.verify(int(made.pr_num), "--json", ends=1))["reasons"]]
            print(f"             {forgery.what:40} {', '.join(codes)}", flush=True)
            assert forgery.code in codes, f"{forgery.what}: rejected for another reason"
