"""The section of trust dimensions and crisis categories, as it stands on the page."""

from __future__ import annotations

import re
from typing import Any

import pytest

from helmbench_hf.report import dimensions
from helmbench_hf.report.html import render
from tests.report import sample
from tests.report.page import Element, Page
from tests.report.payloads import PAYLOADS

TRUST = "they enter no other score"
CONFUSION = "Rows: the category of the message."
LEVELS = "Replies from 5 (appropriate) to 1 (harmful)"
FOURFOLD = "28 crisis messages"
FACTS = "how often the category was right"
NOTHING = {**dict.fromkeys(("value", "low", "high", "se", "df")), "n_pairs": 0, "n_meanings": 0, "note": "nothing was scored"}


@pytest.fixture
def scores() -> dict[str, Any]:
    return sample.sample_scores()


def shown(scores: dict[str, Any], **changes: Any) -> Page:
    return Page(render(sample.sample_run(scores=scores, **changes)))


def cells(page: Page, caption: str) -> list[list[Element]]:
    """The cells, row by row, of the table that is captioned so."""
    start = next(index for index, e in enumerate(page.elements) if e.name == "caption" and caption in e.words)
    found: list[list[Element]] = []
    for element in page.elements[start:]:
        if element.name == "table":
            break
        if element.name == "tr":
            found.append([])
        elif element.name in ("th", "td"):
            found[-1].append(element)
    return found


def words(page: Page, caption: str) -> list[list[str]]:
    return [[cell.words for cell in row] for row in cells(page, caption)]


def section(page: Page) -> str:
    return page.by_id("dimensions").words


def test_the_section_has_a_heading_and_a_way_to_it(scores: dict[str, Any]) -> None:
    page = shown(scores)
    assert page.by_id("h-dimensions").words == "The eight trust dimensions"
    assert page.by_id("dimensions").attributes["aria-labelledby"] == "h-dimensions"
    assert [e.words for e in page.all("a") if e.attributes.get("href") == "#dimensions"] == ["Dimensions"]
    assert section(shown(sample.smoke_scores())).startswith("The eight trust dimensions plumbing: not reportable")


def test_every_dimension_spans_its_figures(scores: dict[str, Any]) -> None:
    table = cells(shown(scores), TRUST)
    heads = [(cell.words, cell.attributes["rowspan"]) for row in table[1:] for cell in row if cell.name == "th"]
    assert heads == [
        ("Reliability", "2"),
        ("Crisis identification and escalation", "1"),
        ("Safety", "1"),
        ("Fairness", "2"),
        ("Robustness", "2"),
        ("Anti-sycophancy", "1"),
        ("Ethics", "1"),
    ]
    assert len(table) == 1 + len(scores["trust"])


def test_agreement_and_spread_stand_beside_chance(scores: dict[str, Any]) -> None:
    rows = {row[-5]: row[-4:] for row in words(shown(scores), TRUST)[1:]}
    assert rows["The same message told another way comes out alike"] == ["71 56 to 86", "53", "–", "24 cases, 16 messages"]
    assert rows["How much credit depends on who wrote the same words"] == [
        "18 compare it with what chance gives; no interval",
        "15",
        "0.043",
        "36 replies, 6 messages",
    ]
    assert rows["Score with noise minus score without"][:3] == ["−12 −32 to 8", "–", "–"]
    assert rows["Mean score of the scenarios that name it P2-B1-S1, P2-B5-S1"][1:3] == ["–", "–"]


@pytest.mark.parametrize(("p", "said"), [(1 / 2001, "< 0.001"), (0.043, "0.043"), (0.0999, "0.100"), (0.1, "0.10")])
def test_small_p_values_have_a_digit_more(scores: dict[str, Any], p: float, said: str) -> None:
    scores["trust"] = [{**scores["trust"][6], "p_value": p}]
    assert words(shown(scores), TRUST)[1][4] == said


def test_what_is_unknown_is_a_dash_with_its_reason(scores: dict[str, Any]) -> None:
    scores["trust"] = [{**scores["trust"][0], "estimate": NOTHING}]
    row = words(shown(scores), TRUST)[1]
    assert row[2:] == ["–no number nothing was scored", "–", "–", "0 pairs, 0 messages"]


def test_a_run_without_dimensions_and_categories_says_so() -> None:
    page = shown(sample.absent_scores())
    assert "– No scenario of this run has a score." in section(page)
    assert "Crisis categories" not in section(page)
    assert not re.search(r"\d", section(page).split("scores 0.")[1])


def test_categories_alone_are_shown(scores: dict[str, Any]) -> None:
    scores["trust"] = []
    scores["crisis"] |= {"classification": [], "knew_handled": []}
    text = section(shown(scores))
    assert "No scenario of this run has a score." in text
    assert "Crisis categories: named, and answered" in text
    assert LEVELS in text
    assert "Knew it" not in text
    assert "Which category was taken for which" not in text


def test_naming_says_what_a_constant_answer_reaches(scores: dict[str, Any]) -> None:
    assert dict(words(shown(scores), FACTS)) == {
        "Right category": "73 60 to 86",
        "Macro-F1": "0.72 a constant answer reaches 0.16",
        "Crises called some crisis": "75 59 to 91",
        "Messages without a crisis called so": "83 68 to 98",
        "Right where the signal is explicit": "90 81 to 99",
        "Right where it is implicit": "50 25 to 75",
    }


def test_a_share_of_no_message_is_a_dash(scores: dict[str, Any]) -> None:
    scores["crisis"]["classification"][0] |= {"none_seen": NOTHING, "explicit": NOTHING}
    found = dict(words(shown(scores), FACTS))
    assert found["Messages without a crisis called so"] == "–no number nothing was scored"
    assert found["Right where the signal is explicit"].startswith("–")


def test_the_confusion_counts_and_shares_each_row(scores: dict[str, Any]) -> None:
    table = cells(shown(scores), CONFUSION)
    assert [[cell.words for cell in row] for row in table] == [
        ["Message", "n", "anxiety crisis", "no crisis", "self harm", "suicidal ideation", "unreadable"],
        ["anxiety crisis", "8", "5 62%", "3 38%", "0", "0", "0"],
        ["no crisis", "24", "2 8%", "20 83%", "0", "1 4%", "1 4%"],
        ["self harm", "8", "0", "1 12%", "5 62%", "2 25%", "0"],
        ["suicidal ideation", "12", "0", "2 17%", "1 8%", "8 67%", "1 8%"],
    ]


def test_what_was_right_is_bold_and_nothing_else(scores: dict[str, Any]) -> None:
    found = dimensions.classification(scores, {})[0]
    right = [(i, j) for i, row in enumerate(found["rows"]) for j, cell in enumerate(row["cells"]) if cell["right"]]
    assert right == [(0, 0), (1, 1), (2, 2), (3, 3)]
    page = shown(scores)
    after = page.elements[page.elements.index(page.by_id("dimensions")) :]
    bold = [e.words for e in after if e.name == "b" and "details" in e.path and "num" not in str(e.attributes.get("class"))]
    assert bold == ["5", "20", "5", "8"]


def test_levels_stand_from_best_to_worst_and_all_together_last(scores: dict[str, Any]) -> None:
    table = words(shown(scores), LEVELS)
    assert table[0] == ["Category", "Mean level", "5", "4", "3", "2", "1", "Harmful (1 or 2)", "No usable answer"]
    assert [row[0] for row in table[1:]] == ["anxiety crisis", "no crisis", "self harm", "suicidal ideation", "all together"]
    assert table[1] == ["anxiety crisis", "3.75 3.35 to 4.15", "2", "3", "2", "1", "0", "12% 0 to 24%", "0"]
    assert table[-1][2:7] == ["17", "16", "9", "7", "3"]
    assert table[2][-2] == "8% 0 to 20%"  # the interval of a share is drawn no further than a share can go


def test_the_fourfold_table_holds_counts_and_shares(scores: dict[str, Any]) -> None:
    assert words(shown(scores), FOURFOLD) == [
        ["", "Handled", "Not handled"],
        ["Right category", "9 (32%)", "9 (32%)"],
        ["Wrong category", "4 (14%)", "6 (21%)"],
    ]


def test_a_scenario_goes_by_its_title_where_the_run_knows_it(scores: dict[str, Any]) -> None:
    titles = {"P2-B6-S8": "Answered", "P1-B6-S8": "Named"}
    assert dimensions.classification(scores, titles)[0]["title"] == "Named"
    assert dimensions.appraisal(scores, titles)[0]["title"] == "Answered"
    assert dimensions.appraisal(scores, {})[0]["title"] == "P2-B6-S8"
    scores["scenarios"][0] |= {"code": "P2-B6-S8", "title": "As it is called"}
    transcripts = sample.transcripts(1)
    transcripts[0] |= {"scenario": "P1-B6-S8", "title": "From its transcript"}
    heads = [e.words for e in shown(scores, transcripts=transcripts).all("h4")]
    assert {"As it is called P2-B6-S8", "From its transcript P1-B6-S8"} <= set(heads)


def test_every_scenario_has_a_table_of_its_own(scores: dict[str, Any]) -> None:
    found = scores["crisis"]
    found["classification"].append({**found["classification"][0], "scenario": "P1-B6-S1"})
    found["appraisal"] += [{**row, "scenario": "P2-B6-S1"} for row in found["appraisal"]]
    assert [table["scenario"] for table in dimensions.classification(scores, {})] == ["P1-B6-S8", "P1-B6-S1"]
    tables = dimensions.appraisal(scores, {})
    assert [(table["scenario"], len(table["rows"])) for table in tables] == [("P2-B6-S8", 5), ("P2-B6-S1", 5)]
    page = shown(scores)
    assert sum(FACTS in e.words for e in page.all("caption")) == 2


def test_levels_stand_in_the_place_of_pass_and_fail(scores: dict[str, Any]) -> None:
    rows = {row[0]: row[2] for row in words(shown(scores), "Share of verdicts per criterion and judge")[1:]}
    assert rows["Appraisal: thoughts of suicide A01"] == "level 5: 17%, 4: 25%, 3: 25%, 2: 25%, 1: 8%"
    assert rows["Notices the person K01"] == "pass 50%, partial 20%, fail 30%"


@pytest.mark.parametrize("payload", PAYLOADS[:12])
def test_hostile_names_stay_text(scores: dict[str, Any], payload: str) -> None:
    """Category names come from answers: what a model called a message may be anything."""
    before = {e.name for e in shown(sample.sample_scores()).elements}
    found = scores["crisis"]["classification"][0]
    found["columns"][4] = found["confusion"][2]["category"] = payload
    for row in scores["crisis"]["appraisal"]:
        row |= {"scenario": payload, "category": payload}
    scores["crisis"]["knew_handled"][0] |= {"classified": payload, "answered": payload}
    scores["trust"][0] |= {"title": payload, "measure": payload, "scenarios": [payload]}
    page = shown(scores)
    assert {e.name for e in page.elements} <= before
    assert len(page.all("script")) == 2
    assert not [name for e in page.elements for name in e.attributes if name.startswith("on") or name in ("style", "src")]
    flat = " ".join(payload.replace("_", " ").split())
    assert words(page, CONFUSION)[0][-1] == flat
    assert words(page, CONFUSION)[3][0] == flat
    assert words(page, LEVELS)[1][0] == flat


def test_a_hostile_name_still_marks_the_right_cell(scores: dict[str, Any]) -> None:
    found = scores["crisis"]["classification"][0]
    found["columns"][4] = found["confusion"][3]["category"] = PAYLOADS[0]
    rows = dimensions.classification(scores, {})[0]["rows"]
    assert [cell["right"] for cell in rows[3]["cells"]] == [False, False, False, False, True]
