"""Answers a second and a device, of any model on any machine, through the very line of `helmbench generate`.

    python benchmarks/throughput.py --model preset:SLUG --design core                            a GPU machine
    python benchmarks/throughput.py --model preset:SLUG@SIZE -e tensor_parallel_size=2 --only P1-B1
    python benchmarks/throughput.py --model demo --design smoke --limit 6                         a CPU, as a proof

Loads the model in the child process, asks in our order, journals every answer, grades nothing. Loading is not in the seconds.
*Served* prompt tokens are all that the answers rest on, *computed* ones those that no prefix cache gave. `ideal` is what an
unlimited cache would give on first turns; later turns have no such figure before their answers exist. Give --run to keep the
folder, which is an ordinary run: `helmbench grade` goes on from there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helmbench_hf.cli.asking import AskOptions, ask_of
from helmbench_hf.models import host
from helmbench_hf.runs.folder import RunFolder
from helmbench_hf.runs.generate import JOB, prepare
from helmbench_hf.runs.journal import Journal
from helmbench_hf.runs.plan import ideal_cached

if TYPE_CHECKING:
    from helmbench_hf.runs.generate import Ask

ROOT = Path(__file__).resolve().parents[1]
Row = dict[str, Any]


def main() -> int:
    """Let the model answer, print what it took."""
    options = _options()
    # the child imports this tree too, whatever is installed and wherever one stands
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    with tempfile.TemporaryDirectory(prefix="helm-throughput-") as temporary:
        run = options.run or Path(temporary) / "run"
        if (run / "completions").exists():
            raise SystemExit(f"{run} holds answers already, and what is stored is not asked again; give another folder.")
        names = ("model", "model_revision", "engine", "free_form", "design", "only", "limit", "shard")
        asked = AskOptions(settings=options.set, **{name: getattr(options, name) for name in names})
        ask = ask_of(run, asked)
        events: dict[str, Row] = {}
        run.mkdir(parents=True, exist_ok=True)
        code = host.run(JOB, ask.as_payload(), lambda event: _hear(event, events), log=run / "engine.log")
        print(file=sys.stderr)
        if code or "end" not in events:
            said = events.get("error", {}).get("message", "it ended without an answer")
            log = (run / "engine.log").read_text(errors="replace")[-2000:]
            print(f"{log}\nThe run ended with code {code}: {said}", file=sys.stderr)
            return code or 1
        print(json.dumps(_figures(ask, events), indent=1))
    return 0


def _hear(event: Row, events: dict[str, Row]) -> None:
    events[event["event"]] = event
    if event["event"] == "progress":
        print(f"\r{event['done']} of {event['planned']}", end="", file=sys.stderr, flush=True)


def _figures(ask: Ask, events: dict[str, Row]) -> Row:
    ready, end = events["ready"], events["end"]
    devices = ask.engine.tensor_parallel_size
    seconds, served, cached = end["seconds"], end["prompt_tokens"], end["cached_tokens"]
    return {
        "model": ready["engine"]["model"],
        "design": ask.design,
        "only": ask.only,
        "limit": ask.limit,
        "shard": ask.shard,
        "settings": asdict(ask.settings),
        "engine": ready["engine"],
        "devices": devices,
        "load_s": round(ready["load_seconds"], 1),
        "seconds": round(seconds, 2),
        "samples": end["completions"],
        "statuses": end["statuses"],
        "samples_per_second_per_device": round(end["completions"] / seconds / devices, 3),
        "output_tokens": end["output_tokens"],
        "output_tokens_per_second": round(end["output_tokens"] / seconds, 1),
        "prompt_tokens_served": served,
        "prompt_tokens_computed": served - cached,
        "served_over_computed": round(served / (served - cached), 2),
        "first_turns": _first_turns(ask, ready["engine"]),
        "load_average": round(os.getloadavg()[0], 2),
    }


def _first_turns(ask: Ask, engine: Row) -> Row:
    """What the cache gave on first turns, and what an unlimited one would have given."""
    answers = Journal.read(RunFolder(Path(ask.run)).completions)
    talks = prepare(ask).conversations(ask.settings, {})
    first = [talks.request(each) for each in talks.first_turns() if each.key in answers]
    asked = {request.key: request.tokens for request in first}  # twins are asked once
    ran = [(key, tokens) for key, tokens in asked.items() if answers[key].status != "refused"]
    ideal = ideal_cached([tokens for _, tokens in ran], engine["block_size"])
    cached = sum(answers[key].cached_tokens for key, _ in ran)
    tokens = sum(len(tokens) for _, tokens in ran)
    ratio = round(cached / ideal, 4) if ideal else None
    return {"prompt_tokens": tokens, "cached": cached, "ideal_cached": ideal, "cached_over_ideal": ratio}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="as for `helmbench generate`: preset:SLUG[@SIZE], a Hub id, demo")
    parser.add_argument("--model-revision")
    parser.add_argument("--design", default="core", choices=("smoke", "core", "full"))
    parser.add_argument("--only", help="codes of cases, commas between")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--shard", help="i/n")
    parser.add_argument("--free-form", action="store_true")
    parser.add_argument("-e", "--engine", action="append", help="NAME=VALUE, e.g. max_model_len=8192")
    parser.add_argument("-s", "--set", action="append", help="NAME=VALUE, e.g. temperature=0.7")
    parser.add_argument("--run", type=Path, help="keep the run folder here")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
