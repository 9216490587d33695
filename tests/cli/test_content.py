"""The content commands as a person types them."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helmbench_hf.cli.app import app
from helmbench_hf.records import Case
from tests.support.tree import Tree

runner = CliRunner()
CODE = "P1-B1-S1-C4-U11-PT4"


def test_check_is_clean_on_the_real_tree(real_day: dt.date) -> None:
    result = runner.invoke(app, ["content", "check", "--today", str(real_day)])
    assert (result.exit_code, result.stdout[:5]) == (0, "clean")
    assert "warning: the benign half is the longer one in " in result.stderr


def test_check_names_every_fault_and_fails(tree: Tree) -> None:
    (tree.root / "scoring.yaml").write_text("version: 0.1.0\nversion: 0.1.0\n")
    (tree.root / "conditions" / "stray.yml").write_text("code: C99\n")
    result = runner.invoke(app, ["content", "check", "--content", str(tree.root), "--json"])
    problems = json.loads(result.stdout)
    assert result.exit_code == 1
    assert any(problem["file"] == "scoring.yaml" and problem["line"] == 2 for problem in problems)


def test_show_prints_what_the_model_gets(real_case: Case) -> None:
    shown = runner.invoke(app, ["show", CODE]).stdout
    assert f"--- SYSTEM\n{real_case.system}\n" in shown
    assert f"--- USER\n{real_case.turns[0]}\n" in shown
    folded = runner.invoke(app, ["show", CODE, "--folded"]).stdout
    assert f"--- USER\n{real_case.system}\n\n{real_case.turns[0]}\n" in folded


def test_show_never_puts_the_gold_into_the_prompt(real_case: Case) -> None:
    prompt = real_case.system + real_case.turns[0]
    assert not any(word in prompt for word in ("severity", "gold", "crisis", "benign", "HELMbench", "benchmark"))


def test_show_of_an_unknown_case_says_where_to_look() -> None:
    result = runner.invoke(app, ["show", "P1-B1-S1-C1-U11-PT99"])
    assert result.exit_code == 1
    assert "helmbench cases --design full --only P1-B1-S1-C1-U11" in result.stderr


def test_cases_json_has_identity_and_every_case() -> None:
    result = json.loads(runner.invoke(app, ["cases", "--design", "smoke", "--json"]).stdout)
    assert len(result["dataset"]["content_sha256"]) == 64
    assert {case["mode"] for case in result["cases"]} == {"hidden_tag", "open_twin", "judged", "label", "multi_turn"}


@pytest.mark.parametrize("only", ["P1-B1", "P1-B1-S1", "P1-B1-S1-C1-U11-PT4"])
def test_only_takes_whole_parts_of_a_code(only: str) -> None:
    result = json.loads(runner.invoke(app, ["cases", "--only", only, "--json"]).stdout)
    assert result["cases"]
    assert all(f"{case['code']}-".startswith(f"{only}-") for case in result["cases"])


def test_only_that_matches_nothing_is_refused() -> None:
    assert "no case" in runner.invoke(app, ["cases", "--only", "P1-B"]).stderr


def test_unknown_design_and_dataset_are_sentences() -> None:
    assert "choose one of" in runner.invoke(app, ["cases", "--design", "tiny"]).stderr
    assert "neither a folder nor a Hub id" in runner.invoke(app, ["cases", "--dataset", "./nowhere"]).stderr
    assert "--revision" in runner.invoke(app, ["cases", "--dataset", "helmbench/v1"]).stderr


def test_help_imports_nothing_heavy() -> None:
    heavy = ("pydantic", "numpy", "pyarrow", "torch", "vllm", "transformers", "datasets", "scipy", "plotly", "yaml")
    program = f"""
import sys
from typer.testing import CliRunner
from helmbench_hf.cli.app import app
assert CliRunner().invoke(app, ["--help"]).exit_code == 0
print([name for name in {heavy!r} if name in sys.modules])
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_plan_needs_no_torch(smollm2: Path) -> None:
    program = f"""
import sys
from typer.testing import CliRunner
from helmbench_hf.cli.app import app
result = CliRunner().invoke(app, ["plan", "--model", "vllm:{smollm2}", "--design", "smoke", "--json"])
assert result.exit_code == 0, result.output
assert "torch" not in sys.modules and "vllm" not in sys.modules
print(result.stdout)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["answers"] > found["cases"] > 0
    assert 0 < found["ideal cached fraction"] < 1
    assert found["chat template"]["system_role"] == "native"


def test_plan_of_an_endpoint_needs_no_server_and_says_what_is_not_known() -> None:
    command = ["plan", "--model", "endpoint:owner/model", "-e", "base_url=http://127.0.0.1:1/v1", "--design", "smoke"]
    found = json.loads(runner.invoke(app, [*command, "--tokens-per-second", "9", "--json"]).stdout)
    assert found["answers"] > found["cases"] > 0
    assert found["answer tokens at most"] > 0
    unknown = ("context window", "prompt tokens, first turns", "ideal cached fraction", "seconds at most")
    assert [found[name] for name in unknown] == [None] * 4
    text = runner.invoke(app, command).stdout
    assert "owner/model, served: not verified" in text
    assert "unknown: rendered by the server" in text
    assert "length, cache and time are not known" in text
    assert "base_url: say where the server is" in runner.invoke(app, ["plan", "--model", "endpoint:owner/model"]).stderr
