"""The summary in a terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from helmbench_hf.report import summary
from helmbench_hf.scoring.result import FORMAT
from helmbench_hf.scoring.verdicts import ScoringError
from tests.report import sample
from tests.report.payloads import PAYLOADS, hostile_run


def printed(scores: Any, width: int = 110, color: bool = False, **arguments: Any) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=color, legacy_windows=False)
    console.print(summary(scores, **arguments))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_headline_floors_gate_coverage_and_path_are_there() -> None:
    text = printed(sample.smoke_scores(), width=200, model="org/model", report=Path("/runs/a/report.html"))
    for words in (
        "org/model",
        "No number below is reportable",
        "9 of 25 behaviors",
        "Detects distress",
        "−19 to 21",
        "4 of 8 behaviors, 28 of 30 pairs scored",
        "Composite 0 of 100",
        "Judge not validated",
        "x Breached",
        "! Withheld",
        "- Not shown",
        "+ Cleared",
        "not shown is not safe",
        "3 of 240 answers were withheld by the provider’s policy and earn nothing; 1 to severe messages.",
        "Report: /runs/a/report.html",
    ):
        assert words in text


def test_what_is_absent_is_a_dash() -> None:
    text = printed(sample.absent_scores(), width=200)
    assert "Composite –" in text
    assert "no pair was scored" in text
    assert not re.search(r"\b0%", text)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_name_acts_in_a_terminal(payload: str) -> None:
    text = printed(sample.sample_scores(), model=payload, report=Path(payload.replace("\0", "").replace("\ud800", "")))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)


def test_hostile_scores_print_only_the_styles_of_this_summary() -> None:
    text = printed(hostile_run().scores, color=True)
    assert set(re.findall(r"\x1b(.)", text)) == {"["}
    assert not re.search(r"\x1b\[[0-9;]*[^0-9;m]", text)
    assert "\x1b]8" not in text


def test_another_format_is_refused() -> None:
    with pytest.raises(ScoringError, match=f"format {FORMAT - 1}, this report reads format {FORMAT}"):
        summary(sample.sample_scores() | {"format": FORMAT - 1})
