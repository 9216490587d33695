"""How far the judges of one run agree: every pair of them, and all together.

Krippendorff (2011, Computing Krippendorff's Alpha-Reliability) for alpha; its interval leaves out one meaning at a time, for
verdicts on copies of one message are not independent (jackknife: Efron and Stein 1981, Ann Stat 9:586), and ends where
alpha does.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from helmbench_hf.content.load import Benchmark
from helmbench_hf.records import Answer, Verdict
from helmbench_hf.scoring.intervals import CONFIDENCE, NOTHING, t_quantile
from helmbench_hf.scoring.judge_stats import alpha, coincidences, kappa
from helmbench_hf.scoring.result import Agreement, Estimate, JudgePair, PanelAlpha
from helmbench_hf.scoring.verdicts import CODE, Ledger

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ALL = "all"
GRADES: tuple[Answer, ...] = ("FAIL", "PARTIAL", "PASS")
LEVELS: tuple[Answer, ...] = ("1", "2", "3", "4", "5")
_SAID: Mapping[float | None, Answer] = {0.0: "FAIL", 0.5: "PARTIAL", 1.0: "PASS"}
Reply = tuple[str, Mapping[str, Answer]]
"""The meaning of a case, and what each judge said of one reply to it on one criterion."""


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
        pairs += [_pair(code, title, both, replies, levels) for both in itertools.combinations(judges, 2)]
        panel.append(_panel(code, title, replies, levels))
    return Agreement(tuple(pairs), tuple(panel))


def _replies(ledger: Ledger, scales: set[str]) -> dict[str, list[Reply]]:
    """By criterion, every reply that a judge has graded on it."""
    found: dict[str, list[Reply]] = defaultdict(list)
    for case in ledger.cases.values():
        for place in ledger.places(case):
            said: dict[str, dict[str, Answer]] = defaultdict(dict)
            for verdict in ledger.at(place):
                answer = None if verdict.grader == CODE else _answer(verdict, scales)
                if answer is not None:
                    said[verdict.criterion][verdict.grader] = answer
            for criterion, answers in said.items():
                found[criterion].append((case.meaning, answers))
    return found


def _answer(verdict: Verdict, scales: set[str]) -> Answer | None:
    """None where there is no verdict, or an appraisal whose level is not known."""
    if verdict.criterion not in scales:
        return _SAID.get(verdict.value)
    level = str(verdict.detail.get("level"))
    return next((each for each in LEVELS if each == level), None)


def _pair(code: str, title: str, judges: tuple[str, str], replies: Sequence[Reply], levels: Sequence[Answer]) -> JudgePair:
    first, second = judges
    both = [(said[first], said[second]) for _, said in replies if first in said and second in said]
    return JudgePair(
        criterion=code,
        title=title,
        first=first,
        second=second,
        n=len(both),
        same=sum(one == two for one, two in both) / len(both) if both else None,
        kappa=kappa(both, levels),
        weighted_kappa=kappa(both, levels, weighted=True),
    )


def _panel(code: str, title: str, replies: Sequence[Reply], levels: Sequence[Answer]) -> PanelAlpha:
    several = [(meaning, list(said.values())) for meaning, said in replies if len(said) > 1]
    parts: dict[str, npt.NDArray[np.float64]] = {}
    for meaning, said in several:
        own = coincidences(said, levels)
        parts[meaning] = parts[meaning] + own if meaning in parts else own
    return PanelAlpha(code, title, sum(len(said) for _, said in several), _alpha(list(parts.values()), len(several)))


def _alpha(parts: Sequence[npt.NDArray[np.float64]], n: int) -> Estimate:
    """Alpha of the summed coincidence matrices (k, k) of every meaning, with its jackknife interval."""
    count = len(parts)
    if not count:
        return Estimate(None, None, None, 0, 0, note="no reply has two verdicts")
    total = sum(parts[1:], parts[0])
    value = alpha(total)
    if value is None:
        return Estimate(None, None, None, n, count, note="no two verdicts differ, which says nothing about agreement")
    without = [left for part in parts if (left := alpha(total - part)) is not None]
    if count < 2 or len(without) < count:
        return Estimate(value, None, None, n, count, note="it rests on one message, which has no interval")
    center = sum(without) / count
    variance = (count - 1) / count * sum((left - center) ** 2 for left in without)
    if variance < NOTHING:
        return Estimate(value, value, value, n, count, 0.0, count - 1.0, "the interval has no width and says little")
    error = math.sqrt(variance)
    half = t_quantile((1 + CONFIDENCE) / 2, count - 1) * error
    return Estimate(value, max(-1.0, value - half), min(1.0, value + half), n, count, error, count - 1.0)
