"""Where a release comes from: a commit of git that holds the authored files and the code exactly as they were built."""

from __future__ import annotations

import subprocess
from pathlib import Path

SHOWN = 5
"""Changed files that a refusal names."""


class SourceError(Exception):
    """The files that a release is built from are not what a commit holds. The message is a sentence."""


def build_inputs(content: Path) -> list[Path]:
    """What the bytes of a dataset depend on: the authored files, and the code and texts of this checkout."""
    checkout = Path(__file__).resolve().parents[2]
    names = ("helmbench_hf", "build_dataset.py", "dataset_card.md", "CHANGELOG.md", "LICENSE-CONTENT")
    return [content, *(path for name in names if (path := checkout / name).exists())]


def clean_commit(paths: list[Path]) -> str:
    """The commit that holds the first of `paths`, once every one of them is as its own checkout committed it.

    Raises SourceError where one lies in no git checkout, or has changes or new files that no commit holds, ignored ones too.
    """
    commits = []
    for path in paths:
        folder = path if path.is_dir() else path.parent
        commits.append(_git(folder, "rev-parse", "HEAD").strip())
        listed = _git(folder, "status", "--porcelain", "--ignored", "--untracked-files=all", "--", str(path.resolve()))
        changed = [line[3:] for line in listed.splitlines() if "__pycache__" not in line]
        if changed:
            more = f" and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
            raise SourceError(
                f"{path} is not as git has it ({', '.join(changed[:SHOWN])}{more}); commit or remove that, then publish"
            )
    return commits[0]


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise SourceError(f"git cannot be run ({error.strerror}); a release is built from a git checkout") from error
    if done.returncode:
        raise SourceError(f"{folder} is in no git checkout with a commit; a release is built from one")
    return done.stdout
