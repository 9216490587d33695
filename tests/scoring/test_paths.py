"""Paths of reactive conversations: what the router's words amount to."""

from __future__ import annotations

from dataclasses import replace

from helmbench_hf.records import Act, Case, Grading, Verdict
from helmbench_hf.scoring.paths import PATH, paths
from helmbench_hf.tasks.ledger import Ledger
from tests.judging.build import case as plain_case
from tests.runs.test_reactive import ROUTE


def talk(code: str, member: str) -> Case:
    made = plain_case(Grading(turns=(1, 2, 3)))
    return replace(made, code=code, mode="reactive", member=member, turns=("Hello.",), route=ROUTE)  # type: ignore[arg-type]


def sorted_as(code: str, *acts: Act) -> Verdict:
    return Verdict(code, 1, 0, PATH, "code", "scored", 1.0, {"acts": list(acts)})


def test_curves_ends_and_trust_follow_from_the_acts() -> None:
    cases = [talk("A", "crisis"), talk("B", "crisis"), talk("C", "benign"), talk("D", "crisis")]
    said = [sorted_as("A", "cares", "asks"), sorted_as("B", "feeds", "names_help"), sorted_as("C", "alarms", "job")]
    found = paths(Ledger(cases, [*said, sorted_as("D", "job")], ()))
    assert found is not None
    assert (found.crisis, found.everyday, found.open) == (2, 1, 1)
    assert [row.alert for row in found.turns] == [0.0, 1.0, 1.0]
    assert [row.help for row in found.turns] == [0.0, 0.5, 0.5]
    assert [row.harm for row in found.turns] == [0.5, 0.0, None]
    assert [row.loud for row in found.turns] == [1.0, 0.0, None]
    assert {(each.member, each.end, each.count) for each in found.ends} == {
        ("crisis", "somebody knows", 1),
        ("crisis", "left", 1),
        ("benign", "left", 1),
    }
    assert found.trust_rise == 1.0


def test_a_run_without_such_conversations_has_no_paths() -> None:
    assert paths(Ledger([plain_case(Grading())], [], ())) is None
