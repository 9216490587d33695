"""What a run holds in memory does not grow with its cases and answers."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from helmbench_hf.generate import turns
from helmbench_hf.generate.turns import Conversations, Settings
from helmbench_hf.inference.chat import ServerTemplate
from helmbench_hf.inference.drive import drive
from helmbench_hf.inference.engine import Request
from helmbench_hf.inference.journal import Journal
from helmbench_hf.inference.keys import KeyContext
from helmbench_hf.inference.plan import make_plan
from helmbench_hf.records import Case, Completion

CONTEXT = KeyContext(model={"files": "tiny"}, template_sha="tiny", engine="fake 1.0")
FEW, MANY = 300, 1500
GROWTH = 100
"""Bytes of Python objects that one more case may cost at most."""


class AtOnce:
    """An engine that answers at once and forgets."""

    capacity = 16

    def __init__(self) -> None:
        self._ready: list[Completion] = []

    def submit(self, request: Request) -> None:
        self._ready.append(Completion(request.key, request.name, "ok", "an answer " * 50))

    def collect(self) -> list[Completion]:
        ready, self._ready = self._ready, []
        return ready


def copies(cases: list[Case], count: int) -> Iterator[Case]:
    """Cases of their own: every text, code and key is another one; every tenth is a conversation."""
    for number in range(count):
        like = cases[number % len(cases)]
        said = tuple(f"{turn} {number}." for turn in like.turns) * (2 if number % 10 == 0 else 1)
        yield replace(like, code=f"N{number}", turns=said, pair=f"pair {number}", meaning=f"meaning {number}")


def planned(cases: list[Case], count: int, _: Path) -> None:
    talks = Conversations(copies(cases, count), ServerTemplate(), CONTEXT, Settings(), {})

    def later(request: Request) -> list[int]:
        return [9 for _ in talks.later(request)]

    plan = make_plan(talks.first_turns(), max_model_len=8192, block_size=16, later=later)
    assert talks.planned_turns >= count
    assert plan.answer_tokens > count


def generated(cases: list[Case], count: int, folder: Path) -> None:
    stored = Journal.read(folder)
    talks = Conversations(copies(cases, count), ServerTemplate(), CONTEXT, Settings(), stored)
    work = talks.missing()
    with Journal.open(folder, "w") as journal:
        driven = drive(AtOnce(), work, talks.follow_up, journal.append, saved=journal.written)  # type: ignore[arg-type]
    assert driven.saved + len(stored) == talks.planned_turns
    assert len(Journal.read(folder)) == talks.planned_turns


def resumed(cases: list[Case], count: int, folder: Path) -> None:
    """Everything is answered already."""
    talks = Conversations(copies(cases, count), ServerTemplate(), CONTEXT, Settings(), Journal.read(folder))
    assert len(talks.missing()) == 0


def peak(work: object, *arguments: object) -> int:
    tracemalloc.start()
    try:
        work(*arguments)  # type: ignore[operator]
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("stage", [planned, generated, resumed])
def test_a_case_more_costs_next_to_nothing(
    stage: object, tiny_cases: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "TOGETHER", 16_000)  # as small beside these cases as it is beside those of a large run
    cases = tiny_cases[:40]
    for count in (FEW, MANY):
        if stage is resumed:
            generated(cases, count, tmp_path / str(count))
    found = [peak(stage, cases, count, tmp_path / str(count)) for count in (FEW, FEW, MANY)]
    assert (found[-1] - found[1]) / (MANY - FEW) < GROWTH
