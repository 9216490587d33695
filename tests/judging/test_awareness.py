"""Asking a model whether it was tested, over a fake engine."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.judging.awareness import READ, RESULT, Awareness, ask, auroc, read, unaware
from helmbench_hf.models.engine import EngineSpec, Request
from helmbench_hf.models.identity import model_info
from helmbench_hf.runs.folder import RunError
from helmbench_hf.runs.generate import Ask, ask_all, prepare
from helmbench_hf.runs.turns import Settings
from helmbench_hf.scoring.scores import PairScore
from tests.judging.runs import Ear
from tests.support.checkpoints import tiny_checkpoint
from tests.support.fake_engine import FakeEngine


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"vllm:{tiny_checkpoint(tmp_path_factory.mktemp('model') / 'tiny')}"


@pytest.fixture(scope="module")
def run(checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on a few cases."""
    root = tmp_path_factory.mktemp("runs") / "run"
    asked = Ask(run=str(root), engine=EngineSpec.parse(checkpoint), settings=Settings(), design="smoke", only="P1-B1,P2-B1")
    ask_all(asked, lambda: prepare(asked), lambda _: FakeEngine(), Ear())
    return root


def suspects(request: Request) -> Sequence[float]:
    """Calls what holds side tags a test (0.8), and everything else real; the letters hold nine tenths."""
    _, name, order = request.name.rsplit("/", 2)
    share = (0.8 if any("tags" in message.content for message in request.messages) else 0.1) if name == "test" else 0.4
    right = READ[name] if order == "straight" else len(request.labels) - 1 - READ[name]
    other = (1 - share) / (len(request.labels) - 1)
    return [math.log(0.9 * (share if number == right else other)) for number in range(len(request.labels))]


def test_the_groups_say_what_the_letters_say_and_a_second_call_asks_nothing(run: Path, checkpoint: str) -> None:
    model, prompts = model_info(EngineSpec.parse(checkpoint)), ["What is a good soup?", "Fix this sentence."]
    engine = FakeEngine(labels=suspects)
    ask(run, model, lambda _: engine, 40, prompts, 1, Ear())
    found = read(run)
    assert found is not None
    groups = {group.name: group for group in found.groups}
    assert groups["hidden"].test == pytest.approx(0.8)
    assert groups["control"].test == pytest.approx(0.1)
    assert groups["control"].n == 2
    assert all(group.aim == pytest.approx(0.4) and group.mass == pytest.approx(0.9) for group in found.groups)
    assert found.auroc == 1.0
    assert found.unaware == sum(value < 0.5 for value in found.cases.values()) < len(found.cases)
    assert not any(name.startswith("control") for name in found.cases)
    before = (run / RESULT).read_text()
    ask(run, model, lambda _: pytest.fail("everything was answered"), 40, prompts, 1, Ear())  # type: ignore[arg-type]
    assert (run / RESULT).read_text() == before


def test_nothing_of_the_run_itself_changes(run: Path, checkpoint: str) -> None:
    before = {path: path.read_bytes() for path in (run / "completions").glob("*.jsonl")}
    ask(run, model_info(EngineSpec.parse(checkpoint)), lambda _: FakeEngine(labels=suspects), 10, [], 2, Ear())
    assert before == {path: path.read_bytes() for path in (run / "completions").glob("*.jsonl")}
    assert read(run).auroc is None  # type: ignore[union-attr]


def test_twins_are_asked_about_together(run: Path, checkpoint: str) -> None:
    ask(run, model_info(EngineSpec.parse(checkpoint)), lambda _: FakeEngine(labels=suspects), 8, [], 3, Ear())
    hidden = [code.rsplit("-PT", 1)[0] for code in read(run).cases if code.startswith("P1-B1-S1-")]  # type: ignore[union-attr]
    assert hidden
    assert len(hidden) % 2 == 0


def pair(number: int, value: float | None, weight: float = 1.0) -> PairScore:
    names = "S", str(number), "C1", "U1", "m", f"c{number}", f"b{number}"
    return PairScore(*names, headline=True, weight=weight, a=None, b=None, value=value, code_value=None)


def test_the_unaware_are_pairs_called_real_on_both_halves() -> None:
    cases = {"c1": 0.2, "b1": 0.1, "c2": 0.2, "b2": 0.9, "c3": 0.4, "b3": 0.3, "c4": 0.1}
    found = Awareness((), None, None, None, 0, cases)
    got = unaware(found, [pair(1, 1.0), pair(2, -1.0), pair(3, 0.0, weight=3.0), pair(4, 1.0), pair(5, 1.0)])
    assert (got.n_all, got.n) == (3, 2)
    assert got.value == pytest.approx(0.25)
    assert got.all == pytest.approx((1 - 1 + 0) / 5)
    assert unaware(found, []).value is None


def test_another_model_is_not_asked(run: Path, tmp_path: Path) -> None:
    other = model_info(EngineSpec.parse(f"vllm:{tiny_checkpoint(tmp_path / 'other', learn=['soup'])}"))
    with pytest.raises(RunError, match="a different model"):
        ask(run, other, lambda _: FakeEngine(), 5, [], 1, Ear())


def test_a_broken_result_is_a_sentence(tmp_path: Path) -> None:
    assert read(tmp_path) is None
    (tmp_path / RESULT).write_text(json.dumps({"groups": 3}))
    with pytest.raises(RunError, match="cannot be read"):
        read(tmp_path)


scores = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(first=scores, second=scores)
def test_the_area_is_within_its_interval_and_turns_with_the_sides(first: list[float], second: list[float]) -> None:
    area, low, high = auroc(first, second)
    assert area is not None
    assert low is not None
    assert high is not None
    assert 0 <= low <= area <= high <= 1
    assert auroc(second, first)[0] == pytest.approx(1 - area)
    assert auroc(first, [])[0] is None
