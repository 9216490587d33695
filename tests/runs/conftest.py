"""A tiny checkpoint, and few cases of the tiny benchmark in place of the dataset."""

from __future__ import annotations

from pathlib import Path

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.models.chat import ChatTemplate
from helmbench_hf.records import Case
from tests.judging.runs import put
from tests.support.checkpoints import CHATML, tiny_checkpoint, tiny_tokenizer


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny")


@pytest.fixture(scope="session")
def template() -> ChatTemplate:
    return ChatTemplate(tiny_tokenizer(CHATML))


@pytest.fixture(scope="session")
def few_cases(tiny_cases: list[Case]) -> list[Case]:
    """Some cases of every mode and all conversations."""
    return [case for number, case in enumerate(tiny_cases) if number % 7 == 0 or len(case.turns) > 1]


@pytest.fixture
def few(tiny: Benchmark, few_cases: list[Case], monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """The same, which every stage takes for any design of the dataset."""
    put(monkeypatch, tiny, few_cases)
    return few_cases
