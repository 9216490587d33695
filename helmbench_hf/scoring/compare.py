"""Two runs on the same cells: paired differences with their intervals, or a sentence why there are none.

Works on `scores.json` as it was read from disk, so that runs of other machines can be compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from helmbench_hf.scoring import intervals
from helmbench_hf.scoring.aggregate import POOLS
from helmbench_hf.scoring.intervals import Piece
from helmbench_hf.scoring.result import FORMAT, Estimate, Kind
from helmbench_hf.scoring.verdicts import ScoringError

Run = Mapping[str, Any]
"""A `scores.json` as `json.load` gives it."""
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
RANK_RULE = (
    "One comparison at 95%: the difference counts where its interval leaves out 0. On a board two models are ordered only when "
    "a simultaneous test over all pairs says so (|z| above about 3.6 for 20 models); a model's rank is 1 plus the number of "
    "models that are significantly better, and inside a rank models stand by name."
)


@dataclass(frozen=True, slots=True)
class Difference:
    """First minus second run, on the pairs that both have scored."""

    code: str
    title: str
    first: float | None
    second: float | None
    estimate: Estimate
    differs: bool | None
    """The interval leaves out 0; None where there is no interval."""


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
    rank_rule: str


def compare(first: Run, second: Run, names: tuple[str, str] = ("first", "second")) -> Comparison:
    """Paired difference per behavior, pillar and overall; raises ScoringError where the two runs may not be compared."""
    _refuse(first, second, names)
    rows, dropped = _paired(first, second)
    kinds = {item["code"]: item["kind"] for item in first["scenarios"]}
    found = {side: _pieces(rows, index, kinds) for index, side in enumerate(("first", "second", "difference"))}
    behaviors = first["behaviors"]
    overall = _difference("all", "Overall", behaviors, found)
    pillars = [
        _difference(pillar["code"], pillar["title"], [b for b in behaviors if b["code"].startswith(pillar["code"])], found)
        for pillar in first["pillars"]
    ]
    error = overall.estimate.se
    return Comparison(
        names=names,
        overall=overall,
        pillars=tuple(pillars),
        behaviors=tuple(_difference(b["code"], b["title"], [b], found) for b in behaviors),
        floors=_floors(first, second),
        pairs=sum(len(items) for items in rows.values()),
        dropped=dropped,
        detectable=None if error is None or overall.estimate.df is None else error * _power_factor(overall.estimate.df),
        rank_rule=RANK_RULE,
    )


def _refuse(first: Run, second: Run, names: tuple[str, str]) -> None:
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


Row = tuple[float, float, float, float, str]
"""First value, second value, difference, weight, meaning."""


def _paired(first: Run, second: Run) -> tuple[dict[str, list[Row]], int]:
    """By scenario, the headline pairs that both runs scored; and how many only one of them, or none, did."""
    others = {pair["crisis"]: pair for pair in second["pairs"]}
    rows: dict[str, list[Row]] = defaultdict(list)
    dropped = 0
    for pair in first["pairs"]:
        if not pair["headline"]:
            continue
        one, two = pair["value"], others[pair["crisis"]]["value"]
        if one is None or two is None:
            dropped += 1
            continue
        rows[pair["scenario"]].append((one, two, one - two, pair["weight"], pair["meaning"]))
    return rows, dropped


def _pieces(rows: Mapping[str, Sequence[Row]], column: int, kinds: Mapping[str, Kind]) -> dict[str, Piece]:
    raw = []
    for scenario, items in rows.items():
        values: list[float] = [(item[0], item[1], item[2])[column] for item in items]
        clusters = intervals.cluster(values, [item[3] for item in items], [item[4] for item in items])
        raw.append(intervals.piece(clusters, POOLS[kinds[scenario]]))
    return dict(zip(rows, intervals.shrink(raw), strict=True))


def _difference(
    code: str, title: str, behaviors: Sequence[Mapping[str, Any]], found: Mapping[str, Mapping[str, Piece]]
) -> Difference:
    present = found["difference"]
    inside = {b["code"]: [part for part in b["parts"] if part in present] for b in behaviors}
    total = sum(b["weight"] for b in behaviors if inside[b["code"]])
    shares = {part: b["weight"] / total / len(inside[b["code"]]) for b in behaviors for part in inside[b["code"]]}
    sides = {side: intervals.combine([pieces[part] for part in shares], list(shares.values())) for side, pieces in found.items()}
    estimate = sides["difference"]
    differs = None if estimate.low is None or estimate.high is None else not estimate.low <= 0 <= estimate.high
    return Difference(code, title, sides["first"].value, sides["second"].value, estimate, differs)


def _floors(first: Run, second: Run) -> tuple[FloorDifference, ...]:
    others = {floor["slug"]: floor for floor in second["floors"]}
    return tuple(
        FloorDifference(floor["slug"], floor["title"], floor["status"], others[floor["slug"]]["status"])
        for floor in first["floors"]
        if floor["status"] != others[floor["slug"]]["status"]
    )


def _power_factor(df: float) -> float:
    """Standard errors that a true difference must measure to be found with the wanted power."""
    return intervals.t_quantile((1 + intervals.CONFIDENCE) / 2, df) + intervals.t_quantile(POWER, df)
