"""The page as a file: its text, what a changed score says, escaping, structure for people and for assistive technology."""

from __future__ import annotations

import itertools
import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.report.page import render, write_report
from helmbench_hf.report.tables import provenance
from helmbench_hf.runs.worded import Worded
from helmbench_hf.scoring.scores import PathEnd, Paths, from_json
from tests.report import sample
from tests.report.page import Page
from tests.report.payloads import PAYLOADS, hostile_run
from tests.report.test_text import UNSEEN

OURS = re.compile(
    r"html|head|meta|title|link|style|body|a|header|div|span|strong|main|section|h1|h2|h3|h4|p|table|thead|tbody|tr|th|td|caption|"
    r"svg|line|rect|circle|path|text|polyline|desc|ul|li|dl|dt|dd|nav|ol|figure|figcaption|details|summary|button|noscript|label|select|option|input|script|footer|b|br|"
    r"code"
)
"""Every element that the templates use."""
TEXT = Path(__file__).parent / "sample.page.txt"
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def text() -> str:
    return render(sample.sample_run())


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def changed(change: Change, base: Callable[[], dict[str, Any]] = sample.sample_scores, **fields: Any) -> Page:
    scores = base()
    change(scores)
    return Page(render(sample.sample_run(scores, **fields)))


def test_the_page_says_what_it_said(page: Page) -> None:
    """After a wanted change: `python -m tests.report.test_page` writes the text again; read its diff."""
    assert page.lines() == TEXT.read_text(encoding="utf-8").splitlines()


def judged_by(*names: str) -> Change:
    def change(scores: dict[str, Any]) -> None:
        judges = [scores["provenance"]["judges"][0] | {"id": name, "family": name} for name in names]
        scores["provenance"] |= {"judges": judges, "panel": "majority"}
        alpha = {"value": 0.62, "low": 0.41, "high": 0.83, "n_pairs": 40, "n_meanings": 12, "se": 0.1, "df": 11.0, "note": ""}
        pair = {"criterion": "K01", "title": "Notices", "first": names[0], "second": names[1], "n": 38}
        scores["agreement"] = {
            "judge_pairs": [pair | {"same": 0.75, "kappa": 0.5}],
            "panel": [{"criterion": "K01", "title": "Notices", "verdicts": 78, "alpha": alpha}],
        }

    return change


def validated(*criteria: int) -> Change:
    return lambda s: [row.update(validated=i in criteria) for i, row in enumerate(s["criteria"])]


def claim(**fields: Any) -> Change:
    given = {"judge": "demo-judge", "state": "", "basis": "gold", "labels_sha256": "", "labels": 9, "check": "c", "passes": []}
    return lambda s: s.update(checks=[given | {"fails": []} | fields])


def without(*path: str) -> Change:
    """Empty a list or a number of the scores."""

    def change(scores: Any) -> None:
        for name in path[:-1]:
            scores = scores[name]
        scores[path[-1]] = type(scores[path[-1]])()

    return change


def pillar_lost(scores: dict[str, Any]) -> None:
    gone = scores["pillars"].pop(2)
    scores["headline"]["overall"]["absent"] = [*gone["parts"], *gone["absent"]]
    scores["headline"]["covers"].remove("P3-B1")


def unchecked(scores: dict[str, Any]) -> None:
    scores["correction"] |= {"reason": "no check of this judge is cited", "rho": None, "rho_df": 0, "rows": []}
    scores["headline"]["overall"]["corrected"] = sample.blank(scores["headline"]["overall"]["corrected"])


def failed_by_one_judge(scores: dict[str, Any]) -> None:
    validated(*range(9))(scores)
    scores["criteria"].append(scores["criteria"][0] | {"judge": "second", "validated": False})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: [pillar.update(absent=[]) for pillar in s["pillars"]], "Composite (all 9 behaviors)"),
        (
            lambda s: s["headline"]["overall"]["coverage"].update(scored=75),
            "75 of 75 pairs scored, 49% of the weight. A breached",
        ),
        (pillar_lost, "– Pillar P3: no behavior is scored in this run."),
        (without("floors"), "This run tests no floor."),
        (validated(0), "Judge validated on 1 of 8 criteria"),
        (validated(*range(9)), "Judge validated demo-judge: not checked."),
        (without("provenance", "judges"), "No judge graded this run: every score comes from code alone."),
        (claim(fails=["K01"], passes=["K02"]), "demo-judge: fails the gate on gold: K01; passes on K02."),
        (claim(passes=["K01", "K04"], basis="human"), "demo-judge: claim-ready on 2 criteria. Not checked: "),
        (claim(passes=["K01"]), "demo-judge: passes on gold, not human, on 1 criterion."),
        (judged_by("one", "two"), "Panel majority: the verdict of more than half of the judges counts, else the median."),
        (judged_by("one", "two"), "Notices K01all 2400.62 0.41 to 0.83–– one, two38–75%0.50"),
        (judged_by("one", "two"), "judge: one, two, panel majority; judge not validated."),
        (lambda s: s["quality"][0].update(withheld=0, withheld_severe=0), "Composite (slice"),
        (
            lambda s: s["quality"][0].update(withheld=1, withheld_severe=0),
            "1 of 240 answers was withheld by the provider’s policy",
        ),
        (lambda s: s["quality"].append(s["quality"][0] | {"scenario": "P1-B1-S51"}), "Handover sheet, asked openly P1-B1-S51"),
        (unchecked, "Not corrected for the judge's errors: no check of this judge is cited."),
        (lambda s: s["correction"].update(rho=None), "The check has replies of one source only"),
        (lambda s: s["gap"]["net"].update(low=0.01, high=0.3), "the model loses risk more than it loses an equally"),
        (lambda s: s["gap"]["net"].update(low=-0.3, high=-0.01), "loses a neutral detail more than it loses risk"),
        (lambda s: s["gap"]["net"].update(low=None), "This run cannot say whether risk is lost more"),
        (lambda s: s["ladders"][0]["excess"].update(low=0.01), "more often than chance"),
        (lambda s: s["ladders"][0]["excess"].update(low=-0.3, high=-0.1), "less often than chance"),
        (lambda s: [row.update(estimate=None) for row in s["demographics"]], "Nobody sent 30 messages"),
        (without("cells"), "This run holds no such cells."),
        (lambda s: s["cells"].append(s["cells"][0] | {"condition": "C12"}), "not in this design"),
        (without("trust"), "No scenario of this run has a score."),
        (lambda s: s["trust"][6].update(p_value=1 / 2001), "< 0.001"),
        (without("quality"), "No answers are recorded."),
        (without("tag_reply", "n"), "Judged criteria"),
        (lambda s: [row.update(incidents=0) for row in s["incidents"]["types"]], "That does not mean that none can happen."),
        (without("incidents", "types"), "This run holds no reply that could show an incident."),
        (lambda s: s.update(incidents=None), "defines no kinds of incidents"),
        (lambda s: s["repeats"]["handled"].update(value=0.98, high=1.04, low=0.92), "on average98 92 to 100"),
        (lambda s: s["vetoes"].append(s["vetoes"][0] | {"confirmed": True}), "Confirmed: 1"),
        (lambda s: s["pillars"][0]["score"].update(value=float("nan")), "–no number"),
        (lambda s: s["pillars"][0]["new_scenarios"].update(note="rests on <b>one</b>"), "rests on <b>one</b>"),
        (failed_by_one_judge, "Judge validated on 7 of 8 criteria"),
        (lambda s: [pillar.update(absent=[]) for pillar in s["pillars"]], "not: A slice of the benchmark"),
        (lambda s: s["quality"][0].update(withheld=0), "not: Withheld."),
        (lambda s: s["correction"].update(judge=""), "not: are removed."),
        (without("tag_reply", "n"), "not: Tag and reply together"),
        (lambda s: None, "not: How far the judges agree"),
        (lambda s: None, "not: no number is reportable"),
        (lambda s: s.update(repeats=None), "not: answered 3 times"),
        (judged_by("one", "two"), "not: With judges of one family"),
    ],
)
def test_a_changed_score_changes_the_words(change: Change, words: str) -> None:
    """Words after `not: ` are not said."""
    text = changed(change).all("body")[0].words.replace("\u00a0", " ")
    assert (words.removeprefix("not: ") in text) is not words.startswith("not: ")
    assert "nan" not in text.split("Provenance")[0].lower().split()


def test_a_run_without_numbers_is_written_in_dashes() -> None:
    page = changed(lambda s: None, sample.absent_scores, transcripts=(), policies=())
    words = page.all("main")[0].words
    assert words.count("no pair was scored") > 20
    for phrase in ("No verdict in this run; limit 1%.", "no case with a severity", "without transcripts", "No level of these"):
        assert phrase in words
    assert not re.search(r"(?<![\d,.])0%(?!:)|0 of 0", words.split("Provenance")[0])


def test_smoke_is_called_plumbing_on_every_section_with_numbers() -> None:
    page = changed(lambda s: None, sample.smoke_scores)
    assert "Plumbing, no number is reportable." in page.all("header")[0].words
    assert len([e for e in page.all("h2") if "plumbing: not reportable" in e.words]) == 11
    assert "Smoke design: no number may be cited." in page.all("main")[0].words


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ({"model": {"id": "tiny", "commit": "abc"}}, "Model tiny (abc);"),
        ({"model": {"id": "tiny", "served": "not verified"}}, "Model tiny (served: not verified);"),
        ({"model": {"id": "tiny"}}, "Model tiny (identity not recorded);"),
        ({"model": {"id": "{{ 7*7 }}{% raw %}"}}, "{{ 7*7 }}{% raw %}"),
        ({}, "Unnamed model"),
        ({"model": {"id": ["no", "name"]}}, "['no', 'name']"),
        ({"model": "a name"}, "Unnamed model"),
        ({"times": None, "judges": []}, "Unnamed model"),
        ({"dataset": [1, {"a": 2}]}, "Unnamed model"),
    ],
)
def test_any_manifest_gives_a_page(manifest: dict[str, Any], said: str) -> None:
    page = changed(lambda s: None, manifest=manifest)
    assert said in page.all("body")[0].words
    assert "Temperature" not in page.all("body")[0].words


def test_provenance_keeps_every_fact_that_the_run_recorded() -> None:
    facts = {**sample.manifest(), "notes": "by hand", "deep": {"a": [{"b": None}, {"b": True}]}}
    groups = dict(provenance(from_json(sample.sample_scores()), facts))
    assert ("cases sha256", "cd" * 32) in groups["Benchmark and scoring"]
    assert ("max num batched tokens", "16,384") in groups["Engine"]
    assert groups["Notes"] == [("", "by hand")]
    assert groups["Deep"] == [("a 1 · b", "–"), ("a 2 · b", "yes")]


def test_the_file_appears_alone_and_a_failure_leaves_the_old_one(tmp_path: Path) -> None:
    path = write_report(sample.sample_run(), tmp_path / "new" / "report.html")
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]
    before = path.read_text(encoding="utf-8")
    with pytest.raises(AttributeError):
        write_report(sample.sample_run(transcripts=["no transcript"]), path)
    assert path.read_text(encoding="utf-8") == before == render(sample.sample_run())
    assert len(before.encode()) < 280_000


def test_nothing_is_loaded_and_the_policy_names_only_this_script_and_style(page: Page) -> None:
    for element in page.elements:
        assert not {"src", "srcset", "data", "action", "poster", "background", "style"} & set(element.attributes), element
        assert not [name for name in element.attributes if name.startswith("on")]
        assert (element.attributes.get("href") or "#").startswith(("#", "data:,"))
    policy = next(e for e in page.all("meta") if e.attributes.get("http-equiv") == "Content-Security-Policy").attributes[
        "content"
    ]
    script = next("".join(e.text) for e in page.all("script") if e.attributes.get("type") is None)
    for kind, content in (("script", script), ("style", "".join(page.all("style")[0].text))):
        assert f"{kind}-src 'sha256-{b64encode(sha256(content.encode()).digest()).decode()}';" in (policy or "")
    assert (policy or "").startswith("default-src 'none'; ")


def test_the_page_is_built_for_assistive_technology(page: Page) -> None:
    ids = Counter(e.attributes["id"] for e in page.elements if "id" in e.attributes)
    assert max(ids.values()) == 1
    levels = [int(e.name[1]) for e in page.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    for element in page.elements:
        found = element.attributes
        for name in ("aria-labelledby", "aria-describedby"):
            assert set((found.get(name) or "").split()) <= set(ids), (element.name, found)
        if element.name in ("table", "section", "nav", "select") or found.get("class") == "scroll":
            captioned = element.name == "table" or "label" in element.path
            assert captioned or {"aria-label", "aria-labelledby"} & set(found), found
        if element.name == "th":
            assert "scope" in found
        if element.name == "svg" and "svg" not in element.path:
            assert found.get("aria-hidden") == "true" or {"aria-label", "aria-labelledby"} & set(found)
        if found.get("class") == "scroll":
            assert found["tabindex"] == "0"
    assert {e.attributes["href"] for e in page.all("a") if "nav" in e.path} <= {f"#{identity}" for identity in ids}


def test_transcripts_are_data_behind_a_notice(page: Page) -> None:
    data = page.by_id("transcript-data")
    assert data.attributes["type"] == "application/json"
    assert len(json.loads("".join(data.text))["cases"]) == 40
    assert "hidden" in page.by_id("transcript-browser").attributes
    assert not any("anyone to contact" in line for line in page.lines())
    some = changed(lambda s: None, cases=1534).all("main")[0].words
    assert "This page shows 40 of 1534 cases" in some


@pytest.mark.parametrize("start", range(0, len(PAYLOADS), 4))
def test_no_payload_becomes_markup_or_acts_unseen(start: int) -> None:
    text = render(hostile_run(start))
    assert not UNSEEN.search(text)
    page = Page(text)
    assert [e.name for e in page.elements if not OURS.fullmatch(e.name)] == []
    assert len(page.all("script")) == 2
    for element in page.elements:
        assert not [name for name in element.attributes if name.startswith("on") or name in ("style", "src", "srcdoc", "action")]
        assert (element.attributes.get("href") or "#").startswith(("#", "data:,"))


if __name__ == "__main__":
    TEXT.write_text("\n".join(Page(render(sample.sample_run())).lines()) + "\n", encoding="utf-8")


def test_a_run_with_worded_lines_says_so_first_and_shows_its_gates() -> None:
    worded = Worded(lines=40, authored=3, tries=50, leaks=2, role=1, strays=4, form=3)
    paths = Paths(1, 1, 0, (), (PathEnd("crisis", "left", 1),), 0.5)
    scores = replace(from_json(sample.sample_scores()), paths=paths)
    said = {**sample.manifest(), "user": {"engine": "vllm:somebody/person"}}
    text = " ".join(Page(render(sample.sample_run(scores, manifest=said, worded=worded))).lines())
    assert "Experiment: a model worded the person’s lines." in text
    assert "vllm:somebody/person" in text
    assert "40 lines after the first message took 50 tries" in text
    assert "Not met: no line tells what comes later." in text
    assert "Not measured by this run: two user models" in text
    assert "Experiment" not in " ".join(Page(render(sample.sample_run())).lines())
