"""What is written."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from helmbench_hf.scoring.result import FORMAT, Estimate, to_json
from tests.scoring.build import answer, scored, twins


def test_scores_are_plain_json() -> None:
    a, b = twins()
    written = to_json(scored([a, b], answer(a, target=1) + answer(b, target=0)))
    again = json.loads(json.dumps(written, allow_nan=False))
    assert again["format"] == FORMAT
    assert again["headline"]["printed"] == 100
    assert again["pairs"][0]["crisis"] == a.code
    assert again["provenance"]["cases_sha256"] == written["provenance"]["cases_sha256"]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_number_is_refused_by_name(bad: float) -> None:
    scores = scored([*twins()], [])
    index = replace(scores.gap, gap=Estimate(bad, None, None, 0, 0))
    with pytest.raises(ValueError, match=r"scores\.gap\.gap\.value is"):
        to_json(replace(scores, gap=index))
    with pytest.raises(ValueError, match=r"scores\.curves\[0\]\.midpoint\.value"):
        to_json(replace(scores, curves=(replace(scores.curves[0], midpoint=Estimate(bad, None, None, 0, 0)),)))
