"""A test board shows runs of the design smoke, and says on every page what it is; no other board shows them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helmbench_hf.cli.app import app
from helmbench_hf.leaderboard.collect import Refused, collect
from helmbench_hf.leaderboard.data import Data
from helmbench_hf.leaderboard.marks import Marks
from helmbench_hf.leaderboard.query import VIEWS, Query
from tests.leaderboard import boards, made

SAYS = ("No number on it means anything", "<strong>HELMbench</strong> test board", "HELMbench test board</title>")


def test_it_shows_what_other_boards_do_not(original: Path, tmp_path: Path) -> None:
    root = original.parents[2]
    shown, refused = collect(root, Marks(), made.load, tmp_path, test=True)
    assert [each.manifest.dataset.design for each in shown] == ["smoke"]
    assert refused == []
    shown, refused = collect(root, Marks(), made.load, tmp_path)
    assert shown == []
    assert [code for each in refused for code, _ in each.reasons] == ["board.design"]


@pytest.mark.parametrize("view", VIEWS)
def test_every_page_says_so(view: str) -> None:
    data = boards.five()
    for test in (True, False):
        _, text = boards.render(replace(data, test=test), Query(view=view))
        assert [said in text for said in SAYS] == [test] * len(SAYS)


def test_an_empty_one_says_so_too() -> None:
    data = Data((), (Refused("submissions/x/1", (("files.link", "a link"),)),), "", test=True)
    assert all(said in boards.render(data, Query())[1] for said in SAYS)


def test_the_option(original: Path, tmp_path: Path) -> None:
    asked = ["leaderboard", "--results", str(original.parents[2]), "--cache", str(tmp_path), "--prepare"]
    assert "0 runs in 0 tables; 1 submissions are not shown" in CliRunner().invoke(app, asked).stdout
    assert "1 runs in 1 tables; 0 submissions are not shown" in CliRunner().invoke(app, [*asked, "--test-board"]).stdout
