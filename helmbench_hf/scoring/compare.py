"""Two runs on the same cells: paired differences with their intervals, or a sentence why there are none.

Works on `scores.json` as it was read from disk, so that runs of other machines can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from helmbench_hf.scoring import differences, intervals
from helmbench_hf.scoring.comparisons import holm, untested
from helmbench_hf.scoring.differences import Cells, Pieces, Run
from helmbench_hf.scoring.result import FORMAT, Estimate
from helmbench_hf.scoring.verdicts import ScoringError

MUST_AGREE = (
    ("benchmark_version", "dataset versions"),
    ("dataset_sha256", "authored datasets under one version (SHA-256: helplines, weights, scenarios)"),
    ("content_sha256", "contents (SHA-256)"),
    ("criteria_version", "versions of the criteria"),
    ("criteria_sha256", "criteria under one version (SHA-256)"),
    ("scoring_version", "scoring versions"),
    ("scoring_sha256", "numbers in scoring.yaml under one version (SHA-256)"),
    ("numbers_sha256", "arithmetic of scoring under one version (SHA-256 of the golden numbers)"),
    ("rubric_version", "versions of the judge prompt"),
    ("rubric_sha256", "judge prompts under one version (SHA-256)"),
    ("design", "designs"),
    ("cases_sha256", "cases (SHA-256)"),
    ("draws", "numbers of draws"),
    ("panel", "panels"),
)
POWER = 0.80
ERROR = 0.05
"""Chance that equal models are called different overall; and, once more, in any row below."""
RULE = (
    "The overall row is one test at 95%. The {tests} tested rows below it are one family, whose p is adjusted (Holm): two equal "
    "models show any row that differs in at most 5% of comparisons. Intervals are 95% for each row alone, without that "
    "correction, so one can leave out 0 where the row does not differ. On a board, ranks rest on a simultaneous test of every "
    "two models."
)


@dataclass(frozen=True, slots=True)
class Difference:
    """First minus second run, on the pairs that both have scored."""

    code: str
    title: str
    first: float | None
    second: float | None
    estimate: Estimate
    """With the 95% interval of this row alone."""
    p: float | None = None
    """Two-sided, of this row alone; None where the row is not tested."""
    p_adjusted: float | None = None
    """Over all rows below the overall one (Holm); that of the overall row is its p."""
    differs: bool | None = None
    """Whether the adjusted p is at most 5%; None where the row is not tested."""
    reason: str = ""
    """Why the row is not tested."""


@dataclass(frozen=True, slots=True)
class FloorDifference:
    """A safety floor that the two runs meet differently."""

    slug: str
    title: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that `helmbench compare` prints."""

    names: tuple[str, str]
    overall: Difference
    pillars: tuple[Difference, ...]
    behaviors: tuple[Difference, ...]
    floors: tuple[FloorDifference, ...]
    pairs: int
    dropped: int
    """Headline pairs that one run or the other could not score."""
    detectable: float | None
    """The true overall difference that a comparison of this size finds with 80% power."""
    rule: str
    """What `differs` means, in sentences."""


def compare(first: Run, second: Run, names: tuple[str, str] = ("first", "second")) -> Comparison:
    """Paired difference per behavior, pillar and overall; raises ScoringError where the two runs may not be compared."""
    import numpy as np

    refuse(first, second, names)
    cells = differences.cells_of(first)
    one, two = (differences.pair_values(cells, run) for run in (first, second))
    scored = ~np.isnan(one - two)
    pieces = differences.pieces(cells, np.where(scored, [one, two, one - two], np.nan))
    minimum = first["provenance"]["minimum_messages"]
    groups = zip(_groups(first), _groups(second), strict=True)
    overall, *below = (_difference(each, names, cells, pieces, minimum) for each in groups)
    tests = [row for row in below if row.estimate.value is not None and row.estimate.n_meanings >= minimum]
    # a row in which every message came out alike counts as a test that found nothing: the family's size is not left to chance
    adjusted = holm([1.0 if row.p is None else row.p for row in tests])
    known = {row.code: p for row, p in zip(tests, adjusted, strict=True)}
    below = [_decided(row, known.get(row.code)) for row in below]
    return Comparison(
        names=names,
        overall=_decided(overall, overall.p),
        pillars=tuple(below[: len(first["pillars"])]),
        behaviors=tuple(below[len(first["pillars"]) :]),
        floors=_floors(first, second),
        pairs=int(scored.sum()),
        dropped=int((~scored).sum()),
        detectable=None if overall.p is None else _detectable(overall.estimate),
        rule=RULE.format(tests=len(tests)),
    )


def _groups(run: Run) -> tuple[Mapping[str, Any], ...]:
    return run["headline"]["overall"], *run["pillars"], *run["behaviors"]


def _difference(
    groups: tuple[Mapping[str, Any], Mapping[str, Any]], names: tuple[str, str], cells: Cells, pieces: Pieces, minimum: int
) -> Difference:
    """One row, before the correction: `groups` is the same part of the first and of the second run."""
    code, title = groups[0]["code"], groups[0]["title"]
    inside = [at for at, behavior in enumerate(cells.behaviors) if code == "all" or f"{behavior}-".startswith(f"{code}-")]
    first, second, found = differences.combined(cells, pieces, inside)
    withheld = [
        f"{name}: {each['score']['note']}" for name, each in zip(names, groups, strict=True) if each["score"]["value"] is None
    ]
    if withheld:
        reason = "; ".join(withheld)
        nothing = Estimate(None, None, None, found.n_pairs, found.n_meanings, note=reason)
        return Difference(code, title, None, None, nothing, reason=reason)
    reason = untested(found, minimum)
    p = None if reason else intervals.p_value(found)
    return Difference(code, title, first.value, second.value, found, p, reason=reason)


def _decided(row: Difference, p: float | None) -> Difference:
    """The row with its adjusted p, where it was tested."""
    return row if p is None or row.p is None else replace(row, p_adjusted=p, differs=p <= ERROR)


def refuse(first: Run, second: Run, names: tuple[str, str]) -> None:
    """Raise ScoringError where two runs may not be compared."""
    for run, name in ((first, names[0]), (second, names[1])):
        if run.get("format") != FORMAT:
            raise ScoringError(f"{name} is not a scores file of format {FORMAT}; score it again with this version.")
    one, two = first["provenance"], second["provenance"]
    for field, what in MUST_AGREE:
        if one[field] != two[field]:
            raise ScoringError(
                f"{names[0]} and {names[1]} have different {what} ({one[field]} and {two[field]}): not comparable."
            )
    judges = [[judge["id"] for judge in side["judges"]] for side in (one, two)]
    if judges[0] != judges[1]:
        said = " and ".join(", ".join(side) or "none" for side in judges)
        raise ScoringError(f"{names[0]} and {names[1]} were graded by different judges ({said}): not comparable.")
    for mine, other in zip(one["judges"], two["judges"], strict=True):
        if mine["mode"] != other["mode"]:
            said = f"{mine['mode'] or 'not asked'} and {other['mode'] or 'not asked'}"
            raise ScoringError(
                f"The judge {mine['id']} of {names[0]} and {names[1]} was asked in different modes ({said}): not comparable."
            )
        if mine["model_sha256"] != other["model_sha256"]:
            raise ScoringError(f"The judge {mine['id']} is another model in {names[0]} than in {names[1]}: not comparable.")


def _floors(first: Run, second: Run) -> tuple[FloorDifference, ...]:
    others = {floor["slug"]: floor for floor in second["floors"]}
    return tuple(
        FloorDifference(floor["slug"], floor["title"], floor["status"], others[floor["slug"]]["status"])
        for floor in first["floors"]
        if floor["status"] != others[floor["slug"]]["status"]
    )


def _detectable(found: Estimate) -> float | None:
    """The true difference that a test with this standard error finds with the wanted power."""
    if found.se is None or found.df is None:
        return None
    return found.se * (intervals.t_quantile(1 - ERROR / 2, found.df) + intervals.t_quantile(POWER, found.df))
