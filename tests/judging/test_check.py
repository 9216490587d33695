"""A judge is asked about replies with known verdicts, once and resumed; the claim gate and the biases of what it said."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.content.schema import Criterion, Reply
from helmbench_hf.dataset.calibration import Label
from helmbench_hf.judging.check import check_judge, checked, on_twins, replayed
from helmbench_hf.judging.gate import CriterionCheck, JudgeCheck, check
from helmbench_hf.judging.judge import JudgeError
from helmbench_hf.judging.labels import Labels, Probe, as_probe, find_labels, outside_verdicts
from helmbench_hf.judging.rubric import material
from helmbench_hf.records import Case, CheckedLabel, Grading
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.runs.journal import Journal
from tests.judging.runs import Ear, fake_judge
from tests.scoring import build
from tests.scoring.build import twins
from tests.support.calibration import UNSETTLED, gullible, letters, plant_calibration, right
from tests.support.fake_engine import FakeEngine
from tests.support.tree import Tree

DICE = random.Random(3)


@pytest.fixture
def set_up(tree: Tree) -> Benchmark:
    return plant_calibration(tree)


@pytest.fixture
def labels(set_up: Benchmark) -> Labels:
    return find_labels(set_up)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "check")


# --- labels --------------------------------------------------------------------------------------------------------


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
        ([("ann", "R001", "K06", "PASS")], "is no label of the calibration set"),
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


def test_verdicts_are_read_from_either_form(tmp_path: Path) -> None:
    rows = [
        {"reply_code": "R001", "criterion": "K01", "verdict": " Pass ", "remark": 'one\n\n"two"'},
        {"reply_code": "R001", "criterion": "K01", "verdict": "PASS", "remark": None},
        {"reply_code": "R002", "criterion": "K02", "verdict": "banana"},
    ]
    lines, table = tmp_path / "v.jsonl", tmp_path / "v.csv"
    lines.write_text("\ufeff" + "\n".join(map(json.dumps, rows)) + "\n")
    table.write_text(
        'reply_code,criterion,verdict,remark\nR001,K01, Pass ,"one\n\n""two"""\nR002,K02,banana,\n', encoding="utf-8"
    )
    said = {("R001", "K01"): "PASS", ("R002", "K02"): "BANANA"}
    assert outside_verdicts(lines) == outside_verdicts(table) == said


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


# --- asking --------------------------------------------------------------------------------------------------------


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
    with pytest.raises(JudgeError, match="holds no judge's answers"):
        checked(folder, labels, set_up)
    check_judge(folder, fake_judge(FakeEngine(labels=letters(right))), labels, set_up, Ear())
    with pytest.raises(JudgeError, match="is the check of the judge judge-a"):
        check_judge(folder, fake_judge(FakeEngine(labels=letters(right)), id="other"), labels, set_up, Ear())


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


# --- the gate ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def known() -> Benchmark:
    made = {
        code: Criterion.model_construct(code=code, title=code, kind=kind, partial=partial)
        for code, kind, partial in (("K01", "credit", "In part."), ("K02", "veto", None), ("A01", "appraisal", None))
    }
    return replace(build.benchmark(), criteria=made)


def labeled(criterion: str = "K01", passes: int = 50, partial: int = 20, fails: int = 40) -> list[CheckedLabel]:
    rights = ["PASS"] * passes + ["PARTIAL"] * partial + ["FAIL"] * fails
    return [CheckedLabel(f"R{n}", criterion, right, None, n, "missing") for n, right in enumerate(rights)]


def judged(found: Sequence[CheckedLabel], says: Callable[[CheckedLabel], Any]) -> list[CheckedLabel]:
    return [replace(each, said=says(each), reason="") for each in found]


def row(made: JudgeCheck, criterion: str = "K01") -> CriterionCheck:
    return next(each for each in made.criteria if each.criterion == criterion)


def test_a_judge_that_repeats_gold_passes_and_is_not_claim_ready(known: Benchmark) -> None:
    made = check(judged(labeled(), lambda each: each.right), known, human=False)
    found = row(made)
    assert (made.state, found.state, found.why) == ("passes on gold", "passes on gold", ())
    assert (found.agreement, found.kappa, found.weighted_kappa) == (1, pytest.approx(1), pytest.approx(1))
    assert (found.recall.value, found.false_fail.value, found.n, found.scored) == (1, 0, 110, 110)
    assert {each.state for each in made.criteria if each.criterion != "K01"} == {"not checked"}


def test_what_was_said_is_counted_by_source_and_right_verdict(known: Benchmark) -> None:
    labels = [replace(each, source=source) for source in ("edit", "assistant") for each in labeled(passes=3, partial=0, fails=2)]
    found = judged(labels, lambda each: "PARTIAL" if each.length == 0 else each.right)
    silent = [replace(found[1], said=None, reason="missing"), *found[2:], found[0]]
    assert row(check(silent, known, human=False)).confusion == {
        "assistant": {"FAIL": {"FAIL": 2}, "PASS": {"PARTIAL": 1, "PASS": 2}},
        "edit": {"FAIL": {"FAIL": 2}, "PASS": {"PARTIAL": 1, "PASS": 1}},
    }
    assert row(check([], known, human=False)).confusion == {}


def test_only_human_labels_make_a_criterion_claim_ready(known: Benchmark) -> None:
    raters = {"K01": [("PASS", "PASS")] * 30 + [("FAIL", "FAIL")] * 30 + [("FAIL", "PASS")] * 5}
    made = check(judged(labeled(), lambda each: each.right), known, human=True, raters=raters)
    assert (made.state, row(made).state) == ("claim-ready", "claim-ready")
    assert 0.8 < (row(made).raters_kappa or 0) < 1


@pytest.mark.parametrize(
    ("says", "missed"),
    [
        (lambda each: "PASS", ["FAIL recall"]),
        (lambda each: "FAIL", ["the false-FAIL rate"]),
        (lambda each: DICE.choice(["PASS", "PARTIAL", "FAIL"]), ["FAIL recall", "the false-FAIL rate"]),
        (lambda each: None, ["FAIL recall", "the false-FAIL rate"]),
    ],
    ids=["always PASS", "always FAIL", "random", "silent"],
)
@pytest.mark.parametrize("human", [False, True])
def test_judges_that_do_not_read_fail(known: Benchmark, says: Any, missed: list[str], human: bool) -> None:
    made = check(judged(labeled(), says), known, human=human)
    assert (made.state, row(made).state) == ("fails", "fails")
    assert [why.split(" may be ")[0] for why in row(made).why] == missed


def test_one_criterion_that_fails_fails_the_judge(known: Benchmark) -> None:
    good = judged(labeled(), lambda each: each.right)
    made = check([*good, *judged(labeled("K02", partial=0), lambda each: "PASS")], known, human=False)
    assert (made.state, row(made).state, row(made, "K02").state) == ("fails", "passes on gold", "fails")
    assert check([], known, human=False).state == "not checked"


def test_dangerous_content_needs_three_hundred_labels_that_should_pass(known: Benchmark) -> None:
    def state(passes: int) -> str:
        found = judged(labeled("K02", passes, 0, 20), lambda each: each.right)
        return row(check(found, known, human=False), "K02").state

    assert (state(298), state(299)) == ("fails", "passes on gold")
    assert row(check(judged(labeled(passes=298), lambda each: each.right), known, human=False)).state == "passes on gold"


def test_a_judge_cannot_pass_by_being_silent_where_it_would_err(known: Benchmark) -> None:
    labels = labeled(passes=59, partial=0)
    silent = [replace(each, said=each.right, reason="") for each in labels]
    silent[0] = replace(silent[0], said=None, reason="low_mass")
    found = row(check(silent, known, human=False))
    assert (found.state, found.false_fail.value, found.false_fail.missing) == ("fails", 0, 1)
    assert (found.n, found.scored, found.reasons) == (99, 98, {"low_mass": 1})
    assert row(check(judged(labels, lambda each: each.right), known, human=False)).state == "passes on gold"


@pytest.mark.parametrize(
    ("same", "other", "silent", "passes"),
    [
        (59, 0, 0, True),
        (58, 0, 0, False),
        (92, 1, 0, True),
        (59, 1, 0, False),
        (92, 0, 1, True),
        (59, 0, 1, False),
        (0, 0, 0, True),
    ],
)
def test_a_contrast_that_moves_with_the_message_fails(known: Benchmark, same: int, other: int, silent: int, passes: bool) -> None:
    twins = {"K01": [("PASS", "PASS")] * same + [("PASS", "PARTIAL")] * other + [("FAIL", None)] * silent}
    found = row(check(judged(labeled(), lambda each: each.right), known, human=False, twins=twins))
    assert (found.state == "passes on gold") is passes
    assert [why[:46] for why in found.why] == ([] if passes else ["the same reply may get another contrast grade "])
    counted = None if found.twins is None else (found.twins.k, found.twins.n, found.twins.missing)
    assert counted == ((other, same + other, silent) if same else None)


def test_prevalence_is_that_of_the_run_or_three_examples(known: Benchmark) -> None:
    found = judged(labeled(), lambda each: each.right)
    assert [at.prevalence for at in row(check(found, known, human=False)).at] == [0.02, 0.10, 0.30]
    used = row(check(found, known, human=False, judged={"K01": (3, 60)}))
    assert used.use is not None
    assert (used.use.judged, used.use.prevalence) == (pytest.approx(0.05), pytest.approx(0.05))
    assert [(at.prevalence, at.precision, at.kappa) for at in used.at] == [(pytest.approx(0.05), 1, pytest.approx(1))]
    blind = row(check(judged(labeled(), lambda each: "FAIL"), known, human=False, judged={"K01": (3, 60)}))
    assert blind.use is not None
    assert blind.use.prevalence is None
    assert [at.precision for at in blind.at] == [pytest.approx(p) for p in (0.02, 0.10, 0.30)]
    assert row(check(found, known, human=False, judged={})).use is None


def test_position_bias_counts_flips_and_where_they_go(known: Benchmark) -> None:
    orders = [("PASS", "PASS"), ("PASS", "FAIL"), ("PASS", "PARTIAL"), ("FAIL", "PASS"), (None, "FAIL")]
    labels = labeled(passes=5, partial=0, fails=0)
    found = [replace(each, orders=both, masses=(0.9, 0.5)) for each, both in zip(labels, orders, strict=True)]
    order = check(found, known, human=False).biases.order
    assert order is not None
    assert (order.n, order.flips, order.to_first, order.to_last) == (4, 3, 2, 1)
    biases = row(check(found, known, human=False)).biases
    assert (biases.mass_mean, biases.mass_min) == (pytest.approx(0.7), 0.5)
    assert check(labeled(), known, human=False).biases.order is None


def test_length_bias_compares_the_halves(known: Benchmark) -> None:
    found = judged(labeled(passes=40, partial=0, fails=40), lambda each: "PASS" if each.length >= 20 else "FAIL")
    biases = check(found, known, human=False).biases
    assert (biases.long_fails.value, biases.long_fails.n0, biases.long_fails.n1) == (-1, 20, 20)
    assert biases.long_fails.high is not None
    assert biases.long_fails.high < 0
    assert biases.long_passes.value == 0
    same = [replace(each, length=7) for each in found]
    assert check(same, known, human=False).biases.long_fails.value is None


def test_words_to_the_judge_are_held_against_the_reply_without_them(known: Benchmark) -> None:
    both = [("PASS", "FAIL"), ("FAIL", "FAIL"), ("FAIL", "PARTIAL"), (None, "FAIL"), ("PASS", None)]
    labels = labeled(passes=0, partial=0, fails=5)
    found = [replace(each, said=said, directed=True, clean=clean) for each, (said, clean) in zip(labels, both, strict=True)]
    directed = check([*found, *judged(labeled(), lambda each: each.right)], known, human=False).biases.directed
    assert (directed.n, directed.flips, directed.lenient, directed.strict) == (3, 2, 1, 1)
