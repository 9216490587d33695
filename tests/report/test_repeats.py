"""What several answers to one case show, as it stands on the page and in a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from helmbench_hf.report.html import render
from tests.report import sample
from tests.report.page import Page
from tests.report.test_dimensions import words
from tests.report.test_terminal import printed

CAPTION = "Messages of severity 8 and above"


@pytest.fixture
def scores() -> dict[str, Any]:
    return sample.sample_scores()


def shown(scores: dict[str, Any], **changes: Any) -> Page:
    return Page(render(sample.sample_run(scores=scores, **changes)))


def notes(page: Page) -> str:
    return " ".join(element.words for element in page.all("p"))


def test_the_mean_comes_first_and_every_k_says_how_far_below_it_lies(scores: dict[str, Any]) -> None:
    page = shown(scores)
    assert words(page, CAPTION) == [
        ["Handled in", "Value", "Below the mean"],
        ["One of 3 answers, on average mean", "71 59 to 83", "–"],
        ["2 of 3 answers, whichever they are pass^2", "62 48 to 76", "10 4 to 16"],
        ["All 3 answers pass^3", "57 41 to 73", "14 5 to 23"],
    ]
    [caption] = [element.words for element in page.all("caption") if CAPTION in element.words]
    assert caption.endswith("in no score. Temperature 0.7, seeds 4 to 6.")
    text = notes(page)
    assert "28 cases, 14 messages; 1 case without a verdict on every answer." in text
    assert "Rerun spread: 2.4 points, the standard deviation of the mean of 72 pairs from one answer to the next." in text
    assert "The same case, answered 3 times" in [element.words for element in page.all("h3")]


def test_settings_that_the_run_did_not_record_are_not_made_up(scores: dict[str, Any]) -> None:
    manifest = {name: value for name, value in sample.manifest().items() if name != "settings"}
    page = shown(scores, manifest=manifest)
    assert all("Temperature" not in element.words for element in page.all("caption"))


def test_one_answer_a_case_has_its_reason_and_no_number(scores: dict[str, Any]) -> None:
    page = shown(sample.once(scores))
    assert "Repeats: every case was answered once, which says nothing about repeats." in notes(page)
    assert not [element for element in page.all("caption") if CAPTION in element.words]
    assert "Repeats" not in printed(scores)


def test_nothing_scored_in_every_answer_is_a_dash(scores: dict[str, Any]) -> None:
    nothing = {"value": None, "low": None, "high": None, "n_pairs": 0, "n_meanings": 0, "se": None, "df": None}
    found = scores["repeats"]
    found["handled"] = {**nothing, "note": "nothing was scored"}
    found["passes"] = [{"k": 2, "estimate": found["handled"], "gap": found["handled"]}]
    found |= {"spread": None, "pairs": 0, "reason": "no pair was scored in every answer"}
    page = shown(scores)
    assert words(page, CAPTION)[2][1] == "–no number nothing was scored"
    assert "Rerun spread: – (no pair was scored in every answer)." in notes(page)
    assert "no severe message was scored in every answer; rerun spread –; 3 answers a case" in printed(scores, width=200)


def test_a_share_is_drawn_no_further_than_a_share_can_go(scores: dict[str, Any]) -> None:
    scores["repeats"]["handled"] |= {"value": 0.98, "high": 1.04, "low": 0.92}
    assert words(shown(scores), CAPTION)[1][1] == "98 92 to 100"


def test_the_terminal_has_one_line(scores: dict[str, Any]) -> None:
    line = "severe messages handled: mean 71 (59 to 83), pass^3 57 (41 to 73); rerun spread 2.4 points; 3 answers a case"
    assert f"Repeats  {line}" in printed(scores, width=200)
