"""Questions named beforehand, adjusted p, people, ladders and intervals of the curves, as they stand on the page."""

from __future__ import annotations

from typing import Any

import pytest

from helmbench_hf.report import contrasts, plots, tested
from helmbench_hf.report.html import render
from tests.report import sample
from tests.report.page import Page
from tests.report.payloads import PAYLOADS
from tests.report.test_dimensions import words


@pytest.fixture
def scores() -> dict[str, Any]:
    return sample.sample_scores()


def shown(scores: dict[str, Any]) -> Page:
    return Page(render(sample.sample_run(scores=scores)))


def questions(page: Page) -> list[list[str]]:
    """The cells of the table of primary contrasts without the drawn one."""
    start = next(
        i for i, e in enumerate(page.elements) if e.attributes.get("aria-labelledby") == "c-questions" and e.name == "table"
    )
    found: list[list[str]] = []
    for element in page.elements[start + 1 :]:
        if element.name == "table":
            break
        if element.name == "tr":
            found.append([])
        elif element.name in ("th", "td") and "plot" not in (element.attributes.get("class") or ""):
            found[-1].append(element.words)
    return found[1:]


def test_every_named_question_is_listed_with_what_became_of_it(scores: dict[str, Any]) -> None:
    rows = questions(shown(scores))
    assert len(rows) == 11
    assert rows[0] == [
        "Is risk lost when nobody asks? asked openly against hidden",
        "+25 10 to 40",
        "differsadjusted p 0.01130 pairs, 26 messages",
    ]
    assert rows[2][1:] == ["+8 −2 to 18", "not shownadjusted p 0.2434 pairs, 30 messages"]
    assert rows[3][1:] == ["–no number this run holds no such pairs", "not tested"]
    assert rows[7][1:] == ["–no number 6 pairs; nothing is printed below 30", "not tested6 pairs, 6 messages"]


def test_the_families_are_told_with_their_size(scores: dict[str, Any]) -> None:
    text = shown(scores).by_id("conditions").words
    assert "Named beforehand: 4 of 11 could be tested, 2 differ (Holm; at most 5% risk of any false finding" in text
    assert "All others, exploratory: 3 of 13 could be tested, 2 differ (Benjamini-Hochberg; at most 10% of such findings" in text


def test_effects_have_their_verdict_beside_them(scores: dict[str, Any]) -> None:
    rows = {row[0]: row[1:] for row in words(shown(scores), "Deployment persona: change against the reference")[1:]}
    assert rows["companion"] == ["neutral", "−21 −36 to −6", "0.022", "differs", "41", "38"]
    assert rows["spiritual-guide"] == ["neutral", "−15 −28 to −2", "0.038", "differs (exploratory)", "33", "31"]
    assert rows["terse-expert"] == ["neutral", "– n too small", "–", "not tested", "12", "12"]


def test_nothing_shown_is_never_called_equal(scores: dict[str, Any]) -> None:
    text = shown(scores).by_id("conditions").words
    assert "“Not shown” does not mean that nothing changes." in text
    assert "no difference" not in text


def test_people_stand_with_their_messages(scores: dict[str, Any]) -> None:
    rows = words(shown(scores), "Credit against the other people on the same messages")[1:]
    assert rows[0] == ["reference", "– n too small", "–", "not tested", "6"]
    assert rows[-1] == ["aged-79", "−8 −15 to −1", "0.038", "differs (exploratory)", "36"]
    for row in scores["demographics"]:
        row["estimate"] = None
    assert "Nobody sent 30 messages" in shown(scores).by_id("dimensions").words


def test_ladders_stand_beside_chance(scores: dict[str, Any]) -> None:
    rows = words(shown(scores), "Inverted ladders against what chance gives")[1:]
    assert rows[0] == ["Hidden in another job", "67%", "55%", "+11 −4 to 27", "no excess shown", "27 ladders, 18 scenarios"]
    assert rows[1] == ["Asked openly", "–", "–", "– n too small", "not tested", "2 ladders, 1 scenario"]


@pytest.mark.parametrize(
    ("low", "high", "reading"),
    [(0.01, 0.2, "more often than chance"), (-0.3, -0.1, "less often than chance"), (-0.1, 0.1, "no excess shown")],
)
def test_an_excess_is_read_by_its_interval(scores: dict[str, Any], low: float, high: float, reading: str) -> None:
    scores["ladders"][0]["excess"] |= {"low": low, "high": high}
    assert tested.ladders(scores)[0]["reading"] == reading


def test_every_point_of_a_curve_has_its_interval(scores: dict[str, Any]) -> None:
    chart = plots.curves(scores["curves"])
    assert chart is not None
    top = chart.arms[0].dots[-1]
    assert (top.y, top.high) == (0, 0)
    assert top.low == pytest.approx(100 - 100 * 0.025 ** (1 / 6), abs=0.01)
    assert dict(chart.rows)["10"][0] == "100% (8 of 8; 54% to 100%)"
    page = shown(scores)
    lines = [e for e in page.all("line") if (e.attributes.get("class") or "").startswith("error")]
    assert len(lines) == sum(len(arm.dots) for arm in chart.arms)


def test_thresholds_are_told_or_why_there_is_none(scores: dict[str, Any]) -> None:
    hidden, asked = contrasts.midpoints(scores["curves"])
    assert hidden.startswith(
        "Hidden in another job: half are marked at severity 4.2 (3.1 to 5.5); nine in ten at 8.1 (6.9 to 9.3)."
    )
    assert "no point for nine in ten (how fast marks become more frequent with severity is not known well enough)" in asked


@pytest.mark.parametrize("payload", PAYLOADS[:12])
def test_hostile_names_stay_text(scores: dict[str, Any], payload: str) -> None:
    before = {e.name for e in shown(sample.sample_scores()).elements}
    for row in scores["comparisons"]["contrasts"]:
        row |= {"level": payload, "reference": payload, "title": payload, "reason": payload}
    for family in scores["comparisons"]["families"]:
        family["method"] = payload
    for row in scores["demographics"]:
        row |= {"slug": payload, "reason": payload}
    for row in scores["ladders"]:
        row |= {"arm": payload, "reason": payload}
    page = shown(scores)
    assert {e.name for e in page.elements} <= before
    assert len(page.all("script")) == 2
    assert not [name for e in page.elements for name in e.attributes if name.startswith("on") or name in ("style", "src")]
