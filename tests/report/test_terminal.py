"""The summary in a terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from helmbench_hf.report.terminal import summary
from helmbench_hf.scoring.scores import Scores
from tests.report import sample
from tests.report.payloads import PAYLOADS, hostile_run

TEXT = Path(__file__).parent / "sample.terminal.txt"


def printed(scores: Scores | dict[str, Any], width: int = 200, color: bool = False, **arguments: Any) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=color, legacy_windows=False)
    console.print(summary(sample.sample_run(scores, transcripts=()).scores, **arguments))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_summary_says_what_it_said() -> None:
    """After a wanted change: `python -m tests.report.test_terminal` writes the text again; read its diff."""
    assert printed(sample.smoke_scores(), model="org/model") == TEXT.read_text(encoding="utf-8")


def test_what_is_absent_is_a_dash() -> None:
    text = printed(sample.absent_scores())
    assert "Composite –" in text
    assert "no pair was scored" in text
    assert "Repeats" not in text
    assert not re.search(r"\b0%", text)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_name_acts_in_a_terminal(payload: str) -> None:
    text = printed(sample.sample_scores(), model=payload)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)


def test_hostile_scores_print_only_the_styles_of_this_summary() -> None:
    text = printed(hostile_run().scores, color=True)
    assert set(re.findall(r"\x1b(.)", text)) == {"["}
    assert not re.search(r"\x1b\[[0-9;]*[^0-9;m]", text)
    assert "\x1b]8" not in text


if __name__ == "__main__":
    TEXT.write_text(printed(sample.smoke_scores(), model="org/model"), encoding="utf-8")
