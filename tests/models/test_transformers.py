from pathlib import Path

import pytest

from helmbench_hf.models.chat import ChatTemplate
from helmbench_hf.models.engine import EngineSpec, Message, Request, Sampling, open_engine
from helmbench_hf.models.transformers import TransformersEngine, penalize_presence
from tests.models import contract
from tests.support.checkpoints import tiny_checkpoint

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="module")
def engine(model: Path) -> TransformersEngine:
    made = open_engine(EngineSpec.parse(f"transformers:{model}", max_num_seqs=8, max_model_len=512, dtype="float32"))
    assert isinstance(made, TransformersEngine)
    return made


@pytest.fixture(scope="module")
def chat(model: Path) -> ChatTemplate:
    return ChatTemplate.load(model)


def test_it_does_what_every_engine_does(engine: TransformersEngine, chat: ChatTemplate) -> None:
    contract.every_engine(engine, chat)
    contract.every_engine_with_tokens(engine, chat)


def test_presence_is_of_the_answer_alone() -> None:
    import torch

    ids = torch.tensor([[0, 1, 2, 2], [3, 3, 0, 1]])  # two prompts of two tokens, two answered each
    scores = penalize_presence(2, 1.5)(ids, torch.zeros(2, 4))
    assert scores.tolist() == [[0.0, 0.0, -1.5, 0.0], [-1.5, -1.5, 0.0, 0.0]]


def test_it_says_what_it_is(engine: TransformersEngine) -> None:
    contract.it_says_what_it_is(engine, "transformers", "float32", {"schema", "label_logprobs"})
    assert engine.describe().threads >= 1


def test_only_what_is_drawn_alike_shares_a_batch(engine: TransformersEngine, chat: ChatTemplate) -> None:
    kinds = {
        engine._kind(contract.ask(chat, "a", "x")),
        engine._kind(contract.ask(chat, "b", "another text")),
        engine._kind(contract.ask(chat, "c", "x", schema="{}")),
        engine._kind(contract.ask(chat, "d", "x", sampling=Sampling(max_tokens=160, seed=1))),
        engine._kind(contract.ask(chat, "e", "x", labels=("A", "B"))),
        # near the end of the window its budget is its own, and not its neighbors'
        engine._kind(contract.ask(chat, "f", "x", tokens=(20,) * 490)),
    }
    assert len(kinds) == 5


def test_a_batch_that_fails_is_tried_again(engine: TransformersEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(batch: list[Request]) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(engine, "_generate", fails)
    done = contract.run(engine, [Request("a", "a", (Message("user", "x"),), (20, 21), Sampling(max_tokens=3))])
    assert (done["a"].status, done["a"].attempt) == ("engine_error", 3)
    assert "out of memory" in done["a"].error


def test_a_model_that_accelerate_has_placed_answers(model: Path, chat: ChatTemplate) -> None:
    engine = open_engine(EngineSpec.parse(f"transformers:{model}", dtype="float32", extra={"device_map": "auto"}))
    request = contract.ask(chat, "a", "Hi", sampling=Sampling(max_tokens=3))
    assert contract.run(engine, [request])["a"].status in ("ok", "truncated")
