"""Other harnesses over our cases: the same replies must get the same verdicts in them as here.

    python benchmarks/interop.py setup         make an environment for each (minutes; again: seconds)
    python benchmarks/interop.py check         grade replies to a design in each, and compare with our own graders

No model runs: the replies are made here, good, bad and broken ones. Prints JSON; 1 where anything differs. The test
`tests/interop/test_harnesses.py` does the same for `smoke`, where the environments are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helmbench_hf.interop.replies import grade_reply, pooled, single_turn_cases
from helmbench_hf.models.identity import cache_folder
from helmbench_hf.records import Case

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent
HARNESSES = ("lm-eval", "inspect")
HOME = "HELMBENCH_INTEROP"
"""Variable of the environment: where the environments are, if not in HELMbench's cache."""


def main() -> int:
    """Set up, or check."""
    options = _options()
    home = environments()
    if options.command == "setup":
        for name in HARNESSES:
            set_up(home / name, HERE / "peers" / f"{name}.txt")
        return 0
    replies = made_replies(options.design)
    found = {}
    for name in HARNESSES:
        with tempfile.TemporaryDirectory(prefix="interop-") as scratch:
            found[name] = compared(run(home, name, options.design, replies, Path(scratch)), options.design, replies)
    print(json.dumps(found, indent=1))
    return 1 if any(each["different"] for each in found.values()) else 0


def environments() -> Path:
    """Where they are, made or not."""
    return Path(os.environ.get(HOME) or cache_folder() / "interop")


def set_up(folder: Path, requirements: Path) -> None:
    """Make one harness's environment: its pinned release, and what HELMbench itself needs, without an engine."""
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    wanted = requirements.read_text() + "".join(f"{name}\n" for name in ours)
    ready = folder / "ready"
    if ready.is_file() and ready.read_text() == wanted:
        return
    uv = [sys.executable, "-m", "uv"]
    # as in the Makefile: wheels on disk where there are any, else PyTorch's own CPU index
    wheels = os.environ.get("PIP_FIND_LINKS")
    torch = {"UV_FIND_LINKS": wheels} if wheels else {"UV_TORCH_BACKEND": "cpu"}
    subprocess.run([*uv, "venv", "-q", "--clear", "--python", sys.executable, str(folder)], check=True)
    (folder / "requirements.txt").write_text(wanted)
    install = ["pip", "install", "-q", "--python", str(folder / "bin" / "python"), "-r", str(folder / "requirements.txt")]
    subprocess.run([*uv, *install], check=True, env={**os.environ, **torch})
    ready.write_text(wanted)


def made_replies(design: str) -> dict[str, str]:
    """By case, a reply that is good, bad, broken or empty, decided by the prompt alone: the same prompt gets the same reply."""
    return {code: _reply(case) for code, case in single_turn_cases(design).items()}


def _reply(case: Case) -> str:
    kind = sum(map(ord, case.turns[0])) % 6
    if kind == 0:
        return "<think>Hm.</think>" + _good(case, marked=True)
    if kind == 1:
        return _good(case, marked=False)
    if kind == 2:
        return f"Sure, here it is:\n```json\n{_good(case, marked=True)}\n```"
    if kind == 3:
        return _good(case, marked=True)[:-5]
    return "" if kind == 4 else _good(case, marked=True)


def _good(case: Case, *, marked: bool) -> str:
    """An answer of the case's form that sets every tag, or none; with the lines of two countries."""
    said = "I am worried about you. Call 988 or 116 123, any time."
    if case.response_schema is None:
        return said
    required = json.loads(case.response_schema).get("required", [])
    filled: dict[str, Any] = dict.fromkeys(required, "yes" if marked else "no")
    if case.grading.tags:
        filled |= {"reply": said, "tags": list(case.grading.tags) if marked else []}
    if case.grading.options:
        filled["answer"] = case.grading.options[0]
    return json.dumps(filled)


def run(home: Path, name: str, design: str, replies: Mapping[str, str], scratch: Path) -> dict[str, Any]:
    """What a harness makes of the replies: `figures` and `messages` by case, and its own means, `pooled`."""
    given, taken = scratch / "replies.json", scratch / "found.json"
    given.write_text(json.dumps({"design": design, "replies": replies}))
    script = HERE / "interop" / f"replies_through_{name.replace('-', '_')}.py"
    # the accounts and caches of the person are no business of a harness that runs no model
    around = {"PATH": os.environ["PATH"], "HOME": str(scratch), "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    command = [str(home / name / "bin" / "python"), str(script), str(given), str(taken)]
    done = subprocess.run(command, env=around, cwd=scratch, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    found: dict[str, Any] = json.loads(taken.read_text())
    return found


def compared(found: Mapping[str, Any], design: str, replies: Mapping[str, str]) -> dict[str, Any]:
    """Compare a harness's figures, means and prompts with ours; give the cases that differ and the means."""
    cases = single_turn_cases(design)
    ours = {code: grade_reply(cases[code], text) for code, text in replies.items()}
    different = [code for code in ours if found["figures"].get(code) != ours[code]]
    different += [code for code, case in cases.items() if found["messages"].get(code) != messages_of(case)]
    means = pooled(ours.values())
    if {name: round(float(value), 9) for name, value in means.items()} != {
        name: round(float(value), 9) for name, value in found["pooled"].items()
    }:
        different.append("means")
    return {"cases": len(ours), "different": sorted(set(different)), "means": means}


def messages_of(case: Case) -> list[list[str]]:
    """The prompt as HELMbench puts it: role and text of each message."""
    return [*([["system", case.system]] if case.system else []), ["user", case.turns[0]]]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("setup", "check"))
    parser.add_argument("--design", default="core", help="whose single-turn cases are graded")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
