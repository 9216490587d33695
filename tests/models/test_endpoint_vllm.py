"""The endpoint engine on a real server: `vllm serve` with two data-parallel replicas, tiny random weights, on the loopback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from helmbench_hf.judging.judge import JudgeSpec, resolve_mode
from helmbench_hf.models.chat import ChatTemplate, ServerTemplate
from helmbench_hf.models.drive import drive
from helmbench_hf.models.engine import EngineError, EngineSpec, Request, Sampling, open_engine
from helmbench_hf.records import Completion
from helmbench_hf.runs.journal import Journal
from tests.models import contract
from tests.support.checkpoints import tiny_checkpoint
from tests.support.ports import free_port

pytestmark = pytest.mark.vllm
CHAT = ServerTemplate()
PATIENCE = 600.0
"""Seconds that the server may take to start; 40 on two idle cores."""


class Server:
    """`vllm serve --data-parallel-size 2`, started by the module that `vllm serve` runs."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.model = tiny_checkpoint(folder / "tiny", window=2048)
        self.start()

    def start(self) -> None:
        options = {"model": self.model, "served-model-name": "tiny", "host": "127.0.0.1", "port": self.port, "dtype": "float32"}
        options |= {"max-model-len": 2048, "data-parallel-size": 2}
        command = [
            sys.executable,
            "-m",
            "vllm.entrypoints.openai.api_server",
            "--enforce-eager",
            "--enable-prompt-tokens-details",
        ]
        command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
        command += ["--structured-outputs-config", json.dumps({"backend": "xgrammar", "disable_any_whitespace": True})]
        small = {"VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
        environment = {**os.environ, **small, "VLLM_NO_USAGE_STATS": "1", "TMPDIR": str(self.folder)}
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            assert self.process.poll() is None, (self.folder / "log").read_text()[-3000:]
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=PATIENCE):
                return
            time.sleep(0.5)
        pytest.fail((self.folder / "log").read_text()[-3000:])

    def kill_a_replica(self) -> None:
        below = psutil.Process(self.process.pid).children(recursive=True)
        next(each for each in below if "EngineCore_DP0" in " ".join(each.cmdline())).kill()

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("served"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def spec(server: Server) -> EngineSpec:
    url = f"http://127.0.0.1:{server.port}/v1"
    return EngineSpec.parse("endpoint:tiny", base_url=url, concurrency=8, retries=0, data_parallel=2)


def test_the_contract_of_every_engine(spec: EngineSpec) -> None:
    engine = open_engine(spec)
    contract.every_engine(engine, CHAT)
    contract.labels_have_an_honest_mass(engine, CHAT)
    contract.it_says_what_it_is(engine, "endpoint", "unknown", {"schema", "label_logprobs"})
    said = engine.describe()
    assert (said.max_model_len, said.extra["owned_by"], said.extra["system_text"]) == (2048, "vllm", "counted in the prompt")
    assert said.extra["served"] == "tiny"
    judge = JudgeSpec(id="served", engine="endpoint:tiny", family="tiny")
    assert resolve_mode(judge, CHAT, said) == "fast"


def test_label_probabilities_are_those_of_the_model(spec: EngineSpec, server: Server) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    asked = contract.ask(CHAT, "a", "Is a cat an animal?", "Verdict:", labels=("A", "B", "C"))
    read = contract.run(open_engine(spec), [asked])["a"]
    chat = ChatTemplate.load(server.model)
    tokens = chat.render(asked.messages, "Verdict:")
    model = AutoModelForCausalLM.from_pretrained(server.model, dtype=torch.float32)
    with torch.inference_mode():
        exact = torch.log_softmax(model(torch.tensor([tokens])).logits[0, -1], -1)
    assert read.prompt_tokens == len(tokens)
    assert read.label_logprobs == pytest.approx([float(exact[each]) for each in chat.label_ids("ABC", "Verdict:")], abs=1e-4)


def test_prefixes_of_a_group_are_shared(spec: EngineSpec) -> None:
    engine, long = open_engine(spec), "The rules of the library are many. " * 20
    first, last = (
        contract.ask(CHAT, name, f"{long}Which one is {name}?", sampling=Sampling(max_tokens=3), group="rules")
        for name in ("first", "last")
    )
    contract.run(engine, [first])
    again = contract.run(engine, [last])["last"]
    assert 128 <= again.cached_tokens < again.prompt_tokens


def test_a_killed_replica_loses_nothing_and_asks_nothing_twice(spec: EngineSpec, server: Server, tmp_path: Path) -> None:
    """vLLM ends the server with its replica; the same run resumes on the next server."""
    drawn = Sampling(max_tokens=40, temperature=1.0, seed=1)
    requests = [contract.ask(CHAT, str(n), f"Card {n} is lost.", sampling=drawn, group=f"g{n % 7}") for n in range(80)]
    answered: Counter[str] = Counter()

    def run(kill: bool) -> None:
        stored = Journal.read(tmp_path)
        with Journal.open(tmp_path, "test") as journal:

            def save(completion: Completion) -> None:
                journal.append(completion)
                answered[completion.key] += 1
                if kill and len(answered) == 20:
                    server.kill_a_replica()

            def open_requests() -> Iterator[Request]:
                yield from (request for request in requests if request.key not in stored)

            drive(open_engine(spec), open_requests(), lambda request, completion: None, save)

    with pytest.raises(EngineError, match=r"No server answers at 127.0.0.1:\d+: .* Start it and rerun to resume"):
        run(kill=True)
    before = len(answered)
    assert 20 <= before < 80
    assert len(Journal.read(tmp_path)) == before
    server.close()
    server.start()
    run(kill=False)
    assert set(answered.values()) == {1}
    stored = Journal.read(tmp_path)
    assert (len(stored), stored.passed.count("duplicates"), stored.passed.count("malformed")) == (80, 0, 0)
    assert {completion.status for completion in stored.values()} <= {"ok", "truncated"}
