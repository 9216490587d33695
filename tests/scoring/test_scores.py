"""What is written to scores.json, and read back."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from helmbench_hf.scoring.scores import FORMAT, Estimate, from_json, read_scores, to_json
from helmbench_hf.tasks.ledger import ScoringError
from tests.scoring.build import answer, scored, twins


def test_scores_are_plain_json_and_read_back_the_same(tmp_path: Path) -> None:
    a, b = twins()
    scores = scored([a, b], answer(a, target=1) + answer(b, target=0))
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(to_json(scores), allow_nan=False))
    assert read_scores(path) == scores
    written = json.loads(path.read_text())
    assert (written["format"], written["headline"]["printed"]) == (FORMAT, 100)
    assert from_json(written | {"field of a later version": 1}) == scores


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": FORMAT - 1}, rf"^scores.json has the format {FORMAT - 1}, but this version of helmbench reads {FORMAT}"),
        ({"headline": None}, r"^scores.json: headline: .* Score the run again"),
        ({"pairs": [{}]}, r"^scores.json: pairs.0.scenario: Field required"),
    ],
)
def test_what_is_no_scores_file_is_a_sentence(change: dict[str, object], message: str) -> None:
    with pytest.raises(ScoringError, match=message):
        from_json(to_json(scored([*twins()], [])) | change)


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_file_that_holds_no_scores_is_a_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    if text:
        path.write_text(text)
    with pytest.raises(ScoringError, match=r"helmbench score"):
        read_scores(path)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_number_is_refused_by_name(bad: float) -> None:
    scores, estimate = scored([*twins()], []), Estimate(bad, None, None, 0, 0)
    with pytest.raises(ValueError, match=r"scores\.gap\.gap\.value is"):
        to_json(replace(scores, gap=replace(scores.gap, gap=estimate)))
    with pytest.raises(ValueError, match=r"scores\.curves\[0\]\.midpoint\.value"):
        to_json(replace(scores, curves=(replace(scores.curves[0], midpoint=estimate),)))
