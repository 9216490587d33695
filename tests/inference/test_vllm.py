import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.inference import scratch as scratch_module
from helmbench_hf.inference.chat import ChatTemplate
from helmbench_hf.inference.engine import EngineError, EngineSpec, Sampling, drive, open_engine
from helmbench_hf.inference.scratch import Scratch
from helmbench_hf.inference.vllm import VllmEngine, start_sentence
from helmbench_hf.records import Completion
from tests.inference import contract
from tests.support.checkpoints import smollm2_path

FEW = Sampling(max_tokens=6)
SPEC = EngineSpec(kind="vllm", model="owner/model", max_model_len=4096)


@pytest.fixture(scope="module")
def engine() -> Iterator[VllmEngine]:
    made = open_engine(EngineSpec.parse(f"vllm:{smollm2_path()}", max_num_seqs=16, max_model_len=512, dtype="float32"))
    assert isinstance(made, VllmEngine)
    yield made
    made.close()


@pytest.fixture(scope="module")
def chat() -> ChatTemplate:
    return ChatTemplate.load(str(smollm2_path()))


@pytest.mark.vllm
class TestOnSmolLM2:
    def test_constrained_answers_parse(self, engine: VllmEngine, chat: ChatTemplate) -> None:
        contract.constrained_answers_parse(engine, chat)

    def test_labels_have_an_honest_mass(self, engine: VllmEngine, chat: ChatTemplate) -> None:
        contract.labels_have_an_honest_mass(engine, chat)

    def test_bad_prompts_are_typed_rows_among_good_ones(self, engine: VllmEngine, chat: ChatTemplate) -> None:
        contract.bad_prompts_are_typed_rows_among_good_ones(engine, chat, contract.bad_tokens(engine, chat))

    def test_answers_are_counted_and_capped(self, engine: VllmEngine, chat: ChatTemplate) -> None:
        contract.answers_are_capped(engine, chat)
        contract.prompts_are_counted_and_may_nearly_fill_the_window(engine, chat)

    def test_drawing_follows_the_seed(self, engine: VllmEngine, chat: ChatTemplate) -> None:
        contract.drawing_follows_the_seed(engine, chat)
        contract.presence_is_penalized(engine, chat)

    def test_it_says_what_it_is(self, engine: VllmEngine) -> None:
        contract.it_says_what_it_is(engine, "vllm", "float32", {"schema", "label_logprobs"})
        assert engine.describe().threads >= 1
        said = engine.describe()
        assert (said.batch_limit, said.max_model_len, engine.capacity) == (16, 512, 32)
        assert os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"

    def test_prefixes_are_shared(self, engine: VllmEngine, chat: ChatTemplate) -> None:
        long = "The rules of the library are many. " * 20
        first = contract.run(engine, [contract.ask(chat, "a", long + "Which one is first?", sampling=FEW)])["a"]
        second = contract.run(engine, [contract.ask(chat, "b", long + "Which one is last?", sampling=FEW)])["b"]
        assert second.cached_tokens >= first.prompt_tokens - 64
        assert second.cached_tokens % engine.describe().block_size == 0

    def test_a_death_in_a_step_is_survived(self, engine: VllmEngine, chat: ChatTemplate) -> None:
        steps = 0
        real = engine._llm.llm_engine.step

        def dying() -> Any:
            nonlocal steps
            steps += 1
            if steps == 3:
                raise RuntimeError("a kernel failed")
            return real()

        engine._llm.llm_engine.step = dying
        saved: list[Completion] = []
        requests = [contract.ask(chat, str(number), f"Count to {number}.", sampling=FEW) for number in range(3)]
        driven = drive(engine, requests, lambda request, completion: None, saved.append)
        assert driven.retried == 3
        assert {each.attempt for each in saved} == {2}
        assert "engine_error" not in {each.status for each in saved}

    def test_requests_that_vllm_loses_are_not_waited_for(self, engine: VllmEngine, chat: ChatTemplate) -> None:
        engine.submit(contract.ask(chat, "a", "Hi", sampling=FEW))
        engine._llm.llm_engine.abort_request(list(engine._live), internal=False)
        done = engine.collect()
        assert [(each.key, each.status) for each in done] == [("a", "engine_error")]

    def test_an_engine_that_keeps_dying_is_given_up(self, chat: ChatTemplate, monkeypatch: pytest.MonkeyPatch) -> None:
        class Dead:
            class llm_engine:  # noqa: N801
                @staticmethod
                def step() -> None:
                    raise RuntimeError("CUDA error: device lost")

            @staticmethod
            def enqueue(prompts: Any, sampling: Any, use_tqdm: bool) -> list[str]:
                return ["0-abcdef01"]

        engine = object.__new__(VllmEngine)
        engine._live, engine._early, engine._labels, engine._deaths = {}, [], {}, 0
        engine._llm, engine._chat = Dead(), chat
        engine._description = contract_description()
        monkeypatch.setattr(VllmEngine, "_open", lambda self: Dead())
        monkeypatch.setattr(VllmEngine, "_drop", lambda self: setattr(self, "_llm", None))
        with pytest.raises(EngineError, match=r"device lost.*3 times in a row.*journal"):
            contract.run(engine, [contract.ask(chat, "a", "Hi")])

    @pytest.mark.parametrize(
        ("options", "environment", "sentence"),
        [
            ({"max_model_len": 100_000}, {}, "shorter context than --max-model-len 100000"),
            ({}, {"VLLM_CPU_KVCACHE_SPACE": "9000"}, "not enough memory"),
            ({"dtype": "int3"}, {}, "cannot run as int3"),
        ],
    )
    def test_why_it_does_not_start(
        self, options: dict[str, Any], environment: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(EngineError, match=sentence):
            VllmEngine(EngineSpec.parse(f"vllm:{smollm2_path()}", **options))

    def test_missing_weights_are_a_sentence(self, tmp_path: Path) -> None:
        for path in smollm2_path().iterdir():
            if path.suffix == ".json":
                (tmp_path / path.name).write_bytes(path.read_bytes())
        with pytest.raises(EngineError, match=r"weights of .* are missing"):
            VllmEngine(EngineSpec.parse(f"vllm:{tmp_path}"))


def contract_description() -> Any:
    from helmbench_hf.inference.engine import EngineDescription

    return EngineDescription("vllm", "0", "m", (), "bfloat16", "cpu", 2048, 4, 1, 32)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (MemoryError(), "not enough memory"),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "not enough memory"),
        (ValueError("No available memory for the cache blocks."), "not enough memory"),
        (ValueError("Free memory on device cuda:0 (1/80 GiB) on startup is less than desired"), "not enough memory"),
        (
            ValueError("To serve at least one request with the model's max seq len (8192), 4 GiB KV cache is needed"),
            "holds no full",
        ),
        (ValueError("User-specified max_model_len (9) is greater than the derived max_model_len"), "shorter context"),
        (RuntimeError("Cannot find any model weights with `x`"), "weights of owner/model are missing"),
        (ValueError("Bfloat16 is only supported on GPUs with compute capability of at least 8.0."), "cannot run as auto"),
        (ValueError("\n1 validation error for X\n  strange thing\n"), "vLLM cannot load owner/model: ValueError: strange thing"),
    ],
)
def test_every_known_start_error_is_a_sentence(error: Exception, sentence: str) -> None:
    assert sentence in start_sentence(error, SPEC)


def test_scratch_is_private_short_and_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.environ.get("TMPDIR")
    one = Scratch()
    assert os.environ["TMPDIR"] == str(one.path)
    assert len(str(one.path)) < 40
    orphan, making, theirs = (one.path.with_name(f"helm-{name}-{os.getpid()}") for name in ("orphan", "making", "results"))
    for folder in (orphan, making, theirs):
        folder.mkdir()
    (orphan / scratch_module._MARK).write_text("")
    (orphan / "socket").write_text("")
    (theirs / "answers.jsonl").write_text("a person's own folder\n")
    two = Scratch()
    assert not orphan.exists()
    assert making.exists()  # young: it may be in the making
    monkeypatch.setattr(scratch_module, "_YOUNG", -1.0)
    three = Scratch()
    assert not making.exists()
    assert one.path.exists()
    assert (theirs / "answers.jsonl").exists()
    for each in (three, two, one, one):
        each.close()
    assert not one.path.exists()
    (theirs / "answers.jsonl").unlink()
    theirs.rmdir()
    assert os.environ.get("TMPDIR") == before


def test_a_schema_is_plain_json() -> None:
    assert json.loads(contract.SCHEMA)["type"] == "object"
