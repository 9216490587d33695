"""A results repository as what a board shows: verified runs, and every other folder with the reason why it is not shown."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmbench_hf import __version__
from helmbench_hf.board import files
from helmbench_hf.board.copies import LEAST_SHARE, share_alike, sketch
from helmbench_hf.board.files import RejectedError, quoted
from helmbench_hf.board.manifest import Manifest, folded, read_manifest
from helmbench_hf.board.marks import Marks
from helmbench_hf.board.replay import read_journal
from helmbench_hf.board.verify import Load, Reason, Report, UnreadableError, sha_of, verify
from helmbench_hf.dataset.publish import asked
from helmbench_hf.hashing import digest
from helmbench_hf.runs.folder import RunError, write_json
from helmbench_hf.scoring.scores import Scores, from_json, to_json

if TYPE_CHECKING:
    from huggingface_hub import HfApi

CACHE_FORMAT = 3
"""Raised whenever the same submission gives another result or other pages."""
MOST_ROWS = 2_000_000
SHOWN_DESIGNS = ("core", "full")


@dataclass(frozen=True, slots=True)
class Run:
    """A submission by what it says of itself, for comparison with others."""

    place: str
    manifest: Manifest
    replies: dict[str, list[int]]
    """`copies.sketch` of its answers."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A verified run, as its rows give it."""

    run: Run
    scores: Scores
    notes: tuple[str, ...]
    pages: Path
    """Its pages, to be copied into a site."""


@dataclass(slots=True)
class Results:
    """What a board is made of."""

    address: str
    """Of the repository at its commit; empty for a folder."""
    entries: list[Entry] = field(default_factory=list)
    refused: list[tuple[str, list[Reason]]] = field(default_factory=list)
    """(place, reasons) of what is not shown."""


def fetch_results(source: str, revision: str | None, cache: Path, api: HfApi | None = None) -> tuple[Path, str]:
    """The results as a folder, and the Hub address where they can be seen, which is empty for a local folder.

    A repository is fetched as of one commit into a folder of that commit's name, so that nothing of another state stays in it.
    Raises RunError for a name that is neither, PublishError where the Hub does not give it.
    """
    if Path(source).is_dir():
        return Path(source), ""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", source):
        raise RunError(f"{source} is not a folder, and not OWNER/NAME of a results repository on the Hub")
    from huggingface_hub import HfApi

    api = HfApi() if api is None else api
    what = f"{source} cannot be read"
    info = asked(lambda: api.repo_info(source, repo_type="dataset", revision=revision), what)
    target = cache / "results" / str(info.sha)
    fetch = partial(api.snapshot_download, source, repo_type="dataset", revision=info.sha)
    asked(lambda: fetch(local_dir=target, allow_patterns=["submissions/**", "board/marks.json"]), what)
    return target, f"{api.endpoint}/datasets/{source}/tree/{info.sha}"


def submissions(root: Path) -> Iterator[Path]:
    """`submissions/<model>/<run>`; links are left out: they are not submissions of this repository."""
    top = root / "submissions"
    if not top.is_dir():
        raise RunError(f"{root} holds no folder `submissions`; give the folder or the repository that `helmbench submit` fills")
    for model in _inside(top):
        yield from _inside(model)


def _inside(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))


def read_run(folder: Path) -> tuple[Run, str]:
    """A submission as it stands, not verified, and a hash of its files. Raises RejectedError or OSError."""
    content = files.read_folder(folder)
    manifest = read_manifest(files.parse_json(content.get(files.MANIFEST, b""), files.MANIFEST))
    rows = read_journal(content.get(files.COMPLETIONS, b""), files.COMPLETIONS, MOST_ROWS, judge=False)
    run = Run("/".join(folder.parts[-3:]), manifest, sketch({row.request: row for row in rows}))
    return run, digest({name: sha_of(data) for name, data in content.items()})


def resembles(run: Run, other: Run) -> Reason | None:
    """Why a person must look at a run beside another one: the same name to the eye, or nearly the same replies."""
    mine, theirs = run.manifest.model, other.manifest.model
    if (mine.id, mine.weights) == (theirs.id, theirs.weights):
        return None
    named = f"{theirs.id}, run {other.manifest.run_id}"
    if mine.id != theirs.id and folded(mine.id) == folded(theirs.id):
        return Reason("model.confusable", f"the model's name {quoted(mine.id)} looks like that of {named}")
    share = share_alike(run.replies, other.replies)
    if share < LEAST_SHARE:
        return None
    return Reason(
        "copy.replies", f"{share:.0%} of its replies are nearly those of {named}, a model of another name or other weights"
    )


def check_others(report: Report, folder: Path, root: Path) -> None:
    """Add to a report what `resembles` finds among the other submissions of a results folder."""
    run, _ = read_run(folder)
    for other in submissions(root):
        if other.name != run.manifest.run_id:
            try:
                found = resembles(run, read_run(other)[0])
            except (RejectedError, OSError):
                continue  # not a run that a board shows
            if found is not None:
                report.add(found.code, found.said)


def collect(
    root: Path,
    marks: Marks,
    load: Load,
    cache: Path,
    write_pages: Callable[[Report, Path], None],
    said: Callable[[str], None],
    *,
    test: bool = False,
) -> Results:
    """Verify every submission, or take the result that was kept for the very same bytes, version and cases.

    `test`: runs of the design smoke are shown too. Raises DatasetError where the cases cannot be loaded.
    """
    results, found = Results(""), list[Entry]()
    designs = (*SHOWN_DESIGNS, "smoke") if test else SHOWN_DESIGNS
    for folder in submissions(root):
        place = "/".join(folder.parts[-3:])
        try:
            run, name = read_run(folder)
            design, mark = run.manifest.dataset.design, marks.of(run.manifest.run_id)
            if design not in designs:
                raise RejectedError("board.design", f"a run of the design {design}; this board shows {' and '.join(designs)}")
            if mark.withdrawn:
                raise RejectedError("board.withdrawn", mark.withdrawn)
            key = digest([name, place, __version__, CACHE_FORMAT, load(design).identity.content_sha256])
            reasons = _verified(folder, run, cache / "verified" / key, load, write_pages, found)
        except RejectedError as error:
            reasons = [Reason(error.code, error.said)]
        except (OSError, UnreadableError) as error:
            reasons = [Reason("board.unreadable", str(error))]
        if reasons:
            results.refused.append((place, reasons))
        said(f"{quoted(place)}: {'not shown' if reasons else 'verified'}")
    # what maintainers ran again stands, then what came first; what is nearly the same waits for a person
    for entry in sorted(found, key=lambda each: _precedence(each, marks)):
        others = [shown.run for shown in results.entries if not _side_by_side(entry.run, shown.run, marks)]
        if alike := [reason for other in others if (reason := resembles(entry.run, other))]:
            results.refused.append((entry.run.place, alike))
        else:
            results.entries.append(entry)
    return results


def _side_by_side(run: Run, other: Run, marks: Marks) -> bool:
    """Whether maintainers looked at both and let them stand beside each other."""
    one, two = run.manifest.run_id, other.manifest.run_id
    return two in marks.of(one).beside or one in marks.of(two).beside


def _precedence(entry: Entry, marks: Marks) -> tuple[bool, str, str]:
    manifest = entry.run.manifest
    return marks.of(manifest.run_id).level == "rows verified", manifest.started, manifest.run_id


def _verified(
    folder: Path, run: Run, kept: Path, load: Load, write_pages: Callable[[Report, Path], None], found: list[Entry]
) -> list[Reason]:
    """Add the run to `found`, or give the reasons against it. What it comes to is kept in the folder `kept`."""
    path = kept / "result.json"
    if not path.exists():
        report = verify(folder, load)
        shutil.rmtree(kept, ignore_errors=True)
        if report.accepted:
            write_pages(report, kept / "pages")
        scores = to_json(report.scores) if report.scores and report.accepted else None
        kept.mkdir(parents=True, exist_ok=True)
        write_json(path, {"reasons": [asdict(each) for each in report.reasons], "notes": report.notes, "scores": scores})
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if stored["scores"] is None:
        return [Reason(**each) for each in stored["reasons"]]
    found.append(Entry(run, from_json(stored["scores"]), tuple(stored["notes"]), kept / "pages"))
    return []
