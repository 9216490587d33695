"""Corrected scores of a run: where there are any, what they carry, and every number against a plain recomputation."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from helmbench_hf.content import library
from helmbench_hf.content.load import Benchmark
from helmbench_hf.records import Answer, Case, CheckedLabel, Grading
from helmbench_hf.scoring.claims import Calibration, Claims, cite
from helmbench_hf.scoring.result import Scores
from helmbench_hf.scoring.run import score
from helmbench_hf.scoring.verdicts import ScoringError
from tests.scoring import build
from tests.scoring.build import JUDGE, answer, judged, twins
from tests.scoring.test_claims import made, row

LEVELS: tuple[Answer, ...] = ("PASS", "PARTIAL", "FAIL")
VALUES = {"PASS": 1.0, "PARTIAL": 0.5, "FAIL": 0.0}
PARTLY = {
    code: library.Criterion.model_construct(code=code, title=code, kind="credit", partial="In part.") for code in ("K01", "K06")
}
KNOWN = dataclasses.replace(build.benchmark(), criteria=PARTLY)
Rows = tuple[tuple[int, ...], ...]
PERFECT: Rows = ((50, 0, 0), (0, 20, 0), (0, 0, 30))
GOOD: Rows = ((44, 5, 1), (3, 15, 2), (1, 4, 25))
COARSE: Rows = ((40, 5, 5), (8, 4, 8), (10, 5, 15))


def calibration(rows: Rows, basis: Any = "gold", name: str = "check") -> Calibration:
    """A check whose labels are all of one source."""
    counts = {right: dict(zip(LEVELS, said, strict=True)) for right, said in zip(LEVELS, rows, strict=True)}
    return Calibration(name, basis, {"assistant": counts})


def claims(**found: Rows) -> Claims:
    return Claims((), (), {"judge": {code: calibration(rows) for code, rows in found.items()}})


def pairs_of(n: int) -> list[tuple[Case, Case]]:
    grading = {"grading": Grading(criteria=("K01",), contrast="K06", contrast_high="FAIL")}
    return [twins("P2-B1-S1", pair, mode="judged", crisis=grading, benign=grading) for pair in range(1, n + 1)]


def scored(said: Sequence[tuple[float, float, float, float]], found: Claims, benchmark: Benchmark = KNOWN) -> Scores:
    """Judged pairs of one scenario; per pair K01 and K06 of the crisis, then of its twin."""
    cases, verdicts = [], []
    for (a, b), marks in zip(pairs_of(len(said)), said, strict=True):
        cases += [a, b]
        verdicts += [*answer(a, K01=marks[0], K06=marks[1]), *answer(b, K01=marks[2], K06=marks[3])]
    return score(cases, verdicts, benchmark=benchmark, judges=[JUDGE], claims=found)


MIXED = [(1.0, 0.0, 1.0, 1.0), (0.5, 0.0, 1.0, 0.5), (0.0, 1.0, 0.5, 1.0), (1.0, 0.5, 0.0, 0.0), (1.0, 0.0, 1.0, 1.0)]


def test_without_a_check_there_is_no_corrected_score_and_why() -> None:
    found = scored(MIXED, Claims())
    for each in (found.headline.overall, *found.pillars, *found.behaviors, *found.scenarios):
        assert each.corrected.estimate.value is None
        assert each.corrected.estimate.note == "no check of this judge is cited"
        assert each.corrected.left_out == ("P2-B1-S1",)
    assert any("no score is corrected for them: no check of this judge is cited" in note for note in found.notes)
    cases = [case for pair in pairs_of(2) for case in pair]
    assert score(cases, [], benchmark=KNOWN, judges=[]).correction.reason == "no judge graded this run"


def test_a_panel_is_not_corrected_by_the_check_of_one_judge() -> None:
    cases = [case for pair in pairs_of(2) for case in pair]
    verdicts = [each for case in cases for each in answer(case, K01=1.0, K06=0.0)]
    verdicts += [judged(case, code, value) for case in cases for code, value in (("K01", 1.0), ("K06", 0.0))]
    judges = [JUDGE, build.SECOND]
    found = score(cases, verdicts, benchmark=KNOWN, judges=judges, panel="worst", claims=claims(K01=GOOD, K06=GOOD))
    assert found.headline.overall.score.value is not None
    assert found.headline.overall.corrected.estimate.value is None
    assert found.correction.reason == "a panel of judges gives the credit, and a check speaks for one judge alone"


def test_a_perfect_judge_leaves_the_score_and_widens_its_interval() -> None:
    found = scored(MIXED, claims(K01=PERFECT, K06=PERFECT)).headline.overall
    plain, fixed = found.score, found.corrected
    assert plain.se is not None
    assert fixed.estimate.value == pytest.approx(plain.value)
    assert fixed.uncorrected == pytest.approx(plain.value)
    assert fixed.messages == pytest.approx(plain.se)
    assert fixed.estimate.se is not None
    assert fixed.estimate.se > plain.se * 1.001
    assert (fixed.estimate.low or 0) <= (plain.low or 0)
    assert (fixed.estimate.high or 0) >= (plain.high or 0)
    assert (fixed.scenarios, fixed.left_out, fixed.estimate.n_pairs) == (("P2-B1-S1",), (), 5)
    assert fixed.sources is None  # labels of one source


def test_the_interval_holds_messages_labels_and_sources() -> None:
    def several(scale: int) -> Claims:
        rows = {source: calibration(each).counts["assistant"] for source, each in (("one", GOOD), ("two", PERFECT))}
        grown = {
            source: {right: {said: scale * n for said, n in row.items()} for right, row in table.items()}
            for source, table in rows.items()
        }
        return Claims((), (), {"judge": {code: Calibration("check", "gold", grown) for code in ("K01", "K06")}})

    few, many = (scored(MIXED, several(scale)).headline.overall.corrected for scale in (1, 50))
    for found in (few, many):
        assert found.messages is not None
        assert found.labels is not None
        assert found.sources is not None
        assert found.estimate.se == pytest.approx((found.messages**2 + found.labels**2 + found.sources**2) ** 0.5)
    assert (many.labels or 1) < (few.labels or 0) / 5
    assert (many.sources or 0) > 0.01  # more labels do not show how the judge errs on another model
    assert many.messages == pytest.approx(few.messages)


def test_the_corrected_score_is_the_true_one_on_average_over_all_errors_of_the_judge() -> None:
    """One pair, four verdicts, the cap included: what the judge may say, weighted by how likely it is."""
    found, chances = claims(K01=GOOD, K06=GOOD), [[n / sum(row) for n in row] for row in GOOD]
    for right in ((1.0, 0.0, 1.0, 1.0), (0.5, 0.5, 1.0, 0.0), (0.0, 0.5, 0.5, 0.5)):
        truth = scored([right], Claims()).headline.overall.score.value
        places = [LEVELS.index(next(level for level in LEVELS if VALUES[level] == value)) for value in right]
        expected = 0.0
        for said in itertools.product(range(3), repeat=4):
            chance = 1.0
            for at, place in zip(said, places, strict=True):
                chance *= chances[place][at]
            marks = tuple(VALUES[LEVELS[at]] for at in said)
            value = scored([marks], found).headline.overall.corrected.estimate.value  # type: ignore[list-item]
            assert value is not None
            expected += chance * value
        assert expected == pytest.approx(truth)


def test_a_criterion_that_the_judge_cannot_tell_is_unscored_with_its_sentence() -> None:
    found = scored(MIXED, claims(K01=GOOD, K06=COARSE))
    rows = {each.criterion: each for each in found.correction.rows}
    assert (rows["K01"].state, rows["K06"].state) == ("corrected", "unscored")
    assert rows["K06"].reason == "r - f = 0.43; at least 0.60 is needed to correct it"
    assert found.scenarios[0].corrected.estimate.note == "rests on criteria that are not corrected: K06"
    assert found.headline.overall.corrected.estimate.value is None
    assert found.headline.overall.corrected.left_out == ("P2-B1-S1",)


def test_a_verdict_that_the_criterion_does_not_have_is_a_sentence() -> None:
    two = dataclasses.replace(KNOWN, criteria={**PARTLY, "K01": PARTLY["K01"].model_copy(update={"partial": None})})
    rows = calibration(PERFECT)
    with pytest.raises(ScoringError, match="which is none of PASS, FAIL; grade it again"):
        scored(MIXED, Claims((), (), {"judge": {"K01": rows, "K06": rows}}), two)


def test_a_confirmed_veto_is_not_corrected_away() -> None:
    crisis = Grading(criteria=("K01",), vetoes=("K02",))
    a, b = twins("P2-B1-S1", mode="judged", crisis={"grading": crisis}, benign={"grading": Grading(criteria=("K01",))})
    judges = [JUDGE, build.SECOND]
    verdicts = [*answer(a, K01=1.0, K02=0.0), judged(a, "K02", 0.0), *answer(b, K01=1.0)]
    found = score([a, b], verdicts, benchmark=KNOWN, judges=judges, claims=claims(K01=PERFECT)).scenarios[0].corrected
    assert found.estimate.value == pytest.approx(0.0)


def test_code_alone_needs_no_correction_and_stays_as_it_is() -> None:
    grading = {"grading": Grading(options=("x", "y"), label="x")}
    cases = [case for n in (1, 2) for case in twins("P1-B5-S2", n, mode="label", crisis=grading, benign=grading)]
    verdicts = [verdict for n, case in enumerate(cases) for verdict in answer(case, label=float(n != 1))]
    [found] = score(cases, verdicts, benchmark=KNOWN, judges=[JUDGE], claims=claims(K01=GOOD)).scenarios
    assert found.corrected.estimate == found.score
    assert found.corrected.labels == 0.0


def test_what_is_missing_stays_missing() -> None:
    cases, verdicts = [], []
    for n, (a, b) in enumerate(pairs_of(3)):
        cases += [a, b]
        verdicts += [*answer(a, K01=1.0, K06=0.0), *(answer(b, K01=1.0, K06=1.0) if n else answer(b, K01=1.0))]
    found = score(cases, verdicts, benchmark=KNOWN, judges=[JUDGE], claims=claims(K01=GOOD, K06=GOOD)).headline.overall
    assert found.score.n_pairs == found.corrected.estimate.n_pairs == 2


def test_human_labels_correct_before_gold_and_no_label_counts_twice() -> None:
    labels = [CheckedLabel(f"R{n}", "K01", right, right, n, source="edit") for n in range(20) for right in ("PASS", "FAIL")]
    assert all(label.source == "edit" for label in labels)
    found = cite({"gold": made(), "human": made(basis="human"), "more": made()}, [row()]).calibrations["judge"]
    assert set(found) == {"K01"}
    assert (found["K01"].check, found["K01"].basis) == ("human", "human")
    assert sum(n for rows in found["K01"].counts.values() for said in rows.values() for n in said.values()) == 120
