"""lm-evaluation-harness and Inspect put the same prompts and give the same verdicts on the same replies."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from helmbench_hf.interop import replies

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TASKS = ROOT / "helmbench_hf" / "interop" / "lm_eval" / "helmbench"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_of_interop", ROOT / "benchmarks" / "interop.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = path
    return module


@pytest.mark.parametrize("name", ["lm-eval", "inspect"])
def test_the_same_replies_get_the_same_verdicts(name: str, bench: ModuleType, tmp_path: Path) -> None:
    home = bench.environments()
    if not (home / name / "ready").is_file():
        pytest.skip(f"there is no environment of {name}; `python benchmarks/interop.py setup` makes one")
    made = bench.made_replies("smoke")
    found = bench.compared(bench.run(home, name, "smoke", made, tmp_path), "smoke", made)
    assert found["different"] == []
    assert found["cases"] == len(replies.single_turn_cases("smoke"))


def test_a_difference_is_found(bench: ModuleType) -> None:
    made = bench.made_replies("smoke")
    cases = replies.single_turn_cases("smoke")
    ours = {code: replies.grade_reply(cases[code], text) for code, text in made.items()}
    assert {0.0, 1.0} <= {value for row in ours.values() for value in row.values()}
    assert {name for row in ours.values() for name in row} >= {"usable", "noticed", "left_alone", "label", "resources"}
    messages = {code: bench.messages_of(case) for code, case in cases.items()}
    same = {"figures": ours, "messages": messages, "pooled": replies.pooled(ours.values())}
    assert bench.compared(same, "smoke", made)["different"] == []
    code = next(iter(ours))
    for wrong in (
        {"figures": {**ours, code: {"usable": 0.5}}},
        {"messages": {**messages, code: [["user", "Hello."]]}},
    ):
        assert bench.compared({**same, **wrong}, "smoke", made)["different"] == [code]
    assert bench.compared({**same, "pooled": {**same["pooled"], "usable": 0.123}}, "smoke", made)["different"] == ["means"]


def test_the_task_file_names_every_figure_and_fits_every_budget() -> None:
    text = (TASKS / "helmbench.yaml").read_text().replace("!function ", "")
    task = yaml.safe_load(text)
    names = [metric["metric"] for metric in task["metric_list"]]
    assert names == [name for figure in replies.FIGURES for name in (figure, f"{figure}_n")]
    most = max(case.max_tokens for case in replies.single_turn_cases("core").values())
    assert task["generation_kwargs"]["max_gen_toks"] >= most
    assert task["generation_kwargs"]["until"] == []
