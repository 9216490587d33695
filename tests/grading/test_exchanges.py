"""What of a run is graded: its cases from where it took them, its answers by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helmbench_hf.grading import exchanges
from helmbench_hf.grading.run import collect
from helmbench_hf.inference.journal import Journal
from helmbench_hf.run_folder import RunError, RunFolder
from tests.grading import runs
from tests.grading.build import done


def test_an_answer_stands_over_an_earlier_engine_failure(folder, chosen) -> None:
    name = f"{chosen[0].code}/t1/d0"
    failed = replace(done("", "engine_error"), key=f"key of {name}", request=name)
    with Journal.open(folder.completions, "test") as journal:
        journal.append(failed)
    assert collect(folder).completions[failed.request].status == "ok"


@pytest.mark.parametrize("change", [{"version": "9.9.9"}, {"content_sha256": "d"}])
def test_another_dataset_is_refused(folder, real, chosen, change) -> None:
    folder.write_manifest(runs.manifest(runs.identity(**{"version": real.file.version, **change}), 1))
    with pytest.raises(RunError):
        collect(folder)


def test_no_run_is_a_sentence(tmp_path) -> None:
    with pytest.raises(RunError, match="no run"):
        collect(RunFolder(tmp_path))


def test_selection_and_draws_follow_the_manifest(folder, chosen, real) -> None:
    made = runs.manifest(runs.identity(real.file.version), 2, draws=2)
    folder.write_manifest({**made, "selection": {"only": chosen[0].scenario, "limit": 1}})
    graded = collect(folder)
    assert [case.code for case in graded.cases] == [chosen[0].code]
    answers = [v for v in graded.verdicts if v.criterion == "answer"]
    assert [(v.draw, v.status) for v in answers] == [(0, "scored"), (1, "engine_failure")]
    folder.write_manifest({**made, "selection": {"cases": 3}})
    assert len(collect(folder).cases) == len(chosen)


@pytest.mark.parametrize(
    ("source", "asked"),
    [("embedded", (None, None)), ("helmbench/v1@abc", ("hf://datasets/helmbench/v1", "abc")), ("/", ("/", None))],
)
def test_cases_come_from_where_the_run_took_them(folder, real, chosen, monkeypatch, source, asked) -> None:
    calls = []

    def load(design: str, place: str | None, revision: str | None):
        calls.append((design, place, revision))
        return runs.case_set(chosen, real.file.version)

    monkeypatch.setattr(exchanges, "load_cases", load)
    folder.write_manifest(runs.manifest(runs.identity(real.file.version, source=source), len(chosen)))
    collect(folder)
    assert calls == [("smoke", *asked)]
