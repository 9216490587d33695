"""A run's own report, with transcripts, as a page of the board: made when somebody first asks for it, then kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

from helmbench_hf import __version__
from helmbench_hf.content.load import default_benchmark
from helmbench_hf.inference.keys import digest
from helmbench_hf.leaderboard.data import Entry
from helmbench_hf.leaderboard.query import Query
from helmbench_hf.leaderboard.transcripts import Index, write_index
from helmbench_hf.leaderboard.verify import Load
from helmbench_hf.leaderboard.whole import read_whole
from helmbench_hf.report.assemble import shown, transcripts
from helmbench_hf.report.html import write_report
from helmbench_hf.report.model import Policy, ReportInput

FOLDER = "reports"
INDEXES = "transcripts"
FORMAT = 2
"""Of what is kept; raised whenever the same submission gives another page or index."""


class Reports:
    """Pages and transcripts of runs, made one at a time: that holds a whole run in memory."""

    def __init__(self, cache: Path, load: Load) -> None:
        """`cache`: where pages and transcripts are kept; `load`: the cases of a design."""
        self._cache = cache
        self._load = load
        self._lock = Lock()

    def page(self, entry: Entry, policies: Sequence[Policy]) -> str:
        """The report as HTML. RunError where the submission is no longer what was verified."""
        path = self._cache / FOLDER / f"{_name(entry)}.html"
        with self._lock:
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                write_report(_input(entry, policies, self._load), path)
            return path.read_text(encoding="utf-8")

    def index(self, entry: Entry) -> Index:
        """The run's transcripts. RunError where the submission is no longer what was verified."""
        path = self._cache / INDEXES / f"{_name(entry)}.sqlite"
        with self._lock:
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                whole, benchmark = read_whole(entry, self._load), default_benchmark()
                draws = range(entry.manifest.chosen().draws)
                rows = (
                    row
                    for draw in draws
                    for row in transcripts(whole.cases, whole.answers.by_name, whole.verdicts, benchmark, draw)
                )
                write_index(path, rows, {case.code: case.twin for case in whole.cases if case.twin})
        return Index(path)


def _name(entry: Entry) -> str:
    return digest([entry.digest, __version__, FORMAT])


def _input(entry: Entry, policies: Sequence[Policy], load: Load) -> ReportInput:
    whole, manifest = read_whole(entry, load), entry.manifest
    described = manifest.model_dump(exclude={"missing", "files", "key"})
    cases = shown(whole.cases, whole.scores["pairs"])
    return ReportInput(
        scores=whole.scores,
        manifest={**described, "submission": {"place": manifest.place, "run": manifest.run_id}},
        transcripts=transcripts(cases, whole.answers.by_name, whole.verdicts, default_benchmark()),
        cases=len(whole.cases),
        policies=policies,
        board=Query(view="model", models=(entry.run,)).address(),
    )


Pages = Callable[[Entry, Sequence[Policy]], str]
Indexes = Callable[[Entry], Index]
