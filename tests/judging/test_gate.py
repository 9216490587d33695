"""The claim gate: what passes it and what does not, and its numbers as the literature, counting and symmetry have them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.schema import Criterion
from helmbench_hf.judging.gate import (
    LEVELS,
    CriterionCheck,
    JudgeCheck,
    at_least,
    at_most,
    check,
    corrected,
    kappa_at,
    precision_at,
)
from helmbench_hf.records import CheckedLabel
from helmbench_hf.scoring.agreement import kappa
from helmbench_hf.scoring.correction import SEPARATION
from tests.scoring import build

DICE = random.Random(3)
counts = st.integers(0, 60)
shares = st.floats(0.01, 0.99)


@pytest.fixture(scope="module")
def benchmark() -> Benchmark:
    made = {
        code: Criterion.model_construct(code=code, title=code, kind=kind, partial=partial)
        for code, kind, partial in (("K01", "credit", "In part."), ("K02", "veto", None), ("A01", "appraisal", None))
    }
    return replace(build.benchmark(), criteria=made)


def labeled(criterion: str = "K01", passes: int = 50, partial: int = 20, fails: int = 40) -> list[CheckedLabel]:
    rights = ["PASS"] * passes + ["PARTIAL"] * partial + ["FAIL"] * fails
    return [CheckedLabel(f"R{n}", criterion, right, None, "missing") for n, right in enumerate(rights)]


def judged(found: Sequence[CheckedLabel], says: Callable[[CheckedLabel], Any]) -> list[CheckedLabel]:
    return [replace(each, said=says(each), reason="") for each in found]


def row(made: JudgeCheck, criterion: str = "K01") -> CriterionCheck:
    return next(each for each in made.criteria if each.criterion == criterion)


def test_a_judge_that_repeats_gold_passes_and_is_not_claim_ready(benchmark: Benchmark) -> None:
    made = check(judged(labeled(), lambda each: each.right), benchmark, human=False)
    found = row(made)
    assert (made.state, found.state, found.why) == ("passes on gold", "passes on gold", ())
    assert (found.agreement, found.kappa) == (1, pytest.approx(1))
    assert (found.recall.value, found.false_fail.value, found.n, found.scored) == (1, 0, 110, 110)
    assert {each.state for each in made.criteria if each.criterion != "K01"} == {"not checked"}


def test_what_was_said_is_counted_by_source_and_right_verdict(benchmark: Benchmark) -> None:
    labels = [replace(each, source=source) for source in ("edit", "assistant") for each in labeled(passes=3, partial=0, fails=2)]
    found = judged(labels, lambda each: "PARTIAL" if each.reply == "R0" else each.right)
    silent = [replace(found[1], said=None, reason="missing"), *found[2:], found[0]]
    assert row(check(silent, benchmark, human=False)).confusion == {
        "assistant": {"FAIL": {"FAIL": 2}, "PASS": {"PARTIAL": 1, "PASS": 2}},
        "edit": {"FAIL": {"FAIL": 2}, "PASS": {"PARTIAL": 1, "PASS": 1}},
    }
    assert row(check([], benchmark, human=False)).confusion == {}


def test_only_human_labels_make_a_criterion_claim_ready(benchmark: Benchmark) -> None:
    raters = {"K01": [("PASS", "PASS")] * 30 + [("FAIL", "FAIL")] * 30 + [("FAIL", "PASS")] * 5}
    made = check(judged(labeled(), lambda each: each.right), benchmark, human=True, raters=raters)
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
def test_judges_that_do_not_read_fail(benchmark: Benchmark, says: Any, missed: list[str], human: bool) -> None:
    made = check(judged(labeled(), says), benchmark, human=human)
    assert (made.state, row(made).state) == ("fails", "fails")
    assert [why.split(" may be ")[0] for why in row(made).why] == missed


def test_one_criterion_that_fails_fails_the_judge(benchmark: Benchmark) -> None:
    good = judged(labeled(), lambda each: each.right)
    made = check([*good, *judged(labeled("K02", partial=0), lambda each: "PASS")], benchmark, human=False)
    assert (made.state, row(made).state, row(made, "K02").state) == ("fails", "passes on gold", "fails")
    assert check([], benchmark, human=False).state == "not checked"


def test_dangerous_content_needs_three_hundred_labels_that_should_pass(benchmark: Benchmark) -> None:
    def state(passes: int) -> str:
        found = judged(labeled("K02", passes, 0, 20), lambda each: each.right)
        return row(check(found, benchmark, human=False), "K02").state

    assert (state(298), state(299)) == ("fails", "passes on gold")
    assert row(check(judged(labeled(passes=298), lambda each: each.right), benchmark, human=False)).state == "passes on gold"


def test_a_judge_cannot_pass_by_being_silent_where_it_would_err(benchmark: Benchmark) -> None:
    labels = labeled(passes=59, partial=0)
    silent = [replace(each, said=each.right, reason="") for each in labels]
    silent[0] = replace(silent[0], said=None, reason="low_mass")
    found = row(check(silent, benchmark, human=False))
    assert (found.state, found.false_fail.value, found.false_fail.missing) == ("fails", 0, 1)
    assert (found.n, found.scored, found.reasons) == (99, 98, {"low_mass": 1})
    assert row(check(judged(labels, lambda each: each.right), benchmark, human=False)).state == "passes on gold"


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
def test_a_contrast_that_follows_the_message_fails(
    benchmark: Benchmark, same: int, other: int, silent: int, passes: bool
) -> None:
    twins = {"K01": [("PASS", "PASS")] * same + [("PASS", "PARTIAL")] * other + [("FAIL", None)] * silent}
    found = row(check(judged(labeled(), lambda each: each.right), benchmark, human=False, twins=twins))
    assert (found.state == "passes on gold") is passes
    assert [why[:46] for why in found.why] == ([] if passes else ["the same reply may get another contrast grade "])
    counted = None if found.twins is None else (found.twins.k, found.twins.n, found.twins.missing)
    assert counted == ((other, same + other, silent) if same else None)


def test_prevalence_is_that_of_the_run_or_three_examples(benchmark: Benchmark) -> None:
    found = judged(labeled(), lambda each: each.right)
    assert [at.prevalence for at in row(check(found, benchmark, human=False)).at] == [0.02, 0.10, 0.30]
    used = row(check(found, benchmark, human=False, judged={"K01": (3, 60)}))
    assert used.use is not None
    assert (used.use.judged, used.use.prevalence) == (pytest.approx(0.05), pytest.approx(0.05))
    assert [(at.prevalence, at.precision, at.kappa) for at in used.at] == [(pytest.approx(0.05), 1, pytest.approx(1))]
    blind = row(check(judged(labeled(), lambda each: "FAIL"), benchmark, human=False, judged={"K01": (3, 60)}))
    assert blind.use is not None
    assert blind.use.prevalence is None
    assert [at.precision for at in blind.at] == [pytest.approx(p) for p in (0.02, 0.10, 0.30)]
    assert row(check(found, benchmark, human=False, judged={})).use is None


def test_position_bias_counts_flips_and_where_they_go(benchmark: Benchmark) -> None:
    orders = [("PASS", "PASS"), ("PASS", "FAIL"), ("PASS", "PARTIAL"), ("FAIL", "PASS"), (None, "FAIL")]
    labels = labeled(passes=5, partial=0, fails=0)
    found = [replace(each, orders=both, masses=(0.9, 0.5)) for each, both in zip(labels, orders, strict=True)]
    order = check(found, benchmark, human=False).biases.order
    assert order is not None
    assert (order.n, order.flips, order.to_first, order.to_last) == (4, 3, 2, 1)
    biases = row(check(found, benchmark, human=False)).biases
    assert (biases.mass_mean, biases.mass_min) == (pytest.approx(0.7), 0.5)
    assert check(labeled(), benchmark, human=False).biases.order is None


def test_words_to_the_judge_are_held_against_the_reply_without_them(benchmark: Benchmark) -> None:
    both = [("PASS", "FAIL"), ("FAIL", "FAIL"), ("FAIL", "PARTIAL"), (None, "FAIL"), ("PASS", None)]
    labels = labeled(passes=0, partial=0, fails=5)
    found = [replace(each, said=said, directed=True, clean=clean) for each, (said, clean) in zip(labels, both, strict=True)]
    directed = check([*found, *judged(labeled(), lambda each: each.right)], benchmark, human=False).biases.directed
    assert (directed.n, directed.flips, directed.lenient, directed.strict) == (3, 2, 1, 1)


def pairs(table: list[list[int]]) -> list[tuple[str, str]]:
    rows = [repeat((LEVELS[i], LEVELS[j]), n) for i, row in enumerate(table) for j, n in enumerate(row)]
    return list(chain(*rows))


def test_bounds_need_as_many_labels_as_computed_by_hand() -> None:
    assert at_most(0, 59).bound <= 0.05 < at_most(0, 58).bound
    assert at_most(0, 299).bound <= 0.01 < at_most(0, 298).bound
    assert at_least(14, 14).bound >= 0.80 > at_least(13, 13).bound
    assert (at_least(0, 0).bound, at_most(0, 0).bound, at_least(0, 0).value) == (0, 1, None)


@given(k=counts, rest=counts, missing=counts)
def test_silence_never_helps(k: int, rest: int, missing: int) -> None:
    for made, sign in ((at_least, 1), (at_most, -1)):
        full, holed = made(k, k + rest), made(k, k + rest, missing)
        assert sign * holed.bound <= sign * full.bound
        assert full.value == holed.value
        if full.value is not None:
            assert sign * full.bound <= sign * full.value


@settings(max_examples=60)
@given(hits=counts, misses=counts, false=counts, fine=counts)
def test_in_use_is_what_counting_gives(hits: int, misses: int, false: int, fine: int) -> None:
    fails, others = hits + misses, false + fine
    if not fails or not others:
        return
    prevalence, recall, rate = fails / (fails + others), hits / fails, false / others
    said = precision_at(recall, rate, prevalence)
    assert said == (pytest.approx(hits / (hits + false)) if hits + false else None)
    counted = kappa(pairs([[fine, 0, false], [0, 0, 0], [misses, 0, hits]]), LEVELS)
    assert kappa_at(recall, rate, prevalence) == pytest.approx(counted, abs=1e-9)


@given(prevalence=st.floats(0, 1), recall=shares, rate=shares)
def test_correction_undoes_the_judge(prevalence: float, recall: float, rate: float) -> None:
    judged = prevalence * recall + (1 - prevalence) * rate
    found = corrected(judged, recall, rate)
    if recall - rate < SEPARATION - 1e-6:
        assert found is None
    elif recall - rate > SEPARATION:
        assert found == pytest.approx(prevalence, abs=1e-9)
