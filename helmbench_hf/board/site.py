"""`helmbench board build`: verified runs as static pages that open from a disk, a static Space or any web server."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import NormalDist, median
from typing import Any

from helmbench_hf import __version__
from helmbench_hf.board.marks import Mark, Marks, above_holdout
from helmbench_hf.board.pages import PACKAGE, write_page
from helmbench_hf.board.results import Entry, Results
from helmbench_hf.hashing import digest
from helmbench_hf.report.page import asset, environment
from helmbench_hf.report.text import deep, visible
from helmbench_hf.runs.folder import write_json
from helmbench_hf.scoring.compare import MUST_AGREE, PairTest, Standing, board
from helmbench_hf.scoring.scores import Estimate, OperatingPoint, Scores

FORMAT = 3
"""Of `table.json`."""
POWER = 0.80
MISSING = -1.0
"""Of a pair that a run did not score, in the ranks: the lowest value, so that nobody gains by a missing answer."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run in its table."""

    id: str
    label: str
    entry: Entry
    scores: Scores
    mark: Mark
    standing: Standing | None
    gate: str
    """On how many criteria its judges may be believed, and on whose word."""
    identity: str
    above: Estimate | None
    """Public minus holdout."""

    @property
    def hidden(self) -> OperatingPoint | None:
        """Sensitivity and false alarms where nobody asks."""
        return next((point for point in self.scores.operating if point.arm == "hidden"), None)


@dataclass(frozen=True, slots=True)
class Table:
    """Runs that may be compared."""

    id: str
    title: str
    rows: Sequence[Row]
    tests: Sequence[PairTest]
    """Every two ranked runs, by label."""
    rule: str
    resolves: str
    """The smallest difference that this design can show, in a sentence."""


def build(results: Results, marks: Marks, out: Path, *, test: bool = False) -> int:
    """Write the tables to the folder `out`, beside the pages of the runs. Gives the number of runs.

    `test`: every page says that it is a test board.
    """
    together: dict[str, list[Entry]] = defaultdict(list)
    for entry in results.entries:
        together[_table_id(entry.scores)].append(entry)
    tables = sorted(
        (_table(name, runs, marks) for name, runs in together.items()), key=lambda each: (-len(each.rows), each.title)
    )
    shown = {"tables": tables, "refused": deep([[place, [asdict(each) for each in why]] for place, why in results.refused])}
    write_page("index.html.j2", out / "index.html", up="", test=test, address=results.address, version=__version__, **shown)
    write_page("compare.html.j2", out / "compare.html", up="", runs=[(row.id, row.label) for each in tables for row in each.rows])
    for name in ("board.css", "board.js"):
        (out / name).write_text(asset(environment(PACKAGE), name), encoding="utf-8")
    found = {"format": FORMAT, "helmbench": __version__, "test_board": test, "source": results.address}
    write_json(out / "table.json", {**found, "tables": [_json(each) for each in tables]})
    return len(results.entries)


def _table_id(scores: Scores) -> str:
    """By everything that `compare` refuses to mix."""
    origin = scores.provenance
    judges = [[judge.id, judge.mode, judge.model_sha256] for judge in origin.judges]
    return digest([scores.format, [getattr(origin, name) for name, _ in MUST_AGREE], judges])[:12]


def _table(name: str, entries: Sequence[Entry], marks: Marks) -> Table:
    counts = Counter(entry.run.manifest.model.id for entry in entries)
    labels = {}
    for entry in entries:
        manifest = entry.run.manifest
        labels[manifest.run_id] = manifest.model.id + (f" ({manifest.run_id})" if counts[manifest.model.id] > 1 else "")
    standings: dict[str, Standing] = {}
    tests: Sequence[PairTest] = ()
    rule = "One run alone has no rank."
    if len(entries) > 1:
        ranked = board([_filled(entry.scores) for entry in entries], [labels[entry.run.manifest.run_id] for entry in entries])
        standings, tests = {each.run: each for each in ranked.standings}, ranked.tests
        rule = f"{ranked.rule} Here, a pair that a run did not score counts as failed."
    rows = [_row(entry, labels, standings, marks, entries) for entry in entries]
    rows.sort(key=lambda row: (row.standing.rank if row.standing and row.standing.rank else len(rows) + 1, row.label.casefold()))
    origin = entries[0].scores.provenance
    judges = ", ".join(judge.id for judge in origin.judges) or "no judge"
    title = f"{origin.design} {origin.benchmark_version}, graded by {judges}"
    title += f", panel {origin.panel}" if len(origin.judges) > 1 else ""
    title += f", {origin.draws} answers a case" if origin.draws > 1 else ""
    return Table(name, visible(title, 300), rows, tests, rule, _resolves(rows, tests))


def _filled(scores: Scores) -> Scores:
    """The scores for a test of ranks."""
    pairs = (replace(pair, value=MISSING) if pair.headline and pair.value is None else pair for pair in scores.pairs)
    return replace(scores, pairs=tuple(pairs))


def _row(
    entry: Entry, labels: Mapping[str, str], standings: Mapping[str, Standing], marks: Marks, others: Sequence[Entry]
) -> Row:
    manifest = entry.run.manifest
    model, mark = manifest.model, marks.of(manifest.run_id)
    claimed = (
        "server's word" if model.served else f"{'commit' if model.commit else 'files'} {(model.commit or model.files_sha)[:8]}"
    )
    checked = mark.level != "rows verified"
    return Row(
        id=manifest.run_id,
        label=labels[manifest.run_id],
        entry=entry,
        scores=entry.scores,
        mark=mark,
        standing=standings.get(labels[manifest.run_id]),
        gate=_gate(entry.scores, {each.labels_sha256 for each in marks.signed}),
        identity=f"{claimed}, {'confirmed by the maintainers' if checked else 'claimed, not verified'}",
        above=_above(entry, mark, marks, others),
    )


def _gate(scores: Scores, signed: set[str]) -> str:
    if not scores.provenance.judges:
        return "no judge: graded by code alone"
    good = sum(row.validated for row in scores.criteria)
    if not good:
        return "not validated"
    vouched = all(claim.labels_sha256 in signed for claim in scores.checks if claim.basis == "human")
    return f"validated on {good} of {len(scores.criteria)} criteria, {'signed' if vouched else 'claimed by the submitter'}"


def _above(entry: Entry, mark: Mark, marks: Marks, others: Sequence[Entry]) -> Estimate | None:
    """How far the public score lies above the one on the private holdout, net of reference models."""
    if mark.holdout is None or mark.holdout.design != entry.run.manifest.dataset.design:
        return None
    references = [
        (other.scores.headline.overall.score, their.holdout.score)
        for other, their in ((other, marks.of(other.run.manifest.run_id)) for other in others if not mark.reference)
        if their.reference and their.holdout and their.holdout.content_sha256 == mark.holdout.content_sha256
    ]
    return above_holdout(entry.scores.headline.overall.score, mark.holdout.score, references)


def _resolves(rows: Sequence[Row], tests: Sequence[PairTest]) -> str:
    """From the tests of every two runs; of a run alone, as if another one's errors were as large and independent."""
    power, two_sided = (NormalDist().inv_cdf(share) for share in (POWER, 0.975))
    what, found = "table", [
        test.high - test.value + power * test.se for test in tests if test.high is not None and test.value is not None and test.se
    ]  # fmt: skip
    if not found:
        errors = [row.scores.headline.overall.score.se for row in rows]
        what, found = "design", [2**0.5 * error * (two_sided + power) for error in errors if error]
    if not found:
        return "This design cannot show any difference between runs: no overall score has a standard error."
    return f"Two runs of this {what} must differ by about {100 * median(found):.0f} points before a test finds it (80% power)."


def _json(table: Table) -> dict[str, Any]:
    origin = table.rows[0].scores.provenance
    judges = [{"id": judge.id, "mode": judge.mode, "model_sha256": judge.model_sha256} for judge in origin.judges]
    versions = {name: getattr(origin, name) for name, _ in MUST_AGREE}
    found = {"id": table.id, "title": table.title, "versions": {**versions, "judges": judges}}
    return {**found, "ranks": table.rule, "resolves": table.resolves, "rows": [_row_json(row) for row in table.rows]}


def _row_json(row: Row) -> dict[str, Any]:
    """Scores are shares of 1, as in `scores.json`. Texts passed `report.text.visible`, and are still untrusted."""
    headline, standing, model = row.scores.headline, row.standing, row.entry.run.manifest.model
    point, holdout = row.hidden, row.mark.holdout
    found: dict[str, Any] = deep({
        "run": row.id,
        "model": row.label,
        "commit": model.commit,
        "files_sha": model.files_sha,
        "identity": row.identity,
        "rank": standing.rank if standing else None,
        "last_place": standing.last if standing else None,
        "unranked": standing.reason if standing else "",
        "printed": headline.printed,
        "overall": asdict(headline.overall.score),
        "coverage": asdict(headline.overall.coverage),
        "breached": list(headline.breached),
        "pillars": {each.code: asdict(each.score) for each in row.scores.pillars},
        "sensitivity": asdict(point.sensitivity) if point else None,
        "false_alarms": asdict(point.false_alarms) if point else None,
        "floors": {floor.slug: floor.status for floor in row.scores.floors},
        "gate": row.gate,
        "holdout": asdict(holdout.score) | {"date": holdout.date, "sha256": holdout.content_sha256} if holdout else None,
        "above_holdout": asdict(row.above) if row.above else None,
        "checked": {"level": row.mark.level, "date": row.mark.checked},
    })  # fmt: skip
    return found
