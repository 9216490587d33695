"""A results repository as what a board shows: verified runs, and every other folder with the reason why it is not shown."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import huggingface_hub

from helmbench_hf.board import files
from helmbench_hf.board.copies import LEAST_SHARE, share_alike, sketch
from helmbench_hf.board.files import RejectedError, quoted
from helmbench_hf.board.manifest import Manifest, folded, read_manifest
from helmbench_hf.board.marks import Marks
from helmbench_hf.board.replay import read_journal
from helmbench_hf.board.verify import Load, Reason, Report, UnreadableError, verify
from helmbench_hf.dataset.publish import asked
from helmbench_hf.runs.folder import RunError
from helmbench_hf.scoring.scores import Scores

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


@dataclass(slots=True)
class Results:
    """What a board is made of."""

    address: str
    """Of the repository at its commit; empty for a folder."""
    entries: list[Entry] = field(default_factory=list)
    refused: list[tuple[str, list[Reason]]] = field(default_factory=list)
    """(place, reasons) of what is not shown."""


def fetch_results(source: str, cache: Path) -> tuple[Path, str]:
    """The results as a folder, and the Hub address where they can be seen, which is empty for a local folder.

    A repository is fetched as of one commit into a folder of that commit's name, so that nothing of another state stays in it.
    Raises RunError for a name that is neither, PublishError where the Hub does not give it.
    """
    if Path(source).is_dir():
        return Path(source), ""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", source):
        raise RunError(f"{source} is neither a folder nor the OWNER/NAME of a results repository on the Hub")
    api = huggingface_hub.HfApi()
    what = f"{source} cannot be read"
    info = asked(lambda: api.repo_info(source, repo_type="dataset"), what)
    target = cache / "results" / str(info.sha)
    fetch = partial(api.snapshot_download, source, repo_type="dataset", revision=info.sha)
    asked(lambda: fetch(local_dir=target, allow_patterns=["submissions/**", "board/marks.json"]), what)
    return target, f"{api.endpoint}/datasets/{source}/tree/{info.sha}"


def submissions(root: Path) -> Iterator[Path]:
    """`submissions/<model>/<run>`; links are left out: they are not submissions of this repository."""
    top = root / "submissions"
    if not top.is_dir():
        raise RunError(f"{root} has no folder `submissions`; give the folder or the repository that `helmbench submit` writes to")
    for model in _inside(top):
        yield from _inside(model)


def _inside(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))


def read_run(folder: Path) -> Run:
    """A submission as it stands, not verified. Raises RejectedError or OSError."""
    content = files.read_folder(folder)
    manifest = read_manifest(files.parse_json(content.get(files.MANIFEST, b""), files.MANIFEST))
    rows = read_journal(content.get(files.COMPLETIONS, b""), files.COMPLETIONS, MOST_ROWS, judge=False)
    return Run("/".join(folder.parts[-3:]), manifest, sketch({row.request: row for row in rows}))


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
    run = read_run(folder)
    for other in submissions(root):
        with suppress(RejectedError, OSError):  # such a folder is no run that a board shows
            if other.name != run.manifest.run_id and (found := resembles(run, read_run(other))):
                report.add(found.code, found.said)


def collect(
    root: Path,
    marks: Marks,
    load: Load,
    write_pages: Callable[[Report], None],
    said: Callable[[str], None],
    *,
    test: bool = False,
) -> Results:
    """Verify every submission; write the pages of each that is shown.

    What maintainers ran again stands, then what came first; what is nearly the same waits for a person. `test`: runs of the
    design smoke are shown too. Raises DatasetError where the cases cannot be loaded.
    """
    results, runs = Results(""), list[tuple[tuple[bool, str, str], Path, Run]]()
    for folder in submissions(root):
        try:
            run = read_run(folder)
            runs.append((_precedence(run, marks), folder, run))
        except RejectedError as error:
            results.refused.append(("/".join(folder.parts[-3:]), [Reason(error.code, error.said)]))
        except OSError as error:
            results.refused.append(("/".join(folder.parts[-3:]), [Reason("board.unreadable", str(error))]))
    for _, folder, run in sorted(runs, key=lambda each: each[0]):
        report = _verified(folder, run, marks, load, test=test)
        others = [shown.run for shown in results.entries if not _side_by_side(run, shown.run, marks)]
        if report.accepted:
            for other in others:
                if reason := resembles(run, other):
                    report.add(reason.code, reason.said)
        if report.accepted and report.scores is not None:
            write_pages(report)
            results.entries.append(Entry(run, report.scores))
        else:
            results.refused.append((run.place, report.reasons))
        said(f"{quoted(run.place)}: {'verified' if report.accepted else 'not shown'}")
    return results


def _verified(folder: Path, run: Run, marks: Marks, load: Load, *, test: bool) -> Report:
    """What verification finds, unless the board does not show such a run."""
    design, mark = run.manifest.dataset.design, marks.of(run.manifest.run_id)
    designs = (*SHOWN_DESIGNS, "smoke") if test else SHOWN_DESIGNS
    if design not in designs:
        return Report({"board.design": [f"a run of the design {design}; this board shows {' and '.join(designs)}"]})
    if mark.withdrawn:
        return Report({"board.withdrawn": [mark.withdrawn]})
    try:
        return verify(folder, load)
    except (OSError, UnreadableError) as error:
        return Report({"board.unreadable": [str(error)]})


def _side_by_side(run: Run, other: Run, marks: Marks) -> bool:
    """Whether maintainers looked at both and let them stand beside each other."""
    one, two = run.manifest.run_id, other.manifest.run_id
    return two in marks.of(one).beside or one in marks.of(two).beside


def _precedence(run: Run, marks: Marks) -> tuple[bool, str, str]:
    return marks.of(run.manifest.run_id).level == "rows verified", run.manifest.started, run.manifest.run_id
