"""How far the judges of one run agree: every pair of them, and all together.

Krippendorff (2011, Computing Krippendorff's Alpha-Reliability) for alpha; its interval leaves out one meaning at a time, for
verdicts on copies of one message are not independent (jackknife: Efron and Stein 1981, Ann Stat 9:586), and ends where
alpha does.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from helmbench_hf.content.load import Benchmark
from helmbench_hf.records import Answer, Verdict
from helmbench_hf.scoring.intervals import CONFIDENCE, NOTHING, t_quantile
from helmbench_hf.scoring.judge_stats import alpha, alphas, coincidences, kappa
from helmbench_hf.scoring.result import Agreement, Estimate, JudgePair, PanelAlpha
from helmbench_hf.scoring.verdicts import CODE, Ledger

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ALL = "all"
GRADES: tuple[Answer, ...] = ("FAIL", "PARTIAL", "PASS")
LEVELS: tuple[Answer, ...] = ("1", "2", "3", "4", "5")
_SAID: Mapping[float | None, Answer] = {0.0: "FAIL", 0.5: "PARTIAL", 1.0: "PASS"}
Reply = tuple[str, tuple[Answer | None, ...]]
"""The meaning of a case, and what each judge, in their order, said of one reply to it on one criterion."""


def agreement(ledger: Ledger, benchmark: Benchmark) -> Agreement:
    """By criterion, then over all with PASS, PARTIAL and FAIL; appraisals have a scale of their own and stand by themselves."""
    judges = [judge.id for judge in ledger.judges]
    if len(judges) < 2:
        return Agreement((), ())
    scales = {code for code, criterion in benchmark.criteria.items() if criterion.kind == "appraisal"}
    found = _replies(ledger, scales)
    together = [reply for code in sorted(found) if code not in scales for reply in found[code]]
    tables = [*((code, found[code]) for code in sorted(found)), (ALL, together)]
    pairs, panel = [], []
    for code, replies in tables:
        title = "All criteria with PASS, PARTIAL, FAIL" if code == ALL else code
        title = benchmark.criteria[code].title if code in benchmark.criteria else title
        levels = LEVELS if code in scales else GRADES
        pairs += [_pair(code, title, judges, both, replies, levels) for both in itertools.combinations(range(len(judges)), 2)]
        panel.append(_panel(code, title, replies, levels))
    return Agreement(tuple(pairs), tuple(panel))


def _replies(ledger: Ledger, scales: set[str]) -> dict[str, list[Reply]]:
    """By criterion, every reply that a judge has graded on it."""
    found: dict[str, list[Reply]] = defaultdict(list)
    order = {judge.id: index for index, judge in enumerate(ledger.judges)}
    for case in ledger.cases.values():
        for place in ledger.places(case):
            said: dict[str, list[Answer | None]] = {}
            for verdict in ledger.at(place):
                answer = None if verdict.grader == CODE else _answer(verdict, scales)
                if answer is not None:
                    said.setdefault(verdict.criterion, [None] * len(order))[order[verdict.grader]] = answer
            for criterion, answers in said.items():
                found[criterion].append((case.meaning, tuple(answers)))
    return found


def _answer(verdict: Verdict, scales: set[str]) -> Answer | None:
    """None where there is no verdict, or an appraisal whose level is not known."""
    if verdict.criterion not in scales:
        return _SAID.get(verdict.value)
    level = str(verdict.detail.get("level"))
    return next((each for each in LEVELS if each == level), None)


def _pair(
    code: str, title: str, judges: Sequence[str], places: tuple[int, int], replies: Sequence[Reply], levels: Sequence[Answer]
) -> JudgePair:
    """Two judges, by their places among all."""
    first, second = places
    both = [(one, two) for _, said in replies if (one := said[first]) is not None and (two := said[second]) is not None]
    return JudgePair(
        criterion=code,
        title=title,
        first=judges[first],
        second=judges[second],
        n=len(both),
        same=sum(one == two for one, two in both) / len(both) if both else None,
        kappa=kappa(both, levels),
        weighted_kappa=kappa(both, levels, weighted=True),
    )


def _panel(code: str, title: str, replies: Sequence[Reply], levels: Sequence[Answer]) -> PanelAlpha:
    """A reply counts where two judges or more have graded it; the same answers to one meaning are counted, then added."""
    given = {said: [answer for answer in said if answer is not None] for said in {said for _, said in replies}}
    several = [reply for reply in replies if len(given[reply[1]]) > 1]
    matrices = {said: coincidences(answers, levels) for said, answers in given.items()}
    parts: dict[str, npt.NDArray[np.float64]] = {}
    for (meaning, said), count in Counter(several).items():
        own = count * matrices[said]
        parts[meaning] = parts[meaning] + own if meaning in parts else own
    return PanelAlpha(code, title, sum(len(given[said]) for _, said in several), _alpha(list(parts.values()), len(several)))


def _alpha(parts: Sequence[npt.NDArray[np.float64]], n: int) -> Estimate:
    """Alpha of the summed coincidence matrices (k, k) of every meaning, with its jackknife interval."""
    import numpy as np

    count = len(parts)
    if not count:
        return Estimate(None, None, None, 0, 0, note="no reply has two verdicts")
    together = np.stack(parts)
    total = together.sum(axis=0)
    value = alpha(total)
    if value is None:
        return Estimate(None, None, None, n, count, note="no two verdicts differ, which says nothing about agreement")
    without = alphas(total - together)
    if count < 2 or np.isnan(without).any():
        return Estimate(value, None, None, n, count, note="it rests on one message, which has no interval")
    variance = (count - 1) / count * float(((without - without.mean()) ** 2).sum())
    if variance < NOTHING:
        return Estimate(value, value, value, n, count, 0.0, count - 1.0, "the interval has no width and says little")
    error = math.sqrt(variance)
    half = t_quantile((1 + CONFIDENCE) / 2, count - 1) * error
    return Estimate(value, max(-1.0, value - half), min(1.0, value + half), n, count, error, count - 1.0)
