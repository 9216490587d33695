"""`helmbench plan` with the options of a run of several machines and engines."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helmbench_hf.cli.app import app

FIGURES = ("cases", "answers", "judge calls per judge, at most", "prompt tokens, first turns", "answer tokens at most")


@pytest.fixture
def planned(smollm2: Path) -> Any:
    def plan(*options: str) -> dict[str, Any]:
        result = CliRunner().invoke(app, ["plan", "--model", f"vllm:{smollm2}", "--design", "smoke", "--json", *options])
        assert result.exit_code == 0, result.output
        found: dict[str, Any] = json.loads(result.stdout)
        return found

    return plan


def test_the_shards_add_up_to_the_whole(planned: Any) -> None:
    whole, parts = planned(), [planned("--shard", f"{number}/3") for number in (1, 2, 3)]
    for name in FIGURES:
        assert sum(part[name] for part in parts) == whole[name]
        assert all(0 < part[name] < whole[name] for part in parts)
    assert [part["shard"] for part in parts] == ["1/3", "2/3", "3/3"]


def test_repeats_multiply_all_but_the_cases(planned: Any) -> None:
    once, thrice = (planned("--set", "temperature=1", "--repeats", times) for times in ("1", "3"))
    assert thrice["cases"] == once["cases"]
    for name in FIGURES[1:]:
        assert thrice[name] == 3 * once[name]


def test_the_text_names_them(smollm2: Path) -> None:
    options = ["--shard", "2/3", "--repeats", "2", "--set", "temperature=1"]
    result = CliRunner().invoke(app, ["plan", "--model", f"vllm:{smollm2}", "--design", "smoke", *options])
    assert ", shard 2/3" in result.stdout
    assert ", each case 2 times" in result.stdout
