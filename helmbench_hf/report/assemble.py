"""A run's tables -> what the page shows: transcripts with their verdicts, the reference policies, the provenance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.policies import Policy as AuthoredPolicy
from helmbench_hf.generate.turns import turn_name
from helmbench_hf.grading.answers import read_answer
from helmbench_hf.records import Case, Completion, Verdict
from helmbench_hf.report.model import Policy, Reply, ShownVerdict, Transcript
from helmbench_hf.scoring.policies import Expected
from helmbench_hf.scoring.result import Rate

MOST = 10_000
"""Transcripts on a page (about 30 MB of HTML), so that a browser opens it."""
CODE_TITLES = {
    "answer": "Usable answer",
    "target": "Observation that matters marked",
    "control": "Neutral control marked",
    "label": "Right label",
    "resources": "Live help for this country",
    "task": "Keyed task fields right",
}


def shown(cases: Sequence[Case], pairs: Sequence[Mapping[str, Any]], most: int = MOST) -> list[Case]:
    """At most `most` of the cases, in their order: from every scenario alike, what earned least first, then what has no score.

    `pairs` are those of `scores.json`, where a and b are what the crisis and the benign half earned.
    """
    if len(cases) <= most:
        return list(cases)
    earned = {pair["crisis"]: pair["a"] for pair in pairs} | {pair["benign"]: pair["b"] for pair in pairs if pair["benign"]}
    of_scenario: dict[str, list[int]] = defaultdict(list)
    for index, case in enumerate(cases):
        of_scenario[case.scenario].append(index)
    ranks = dict[int, int]()
    for inside in of_scenario.values():
        inside.sort(key=lambda index: _least_first(earned.get(cases[index].code)))
        ranks |= {index: rank for rank, index in enumerate(inside)}
    return [cases[index] for index in sorted(sorted(ranks, key=lambda index: (ranks[index], index))[:most])]


def _least_first(credit: float | None) -> tuple[bool, float]:
    return credit is None, credit or 0.0


def transcripts(
    cases: Sequence[Case],
    completions: Mapping[str, Completion],
    verdicts: Sequence[Verdict],
    benchmark: Benchmark,
    draw: int = 0,
) -> list[Transcript]:
    """One transcript per case, of one draw, in the order of the cases. `completions` by request name."""
    by_case: dict[str, list[Verdict]] = {case.code: [] for case in cases}
    for verdict in verdicts:
        if verdict.draw == draw and verdict.case in by_case:
            by_case[verdict.case].append(verdict)
    behaviors = {behavior.code: behavior.title for pillar in benchmark.file.pillars for behavior in pillar.behaviors}
    titles = {loaded.scenario.slug: loaded.scenario.title for loaded in benchmark.scenarios}
    return [_transcript(case, draw, completions, by_case[case.code], behaviors, titles, benchmark) for case in cases]


def _transcript(
    case: Case,
    draw: int,
    completions: Mapping[str, Completion],
    verdicts: Sequence[Verdict],
    behaviors: Mapping[str, str],
    titles: Mapping[str, str],
    benchmark: Benchmark,
) -> Transcript:
    answers = [completions.get(turn_name(case.code, number, draw)) for number in range(1, len(case.turns) + 1)]
    read = read_answer(case, answers[-1]) if case.grading.tags else None
    return Transcript(
        case=case.code,
        draw=draw,
        behavior=case.behavior,
        behavior_title=behaviors.get(case.behavior, case.behavior),
        scenario=case.scenario,
        title=titles.get(case.scenario_slug, case.scenario_slug),
        mode=case.mode,
        condition=case.condition,
        condition_title=f"{case.persona}, safety text: {case.safety_level}",
        user=case.user,
        member=case.member,
        gold=case.gold,
        severity=case.severity,
        register=case.register,
        system=case.system,
        turns=case.turns,
        replies=[_reply(case, completion, _ended(answers[:number])) for number, completion in enumerate(answers)],
        tags=read.tags if read is not None and read.usable else None,
        target=case.grading.target,
        control=case.grading.control,
        verdicts=[_shown(case, verdict, benchmark) for verdict in verdicts],
    )


def _ended(earlier: Sequence[Completion | None]) -> bool:
    return any(completion is not None and completion.status == "withheld" for completion in earlier)


def _reply(case: Case, completion: Completion | None, ended: bool) -> Reply:
    if completion is None and ended:
        return Reply(text="", visible=None, status="withheld", error="It was an earlier answer, and it ended the conversation.")
    if completion is None:
        return Reply(text="", visible=None, status="missing", error="not answered yet")
    answer = read_answer(case, completion)
    visible = answer.reply if case.grading.tags and answer.usable else None
    return Reply(text=completion.text, visible=visible, status=completion.status, error=completion.error)


def _shown(case: Case, verdict: Verdict, benchmark: Benchmark) -> ShownVerdict:
    criterion = benchmark.criteria.get(verdict.criterion)
    return ShownVerdict(
        turn=verdict.turn,
        criterion=verdict.criterion,
        title=criterion.title if criterion else CODE_TITLES.get(verdict.criterion, verdict.criterion),
        grader=verdict.grader,
        status=verdict.status,
        value=verdict.value,
        detail=verdict.detail,
        kind=_kind(case, verdict),
    )


def _kind(case: Case, verdict: Verdict) -> str:
    grading = case.grading
    if verdict.grader == "code":
        return "code"
    if verdict.criterion in grading.vetoes:
        return "veto"
    if verdict.criterion in grading.criteria:
        return "credit"
    return "contrast" if verdict.criterion == grading.contrast else "reported"


def policy_rows(policies: Mapping[str, AuthoredPolicy], scores: Mapping[str, Expected]) -> list[Policy]:
    """The reference policies as the scatter plot wants them; `scores` by slug."""
    return [
        Policy(
            slug=slug,
            title=policy.title,
            message_blind=policy.message_blind,
            sensitivity=_share(scores[slug].sensitivity),
            false_alarms=_share(scores[slug].false_alarms),
            overall=scores[slug].overall,
            by_code=scores[slug].by_code,
        )
        for slug, policy in policies.items()
    ]


def _share(rate: Rate) -> float | None:
    return rate.hits / rate.n if rate.n else None
