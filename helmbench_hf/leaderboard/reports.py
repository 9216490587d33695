"""A run's own report, with transcripts, as a page of the board: made when somebody first asks for it, then kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock

from helmbench_hf import __version__
from helmbench_hf.content.load import default_benchmark
from helmbench_hf.inference.keys import digest
from helmbench_hf.leaderboard import files
from helmbench_hf.leaderboard.data import Entry
from helmbench_hf.leaderboard.recompute import find_answers
from helmbench_hf.leaderboard.rows import place_of, read_completions
from helmbench_hf.leaderboard.submission import sha_of
from helmbench_hf.leaderboard.verify import Load
from helmbench_hf.records import Verdict
from helmbench_hf.report.assemble import shown, transcripts
from helmbench_hf.report.html import write_report
from helmbench_hf.report.model import Policy, ReportInput
from helmbench_hf.run_folder import RunError

FOLDER = "reports"
MOST_ROWS = 1_000_000


class Reports:
    """The pages of runs, one at a time: making one holds a whole run in memory."""

    def __init__(self, cache: Path, load: Load) -> None:
        """`cache`: where pages are kept; `load`: the cases of a design."""
        self._cache = cache / FOLDER
        self._load = load
        self._lock = Lock()

    def page(self, entry: Entry, policies: Sequence[Policy]) -> str:
        """The report as HTML. RunError where the submission is no longer what was verified."""
        path = self._cache / f"{digest([entry.digest, __version__])}.html"
        with self._lock:
            if not path.exists():
                self._cache.mkdir(parents=True, exist_ok=True)
                write_report(_input(entry, policies, self._load), path)
            return path.read_text(encoding="utf-8")


def _input(entry: Entry, policies: Sequence[Policy], load: Load) -> ReportInput:
    content = files.read_folder(entry.folder)
    if digest({name: sha_of(data) for name, data in content.items()}) != entry.digest:
        raise RunError("the submission changed after it was verified; start the board again")
    manifest, benchmark = entry.manifest, default_benchmark()
    cases = load(manifest.dataset.design).cases
    given = read_completions(content[files.COMPLETIONS], files.COMPLETIONS, MOST_ROWS, labels=False)
    answers = find_answers(cases, manifest.key.context(), manifest.chosen(), {row.key: row for row in given})
    verdicts = list(_verdicts(content[files.VERDICTS]))
    scores = files.parse_json(content[files.SCORES], files.SCORES)
    described = manifest.model_dump(exclude={"missing", "files", "key"})
    return ReportInput(
        scores=scores,
        manifest={**described, "submission": {"place": manifest.place, "run": manifest.run_id}},
        transcripts=transcripts(shown(cases, scores["pairs"]), answers.by_name, verdicts, benchmark),
        cases=len(cases),
        policies=policies,
    )


def _verdicts(content: bytes) -> Iterator[Verdict]:
    for row in files.json_lines(content, files.VERDICTS, MOST_ROWS):
        place_of(row, files.VERDICTS)  # refuses a row of another shape
        yield Verdict(**row)


Pages = Callable[[Entry, Sequence[Policy]], str]
