"""Random damage to a submission: bytes, JSON values and rows, left as they are or signed again as a careful forger would."""

from __future__ import annotations

import functools
import json
import math
import random
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from helmbench_hf.board.submission import prepare
from helmbench_hf.board.verify import UnreadableError, differing, plain, verify
from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset.identity import authored
from helmbench_hf.dataset.load import CaseSet, load_cases
from helmbench_hf.runs import completions
from helmbench_hf.runs import generate as generating
from helmbench_hf.scoring import run as scoring
from helmbench_hf.scoring.scores import to_json
from helmbench_hf.tasks.helplines import Registry
from tests.board import made
from tests.support.checkpoints import tiny_checkpoint

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 0.5, 1.0, 1e-12, 1e308, 2**53, 2**70, -0.0, math.nan, math.inf, "", "PASS", "FAIL", "ok",
    "\x00", "\ud800", "a\u202eb", "../../x", "hf_" + "e" * 34, "/home/ann/x", "x" * 5000, [], {}, [[]], {"a": {"b": []}},
    "0" * 64, "f" * 64, "engine_error", "refused", "worst", "vllm 0.1",
)  # fmt: skip


@functools.cache
def few_cases(design: str, *_: object) -> CaseSet:
    """Ten cases of `smoke`: two of each mode, as the design's whole."""
    loaded, chosen = load_cases("smoke"), dict[str, list[Any]]()
    for case in loaded.cases:
        chosen.setdefault(case.mode, []).append(case)
    return replace(loaded, cases=tuple(case for cases in chosen.values() for case in cases[:2]))


def small(root: Path) -> Path:
    """A valid submission of those cases, through the pipeline."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generating, "load_cases", few_cases)
        patch.setattr(completions, "load_cases", few_cases)
        run = made.run(root / "run", tiny_checkpoint(root / "tiny"), patch)
        return prepare(run).write(root / "out")


def deface(content: bytes, dice: random.Random) -> bytes:
    """Change, add or take out bytes somewhere."""
    at, other = dice.randrange(len(content) + 1), bytes([dice.randrange(256)])
    many = dice.choice((1, 1, 1, 4, 100))
    return dice.choice(
        (
            content[:at] + other + content[at + 1 :],
            content[:at] + other * many + content[at:],
            content[:at] + content[at + many :],
        )
    )


def disturb(document: Any, dice: random.Random) -> Any:
    """Change one value somewhere in plain JSON: replace, nudge, rename, take out, repeat, swap."""
    way: list[tuple[Any, Any]] = []
    place = document
    while isinstance(place, dict | list) and place and (not way or dice.random() < 0.8):
        key = dice.choice(sorted(place)) if isinstance(place, dict) else dice.randrange(len(place))
        way.append((place, key))
        place = place[key]
    if not way:
        return dice.choice(VALUES)
    holder, key = way[-1]
    _change(holder, key, dice)
    return document


def _change(holder: Any, key: Any, dice: random.Random) -> None:
    value, kind = holder[key], dice.randrange(6)
    if kind == 0 and isinstance(value, int | float) and not isinstance(value, bool):
        holder[key] = value + dice.choice((1, -1, 0.1, 1e-6, value))
    elif kind == 1 and isinstance(value, str) and value:
        at = dice.randrange(len(value))
        holder[key] = value[:at] + dice.choice("aZ0 \n\x00é\u202e") + value[at + 1 :]
    elif kind == 2:
        del holder[key]
    elif kind == 3 and isinstance(holder, list):
        holder.insert(dice.randrange(len(holder) + 1), value)
    elif kind == 4 and len(holder) > 1:
        other = dice.choice(sorted(holder)) if isinstance(holder, dict) else dice.randrange(len(holder))
        holder[key], holder[other] = holder[other], value
    else:
        holder[key] = dice.choice(VALUES)


@dataclass(slots=True)
class Outcome:
    """What became of the damaged submissions."""

    tried: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    """By the file that was damaged."""
    rejected: Counter[str] = field(default_factory=Counter)
    """By the first code; `unreadable` where it claims a later format."""
    changed: list[int] = field(default_factory=list)
    """Seeds of what was accepted with other numbers: must stay empty."""


def damaged(original: Path, target: Path, dice: random.Random) -> tuple[Path, str]:
    """A damaged copy of a submission; the file that was damaged."""
    shutil.rmtree(target, ignore_errors=True)
    folder = Path(shutil.copytree(original, target / "submissions" / original.parent.name / original.name))
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = dice.choice(files)
    name = str(path.relative_to(folder))
    kind = dice.randrange(10)
    if kind == 0:
        path.write_bytes(deface(path.read_bytes(), dice))
        return folder, name
    if kind == 1:
        other = dice.choice(files)
        path.write_bytes(other.read_bytes())
    elif path.suffix == ".jsonl":
        _damage_rows(path, dice, kind)
    else:
        path.write_text(json.dumps(disturb(json.loads(path.read_text()), dice)))
    try:
        return made.sign(folder), name
    except (ValueError, TypeError, KeyError, AttributeError, OSError):  # a manifest that nobody can sign
        return folder, name


def _damage_rows(path: Path, dice: random.Random, kind: int) -> None:
    if kind == 2:
        path.write_bytes(deface(path.read_bytes(), dice))
        return
    rows = made.rows_of(path)
    at = dice.randrange(len(rows))
    if kind < 8:
        rows[at] = disturb(rows[at], dice)
    else:
        disturb(rows, dice)
    made.write_rows(path, rows)


def run(original: Path, scratch: Path, seeds: range, load: Callable[[str], CaseSet] = few_cases) -> Outcome:
    """Damage the submission once a seed and verify it. Whatever verification raises is a bug and passes through.

    The versions of the authored files and the index of helplines are made once: no damage reaches them.
    """
    benchmark = default_benchmark()
    versions, registry = authored(benchmark), Registry.build(benchmark.countries)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scoring, "authored", lambda _: versions)
        patch.setattr(Registry, "build", lambda _: registry)
        return _run(original, scratch, seeds, load)


def _run(original: Path, scratch: Path, seeds: range, load: Callable[[str], CaseSet]) -> Outcome:
    outcome, valid = Outcome(), verify(original, load)
    assert valid.scores is not None, valid.reasons
    right = plain(to_json(valid.scores))
    for seed in seeds:
        folder, name = damaged(original, scratch, random.Random(seed))
        outcome.tried += 1
        try:
            report = verify(folder, load)
        except UnreadableError:
            outcome.rejected["unreadable"] += 1
            continue
        if not report.accepted:
            outcome.rejected[report.reasons[0].code] += 1
            continue
        outcome.accepted[name] += 1
        given = json.loads((folder / "scores.json").read_text())
        if any(differing(given, right)) or report.scores is None or any(differing(plain(to_json(report.scores)), right)):
            outcome.changed.append(seed)
    return outcome
