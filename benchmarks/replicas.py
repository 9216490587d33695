"""Replicas in Ray on this machine: start, memory, and what the death of one costs. The demo model, sampled lengths.

python benchmarks/replicas.py            96 conversations x 3 turns over two replicas, undisturbed, then with one killed
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helmbench_hf.demo_model import demo_model_path
from helmbench_hf.inference.chat import ChatTemplate
from helmbench_hf.inference.drive import drive
from helmbench_hf.inference.engine import EngineSpec, Message, Request, Sampling, open_engine
from helmbench_hf.inference.ray import RayEngine
from helmbench_hf.records import Completion

TURNS = 3
RULES = "You help at the desk of a small library. " + "Be kind, be brief, and never invent a rule. " * 12


def main() -> None:
    """Start, drive twice, count."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--conversations", type=int, default=96)
    options.add_argument("--replicas", type=int, default=2)
    options.add_argument("--kill-after", type=int, default=60, help="Completions after which a replica is killed.")
    asked = options.parse_args()
    model = str(demo_model_path())
    began = time.monotonic()
    engine = open_engine(EngineSpec(kind="vllm", model=model, replicas=asked.replicas, dtype="float32", max_model_len=2048))
    assert isinstance(engine, RayEngine)
    found: dict[str, Any] = {"load_average": os.getloadavg()[0], "ready_s": round(time.monotonic() - began, 1)}
    found["gib_per_actor"] = [round(each.memory_info().rss / 2**30, 2) for each in _actors()]
    found["gib_of_ray"] = round(sum(each.memory_info().rss for each in _others()) / 2**30, 2)
    chat = ChatTemplate.load(model)
    for name, kill_after in (("undisturbed", 0), ("one killed", asked.kill_after)):
        found[name] = _drive(engine, chat, name, asked.conversations, kill_after)
    began = time.monotonic()
    engine.close()
    found["close_s"] = round(time.monotonic() - began, 1)
    print(json.dumps(found, indent=1))


def _drive(engine: RayEngine, chat: ChatTemplate, name: str, conversations: int, kill_after: int) -> dict[str, Any]:
    saved: list[Completion] = []

    def first() -> Iterator[Request]:
        for number in range(conversations):
            yield _turn(
                chat, f"{name} {number}", 1, (Message("system", RULES), Message("user", f"I am visitor {number}. Hello!"))
            )

    def follow_up(request: Request, completion: Completion) -> Request | None:
        turn = int(request.name.rpartition("/")[2]) + 1
        if turn > TURNS or completion.status == "engine_error":
            return None
        more = (Message("assistant", completion.text), Message("user", "And then?"))
        return _turn(chat, request.group, turn, (*request.messages, *more))

    def save(completion: Completion) -> None:
        saved.append(completion)
        if len(saved) == kill_after:
            os.kill(_actors()[0].pid, signal.SIGKILL)

    began = time.monotonic()
    driven = drive(engine, first(), follow_up, save)
    seconds = time.monotonic() - began
    return {
        "seconds": round(seconds, 1),
        "completions": len(saved),
        "distinct": len({each.key for each in saved}),
        "resent": driven.retried,
        "output_tokens": sum(each.output_tokens for each in saved),
    }


def _turn(chat: ChatTemplate, group: str, turn: int, messages: tuple[Message, ...]) -> Request:
    name = f"{group}/{turn}"
    request = Request(name, name, messages, chat.render(messages), Sampling(temperature=1.0, max_tokens=64))
    return replace(request, group=group)


def _actors() -> list[psutil.Process]:
    return [each for each in psutil.Process().children(recursive=True) if each.name().startswith("ray::Replica")]


def _others() -> list[psutil.Process]:
    return [each for each in psutil.Process().children(recursive=True) if not each.name().startswith("ray::Replica")]


if __name__ == "__main__":
    main()
