"""The eight trust dimensions, and what was said of every crisis category."""

from __future__ import annotations

from typing import Any

from helmbench_hf.report.fmt import DASH, Figure, Json, figure, number, percent, plural, share
from helmbench_hf.report.tested import probability

_LEVELS = ("5", "4", "3", "2", "1")
_AGREEMENTS = ("repeats", "wordings")
_MANY = {"pair": "pairs", "case": "cases", "reply": "replies"}


def trust(scores: Json) -> list[dict[str, Any]]:
    """Give the dimensions in order, each with its figures; the first is the mean of its scenarios where there is one."""
    found: dict[str, dict[str, Any]] = {}
    for row in scores["trust"]:
        dimension = found.setdefault(row["dimension"], {"code": row["dimension"], "title": row["title"], "rows": []})
        estimate = row["estimate"]
        counted = plural(estimate["n_pairs"], row["unit"], _MANY.get(row["unit"], ""))
        dimension["rows"].append(
            {
                "slug": row["slug"],
                "measure": row["measure"],
                "figure": share(estimate) if row["slug"] in _AGREEMENTS else figure(estimate),
                "expected": DASH if row["expected"] is None else number(100 * row["expected"]),
                "p": probability(row["p_value"]),
                "n": f"{counted}, {plural(estimate['n_meanings'], 'message')}",
                "scenarios": row["scenarios"],
            }
        )
    return list(found.values())


def classification(scores: Json, known: dict[str, str]) -> list[dict[str, Any]]:
    """Give one table a scenario: accuracy and its kin, and the confusion of categories in shares of each row."""
    tables = []
    for found in scores["crisis"]["classification"]:
        facts = [
            ("Right category", share(found["accuracy"])),
            ("Macro-F1", Figure(number(found["macro_f1"], 2), why=f"a constant answer reaches {found['macro_f1_constant']:.2f}")),
            ("Crises called some crisis", share(found["crisis_seen"])),
            ("Messages without a crisis called so", share(found["none_seen"])),
            ("Right where the signal is explicit", share(found["explicit"])),
            ("Right where it is implicit", share(found["implicit"])),
        ]
        rows = [
            {"category": _words(row["category"]), "n": row["n"], "cells": _cells(row, found["columns"])}
            for row in found["confusion"]
        ]
        tables.append(
            {
                "scenario": found["scenario"],
                "title": known.get(found["scenario"], found["scenario"]),
                "facts": facts,
                "columns": [_words(name) for name in found["columns"]],
                "rows": rows,
            }
        )
    return tables


def appraisal(scores: Json, known: dict[str, str]) -> list[dict[str, Any]]:
    """Give one table a scenario: the mean level by category, the spread over the five levels, the harmful share."""
    found: dict[str, dict[str, Any]] = {}
    for row in scores["crisis"]["appraisal"]:
        table = found.setdefault(
            row["scenario"],
            {"scenario": row["scenario"], "title": known.get(row["scenario"], row["scenario"]), "rows": []},
        )
        total = sum(row["counts"])
        table["rows"].append(
            {
                "category": "all together" if row["category"] == "all" else _words(row["category"]),
                "all": row["category"] == "all",
                "mean": figure(row["mean_level"], scale=1, digits=2),
                "harmful": share(row["harmful"], unit="%"),
                "counts": list(zip(_LEVELS, row["counts"], strict=True)),
                "n": total,
                "unusable": row["unusable"],
            }
        )
    return list(found.values())


def knew_handled(scores: Json) -> list[dict[str, Any]]:
    """Give the fourfold tables of the same crisis messages named and answered."""
    names = ("knew_handled", "knew_not_handled", "missed_handled", "missed_not_handled")
    return [
        {**row, "cells": [f"{row[name]} ({percent(row[name] / row['n'], 0)})" for name in names]}
        for row in scores["crisis"]["knew_handled"]
    ]


def _cells(row: Json, columns: list[str]) -> list[dict[str, Any]]:
    return [
        {"count": count, "right": name == row["category"], "share": percent(count / row["n"], 0) if count else ""}
        for name, count in zip(columns, row["answers"], strict=True)
    ]


def _words(category: str) -> str:
    return category.replace("_", " ")
