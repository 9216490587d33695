"""Blind sheets of the calibration set: nothing is lost, no verdict is shown, no reply meets its edit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.dataset.calibration import CalibrationError, store
from helmbench_hf.judging.sheets import items, read_answers, readings, write_sheets
from tests.support.calibration import plant_calibration
from tests.support.tree import Tree


@pytest.fixture
def set_up(tree: Tree) -> Benchmark:
    return plant_calibration(tree)


def on(path: Path) -> list[str]:
    return [line.removeprefix("=== item ") for line in path.read_text().splitlines() if line.startswith("=== item ")]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("parts", [3, 4])
def test_every_reply_stands_on_one_sheet_and_edits_on_others(set_up: Benchmark, tmp_path: Path, parts: int, seed: int) -> None:
    paths = write_sheets(set_up, items(set_up), tmp_path, seed, parts)
    sheets = [on(path) for path in paths]
    assert sorted(code for sheet in sheets for code in sheet) == ["R001", "R001e", "R001f", "R002", "R003", "R004"]
    assert len(paths) == parts
    for sheet in sheets:
        assert len({"R001", "R001e", "R001f"} & set(sheet)) <= 1


def test_sheets_too_few_to_keep_edits_apart_are_refused(set_up: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match=r"R001 and its edits are 3 replies.*give --parts 3"):
        write_sheets(set_up, items(set_up), tmp_path / "sheets", 1, 2)
    assert not (tmp_path / "sheets").exists()


def test_a_sheet_shows_what_a_judge_sees_and_no_verdict(set_up: Benchmark, tmp_path: Path) -> None:
    paths = write_sheets(set_up, items(set_up, ["K01"]), tmp_path, 1, 3)
    text = "\n".join(path.read_text() for path in paths)
    assert "What was said before." in text
    assert "It does notices." in text
    assert "gold" not in text.lower()
    assert "K02" not in text
    assert "R004" not in text
    key = json.loads((tmp_path / "key.json").read_text())
    assert set(key) == {"R001", "R001e", "R001f", "R002", "R003"}
    assert "PASS" not in (tmp_path / "key.json").read_text()


def test_only_what_few_have_read_is_asked_again(tree: Tree, set_up: Benchmark) -> None:
    assert items(set_up, fewer_than=3) == []
    assert len(items(set_up, fewer_than=4)) == 6
    tree.replace("calibration/P2-B5-S1.yaml", "reply: GOOD", "reply: GOOD again")
    assert [item.code for item in items(load_benchmark(tree.root), fewer_than=3)] == ["R003"]


def test_answers_are_kept_with_what_was_read(tree: Tree, set_up: Benchmark, tmp_path: Path) -> None:
    write_sheets(set_up, items(set_up), tmp_path / "sheets", 1, 3)
    answers = tmp_path / "answers.json"
    answers.write_text(json.dumps({"R001": {"K01": " pass ", "K02": "FAIL"}}))
    reads = read_answers(set_up, tmp_path / "sheets", answers, "ann", "human", "2026-01-01")
    assert [(read.reply, read.criterion, read.verdict, read.kind) for read in reads] == [
        ("R001", "K01", "PASS", "human"),
        ("R001", "K02", "FAIL", "human"),
    ]
    store(set_up.root, reads)
    found = readings(set_up)
    assert (found["labels"], found["unsettled"]) == (11, 2)
    opened = {(row["reply"], row["criterion"]): row for row in found["open"]}
    assert opened["R001", "K02"]["said"] == {"ann": "FAIL", "reader 1": "PASS", "reader 2": "PASS", "reader 3": "PASS"}
    assert opened["R002", "K02"]["said"]["reader 3"] == "PASS"
    [k02] = [row for row in found["criteria"] if row["criterion"] == "K02"]
    assert (k02["labels"], k02["reads"], k02["agree"], k02["settled"]["PASS"], k02["settled"]["FAIL"]) == (2, 7, 5, 0, 0)
    assert (k02["pairs"], k02["pairs_agree"]) == (9, 4)
    tree.replace("calibration/P1-B5-S1.yaml", "reply: GOOD", "reply: GOOD again")
    changed = readings(load_benchmark(tree.root))
    assert {row["said"].get("ann") for row in changed["open"] if row["reply"] == "R001"} == {None}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"R009": {"K01": "PASS"}}, "do not ask about R009 under K01"),
        ({"R001": {"K06": "PASS"}}, "do not ask about R001 under K06"),
        ({"R001": {"K02": "PARTIAL"}}, "R001 under K02 must be one of PASS, FAIL, not 'PARTIAL'"),
        ({"R001": {"K01": None}}, "must be one of PASS, PARTIAL, FAIL"),
        ({"R001": "PASS"}, "is not of the form"),
        ([], "is not of the form"),
    ],
)
def test_answers_to_nothing_are_refused(set_up: Benchmark, tmp_path: Path, given: object, said: str) -> None:
    write_sheets(set_up, items(set_up), tmp_path, 1, 3)
    (tmp_path / "answers.json").write_text(json.dumps(given))
    with pytest.raises(CalibrationError, match=said):
        read_answers(set_up, tmp_path, tmp_path / "answers.json", "r", "model", "2026-01-01")
    with pytest.raises(CalibrationError, match="cannot be read"):
        read_answers(set_up, tmp_path / "nowhere", tmp_path / "answers.json", "r", "model", "2026-01-01")


def test_replies_that_edit_each_other_are_a_fault(tree: Tree, set_up: Benchmark) -> None:
    tree.replace("calibration/P1-B5-S1.yaml", "  source: assistant\n", "  source: edit\n  edits: R001e\n")
    with pytest.raises(CalibrationError, match="edits of each other"):
        items(load_benchmark(tree.root))
