"""The content commands as a person types them."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys

import pytest

from helmbench_hf.cli import cases
from helmbench_hf.cli.app import COMMANDS, Commands
from helmbench_hf.records import Case
from tests.judging.runs import case_set
from tests.support.commands import helmbench
from tests.support.tree import Tree


@pytest.mark.slow
def test_check_is_clean_on_the_real_tree(real_day: dt.date) -> None:
    result = helmbench("content", "check", "--today", real_day)
    assert result.stdout.startswith("clean")
    assert "warning: the benign half is the longer one in " in result.stderr


def test_check_names_every_fault_and_fails(tree: Tree) -> None:
    (tree.root / "scoring.yaml").write_text("version: 0.1.0\nversion: 0.1.0\n")
    (tree.root / "conditions" / "stray.yml").write_text("code: C99\n")
    problems = json.loads(helmbench("content", "check", "--content", tree.root, "--json", code=1).stdout)
    assert any(problem["file"] == "scoring.yaml" and problem["line"] == 2 for problem in problems)


def test_show_prints_what_the_model_gets_and_no_gold(tiny_cases: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "load_cases", lambda *_: case_set(tiny_cases, "0.1.0"))
    case = next(case for case in tiny_cases if case.mode == "hidden_tag")
    assert f"--- SYSTEM\n{case.system}\n\n--- USER\n{case.turns[0]}\n" in helmbench("show", case.code).stdout
    gold = ("severity", "gold", "crisis", "benign", "HELMbench", "benchmark")
    assert not any(word in case.system + case.turns[0] for word in gold)
    assert json.loads(helmbench("show", case.code, "--json").stdout)["turns"] == list(case.turns)
    missing = helmbench("show", "P1-B1-S1-C1-U11-PT99", code=1).stderr
    assert "helmbench cases --design full --only P1-B1-S1-C1-U11" in missing


def test_cases_json_has_identity_and_every_case() -> None:
    result = json.loads(helmbench("cases", "--design", "smoke", "--json").stdout)
    assert len(result["dataset"]["content_sha256"]) == 64
    assert {case["mode"] for case in result["cases"]} == {"hidden_tag", "open_twin", "judged", "label", "multi_turn", "reactive"}


@pytest.mark.parametrize("only", ["P1-B1", "P1-B1-S1", "P1-B1-S1-C1-U11-PT3"])
def test_only_takes_whole_parts_of_a_code(only: str) -> None:
    result = json.loads(helmbench("cases", "--design", "smoke", "--only", only, "--json").stdout)
    assert result["cases"]
    assert all(f"{case['code']}-".startswith(f"{only}-") for case in result["cases"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("cases", "--only", "P1-B"), "no case"),
        (("cases", "--design", "tiny"), "choose one of"),
        (("cases", "--dataset", "./nowhere"), "neither a folder nor a Hub id"),
        (("cases", "--dataset", "helmbench/v1"), "--revision"),
    ],
)
def test_what_is_not_there_is_a_sentence(words: tuple[str, ...], said: str) -> None:
    assert said in helmbench(*words, code=1).stderr


def test_help_lists_every_command_under_its_heading_and_imports_nothing_heavy() -> None:
    heavy = ("pydantic", "numpy", "pyarrow", "torch", "vllm", "transformers", "datasets", "scipy", "plotly", "yaml", "rich")
    program = f"""
import sys
from typer.testing import CliRunner
from helmbench_hf.cli.app import app
print(CliRunner().invoke(app, ["--help"]).stdout)
print([name for name in {heavy!r} if name in sys.modules])
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    *page, loaded = said.strip().splitlines()
    assert loaded == "[]"
    at = -1
    for heading, commands in COMMANDS.items():
        for words in (f"{heading}:", *(f"  {name} " for name in commands)):
            at = next(number for number, line in enumerate(page) if number > at and line.startswith(words))


@pytest.mark.parametrize("name", list(Commands()))
def test_every_command_says_what_it_does_with_an_example(name: str) -> None:
    said = helmbench(name, "--help").stdout
    commands = getattr(Commands()[name], "commands", {})
    for page in [helmbench(name, each, "--help").stdout for each in commands] or [said]:
        assert f"Example: helmbench {name}" in page


def test_a_misspelled_command_is_corrected() -> None:
    assert "Did you mean 'generate'" in helmbench("genrate", code=2).stderr


def test_a_review_is_recorded_and_a_change_that_somebody_asked_for_is_remembered(tree: Tree) -> None:
    helmbench("content", "lock", "--content", tree.root)
    who = ("--name", "Ada Example", "--role", "clinician", "--content", tree.root)
    assert "2 items" in helmbench("content", "review", "K01", "P1-B1-S1/pair 1", "--verdict", "ok", *who).stdout
    assert "what to change" in helmbench("content", "review", "K02", "--verdict", "change", *who, code=1).stderr
    assert "no item K0" in helmbench("content", "review", "K0", "--verdict", "ok", *who, code=1).stderr
    helmbench("content", "review", "K02", "--verdict", "change", "--comment", "Name the act.", *who)
    said = helmbench("content", "check", "--content", tree.root, code=None)
    assert "K02 stands although Ada Example (clinician) asked for a change: Name the act." in said.stderr
