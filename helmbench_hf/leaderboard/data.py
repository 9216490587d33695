"""The board's tables: small, made once from accepted submissions, so that a page is a matter of formatting.

Runs stand together where they may be compared (same cases, versions, judges and panel); only inside such a group there are ranks.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helmbench_hf import __version__
from helmbench_hf.inference.keys import digest
from helmbench_hf.leaderboard.collect import Accepted, Refused
from helmbench_hf.leaderboard.manifest import Manifest
from helmbench_hf.leaderboard.marks import Contamination, Mark, Marks, People, contamination, difference
from helmbench_hf.report.model import Policy
from helmbench_hf.report.text import deep, visible
from helmbench_hf.run_folder import write_json
from helmbench_hf.scoring.compare import MUST_AGREE
from helmbench_hf.scoring.ranks import board
from helmbench_hf.scoring.result import Estimate

RANKS = "ranks"
_HEAVY = ("agreement", "incidents", "ladders", "vetoes", "cells", "repeats", "indices")
"""Parts of the scores that only a run's own report shows."""
_PAIR = ("scenario", "crisis", "headline", "weight", "meaning", "value")
Policies = Callable[[str], Sequence[Policy]]
"""Design -> the reference policies on its cases."""


@dataclass(frozen=True, slots=True)
class Place:
    """A run's rank in its group; `rank` to `last` are the places that the joint test leaves open."""

    rank: int
    last: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One run."""

    run: str
    """Its id, 16 hex digits."""
    label: str
    """The model's name; with the run id where the group has several runs of that name."""
    manifest: Manifest
    scores: Mapping[str, Any]
    """`scores.json` without the parts that the board does not show; its texts have passed `report.text.deep`."""
    folder: Path
    digest: str
    notes: tuple[str, ...]
    mark: Mark
    group: str
    place: Place | None
    """None where it stands off the ranking."""
    unranked: str
    """Why it does."""
    contamination: Contamination | None
    """None where there is no holdout figure for the same design."""

    def rate(self, arm: str, name: str) -> float | None:
        """Sensitivity or false alarms of an arm as a share."""
        for point in self.scores["operating"]:
            if point["arm"] == arm and point[name]["n"]:
                return float(point[name]["hits"] / point[name]["n"])
        return None


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that may be compared, by rank and then by name."""

    id: str
    title: str
    entries: tuple[Entry, ...]
    rule: str
    """How ranks come about, or why there are none."""
    policies: tuple[Policy, ...]
    people: tuple[People, ...]


@dataclass(frozen=True, slots=True)
class Data:
    """Everything that the board shows."""

    groups: tuple[Group, ...]
    refused: tuple[Refused, ...]
    address: str
    """Of the results repository at its commit; empty for a folder."""
    test: bool = False
    """Whether runs of a design are shown that tests the machinery alone; every page then says so."""

    def entry(self, name: str) -> Entry | None:
        """A run by its id, or the latest run of a model by its name."""
        found = [entry for group in self.groups for entry in group.entries if name in (entry.run, entry.manifest.model.id)]
        return max(found, key=lambda entry: (entry.run == name, entry.manifest.times.started, entry.run), default=None)

    def group(self, name: str) -> Group | None:
        """A group by its id."""
        return next((group for group in self.groups if group.id == name), None)


def prepare(
    accepted: Sequence[Accepted],
    refused: Sequence[Refused],
    marks: Marks,
    policies: Policies,
    *,
    address: str = "",
    stores: Sequence[Path] = (),
    test: bool = False,
) -> Data:
    """Group, rank and mark the runs. `stores`: folders with ranks that were computed before; the last one takes new ones.

    `test`: every page says that this is a test board.
    """
    together: dict[str, list[Accepted]] = defaultdict(list)
    for each in accepted:
        together[group_id(each.scores)].append(each)
    differences = _differences(accepted, marks)
    groups = [_group(name, runs, marks, policies, stores, differences) for name, runs in together.items()]
    groups.sort(key=lambda group: (-len(group.entries), group.title, group.id))
    return Data(tuple(groups), tuple(sorted(refused, key=lambda each: each.place)), address, test)


def group_id(scores: Mapping[str, Any]) -> str:
    """Name of the runs that these scores may be compared with, by everything that `compare` refuses to mix."""
    origin = scores["provenance"]
    judges = [[judge[name] for name in ("id", "mode", "model_sha256")] for judge in origin["judges"]]
    return digest([scores["format"], [origin[field] for field, _ in MUST_AGREE], judges])[:12]


def slim(scores: Mapping[str, Any]) -> dict[str, Any]:
    """The scores without what the board does not show; pairs keep what a comparison needs."""
    kept: dict[str, Any] = deep({name: value for name, value in scores.items() if name not in (*_HEAVY, "pairs")})
    kept["pairs"] = [{name: pair[name] for name in _PAIR} for pair in scores["pairs"] if pair["headline"]]
    return kept


def _differences(accepted: Sequence[Accepted], marks: Marks) -> dict[str, Estimate]:
    """Public minus holdout by run, where a holdout figure of the same design was published."""
    found = {}
    for each in accepted:
        mark = marks.runs.get(each.manifest.run_id)
        if mark is not None and mark.holdout is not None and mark.holdout.design == each.manifest.dataset.design:
            public = Estimate(**each.scores["headline"]["overall"]["score"])
            found[each.manifest.run_id] = difference(public, mark.holdout.estimate())
    return found


def _group(
    name: str,
    runs: Sequence[Accepted],
    marks: Marks,
    policies: Policies,
    stores: Sequence[Path],
    differences: Mapping[str, Estimate],
) -> Group:
    labels = _labels(runs)
    slimmed = {each.manifest.run_id: slim(each.scores) for each in runs}
    ranked = _ranks(runs, labels, slimmed, stores)
    standings = {row["run"]: row for row in ranked["standings"]}
    places = {name: Place(row["rank"], row["last"]) for name, row in standings.items() if row["rank"] is not None}
    ours = {each.manifest.run_id for each in runs}
    entries = [
        Entry(
            run=each.manifest.run_id,
            label=labels[each.manifest.run_id],
            manifest=each.manifest,
            scores=slimmed[each.manifest.run_id],
            folder=each.folder,
            digest=each.digest,
            notes=each.notes,
            mark=marks.runs.get(each.manifest.run_id, Mark()),
            group=name,
            place=places.get(labels[each.manifest.run_id]),
            unranked=visible(standings[labels[each.manifest.run_id]]["reason"], 500) if standings else ranked["rule"],
            contamination=_contamination(each.manifest.run_id, ours, marks, differences),
        )
        for each in runs
    ]
    entries.sort(key=lambda entry: (entry.place.rank if entry.place else len(runs) + 1, entry.label.casefold(), entry.run))
    origin = runs[0].scores["provenance"]
    return Group(
        id=name,
        title=visible(_title(origin), 300),
        entries=tuple(entries),
        rule=ranked["rule"],
        policies=tuple(deep(list(policies(origin["design"])))),
        people=tuple(each for each in marks.people if each.content_sha256 == origin["content_sha256"]),
    )


def _contamination(run: str, ours: set[str], marks: Marks, differences: Mapping[str, Estimate]) -> Contamination | None:
    if run not in differences:
        return None
    holdouts = {name: marks.runs[name].holdout for name in differences}
    own = holdouts[run]
    references = [
        differences[name]
        for name, other in sorted(holdouts.items())
        if name != run and name in ours and marks.runs[name].reference and other and own
        and other.content_sha256 == own.content_sha256
    ]  # fmt: skip
    return contamination(differences[run], [] if marks.runs[run].reference else references)


def _labels(runs: Sequence[Accepted]) -> dict[str, str]:
    counts = Counter(each.manifest.model.id for each in runs)
    return {
        each.manifest.run_id: visible(each.manifest.model.id, 200)
        + ("" if counts[each.manifest.model.id] == 1 else f" ({each.manifest.run_id})")
        for each in runs
    }


def _title(origin: Mapping[str, Any]) -> str:
    judges = ", ".join(judge["id"] for judge in origin["judges"]) or "no judge"
    panel = f", panel {origin['panel']}" if len(origin["judges"]) > 1 else ""
    draws = f", {origin['draws']} answers a case" if origin["draws"] > 1 else ""
    return f"{origin['design']} {origin['benchmark_version']}, graded by {judges}{panel}{draws}"


def _ranks(
    runs: Sequence[Accepted], labels: Mapping[str, str], slimmed: Mapping[str, Mapping[str, Any]], stores: Sequence[Path]
) -> dict[str, Any]:
    """Standings of `scoring.ranks`, or those that were computed before for the same bytes."""
    if len(runs) < 2:
        return {"standings": [], "rule": "One run alone has no rank."}
    ordered = sorted(runs, key=lambda each: each.manifest.run_id)
    name = digest([__version__, [[each.digest, labels[each.manifest.run_id]] for each in ordered]])
    for store in stores:
        try:
            found: dict[str, Any] = json.loads((store / RANKS / f"{name}.json").read_bytes())
        except (OSError, ValueError):
            continue
        return found
    made = board([slimmed[each.manifest.run_id] for each in ordered], [labels[each.manifest.run_id] for each in ordered])
    row = {**dataclasses.asdict(made), "tests": len(made.tests)}
    if stores:
        (stores[-1] / RANKS).mkdir(parents=True, exist_ok=True)
        write_json(stores[-1] / RANKS / f"{name}.json", row)
    return row
