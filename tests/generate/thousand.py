"""One over-long, one empty, one template-breaking and one un-encodable prompt among a thousand; run on several engines."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.dataset.load import load_cases
from helmbench_hf.generate import run as stage
from helmbench_hf.generate.run import Ask, child
from helmbench_hf.generate.turns import Settings
from helmbench_hf.inference.engine import EngineSpec
from helmbench_hf.inference.journal import Journal
from helmbench_hf.records import Case
from tests.support.checkpoints import CHATML, tiny_checkpoint

BREAKING = "Please break."
TEMPLATE = (
    "{% for m in messages %}{% if 'Please break.' in m['content'] %}{{ raise_exception('this cannot be said') }}{% endif %}"
    "{% endfor %}" + CHATML
)
WINDOW = 256
BAD = {17: "x" * WINDOW, 400: "", 666: BREAKING, 999: "half a smile: \ud83d"}
REASONS = {17: "prompt", 400: "empty", 666: "this cannot be said", 999: "lone surrogate"}


class Ear:
    """Hears what a child would tell its parent."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def emit(self, event: dict[str, Any]) -> None:
        self.events.append(json.loads(json.dumps(event)))

    def stopping(self) -> bool:
        return False


def ask(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """A thousand short cases and a tiny model that breaks on one of them."""
    like = load_cases("smoke")
    cases = tuple(_case(like.cases[0], number) for number in range(1000))
    monkeypatch.setattr(stage, "read_cases", lambda keep, *_: (keep(iter(cases)), like.identity))
    model = tiny_checkpoint(folder / "tiny", TEMPLATE, WINDOW)
    spec = EngineSpec.parse(f"vllm:{model}", dtype="float32", max_num_seqs=128)
    return Ask(run=str(folder / "run"), engine=spec, settings=Settings(free_form=True))


def _case(like: Case, number: int) -> Case:
    text = BAD.get(number, f"Say the number {number}.")
    return dataclasses.replace(like, code=f"N{number}", system="", turns=(text,), response_schema=None, max_tokens=4)


def four_bad_among_a_thousand(ask: Ask) -> None:
    """Run, and look: 996 answers, 4 typed rows with their reasons, the same on a second call, which runs nothing."""
    ear = Ear()
    child(ask.as_payload(), ear)  # type: ignore[arg-type]
    records = Journal.read(Path(ask.run) / "completions")
    assert len(records) == 1000
    refused = {each.request: each for each in records.values() if each.status == "refused"}
    assert set(refused) == {f"N{number}/t1/d0" for number in BAD}
    for number, reason in REASONS.items():
        assert reason in refused[f"N{number}/t1/d0"].error
    assert Counter(each.status in ("ok", "truncated") for each in records.values()) == {True: 996, False: 4}
    again = Ear()
    child(ask.as_payload(), again)  # type: ignore[arg-type]
    [planned] = [event for event in again.events if event["event"] == "planned"]
    assert (planned["stored"], planned["open"]) == (1000, 0)
    assert [event["event"] for event in again.events] == ["planned"]
