import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helmbench_hf.models.chat import ChatTemplate
from helmbench_hf.models.drive import drive
from helmbench_hf.models.engine import EngineDescription, EngineError, EngineSpec, Message, Request, Sampling, open_engine
from helmbench_hf.models.vllm import VllmEngine, start_sentence
from helmbench_hf.records import Completion
from tests.models import contract
from tests.support.checkpoints import CHATML, tiny_checkpoint, tiny_tokenizer

FEW = Sampling(max_tokens=6)
SPEC = EngineSpec(kind="vllm", model="owner/model", max_model_len=4096)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of two layers with random weights."""
    return tiny_checkpoint(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="module")
def engine(model: Path) -> Iterator[VllmEngine]:
    made = open_engine(EngineSpec.parse(f"vllm:{model}", max_num_seqs=16, max_model_len=512, dtype="float32"))
    assert isinstance(made, VllmEngine)
    yield made
    made.close()


@pytest.fixture(scope="module")
def chat(model: Path) -> ChatTemplate:
    return ChatTemplate.load(model)


@pytest.mark.vllm
class TestRealEngine:
    def test_it_does_what_every_engine_does(self, engine: VllmEngine, chat: ChatTemplate) -> None:
        contract.every_engine(engine, chat)
        contract.every_engine_with_tokens(engine, chat)

    def test_seeded_prompts_beyond_one_step_are_answered(self, engine: VllmEngine, chat: ChatTemplate) -> None:
        drawn = Sampling(temperature=1.0, max_tokens=2, seed=1)
        requests = [contract.ask(chat, str(n), f"Card {n} is lost. " * 20, sampling=drawn) for n in range(16)]
        assert sum(len(each.tokens) for each in requests) > 4096  # tokens of one step on CPU
        assert {each.attempt for each in contract.run(engine, requests).values()} == {1}

    def test_it_says_what_it_is(self, engine: VllmEngine) -> None:
        contract.it_says_what_it_is(engine, "vllm", "float32", {"schema", "label_logprobs"})
        said = engine.describe()
        assert (said.batch_limit, said.max_model_len, engine.capacity) == (16, 512, 32)
        assert os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"

    def test_prefixes_are_shared(self, engine: VllmEngine, chat: ChatTemplate) -> None:
        long = "The rules of the library are many. " * 8
        first, second = (
            contract.run(engine, [contract.ask(chat, name, f"{long}Which one is {name}?", sampling=FEW)])[name]
            for name in ("first", "last")
        )
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
        assert [(each.key, each.status) for each in engine.collect()] == [("a", "engine_error")]

    @pytest.mark.parametrize(
        ("options", "environment", "sentence"),
        [
            ({"max_model_len": 100_000}, {}, "shorter context than max_model_len=100000"),
            ({}, {"VLLM_CPU_KVCACHE_SPACE": "9000"}, "KV cache of 9000 GiB does not fit .*VLLM_CPU_KVCACHE_SPACE=1"),
            ({"dtype": "int3"}, {}, "cannot run as int3"),
        ],
    )
    def test_why_it_does_not_start(
        self, model: Path, options: dict[str, Any], environment: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(EngineError, match=sentence):
            VllmEngine(EngineSpec.parse(f"vllm:{model}", **options))

    def test_missing_weights_are_a_sentence(self, model: Path, tmp_path: Path) -> None:
        for path in model.iterdir():
            if path.suffix != ".safetensors":
                (tmp_path / path.name).write_bytes(path.read_bytes())
        with pytest.raises(EngineError, match=r"weights of .* are missing"):
            VllmEngine(EngineSpec.parse(f"vllm:{tmp_path}"))


class Dying:
    """The part of vLLM's `LLM` that the engine drives: it answers in one step, and dies of the prompts named in `poison`."""

    def __init__(self, poison: set[int]) -> None:
        self.llm_engine, self._poison = self, poison
        self._live: dict[str, int] = {}

    def enqueue(self, prompts: list[dict[str, list[int]]], sampling: Any, use_tqdm: bool) -> list[str]:
        number = str(len(self._live))
        self._live[number] = prompts[0]["prompt_token_ids"][0]
        return [f"{number}-abcdef01"]

    def step(self) -> list[Any]:
        if self._poison & set(self._live.values()):
            raise RuntimeError("CUDA error: device lost")
        answer = SimpleNamespace(text="Yes.", finish_reason="stop", token_ids=[1, 2], logprobs=None)
        done = [SimpleNamespace(request_id=each, finished=True, outputs=[answer], num_cached_tokens=0) for each in self._live]
        self._live.clear()
        return done


def driven(poison: set[int], count: int, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, str], int]:
    """Drive the engine over `Dying`, with prompts 0, 1, ..; give how each ended, and how often it was loaded."""

    loads = []
    engine = object.__new__(VllmEngine)
    engine._live, engine._early, engine._labels, engine._deaths, engine._llm = {}, [], {}, 0, None
    engine._chat = ChatTemplate(tiny_tokenizer(CHATML))
    engine._description = EngineDescription("vllm", "0", "m", (), "bfloat16", "cpu", 2048, 4, 1, 32)
    monkeypatch.setattr(VllmEngine, "_open", lambda self: loads.append(1) or Dying(poison))
    monkeypatch.setattr(VllmEngine, "close", lambda self: setattr(self, "_llm", None))
    monkeypatch.setattr(VllmEngine, "_sampling", lambda self, request: None)
    saved: dict[str, str] = {}
    requests = [Request(str(n), str(n), (Message("user", "x"),), (n, 1), FEW) for n in range(count)]
    drive(engine, requests, lambda request, completion: None, lambda each: saved.update({each.key: each.status}))
    return saved, len(loads)


@pytest.mark.parametrize(("poison", "count"), [({0}, 6), ({5}, 6), ({0, 1}, 6), ({0}, 1), ({3}, 40), ({0, 39}, 40)])
def test_a_prompt_that_kills_the_engine_is_the_only_one_lost(
    poison: set[int], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, loads = driven(poison, count, monkeypatch)
    assert {key for key, status in saved.items() if status == "engine_error"} == {str(number) for number in poison}
    assert len(saved) == count
    assert loads <= 3 + 2 * len(poison)


def test_an_engine_that_keeps_dying_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EngineError, match=r"device lost.*5 times in a row.*journal"):
        driven(set(range(20)), 20, monkeypatch)


# the beginnings of what vLLM 0.32 says
FREE = "Free memory on device cuda:0 (1.5/80.0 GiB) on startup is less than desired GPU memory utilization (0.92, 73.6 GiB)."
SPACE = "Available memory on node 0 is less than requested memory for kv cache (9000.0 GiB). Decrease VLLM_CPU_KVCACHE_SPACE"
NONE = "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine (this"
LONG = (
    "To serve at least one request with the model's max seq len (131072), (16.0 GiB KV cache is needed, which is larger than the "
    "available KV cache memory (2.0 GiB). Based on the available memory, the estimated maximum model length is 16384. Try "
    "increasing `gpu_memory_utilization` (which also controls CPU memory on the CPU backend) or decreasing `max_model_len`"
)
WARM = "CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or"
HEADS = "Total number of attention heads (9) must be divisible by tensor parallel size (2)."


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (MemoryError(), r"not enough memory for owner/model.*-e tensor_parallel_size=2.*\(For a judge"),
        (
            RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
            "not enough memory .* tensor_parallel_size=2, lower max_model_len",
        ),
        (ValueError(NONE), r"no memory for the KV cache. Raise .*-e gpu_memory_utilization=0.95, .*-e tensor_parallel_size=2"),
        (ValueError(FREE), r"Something else uses the memory.*-e gpu_memory_utilization=0.5"),
        (ValueError(SPACE), r"KV cache of 9000 GiB does not fit.*VLLM_CPU_KVCACHE_SPACE=1"),
        (ValueError(LONG), r"no full context. Lower max_model_len: -e max_model_len=16384; or raise gpu_memory_utilization"),
        (RuntimeError(WARM), r"largest batch does not. Lower max_num_seqs: -e max_num_seqs=128"),
        (ValueError(HEADS), r"cannot be split over 1 devices.*-e tensor_parallel_size=N"),
        (ValueError("User-specified max_model_len (9) is greater than the derived max_model_len"), "shorter context"),
        (RuntimeError("Cannot find any model weights with `x`"), "weights of owner/model are missing"),
        (ValueError("Bfloat16 is only supported on GPUs with compute capability of at least 8.0."), "cannot run as auto"),
        (
            ValueError("\n1 validation error for X\n  strange thing\n"),
            r"vLLM cannot load owner/model\. vLLM said: ValueError: strange thing",
        ),
    ],
)
def test_every_known_start_error_names_the_setting(error: Exception, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    if error.args == (SPACE,):
        monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "9000")
    assert re.search(sentence, start_sentence(error, SPEC))


@pytest.mark.vllm
def test_a_cache_that_holds_no_full_context_says_what_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    folder = tiny_checkpoint(tmp_path / "tiny", window=8_000_000)
    with pytest.raises(
        EngineError, match=r"holds no full context. Lower max_model_len: -e max_model_len=\d{5,7}; or raise VLLM_CPU_K"
    ):
        VllmEngine(EngineSpec.parse(f"vllm:{folder}", dtype="float32"))
