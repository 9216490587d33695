"""Boards of invented runs: sample scores with other values, under manifests that are valid, or hostile on purpose."""

from __future__ import annotations

import atexit
import copy
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from helmbench_hf.leaderboard import pages
from helmbench_hf.leaderboard.app import serve
from helmbench_hf.leaderboard.collect import Accepted, Refused
from helmbench_hf.leaderboard.data import Data, Entry, prepare
from helmbench_hf.leaderboard.manifest import Manifest
from helmbench_hf.leaderboard.marks import Marks
from helmbench_hf.leaderboard.query import Query
from helmbench_hf.leaderboard.transcripts import Index, write_index
from helmbench_hf.report import html
from helmbench_hf.report.model import Policy, ReportInput, Transcript
from tests.report import sample
from tests.report.browser import new_page

SHA = "ab" * 32
NAMES = ("acme/alpha-7b", "acme/beta-7b", "example/gamma-13b", "example/delta-1b", "solo/epsilon")


def run_id(number: int) -> str:
    return f"{number:016x}"


def manifest(model: str = "acme/alpha-7b", number: int = 1, **changes: Any) -> Manifest:
    """A manifest that verification would read."""
    key = {"model": {}, "template_sha": SHA, "engine": "vllm 0.32", "template_kwargs": {}}
    fields: dict[str, Any] = {
        "format": 1,
        "run_id": run_id(number),
        "helmbench": "0.1.0",
        "scores_format": 4,
        "dataset": {
            "id": "embedded", "name": "helmbench", "design": "core", "version": "0.1.0", "scoring_version": "0.1.0",
            "tag": "v0.1.0", "sha": "", "content_sha256": SHA,
        },
        "model": {
            "id": model, "commit": "12" * 20, "files_sha": SHA, "dtype": "auto:bfloat16", "quantization": "", "template_sha": SHA,
            "versions": {"transformers": "5.16.0"}, "served": "",
        },
        "key": key,
        "chat": {"system_role": "system", "folded": False, "thinking": ""},
        "engine": {
            "name": "vllm", "version": "0.32.0", "dtype": "bfloat16", "max_model_len": 8192, "batch_limit": 64, "threads": 2,
            "block_size": 16, "served": None,
        },
        "settings": {"draws": 3, "seed": 4, "temperature": 0.7},
        "judges": [],
        "panel": "first",
        "missing": [],
        "files": {},
        "submitter": {"name": "Ann Example", "text": "The first of its kind.\nWe liked it."},
        "times": {"started": f"2026-11-{number % 28 + 1:02d}T09:00:00Z", "exported": "2026-11-29T10:00:00Z"},
    }  # fmt: skip
    return Manifest.model_validate({**fields, **changes})


def scores(seed: int = 0, **origin: Any) -> dict[str, Any]:
    """The sample scores with other values in every pair; `origin` changes the provenance."""
    found = copy.deepcopy(sample.sample_scores())
    drawn = random.Random(seed)
    for pair in found["pairs"]:
        pair["value"] = round(drawn.uniform(-1, 1), 3)
    found["operating"][0]["sensitivity"]["hits"] = drawn.randint(0, 32)
    found["operating"][0]["false_alarms"]["hits"] = drawn.randint(0, 32)
    found["provenance"] |= origin
    return found


def accepted(number: int, model: str, **origin: Any) -> Accepted:
    return Accepted(
        Path("nowhere"), f"{number:064x}", manifest(model, number), scores(number, **origin), ("Nobody ran it again.",)
    )


def board(runs: Sequence[Accepted], marks: Marks | None = None, refused: Sequence[Refused] = ()) -> Data:
    return prepare(runs, refused, marks or Marks(), lambda design: sample.policies())


def five(marks: Marks | None = None) -> Data:
    """Five runs in one table, and one submission that is not shown."""
    runs = [accepted(number, name) for number, name in enumerate(NAMES, 1)]
    return board(
        runs, marks, [Refused("submissions/x/0000000000000009", (("scores.edited", "'headline' is not what the rows give"),))]
    )


def page_of(entry: Entry, policies: Sequence[Policy]) -> str:
    """The report of a run as the board serves it, from sample transcripts."""
    whole: Mapping[str, Any] = sample.sample_scores()
    board = Query(view="model", models=(entry.run,)).address()
    return html.render(ReportInput(whole, entry.manifest.model_dump(), sample.transcripts(12), policies=policies, board=board))


def index_of(transcripts: Sequence[Transcript], twins: Mapping[str, str] | None = None) -> Index:
    """An index in a folder of its own, which goes with the process."""
    folder = TemporaryDirectory(prefix="helmbench-")
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "index.sqlite"
    write_index(path, transcripts, twins or {})
    return Index(path)


@cache
def sampled(run: str) -> Index:
    """Sample transcripts of a run; every second run has said something else."""
    found = copy.deepcopy(sample.transcripts(48))
    if int(run, 16) % 2:
        for entry in found:
            entry["replies"] = [{"text": "Take care, all of you.", "status": "ok"} for _ in entry["replies"]]
    return index_of(found, {one["case"]: two["case"] for one, two in zip(found, found[4:], strict=False)})


def indexes(entry: Entry) -> Index:
    return sampled(entry.run)


def render(data: Data, query: Query) -> tuple[int, str]:
    """A page of the board over the sample transcripts."""
    return pages.render(data, query, indexes)


@contextmanager
def served(data: Data, reports: Any = page_of, index: Any = indexes) -> Iterator[str]:
    """The board on a free port of this machine: its address."""
    server, address = serve(data, reports, index, port=None, block=False)
    try:
        yield address
    finally:
        server.blocks.close()


@dataclass
class Visit:
    """A page in a browser, and everything that it asked for or did."""

    page: Any
    address: str
    foreign: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def open(self, query: str = "") -> None:
        self.page.goto(self.address + query)

    def assert_quiet(self) -> None:
        assert self.foreign == []
        assert self.dialogs == []
        assert self.errors == []
        assert self.page.evaluate("window.__pwned") is None
        assert self.page.evaluate("window.frames.length") == 0


@contextmanager
def visiting(browser: Any, address: str, **options: Any) -> Iterator[Visit]:
    """A fresh browser context that watches."""
    with new_page(browser, **{"viewport": {"width": 1280, "height": 860}, "reduced_motion": "reduce", **options}) as page:
        found = Visit(page, address)

        def asked(request: Any) -> None:
            (found.asked if request.url.startswith((address, "data:,")) else found.foreign).append(request.url)

        def dialog(opened: Any) -> None:
            found.dialogs.append(opened.message)
            opened.dismiss()

        page.on("request", asked)
        page.on("dialog", dialog)
        page.on("popup", lambda popup: found.foreign.append(popup.url))
        page.on("pageerror", lambda error: found.errors.append(str(error)))
        page.on("console", lambda message: found.errors.append(message.text) if message.type in ("error", "warning") else None)
        yield found
