"""What a judge's verdicts are worth once its known errors are taken out, and the error that this leaves. Pure functions.

    measured = measure(counts, levels)           one criterion: `counts[source][right level][said level]`, from a check
    spread   = spread_of([counts, ...])          how far the judge's errors differ between sources of replies
    value, slopes = unbiased(earned, said, fits)      one reply: `earned` has one axis per criterion, said one level each
    errors   = calibration_error(gradients, fits, spread)    of any sum of such values: its gradients, summed likewise

The estimate. Let M hold the shares of what a judge says (columns) at each right level (rows), and W its inverse. If, given
the right levels, errors on the criteria of one reply are independent, then the sum over all combinations of levels of
(product of W[said, level]) x credit(levels) has the true credit as its mean, whatever the credit is: a mean, a product or a
minimum. For two levels it is (q - f) / (r - f). Where a level cannot be told apart the affine form of the same is used, which
is exact for means and takes a PARTIAL reply as half a PASS, half a FAIL.

Its error. The estimate is linear in W and dW = -W dM W, so its slope on every share of M is exact. A row of M from n labels
has the covariance V ((1 - rho) / n + rho sum of squared source shares), with V = diag(p) - p p', and a new source of replies,
such as the model under test, deviates by rho V more (Dirichlet-multinomial).

Sources: Rogan and Gladen (1978, Am J Epidemiol 107:71); Lee et al. (arXiv 2511.21140) for judges, with the error of both
samples; Barron (1977, Biometrics 33:414) for inverting the matrix; Ridout, Demetrio and Firth (1999, Biometrics 55:137) for
the moment estimator of rho; Agresti and Coull (1998, Am Stat 52:119) for adding to counts before taking a variance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from helmbench_hf.records import CREDIT, Answer
from helmbench_hf.scoring.judge_stats import SEPARATION

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[np.float64]

Counts = Mapping[str, Mapping[Answer, Mapping[Answer, int]]]
"""Source of the reply -> right level -> said level -> labels."""
Method = Literal["matrix", "affine"]
MINIMUM_LABELS = 10
"""Labels of a level below which its row of M is not estimated."""
CONDITION = 6.0
"""Largest condition number of M that is inverted: beyond it the delta method, which is linear, no longer holds."""
SMOOTHING = 0.5
"""Added to every cell of a row for its variance alone, so that a judge without a seen error still has one."""


@dataclass(frozen=True)
class Fit:
    """One criterion's error shares, ready to correct with. Said levels S in `said`, told-apart right levels L in `levels`."""

    said: tuple[Answer, ...]
    levels: tuple[Answer, ...]
    weights: Array
    """(S, L): what each said level counts as."""
    inverse: Array
    """(L, L)."""
    code: Array
    """(S, L): `weights` is `code` times `inverse`; the identity, or the values of the levels for the affine form."""
    smooth: Array
    """(L, S): shares at each right level, smoothed, for variances alone."""
    labels: tuple[int, ...]
    """(L): labels behind each row."""
    concentration: tuple[float, ...]
    """(L): sum of squared shares of the sources among them."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the labels say of one criterion. `loss` is 1 - value: r where a reply should FAIL, f where it should PASS."""

    n: Mapping[Answer, int]
    """Labels with a verdict by right level."""
    sources: int
    fail_loss: float | None
    pass_loss: float | None
    method: Method | None
    fit: Fit | None
    """None: unscored."""
    reason: str
    """Why it is unscored, or why the affine form is used."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Intraclass correlation of what is said of replies of one source, given the right level."""

    rho: float | None
    """None: no level has labels of two sources."""
    df: int


@dataclass(frozen=True, slots=True)
class Errors:
    """Variances of a corrected value, each with its degrees of freedom."""

    labels: tuple[tuple[float, float], ...]
    """Of the calibration's own sample, by criterion and row of its matrix."""
    sources: tuple[tuple[float, float], ...]
    """Of the difference between sources of replies; one entry, or none where that is unknown."""


def measure(counts: Counts, levels: Sequence[Answer]) -> Measured:
    """Judge one criterion by its labels. `levels`: all that it can be, best first (PASS, PARTIAL, FAIL or PASS, FAIL)."""
    n = {level: sum(sum(rows.get(level, {}).values()) for rows in counts.values()) for level in levels}
    sources = sum(any(sum(row.values()) for row in rows.values()) for rows in counts.values())
    losses = {level: _loss(counts, level) for level in levels}
    r, f = losses["FAIL"], losses["PASS"]
    few = [f"{n[level]} labels should {level}" for level in ("PASS", "FAIL") if n[level] < MINIMUM_LABELS]
    fit, method, reason = None, None, ""
    if not any(n.values()):
        reason = "no cited check has labels of it"
    elif few or r is None or f is None:
        reason = f"{' and '.join(few)}; {MINIMUM_LABELS} are needed"
    # 0.8 - 0.2 is a little above 0.6, 0.7 - 0.1 a little below
    elif r - f < SEPARATION - 1e-9:
        reason = f"r - f = {r - f:.2f}; at least {SEPARATION:.2f} is needed to correct it"
    else:
        fit, method, reason = _best_fit(counts, levels, n)
    return Measured(n, sources, r, f, method, fit, reason)


def _best_fit(counts: Counts, levels: Sequence[Answer], n: Mapping[Answer, int]) -> tuple[Fit | None, Method, str]:
    """The whole matrix, or the affine form and why."""
    if n.get("PARTIAL", MINIMUM_LABELS) < MINIMUM_LABELS:
        reason = f"{n['PARTIAL']} labels should be PARTIAL, {MINIMUM_LABELS} are needed to tell it apart"
    elif (fit := _fit(counts, levels, levels)) is not None:
        return fit, "matrix", ""
    else:
        reason = "what should be PARTIAL is too much like the other levels to this judge"
    return _fit(counts, levels, ("PASS", "FAIL")), "affine", reason


def _loss(counts: Counts, right: Answer) -> float | None:
    said = _row(counts, right)
    total = sum(said.values())
    return sum(n * (1 - CREDIT[level]) for level, n in said.items()) / total if total else None


def _row(counts: Counts, right: Answer) -> dict[Answer, int]:
    found: dict[Answer, int] = defaultdict(int)
    for rows in counts.values():
        for said, n in rows.get(right, {}).items():
            found[said] += n
    return found


def _fit(counts: Counts, said: Sequence[Answer], levels: Sequence[Answer]) -> Fit | None:
    """None where the matrix is too close to one that has no inverse."""
    import numpy as np

    table = np.array([[_row(counts, right).get(level, 0) for level in said] for right in levels], float)
    n = table.sum(axis=1, keepdims=True)
    value = np.array([CREDIT[level] for level in said])
    code = np.eye(len(said)) if len(said) == len(levels) else np.stack([value, 1 - value], axis=1)
    matrix = table / n @ code
    if len(levels) > 2 and np.linalg.cond(matrix) > CONDITION:
        return None
    inverse = np.linalg.inv(matrix)
    by_source = [[sum(rows.get(right, {}).values()) for rows in counts.values()] for right in levels]
    return Fit(
        said=tuple(said),
        levels=tuple(levels),
        weights=code @ inverse,
        inverse=inverse,
        code=code,
        smooth=(table + SMOOTHING) / (n + SMOOTHING * len(said)),
        labels=tuple(int(each) for each in n[:, 0]),
        concentration=tuple(sum((each / sum(row)) ** 2 for each in row) for row in by_source),
    )


def spread_of(tables: Iterable[Counts]) -> Spread:
    """The moment estimate of rho, pooled over every right level of every criterion and floored at 0.

    One criterion has too few sources to say it alone. A stratum with m sources adds (m - 1) times its mean squares between
    and within sources, so that those count most that say most.
    """
    top = bottom = 0.0
    df = 0
    for counts in tables:
        for right in {right for rows in counts.values() for right in rows}:
            rows = [row for rows in counts.values() if sum((row := rows.get(right, {})).values())]
            sizes = [sum(row.values()) for row in rows]
            total, groups = sum(sizes), len(sizes)
            if groups < 2 or total == groups:
                continue
            between, within = _squares(rows, sizes)
            size = (total - sum(n * n for n in sizes) / total) / (groups - 1)
            top += (groups - 1) * (between - within)
            bottom += (groups - 1) * (between + (size - 1) * within)
            df += groups - 1
    if not df:
        return Spread(None, 0)
    return Spread(max(0.0, top / bottom) if bottom > 0 else 0.0, df)


def _squares(rows: Sequence[Mapping[Answer, int]], sizes: Sequence[int]) -> tuple[float, float]:
    """Mean squares between and within sources, summed over what can be said."""
    total = sum(sizes)
    between = within = 0.0
    for said in {said for row in rows for said in row}:
        share = sum(row.get(said, 0) for row in rows) / total
        for row, n in zip(rows, sizes, strict=True):
            own = row.get(said, 0) / n
            between += n * (own - share) ** 2
            within += n * own * (1 - own)
    return between / (len(sizes) - 1), within / (total - len(sizes))


def unbiased(earned: Array, said: Sequence[Answer], fits: Sequence[Fit]) -> tuple[float, list[Array]]:
    """The corrected credit of one reply with k judged criteria, and its slopes.

    `earned`: shape (L1, .., Lk), the credit of every combination of right levels in the order of each fit's `levels`; `said`
    (k). Slopes: for criterion c an array (Lc), on that row of its `weights` which belongs to what was said.
    """
    rows = [fit.weights[fit.said.index(level)] for fit, level in zip(fits, said, strict=True)]
    slopes = []
    for own in range(len(rows)):
        left = earned
        for axis in reversed(range(len(rows))):
            if axis != own:  # `own` or a later axis is the last one, an earlier axis the last but one
                left = left @ rows[axis] if axis > own else rows[axis] @ left
        slopes.append(left)
    return float(slopes[0] @ rows[0]) if rows else float(earned), slopes


def calibration_error(gradients: Mapping[str, Array], fits: Mapping[str, Fit], spread: Spread) -> Errors:
    """Variance of a weighted sum of corrected credits from the labels, by the delta method.

    `gradients`: by criterion an array (S, L), the same weighted sum of the replies' slopes on `weights`. Degrees of freedom:
    labels less one for a row's own sampling, and those of rho for the spread between sources.
    """
    rho = spread.rho or 0.0
    labels: list[tuple[float, float]] = []
    between = 0.0
    for code, gradient in sorted(gradients.items()):
        fit = fits[code]
        slopes = -(fit.inverse.T @ (fit.code.T @ gradient) @ fit.inverse.T) @ fit.code.T
        for row, share, n, concentration in zip(slopes, fit.smooth, fit.labels, fit.concentration, strict=True):
            unit = max(0.0, float(share @ row**2 - (share @ row) ** 2))
            labels.append((unit * (1 - rho) / n, n - 1.0))
            between += unit * rho * (1 + concentration)
    return Errors(tuple(labels), ((between, float(spread.df)),) if spread.df else ())
