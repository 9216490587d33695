"""A run of `core` whose answers and verdicts are made by rules and a hash, so that the sample report adds up.

The invented model notices a grave message more often than a mild one, and now and then an everyday one. Two judges of two
families say of its replies what the rules made them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from helmbench_hf.cli.scores import expected
from helmbench_hf.content.load import default_benchmark
from helmbench_hf.dataset.load import CaseSet, load_cases
from helmbench_hf.judging.grade import by_code
from helmbench_hf.judging.judge import criteria_of
from helmbench_hf.records import CREDIT, Act, Case, Completion, JudgeInfo, Verdict
from helmbench_hf.report.page import ReportInput
from helmbench_hf.report.policies import policy_rows
from helmbench_hf.report.transcripts import shown, transcripts
from helmbench_hf.runs.router import ACT
from helmbench_hf.runs.turns import turn_name
from helmbench_hf.scoring.run import score
from helmbench_hf.tasks.helplines import Registry
from tests.frozen.runs import Chance, answer

MODEL = {"id": "example/sample-model", "commit": "0" * 40, "dtype": "bfloat16", "quantization": "", "template_sha": "0" * 64}
"""No real model's name stands over invented numbers."""
JUDGES = (JudgeInfo("judge-a", "family-a"), JudgeInfo("judge-b", "family-b"))
SHOWN = 1
"""Pairs of a scenario among the transcripts, for one scenario of each behavior."""


def run() -> ReportInput:
    """Everything on the page of the sample report."""
    benchmark, loaded = default_benchmark(), load_cases("core")
    answers = _answers(loaded.cases, sorted(benchmark.countries))
    sha = loaded.identity.content_sha256
    judged = [verdict for case in loaded.cases for verdict in _judged(case, answers)]
    verdicts = [*by_code(loaded.cases, answers, Registry.build(benchmark.countries)), *judged]
    scores = score(loaded.cases, verdicts, benchmark=benchmark, judges=JUDGES, design="core", content_sha256=sha)
    chosen = _chosen(shown(loaded.cases, scores.pairs))
    return ReportInput(
        scores=scores,
        manifest=_manifest(loaded),
        transcripts=transcripts(chosen, answers, verdicts, benchmark),
        cases=len(loaded.cases),
        policies=policy_rows(*expected(loaded.cases)),
    )


def _chance(case: Case, turn: int) -> Chance:
    return Chance(("sample", case.code, turn))


def _noticed(case: Case, turn: int) -> bool:
    crisis = case.member == "crisis" or (case.member == "single" and case.severity > 0)
    return _chance(case, turn).happens(0.3 + 0.06 * case.severity if crisis else 0.07, "noticed")


def _answers(cases: Sequence[Case], countries: Sequence[str]) -> dict[str, Completion]:
    """Every turn's answer and, of reactive conversations, what the router says; one answer in a hundred is cut off."""
    found = dict[str, Completion]()
    for case in cases:
        for turn in range(1, case.most_turns + 1):
            name, noticed, chance = turn_name(case.code, turn, 0), _noticed(case, turn), _chance(case, turn)
            text = answer(case, chance, countries, noticed)
            cut = chance.happens(0.01, "cut")
            found[name] = Completion(name, name, "truncated" if cut else "ok", text[: len(text) // 2] if cut else text)
            if case.route.beats:
                act: Act = "names_help" if noticed else "job"
                found[name + ACT] = Completion(name + ACT, name + ACT, "ok", act)
    return found


def _judged(case: Case, answers: dict[str, Completion]) -> Iterator[Verdict]:
    """What the judges say of every reply that is not cut off."""
    for turn in case.grading.turns:
        name, chance = turn_name(case.code, turn, 0), _chance(case, turn)
        for code in criteria_of(case, turn) if answers[name].status == "ok" else ():
            value = _value(case, code, _noticed(case, turn), chance.of(code))
            for judge in JUDGES:
                yield Verdict(case.code, turn, 0, code, judge.id, "scored", value, {}, name)


def _value(case: Case, code: str, noticed: bool, chance: Chance) -> float:
    grading = case.grading
    high = CREDIT[grading.contrast_high]
    if code == grading.contrast:
        return high if noticed else 1.0 - high
    if code in grading.vetoes:
        return float(not chance.happens(0.01, "danger"))
    if case.member == "crisis" and not noticed:
        return chance.one_of((0.0, 0.0, 0.5, 1.0))
    return chance.one_of((1.0, 1.0, 1.0, 0.5))


def _chosen(cases: Sequence[Case]) -> list[Case]:
    """Both halves of the first pair of one scenario of each behavior, in the order of the page."""
    scenario = dict[str, str]()
    kept = dict[str, list[str]]()
    for case in cases:
        if scenario.setdefault(case.behavior, case.scenario) == case.scenario and case.member == "crisis":
            pairs = kept.setdefault(case.scenario, [])
            if case.twin and len(pairs) < 2 * SHOWN:
                pairs += [case.code, case.twin]
    wanted = {code for pairs in kept.values() for code in pairs}
    return [case for case in cases if case.code in wanted]


def _manifest(loaded: CaseSet) -> dict[str, Any]:
    identity = loaded.identity
    dataset = {"name": "helmbench/v1", "design": "core", "version": identity.version, "revision": "embedded"}
    return {
        "dataset": {**dataset, "content_sha256": identity.content_sha256},
        "model": MODEL,
        "engine": {"name": "vllm"},
        "settings": {"temperature": 0.0, "seed": 1, "draws": 1},
        "judges": [{"id": judge.id, "family": judge.family, "mode": "fast", "commit": "0" * 40} for judge in JUDGES],
    }
