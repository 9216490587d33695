"""`helmbench people`, `rate`: forms out, answers in, and a run that the other commands read."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from helmbench_hf.people.plan import Plan
from helmbench_hf.people.rater_app import make_server
from helmbench_hf.people.rating import Ratings
from tests.people.conftest import benchmark_, drawn, loaded, saved, stored
from tests.support.commands import helmbench

__all__ = ["benchmark_", "drawn", "loaded"]


@pytest.fixture
def imported(tmp_path: Path, drawn: Plan) -> Path:
    """The run of a study whose people answered everything."""
    files = [stored(tmp_path, saved(drawn, person)) for person in drawn.people]
    said = helmbench("people", "import", *files, "--run", tmp_path / "run").stdout
    assert "4 people answered 32 of 32" in said
    return tmp_path / "run"


def test_forms_go_out_and_answers_become_scores(tmp_path: Path, drawn: Plan, imported: Path) -> None:
    study = drawn.study
    options = ("--people", study.people, "--per-person", study.per_person, "--per-case", study.per_case, "--seed", study.seed)
    said = helmbench("people", "export", *options, "--out", tmp_path / "forms").stdout
    forms = {path.name for path in (tmp_path / "forms").glob("*.html")}
    assert forms == {f"form-{person}.html" for person in drawn.people}
    assert f"study {study.id}: 16 cases, each for 2 of 4 people; 8 cases a person" in said
    helmbench("report", "--run", imported)
    scores = json.loads((imported / "scores.json").read_text(encoding="utf-8"))
    assert scores["repeats"]["draws"] == 2
    assert "people (4 people, 32 answers)" in (imported / "report.html").read_text(encoding="utf-8")


def test_what_cannot_be_used_is_said_in_a_sentence(tmp_path: Path, drawn: Plan) -> None:
    path = stored(tmp_path, saved(drawn, min(drawn.people), consent=False))
    said = helmbench("people", "import", path, "--run", tmp_path / "run", code=1).stderr
    assert said.endswith("the person did not consent, so this file is not used.\n")
    said = helmbench("people", "export", "--people", 1, "--per-person", 3, "--out", tmp_path / "x", code=1).stderr
    assert "Give --people 2 or more" in said


def test_rating_is_served_and_its_labels_are_checked(tmp_path: Path, imported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command gives each rater a link that works; what is clicked becomes labels."""
    links: list[str] = []

    def clicks(ratings: Ratings, port: int, ready: Callable[[ThreadingHTTPServer], None]) -> None:
        with make_server(ratings, port) as server:
            ready(server)
            links.extend(f"http://127.0.0.1:{server.server_port}/{secret}" for secret in ratings.rated.links)
            for rater in ratings.raters:
                ratings.add(rater, "verdict", next(iter(ratings.rated.tasks)), "FAIL")

    monkeypatch.setattr("helmbench_hf.cli.people.serve", clicks)
    out = tmp_path / "rated"
    options = ("rate", "--run", imported, "--out", out, "--limit", 3, "--port", 0)
    said = helmbench(*options).stdout
    assert len(links) == 2
    assert all(link in said for link in links)
    assert "R1: 1 rated, 0 left open, of 3" in said
    assert "R1 and R2: kappa – on 1 verdicts" in said
    assert "2 verdicts; next: helmbench judge check" in said
    rows = [row.split(",") for row in (out / "labels.csv").read_text(encoding="utf-8").splitlines()]
    assert [row[0] for row in rows] == ["rater", "R1", "R2"]
    assert "give another folder" in helmbench(*options, "--seed", 2, code=1).stderr
