"""Several engines side by side: each replica is a Ray actor on its own GPUs, on one machine or on a whole cluster.

Ray places the actors and starts them again; it retries nothing, because it resumes a stream by index and loses what ended
in another order (engineering review, section 4). What a dead replica held goes back to the driver as engine failures:
`drive` submits it again, last tries alone, so a prompt that kills every replica ends as one typed row. Only this module
imports ray.
"""

from __future__ import annotations

import atexit
import os
import secrets
import signal
import sys
import threading
import time
from collections import Counter, deque
from dataclasses import replace
from typing import Any

from helmbench_hf.inference.engine import EngineDescription, EngineError, EngineSpec, Request, failed
from helmbench_hf.inference.identity import locate
from helmbench_hf.inference.replica import OPENER, Homes, Replica, Seat, differences
from helmbench_hf.inference.scratch import Scratch
from helmbench_hf.records import Completion

DEATHS = 6
"""Deaths of a replica in a row, with no request finished between, after which it is given up."""
STARTS = 2
"""The same for a replica that was never up: what kills it while it loads will mostly do so again."""
PLACE_SECONDS = 600.0
"""How long Ray may look for room while no replica is up."""
QUEUE_SECONDS = 60.0
"""How long those that are up wait for the rest to find room; what others hold on a shared cluster may be free much later."""
STORE_BYTES = 100 << 20
"""Ray's object store on a local cluster; completions are small, and the default would be a third of the memory."""
GOES_ON = "What had ended is in the journal; the same command goes on from there."


class RayEngine:
    """Implements `Engine` over replicas that may die and come back."""

    def __init__(self, spec: EngineSpec, opener: str = OPENER) -> None:
        """Start or join a cluster, place the replicas, wait until they are up. Raises `EngineError` with a sentence.

        With `RAY_ADDRESS` set the cluster there is used and only the replicas end with this process; else a cluster on this
        machine is started, which dies with it. `opener` is the import path of what opens the engine inside a replica.
        """
        where = locate(spec.model, spec.revision)
        extra = {"distributed_executor_backend": "mp"} if spec.kind == "vllm" and spec.tensor_parallel_size > 1 else {}
        # every machine takes the commit that the keys name, whatever its own copy of the branch says
        self._spec = replace(spec, replicas=None, revision=where.commit or spec.revision, extra={**extra, **spec.extra})
        self._opener = opener
        self._scratch = Scratch()
        self._homes = Homes()
        self._waiting: deque[Request] = deque()
        self._seats: list[Seat] = []
        atexit.register(self.close)
        try:
            _connect(str(self._scratch.path))
            self._seats = self._place(spec.replicas or 0)
            began = time.monotonic()
            while not self._ready(time.monotonic() - began):
                self._events(patience=1.0)
        except BaseException:
            self.close()
            raise

    @property
    def capacity(self) -> int:
        """Twice what the living replicas hold in a step; while none lives, what one would take."""
        return 2 * (sum(seat.batch for seat in self._seats if seat.state == "up") or max(seat.batch for seat in self._seats))

    def submit(self, request: Request) -> None:
        """Give one request to its replica, or keep it until one is up."""
        seat = self._homes.choose(request.group, self._seats)
        if seat is None:
            self._waiting.append(request)
            return
        seat.held[request.key] = request
        seat.actor.submit.remote(seat.life, request)

    def collect(self) -> list[Completion]:
        """Wait for the next answers of any replica, or for a death: what it held comes back as engine failures."""
        done: list[Completion] = []
        while not done and (self._waiting or any(seat.held for seat in self._seats)):
            done = self._events()
        return done

    def describe(self) -> EngineDescription:
        """Say what runs: the engine inside the replicas, on all their devices."""
        import ray

        found = [seat.description for seat in self._seats if seat.description and seat.state == "up"]
        known = found or [seat.description for seat in self._seats if seat.description]
        devices = Counter(each.device for each in known)
        size = self._spec.tensor_parallel_size
        figures = {"ray": ray.__version__, "replicas": str(len(self._seats)), "tensor_parallel": str(size)}
        return replace(
            known[0],
            device=", ".join(f"{count * size} x {device}" for device, count in devices.items()),
            extra={**known[0].extra, **figures},
        )

    def close(self) -> None:
        """End the replicas, and the cluster where it is ours; a second call does nothing."""
        ray = sys.modules.get("ray")
        if ray is not None and ray.is_initialized():
            for seat in self._seats:
                ray.kill(seat.actor)
            ray.shutdown()
        self._scratch.close()
        atexit.unregister(self.close)

    def _place(self, wanted: int) -> list[Seat]:
        import ray

        size = self._spec.tensor_parallel_size
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        gpus = sum(int(node.get("GPU", 0)) for node in nodes)
        places = sum(int(node.get("GPU", 0)) // size for node in nodes)
        count = wanted or places or 1
        if gpus and count > places:
            raise EngineError(
                f"{count} replicas x {size} GPUs do not fit: Ray sees {gpus} GPUs on {len(nodes)} machines, and no replica may "
                f"span two, so there is room for {places}. Lower --replicas or --tensor-parallel."
            )
        cores = sum(node.get("CPU", 0.0) for node in nodes) / count
        # Ray sets OMP_NUM_THREADS to a replica's cores, and takes fractions below 1 only
        needs = {"num_gpus": size, "num_cpus": 1} if gpus else {"num_cpus": int(cores) if cores >= 1 else round(cores, 3)}
        made = ray.remote(max_restarts=-1, max_task_retries=0, max_concurrency=2)(Replica)
        actors = [made.options(**needs).remote() for _ in range(count)]
        return [Seat(number, actor, _life_of(actor)) for number, actor in enumerate(actors, 1)]

    def _ready(self, waited: float) -> bool:
        """Say whether to begin, `waited` seconds after the replicas were asked for: some are up, and none is about to be."""
        states = {seat.state for seat in self._seats}
        return "up" in states and "loading" not in states and not ("placing" in states and waited < QUEUE_SECONDS)

    def _events(self, patience: float | None = None) -> list[Completion]:
        """Wait for the next thing that happens to any replica, at most `patience` seconds, and give what has ended by it."""
        import ray

        seats = [seat for seat in self._seats if seat.state != "gone"]
        if not seats:
            raise EngineError(self._all_gone())
        idle = all(seat.state == "placing" for seat in seats)
        happened, _ = ray.wait([seat.wait for seat in seats], timeout=PLACE_SECONDS if idle else patience)
        if idle and not happened:
            raise EngineError(
                f"Ray found no room for a replica in {PLACE_SECONDS / 60:.0f} minutes: others may hold its GPUs or cores. "
                f"See `ray status`. {GOES_ON}"
            )
        # one pass over all: a busy replica must not keep the driver from the others
        happened, _ = ray.wait([seat.wait for seat in seats], num_returns=len(seats), timeout=0)
        return [completion for seat in seats if seat.wait in happened for completion in self._event(seat)]

    def _event(self, seat: Seat) -> list[Completion]:
        """Take one answer of one replica."""
        import ray

        try:
            said = ray.get(seat.wait if seat.state == "placing" else next(seat.wait))
        except (ray.exceptions.RayError, StopIteration) as error:
            return self._died(seat, error)
        if seat.state == "placing":
            self._placed(seat, said)
        elif isinstance(said, EngineDescription):
            self._up(seat, said)
        elif isinstance(said, str):
            return self._failed_to_start(seat, said)
        else:
            seat.deaths = 0
            return [completion for completion in said if seat.held.pop(completion.key, None) is not None]
        return []

    def _placed(self, seat: Seat, life: str) -> None:
        """Open the stream of a replica that answers, after a death only that of another process than the one that failed."""
        import ray

        if life == seat.life:
            ray.kill(seat.actor, no_restart=False)
            seat.wait = _life_of(seat.actor)
            return
        seat.life, seat.state = life, "loading"
        seat.wait = seat.actor.stream.options(num_returns="streaming").remote(self._spec, self._opener)

    def _up(self, seat: Seat, said: EngineDescription) -> None:
        for other in self._seats:
            if other.description is not None and (unlike := differences(other.description, said)):
                raise EngineError(
                    f"Replicas {other.number} and {seat.number} do not run the same: {unlike}. "
                    f"Give every machine the same files and the same versions. {GOES_ON}"
                )
        seat.description, seat.state = said, "up"
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            self.submit(request)

    def _failed_to_start(self, seat: Seat, sentence: str) -> list[Completion]:
        seat.reason = sentence
        if seat.description is None:  # what an engine says of itself before it ever ran is as true the second time
            self._give_up(seat)
            return []
        return self._died(seat, EngineError(sentence))

    def _died(self, seat: Seat, error: Exception) -> list[Completion]:
        seat.deaths += 1
        loading = seat.description is None
        seat.reason = f"Replica {seat.number} died{' while it loaded the model' * loading}: {_first(error)}"
        lost = [failed(request, seat.reason) for request in seat.held.values()]
        seat.held.clear()
        if seat.deaths >= (STARTS if loading else DEATHS):
            self._give_up(seat)
        else:
            seat.state, seat.wait = "placing", _life_of(seat.actor)
        return lost

    def _give_up(self, seat: Seat) -> None:
        import ray

        seat.state = "gone"
        ray.kill(seat.actor)

    def _all_gone(self) -> str:
        """Say why no replica is left: in the engine's own words where it never ran."""
        reason = self._seats[0].reason
        if all(seat.description is None for seat in self._seats):
            return reason
        return f"Every replica has died {DEATHS} times in a row without finishing a request. {reason} {GOES_ON}"


def _life_of(actor: Any) -> Any:
    """Ask who the replica is; Ray asks again after a restart, which is safe for a question."""
    return actor.life.options(max_task_retries=-1).remote()


def _first(error: Exception) -> str:
    """Give what a Ray error says, without the traces and identifiers around it."""
    import ray

    if isinstance(error, StopIteration):
        return "its stream has ended"
    if isinstance(error, ray.exceptions.ActorUnavailableError | ray.exceptions.ActorDiedError):
        return "its process has ended; most often it was killed, or the machine had no memory left"
    if isinstance(error, ray.exceptions.RayTaskError):
        return f"{type(error.cause).__name__}: {error.cause}"[:300]
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


def _connect(folder: str) -> None:
    """Start a cluster of this machine that listens on the loopback alone and keeps quiet, or join the one of RAY_ADDRESS."""
    address = os.environ.get("RAY_ADDRESS", "")
    wanted = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_COLOR_PREFIX": "0"}
    if not address:
        # the second name is Ray's switch of addresses that other machines can reach; the token is for this run alone
        wanted |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    for name, value in wanted.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError as error:
        raise EngineError("Ray is not installed. Install `helmbench-hf[ray]`, or leave --replicas out.") from error
    if address.startswith("ray://"):
        raise EngineError(
            f"RAY_ADDRESS {address} is a Ray client's. Run this on a machine of the cluster itself: RAY_ADDRESS=auto."
        )
    local: dict[str, Any] = {"include_dashboard": False, "object_store_memory": STORE_BYTES, "_temp_dir": folder}
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address or None, logging_level="ERROR", **({} if address else local))
    except Exception as error:  # Ray raises a dozen types here; the person needs one sentence
        what = f"join the cluster at RAY_ADDRESS={address}" if address else "start on this machine"
        raise EngineError(f"Ray cannot {what}: {_first(error)}") from error
    finally:
        if main:  # Ray takes SIGTERM for itself; here it asks a run to stop and finish what is live
            signal.signal(signal.SIGTERM, before)
