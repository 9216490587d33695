"""How far a router errs: it sorts replies of assistants whose acts three blind readers have named.

The replies stand in `calibration/acts.jsonl`: conversations along random paths of the plans, answered by assistants of eight
kinds. The right act is what at least two of three readers (language models) say. Beside the share that agrees stands what
matters for a path: how often the person's next line would have been another one.

RUN/router/              the router's answers, as in a run
RUN/router-check.json    the result; the report shows it
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from helmbench_hf.content.load import Benchmark, load_benchmark
from helmbench_hf.content.schema import Message as Authored
from helmbench_hf.judging.gate import at_least
from helmbench_hf.models.drive import Listener
from helmbench_hf.models.engine import Engine, EngineSpec, Request, open_engine
from helmbench_hf.models.identity import ModelInfo, model_info
from helmbench_hf.records import Act, Completion, Route
from helmbench_hf.runs.asking import ask_missing
from helmbench_hf.runs.folder import RunError, RunFolder, write_json
from helmbench_hf.runs.journal import run_lock
from helmbench_hf.runs.router import ACT, Router, label_of, mode_of, question
from helmbench_hf.tasks.reactive import route_of, walk

JOB = "helmbench_hf.judging.router_check:child"
FOLDER, RESULT = "router", "router-check.json"
REPLIES = "calibration/acts.jsonl"
ENOUGH = 0.90
"""Share of replies that a router must sort as readers do; below it the report warns."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply, what stood before it, and what readers say that it does."""

    said: str
    """The person's line."""
    reply: str
    reads: tuple[Act, ...]

    @property
    def right(self) -> Act | None:
        """What at least two readers say."""
        act, count = Counter(self.reads).most_common(1)[0]
        return act if count > 1 else None


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation along one path, whatever the replies; each of its replies is sorted by itself."""

    code: str
    scenario: str
    assistant: str
    """The kind of assistant that answered."""
    acts: tuple[Act, ...]
    """The acts that made the path: one fewer than there are replies."""
    replies: tuple[Reply, ...]


@dataclass(frozen=True, slots=True)
class RouterCheck:
    """The whole of `router-check.json`."""

    router: str
    n: int
    """Replies on which two readers agree and that the router sorted."""
    missing: int
    """Replies that it did not sort."""
    agree: int
    low: float
    """Lower end of the 95% interval of the share that agrees (one-sided)."""
    moved: int
    """Replies after which the person would have said something else."""
    unanimous: int
    """Replies on which all readers agree."""
    confusion: tuple[tuple[Act, Act, int], ...]
    """(readers' act, router's act, how often), where they differ; most often first."""

    @property
    def reliable(self) -> bool:
        """Whether paths under this router may be read as the model's doing."""
        return bool(self.n) and self.agree >= ENOUGH * self.n


def labeled(benchmark: Benchmark) -> list[Talk]:
    """The conversations with readers' acts; none where the content holds none."""
    path = benchmark.root / REPLIES
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [TypeAdapter(Talk).validate_json(line) for line in lines]


def payload(run: Path, router: EngineSpec, content: Path) -> dict[str, Any]:
    """What `child` needs, as plain JSON."""
    return {"run": str(run), "router": asdict(router), "content": str(content)}


def child(given: dict[str, Any], reporter: Listener) -> None:
    """The job of the child process."""
    spec = EngineSpec(**given["router"])
    check(Path(given["run"]), model_info(spec), open_engine, load_benchmark(Path(given["content"])), reporter)


def check(run: Path, model: ModelInfo, opened: Callable[[EngineSpec], Engine], benchmark: Benchmark, listener: Listener) -> None:
    """Let the router of a run sort what it has not sorted yet, and write `router-check.json`. RunError for another router."""
    used = RunFolder(run).manifest().router
    if used is None:
        raise RunError(f"{run} has no router: it contains no reactive conversation, or was run without --router.")
    if used.key != model.context:
        raise RunError(f"The router of {run} is {used.engine}; name that one, with the options that it had.")
    place = run / FOLDER
    router, talks = Router(model.context, mode_of(model.template, model.spec.kind), model.template), labeled(benchmark)
    with run_lock(place):
        asked = [request for _, _, request in _questions(talks, router)]
        known = ask_missing(place, FOLDER, asked, cache(lambda: opened(model.spec)), listener)
    write_json(run / RESULT, asdict(found(used.engine, talks, router, known, benchmark)))


def _questions(talks: Sequence[Talk], router: Router) -> Iterator[tuple[Talk, int, Request]]:
    """Every reply (by number, from 1) as the router is asked about it."""
    for talk in talks:
        said, seen = [each.said for each in talk.replies], [each.reply for each in talk.replies]
        for number in range(1, len(said) + 1):
            messages = question(said[:number], seen[: number - 1], seen[number - 1])
            yield talk, number, router.request(f"{talk.code}/{number}{ACT}", messages, talk.code)


def found(name: str, talks: Sequence[Talk], router: Router, known: Mapping[str, Completion], benchmark: Benchmark) -> RouterCheck:
    """What the router's answers amount to."""
    routes = _routes(benchmark)
    wrong, moved, agree, missing, unanimous = Counter[tuple[Act, Act]](), 0, 0, 0, 0
    for talk, number, request in _questions(talks, router):
        reply = talk.replies[number - 1]
        right, said = reply.right, label_of(known.get(request.key))
        if right is None or said is None:
            missing += right is not None
            continue
        unanimous += len(set(reply.reads)) == 1
        agree += said == right
        if said != right:
            wrong[right, said] += 1
            before = talk.acts[: number - 1]
            moved += _next(routes[talk.scenario], before, right) != _next(routes[talk.scenario], before, said)
    n = agree + wrong.total()
    rows = tuple((right, said, count) for (right, said), count in wrong.most_common())
    return RouterCheck(name, n, missing, agree, at_least(agree, n).bound, moved, unanimous, rows)


def _next(route: Route, before: Sequence[Act], act: Act) -> str:
    return walk(route, (*before, act))[-1][0].slug


def _routes(benchmark: Benchmark) -> dict[str, Route]:
    """The table of each scenario; which of its plans it is read from makes no difference to the beats."""
    made = {}
    for loaded in benchmark.scenarios:
        if loaded.scenario.route is not None:
            first: Authored = loaded.messages.pairs[0].crisis
            made[loaded.scenario.code] = route_of(loaded.scenario, first, loaded.scenario.code)
    return made


def read(run: Path) -> RouterCheck | None:
    """What `check` wrote; None where nobody checked. RunError where the file cannot be read."""
    path = run / RESULT
    if not path.exists():
        return None
    try:
        return TypeAdapter(RouterCheck).validate_python(json.loads(path.read_bytes()))
    except (OSError, ValueError, ValidationError) as error:
        raise RunError(f"{path} cannot be read; remove it and run `helmbench judge router` again.") from error
