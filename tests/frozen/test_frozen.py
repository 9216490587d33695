"""The code as it is gives the frozen values, and the frozen runs hold every outcome."""

from __future__ import annotations

import copy
import gzip
import json
from typing import Any

import pytest

from helmbench_hf.scoring.run import NUMBERS_SHA256
from tests.frozen import compare
from tests.frozen.runs import RUNS


def frozen(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress((compare.HERE / f"{name}.json.gz").read_bytes()))
    return found


@pytest.mark.parametrize("name", RUNS)
def test_every_frozen_value_is_as_it_was(name: str) -> None:
    found = compare.check(name)
    assert not found, "`python -m tests.frozen --write` freezes anew:\n" + "\n".join(found)


def test_scores_name_the_arithmetic_that_is_frozen() -> None:
    assert compare.references_sha256() == NUMBERS_SHA256, "`python -m tests.frozen --write` says what to set it to"


def test_a_value_that_moved_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    now = copy.deepcopy(frozen("smoke"))
    now["scores"]["headline"]["overall"]["coverage"]["scored"] += 1
    monkeypatch.setattr(compare, "made", lambda name: now)
    [line] = compare.check("smoke")
    assert line.startswith("smoke.scores.headline.overall.coverage.scored: ")


def test_the_frozen_runs_hold_every_outcome() -> None:
    code = {name: frozen(name)["code"] for name in RUNS}
    statuses = {row[0] for rows in code.values() for row in rows.values()}
    assert {"scored", "model_failure", "engine_failure"} <= statuses
    reasons = {row[2].get("reason") for rows in code.values() for key, row in rows.items() if key.endswith("/answer")}
    assert {
        "empty",
        "truncated",
        "reasoning_truncated",
        "unparseable",
        "withheld",
        "missing",
        "refused",
        "engine_error",
    } <= reasons
    criteria = {key.rpartition("/")[2] for rows in code.values() for key in rows}
    assert {"answer", "target", "control", "label", "task", "resources"} <= criteria


def test_the_frozen_scores_hold_every_kind_of_figure() -> None:
    core, panel, worst = (frozen(name)["scores"] for name in ("core", "core-panel", "core-worst"))
    assert core["headline"]["printed"] is not None
    assert core["headline"]["overall"]["corrected"]["estimate"]["value"] is not None
    assert panel["headline"]["printed"] is None, "so much is missing that there is no composite"
    assert any(veto["confirmed"] for veto in worst["vetoes"])
    assert {floor["status"] for scores in (core, panel, worst) for floor in scores["floors"]} >= {"breached", "not_shown"}
    for name in ("effects", "curves", "trust", "demographics", "ladders", "cells", "indices", "criteria"):
        assert core[name], name
    assert worst["repeats"]["always"]["value"] is not None
    assert panel["agreement"]["judge_pairs"]
