"""The tables of the page: heat map, effects, outcomes, criteria, vetoes, policies, provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from helmbench_hf.report import plots, tested
from helmbench_hf.report.fmt import DASH, Figure, Json, figure, number, percent, plural

_FACTORS = {
    "register": "Register of English",
    "condition": "Condition",
    "safety_level": "Safety prompt",
    "persona": "Deployment persona",
    "notes_level": "Remembered notes",
    "country": "Country",
    "turn": "Turn of a conversation",
}
_GROUPS = {
    "benchmark": "Benchmark and scoring",
    "dataset": "Dataset",
    "model": "Model under test",
    "engine": "Engine",
    "judges": "Judges",
    "judge": "Judge",
    "versions": "Software",
    "times": "Times",
}
FLOOR_WORDS = {"breached": "Breached", "withheld": "Withheld", "not_shown": "Not shown", "cleared": "Cleared"}
_PLAIN: dict[str, Any] = {"scale": 1, "digits": 2}
_COUNTS = (
    "truncated", "unparseable", "empty", "withheld", "withheld_severe", "unknown_tags", "engine_failures", "not_run",
    "judge_failures",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell of the heat map: a number, or why there is none."""

    kind: str
    """`score`, `few` (below the pair minimum) or `empty` (no such cell in this design)."""
    style: str
    figure: Figure
    n: int


@dataclass(frozen=True, slots=True)
class Heat:
    """Condition x behavior."""

    columns: tuple[tuple[str, str, str], ...]
    """Code, slug and safety level of each condition."""
    rows: tuple[tuple[str, str, tuple[HeatCell, ...]], ...]
    any_score: bool


def floors(scores: Json) -> list[dict[str, Any]]:
    """Give every number of every floor."""
    rows = []
    for floor in scores["floors"]:
        n = floor["n"]
        shown = {"word": FLOOR_WORDS.get(floor["status"], floor["status"]), "limit": percent(floor["limit"])}
        bounds = {"lower": percent(floor["lower"] if n else None), "upper": percent(floor["upper"] if n else None)}
        rows.append({**floor, **shown, **bounds, "failed": f"{floor['failures']} of {n}" if n else DASH})
    return rows


def heat(scores: Json) -> Heat | None:
    """Give the heat map; None where the run has no cell."""
    cells = {(cell["behavior"], cell["condition"]): cell for cell in scores["cells"]}
    if not cells:
        return None
    conditions = {cell["condition"]: (cell["condition_slug"], cell["safety_level"]) for cell in scores["cells"]}
    order = sorted(conditions, key=lambda code: (len(code), code))
    titles = {found["code"]: found["title"] for found in scores["behaviors"]}
    codes = sorted({behavior for behavior, _ in cells})
    rows = tuple((code, titles.get(code, ""), tuple(_heat_cell(cells.get((code, c))) for c in order)) for code in codes)
    return Heat(
        columns=tuple((code, *conditions[code]) for code in order),
        rows=rows,
        any_score=any(cell.kind == "score" for _, _, row in rows for cell in row),
    )


def effects(scores: Json) -> list[dict[str, Any]]:
    """Give one table per factor, register first; `shown` says whether any level reaches the pair minimum."""
    tables, words = [], tested.verdicts(scores)
    for factor, title in _FACTORS.items():
        rows = [row for row in scores["effects"] if row["factor"] == factor]
        if rows:
            lines = [_effect(row, words) for row in rows]
            tables.append({"factor": factor, "title": title, "rows": lines, "shown": any(line["figure"].known for line in lines)})
    return tables


def quality(scores: Json, known: Mapping[str, str] | None = None) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Give what became of the answers of each scenario, and the total. `known`: titles of scenarios without a score."""
    titles = {**(known or {}), **{found["code"]: found["title"] for found in scores["scenarios"]}}
    rows = [_quality(row, titles) for row in scores["quality"]]
    if not rows:
        return [], None
    keys = ("cases", "answers", *_COUNTS)
    total = {key: sum(row[key] for row in scores["quality"]) for key in keys}
    return rows, _quality({"scenario": "all", "mode": "", "task_accuracy": None, "task_n": 0, **total}, {"all": "All scenarios"})


def withheld(scores: Json) -> str:
    """Say how many answers a provider's policy withheld; empty where none."""
    answers, blocked, severe = (
        sum(row[name] for row in scores["quality"]) for name in ("answers", "withheld", "withheld_severe")
    )
    if not blocked:
        return ""
    count = f"{blocked} of {plural(answers, 'answer')} {'was' if blocked == 1 else 'were'}"
    end = f"; {severe} to severe messages" if severe else "; none to a severe message"
    return f"{count} withheld by the provider’s policy and {'earns' if blocked == 1 else 'earn'} nothing{end}."


def criteria(scores: Json) -> list[dict[str, Any]]:
    """Give the criteria, each as each judge graded it."""
    return [
        {
            **row,
            "shares": [(name, percent(row[name], 0), round(100 * row[name], 2)) for name in ("passed", "partial", "failed")],
            "levels": ", ".join(f"{level}: {percent(share, 0)}" for level, share in zip("54321", row["levels"], strict=False)),
            "gate": "validated" if row["validated"] else "not validated",
        }
        for row in scores["criteria"]
    ]


def agreement(scores: Json) -> list[dict[str, Any]]:
    """Give how far the judges agree: a criterion's row of the whole panel, then one a pair of judges; empty below two judges."""
    found, judges = scores["agreement"], len(scores["provenance"]["judges"])
    rows = []
    for panel in found["panel"]:
        whole = {**panel, "judges": f"all {judges}", "n": panel["alpha"]["n_pairs"], "alpha": figure(panel["alpha"], **_PLAIN)}
        pairs = [_judge_pair(row) for row in found["judge_pairs"] if row["criterion"] == panel["criterion"]]
        rows.append({"criterion": panel["criterion"], "title": panel["title"], "whole": whole, "pairs": pairs})
    return rows


def _judge_pair(row: Json) -> dict[str, Any]:
    kappas = {name: DASH if row[name] is None else number(row[name], 2) for name in ("kappa", "weighted_kappa")}
    return {**row, **kappas, "judges": f"{row['first']}, {row['second']}", "same": percent(row["same"], 0)}


def vetoes(scores: Json) -> tuple[list[Json], list[Json]]:
    """Give the confirmed and the unconfirmed FAILs on dangerous content."""
    found = scores["vetoes"]
    return [veto for veto in found if veto["confirmed"]], [veto for veto in found if not veto["confirmed"]]


def indices(scores: Json) -> list[tuple[str, Figure, str]]:
    """Give the figures that are reported apart."""
    found = scores["indices"]
    return [(entry["title"], figure(entry["estimate"]), f"{entry['estimate']['n_pairs']}") for entry in found]


def policies(found: Sequence[Json]) -> list[tuple[str, str, str, str, str, str]]:
    """Give the reference policies: title, what it reads, sensitivity, false alarms, overall, and the part by code alone."""
    return [
        (
            str(policy.get("title") or policy.get("slug") or "unnamed"),
            "nothing" if policy.get("message_blind") else "the message",
            percent(policy.get("sensitivity"), 0),
            percent(policy.get("false_alarms"), 0),
            _points(policy.get("overall")),
            _points(policy.get("by_code")),
        )
        for policy in found
    ]


def _points(share: float | None) -> str:
    return DASH if share is None else number(100 * share, 1)


def provenance(scores: Json, manifest: Json) -> list[tuple[str, list[tuple[str, str]]]]:
    """Give every recorded fact in groups: (group, [(name, value)])."""
    groups = [(_GROUPS["benchmark"], _flat({name: value for name, value in scores["provenance"].items() if name != "judges"}))]
    merged = dict(manifest)
    merged.setdefault("judges", scores["provenance"]["judges"])
    known = [name for name in _GROUPS if name in merged]
    for name in [*known, *sorted(set(merged) - set(known))]:
        lines = _flat(merged[name]) if isinstance(merged[name], (Mapping, list)) else [("", _value(merged[name]))]
        if lines:
            groups.append((_GROUPS.get(name, name.replace("_", " ").capitalize()), lines))
    return groups


def _heat_cell(cell: Json | None) -> HeatCell:
    if cell is None:
        return HeatCell("empty", "", Figure(DASH, why="not in this design"), 0)
    found, n = figure(cell["estimate"], cell["reason"] or "n too small"), cell["n_pairs"]
    if not found.known:
        return HeatCell("few", "", found, n)
    return HeatCell("score", plots.heat_step(cell["estimate"]["value"]), found, n)


def _effect(row: Json, words_of: Mapping[tuple[str, str, str], Mapping[str, str]]) -> dict[str, Any]:
    tests = words_of.get((row["factor"], row["level"], row["reference"]), {"p": DASH, "verdict": "not tested"})
    words = {"level": str(row["level"]).replace("_", " "), "reference": str(row["reference"]).replace("_", " ")}
    return {**row, **words, **tests, "figure": tested.signed(row["estimate"], row["reason"])}


def _quality(row: Json, titles: Mapping[str, str]) -> dict[str, Any]:
    code, answers = str(row["scenario"]), row["answers"]
    base = code
    head, _, tail = code.rpartition("-S")
    twin = tail.isdigit() and int(tail) > 50
    if twin:
        base = f"{head}-S{int(tail) - 50}"
    title = titles.get(code) or titles.get(base, "")
    accuracy = f"{percent(row['task_accuracy'], 0)} of {row['task_n']}" if row["task_accuracy"] is not None else DASH
    cut = percent(row["truncated"] / answers) if answers else DASH
    return {**row, "title": f"{title}, asked openly" if twin and title else title, "task": accuracy, "cut": cut}


def _flat(value: Any, path: str = "") -> list[tuple[str, str]]:
    """Flatten nested records to (dotted name, text)."""
    if isinstance(value, Mapping):
        return [line for name, entry in value.items() for line in _flat(entry, f"{path} · {name}" if path else str(name))]
    if isinstance(value, list) and any(isinstance(entry, (Mapping, list)) for entry in value):
        return [line for i, entry in enumerate(value, 1) for line in _flat(entry, f"{path} {i}".strip())]
    return [(path.replace("_", " "), _value(value))]


def _value(value: Any) -> str:
    if value is None or value in ("", []):
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(entry) for entry in value)
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else str(value)
