"""What the board's pages say: order, marks, missing figures, and nothing that a hostile text could do."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from helmbench_hf.leaderboard import charts, columns, export, pages, parts
from helmbench_hf.leaderboard.collect import Refused
from helmbench_hf.leaderboard.data import Data, prepare
from helmbench_hf.leaderboard.manifest import Manifest
from helmbench_hf.leaderboard.marks import Marks
from helmbench_hf.leaderboard.query import PARTS, VIEWS, Query, read_query
from helmbench_hf.leaderboard.transcripts import Index
from helmbench_hf.report import fmt
from tests.leaderboard import boards
from tests.report import sample
from tests.report.payloads import PAYLOADS, hostile_transcripts, poison


@pytest.fixture(scope="module")
def data() -> Data:
    return boards.five()


def order(data: Data, **query: Any) -> list[str]:
    return [row.entry.label for row in columns.table(data.groups[0], Query(**query)).rows]


def test_the_order_is_by_rank_and_no_column_orders_by_the_overall_score(data: Data) -> None:
    standing = [entry.label for entry in data.groups[0].entries]
    assert order(data) == order(data, sort="overall") == order(data, sort="rank") == order(data, sort="no such") == standing
    assert order(data, sort="overall", turned=True) == standing


def test_a_column_sorts_both_ways(data: Data) -> None:
    rate = {entry.label: entry.rate("hidden", "false_alarms") for entry in data.groups[0].entries}
    found = order(data, sort="alarms")
    assert [rate[name] for name in found] == sorted(rate.values(), key=float)  # type: ignore[arg-type]
    assert [rate[name] for name in order(data, sort="alarms", turned=True)] == sorted(rate.values(), key=float, reverse=True)  # type: ignore[arg-type]
    assert order(data, sort="name") == sorted(boards.NAMES)


def test_what_has_no_value_stands_last_either_way() -> None:
    runs = [boards.accepted(number, name) for number, name in enumerate(boards.NAMES, 1)]
    runs[0].scores["operating"].clear()  # type: ignore[attr-defined]
    data = boards.board(runs)
    for turned in (False, True):
        assert order(data, sort="alarms", turned=turned)[-1] == boards.NAMES[0]


def test_the_head_says_how_the_table_is_sorted(data: Data) -> None:
    def heads(**query: Any) -> dict[str, str]:
        return {head.title: head.sorted for head in columns.table(data.groups[0], Query(**query)).heads if head.sorted}

    assert heads() == {"Rank": "ascending"}
    assert heads(sort="sensitivity") == {"Sensitivity": "descending"}
    assert heads(sort="sensitivity", turned=True) == {"Sensitivity": "ascending"}


def test_a_part_below_the_minimum_says_so(data: Data) -> None:
    found = parts.parts(data.groups[0], Query(view="parts", by="persona"))
    column = [part.title for part in found.columns].index("terse-expert")
    cell = found.lines[0].cells[column]
    assert not cell.figure.known
    assert "12" in cell.figure.why
    assert "12 pairs" in cell.n
    known = [part.title for part in found.columns].index("companion")
    assert found.lines[0].cells[known].figure.interval


def test_the_scatter_holds_models_policies_and_people() -> None:
    people = {"name": "Volunteers", "people": 20, "content_sha256": boards.SHA, "date": "2026-11-01",
              "sensitivity": {"hits": 30.0, "n": 40}, "false_alarms": {"hits": 4.0, "n": 40}}  # fmt: skip
    data = boards.five(Marks.model_validate({"people": [people, {**people, "name": "Others", "content_sha256": "00" * 32}]}))
    found = charts.scatter(data.groups[0], Query())
    assert [point.kind for point in found.points].count("model") == 5
    [mark] = [point for point in found.points if point.kind == "people"]
    assert (mark.x, mark.y, mark.label) == (10.0, 25.0, "Volunteers (20 people)")
    entry = data.groups[0].entries[0]
    mine = next(point for point in found.points if point.label == entry.label)
    assert (mine.x, mine.y) == (
        pytest.approx(100 * entry.rate("hidden", "false_alarms"), abs=0.005),  # type: ignore[operator]
        pytest.approx(100 - 100 * entry.rate("hidden", "sensitivity"), abs=0.005),  # type: ignore[operator]
    )
    assert "Refuse all" in found.off_plot
    assert found.people
    assert not charts.scatter(boards.five().groups[0], Query()).people


def test_numbers_in_the_scatter_stand_beside_no_other_mark() -> None:
    spots = [(20.0, 20.0), (23.5, 17.5), (100.0, 0.0), (0.0, 50.0)]
    points = [charts.Point(n, x, y, "model", "", "", fmt.Figure(""), fmt.Figure("")) for n, (x, y) in enumerate(spots, 1)]
    assert [point.side for point in charts.numbered(points)] == ["se", "ne", "nw", "ne"]
    many = [replace(point, number=n) for n, point in enumerate(points * 4)]
    assert {point.side for point in charts.numbered(many)} == {""}
    assert charts.numbered([replace(many[0], chosen=True), *many])[0].side


@pytest.mark.parametrize("asked", [{}, {"sort": "alarms"}, {"sort": "sensitivity", "turned": True}])
def test_the_table_as_json_says_what_the_page_says(asked: dict[str, Any]) -> None:
    holdout = {"design": "core", "content_sha256": "cd" * 32, "date": "2026-11-20", "value": 0.25, "low": 0.1, "high": 0.4,
               "se": 0.05, "df": 60.0, "n_pairs": 70, "n_meanings": 60}  # fmt: skip
    marks = Marks.model_validate({"runs": {boards.run_id(1): {"level": "re-run", "checked": "2026-11-20", "holdout": holdout}}})
    data = boards.five(marks)
    [group] = data.groups
    found = json.loads(json.dumps(export.table(data, group, Query(**asked)), allow_nan=False))
    assert [row["model"] for row in found["rows"]] == order(data, **asked)
    assert found["versions"]["cases_sha256"] == sample.sample_scores()["provenance"]["cases_sha256"]
    assert found["ranks"]["rule"] == group.rule
    for row, cells in zip(found["rows"], columns.table(group, Query(**asked)).rows, strict=True):
        assert str(row["rank"]) == cells.rank
        assert fmt.figure(row["overall"]) == cells.raw
        assert [fmt.figure(each) for each in row["pillars"].values()] == [each for each in cells.pillars if each.known]
        assert fmt.rate(row["false_alarms"]) == cells.false_alarms
        assert fmt.rate(row["sensitivity"]) == cells.sensitivity
        assert sum(len(each.titles) for each in cells.floors) == len(row["floors"])
        assert (row["holdout"] is None) == (cells.holdout is None)
    [marked] = [row for row in found["rows"] if row["holdout"]]
    assert marked["holdout"]["value"] == 0.25
    assert marked["checked"] == {"level": "re-run", "date": "2026-11-20"}
    assert export.table(Data((), (), ""), None, Query())["rows"] == []


@pytest.mark.parametrize("view", [*VIEWS, "report"])
def test_every_view_has_one_heading_and_its_language(data: Data, view: str) -> None:
    status, text = boards.render(data, Query(view=view))
    assert status == 200
    assert text.count("<h1") == 1
    assert '<html lang="en">' in text
    assert "<script" not in text
    assert " style=" not in text
    assert re.findall(r'(?:src|href)="(?!\?|#|data:|table\.json\?)[^"]*"', text) == []


@pytest.mark.parametrize("by", PARTS)
def test_every_part_has_a_page(data: Data, by: str) -> None:
    status, text = boards.render(data, Query(view="parts", by=by))
    assert status == 200
    assert boards.NAMES[0] in text


def test_a_deep_link_opens_its_run_and_an_unknown_one_says_so(data: Data) -> None:
    status, text = boards.render(data, read_query("view=model&model=example/gamma-13b"))
    assert status == 200
    assert "<h1>example/gamma-13b</h1>" in text
    status, text = boards.render(data, read_query("view=model&model=<b>no</b>"))
    assert status == 404
    assert "There is no run or model “&lt;b&gt;no&lt;/b&gt;”" in text


@pytest.mark.parametrize(
    ("minimum", "word"), [(4, r"no difference shown, p 0\.\d|differs, p "), (9, "8 distinct messages; nothing")]
)
def test_a_comparison_says_how_its_rows_were_tested(minimum: int, word: str) -> None:
    data = boards.board([boards.accepted(number, boards.NAMES[number], minimum_messages=minimum) for number in (1, 2)])
    status, text = boards.render(data, Query(view="compare", models=(boards.NAMES[1],), second=boards.NAMES[2]))
    assert status == 200
    assert "whose p is adjusted (Holm)" in text
    assert "Each row is one comparison" not in text
    assert re.search(word, text)


def test_a_run_off_the_ranking_says_why() -> None:
    runs = [boards.accepted(number, name) for number, name in enumerate(boards.NAMES[:3], 1)]
    runs[0].scores["headline"]["overall"]["score"].update(value=None, low=None, high=None, note="<b>too little</b>")
    runs[0].scores["headline"].update(printed=None)
    data = boards.board(runs)
    first, second, third = data.groups[0].entries
    assert (third.label, third.place, third.unranked) == (boards.NAMES[0], None, "<b>too little</b>")
    assert first.place is not None
    assert second.place is not None
    rest = boards.board(runs[1:])
    assert [entry.place for entry in rest.groups[0].entries] == [first.place, second.place]
    assert "not ranked: &lt;b&gt;too little&lt;/b&gt;" in boards.render(data, Query())[1]
    page = boards.render(data, Query(view="model", models=(third.run,)))[1]
    assert "Not ranked: &lt;b&gt;too little" in page
    assert "of 2. " in boards.render(data, Query(view="model", models=(first.run,)))[1]
    row = export.table(data, data.groups[0], Query())["rows"][2]
    assert (row["rank"], row["last_place"], row["unranked"]) == (None, None, "<b>too little</b>")


def test_two_runs_that_cannot_be_compared_say_why() -> None:
    data = boards.board([boards.accepted(1, "a/a"), boards.accepted(2, "b/b", design="full")])
    _, text = boards.render(data, Query(view="compare", models=("a/a",), second="b/b"))
    assert "different designs" in text
    _, text = boards.render(data, Query(view="compare", models=("a/a",), second="a/a"))
    assert "Choose two different runs." in text


def test_an_empty_board_points_to_what_is_not_shown() -> None:
    data = Data((), (Refused("submissions/x/1", (("files.link", "a link"),)),), "")
    status, text = boards.render(data, Query())
    assert status == 404
    assert "Nothing to show yet" in text
    assert "files.link" in boards.render(data, Query(view="refused"))[1]
    assert boards.render(data, Query(view="about"))[0] == 200


BOTH = Query(view="transcripts", read=True, models=(boards.run_id(1),), second=boards.run_id(2))
KEPT = (
    ("operating", "arm"),
    ("curves", "arm"),
    ("effects", "factor"),
    ("floors", "status"),
    ("floors", "slug"),
    ("trust", "slug"),
)
"""Words of the scores that decide what is drawn; another word there draws nothing."""


def hostile(start: int) -> Data:
    """A board in which names, texts and every string of the scores but the pairs' codes come from the bank."""
    bank = itertools.cycle([*PAYLOADS[start:], *PAYLOADS[:start]])
    runs = []
    for number in (1, 2):
        run = boards.accepted(number, "a/a")
        kept = {name: run.scores[name] for name in ("pairs", "provenance", "scenarios")}
        scores = {**poison({name: value for name, value in run.scores.items() if name not in kept}, bank), **kept}
        for name, found in KEPT:
            for row, original in zip(scores[name], run.scores[name], strict=True):
                row[found] = original[found]
        for group in ("behaviors", "pillars"):
            for row, original in zip(scores[group], run.scores[group], strict=True):
                row |= {name: original[name] for name in ("code", "parts", "absent")}
        dumped = poison(run.manifest.model_dump(), bank)
        model = run.manifest.model.model_copy(update={"id": next(bank)})
        changed: Manifest = run.manifest.model_copy(update={
            "model": model,
            "submitter": run.manifest.submitter.model_copy(update=dumped["submitter"]),
            "dataset": run.manifest.dataset.model_copy(update={**dumped["dataset"], "design": "core"}),
        })  # fmt: skip
        runs.append(replace(run, scores=scores, manifest=changed, notes=(next(bank), next(bank))))
    refused = [Refused(next(bank), ((next(bank), next(bank)),)) for _ in range(4)]
    return prepare(runs, refused, Marks(), lambda design: poison(boards.sample.policies(), bank), address=next(bank))


def hostile_index(start: int) -> Index:
    """Transcripts from the bank; every second keeps the code of its case, so that an address can name it."""
    transcripts = hostile_transcripts(itertools.cycle([*PAYLOADS[start:], *PAYLOADS[:start]]))
    for entry, original in list(zip(transcripts, boards.sample.transcripts(24), strict=True))[::2]:
        entry["case"] = original["case"]
    return boards.index_of(transcripts, {entry["case"]: PAYLOADS[start] for entry in transcripts[::2]})


HOSTILE = [
    *(Query(view=view) for view in VIEWS),
    *(Query(view="parts", by=by) for by in PARTS),
    *(replace(BOTH, page=page) for page in (1, 2)),
    *(replace(BOTH, case=entry["case"]) for entry in boards.sample.transcripts(24)[:18:2]),
]
"""Every view, with two runs side by side where there are transcripts."""


@pytest.mark.parametrize("start", range(0, len(PAYLOADS), 4))
def test_hostile_texts_stay_texts(start: int) -> None:
    data, index = hostile(start), hostile_index(start)
    for query in HOSTILE:
        status, text = pages.render(data, query, lambda entry: index)
        assert status == 200
        assert not re.search(r"<(script|img|iframe|object|base|form action=http|svg onload|meta http)", text)
        assert "\x1b" not in text
        assert "\u202e" not in text
