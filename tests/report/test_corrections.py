"""What the page says of scores corrected for the judge's known errors, and where it says it."""

from __future__ import annotations

import copy
from typing import Any

from helmbench_hf.report import corrections, view
from helmbench_hf.report.html import render
from tests.report import sample
from tests.report.page import Page
from tests.report.test_terminal import printed


def unchecked() -> dict[str, Any]:
    """Scores of a run whose judge no check is cited for."""
    scores = copy.deepcopy(sample.sample_scores())
    reason = "no check of this judge is cited"
    scores["correction"] |= {"reason": reason, "rho": None, "rho_df": 0, "rows": []}
    for each in (scores["headline"]["overall"], *scores["pillars"], *scores["behaviors"], *scores["scenarios"]):
        blank = dict.fromkeys(("value", "low", "high", "se", "df")) | {"n_pairs": 0, "n_meanings": 0, "note": reason}
        each["corrected"] |= {"estimate": blank, **dict.fromkeys(("uncorrected", "messages", "labels", "sources"))}
        each["corrected"] |= {"scenarios": [], "left_out": [*each["corrected"]["scenarios"], *each["corrected"]["left_out"]]}
    return scores


def test_a_corrected_score_stands_beside_the_uncorrected_one() -> None:
    scores = sample.sample_scores()
    rows = {row.code: row for row in view.behaviors(scores)[1]}
    assert rows["P1-B1"].corrected == "corrected −17\u00a0(−55\u00a0to\u00a020)"
    assert rows["P1-B1"].part == ""
    assert rows["P1-B5"].corrected.startswith("corrected in part 29")
    assert rows["P1-B5"].part == "corrected: 1 of 2 scenarios, uncorrected there 23"
    assert (rows["P3-B1"].corrected, rows["P3-B1"].part) == ("", "")
    assert {row.code for row in view.profile(scores)[1] if row.corrected} == {"P1", "P2"}


def test_the_composite_says_over_what_it_is_corrected_or_why_it_is_not() -> None:
    scores = sample.sample_scores()
    said = view.summary(scores).composite.corrected
    assert said.startswith("Corrected in part 21")
    assert said.endswith("(4 of 10 scenarios, uncorrected there 16): the known errors of demo-judge are taken out.")
    why = "Not corrected for errors of the judge: no check of this judge is cited."
    assert view.summary(unchecked()).composite.corrected == why
    assert view.summary(scores | {"correction": scores["correction"] | {"judge": ""}}).composite.corrected == ""
    assert why in printed(unchecked(), width=200)
    assert "(4 of 10 scenarios, uncorrected there 16)" in printed(scores, width=200)


def test_every_number_has_its_place_in_a_table() -> None:
    scores = sample.sample_scores()
    rows = {row["code"]: row for row in corrections.scores_table(scores)}
    assert next(iter(rows)) == "all"
    assert set(rows) >= {"P1", "P1-B1", "P1-B1-S1"}
    assert rows["P1-B1-S1"]["errors"] == ["18.0", "3.1", "2.4"]
    assert (rows["P1-B1-S1"]["n"], rows["P1-B1-S1"]["same"]) == ("8\u00a0pairs, 7\u00a0messages", "−16")
    assert (rows["P1-B4-S1"]["errors"], rows["P1-B4-S1"]["left_out"]) == (["–"] * 3, "P1-B4-S1")
    criteria = {row["criterion"]: row for row in corrections.criteria(scores)}
    assert (criteria["K01"]["labels"], criteria["K01"]["fail_loss"], criteria["K01"]["separation"]) == (
        "87, 13, 26",
        "0.90",
        "0.84",
    )
    assert (criteria["K26"]["fail_loss"], criteria["K26"]["separation"]) == ("–", "–")
    page = Page(render(sample.sample_run()))
    shown = page.by_id("correction").words
    for word in (
        "r - f = 0.43",
        "no cited check has labels of it",
        "affine",
        "0.041 (96 degrees of freedom)",
        "misjudged on all criteria at once, these intervals are too narrow",
        "check-demo-judge",
    ):
        assert word in shown, word


def test_without_a_check_the_table_is_one_sentence() -> None:
    page = Page(render(sample.sample_run(scores=unchecked())))
    assert "no check of this judge is cited." in page.by_id("correction").words
    assert "r − f" not in page.by_id("correction").words


def test_one_source_of_replies_is_said() -> None:
    scores = sample.sample_scores()
    alone = scores | {"correction": scores["correction"] | {"rho": None, "rho_df": 0}}
    assert "replies of one source alone" in corrections.spread(alone)
