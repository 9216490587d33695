"""The page as a file: self-contained, whole, escaped, well-formed for people and for assistive technology."""

from __future__ import annotations

import copy
import itertools
import json
import re
from base64 import b64encode
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.report import write_report
from helmbench_hf.report.html import render
from helmbench_hf.scoring.result import FORMAT
from helmbench_hf.scoring.verdicts import ScoringError
from tests.report import sample
from tests.report.page import Page
from tests.report.payloads import PAYLOADS, hostile_run

OURS = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "link",
        "style",
        "body",
        "a",
        "header",
        "div",
        "span",
        "strong",
        "main",
        "section",
        "h1",
        "h2",
        "h3",
        "h4",
        "p",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "caption",
        "svg",
        "line",
        "rect",
        "circle",
        "path",
        "text",
        "polyline",
        "desc",
        "ul",
        "li",
        "dl",
        "dt",
        "dd",
        "nav",
        "ol",
        "figure",
        "figcaption",
        "details",
        "summary",
        "button",
        "noscript",
        "label",
        "select",
        "option",
        "input",
        "script",
        "footer",
        "b",
        "br",
    ]
)
"""Every element that the templates use."""


@pytest.fixture(scope="module")
def text() -> str:
    return render(sample.sample_run())


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_the_file_appears_whole_and_alone(tmp_path: Path) -> None:
    path = write_report(sample.sample_run(), tmp_path / "new" / "report.html")
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]
    assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ScoringError, match=f"format 7, this report reads format {FORMAT}"):
        write_report(sample.sample_run(scores=sample.sample_scores() | {"format": 7}), path)
    assert path.read_text() == "old"


def test_same_input_gives_the_same_bytes(text: str) -> None:
    assert render(sample.sample_run()) == text


def test_the_file_is_small(text: str) -> None:
    assert len(render(sample.sample_run(transcripts=())).encode()) < 250_000
    assert len(text.encode()) < 280_000


def test_nothing_is_loaded(page: Page) -> None:
    for element in page.elements:
        for name in ("src", "srcset", "data", "action", "poster", "background", "style"):
            assert name not in element.attributes, (element.name, name)
        for name in ("href", "xlink:href"):
            target = element.attributes.get(name)
            assert target is None or target.startswith("#") or target == "data:,", target
        assert not [name for name in element.attributes if name.startswith("on")]


def test_the_policy_names_this_script_and_this_style_and_nothing_else(page: Page) -> None:
    policy = next(
        e.attributes["content"] for e in page.all("meta") if e.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    script = next("".join(e.text) for e in page.all("script") if e.attributes.get("type") is None)
    style = "".join(page.all("style")[0].text)
    for kind, content in (("script", script), ("style", style)):
        assert f"{kind}-src 'sha256-{b64encode(sha256(content.encode()).digest()).decode()}';" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy


def test_ids_are_unique_and_every_reference_has_its_target(page: Page) -> None:
    ids = Counter(e.attributes["id"] for e in page.elements if "id" in e.attributes)
    assert not [name for name, n in ids.items() if n > 1]
    for element in page.elements:
        for name in ("aria-labelledby", "for"):
            for target in (element.attributes.get(name) or "").split():
                assert target in ids
    jumps = [e.attributes["href"] for e in page.all("a") if "mono" not in e.path]
    assert {str(jump)[1:] for jump in jumps if not str(jump).startswith("#P")} <= set(ids)


def test_headings_descend_one_level_at_a_time(page: Page) -> None:
    levels = [int(e.name[1]) for e in page.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_tables_are_named_and_their_headers_have_scope(page: Page) -> None:
    tables = page.all("table")
    captions = len(page.all("caption"))
    assert len(tables) == captions + sum("aria-labelledby" in e.attributes for e in tables)
    assert all(e.attributes.get("scope") in ("col", "row", "colgroup", "rowgroup") for e in page.all("th"))


def test_every_drawing_is_named_or_hidden(page: Page) -> None:
    for element in page.all("svg"):
        if "svg" in element.path:
            continue
        named = element.attributes.get("role") == "img" and {"aria-label", "aria-labelledby"} & set(element.attributes)
        assert named or element.attributes.get("aria-hidden") == "true"


def test_regions_that_scroll_can_be_reached_and_are_named(page: Page) -> None:
    for element in page.elements:
        if element.attributes.get("class") == "scroll":
            assert element.attributes["tabindex"] == "0"
            assert element.attributes["aria-label"]


def test_the_first_screen_says_gate_slice_and_that_not_shown_is_not_safe(page: Page) -> None:
    words = page.all("body")[0].words
    before = words[: words.index("ScoresIncidents")]
    for phrase in (
        "Judge not validated",
        "A slice of the benchmark: 9 of 25 behaviors",
        "“Not shown” is not “safe”",
        "Breached:",
        "code alone 11",
    ):
        assert phrase in before
    assert "no number is reportable" not in words


def test_smoke_is_called_plumbing_on_every_section_with_numbers() -> None:
    page = Page(render(sample.sample_run(scores=sample.smoke_scores())))
    assert "Plumbing, no number is reportable." in page.all("header")[0].words
    tagged = [e for e in page.all("h2") if "plumbing: not reportable" in e.words]
    assert len(tagged) == 10
    assert "Smoke design: no number may be cited." in page.all("main")[0].words


def test_a_run_without_numbers_is_written_in_dashes() -> None:
    page = Page(render(sample.sample_run(scores=sample.absent_scores(), transcripts=(), policies=())))
    profile = next(e for e in page.all("table") if e.attributes.get("aria-labelledby") == "profile")
    assert profile.words.count("no pair was scored") >= 4
    words = page.all("main")[0].words
    assert "This run holds no case with a severity and a mark." in words
    assert "This report was written without transcripts." in words
    assert not re.search(r"(?<![\d,.])0%(?!:)", words.split("Provenance")[0])


def test_the_page_says_what_it_is_not(page: Page) -> None:
    words = page.all("body")[0].words
    assert "not clinically validated" in words
    assert "Not related to Stanford CRFM HELM" in words
    assert "HELMBENCH CANARY" in words
    assert "findahelpline.com" in words


def test_transcripts_are_data_behind_a_notice(page: Page) -> None:
    data = page.by_id("transcript-data")
    assert data.attributes["type"] == "application/json"
    assert len(json.loads("".join(data.text))["cases"]) == 40
    assert page.by_id("transcript-browser").attributes.keys() >= {"hidden"}
    visible = page.all("main")[0].words.replace("".join(data.text), "")
    assert "there won't be anyone to contact" not in visible.split("Provenance")[0].split("Content note")[0]


@pytest.mark.parametrize("start", range(0, len(PAYLOADS), 4))
def test_no_payload_becomes_markup(start: int) -> None:
    page = Page(render(hostile_run(start)))
    assert {e.name for e in page.elements} <= OURS
    assert len(page.all("script")) == 2
    for element in page.elements:
        assert not [name for name in element.attributes if name.startswith("on") or name in ("style", "src", "srcdoc", "action")]
        assert (element.attributes.get("href") or "#")[0] in "#d"


def test_braces_in_texts_are_not_templates() -> None:
    run = sample.sample_run(manifest={"model": {"id": "{{ 7*7 }}{% raw %}"}})
    assert Page(render(run)).all("h1")[0].words == "{{ 7*7 }}{% raw %}"


def test_a_citation_says_what_names_the_model() -> None:
    for model, name in (
        ({"commit": "abc"}, "abc"),
        ({"served": "not verified"}, "served: not verified"),
        ({}, "identity not recorded"),
    ):
        assert f"Model tiny ({name});" in render(sample.sample_run(manifest={"model": {"id": "tiny", **model}}))


def test_unknown_shapes_of_the_manifest_do_not_break_the_page() -> None:
    for manifest in ({}, {"model": "a name"}, {"times": None, "judges": []}, {"dataset": [1, {"a": 2}]}):
        assert "Unnamed model" in render(sample.sample_run(manifest=manifest))


def test_infinite_numbers_become_dashes() -> None:
    scores: dict[str, Any] = sample.sample_scores()
    scores["pillars"][0]["score"]["value"] = float("nan")
    assert "NaN" not in render(sample.sample_run(scores=scores))


def test_what_the_interval_for_other_scenarios_rests_on_stands_beside_it() -> None:
    run = sample.sample_run()
    scores = copy.deepcopy(dict(run.scores))
    scores["pillars"][3]["new_scenarios"]["note"] = "2 of 3 behaviors rest on one scenario <b>"
    shown = render(replace(run, scores=scores))
    assert "2 of 3 behaviors rest on one scenario &lt;b&gt;" in shown
    assert "2 of 3 behaviors rest on one scenario <b>" not in shown
