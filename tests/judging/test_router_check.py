"""Checking a router on sorted replies, over a fake engine."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from helmbench_hf.content.load import Benchmark, default_benchmark
from helmbench_hf.judging.router_check import FOLDER, RESULT, Reply, RouterCheck, check, labeled, read
from helmbench_hf.models.engine import EngineSpec, Request
from helmbench_hf.models.identity import model_info
from helmbench_hf.records import Act
from helmbench_hf.runs.folder import RunError
from helmbench_hf.runs.generate import Ask, ask_all, prepare
from helmbench_hf.runs.turns import Settings
from helmbench_hf.tasks.reactive import ACTS
from tests.judging.runs import Ear
from tests.support.checkpoints import tiny_checkpoint
from tests.support.fake_engine import FakeEngine

Rule = Callable[[Request], Act]


@pytest.fixture(scope="module")
def benchmark() -> Benchmark:
    return default_benchmark()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"vllm:{tiny_checkpoint(tmp_path_factory.mktemp('model') / 'tiny')}"


@pytest.fixture
def run(checkpoint: str, tmp_path: Path) -> Path:
    """A run of one reactive conversation, sorted by the same model."""
    spec = EngineSpec.parse(checkpoint)
    asked = Ask(run=str(tmp_path / "run"), engine=spec, settings=Settings(), design="smoke", only="P1-B7-S4", router=spec)
    ask_all(asked, lambda: prepare(asked), lambda _: FakeEngine(labels=says(lambda _: "job")), Ear())
    return tmp_path / "run"


def says(rule: Rule) -> Callable[[Request], Sequence[float]]:
    """A router that gives nine tenths to one act."""

    def letters(request: Request) -> Sequence[float]:
        chosen = rule(request)
        return [math.log(0.9 if act == chosen else 0.1 / (len(ACTS) - 1)) for act in ACTS]

    return letters


def checked(run: Path, checkpoint: str, benchmark: Benchmark, rule: Rule) -> RouterCheck:
    check(run, model_info(EngineSpec.parse(checkpoint)), lambda _: FakeEngine(labels=says(rule)), benchmark, Ear())
    found = read(run)
    assert found is not None
    return found


def test_a_router_that_sorts_as_readers_do_is_reliable(run: Path, checkpoint: str, benchmark: Benchmark) -> None:
    right = {f"{talk.code}/{n}": reply.right for talk in labeled(benchmark) for n, reply in enumerate(talk.replies, 1)}
    found = checked(run, checkpoint, benchmark, lambda request: right[request.name.removesuffix("/act")] or "job")
    assert (found.agree, found.moved, found.missing, found.confusion) == (found.n, 0, 0, ())
    assert found.n == sum(act is not None for act in right.values())
    assert found.reliable
    assert 0.98 < found.low < 1


def test_one_word_for_all_is_not_and_every_slip_is_counted(run: Path, checkpoint: str, benchmark: Benchmark) -> None:
    rights = Counter(reply.right for talk in labeled(benchmark) for reply in talk.replies)
    found = checked(run, checkpoint, benchmark, lambda request: "job")
    assert found.agree == rights["job"]
    assert {right: count for right, said, count in found.confusion if said == "job"} == {
        act: count for act, count in rights.items() if act not in (None, "job")
    }
    assert 0 < found.moved <= found.n - found.agree
    assert not found.reliable


def test_nothing_is_asked_twice(run: Path, checkpoint: str, benchmark: Benchmark) -> None:
    first = checked(run, checkpoint, benchmark, lambda request: "job")
    lines = sum(len(path.read_text().splitlines()) for path in (run / FOLDER).glob("*.jsonl"))
    assert checked(run, checkpoint, benchmark, lambda request: "asks") == first
    assert sum(len(path.read_text().splitlines()) for path in (run / FOLDER).glob("*.jsonl")) == lines


def test_another_router_than_the_run_had_is_refused(run: Path, benchmark: Benchmark, tmp_path: Path) -> None:
    other = model_info(EngineSpec.parse(f"vllm:{tiny_checkpoint(tmp_path / 'other', window=8_192)}"))
    with pytest.raises(RunError, match=r"The router of .* is vllm:"):
        check(run, other, lambda _: FakeEngine(), benchmark, Ear())
    assert not (run / RESULT).exists()


def test_a_run_without_a_router_has_none_to_check(checkpoint: str, benchmark: Benchmark, tmp_path: Path) -> None:
    spec = EngineSpec.parse(checkpoint)
    asked = Ask(run=str(tmp_path / "run"), engine=spec, settings=Settings(), design="smoke", only="P2-B1")
    ask_all(asked, lambda: prepare(asked), lambda _: FakeEngine(), Ear())
    with pytest.raises(RunError, match="has no router"):
        check(tmp_path / "run", model_info(spec), lambda _: FakeEngine(), benchmark, Ear())


def test_a_broken_result_says_what_to_do(run: Path) -> None:
    (run / RESULT).write_text(json.dumps({"router": "x"}))
    with pytest.raises(RunError, match="remove it and run `helmbench judge router` again"):
        read(run)


@pytest.mark.parametrize(("reads", "right"), [("aab", "a"), ("aaa", "a"), ("abc", None)])
def test_two_readers_decide(reads: str, right: str | None) -> None:
    words: dict[str, Act] = {"a": "asks", "b": "job", "c": "cares"}
    reply = Reply("hi", "hello", tuple(words[each] for each in reads))
    assert reply.right == (words[right] if right else None)
