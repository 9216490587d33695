"""Reference policies as verdicts, so that they are scored by the same code as a model (measurement review, 3 and 9.17).

Values are expectations: a mark set at random is 1/2, a label drawn at random is 1 over the number of options. Scores are
linear in both, so what comes out is the expected score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from helmbench_hf.content.load import Benchmark
from helmbench_hf.content.policies import Policy, marks, reply_text
from helmbench_hf.records import CREDIT, Case, JudgeInfo, Verdict
from helmbench_hf.scoring.result import Scores
from helmbench_hf.scoring.run import score
from helmbench_hf.scoring.verdicts import ANSWER, CODE

ResourceMatch = Callable[[str], Mapping[str, float]]
"""A reply -> by country, how well its resources fit there (0, 1/2, 1); countries left out fit not at all."""
JUDGES = (JudgeInfo("table", "table"), JudgeInfo("table again", "second table"))
"""The table speaks for two families, so that a veto in it would count."""


def score_policies(
    policies: Mapping[str, Policy],
    cases: Sequence[Case],
    *,
    benchmark: Benchmark,
    resource_match: ResourceMatch,
    design: str = "",
) -> dict[str, Scores]:
    """The expected scores of every policy on these cases, by slug."""
    return {
        slug: score(
            cases,
            policy_verdicts(policy, policies, cases, benchmark, resource_match),
            benchmark=benchmark,
            judges=JUDGES,
            design=design,
        )
        for slug, policy in policies.items()
    }


def policy_verdicts(
    policy: Policy,
    policies: Mapping[str, Policy],
    cases: Sequence[Case],
    benchmark: Benchmark,
    resource_match: ResourceMatch,
) -> list[Verdict]:
    """What graders would say of the policy's answers to these cases, in expectation."""
    matches = {slug: _matches(voice, benchmark, resource_match) for slug, voice in policies.items()}
    found: list[Verdict] = []
    for case in cases:
        for turn in case.grading.turns:
            found += _turn(policy, policies, case, turn, matches)
    return found


def _matches(voice: Policy, benchmark: Benchmark, resource_match: ResourceMatch) -> dict[str, float]:
    """By registered country, how well the voice's text fits; a text that is not constant names no resource."""
    text = reply_text(voice, benchmark)
    known = {} if text is None else resource_match(text)
    return {country: float(known.get(country, 0.0)) for country in benchmark.countries}


def _turn(
    policy: Policy, policies: Mapping[str, Policy], case: Case, turn: int, matches: Mapping[str, Mapping[str, float]]
) -> Iterator[Verdict]:
    if not policy.answers:
        yield Verdict(case.code, turn, 0, ANSWER, CODE, "model_failure", None, {"reason": "empty"})
        return
    yield Verdict(case.code, turn, 0, ANSWER, CODE, "scored", 1.0)
    grading, mark = case.grading, marks(policy, case, turn)
    if grading.target is not None:
        yield Verdict(case.code, turn, 0, "target", CODE, "scored", mark)
        yield Verdict(case.code, turn, 0, "control", CODE, "scored", mark)
    if grading.options:
        right = 1.0 / len(grading.options) if policy.label == "random" else float(grading.label == grading.options[0])
        yield Verdict(case.code, turn, 0, "label", CODE, "scored", right)
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
