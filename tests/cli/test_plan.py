"""`helmbench plan`: the figures of a run before it starts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import helmbench

FIGURES = ("cases", "answers", "prompt tokens, first turns", "answer tokens at most")
Planned = Callable[..., dict[str, Any]]


@pytest.fixture
def planned(smollm2: Path) -> Planned:
    def plan(*options: str) -> dict[str, Any]:
        said = helmbench("plan", "--model", f"vllm:{smollm2}", "--design", "smoke", "--limit", "40", "--json", *options)
        found: dict[str, Any] = json.loads(said.stdout)
        return found

    return plan


def test_the_shards_add_up_to_the_run(planned: Planned) -> None:
    run, shards = planned(), [planned("--shard", f"{number}/3") for number in (1, 2, 3)]
    for name in FIGURES:
        assert sum(shard[name] for shard in shards) == run[name]
        assert all(0 < shard[name] < run[name] for shard in shards)
    calls = [found["judging"][0]["calls, at most"] for found in (run, *shards)]
    assert sum(calls[1:]) == calls[0] > 0
    assert [shard["shard"] for shard in shards] == ["1/3", "2/3", "3/3"]


def test_repeats_multiply_all_but_the_cases(planned: Planned) -> None:
    once, thrice = (planned("--set", "temperature=1", "--set", f"draws={times}") for times in ("1", "3"))
    assert thrice["cases"] == once["cases"]
    assert [thrice[name] for name in FIGURES[1:]] == [3 * once[name] for name in FIGURES[1:]]


def test_the_text_names_shard_and_repeats_and_needs_no_torch(smollm2: Path) -> None:
    words = ["plan", "--model", f"vllm:{smollm2}", "--design", "smoke", "--shard", "2/3", "-s", "draws=2", "-s", "temperature=1"]
    program = f"import sys; from tests.support.commands import helmbench; print(helmbench(*{words!r}).stdout)"
    program += "\nassert not {'torch', 'vllm'} & set(sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert ", shard 2/3" in said
    assert ", each case 2 times" in said
    assert "has a system role; the system text is in the rendered prompt" in said


def test_plan_of_an_endpoint_needs_no_server_and_says_what_is_not_known() -> None:
    command = ["plan", "--model", "endpoint:owner/model", "-e", "base_url=http://127.0.0.1:1/v1", "--design", "smoke"]
    found = json.loads(helmbench(*command, "--tokens-per-second", "9", "--json").stdout)
    assert found["answers"] > found["cases"] > 0
    assert found["answer tokens at most"] > 0
    unknown = ("context window", "prompt tokens, first turns", "ideal cached fraction", "seconds at most")
    assert [found[name] for name in unknown] == [None] * 4
    text = helmbench(*command).stdout
    assert "owner/model, served: not verified" in text
    assert "unknown: rendered by the server" in text
    assert "length, cache and time are not known" in text
    assert "base_url: say where the server is" in helmbench("plan", "--model", "endpoint:owner/model", code=1).stderr
