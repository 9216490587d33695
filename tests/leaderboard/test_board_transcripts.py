"""The transcripts of runs on the board: behind the content note, narrowed, whole, and two runs on the same case."""

from __future__ import annotations

import copy
import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from helmbench_hf.leaderboard import collect as collecting
from helmbench_hf.leaderboard import pages
from helmbench_hf.leaderboard.collect import collect
from helmbench_hf.leaderboard.data import Data, prepare
from helmbench_hf.leaderboard.marks import Marks
from helmbench_hf.leaderboard.query import Query
from helmbench_hf.leaderboard.reports import Reports
from helmbench_hf.leaderboard.transcripts import PAGE, Index, write_index
from helmbench_hf.report import CONTENT_NOTE
from helmbench_hf.report.transcripts import outcomes
from helmbench_hf.run_folder import RunError
from tests.leaderboard import boards, made
from tests.report import sample

TRANSCRIPTS = sample.transcripts(48)
OPEN = Query(view="transcripts", read=True)
FIRST, SECOND = boards.NAMES[:2]


@pytest.fixture(scope="module")
def data() -> Data:
    return boards.five()


@pytest.fixture(scope="module")
def index() -> Index:
    return boards.index_of(TRANSCRIPTS)


def every(index: Index, **narrowed: Any) -> list[str]:
    """The codes of all pages."""
    first = index.find(replace(OPEN, **narrowed))
    pages = (index.find(replace(OPEN, page=number, **narrowed)) for number in range(1, first.pages + 1))
    found = [row.code for page in pages for row in page.rows]
    assert len(found) == first.count
    return found


def expected(holds: Callable[[Any], bool]) -> list[str]:
    return [entry["case"] for entry in TRANSCRIPTS if holds(entry)]


def test_pages_hold_every_case_once_and_in_order(index: Index) -> None:
    assert every(index) == expected(lambda entry: True)
    found = index.find(OPEN)
    assert (len(found.rows), found.pages) == (PAGE, 3)
    assert index.find(replace(OPEN, page=99)).page == 3, "a page behind the last is the last"


@pytest.mark.parametrize("factor", ["scenario", "behavior", "condition", "member"])
def test_a_factor_narrows_to_its_value_and_every_value_can_be_chosen(index: Index, factor: str) -> None:
    values = [value for value, _ in index.options()[factor]]
    assert values == sorted({entry[factor] for entry in TRANSCRIPTS})  # type: ignore[literal-required]
    for value in values:
        assert every(index, **{factor: value}) == expected(lambda entry, value=value: entry[factor] == value)  # type: ignore[misc]


def test_outcomes_are_those_of_the_report_and_coarse_ones_follow_from_them(index: Index) -> None:
    missing = {"engine", "judge"}
    held = {value for value, _ in index.options()["outcome"]}
    assert {"passed", "not-passed", "unscored", "missed", "truncated"} <= held
    for slug in held - {"passed", "not-passed", "unscored"}:
        assert every(index, outcome=slug) == expected(lambda entry, slug=slug: slug in outcomes(entry))  # type: ignore[misc]
    good = {"caught", "left"}
    assert every(index, outcome="passed") == expected(lambda entry: set(outcomes(entry)) <= good)
    assert every(index, outcome="unscored") == expected(lambda entry: bool(missing & set(outcomes(entry))))
    assert every(index, outcome="not-passed") == expected(lambda entry: bool(set(outcomes(entry)) - good - missing))
    assert every(index, outcome="missed", member="benign") == []


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(words, words, words, st.integers(1, 999_999), words)
def test_whatever_an_address_asks_for_is_a_value_and_no_command(
    index: Index, scenario: str, outcome: str, member: str, page: int, code: str
) -> None:
    asked = replace(OPEN, scenario=scenario, outcome=outcome, member=member, page=page)
    assert index.find(asked).count == len([row for row in every(index) if not (scenario or outcome or member)])
    assert index.case(replace(asked, case=code)) is None


def test_a_case_is_shown_whole_with_its_neighbors_in_the_list(index: Index) -> None:
    listed = every(index, outcome="missed")
    shown = index.case(replace(OPEN, outcome="missed", case=listed[1]))
    assert shown is not None
    assert shown.before is not None
    assert shown.after is not None
    assert [shown.before.code, shown.after.code] == [listed[0], listed[2]]
    [entry] = [entry for entry in TRANSCRIPTS if entry["case"] == listed[1]]
    assert shown.body["turns"] == list(entry["turns"])
    assert shown.body["system"] == entry["system"]


def test_draws_of_a_case_stand_apart() -> None:
    second = [{**copy.deepcopy(entry), "draw": 1} for entry in TRANSCRIPTS[:4]]
    index = boards.index_of([*TRANSCRIPTS[:4], *second])  # type: ignore[list-item]
    code = TRANSCRIPTS[0]["case"]
    assert index.find(OPEN).count == 8
    shown = index.case(replace(OPEN, case=code, draw=2))
    assert shown is not None
    assert (shown.row.draw, shown.draws) == (2, 2)
    assert ("draw 2", "") in shown.row.chips
    assert index.case(replace(OPEN, case=code, draw=3)) is None


def test_nothing_is_half_written_and_a_damaged_file_is_said(tmp_path: Path) -> None:
    def breaks() -> Any:
        yield TRANSCRIPTS[0]
        raise sqlite3.OperationalError("disk full")

    with pytest.raises(RunError, match="disk full"):
        write_index(tmp_path / "one.sqlite", breaks(), {})
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "two.sqlite").write_bytes(b"no table" * 500)
    with pytest.raises(RunError, match="remove that file"):
        Index(tmp_path / "two.sqlite").find(OPEN)


def test_the_content_note_stands_before_everything_and_opens_nothing(data: Data) -> None:
    def never(entry: Any) -> Index:
        raise AssertionError("read before the note was opened")

    for query in (Query(view="transcripts"), Query(view="transcripts", models=(FIRST,), case=TRANSCRIPTS[0]["case"])):
        status, text = pages.render(data, query, never)
        assert status == 200
        assert escape(CONTENT_NOTE) in text
        assert "Badminton" not in text
        shown = replace(query, models=(data.entry(query.model or data.groups[0].entries[0].run).run,), read=True)  # type: ignore[union-attr]
        assert shown.address().replace("&", "&amp;") in text, "the way on keeps what was asked for"


def test_the_list_and_the_case_say_what_happened(data: Data) -> None:
    status, text = boards.render(data, replace(OPEN, models=(SECOND,)))
    assert status == 200
    assert text.count('<th scope="row">') == PAGE
    assert "48 answers, page 1 of 3" in text
    missed = next(entry for entry in TRANSCRIPTS if "missed" in outcomes(entry))
    status, text = boards.render(data, replace(OPEN, models=(SECOND,), case=missed["case"]))
    assert status == 200
    assert "Badminton handover" in text
    assert '<span class="chip bad">missed</span>' in text
    assert "The twin of this case" in text
    assert escape(CONTENT_NOTE) in text


def test_an_unknown_case_is_said(data: Data) -> None:
    status, text = boards.render(data, replace(OPEN, models=(FIRST,), case="<b>P9</b>"))
    assert status == 404
    assert "to a case “&lt;b&gt;P9&lt;/b&gt;”" in text


def test_two_runs_stand_side_by_side_on_the_same_case(data: Data) -> None:
    code = TRANSCRIPTS[0]["case"]
    both = replace(OPEN, models=(FIRST,), second=SECOND)
    _, text = boards.render(data, both)
    assert f'<th scope="col">{FIRST}</th><th scope="col">{SECOND}</th>' in text
    status, text = boards.render(data, replace(both, case=code))
    assert status == 200
    assert text.count("Take care, all of you.") == 1
    assert text.count("Here is your sheet.") == 2, "in the reply, and in the raw answer that is folded"
    assert text.count("Badminton handover") == 1, "the message is the same and stands once"
    assert text.index(f'<h3 class="who">{FIRST}</h3>') < text.index(f'<h3 class="who">{SECOND}</h3>')


def test_another_text_under_the_same_code_is_not_set_beside_it(data: Data) -> None:
    changed = copy.deepcopy(TRANSCRIPTS)
    changed[0]["turns"] = ["something else"]
    found = {data.entry(FIRST).run: boards.index_of(TRANSCRIPTS), data.entry(SECOND).run: boards.index_of(changed[:2])}  # type: ignore[union-attr]

    def page(number: int) -> str:
        query = replace(OPEN, models=(FIRST,), second=SECOND, case=TRANSCRIPTS[number]["case"])
        return pages.render(data, query, lambda entry: found[entry.run])[1]

    assert "was given another text under this code" in page(0)
    assert "something else" not in page(0)
    assert f"{SECOND} has no such answer." in page(5)
    assert "another text" not in page(1)


def test_transcripts_of_a_real_submission(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every case and answer of the rows, and nothing after a change."""
    monkeypatch.setattr(collecting, "SHOWN_DESIGNS", ("smoke",))
    shown, _ = collect(original.parents[2], Marks(), made.load, tmp_path / "cache")
    [entry] = prepare(shown, [], Marks(), lambda design: ()).groups[0].entries
    index = Reports(tmp_path / "cache", made.load).index(entry)
    cases = made.load("smoke").cases
    assert index.find(OPEN).count == len(cases) * entry.manifest.chosen().draws
    answers = {row["request"]: row["text"] for row in made.rows_of(entry.folder / "completions.jsonl.gz")}
    for case in cases:
        found = index.case(replace(OPEN, case=case.code))
        assert found is not None
        assert found.twin == (case.twin or "")
        reply = found.body["replies"][0]
        assert answers.get(f"{case.code}/t1/d0", reply["raw"] or reply["shown"]) == (reply["raw"] or reply["shown"])
    assert json.dumps(index.options())
    monkeypatch.setattr("helmbench_hf.leaderboard.whole.digest", lambda value: "00" * 32)
    assert Reports(tmp_path / "cache", made.load).index(entry).find(OPEN).count
    with pytest.raises(RunError, match="changed after it was verified"):
        Reports(tmp_path / "other", made.load).index(entry)
