"""Labels as a judge is asked about them, and the files that others bring."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from helmbench_hf.content.calibration import Reply
from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.grading.calibration import Labels, Probe, as_probe, find_labels, on_twins, outside_verdicts
from helmbench_hf.grading.judge import JudgeError
from helmbench_hf.grading.rubric import material
from helmbench_hf.matrix.calibration import Label
from helmbench_hf.records import Case, CheckedLabel, Grading
from tests.scoring.build import twins
from tests.support.calibration import UNSETTLED, plant_calibration
from tests.support.tree import Tree


@pytest.fixture
def set_up(tree: Tree) -> Benchmark:
    return plant_calibration(tree)


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
    assert "CHECK_IN" not in material(probe(found, "R004", "K06").exchange, set_up)
    assert "What was said before." in material(probe(found, "R003").exchange, set_up)
    assert probe(found, "D002").exchange.answer.reply == ""
    assert probe(found, "D003", "K06").exchange.answer.reply == '{"reply": "BAD'
    clean = probe(found, "D001").clean
    assert clean is not None
    assert clean.answer.reply == "BAD, for now."
    assert [each.pair[0] for each in found.probes if each.clean] == ["D001"]


def test_no_two_texts_are_asked_under_one_name(set_up: Benchmark) -> None:
    asked = list(find_labels(set_up).pairs())
    names = {(exchange.case.code, exchange.turn, exchange.draw, criterion) for exchange, criterion in asked}
    assert len(names) == len(asked) == 11


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
        ([("ann", "R001", "K06", "PASS")], "is no label of the calibration set"),
        ([("ann", "R001", "K01", "good")], "one of PASS, PARTIAL, FAIL"),
        ([("ann", "R001", "K02", "PARTIAL")], "one of PASS, FAIL;"),
        ([("", "R001", "K01", "PASS")], "needs a rater"),
        ([("reader 1", "R001", "K01", "PASS")], "reader 1 is a language model"),
        ([("ann", "R001", "K01", "PASS"), ("ann", "R001", "K01", "FAIL")], "row 2: ann gives R001 under K01 two verdicts"),
    ],
)
def test_a_row_that_is_no_human_label_is_named(set_up: Benchmark, tmp_path: Path, rows, said: str) -> None:
    with pytest.raises(JudgeError, match=said):
        find_labels(set_up, rated=rated(tmp_path / "labels.csv", *rows))


def test_verdicts_are_read_from_either_form(tmp_path: Path) -> None:
    rows = [
        {"reply_code": "R001", "criterion": "K01", "verdict": " Pass "},
        {"reply_code": "R002", "criterion": "K01", "verdict": None},
    ]
    lines, table = tmp_path / "v.jsonl", tmp_path / "v.csv"
    lines.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    table.write_text("\ufeffcriterion,reply_code,verdict,note\nK01,R001,PASS,x\nK01,R002,,\n")
    assert outside_verdicts(lines) == outside_verdicts(table) == {("R001", "K01"): "PASS", ("R002", "K01"): ""}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("v.csv", "reply_code,criterion\nR001,K01\n", "row 1 lacks verdict"),
        ("v.jsonl", "[1]\n", "row 1 lacks every column"),
        ("v.jsonl", "{\n", "cannot be read as CSV"),
        ("v.csv", "reply_code,criterion,verdict\nR001,K01,PASS\nR001,K01,FAIL\n", "row 2: R001 under K01 has two verdicts"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_sentence(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(JudgeError, match=said):
        outside_verdicts(tmp_path / name)
    with pytest.raises(JudgeError, match="cannot be read"):
        outside_verdicts(tmp_path / "absent.csv")


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
    said = [CheckedLabel(probe.pair[0], probe.pair[1], "PASS", verdicts.get(probe.pair[0]), 4) for probe in probes]  # type: ignore[arg-type]
    assert on_twins(found, said) == {"K06": [("PASS", "FAIL"), ("PARTIAL", "PARTIAL"), ("PASS", None)]}
    assert on_twins(Labels("gold", (), {}), []) == {}


def test_cells_of_several_lines_stay_whole(set_up: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text('reply_code,criterion,verdict,remark\nR001,K01,PASS,"one\n\ntwo"\nR002,K01,FAIL,\n', encoding="utf-8")
    assert outside_verdicts(path) == {("R001", "K01"): "PASS", ("R002", "K01"): "FAIL"}
