"""Scores corrected for the judge's known errors, beside those that are not, and what a check says of each criterion."""

from __future__ import annotations

from typing import Any

from helmbench_hf.report.fmt import DASH, Json, figure, number, plural, points, sample_size

ONE_BY_ONE = (
    "Sources are taken to differ on each criterion by itself: where a model’s replies are misjudged on all criteria at once, "
    "these intervals are too narrow, and no single check can show it."
)


def beside(found: Json) -> str:
    """Give a corrected score as a phrase to stand beside the uncorrected one; empty where there is none."""
    shown = figure(found["estimate"])
    if not shown.known:
        return ""
    interval = f" ({shown.interval})".replace(" ", "\u00a0") if shown.interval else ""
    return f"corrected {'in part ' if found['left_out'] else ''}{shown.value}{interval}"


def part(found: Json) -> str:
    """Say over what a corrected score is, and what the uncorrected one is there; empty where it holds everything."""
    if found["estimate"]["value"] is None or not found["left_out"]:
        return ""
    total = len(found["scenarios"]) + len(found["left_out"])
    return (
        f"corrected: {len(found['scenarios'])} of {plural(total, 'scenario')}, uncorrected there {points(found['uncorrected'])}"
    )


def composite(scores: Json) -> str:
    """Give the corrected composite, or why there is none, as a sentence; empty where no judge graded the run."""
    correction, found = scores["correction"], scores["headline"]["overall"]["corrected"]
    if not correction["judge"]:
        return ""
    said = beside(found)
    if said:
        over = f" ({part(found).removeprefix('corrected: ')})" if found["left_out"] else ""
        return f"{said[0].upper()}{said[1:]}{over}: the known errors of {correction['judge']} are taken out."
    return f"Not corrected for errors of the judge: {correction['reason'] or found['estimate']['note']}."


def scores_table(scores: Json) -> list[dict[str, Any]]:
    """Give every corrected score: the whole, pillars, behaviors, scenarios."""
    groups = [scores["headline"]["overall"], *scores["pillars"], *scores["behaviors"], *scores["scenarios"]]
    return [_score(group) for group in groups]


def _score(group: Json) -> dict[str, Any]:
    found = group["corrected"]
    known = found["estimate"]["value"] is not None
    return {
        "code": group["code"],
        "title": group["title"],
        "score": figure(group["score"]),
        "same": points(found["uncorrected"]),
        "corrected": figure(found["estimate"]),
        "errors": [_error(found[name]) for name in ("messages", "labels", "sources")],
        "n": sample_size(found["estimate"]) if known else DASH,
        "scenarios": plural(len(found["scenarios"]), "scenario"),
        "left_out": ", ".join(found["left_out"]),
    }


def _error(value: float | None) -> str:
    return DASH if value is None else number(100 * value, 1)


def criteria(scores: Json) -> list[dict[str, Any]]:
    """Give what the cited check says of each criterion that enters a score."""
    return [
        {
            **row,
            "labels": f"{row['n_pass']}, {row['n_partial']}, {row['n_fail']}",
            **{name: _share(row[name]) for name in ("fail_loss", "pass_loss", "separation")},
        }
        for row in scores["correction"]["rows"]
    ]


def _share(value: float | None) -> str:
    return DASH if value is None else number(value, 2)


def spread(scores: Json) -> str:
    """Say how alike the judge errs on replies of one source."""
    found = scores["correction"]
    if found["rho"] is None:
        return "The check has replies of one source alone, so the spread between sources is not in these intervals."
    known = f"Correlation of errors within a source of replies: {number(found['rho'], 3)} ({found['rho_df']} degrees of freedom)."
    return f"{known} {ONE_BY_ONE}"
