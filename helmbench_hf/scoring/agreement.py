"""How far the judges of one run agree: each pair of them, and all together.

Cohen (1960, Educ Psychol Meas 20:37) for pairs. Krippendorff (2011, Computing
Krippendorff's Alpha-Reliability) for all; its interval leaves out one message at a time, because verdicts on copies of one
message are not independent (jackknife: Efron and Stein 1981, Ann Stat 9:586), and ends where alpha does.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from helmbench_hf.content.load import Benchmark
from helmbench_hf.records import Answer, Verdict
from helmbench_hf.scoring.intervals import CONFIDENCE, NOTHING, t_quantile
from helmbench_hf.scoring.scores import Agreement, Estimate, JudgePair, PanelAlpha
from helmbench_hf.tasks.ledger import CODE, Ledger

Array = npt.NDArray[np.float64]

ALL = "all"
GRADES: tuple[Answer, ...] = ("FAIL", "PARTIAL", "PASS")
LEVELS: tuple[Answer, ...] = ("1", "2", "3", "4", "5")
_SAID: Mapping[float | None, Answer] = {0.0: "FAIL", 0.5: "PARTIAL", 1.0: "PASS"}
Reply = tuple[str, tuple[Answer | None, ...]]
"""The cluster of a case, and what each judge, in their order, said of one reply to it on one criterion."""


def agreement(ledger: Ledger, benchmark: Benchmark) -> Agreement:
    """By criterion, then over all with PASS, PARTIAL and FAIL; appraisals have a scale of their own and stand by themselves."""
    judges = [judge.id for judge in ledger.judges]
    if len(judges) < 2:
        return Agreement((), ())
    scales = {code for code, criterion in benchmark.criteria.items() if criterion.kind == "appraisal"}
    found = _replies(ledger, scales)
    together = [reply for code in sorted(found) if code not in scales for reply in found[code]]
    pairs, panel = [], []
    for code, replies in (*((code, found[code]) for code in sorted(found)), (ALL, together)):
        title = "All criteria with PASS, PARTIAL, FAIL" if code == ALL else code
        title = benchmark.criteria[code].title if code in benchmark.criteria else title
        levels = LEVELS if code in scales else GRADES
        for first, second in itertools.combinations(range(len(judges)), 2):
            both = [(one, two) for _, said in replies if (one := said[first]) is not None and (two := said[second]) is not None]
            same = sum(one == two for one, two in both) / len(both) if both else None
            pairs.append(JudgePair(code, title, judges[first], judges[second], len(both), same, kappa(both, levels)))
        panel.append(_panel(code, title, replies, levels))
    return Agreement(tuple(pairs), tuple(panel))


def _replies(ledger: Ledger, scales: set[str]) -> dict[str, list[Reply]]:
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
    if verdict.criterion not in scales:
        return _SAID.get(verdict.value)
    level = str(verdict.detail.get("level"))
    return next((each for each in LEVELS if each == level), None)


def kappa(pairs: Sequence[tuple[Answer, Answer]], levels: Sequence[Answer]) -> float | None:
    """Cohen's kappa of pairs (n) of verdicts, each one of the `levels`.

    None where there is no pair, or where both raters give one and the same verdict throughout, which says nothing.
    """
    from statsmodels.stats.inter_rater import cohens_kappa

    if len({said for pair in pairs for said in pair}) < 2:
        return None
    table = np.zeros((len(levels), len(levels)))
    for (one, two), count in Counter(pairs).items():
        table[levels.index(one), levels.index(two)] = count
    return float(cohens_kappa(table, return_results=False))


def _panel(code: str, title: str, replies: Sequence[Reply], levels: Sequence[Answer]) -> PanelAlpha:
    """A reply counts where two judges or more have graded it; the same answers in one cluster are counted, then added."""
    given = {said: [answer for answer in said if answer is not None] for said in {said for _, said in replies}}
    several = [reply for reply in replies if len(given[reply[1]]) > 1]
    matrices = {said: coincidences(answers, levels) for said, answers in given.items()}
    by_cluster: dict[str, Array] = {}
    for (cluster, said), count in Counter(several).items():
        by_cluster[cluster] = by_cluster.get(cluster, 0.0) + count * matrices[said]
    return PanelAlpha(code, title, sum(len(given[said]) for _, said in several), _alpha(list(by_cluster.values()), len(several)))


def _alpha(matrices: Sequence[Array], n: int) -> Estimate:
    """Alpha of the summed coincidence matrices (k, k) of the clusters, with its jackknife interval."""
    count = len(matrices)
    if not count:
        return Estimate(None, None, None, 0, 0, note="no reply has two verdicts")
    together = np.stack(matrices)
    total = together.sum(axis=0)
    value = float(alphas(total[None])[0])
    if math.isnan(value):
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


def coincidences(said: Sequence[Answer], levels: Sequence[Answer]) -> Array:
    """One reply's part (k, k) of Krippendorff's coincidence matrix; zeros where it has fewer than two verdicts.

    Its m verdicts in ordered pairs, each worth 1 / (m - 1); `levels` (k) in their order. Parts of several replies add up.
    """
    counts = np.array([said.count(level) for level in levels], dtype=np.float64)
    return np.asarray((np.outer(counts, counts) - np.diag(counts)) / max(1, len(said) - 1))


def alphas(tables: Array) -> Array:
    """Krippendorff's alpha for ordered levels, of many coincidence matrices (n, k, k) at once; nan where no two verdicts differ.

    Two levels are as far apart as there are verdicts between them, with half of those at either end. `krippendorff.alpha` gives
    the same for one set of verdicts; the jackknife needs hundreds.
    """
    counts = tables.sum(axis=1)
    middles = np.cumsum(counts, axis=1) - counts / 2
    cost = (middles[:, :, None] - middles[:, None, :]) ** 2
    # counts are whole numbers of verdicts but for the rounding that a subtraction leaves
    differ = (counts > 0.5).sum(axis=1) > 1
    expected = (counts[:, :, None] * counts[:, None, :] * cost).sum(axis=(1, 2))
    seen = (tables * cost).sum(axis=(1, 2))
    return np.asarray(1 - seen * (counts.sum(axis=1) - 1) / np.where(differ, expected, np.nan))
