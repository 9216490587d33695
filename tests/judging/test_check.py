"""A judge is asked about replies with known verdicts, once and resumed; the claim gate and the biases of what it said."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.content.schema import Reply
from helmbench_hf.dataset.calibration import Label
from helmbench_hf.judging.check import check_judge, checked, on_twins
from helmbench_hf.judging.judge import JudgeError
from helmbench_hf.judging.labels import Labels, Probe, as_probe, find_labels, rows_of
from helmbench_hf.judging.rubric import material
from helmbench_hf.records import Case, CheckedLabel, Grading
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.runs.journal import Journal
from tests.judging.runs import Ear, fake_judge
from tests.scoring.build import twins
from tests.support.calibration import UNSETTLED, gullible, letters, plant_calibration, right
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


def probe(found: Labels, reply: str, criterion: str = "K01"):
    return next(each for each in found.probes if each.pair == (reply, criterion))


def rated(path: Path, *rows: tuple[str, str, str, str]) -> Path:
    path.write_text("rater,reply_code,criterion,verdict\n" + "".join(",".join(row) + "\n" for row in rows))
    return path


def test_gold_counts_where_it_is_settled(set_up: Benchmark) -> None:
    found = find_labels(set_up)
    assert (found.basis, len(found.probes), found.left_out) == ("gold", 10, {"unsettled": 1})
    assert UNSETTLED not in {each.pair for each in found.probes}
    assert {each.pair[1] for each in find_labels(set_up, ["K06"]).probes} == {"K06"}
    with pytest.raises(JudgeError, match="no criterion K99"):
        find_labels(set_up, ["K99"])


def test_a_judge_sees_the_reply_as_the_person_does(set_up: Benchmark) -> None:
    found = find_labels(set_up)
    assert probe(found, "R004", "K06").exchange.answer.reply == "GOOD list"
    assert "CHECK_IN" not in material(probe(found, "R004", "K06").exchange)
    assert "What was said before." in material(probe(found, "R003").exchange)
    assert probe(found, "D002").exchange.answer.reply == ""
    assert probe(found, "D003", "K06").exchange.answer.reply == '{"reply": "BAD'
    clean = probe(found, "D001").clean
    assert clean is not None
    assert clean.answer.reply == "BAD, for now."
    assert [each.pair[0] for each in found.probes if each.clean] == ["D001"]
    names = [(exchange.case.code, exchange.turn, exchange.draw, criterion) for exchange, criterion in found.pairs()]
    assert len(set(names)) == len(names) == 11, "no two texts are asked under one name"


def test_the_hash_is_of_the_labels_and_not_of_their_order(tree: Tree, set_up: Benchmark) -> None:
    before = find_labels(set_up)
    assert Labels("gold", before.probes[::-1], {}).sha == before.sha
    assert find_labels(set_up, ["K01"]).sha != before.sha
    empty = "D002\n  source: degenerate\n  reply: "
    tree.replace("calibration/P1-B5-S1.yaml", f"{empty}''", f"{empty}No help.")
    assert find_labels(load_benchmark(tree.root)).sha != before.sha


def test_human_labels_count_where_two_raters_agree(set_up: Benchmark, tmp_path: Path) -> None:
    path = rated(
        tmp_path / "labels.csv",
        ("ann", "R001", "K01", "PASS"), ("bob", "R001", "K01", "pass"),
        ("ann", "R001e", "K01", "PARTIAL"), ("bob", "R001e", "K01", "PARTIAL"),
        ("ann", "R002", "K01", "FAIL"), ("bob", "R002", "K01", "PASS"),
        ("ann", "R003", "K01", "PASS"),
    )  # fmt: skip
    found = find_labels(set_up, rated=path)
    assert found.basis == "human"
    assert {each.pair: each.right for each in found.probes} == {("R001", "K01"): "PASS", ("R001e", "K01"): "PARTIAL"}
    assert found.left_out == {"raters disagree": 1, "rated once": 1}
    assert found.raters is not None
    assert found.raters.names == ("ann", "bob")
    assert found.raters.both["K01"] == [("PASS", "PASS"), ("PARTIAL", "PARTIAL"), ("FAIL", "PASS")]
    assert found.sha != find_labels(set_up).sha


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("ann", "R001", "K06", "PASS")], "is not a label in the calibration set"),
        ([("ann", "R001", "K01", "good")], "one of PASS, PARTIAL, FAIL"),
        ([("ann", "R001", "K02", "PARTIAL")], "one of PASS, FAIL;"),
        ([("", "R001", "K01", "PASS")], "needs a rater"),
        ([("reader 1", "R001", "K01", "PASS")], "reader 1 is a language model"),
        ([("ann", "R001", "K01", "PASS"), ("ann", "R001", "K01", "FAIL")], "row 2: ann gives one reply two verdicts"),
    ],
)
def test_a_row_that_is_no_human_label_is_named(set_up: Benchmark, tmp_path: Path, rows, said: str) -> None:
    with pytest.raises(JudgeError, match=said):
        find_labels(set_up, rated=rated(tmp_path / "labels.csv", *rows))


COLUMNS = ("reply_code", "criterion", "verdict")


def test_verdicts_are_read_from_either_form(tmp_path: Path) -> None:
    rows = [
        {"reply_code": "R001", "criterion": "K01", "verdict": " Pass ", "remark": 'one\n\n"two"'},
        {"reply_code": "R002", "criterion": "K02", "verdict": "banana"},
    ]
    lines, table = tmp_path / "v.jsonl", tmp_path / "v.csv"
    lines.write_text("\ufeff" + "\n".join(map(json.dumps, rows)) + "\n")
    table.write_text(
        'reply_code,criterion,verdict,remark\nR001,K01, Pass ,"one\n\n""two"""\nR002,K02,banana,\n', encoding="utf-8"
    )
    said = [["R001", "K01", "Pass"], ["R002", "K02", "banana"]]
    assert [[*row.values()] for path in (lines, table) for _, row in rows_of(path, COLUMNS)] == said * 2


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("v.csv", "reply_code,criterion\nR001,K01\n", "row 1 lacks verdict"),
        ("v.jsonl", "[1]\n", "row 1 lacks every column"),
        ("v.jsonl", "{\n", "cannot be read as CSV"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_sentence(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(JudgeError, match=said):
        list(rows_of(tmp_path / name, COLUMNS))
    with pytest.raises(JudgeError, match="cannot be read"):
        list(rows_of(tmp_path / "absent.csv", COLUMNS))


def on(case: Case, code: str, text: str, criterion: str = "K06") -> Probe:
    """A label of this reply to this case."""
    reply = Reply.model_construct(code=code, case=case.code, turn=1, source="assistant", clean=None, reply=text, gold={})
    return as_probe(Label(reply, case, (), criterion, "PASS", ""), "PASS")


def test_the_same_reply_on_both_twins_shows_what_the_message_does_to_the_contrast() -> None:
    crisis, benign = twins(mode="judged", grading=Grading(criteria=("K01",), contrast="K06"))
    other = replace(crisis, code="P1-B1-S1-C1-U11-PT9", twin=None)
    probes = (
        *(on(crisis, "R01", "same"), on(benign, "R02", "same"), on(crisis, "R03", "alike"), on(benign, "R04", "alike")),
        *(on(crisis, "R05", "one"), on(benign, "R06", "another"), on(other, "R07", "same")),
        *(
            on(crisis, "R08", "same", "K01"),
            on(benign, "R09", "same", "K01"),
            on(crisis, "R10", "dumb"),
            on(benign, "R11", "dumb"),
        ),
    )
    found = Labels("gold", probes, {})
    assert found.twins() == [((a, "K06"), (b, "K06")) for a, b in (("R01", "R02"), ("R03", "R04"), ("R10", "R11"))]
    verdicts = {"R01": "PASS", "R02": "FAIL", "R03": "PARTIAL", "R04": "PARTIAL", "R10": "PASS"}
    said = [CheckedLabel(probe.pair[0], probe.pair[1], "PASS", verdicts.get(probe.pair[0])) for probe in probes]  # type: ignore[arg-type]
    assert on_twins(found, said) == {"K06": [("PASS", "FAIL"), ("PARTIAL", "PARTIAL"), ("PASS", None)]}
    assert on_twins(Labels("gold", (), {}), []) == {}


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
    assert of(found, "D002").said == "FAIL"
    assert cost["calls"] == cost["timed_calls"] == cost["output_tokens"] == 22
    assert cost["prompt_tokens"] > 0


@pytest.mark.parametrize(("orders", "said", "reason"), [(1, "PASS", ""), (2, None, "tie")])
def test_a_judge_that_takes_the_first_letter_flips(folder, labels, set_up, orders, said, reason) -> None:
    """Read as it grades: with two orders averaged, it says nothing."""
    engine = FakeEngine(labels=lambda request: [-0.5, -2.0, -3.0][: len(request.labels)])
    check_judge(folder, fake_judge(engine, orders=orders), labels, set_up, Ear())
    _, found, _ = checked(folder, labels, set_up)
    assert {(each.orders, each.said, each.reason) for each in found} == {(("PASS", "FAIL"), said, reason)}


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
    with pytest.raises(JudgeError, match="contains no answers from a judge"):
        checked(folder, labels, set_up)
    check_judge(folder, fake_judge(FakeEngine(labels=letters(right))), labels, set_up, Ear())
    with pytest.raises(JudgeError, match="is the check of the judge judge-a"):
        check_judge(folder, fake_judge(FakeEngine(labels=letters(right)), id="other"), labels, set_up, Ear())
