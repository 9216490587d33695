"""`helmbench people`: forms out, answers in, and a run that the other commands read."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helmbench_hf.cli.app import app
from helmbench_hf.dataset.load import CaseSet
from helmbench_hf.people.plan import Plan
from helmbench_hf.people.rater_app import make_server
from helmbench_hf.people.rating import Ratings
from tests.people.conftest import drawn, loaded, saved, stored

__all__ = ["drawn", "loaded"]
runner = CliRunner()


@pytest.fixture(scope="session")
def benchmark_() -> object:
    from helmbench_hf.content.load import default_benchmark

    return default_benchmark()


def test_forms_go_out_and_answers_become_scores(tmp_path: Path, drawn: Plan, loaded: CaseSet) -> None:
    out = tmp_path / "forms"
    study = drawn.study
    options = ["--people", str(study.people), "--per-person", str(study.per_person), "--per-case", str(study.per_case)]
    done = runner.invoke(app, ["people", "export", *options, "--seed", str(study.seed), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert {path.name for path in out.glob("*.html")} == {f"form-{person}.html" for person in drawn.people}
    assert f"study {study.id}: 16 cases, each for 2 of 4 people; 8 cases a person" in done.output

    files = [str(stored(tmp_path, saved(drawn, person))) for person in drawn.people]
    done = runner.invoke(app, ["people", "import", *files, "--run", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert "4 people answered 32 of 32" in done.output
    done = runner.invoke(app, ["report", "--run", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    scores = json.loads((tmp_path / "run" / "scores.json").read_text(encoding="utf-8"))
    assert scores["repeats"]["draws"] == 2
    assert "people (4 people, 32 answers)" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_what_cannot_be_used_is_said_in_a_sentence(tmp_path: Path, drawn: Plan, loaded: CaseSet) -> None:
    path = stored(tmp_path, saved(drawn, min(drawn.people), consent=False))
    done = runner.invoke(app, ["people", "import", str(path), "--run", str(tmp_path / "run")])
    assert done.exit_code == 1
    assert done.output.endswith("its person did not consent, so it is not used.\n")
    done = runner.invoke(app, ["people", "export", "--people", "1", "--per-person", "3", "--out", str(tmp_path / "x")])
    assert done.exit_code == 1
    assert "Give --people 2 or more" in done.output


def test_rating_is_served_and_its_labels_are_checked(
    tmp_path: Path, drawn: Plan, loaded: CaseSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command gives each rater a link that works; what is clicked becomes labels."""
    files = [str(stored(tmp_path, saved(drawn, person))) for person in drawn.people]
    assert runner.invoke(app, ["people", "import", *files, "--run", str(tmp_path / "run")]).exit_code == 0
    links: list[str] = []

    def clicks(ratings: Ratings, port: int, ready: Callable[[ThreadingHTTPServer], None]) -> None:
        with make_server(ratings, port) as server:
            ready(server)
            for secret in ratings.rated.links:
                links.append(f"http://127.0.0.1:{server.server_address[1]}/{secret}")
            for rater in ratings.raters:
                ratings.add(rater, "verdict", next(iter(ratings.rated.tasks)), "FAIL")

    monkeypatch.setattr("helmbench_hf.people.rater_app.serve", clicks)
    options = ["rate", "--run", str(tmp_path / "run"), "--out", str(tmp_path / "rated"), "--limit", "3", "--port", "0"]
    done = runner.invoke(app, options)
    assert done.exit_code == 0, done.output
    assert len(links) == 2
    assert all(link in done.output for link in links)
    assert "2 verdicts; next: helmbench judge check" in done.output
    rows = (tmp_path / "rated" / "labels.csv").read_text(encoding="utf-8").splitlines()
    assert [row.partition(",")[0] for row in rows] == ["rater", "R1", "R2"]
    code, criterion = rows[1].split(",")[1:3]
    said = tmp_path / "said.csv"
    said.write_text(f"reply_code,criterion,verdict\n{code},{criterion},PASS\n", encoding="utf-8")
    check = ["judge", "check", "--verdicts", str(said), "--labels", str(tmp_path / "rated" / "labels.csv")]
    done = runner.invoke(app, [*check, "--out", str(tmp_path / "check")])
    assert done.exit_code == 0, done.output
    assert "1 verdicts on 1 human labels" in done.output
    done = runner.invoke(app, [*options, "--seed", "2"])
    assert done.exit_code == 1
    assert "give another folder" in done.output
