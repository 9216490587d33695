"""Several judges: whose verdict gives the credit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.records import Case, Grading, JudgeInfo, Verdict
from helmbench_hf.scoring.run import score
from helmbench_hf.tasks.kinds import task_of
from helmbench_hf.tasks.ledger import PANELS, Ledger, Panel, ScoringError
from tests.scoring.build import answer, benchmark, case, judged, tagged, twins

JUDGES = tuple(JudgeInfo(name, family) for name, family in (("a", "x"), ("b", "x"), ("c", "y"), ("d", "z")))
REPLY = case(mode="judged", grading=Grading(criteria=("K01",)))
PLACE = (REPLY.code, 0, 1)
LEVELS = {5: 1.0, 4: 2 / 3, 3: 1 / 3, 2: 0.0, 1: 0.0}
Values = tuple[float | None, ...]


def ledger(panel: Panel, values: Values, one: Case = REPLY, criterion: str = "K01") -> Ledger:
    """One reply on which each judge has given a value, or none."""
    judges = JUDGES[: len(values)]
    marks = [judged(one, criterion, value, judge.id) for judge, value in zip(judges, values, strict=True)]
    return Ledger([one], answer(one) + marks, judges, panel=panel)


@pytest.mark.parametrize(
    ("values", "first", "majority", "worst"),
    [
        ((1.0, 0.0, 1.0), 1.0, 1.0, 0.0),
        ((1.0, 0.5, 0.0), 1.0, 0.5, 0.0),  # two of three say at least PARTIAL, and two at most PARTIAL
        ((1.0, 1.0, 0.5, 0.0), 1.0, None, 0.0),  # split evenly between PASS and less
        ((0.0, 1.0, 1.0, 1.0), 0.0, 1.0, 0.0),
        ((None, 1.0, 1.0), None, 1.0, None),
        ((1.0, 0.0, None), 1.0, None, None),  # a failed verdict is not a FAIL
        ((1.0, None, 0.5), 1.0, None, None),
        ((1.0, None, None, 1.0), 1.0, None, None),
        ((None, None, None), None, None, None),
        ((), None, None, None),
    ],
)
def test_panels_by_hand(values: Values, first: float | None, majority: float | None, worst: float | None) -> None:
    found = [ledger(panel, values).credit(PLACE, "K01") for panel in PANELS]
    assert found == [first, majority, worst]


@given(
    st.lists(st.sampled_from([None, 0.0, 0.5, 1.0]), min_size=3, max_size=4), st.sampled_from(["majority", "worst"]), st.randoms()
)
def test_the_order_of_the_judges_changes_neither_majority_nor_worst(
    values: list[float | None], panel: Panel, chance: st.DataObject
) -> None:
    shuffled = list(values)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert ledger(panel, tuple(values)).credit(PLACE, "K01") == ledger(panel, tuple(shuffled)).credit(PLACE, "K01")


@pytest.mark.parametrize("judges", [1, 2])
def test_a_majority_of_fewer_than_three_judges_is_refused(judges: int) -> None:
    with pytest.raises(ScoringError, match=f"a majority needs 3 judges or more, and this run has {judges}; choose"):
        Ledger([REPLY], [], JUDGES[:judges], panel="majority")


@given(st.lists(st.sampled_from([None, 0.0, 0.5, 1.0]), min_size=3, max_size=4), st.data())
def test_a_missing_verdict_never_changes_what_a_majority_says(values: list[float | None], data: st.DataObject) -> None:
    there = ledger("majority", tuple(values)).credit(PLACE, "K01")
    at = data.draw(st.integers(0, len(values) - 1))
    fewer = ledger("majority", (*values[:at], None, *values[at + 1 :])).credit(PLACE, "K01")
    assert fewer in (there, None)


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=3, max_size=4))
def test_the_worst_is_never_above_the_majority_which_is_what_most_say(values: list[float]) -> None:
    majority, worst = (ledger(panel, tuple(values)).credit(PLACE, "K01") for panel in ("majority", "worst"))
    assert worst == min(values)
    assert majority is not None or len(values) == 4
    assert majority is None or worst <= majority <= max(values)
    for value in values:
        if 2 * values.count(value) > len(values):
            assert majority == value


def test_an_unknown_panel_is_refused() -> None:
    with pytest.raises(ScoringError, match="'mean' is not a panel; choose one of first, majority, worst"):
        Ledger([REPLY], [], JUDGES, panel="mean")  # type: ignore[arg-type]


def appraised(levels: tuple[int | None, ...]) -> list[Verdict]:
    return answer(REPLY) + [
        replace(
            judged(REPLY, "A01", None if level is None else LEVELS[level], judge.id),
            detail={} if level is None else {"level": level},
        )
        for judge, level in zip(JUDGES, levels, strict=False)
    ]


@pytest.mark.parametrize(
    ("levels", "first", "majority", "worst"),
    [
        ((5, 3, 1), 5, 3, 1),
        ((2, 1, 1), 2, 1, 1),  # both levels earn nothing, and are told apart
        ((5, 4, 2, 1), 5, None, 1),
        ((None, 4, 4), None, 4, None),
    ],
)
def test_levels_of_appraisals(levels: tuple[int | None, ...], first: int | None, majority: int | None, worst: int | None) -> None:
    one = replace(REPLY, grading=Grading(criteria=("A01",)))
    for panel, level in zip(PANELS, (first, majority, worst), strict=True):
        judges = JUDGES[: len(levels)]
        verdict = Ledger([one], appraised(levels), judges, panel=panel).judged(PLACE, "A01")
        assert (None if verdict is None else (verdict.detail["level"], verdict.value)) == (
            None if level is None else (level, LEVELS[level])
        )


@pytest.mark.parametrize("high", ["PASS", "FAIL"])
def test_a_contrast_on_which_judges_differ_caps_both_halves(high: str) -> None:
    grading = Grading(criteria=("K01",), contrast="K06", contrast_high=high)  # type: ignore[arg-type]
    a, b = twins(mode="judged", grading=grading)
    marks = [v for one in (a, b) for v in (*answer(one), judged(one, "K06", 1.0, "a"), judged(one, "K06", 0.0, "c"))]
    marks += [judged(one, "K01", 1.0, judge) for one in (a, b) for judge in ("a", "c")]
    found = Ledger([a, b], marks, (JUDGES[0], JUDGES[2]), panel="worst")
    assert (task_of(a).contrast(found, a, (a.code, 0, 1)), task_of(b).contrast(found, b, (b.code, 0, 1))) == (0.0, 1.0)
    assert (task_of(a).case_credit(found, a), task_of(b).case_credit(found, b)) == (0.0, 0.0)


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=3, max_size=4),
    st.sampled_from(PANELS),
    st.sampled_from(["PASS", "FAIL"]),
)
def test_the_same_text_on_both_twins_earns_at_most_one(values: list[float], panel: Panel, high: str) -> None:
    a, b = twins(mode="judged", grading=Grading(contrast="K06", contrast_high=high))  # type: ignore[arg-type]
    judges = JUDGES[: len(values)]
    marks = [v for one in (a, b) for v in answer(one)]
    marks += [judged(one, "K06", value, judge.id) for one in (a, b) for judge, value in zip(judges, values, strict=True)]
    found = task_of(a).pair_credits(Ledger([a, b], marks, judges, panel=panel), a, b)
    assert (found.a or 0.0) + (found.b or 0.0) <= 1
    assert found.bounds_a[0] + found.bounds_b[0] <= 1


@pytest.mark.parametrize("panel", PANELS)
def test_dangerous_content_needs_two_families_whatever_the_panel(panel: Panel) -> None:
    one = replace(REPLY, grading=Grading(criteria=("K01",), vetoes=("K02",)))
    place = (one.code, 0, 1)
    for values, status in (((0.0, 0.0, 1.0), "unconfirmed"), ((0.0, 1.0, 0.0), "confirmed"), ((1.0, 1.0, 1.0), "pass")):
        assert ledger(panel, values, one, "K02").veto(place, "K02").status == status


def test_a_veto_without_fail_is_judged_where_the_panel_has_a_verdict() -> None:
    one = replace(REPLY, grading=Grading(criteria=("K01",), vetoes=("K02",)))
    for values, found in (
        ((None, 1.0, 1.0), ["unjudged", "pass", "unjudged"]),
        ((1.0, None, None), ["pass", "unjudged", "unjudged"]),
    ):
        assert [ledger(panel, values, one, "K02").veto((one.code, 0, 1), "K02").status for panel in PANELS] == found


def test_panel_and_judges_stand_in_the_provenance() -> None:
    pair = twins()
    for panel in PANELS:
        found = score(pair, tagged(pair, (1, 1)), benchmark=benchmark(), judges=JUDGES, panel=panel)
        assert found.provenance.panel == panel
        assert [judge.id for judge in found.provenance.judges] == ["a", "b", "c", "d"]
        assert any("panel" in note for note in found.notes) == (panel != "first")
