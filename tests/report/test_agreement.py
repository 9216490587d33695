"""Several judges on the page: their panel, and how far they agree."""

from __future__ import annotations

from typing import Any

import pytest

from helmbench_hf.report import tables, view
from helmbench_hf.report.html import render
from tests.report import sample
from tests.report.page import Page

ALPHA = {"value": 0.62, "low": 0.41, "high": 0.83, "n_pairs": 40, "n_meanings": 12, "se": 0.1, "df": 11.0, "note": ""}
NOTHING = {**dict.fromkeys(("value", "low", "high", "se", "df")), "n_pairs": 8, "n_meanings": 3, "note": "no two verdicts differ"}
CELLS = 2 * (7 + 6)
"""Of two criteria: a row of the panel that the criterion's name stands in, and one of a pair."""


def judged_by(*names: str) -> dict[str, Any]:
    """The sample with several judges; their verdicts on two criteria."""
    scores = sample.sample_scores()
    scores["provenance"] |= {
        "judges": [{"id": name, "family": name, "validated": []} for name in names],
        "panel": "majority",
    }
    pair = {"first": names[0], "second": names[1]}
    scores["agreement"] = {
        "judge_pairs": [
            {"criterion": "K01", "title": "Notices", **pair, "n": 38, "same": 0.75, "kappa": 0.5, "weighted_kappa": 0.55},
            {"criterion": "A01", "title": "Appraisal", **pair, "n": 0, "same": None, "kappa": None, "weighted_kappa": None},
        ],
        "panel": [
            {"criterion": "K01", "title": "Notices", "verdicts": 78, "alpha": ALPHA},
            {"criterion": "A01", "title": "Appraisal", "verdicts": 16, "alpha": NOTHING},
        ],
    }
    return scores


def table(scores: dict[str, Any]) -> list[str]:
    page = Page(render(sample.sample_run(scores=scores)))
    found = next(e for e in page.all("table") if e.attributes.get("class") == "agreement")
    start = page.elements.index(found)
    cells = [e.words for e in page.elements[start:] if e.name in ("th", "td") and "tbody" in e.path]
    return cells[:CELLS]


def test_alpha_and_kappas_stand_with_their_n() -> None:
    words = table(judged_by("one", "two"))
    assert words[:8] == ["Notices K01", "all 2", "40", "0.62 0.41 to 0.83", "–", "–", "–", "one, two"]
    assert words[8:13] == ["38", "–", "75%", "0.50", "0.55"]
    assert "no two verdicts differ" in words[16]
    assert words[20:] == ["one, two", "0", "–", "–", "–", "–"]


def test_one_judge_has_nobody_to_agree_with() -> None:
    assert tables.agreement(sample.sample_scores()) == []
    page = Page(render(sample.sample_run()))
    assert not [e for e in page.all("table") if e.attributes.get("class") == "agreement"]
    assert not any("Panel" in line for line in view.gate(sample.sample_scores()).lines)


def test_the_panel_is_named_with_what_it_means() -> None:
    scores = judged_by("one", "two")
    assert "Panel majority: what more than half of the judges say gives the credit, else the median." in view.gate(scores).lines
    words = Page(render(sample.sample_run(scores=scores))).all("main")[0].words
    assert "judge: one, two, panel majority;" in words
    assert ("panel", "majority") in dict(tables.provenance(scores, {}))["Benchmark and scoring"]


@pytest.mark.parametrize("payload", ["<script>alert(1)</script>", "\x1b[31mred", "a\u202eb"])
def test_hostile_names_of_judges_are_shown_and_do_nothing(payload: str) -> None:
    scores = judged_by(payload, "two")
    scores["provenance"]["panel"] = payload
    page = render(sample.sample_run(scores=scores))
    assert payload not in page
    assert any(", two" in words for words in table(scores))
