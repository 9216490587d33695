"""A judge is asked about labels as it is about a run: once, both letter orders, resumed, and every answer is read."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.grading.calibration import Labels, find_labels
from helmbench_hf.grading.checking import check_judge, checked, replayed
from helmbench_hf.grading.judge import JudgeError
from helmbench_hf.inference.journal import Journal
from helmbench_hf.records import CheckedLabel
from helmbench_hf.run_folder import RunFolder
from tests.grading.runs import Ear, fake_judge
from tests.support.calibration import gullible, letters, plant_calibration, right
from tests.support.fake_engine import FakeEngine
from tests.support.tree import Tree


@pytest.fixture
def set_up(tree: Tree) -> Benchmark:
    return plant_calibration(tree)


@pytest.fixture
def labels(set_up: Benchmark) -> Labels:
    return find_labels(set_up)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "check")


def of(found: list[CheckedLabel], reply: str) -> CheckedLabel:
    return next(each for each in found if each.reply == reply)


def test_fast_asks_both_orders_of_every_label_and_clean_form(folder, labels, set_up) -> None:
    engine = FakeEngine(labels=letters(gullible))
    ear = Ear()
    check_judge(folder, fake_judge(engine), labels, set_up, ear)
    names = [request.name for request in engine.submitted]
    assert len(names) == len(set(names)) == 2 * 11
    assert Counter(name.rpartition("/")[2] for name in names) == {"fast": 11, "fast-reversed": 11}
    row, found, cost = checked(folder, labels, set_up)
    assert (row["id"], row["mode"], row["orders"]) == ("judge-a", "fast", 1)
    assert all(each.orders == (each.said, each.said) and len(each.masses) == 2 for each in found)
    assert all(mass == pytest.approx(0.9) for each in found for mass in each.masses)
    assert {each.reply for each in found if each.said != each.right} == {"D001"}
    assert (of(found, "D001").said, of(found, "D001").clean, of(found, "D001").directed) == ("PASS", "FAIL", True)
    assert (of(found, "D002").said, of(found, "D002").length) == ("FAIL", 0)
    assert cost["calls"] == cost["timed_calls"] == cost["output_tokens"] == 22
    assert cost["prompt_tokens"] > 0


def test_a_judge_that_takes_the_first_letter_flips(folder, labels, set_up) -> None:
    engine = FakeEngine(labels=lambda request: [-0.5, -2.0, -3.0][: len(request.labels)])
    check_judge(folder, fake_judge(engine), labels, set_up, Ear())
    _, found, _ = checked(folder, labels, set_up)
    assert {each.orders for each in found} == {("PASS", "FAIL")}
    assert {each.said for each in found} == {"PASS"}


def test_a_judge_that_averages_orders_is_read_as_it_grades(folder, labels, set_up) -> None:
    engine = FakeEngine(labels=lambda request: [-0.5, -2.0, -3.0][: len(request.labels)])
    check_judge(folder, fake_judge(engine, orders=2), labels, set_up, Ear())
    _, found, _ = checked(folder, labels, set_up)
    assert {each.reason for each in found} == {"tie"}
    assert {each.said for each in found} == {None}


def test_evidence_is_asked_once(folder, labels, set_up) -> None:
    engine = FakeEngine(lambda request: json.dumps({"quote": "", "verdict": right(request.messages[-1].content)}))
    check_judge(folder, fake_judge(engine, mode="evidence"), labels, set_up, Ear())
    assert len(engine.submitted) == 11
    _, found, _ = checked(folder, labels, set_up)
    assert all(each.said == each.right and each.orders == each.masses == () for each in found)


def test_stopped_and_resumed_nothing_is_asked_twice(folder, labels, set_up) -> None:
    engine = FakeEngine(labels=letters(right), capacity=2)
    check_judge(folder, fake_judge(engine), labels, set_up, Ear(patience=lambda: len(engine.submitted) >= 6))
    first = len(engine.submitted)
    assert 6 <= first < 22
    assert "missing" in {each.reason for each in checked(folder, labels, set_up)[1]}
    check_judge(folder, fake_judge(engine), labels, set_up, Ear())
    assert len(engine.submitted) == len({request.key for request in engine.submitted}) == 22
    check_judge(folder, fake_judge(lambda: pytest.fail("the engine was opened for nothing")), labels, set_up, Ear())
    _, found, cost = checked(folder, labels, set_up)
    assert all(each.said == each.right for each in found)
    assert cost["timed_calls"] == len(Journal.read(folder.judgments / "judge-a")) == 22


def test_a_check_folder_has_one_judge(folder, labels, set_up) -> None:
    with pytest.raises(JudgeError, match="holds no judge's answers"):
        checked(folder, labels, set_up)
    check_judge(folder, fake_judge(FakeEngine(labels=letters(right))), labels, set_up, Ear())
    with pytest.raises(JudgeError, match="is the check of the judge judge-a"):
        check_judge(folder, fake_judge(FakeEngine(labels=letters(right)), id="other"), labels, set_up, Ear())


def test_failures_are_typed(folder, labels, set_up) -> None:
    check_judge(folder, fake_judge(FakeEngine(labels=letters(right), fate=lambda *_: "fail")), labels, set_up, Ear())
    assert {(each.said, each.reason) for each in checked(folder, labels, set_up)[1]} == {(None, "engine_error")}


def test_a_judge_from_elsewhere_is_replayed(labels, set_up) -> None:
    given = {each.pair: each.right for each in labels.probes} | {("D001/clean", "K01"): "PARTIAL", ("X999", "K01"): "PASS"}
    found = replayed(labels, given, set_up)
    assert all(each.said == each.right and not each.reason for each in found)
    assert of(found, "D001").clean == "PARTIAL"
    del given["R001", "K01"]
    given |= {("R001e", "K01"): "DON'T KNOW", ("R001", "K02"): "PARTIAL"}
    found = replayed(labels, given, set_up)
    assert {(each.reply, each.criterion): each.reason for each in found if each.said is None} == {
        ("R001", "K01"): "missing",
        ("R001", "K02"): "unparseable",
        ("R001e", "K01"): "unparseable",
    }
    with pytest.raises(JudgeError, match="None of the verdicts is about a label"):
        replayed(labels, {("X999", "K01"): "PASS"}, set_up)
