"""`python -m tests.whole_way`: a run's whole way from authored files to a board, on a Hub of its own on this machine.

Build, push, tag, load by tag with and without a network, run `smoke`, submit as another user, verify, merge, show on a test
board; then forged copies of the submission, each rejected with its own reason. Every step is the command that a person types,
in a process of its own. Nothing outside this machine is asked, and no token of yours is read. Exit code 0: everything held.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_DISABLE_XET"] = "1"  # read when huggingface_hub is imported; the loopback Hub has plain uploads alone

from helmbench_hf.models.demo_model import DemoModelError, demo_model_path
from tests.support.hub import Hub
from tests.whole_way.forgeries import forge
from tests.whole_way.way import StepError, Way

DEMO = "vllm:demo"


def main() -> int:
    """The steps in their order; 1 with the output of the first that fails."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="helmbench-way-") as scratch, Hub() as hub:
        try:
            root = Path(options.out or scratch)
            way = Way(hub, root.resolve(), *_models(options), settings=tuple(options.set))
            way.publish()
            way.load()
            way.run()
            way.submit()
            way.show()
            forge(way)
            way.look_back()
        except (StepError, DemoModelError) as error:
            print(error, file=sys.stderr)
            return 1
    print(f"\nthe whole way in {way.seconds:.0f} s; every step held")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.whole_way", description=__doc__)
    parser.add_argument("--model", default=DEMO, help="ENGINE:FOLDER (default: %(default)s, as in `make demo`)")
    parser.add_argument("--judge", default=DEMO, help="ENGINE:FOLDER, or `none`: code alone (default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a sampling setting of the run")
    parser.add_argument("--out", type=Path, help="keep everything in this new folder (default: a temporary one)")
    options = parser.parse_args()
    if options.out is not None and options.out.exists():
        parser.error(f"{options.out} is there already; name a new folder")
    return options


def _models(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The options of `helmbench run` for model and judge."""
    model, demo = _found(options.model)
    dtype = ["-e", "dtype=float32"] if demo else []
    if options.judge == "none":
        return ["--model", model, *dtype], []
    judge, demo = _found(options.judge)
    return ["--model", model, *dtype], ["--judge", f"{judge},id=demo,family=smollm2,dtype=float32" if demo else judge]


def _found(named: str) -> tuple[str, bool]:
    """`ENGINE:FOLDER` from any working folder, since each user has one; whether it is the demo model, whose folder is made."""
    kind, colon, name = named.partition(":")
    name, comma, rest = name.partition(",")
    folder = demo_model_path() if name == "demo" else Path(name)
    found = str(folder.resolve()) if folder.is_dir() else name
    return f"{kind}{colon}{found}{comma}{rest}", name == "demo"


if __name__ == "__main__":
    sys.exit(main())
