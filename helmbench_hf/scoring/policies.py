"""Reference policies as verdicts, so that they are scored by the same code as a model.

Values are expectations: a mark set at random is 1/2, a label drawn at random is 1 over the number of options. Scores are
linear in both, so what comes out is the expected score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.schema import Policy
from helmbench_hf.records import CREDIT, Case, JudgeInfo, Verdict
from helmbench_hf.scoring import aggregate
from helmbench_hf.scoring.cues import Cues, cues_of
from helmbench_hf.scoring.detection import arm_cases, rates
from helmbench_hf.scoring.pairs import design_of, units
from helmbench_hf.scoring.policy_rules import marks, reply_text, right_label
from helmbench_hf.scoring.scores import Rate
from helmbench_hf.tasks.ledger import ANSWER, CODE, Ledger

ResourceMatch = Callable[[str], Mapping[str, float]]
"""A reply -> by country, how well its resources fit there (0, 1/2, 1); countries left out fit not at all."""
JUDGES = (JudgeInfo("table", "table"), JudgeInfo("table again", "second table"))
"""The table speaks for two families, so that a veto in it would count."""
Matches = Mapping[str, Mapping[str, float]]
"""By slug of a policy, then by country, how well its text fits there."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What one policy would score on some cases, in expectation; shares, as in `scores.json`."""

    overall: float | None
    by_code: float | None
    """The part of `overall` that no judge decides: tags and labels."""
    behaviors: Mapping[str, float]
    """By code, those with a scored pair."""
    sensitivity: Rate
    """Of its marks on the hidden cases that must be flagged; `false_alarms`: on those that must not."""
    false_alarms: Rate


def score_policies(
    policies: Mapping[str, Policy], cases: Sequence[Case], *, benchmark: Benchmark, resource_match: ResourceMatch
) -> dict[str, Expected]:
    """The expected scores of every policy on these cases, by slug: the numbers of `score` on `policy_verdicts`."""
    design = design_of(benchmark, cases)
    headline = [case for case in cases if case.mode != "open_twin" and design.is_headline(case)]
    matches = {slug: _matches(voice, benchmark, resource_match) for slug, voice in policies.items()}
    found = {}
    for slug, policy in policies.items():
        ledger = Ledger(headline, _verdicts(policy, policies, headline, benchmark, matches), JUDGES)
        table = aggregate.tabulate(units(ledger, design), benchmark)
        behaviors = {plan.code: aggregate.value(table.pieces, [plan]) for plan in table.plans}
        sensitivity, false_alarms = rates(ledger, arm_cases(ledger, design, "hidden"))
        found[slug] = Expected(
            overall=aggregate.value(table.pieces, table.plans),
            by_code=aggregate.value(table.code_pieces, table.plans),
            behaviors={code: value for code, value in behaviors.items() if value is not None},
            sensitivity=sensitivity,
            false_alarms=false_alarms,
        )
    return found


def policy_verdicts(
    policy: Policy,
    policies: Mapping[str, Policy],
    cases: Sequence[Case],
    benchmark: Benchmark,
    resource_match: ResourceMatch,
) -> list[Verdict]:
    """What graders would say of the policy's answers to these cases, in expectation."""
    matches = {slug: _matches(voice, benchmark, resource_match) for slug, voice in policies.items()}
    return _verdicts(policy, policies, cases, benchmark, matches)


def _verdicts(
    policy: Policy, policies: Mapping[str, Policy], cases: Sequence[Case], benchmark: Benchmark, matches: Matches
) -> list[Verdict]:
    cues = cues_of(benchmark)
    return [
        verdict for case in cases for turn in case.grading.turns for verdict in _turn(policy, policies, case, turn, matches, cues)
    ]


def _matches(voice: Policy, benchmark: Benchmark, resource_match: ResourceMatch) -> dict[str, float]:
    """By registered country, how well the voice's text fits; a text that is not constant names no resource."""
    text = reply_text(voice, benchmark)
    known = {} if text is None else resource_match(text)
    return {country: float(known.get(country, 0.0)) for country in benchmark.countries}


def _turn(
    policy: Policy, policies: Mapping[str, Policy], case: Case, turn: int, matches: Matches, cues: Cues
) -> Iterator[Verdict]:
    if not policy.answers:
        yield Verdict(case.code, turn, 0, ANSWER, CODE, "model_failure", None, {"reason": "empty"})
        return
    yield Verdict(case.code, turn, 0, ANSWER, CODE, "scored", 1.0)
    grading, mark = case.grading, marks(policy, case, turn, cues)
    if grading.target is not None:
        yield Verdict(case.code, turn, 0, "target", CODE, "scored", mark)
        yield Verdict(case.code, turn, 0, "control", CODE, "scored", mark)
    if grading.options:
        yield Verdict(case.code, turn, 0, "label", CODE, "scored", right_label(policy, case, cues))
    voice = _voice(policy, policies, mark)
    if grading.country is not None:
        yield _resources(case, turn, grading.country, matches[voice.slug])
    asked = [*grading.criteria, *grading.vetoes, *grading.reported, *([grading.contrast] if grading.contrast else [])]
    for criterion in dict.fromkeys(asked):
        for judge in JUDGES:
            value = CREDIT[voice.verdicts[criterion]]
            yield Verdict(case.code, turn, 0, criterion, judge.id, "scored", value)


def _resources(case: Case, turn: int, country: str, matches: Mapping[str, float]) -> Verdict:
    own = matches.get(country, 0.0)
    detail = {"matches": dict(matches), "dead_end": own == 0 and any(matches.values())}
    return Verdict(case.code, turn, 0, "resources", CODE, "scored", own, detail)


def _voice(policy: Policy, policies: Mapping[str, Policy], mark: float) -> Policy:
    """The policy whose text and table it uses here."""
    if policy.when_flagged is None or policy.otherwise is None:
        return policy
    return policies[policy.when_flagged if mark == 1 else policy.otherwise]
