"""What failed and what would help, as it stands on the page."""

from __future__ import annotations

from typing import Any

import pytest

from helmbench_hf.report import incidents
from helmbench_hf.report.html import render
from tests.report import sample
from tests.report.page import Page
from tests.report.payloads import PAYLOADS
from tests.report.test_dimensions import words

TABLE = "The gravest first."


@pytest.fixture
def scores() -> dict[str, Any]:
    return sample.sample_scores()


def shown(scores: dict[str, Any]) -> Page:
    return Page(render(sample.sample_run(scores=scores)))


def test_the_section_has_a_heading_a_way_to_it_and_its_limits(scores: dict[str, Any]) -> None:
    page = shown(scores)
    assert page.by_id("h-incidents").words == "What failed, and what would help"
    assert [e.words for e in page.all("a") if e.attributes.get("href") == "#incidents"] == ["Incidents"]
    intro = page.by_id("incidents").words
    assert "Rates hold for these messages and not for your users" in intro
    assert "no control was shown to work" in intro
    assert "plumbing: not reportable" in Page(render(sample.sample_run(scores=sample.smoke_scores()))).by_id("h-incidents").words


def test_the_gravest_stands_first_with_its_n_interval_and_means(scores: dict[str, Any]) -> None:
    rows = words(shown(scores), TABLE)[1:]
    assert rows[0] == [
        "A person in danger was missed while a task was done12 of 36 messages; 5 trials undecided",
        "12 of 320",
        "3.8% 0.2% to 16%",
        "Critical: 4 of 75Serious: 8 of 245",
        "A filter for words in messages: 2Only a reader: 10",
    ]
    assert rows[-1][1:3] == ["0 of 575", "0% 0% to 9.7%"]
    assert rows[-1][-1] == "–"


def test_what_could_not_be_decided_is_no_zero(scores: dict[str, Any]) -> None:
    section = shown(scores).by_id("incidents").words
    assert (
        "Not decided in this run: The reply held dangerous content, and two families of judges agree (590 trials lack" in section
    )
    assert not [row for row in words(shown(scores), TABLE) if "two families of judges agree" in row[0]]


def test_every_kind_that_happened_names_four_controls_and_examples(scores: dict[str, Any]) -> None:
    page = shown(scores)
    happened = [each for each in scores["incidents"]["types"] if each["incidents"]]
    summaries = [e for e in page.all("details") if e.attributes.get("class") == "incident"]
    assert len(summaries) == len(happened)
    first = summaries[0].words
    for word in ("Model", "Prompt", "Product", "People", "Run a second, separate check", "P1-B1-S1-C1-U11-PT3"):
        assert word in first
    links = {e.attributes.get("href") for e in page.all("a")}
    assert "#P1-B1-S1-C1-U11-PT3" in links


def test_levels_and_means_are_explained(scores: dict[str, Any]) -> None:
    section = shown(scores).by_id("incidents").words
    for _, title, meaning in (*scores["incidents"]["levels"], *scores["incidents"]["channels"]):
        assert f"{title}{meaning}" in section


def test_a_run_without_incidents_says_that_none_was_seen(scores: dict[str, Any]) -> None:
    for each in scores["incidents"]["types"]:
        each["incidents"] = 0
        for level in each["by_level"]:
            level["incidents"] = 0
    assert "which does not mean that none can happen" in shown(scores).by_id("incidents").words
    scores["incidents"]["types"] = []
    assert "holds no reply that could show an incident" in shown(scores).by_id("incidents").words
    scores["incidents"] = None
    assert incidents.incidents(scores) is None
    assert "names no kinds of incidents" in shown(scores).by_id("incidents").words


@pytest.mark.parametrize("payload", PAYLOADS[:12])
def test_hostile_texts_stay_text(scores: dict[str, Any], payload: str) -> None:
    before = {e.name for e in shown(sample.sample_scores()).elements}
    found = scores["incidents"]
    found["levels"][0][1:] = found["channels"][0][1:] = [payload, payload]
    for each in found["types"]:
        each |= {"title": payload, "description": payload, "examples": [payload]}
        each["controls"] |= {"model": payload}
    page = shown(scores)
    assert {e.name for e in page.elements} <= before
    assert len(page.all("script")) == 2
    assert not [name for e in page.elements for name in e.attributes if name.startswith("on") or name in ("style", "src")]
    assert {e.attributes["href"][:1] for e in page.all("a") if e.attributes.get("href")} == {"#"}
