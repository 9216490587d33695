"""A whole submission read once more, for what the board's tables do not hold: the model's answers and every verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from helmbench_hf.inference.keys import digest
from helmbench_hf.leaderboard import files
from helmbench_hf.leaderboard.data import Entry
from helmbench_hf.leaderboard.recompute import Answers, find_answers
from helmbench_hf.leaderboard.rows import place_of, read_completions
from helmbench_hf.leaderboard.submission import sha_of
from helmbench_hf.leaderboard.verify import Load
from helmbench_hf.records import Case, Verdict
from helmbench_hf.run_folder import RunError

MOST_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Whole:
    """One run, in memory."""

    cases: Sequence[Case]
    answers: Answers
    verdicts: Sequence[Verdict]
    scores: Mapping[str, Any]
    """`scores.json` with every part."""


def read_whole(entry: Entry, load: Load) -> Whole:
    """The submission of a run on the board. RunError where its files are no longer those that were verified."""
    content = files.read_folder(entry.folder)
    if digest({name: sha_of(data) for name, data in content.items()}) != entry.digest:
        raise RunError("the submission changed after it was verified; start the board again")
    manifest = entry.manifest
    cases = load(manifest.dataset.design).cases
    given = read_completions(content[files.COMPLETIONS], files.COMPLETIONS, MOST_ROWS, labels=False)
    return Whole(
        cases=cases,
        answers=find_answers(cases, manifest.key.context(), manifest.chosen(), {row.key: row for row in given}),
        verdicts=list(_verdicts(content[files.VERDICTS])),
        scores=files.parse_json(content[files.SCORES], files.SCORES),
    )


def _verdicts(content: bytes) -> Iterator[Verdict]:
    for row in files.json_lines(content, files.VERDICTS, MOST_ROWS):
        place_of(row, files.VERDICTS)  # refuses a row of another shape
        yield Verdict(**row)
