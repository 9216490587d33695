"""How far judges agree."""

from __future__ import annotations

from dataclasses import replace

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.records import Answer, Case, Grading, JudgeInfo, Verdict
from helmbench_hf.scoring.agreement import LEVELS, agreement, alphas, coincidences
from helmbench_hf.scoring.scores import Agreement, JudgePair, PanelAlpha
from helmbench_hf.tasks.ledger import Ledger
from tests.scoring.build import JUDGE, SECOND, answer, benchmark, case, judged

THIRD = JudgeInfo("third", "family three")
VALUES = {"P": 1.0, "H": 0.5, "F": 0.0}


def alpha(units: list[list[Answer]]) -> float:
    return float(alphas(sum((coincidences(unit, LEVELS) for unit in units), np.zeros((5, 5)))[None])[0])


@given(st.lists(st.lists(st.sampled_from(LEVELS), min_size=1, max_size=4), min_size=1, max_size=12))
def test_alpha_is_that_of_the_library(units: list[list[Answer]]) -> None:
    several = [unit for unit in units if len(unit) > 1]
    found = alpha(units)
    if len({level for unit in several for level in unit}) < 2:
        assert np.isnan(found)
        return
    counts = np.array([[unit.count(level) for level in LEVELS] for unit in several])
    seen = counts.sum(axis=0) > 0  # the library wants levels that occur; ordinal distances do not depend on the others
    theirs = krippendorff.alpha(value_counts=counts[:, seen], level_of_measurement="ordinal")
    assert found == pytest.approx(theirs, abs=1e-12)


def replies(*said: str, criterion: str = "K01") -> tuple[list[Case], list[Verdict]]:
    """One reply a word; each letter is a judge's verdict, a dot none."""
    cases = [case(number=n, mode="judged", grading=Grading(criteria=(criterion,))) for n in range(1, len(said) + 1)]
    found: list[Verdict] = []
    for one, letters in zip(cases, said, strict=True):
        found += answer(one)
        for judge, letter in zip((JUDGE, SECOND, THIRD), letters, strict=False):
            if letter.isdigit():
                found.append(replace(judged(one, criterion, 1.0, judge.id), detail={"level": int(letter)}))
            else:
                found.append(judged(one, criterion, VALUES.get(letter), judge.id))
    return cases, found


def found(*said: str, judges: int = 2, criterion: str = "K01") -> Agreement:
    cases, verdicts = replies(*said, criterion=criterion)
    return agreement(Ledger(cases, verdicts, (JUDGE, SECOND, THIRD)[:judges]), benchmark())


def pair(rows: Agreement, criterion: str = "K01") -> JudgePair:
    return next(row for row in rows.judge_pairs if row.criterion == criterion)


def panel(rows: Agreement, criterion: str = "K01") -> PanelAlpha:
    return next(row for row in rows.panel if row.criterion == criterion)


def test_two_judges_by_hand() -> None:
    # table: PP 3, PF 1, FF 3, HP 1; first P4 H1 F3, second P4 F4
    rows = found("PP", "PP", "PP", "PF", "FF", "FF", "FF", "HP", ".P", "P.")
    one = pair(rows)
    assert (one.n, one.same) == (8, 6 / 8)
    expected = (4 * 4 + 3 * 4) / 64
    assert one.kappa == pytest.approx((6 / 8 - expected) / (1 - expected))
    both = panel(rows)
    assert (both.verdicts, both.alpha.n_pairs, both.alpha.n_meanings) == (16, 8, 8)
    # values P8 H1 F7: F to H is (7 + 1 - 4)^2, H to P (1 + 8 - 4.5)^2, F to P (16 - 7.5)^2
    observed, by_chance = 2 * 72.25 + 2 * 20.25, 2 * (8 * 7 * 72.25 + 8 * 20.25 + 7 * 16) / 15
    assert both.alpha.value == pytest.approx(1 - observed / by_chance)
    assert both.alpha.low is not None
    assert both.alpha.low < (both.alpha.value or 0) < (both.alpha.high or 0)
    assert pair(rows, "all") == replace(one, criterion="all", title=pair(rows, "all").title)


def test_three_judges_make_three_pairs_and_one_panel() -> None:
    rows = found("PPF", "FFF", "P.P", "..P", judges=3)
    assert [(row.first, row.second, row.n) for row in rows.judge_pairs if row.criterion == "K01"] == [
        ("judge", "second", 2),
        ("judge", "third", 3),
        ("second", "third", 2),
    ]
    assert (panel(rows).verdicts, panel(rows).alpha.n_pairs) == (8, 3)


def test_appraisals_are_compared_on_their_own_levels() -> None:
    rows = found("52", "21", "33", criterion="A01")
    assert (pair(rows, "A01").n, pair(rows, "A01").same) == (3, 1 / 3)
    assert (pair(rows, "all").n, pair(rows, "all").same, pair(rows, "all").kappa) == (0, None, None)
    assert panel(rows, "all").alpha.note == "no reply has two verdicts"


def test_the_interval_of_alpha_ends_where_alpha_does() -> None:
    beyond = panel(found("PP", "FF", "PF", "PP")).alpha  # t of three degrees of freedom reaches beyond either end
    assert (beyond.low, beyond.high) == (-1.0, 1.0)
    assert beyond.se is not None
    assert (beyond.value or 0) + 3 * beyond.se > 1


def test_what_cannot_be_said_is_none_with_its_reason() -> None:
    assert found("P", "F", judges=1) == Agreement((), ())
    alike = found("PP", "PP")
    assert (pair(alike).same, pair(alike).kappa) == (1.0, None)
    assert panel(alike).alpha.value is None
    assert panel(alike).alpha.note == "no two verdicts differ, which says nothing about agreement"
    lone = panel(found("PF", "..")).alpha
    assert (lone.value, lone.low, lone.note) == (0.0, None, "it rests on one message, which has no interval")


def test_copies_of_one_message_count_as_one() -> None:
    cases, verdicts = replies("PF", "PP", "FF", "PF")
    same = [replace(one, meaning="one") for one in cases[:2]] + cases[2:]
    row = panel(agreement(Ledger(same, verdicts, (JUDGE, SECOND)), benchmark()))
    assert (row.alpha.n_pairs, row.alpha.n_meanings, row.alpha.df) == (4, 3, 2.0)
