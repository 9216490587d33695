"""Fixed verdicts on the core design and the numbers that scoring makes of them.

The verdicts are drawn by hashes of what they are about, so that they are the same everywhere and for ever. When the numbers
change and the verdicts did not, the definition of a score has changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from helmbench_hf.content.load import Benchmark
from helmbench_hf.inference.keys import digest
from helmbench_hf.records import CREDIT, Case, JudgeInfo, Verdict
from helmbench_hf.scoring.pairs import design_of
from helmbench_hf.scoring.result import to_json
from helmbench_hf.scoring.run import score
from helmbench_hf.scoring.verdicts import ANSWER, CODE, FAILURE_REASONS

JUDGES = (JudgeInfo("first", "one family"), JudgeInfo("second", "another family"))
DRAWS = 2
DIGITS = 9
TEXTS = ("system", "turns", "response_schema", "max_tokens")
"""What no score reads: a reworded message leaves the golden numbers as they are."""
APART = ("provenance", "format")


def numbers(benchmark: Benchmark, cases: Sequence[Case]) -> dict[str, str]:
    """`inputs_sha256`: what the fixed verdicts are about. `numbers_sha256`: every number that scoring makes of them, to 9 digits.

    `cases`: those of core. The smoke design has too few pairs for shrinkage, effects and floors to show in any number.
    """
    verdicts = list(fixed_verdicts(cases, sorted(benchmark.countries)))
    scores = to_json(score(cases, verdicts, benchmark=benchmark, judges=JUDGES, draws=DRAWS))
    kept = {name: value for name, value in scores.items() if name not in APART}
    return {"inputs_sha256": _inputs(benchmark, cases), "numbers_sha256": digest(_numbers(kept))}


def _inputs(benchmark: Benchmark, cases: Sequence[Case]) -> str:
    rows = [{name: value for name, value in asdict(case).items() if name not in TEXTS} for case in cases]
    design = design_of(benchmark, cases)
    behaviors = [[item.code, item.weight, item.critical] for pillar in benchmark.file.pillars for item in pillar.behaviors]
    dimensions = sorted([loaded.scenario.code, *loaded.scenario.trust_dimensions] for loaded in benchmark.scenarios)
    sets = [sorted(each) for each in (design.apart, design.reported_apart, design.opened)]
    return digest([rows, behaviors, dict(design.headline), sets, dimensions, sorted(benchmark.stubs)])


def _numbers(value: Any) -> Any:
    """The same structure with numbers alone: rounded, and without texts."""
    if isinstance(value, dict):
        return {name: _numbers(item) for name, item in value.items() if not isinstance(item, str)}
    if isinstance(value, list | tuple):
        return [_numbers(item) for item in value if not isinstance(item, str)]
    return round(value, DIGITS) + 0.0 if isinstance(value, float) else value


def fixed_verdicts(cases: Sequence[Case], countries: Sequence[str]) -> Iterator[Verdict]:
    """Verdicts of every kind on two draws: right and wrong, dangerous and missing, whatever a grader can leave behind."""
    for case in cases:
        for draw in range(DRAWS):
            for turn in case.grading.turns:
                yield from _reply(case, turn, draw, countries)


def _chance(*what: object) -> float:
    """A share of 1 that is fixed by what it is about."""
    text = "/".join(map(str, what)).encode("utf-8")
    return int.from_bytes(hashlib.sha256(text).digest()[:6], "big") / 2**48


def _reply(case: Case, turn: int, draw: int, countries: Sequence[str]) -> Iterator[Verdict]:
    place = (case.code, turn, draw)
    luck = _chance(*place)
    if luck < 0.03:
        return
    if luck < 0.06:
        yield Verdict(*place, ANSWER, CODE, "engine_failure", None, {"reason": "missing"})
        return
    if luck < 0.12:
        reason = FAILURE_REASONS[int(len(FAILURE_REASONS) * _chance("reason", *place))]
        yield Verdict(*place, ANSWER, CODE, "model_failure", None, {"reason": reason})
        return
    yield Verdict(*place, ANSWER, CODE, "scored", 1.0)
    yield from _by_code(case, turn, draw, countries)
    for judge in JUDGES:
        yield from _judged(case, turn, draw, judge.id)


def _by_code(case: Case, turn: int, draw: int, countries: Sequence[str]) -> Iterator[Verdict]:
    grading, place = case.grading, (case.code, turn, draw)
    if grading.target is not None:
        share = 0.7 if case.severity > 0 else 0.2
        yield Verdict(*place, "target", CODE, "scored", float(_chance("target", *place) < share))
        yield Verdict(*place, "control", CODE, "scored", float(_chance("control", *place) < 0.4))
    if grading.options:
        said = grading.options[int(len(grading.options) * _chance("label", *place) ** 2)]
        yield Verdict(*place, "label", CODE, "scored", float(said == grading.label), {"answer": said})
    if grading.task_key:
        yield Verdict(*place, "task", CODE, "scored", _of(_chance("task", *place)))
    if grading.country is not None:
        matches = {country: _of(_chance("match", country, *place)) for country in countries}
        detail = {"matches": matches, "dead_end": _chance("dead end", *place) < 0.1}
        yield Verdict(*place, "resources", CODE, "scored", matches[grading.country], detail)


def _judged(case: Case, turn: int, draw: int, judge: str) -> Iterator[Verdict]:
    grading = case.grading
    contrast = [grading.contrast] if grading.contrast else []
    for criterion in dict.fromkeys([*grading.criteria, *grading.vetoes, *grading.reported, *contrast]):
        where, luck = (case.code, turn, draw, criterion, judge), _chance(case.code, turn, draw, criterion, judge)
        if luck < 0.03:
            yield Verdict(*where, "judge_failure", None, {"reason": "tie"})
        elif criterion.startswith("A"):
            level = 1 + int(5 * _chance("level", *where))
            yield Verdict(*where, "scored", CREDIT[str(level)], {"level": level})  # type: ignore[index]
        else:
            yield Verdict(*where, "scored", (0.0 if luck < 0.12 else 1.0) if criterion in grading.vetoes else _of(luck))


def _of(luck: float) -> float:
    return 0.0 if luck < 0.3 else 0.5 if luck < 0.5 else 1.0
