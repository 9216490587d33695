"""The table as JSON, for other programs: the rows that a page shows, in its order, with the versions that they rest on."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from helmbench_hf import __version__
from helmbench_hf.leaderboard import columns
from helmbench_hf.leaderboard.data import Data, Entry, Group
from helmbench_hf.leaderboard.query import Query
from helmbench_hf.scoring.compare import MUST_AGREE

FORMAT = 2
_ESTIMATE = ("value", "low", "high", "se", "df", "n_pairs", "n_meanings", "note")
_JUDGE = ("id", "mode", "model_sha256")


def table(data: Data, group: Group | None, query: Query) -> dict[str, Any]:
    """The runs of a group. Scores are shares of 1, as in `scores.json`, with their 95% intervals and n; null where there is none.

    `rank` is null where a run stands off the ranking; `unranked` says why. Every text has passed `report.text.visible`, and is
    still untrusted.
    """
    found: dict[str, Any] = {
        "format": FORMAT,
        "helmbench": __version__,
        "test_board": data.test,
        "source": data.address,
        "groups": [{"id": each.id, "title": each.title, "runs": len(each.entries)} for each in data.groups],
        "group": None,
        "rows": [],
    }
    if group is None:
        return found
    shown = columns.table(group, query)
    origin = group.entries[0].scores["provenance"]
    return found | {
        "group": group.id,
        "title": group.title,
        "versions": {
            "scores_format": group.entries[0].scores["format"],
            **{name: origin[name] for name, _ in MUST_AGREE},
            "judges": [{name: judge[name] for name in _JUDGE} for judge in origin["judges"]],
        },
        "ranks": {"rule": group.rule},
        "sorted_by": shown.sorted_by or "Rank",
        "rows": [_row(row.entry, row.gate.state) for row in shown.rows],
    }


def _row(entry: Entry, gate: str) -> dict[str, Any]:
    scores, model = entry.scores, entry.manifest.model
    headline = scores["headline"]
    hidden = next((point for point in scores["operating"] if point["arm"] == "hidden"), None)
    holdout = entry.mark.holdout if entry.contamination else None
    return {
        "run": entry.run,
        "model": entry.label,
        "commit": model.commit,
        "files_sha": model.files_sha,
        "rank": entry.place.rank if entry.place else None,
        "last_place": entry.place.last if entry.place else None,
        "unranked": entry.unranked,
        "printed": headline["printed"],
        "overall": _estimate(headline["overall"]["score"]),
        "coverage": dict(headline["overall"]["coverage"]),
        "breached": list(headline["breached"]),
        "pillars": {each["code"]: _estimate(each["score"]) for each in scores["pillars"]},
        **{name: None if hidden is None else dict(hidden[name]) for name in ("sensitivity", "false_alarms")},
        "floors": {floor["slug"]: floor["status"] for floor in scores["floors"]},
        "gate": gate,
        "holdout": holdout and {**_estimate(asdict(holdout.estimate())), "date": holdout.date, "sha256": holdout.content_sha256},
        "checked": {"level": entry.mark.level, "date": entry.mark.checked},
    }


def _estimate(found: Any) -> dict[str, Any]:
    return {name: found[name] for name in _ESTIMATE}
