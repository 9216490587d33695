"""Real actors, mostly around an engine without a model; the names of the answers' processes stand in their texts."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from helmbench_hf.inference import ray as ray_module
from helmbench_hf.inference.chat import ChatTemplate
from helmbench_hf.inference.drive import Driven, drive
from helmbench_hf.inference.engine import EngineError, EngineSpec, Message, Request, Sampling, open_engine
from helmbench_hf.inference.journal import Journal
from helmbench_hf.inference.ray import RayEngine
from helmbench_hf.records import Completion
from tests.inference import contract
from tests.inference.test_host import Begin, command  # noqa: F401
from tests.support import replicas
from tests.support.checkpoints import smollm2_path
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE, until

OURS = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
"""The loopback alone, and one token for all clusters of this process: Ray reads it once."""
ANSWER = {"conversations": 30, "turns": 3, "delay": 0.05, "replicas": 2}


@pytest.fixture(scope="module")
def head() -> Iterator[tuple[psutil.Process, str]]:
    """A cluster that others could share, as its process and its address; engines start faster on it than on their own."""
    port = free_port()
    options = ["--head", "--block", f"--port={port}", "--node-ip-address=127.0.0.1", "--num-cpus=4", "--include-dashboard=false"]
    options += ["--object-store-memory=100000000", "--disable-usage-stats"]
    with tempfile.TemporaryDirectory(prefix="helm-r", dir="/tmp") as folder:
        started = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", "start", *options, f"--temp-dir={folder}"],
            env={**os.environ, **OURS},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            until(lambda: list(Path(folder).glob("session_*/sockets/raylet")) or started.poll() is not None, "Ray starts")
            assert started.poll() is None
            yield psutil.Process(started.pid), f"127.0.0.1:{port}"
        finally:
            below = psutil.Process(started.pid).children(recursive=True)
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
            for each in below:
                each.kill() if each.is_running() else None
            psutil.wait_procs(below, timeout=PATIENCE)  # they write into the folder until they are gone


Open = Callable[..., RayEngine]


@pytest.fixture
def join(head: tuple[psutil.Process, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is started from here on joins the cluster."""
    for name, value in {**OURS, "RAY_ADDRESS": head[1]}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def opened(join: None, tmp_path: Path) -> Iterator[Open]:
    made: list[RayEngine] = []

    def make(count: int = 2, **options: Any) -> RayEngine:
        made.append(RayEngine(replicas.spec(tmp_path, count, **options), replicas.OPENER))
        return made[-1]

    yield make
    for each in made:
        each.close()


def asked(count: int, *, groups: int = 1, name: str = "c") -> list[Request]:
    return [
        Request(f"{name}{n}", f"{name}{n}/1", (Message("user", str(n)),), (1, 2), Sampling(max_tokens=4), group=f"g{n % groups}")
        for n in range(count)
    ]


def next_turn(request: Request, completion: Completion) -> Request | None:
    name, _, turn = request.name.partition("/")
    if completion.status == "engine_error" or turn == "3":
        return None
    return replace(request, key=f"{name}.{int(turn) + 1}", name=f"{name}/{int(turn) + 1}")


def driven(
    engine: RayEngine, requests: list[Request], after: Callable[[list[Completion]], None] = lambda saved: None
) -> tuple[list[Completion], Driven]:
    saved: list[Completion] = []

    def save(completion: Completion) -> None:
        saved.append(completion)
        after(saved)

    done = drive(engine, requests, next_turn, save)
    assert len({each.key for each in saved}) == len(saved) == done.saved
    return saved, done


def process(completion: Completion) -> int:
    return int(completion.text.split()[0])


def test_a_killed_replica_loses_and_doubles_nothing(opened: Open) -> None:
    killed: list[int] = []

    def kill(saved: list[Completion]) -> None:
        if len(saved) == 20:
            killed.append(process(saved[-1]))
            os.kill(killed[0], signal.SIGKILL)

    saved, done = driven(opened(delay=0.03), asked(30, groups=10), kill)
    assert Counter(each.status for each in saved) == {"ok": 90}
    assert done.retried <= 16  # none, where all that it held was on its way already; the poison test retries for certain
    assert {each.attempt for each in saved} <= {1, 2}
    answered_by = [process(each) for each in saved]
    assert killed[0] in answered_by[:20]
    assert len(set(answered_by)) >= 2


def test_a_prompt_that_kills_every_replica_ends_as_one_typed_row(opened: Open) -> None:
    requests = [*asked(8), *asked(1, name=replicas.POISON), *asked(8, name="d")]
    saved, _ = driven(opened(), requests)
    assert Counter(each.status for each in saved) == {"ok": 48, "engine_error": 1}
    bad = next(each for each in saved if each.status == "engine_error")
    assert (bad.request, bad.attempt) == ("poison0/1", 3)
    assert "died: its process has ended" in bad.error


def test_a_group_stays_at_home_and_groups_are_spread(opened: Open) -> None:
    saved, _ = driven(opened(capacity=40), asked(24, groups=8))
    homes: dict[str, set[int]] = {}
    for each in saved:
        number = int(each.key.partition(".")[0].removeprefix("c"))
        homes.setdefault(f"g{number % 8}", set()).add(process(each))
    assert {len(each) for each in homes.values()} == {1}
    assert sorted(Counter(pid for each in homes.values() for pid in each).values()) == [4, 4]


def test_it_says_what_runs(opened: Open) -> None:
    engine = opened()
    said = engine.describe()
    assert (said.name, said.device, said.batch_limit) == ("fake", "2 x none", 4)
    assert (said.extra["replicas"], said.extra["tensor_parallel"]) == ("2", "1")
    assert said.extra["ray"]
    assert engine.capacity == 16


def test_why_no_replica_starts_is_the_engines_own_sentence(opened: Open) -> None:
    with pytest.raises(EngineError, match=r"^The weights are missing\.$"):
        opened(sentence="The weights are missing.")
    with pytest.raises(EngineError, match="died while it loaded the model: its process has ended"):
        opened(1, killed=True)


def test_replicas_that_differ_are_refused(opened: Open) -> None:
    with pytest.raises(EngineError, match=r"Replicas \d and \d do not run the same: dtype \d+ and \d+\."):
        opened(unlike=True)


def test_replicas_that_keep_dying_are_given_up(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_module, "DEATHS", 2)
    with pytest.raises(EngineError, match=r"2 times in a row without.*The fake engine died, as it was told to\..*journal"):
        driven(opened(1, fate="die"), asked(8))


def test_more_gpus_than_there_are_is_a_sentence(opened: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import ray

    node = {"Alive": True, "Resources": {"GPU": 3.0, "CPU": 8.0}}
    monkeypatch.setattr(ray, "nodes", lambda: [node, node, {**node, "Alive": False}])
    with pytest.raises(EngineError, match=r"3 replicas x 2 GPUs do not fit: Ray sees 6 GPUs on 2 machines.* room for 2"):
        RayEngine(replace(replicas.spec(tmp_path, 3), tensor_parallel_size=2), replicas.OPENER)


def test_without_ray_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "ray://head:10001")
    with pytest.raises(EngineError, match="Run this on a machine of the cluster itself"):
        open_engine(replicas.spec(tmp_path, 2))
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineError, match=r"Install `helmbench-hf\[ray\]`"):
        open_engine(replicas.spec(tmp_path, 2))


@pytest.mark.parametrize("victim", ["command", "child"])
def test_a_kill_leaves_nothing_and_the_next_run_goes_on(tmp_path: Path, command: Begin, victim: str) -> None:  # noqa: F811
    payload = {"folder": str(tmp_path), **ANSWER, "wait": PATIENCE}
    run = command("answer", {**payload, "holds": True})
    child = run.event("started")["pid"]
    run.event("completion")
    assert len(run.living()) > 5
    os.kill(run.process.pid if victim == "command" else child, signal.SIGKILL)
    after = command("answer", payload)  # at once, beside what is still dying
    run.counts(0)
    assert after.ends() == 0
    records = Journal.read(tmp_path / "journal")
    assert (len(records), records.duplicates, records.malformed) == (90, 0, 0)


def test_a_stop_finishes_what_is_live(tmp_path: Path, command: Begin) -> None:  # noqa: F811
    run = command("answer", {"folder": str(tmp_path), **ANSWER, "holds": True})
    run.event("completion")
    run.process.send_signal(signal.SIGINT)
    done = run.event("done")
    assert run.ends() == 130
    assert done["stopped"]
    assert len(Journal.read(tmp_path / "journal")) == done["saved"] < 90


def test_on_a_shared_cluster_only_our_replicas_end(
    head: tuple[psutil.Process, str],
    join: None,
    tmp_path: Path,
    command: Begin,  # noqa: F811
) -> None:
    import ray

    def replicas_of_the_cluster() -> list[psutil.Process]:
        found = []
        for each in head[0].children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                found += [each] if each.name().startswith("ray::Replica") else []
        return found

    class Neighbor:
        def pid(self) -> int:
            return os.getpid()

    ray.init(address=head[1], log_to_driver=False)
    try:
        neighbor = ray.remote(num_cpus=0)(Neighbor).remote()
        before = ray.get(neighbor.pid.remote())
        run = command("answer", {"folder": str(tmp_path), **ANSWER, "holds": True})
        child = run.event("started")["pid"]
        run.event("completion")
        until(lambda: len(replicas_of_the_cluster()) == 2, "of the replicas two are left: those of earlier tests have ended")
        os.kill(child, signal.SIGKILL)
        run.counts(0)
        until(lambda: not replicas_of_the_cluster(), "the replicas end")
        assert ray.get(neighbor.pid.remote()) == before
    finally:
        ray.shutdown()


@pytest.fixture(scope="module")
def vllm_engine() -> Iterator[RayEngine]:
    spec = EngineSpec.parse(f"vllm:{smollm2_path()}", replicas=2, max_num_seqs=16, max_model_len=512, dtype="float32")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in OURS.items():
            patch.setenv(name, value)
        made = open_engine(spec)
        assert isinstance(made, RayEngine)
        yield made
        made.close()


@pytest.mark.vllm
class TestOnSmolLM2:
    def test_the_contract_holds(self, vllm_engine: RayEngine) -> None:
        chat = ChatTemplate.load(str(smollm2_path()))
        contract.constrained_answers_parse(vllm_engine, chat)
        contract.labels_have_an_honest_mass(vllm_engine, chat)
        contract.bad_prompts_are_typed_rows_among_good_ones(vllm_engine, chat, contract.bad_tokens(vllm_engine, chat))
        contract.answers_are_capped(vllm_engine, chat)
        contract.prompts_are_counted_and_may_nearly_fill_the_window(vllm_engine, chat)
        contract.it_says_what_it_is(vllm_engine, "vllm", "float32", {"schema", "label_logprobs"})
        assert vllm_engine.describe().device == "2 x cpu"
        assert vllm_engine.capacity == 64

    def test_a_killed_replica_loses_and_doubles_nothing(self, vllm_engine: RayEngine) -> None:
        chat = ChatTemplate.load(str(smollm2_path()))
        # lengths vary by draw and by budget: what ends first is chance, and no two waves end as one
        drawn = [Sampling(temperature=1.0, max_tokens=6 + 5 * (number % 7)) for number in range(20)]
        requests = [
            replace(
                contract.ask(chat, f"c{n}", f"Write about the number {n}.", sampling=drawn[n]), name=f"c{n}/1", group=f"g{n % 6}"
            )
            for n in range(20)
        ]

        killed: list[int] = []

        def kill(saved: list[Completion]) -> None:
            if len(saved) >= 20 and not killed and all(len(seat.held) > 2 for seat in vllm_engine._seats):
                below = psutil.Process().children(recursive=True)
                killed.append(next(each.pid for each in below if each.name().startswith("ray::Replica")))
                os.kill(killed[0], signal.SIGKILL)

        saved, done = driven(vllm_engine, requests, kill)
        assert len(saved) == 60
        assert {each.status for each in saved} <= {"ok", "truncated"}
        assert len({each.output_tokens for each in saved}) > 3
        assert 1 <= done.retried <= 32
