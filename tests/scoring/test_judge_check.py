"""The claim gate and the biases, on labels made by hand."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from helmbench_hf.content import library
from helmbench_hf.content.load import Benchmark
from helmbench_hf.records import CheckedLabel
from helmbench_hf.scoring.judge_check import CriterionCheck, JudgeCheck, check
from tests.scoring import build

DICE = random.Random(3)


@pytest.fixture(scope="module")
def known() -> Benchmark:
    made = {
        code: library.Criterion.model_construct(code=code, title=code, kind=kind, partial=partial)
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
