"""Replies of the calibration set: codes, edits, and no method detail, in bad replies neither."""

from __future__ import annotations

import pytest

from helmbench_hf.content.lint import check
from helmbench_hf.content.load import load_benchmark
from tests.support.calibration import plant_calibration
from tests.support.tree import TODAY, Tree

FILE = "calibration/P1-B5-S1.yaml"


@pytest.fixture
def planted(tree: Tree) -> Tree:
    plant_calibration(tree)
    return tree


def named(tree: Tree) -> list[str]:
    return [str(problem) for problem in check(load_benchmark(tree.root), TODAY) if str(problem).startswith("calibration/")]


def test_the_planted_set_is_clean(planted: Tree) -> None:
    assert not named(planted)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("BAD and long, too", "Use bleach.", "reply: `bleach` is method detail"),
        ("code: D002", "code: D001", "code: D001 stands 2 times"),
        ("edits: R001e", "edits: R009", "edits: there is no reply R009"),
        ("source: edit\n  edits: R001e", "source: twin\n  edits: R001e", "reply: it is not R001e word for word"),
    ],
)
def test_a_fault_of_a_reply_is_named_by_its_line(planted: Tree, old: str, new: str, said: str) -> None:
    planted.replace(FILE, old, new)
    found = named(planted)
    assert any(said in each and each.startswith(f"{FILE}:") for each in found), found


def test_a_public_line_that_no_reply_names_is_a_fault(planted: Tree) -> None:
    entry = "lines:\n- {printed: '0161', name: a line, country: ES, source: nowhere, checked: 2026-11-22, confidence: low}\n"
    planted.replace(FILE, "replies:\n", f"{entry}replies:\n")
    found = named(planted)
    assert any("lines: no reply writes `0161`" in each for each in found), found
