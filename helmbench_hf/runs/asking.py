"""Put a list of requests to one model, outside of the cases of a run: what a journal holds already is not asked again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from helmbench_hf.models.drive import Counting, Listener, drive
from helmbench_hf.models.engine import Engine, Request
from helmbench_hf.records import Completion
from helmbench_hf.runs.journal import Journal

NO_LETTERS = "This engine gives no probabilities of letters, so the model cannot be asked; use vllm:."


def ask_missing(
    place: Path, name: str, requests: Sequence[Request], opened: Callable[[], Engine], listener: Listener
) -> Mapping[str, Completion]:
    """Answers by key, the stored ones and the new ones. `place`: the journal's folder; `name`: of its files.

    The engine is opened only where something is missing.
    """
    known = Journal.read(place).everything()
    work = [request for request in requests if request.key not in known]
    planned, done = len(requests), len(requests) - len(work)
    listener.emit({"event": "planned", "turns": planned, "stored": done, "open": len(work)})
    if not work:
        return known
    with Journal.open(place, name) as journal:
        engine = opened()
        counter = Counting(listener, planned, done)

        def save(completion: Completion) -> None:
            journal.append(completion)
            counter.count(completion)

        drive(engine, work, lambda request, completion: None, save, stop=listener.stopping)
    return Journal.read(place).everything()
