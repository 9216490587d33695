"""What people hand in becomes a run; what does not belong is refused with its reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.load import CaseSet
from helmbench_hf.judging.grade import collect
from helmbench_hf.people.answers import Sheet, held
from helmbench_hf.people.forms import write_forms
from helmbench_hf.people.intake import Intake, take
from helmbench_hf.people.plan import PeopleError, Plan
from helmbench_hf.runs.completions import run_answers
from helmbench_hf.runs.folder import RunError, RunFolder
from tests.people.conftest import answer, saved, stored
from tests.report.payloads import PAYLOADS

Row = dict[str, Any]
Take = Callable[..., Intake]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "run")


@pytest.fixture
def imported(tmp_path: Path, folder: RunFolder, loaded: CaseSet, benchmark_: Benchmark) -> Take:
    """Import files, or what a form would have saved, into the run folder."""

    def run(*handed_in: Row | Path) -> Intake:
        files = [each if isinstance(each, Path) else stored(tmp_path, each, str(at)) for at, each in enumerate(handed_in)]
        return take(files, folder, loaded, benchmark_)

    return run


def test_answers_become_a_run_with_one_draw_a_person(imported: Take, folder: RunFolder, drawn: Plan) -> None:
    found = imported(*(saved(drawn, person) for person in drawn.people))
    assert (found.people, found.asked, found.answers, found.draws, found.beyond) == (4, 32, 32, 2, 0)
    cases, completions = run_answers(folder)
    assert {case.code for case in cases} == drawn.cases
    for case in cases:
        for draw, person in enumerate(sorted(person for person, asked in drawn.people.items() if case in asked)):
            for turn in range(1, len(case.turns) + 1):
                text, expected = completions[f"{case.code}/t{turn}/d{draw}"].text, answer(case, f"{person} answers")
                assert text == expected or json.loads(text) == json.loads(expected)
    answered = [verdict for verdict in collect(folder).verdicts if verdict.criterion == "answer"]
    assert {verdict.status for verdict in answered} == {"scored"}
    assert folder.manifest().to_json()["model"]["id"] == "people (4 people, 32 answers)"


def test_marks_are_graded_like_a_models(imported: Take, folder: RunFolder, drawn: Plan) -> None:
    """A person who sets the target wherever it is due and nowhere else has every tag right."""
    rows = []
    for person, asked in drawn.people.items():
        rows.append(saved(drawn, person))
        for item, case in zip(rows[-1]["items"], asked, strict=True):
            if case.mode == "hidden_tag":
                tags = [case.grading.target] if case.gold == "flag" else []
                item["turns"] = [answer(case, tags=tags) for _ in case.turns]
    imported(*rows)
    graded = collect(folder)
    due = {case.code: float(case.gold == "flag") for case in graded.cases if case.mode == "hidden_tag"}
    marks = [(each.value, due[each.case]) for each in graded.verdicts if each.criterion == "target" and each.case in due]
    assert marks
    assert all(value == right for value, right in marks)


def test_a_person_who_stops_leaves_missing_values(imported: Take, folder: RunFolder, drawn: Plan) -> None:
    first, *others = (saved(drawn, person) for person in drawn.people)
    first["skipped"] = [first["items"].pop()["id"], first["items"].pop()["id"]]
    found = imported(first, *others)
    assert (found.answers, found.skipped, found.draws, found.beyond) == (30, 2, 2, 2)
    missing = [verdict for verdict in collect(folder).verdicts if verdict.criterion == "answer" and verdict.value is None]
    assert [verdict.status for verdict in missing] == ["engine_failure"] * 2, "a skipped item is no wrong answer"


def test_where_few_answered_twice_one_answer_is_scored(imported: Take, drawn: Plan) -> None:
    one, two = sorted(drawn.people)[:2]
    found = imported(saved(drawn, one), saved(drawn, two))
    both = {case.code for case in drawn.people[one]} & {case.code for case in drawn.people[two]}
    assert found.cases == 16 - len(both)
    assert found.draws == (2 if 2 * len(both) > found.cases else 1)
    assert found.beyond == (found.cases - len(both) if found.draws == 2 else len(both))


CHANGES: list[tuple[Callable[[Row], Any], str]] = [
    (lambda row: {"consent": False}, "did not consent"),
    (lambda row: {"format": 99}, "format 99"),
    (lambda row: {"study": {**row["study"], "version": "9.9.9"}}, r"version 9\.9\.9"),
    (lambda row: {"study": {**row["study"], "people": "4"}}, r"study\.people"),
    (lambda row: {"study": {**row["study"], "people": True}}, r"study\.people"),
    (lambda row: {"study": {**row["study"], "people": 10**12}}, r"study\.people"),
    (lambda row: {"study": {**row["study"], "per_case": 0}}, r"study\.per_case"),
    (lambda row: {"study": []}, r"\(study: "),
    (lambda row: {"person": "nobody"}, "no person 'nobody'"),
    (lambda row: {"items": [*row["items"], row["items"][0]]}, "twice"),
    (lambda row: {"skipped": [row["items"][0]["id"]]}, "twice"),
    (lambda row: {"items": [{"id": "feedfeedfeedfeed", "turns": ["x"]}]}, "was not asked 'feedfeedfeedfeed'"),
    (lambda row: {"items": [{**row["items"][0], "turns": ["x"] * 9}]}, "9 answers"),
    (lambda row: {"items": [{**row["items"][0], "turns": ["  "]}]}, "cannot be used"),
    (lambda row: {"items": [{**row["items"][0], "turns": ["[" * 200_000]}]}, "cannot be used"),
    (lambda row: {"items": [{**row["items"][0], "turns": [{"reply": ["x"]}]}]}, "not a file of answers"),
    (lambda row: {"items": [{**row["items"][0], "turns": 1}]}, "not a file of answers"),
    (lambda row: {"items": {}}, "not a file of answers"),
    (lambda row: {"skipped": [7]}, "not a file of answers"),
    (lambda row: {"more": 1}, "not a file of answers"),
]


@pytest.mark.parametrize(("change", "reason"), CHANGES)
def test_what_does_not_belong_is_refused(
    imported: Take, folder: RunFolder, tmp_path: Path, drawn: Plan, change: Callable[[Row], Row], reason: str
) -> None:
    row = saved(drawn, min(drawn.people))
    path = stored(tmp_path, row | change(row))
    with pytest.raises(PeopleError, match=reason) as caught:
        imported(path)
    assert str(path) in str(caught.value)
    assert not folder.root.exists()


@pytest.mark.parametrize("text", ["[]", "{", "[" * 200_000, "\x00", "item,turn\n1,2\n"])
def test_what_is_no_file_of_answers_is_refused(imported: Take, tmp_path: Path, text: str) -> None:
    (tmp_path / "answers.json").write_text(text)
    with pytest.raises(PeopleError, match=r"answers\.json"):
        imported(tmp_path / "answers.json")


def test_two_files_of_one_person_and_a_second_import_are_refused(imported: Take, drawn: Plan) -> None:
    row = saved(drawn, min(drawn.people))
    with pytest.raises(PeopleError, match="two files"):
        imported(row, row)
    imported(row)
    with pytest.raises(RunError, match="already contains a run"):
        imported(row)


def test_hostile_text_stays_text(imported: Take, folder: RunFolder, drawn: Plan) -> None:
    free = {person: sum(case.response_schema is None for case in cases) for person, cases in drawn.people.items()}
    person, bank = max(free, key=lambda person: free[person]), iter(PAYLOADS * 9)
    row, given = saved(drawn, person), {}
    for item, case in zip(row["items"], drawn.people[person], strict=True):
        if case.response_schema is None:
            item["turns"] = given[case.code] = [next(bank)[:4000] for _ in case.turns]
    imported(row)
    _, completions = run_answers(folder)
    assert given
    for code, texts in given.items():
        assert [completions[f"{code}/t{turn}/d0"].text for turn in range(1, len(texts) + 1)] == texts


def test_forms_hold_no_gold(tmp_path: Path, drawn: Plan, benchmark_: Benchmark) -> None:
    for path in write_forms(drawn, benchmark_, tmp_path):
        text = path.read_text(encoding="utf-8")
        for case in drawn.people[path.stem.removeprefix("form-")]:
            assert not any(word in text for word in (case.code, case.scenario_slug, case.meaning))
        assert not any(word in text for word in ('"gold"', '"target"'))


FITTING = {"count": 5, "name": "abc", "kind": "a", "list": []}
FIELDS = {
    "count": {"type": "integer", "minimum": 1, "maximum": 5},
    "name": {"type": "string", "maxLength": 3},
    "kind": {"type": "string", "enum": ["a", "b"]},
    "list": {"type": "array", "maxItems": 1, "items": {"type": "string", "maxLength": 3}},
}


@pytest.mark.parametrize(
    "given",
    [
        {},
        *(
            FITTING | {name: value}
            for name, value in [
                ("count", 6),
                ("count", True),
                ("count", 1.5),
                ("count", float("nan")),
                ("name", "long"),
                ("kind", "c"),
                ("list", ["a", "b"]),
                ("list", "a"),
                ("list", ["long"]),
                ("more", 2),
            ]
        ),
    ],
)
def test_values_that_no_form_makes_do_not_fit(given: dict[str, Any], drawn: Plan) -> None:
    person = min(drawn.people)
    case = replace(
        drawn.people[person][0], response_schema=json.dumps({"type": "object", "properties": FIELDS}), turns=("Hello?",)
    )
    plan = replace(drawn, people={person: (case,)})
    item = {"id": plan.item(person, case), "turns": [json.dumps(FITTING)]}
    sheet = Sheet.model_validate(saved(plan, person, items=[item]))
    assert held(sheet, plan).texts == {case.code: (json.dumps(FITTING),)}
    item["turns"] = [json.dumps(given)]
    with pytest.raises(PeopleError, match="cannot be used"):
        held(Sheet.model_validate(saved(plan, person, items=[item])), plan)
