"""Checks of judges that the scores cite: only their rows travel along, and what they show is computed from these rows.

A check on gold is compared with the labels that this helmbench ships, a check on human labels against the label file that came
with it. Nobody can see from here who the raters were: a human check is "claimed by the submitter" until the maintainers sign
the hash of its labels (`marks.py`).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from helmbench_hf.board.files import CHECKS, JUDGE, JUDGMENTS, SEGMENT, RejectedError, json_lines, parse_json
from helmbench_hf.board.manifest import Judge, Sha, Strict, picked, read, read_judge
from helmbench_hf.board.replay import read_journal, segment
from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.identity import calibration
from helmbench_hf.judging import rubric
from helmbench_hf.judging.check import read_labels
from helmbench_hf.judging.claims import cite, document, read_check
from helmbench_hf.judging.judge import JudgeError
from helmbench_hf.judging.labels import Labels, find_labels, rows_of
from helmbench_hf.runs.folder import RunError, RunFolder
from helmbench_hf.runs.journal import Journal

MOST_ROWS = 60_000
"""Answers of a judge in a check: the shipped labels, each in two letter orders and two forms, take a tenth of it."""
LABELS, REPLIES = "labels.jsonl", "replies.jsonl"
Line = Annotated[str, StringConstraints(max_length=200)]


class Rating(Strict):
    """One line of `labels.jsonl`."""

    rater: Line
    reply_code: Line
    criterion: Line
    verdict: Line


class Reply(Strict):
    """One line of `replies.jsonl`, as `helmbench rate` writes it."""

    code: Line
    case: Line
    case_sha: Sha
    turn: Annotated[int, Field(ge=1, le=100)]
    reply: str
    earlier: Annotated[list[str], Field(max_length=100)]
    model: Line
    criteria: Annotated[list[Line], Field(max_length=200)]


def check_files(
    folders: Sequence[Path], labels: Path | None, rows: Sequence[Mapping[str, Any]], benchmark: Benchmark
) -> dict[str, bytes]:
    """The files that go along for these checks. `labels`: the file of human labels; `rows`: the judges of the run.

    Raises RunError for a check that speaks for no judge of the run, or a human one without its labels.
    """
    content: dict[str, bytes] = {}
    carried = calibration(benchmark) if folders else None
    for folder in folders:
        name, found, inside = folder.resolve().name, read_check(folder), RunFolder(folder)
        here = f"{CHECKS}/{name}"
        if any(path.startswith(f"{here}/") for path in content):
            raise RunError(f"two checks have the same folder name, {name}; scores cite a check by that name, so rename one")
        if refused := cite({name: found}, rows, carried).refused:
            raise RunError(f"{refused[0]} Leave it out.")
        if found["labels"]["basis"] == "human":
            content |= {f"{here}/{file}": data for file, data in _label_files(name, labels).items()}
        [row] = inside.judges()
        stored = Journal.read(inside.judgments / row["id"]).everything()
        content[f"{here}/{JUDGMENTS}/{row['id']}/{JUDGE}"] = json.dumps(picked(Judge, row)).encode()
        content[f"{here}/{JUDGMENTS}/{row['id']}/{SEGMENT}"] = segment(stored)
    return content


def _label_files(name: str, labels: Path | None) -> dict[str, bytes]:
    """The raters' verdicts with numbers for their names, and the replies beside them."""
    if labels is None:
        raise RunError(
            f"the check {name} is based on human labels; give their file with --labels. It is sent too, without names."
        )
    rows = [row for _, row in rows_of(labels, tuple(Rating.model_fields))]
    numbers = {rater: f"rater-{number}" for number, rater in enumerate(sorted({row["rater"] for row in rows}), start=1)}
    found = {LABELS: "".join(f"{json.dumps({**row, 'rater': numbers[row['rater']]})}\n" for row in rows).encode()}
    beside = labels.with_name(REPLIES)
    return {**found, REPLIES: beside.read_bytes()} if beside.exists() else found


def recheck(content: Mapping[str, bytes], name: str, benchmark: Benchmark) -> dict[str, Any]:
    """The check of that name as its rows give it, in the form that `judging.claims.cite` reads. Raises `RejectedError`."""
    here = f"{CHECKS}/{name}"
    files = {path.removeprefix(f"{here}/"): data for path, data in content.items() if path.startswith(f"{here}/")}
    judges = [path for path in files if path.endswith(f"/{JUDGE}")]
    rows = judges[0].replace(JUDGE, SEGMENT) if judges else ""
    if len(judges) != 1 or set(files) - {LABELS, REPLIES} != {judges[0], rows} or (REPLIES in files and LABELS not in files):
        raise RejectedError(
            "check.rows", f"{here} lacks its judge, its judge's answers, or the labels that its replies belong to"
        )
    judge = read_judge(parse_json(files[judges[0]], here), f"{here}/{judges[0]}")
    said = read_journal(files[rows], f"{here}/{rows}", MOST_ROWS, judge=True)
    asked = {steps[-2] for each in said if len(steps := each.request.split("/")) > 2} & set(benchmark.criteria)
    if not asked or judges[0] != f"{JUDGMENTS}/{judge.id}/{JUDGE}" or judge.rubric.model_dump() != rubric.identity(benchmark):
        raise RejectedError("check.rows", f"{here} holds no answer under a criterion, or those of another judge or judge prompt")
    labels = _labels(files, here, sorted(asked), benchmark)
    found, _ = read_labels(judge.row(), {each.key: each for each in reversed(said)}, labels, benchmark)
    plain: dict[str, Any] = json.loads(json.dumps(document(found, labels, benchmark, judge.row())))
    return plain


def _labels(files: Mapping[str, bytes], here: str, criteria: Sequence[str], benchmark: Benchmark) -> Labels:
    """Ours, or where files of labels came along, what these say."""
    with tempfile.TemporaryDirectory(prefix="helmbench-") as scratch:
        for file, shape in ((LABELS, Rating), (REPLIES, Reply)):
            for where, line in json_lines(files.get(file, b""), f"{here}/{file}", MOST_ROWS):
                read(shape, parse_json(line, where), where, "check.labels")
            if file in files:
                (Path(scratch) / file).write_bytes(files[file])
        try:
            found = find_labels(benchmark, criteria, Path(scratch) / LABELS if LABELS in files else None)
        except JudgeError as error:
            raise RejectedError("check.labels", ascii(str(error).replace(scratch, here))[1:-1]) from error
    if not found.probes:
        raise RejectedError("check.labels", f"{here}: no label has the agreement of two raters")
    return found
