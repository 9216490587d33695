"""What people hand in becomes a run; what does not belong is refused with its reason."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.dataset.load import CaseSet
from helmbench_hf.judging.grade import collect
from helmbench_hf.people.fields import misfit, written
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
    (lambda row: {"items": [{**row["items"][0], "turns": [{"reply": ["x"]}]}]}, "no file of answers"),
    (lambda row: {"items": [{**row["items"][0], "turns": 1}]}, "no file of answers"),
    (lambda row: {"items": {}}, "no file of answers"),
    (lambda row: {"skipped": [7]}, "no file of answers"),
    (lambda row: {"more": 1}, "no file of answers"),
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
@pytest.mark.parametrize("name", ["answers.json", "answers.csv"])
def test_what_is_no_file_of_answers_is_refused(imported: Take, tmp_path: Path, text: str, name: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(PeopleError, match=name):
        imported(tmp_path / name)


def test_two_files_of_one_person_and_a_second_import_are_refused(imported: Take, drawn: Plan) -> None:
    row = saved(drawn, min(drawn.people))
    with pytest.raises(PeopleError, match="two files"):
        imported(row, row)
    imported(row)
    with pytest.raises(RunError, match="holds a run already"):
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


def test_the_table_holds_the_same_as_the_form(
    imported: Take, folder: RunFolder, tmp_path: Path, drawn: Plan, loaded: CaseSet, benchmark_: Benchmark
) -> None:
    """A table filled in by hand gives the run that the form gives."""
    write_forms(drawn, benchmark_, tmp_path)
    person = min(drawn.people)
    by_item = {drawn.item(person, case): case for case in drawn.people[person]}
    path = tmp_path / f"form-{person}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        consent, *rows = csv.DictReader(file)
    for row in rows:
        case = by_item[row["item"]]
        row["answer"] = _cell(json.loads(answer(case))[row["field"]] if case.response_schema else answer(case))
    for said in ("", "Yes"):
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, consent)
            writer.writeheader()
            writer.writerows([consent | {"answer": said}, *rows])
        if not said:
            with pytest.raises(PeopleError, match="did not consent"):
                imported(path)
    imported(path)
    form = saved(drawn, person, items=[{"id": item, "turns": [answer(c) for _ in c.turns]} for item, c in by_item.items()])
    other = RunFolder(tmp_path / "form")
    take([stored(tmp_path, form)], other, loaded, benchmark_)
    table, saved_form = ({name: each.text for name, each in run_answers(run)[1].items()} for run in (folder, other))
    assert table == saved_form


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(map(_cell, value))
    return " | ".join(map(str, value.values())) if isinstance(value, dict) else str(value)


def test_a_message_that_looks_like_a_formula_is_no_formula_in_the_table(
    tmp_path: Path, drawn: Plan, benchmark_: Benchmark
) -> None:
    person = min(drawn.people)
    cases = tuple(replace(case, system="=1+1", turns=("@SUM(A1)",) * len(case.turns)) for case in drawn.people[person])
    write_forms(replace(drawn, people={person: cases}), benchmark_, tmp_path)
    with (tmp_path / f"form-{person}.csv").open(encoding="utf-8", newline="") as file:
        cells = {cell for row in list(csv.reader(file))[2:] for cell in row[2:4]}
    assert cells == {"", " =1+1", " @SUM(A1)"}


def test_forms_hold_no_gold(tmp_path: Path, drawn: Plan, benchmark_: Benchmark) -> None:
    for path in write_forms(drawn, benchmark_, tmp_path):
        for text in (path.read_text(encoding="utf-8"), path.with_suffix(".csv").read_text(encoding="utf-8")):
            for case in drawn.people[path.stem.removeprefix("form-")]:
                assert case.code not in text
                assert case.scenario_slug not in text
                assert case.meaning not in text
            assert '"gold"' not in text
            assert '"target"' not in text


FIELDS = {
    "count": {"type": "integer", "minimum": 1, "maximum": 5},
    "name": {"type": "string", "maxLength": 3},
    "kind": {"type": "string", "enum": ["a", "b"]},
    "list": {"type": "array", "maxItems": 1, "items": {"type": "string", "maxLength": 3}},
}


@pytest.mark.parametrize(
    "changes",
    [
        {"count": 6},
        {"count": True},
        {"count": 1.5},
        {"name": "long"},
        {"kind": "c"},
        {"list": ["a", "b"]},
        {"list": "a"},
        {"list": ["long"]},
        {"more": 2},
        None,
    ],
)
def test_values_that_no_form_makes_do_not_fit(changes: dict[str, Any] | None, drawn: Plan) -> None:
    case = replace(next(iter(drawn.people.values()))[0], response_schema=json.dumps({"properties": FIELDS}))
    fitting = {"count": 5, "name": "abc", "kind": "a", "list": []}
    assert misfit(case, fitting) is None
    assert misfit(case, {} if changes is None else fitting | changes)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_refused(imported: Take, drawn: Plan, text: str) -> None:
    row = saved(drawn, min(drawn.people))
    item = next(item for item in row["items"] if item["turns"][0].startswith("{"))
    item["turns"][0] = f'{{"reply": {text}}}'
    with pytest.raises(PeopleError, match="is no number"):
        imported(row)
    with pytest.raises(PeopleError, match="is not a number"):
        written({"type": "number"}, text)
