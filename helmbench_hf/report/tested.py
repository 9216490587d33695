"""What was tested inside one run, and what stands after the correction: questions chosen beforehand, effects, people, ladders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helmbench_hf.report import plots
from helmbench_hf.report.fmt import DASH, Figure, Json, figure, number, percent, plural, points

Key = tuple[str, str, str]
"""Factor, level, reference."""


def verdicts(scores: Json) -> dict[Key, dict[str, str]]:
    """Give the adjusted p and the verdict in words of every comparison."""
    rows = scores["comparisons"]["contrasts"]
    return {(row["factor"], row["level"], row["reference"]): {"p": p_words(row), "verdict": verdict(row)} for row in rows}


def verdict(row: Json) -> str:
    """Say what a test came to; that nothing was shown is never said as "no difference"."""
    if row["differs"] is None:
        return "not tested"
    beyond = " (exploratory)" if row["family"] == "exploratory" else ""
    return f"differs{beyond}" if row["differs"] else "not shown"


def p_words(row: Json) -> str:
    """Give the adjusted p as people read it."""
    return probability(row["p_adjusted"])


def probability(value: float | None) -> str:
    """Give a p-value with a digit more where it is small."""
    if value is None:
        return DASH
    return "< 0.001" if value < 0.001 else number(value, 3 if value < 0.1 else 2)


def questions(scores: Json) -> dict[str, Any]:
    """Give the primary contrasts with a bar each, in their order, and how they were corrected."""
    rows = [row for row in scores["comparisons"]["contrasts"] if row["family"] == "primary"]
    scale = plots.score_scale([row["estimate"] for row in rows])
    return {
        "rows": [_question(row, scale) for row in rows],
        "scale": scale,
        "basis": [_family(family, scores["comparisons"]["contrasts"]) for family in scores["comparisons"]["families"]],
    }


def people(scores: Json) -> dict[str, Any]:
    """Give every demographic stub against the others; `shown` says whether any has messages enough."""
    words = verdicts(scores)
    rows = [
        {
            "name": row["slug"],
            "figure": signed(row["estimate"], row["reason"]),
            "n": row["n_messages"],
            **words.get(("demographic", row["slug"], "the other stubs"), {"p": DASH, "verdict": "not tested"}),
        }
        for row in scores["demographics"]
    ]
    return {"rows": rows, "shown": any(row["figure"].known for row in rows)}


def ladders(scores: Json) -> list[dict[str, Any]]:
    """Give the share of inverted ladders beside what a curve that never falls would give, hidden and open."""
    names = {"hidden": "Hidden in another job", "open": "Asked openly"}
    return [
        {
            "name": names.get(row["arm"], str(row["arm"])),
            "inverted": percent(row["inverted"], 0),
            "expected": percent(row["expected"], 0),
            "excess": signed(row["excess"], row["reason"]),
            "reading": _ladder_reading(row),
            "n": f"{plural(row['ladders'], 'ladder')}, {plural(row['scenarios'], 'scenario')}",
        }
        for row in scores["ladders"]
    ]


def signed(estimate: Json | None, why: str) -> Figure:
    """Give a change with its sign."""
    found = figure(estimate, why or "n too small")
    if estimate and (estimate["value"] or 0) > 0 and found.known:
        return Figure(f"+{points(estimate['value'])}", found.interval, found.why)
    return found


def _question(row: Json, scale: plots.Scale) -> dict[str, Any]:
    words = f"{row['level']} against {row['reference']}".replace("_", " ")
    size = f"{plural(row['n_pairs'], 'pair')}, {plural(row['n_meanings'], 'message')}" if row["n_pairs"] else DASH
    return {
        "title": row["title"],
        "under": words,
        "figure": signed(row["estimate"], row["reason"]),
        "bar": plots.bar(scale, row["estimate"]),
        "p": p_words(row),
        "verdict": verdict(row),
        "differs": bool(row["differs"]),
        "n": size,
    }


def _family(family: Json, rows: Sequence[Json]) -> str:
    named = sum(row["family"] == family["name"] for row in rows)
    level = percent(family["level"], 0)
    size = f"{family['size']} of {named} could be tested, {family['found']} differ"
    if family["name"] == "primary":
        return f"Named beforehand: {size} ({family['method']}; at most {level} risk of any false finding among them)."
    return f"All others, exploratory: {size} ({family['method']}; at most {level} of such findings are expected to be false)."


def _ladder_reading(row: Json) -> str:
    excess = row["excess"]
    if excess is None or excess["low"] is None:
        return "not tested"
    if excess["low"] > 0:
        return "more often than chance"
    return "less often than chance" if excess["high"] < 0 else "no excess shown"
