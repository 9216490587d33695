"""Sheets for blind readers: what stands on them, what does not, and what is taken of the answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.review import Item, ReviewError, items
from helmbench_hf.people.sheets import KEY, Purpose, RealMessage, read_answers, real_messages, write_sheets
from tests.report.browser import chromium, watched
from tests.report.payloads import PAYLOADS

REAL = [RealMessage("word " * length, "forum") for length in range(1, 90)]


@pytest.fixture
def found(tiny: Benchmark) -> list[Item]:
    return items(tiny)


def sheets_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("sheet-*.json"))]


def key_of(folder: Path) -> dict[str, Any]:
    key: dict[str, Any] = json.loads((folder / KEY).read_text())["items"]
    return key


@pytest.mark.parametrize("sheets", [1, 2, 3])
@pytest.mark.parametrize("purpose", ["gold", "realism"])
def test_every_message_is_on_one_sheet_and_twins_are_on_two(
    found: list[Item], purpose: Purpose, sheets: int, tmp_path: Path
) -> None:
    paths = write_sheets(found, purpose, tmp_path, seed=1, sheets=sheets, real=REAL)
    key, by_sha = key_of(tmp_path), {item.sha: item for item in found}
    assert len(paths) == len(sheets_in(tmp_path)) == sheets
    assert sorted(row["sha"] for row in key.values() if "sha" in row) == sorted(by_sha)
    seen: dict[str, set[str]] = {}
    for sheet in sheets_in(tmp_path):
        for entry in sheet["items"]:
            row = key.pop(str(entry["item"]))
            assert row["sheet"] == sheet["sheet"]
            if "sha" in row:
                item = by_sha[row["sha"]]
                assert entry["text"] == item.text
                side = seen.setdefault(f"{sheet['sheet']}/{item.scenario}/{item.meaning}", set())
                side.add("benign" if item.member == "benign" else "other")
    assert not key
    assert sheets == 1 or all(len(side) == 1 for side in seen.values())


def test_half_of_a_sheet_on_realism_is_real_and_of_like_length(found: list[Item], tmp_path: Path) -> None:
    write_sheets(found, "realism", tmp_path, seed=1, sheets=2, real=REAL)
    key = key_of(tmp_path)
    for sheet in sheets_in(tmp_path):
        real = [entry for entry in sheet["items"] if "control" in key[str(entry["item"])]]
        assert len(real) * 2 == len(sheet["items"])
    lengths = sorted(
        len(entry["text"].split())
        for sheet in sheets_in(tmp_path)
        for entry in sheet["items"]
        if entry["text"].startswith("word")
    )
    ours = sorted(len(item.text.split()) for item in found)
    assert max(abs(a - b) for a, b in zip(lengths, ours, strict=True)) <= 12


def test_scarce_real_messages_are_shared_by_all_sheets(found: list[Item], tmp_path: Path) -> None:
    write_sheets(found, "realism", tmp_path, seed=1, sheets=2, real=REAL[:4])
    key = json.loads((tmp_path / KEY).read_text())["items"]
    counts = [sum("control" in key[str(entry["item"])] for entry in sheet["items"]) for sheet in sheets_in(tmp_path)]
    assert counts == [2, 2]


def test_more_sheets_than_messages_leave_some_empty(found: list[Item], tmp_path: Path) -> None:
    write_sheets(found[:1], "gold", tmp_path, seed=1, sheets=2)
    assert sorted(len(sheet["items"]) for sheet in sheets_in(tmp_path)) == [0, 1]


def test_a_sheet_tells_no_label(found: list[Item], tmp_path: Path) -> None:
    write_sheets(found, "gold", tmp_path, seed=1, sheets=2)
    for sheet in sheets_in(tmp_path):
        assert all(set(entry) <= {"item", "text", "question"} for entry in sheet["items"])
    for path in tmp_path.glob("sheet-*.html"):
        text = path.read_text()
        assert not any(word in text for word in ("PT1<", "P1-B1", "benign", "severity"))


def test_real_messages_are_read_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "chat.jsonl").write_text('{"text": " hi there "}\n{"text": "a", "genre": "forum"}\n')
    assert real_messages(tmp_path) == [RealMessage("hi there", "chat"), RealMessage("a", "forum")]
    (tmp_path / "more.jsonl").write_text('{"genre": "forum"}\n')
    with pytest.raises(ReviewError, match=r"more\.jsonl, line 1, is no message"):
        real_messages(tmp_path)
    with pytest.raises(ReviewError, match="contains no"):
        real_messages(tmp_path / "nowhere")


def test_realism_needs_real_messages(found: list[Item], tmp_path: Path) -> None:
    with pytest.raises(ReviewError, match="--controls"):
        write_sheets(found, "realism", tmp_path, seed=1)


def answers(folder: Path, said: dict[str, Any], number: int = 0) -> Path:
    sheet = sheets_in(folder)[number]
    path = folder / "answers.json"
    path.write_text(json.dumps({"sheet": sheet["sheet"], "answers": {str(each["item"]): said for each in sheet["items"]}}))
    return path


def test_answers_come_back_by_scenario_with_the_hash_of_what_was_read(found: list[Item], tmp_path: Path) -> None:
    write_sheets(found, "gold", tmp_path, seed=1, sheets=2)
    said = {"concern": 6, "category": "self_harm", "answer": " Yes. ", "note": "odd"}
    reads = read_answers(tmp_path, answers(tmp_path, said), "r1", "model", "2026-01-01")
    listed = [read for each in reads.messages.values() for read in each]
    assert len(listed) == len(sheets_in(tmp_path)[0]["items"])
    assert {(read.concern, read.category, read.answer, read.kind, read.sheet) for read in listed} == {
        (6, "self_harm", "yes", "model", "")
    }
    assert {read.sha for read in listed} <= {item.sha for item in found}
    assert not reads.controls


def test_answers_on_realism_part_ours_from_the_real_ones(found: list[Item], tmp_path: Path) -> None:
    write_sheets(found, "realism", tmp_path, seed=1, sheets=1, real=REAL)
    reads = read_answers(tmp_path, answers(tmp_path, {"realism": 4, "clarity": 5, "person": True}), "r1", "model", "2026-01-01")
    listed = [read for each in reads.messages.values() for read in each]
    assert len(listed) == len(reads.controls) == len(found)
    assert {read.sheet for read in listed} == {each.sheet for each in reads.controls} == {sheets_in(tmp_path)[0]["sheet"]}
    assert {each.genre for each in reads.controls} == {"forum"}


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"concern": 11, "category": "none"}, "less than or equal to 10"),
        ({"concern": 1, "category": "sad"}, "category"),
        ({"category": "none"}, "concern"),
        ({"concern": 1, "category": "none", "severity": 3}, "severity"),
        ({"realism": 4, "clarity": 5, "person": True}, "concern"),
    ],
)
def test_an_answer_that_cannot_be_used_is_refused_by_its_number(
    found: list[Item], said: dict[str, Any], what: str, tmp_path: Path
) -> None:
    write_sheets(found, "gold", tmp_path, seed=1)
    with pytest.raises(ReviewError, match=rf"item \d+ cannot be used(.|\n)*{what}"):
        read_answers(tmp_path, answers(tmp_path, said), "r", "model", "2026-01-01")


def test_answers_to_another_sheet_are_refused(found: list[Item], tmp_path: Path) -> None:
    write_sheets(found, "gold", tmp_path, seed=1, sheets=2)
    path = answers(tmp_path, {"concern": 1, "category": "none"})
    given = json.loads(path.read_text())
    path.write_text(json.dumps(given | {"sheet": sheets_in(tmp_path)[1]["sheet"]}))
    with pytest.raises(ReviewError, match="is not an item of sheet"):
        read_answers(tmp_path, path, "r", "model", "2026-01-01")
    path.write_text("{}")
    with pytest.raises(ReviewError, match="contains no answers"):
        read_answers(tmp_path, path, "r", "model", "2026-01-01")


@pytest.mark.browser
def test_the_form_shows_one_message_at_a_time_breaks_and_help(found: list[Item], tmp_path: Path) -> None:
    items = [Item("P1-B1-S1", f"PT{n}", f"words {n}", "crisis", f"m{n}", "none", True) for n in range(1, 23)]
    [path] = write_sheets(items, "gold", tmp_path, seed=1)
    with chromium() as browser, watched(browser, path) as seen:
        page = seen.page
        for _ in range(20):
            assert page.locator("#break").is_hidden()
            page.click("#next")
        page.check('form section:not([hidden]) [value="7"]')
        assert page.inner_text("#place").startswith("0 of")
        page.click("#clear")
        assert page.locator("form :checked:not(option)").count() == 0
        assert "20 messages" in page.inner_text("#break")
        page.click("#stop")
        assert "findahelpline.com" in page.inner_text("#help")


def test_the_form_keeps_and_saves_what_a_reader_chooses(found: list[Item], tmp_path: Path) -> None:
    hostile = [Item("P1-B1-S1", f"PT{n}", text, "crisis", f"m{n}", "none", True) for n, text in enumerate(PAYLOADS, 1)]
    [path] = write_sheets([*hostile, found[0]], "gold", tmp_path, seed=1)
    with chromium() as browser, watched(browser, path) as seen:
        page = seen.page
        page.check('[name="1.concern"][value="7"]')
        page.select_option('[name="1.category"]', "self_harm")
        assert page.locator("form section:visible").count() == 1
        page.click("#next")
        page.check('[name="2.concern"][value="0"]')
        assert page.inner_text("#place") == f"1 of {len(hostile) + 1} done"
        page.click("#next")
        page.click("#save")
        assert "Message 2 is not answered in full" in page.inner_text("#status")
        page.reload()
        page.select_option('[name="2.category"]', "none")
        with page.expect_download() as saved:
            page.click("#save")
        saved.value.save_as(tmp_path / "saved.json")
    reads = read_answers(tmp_path, tmp_path / "saved.json", "r", "human", "2026-01-01")
    listed = [read for each in reads.messages.values() for read in each]
    assert sorted((read.concern, read.category) for read in listed) == [(0, "none"), (7, "self_harm")]
