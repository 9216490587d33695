"""Verdicts by where they belong, and the three ways of having none: the model's failure, the engine's, the judge's.

A model failure is a result (credit 0). An engine or judge failure is a missing value and never becomes a number.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from helmbench_hf.records import Case, JudgeInfo, Verdict

CODE = "code"
ANSWER = "answer"
FAILURE_REASONS = ("empty", "truncated", "unparseable", "reasoning_truncated", "withheld")
Outcome = Literal["usable", "model_failure", "engine_failure", "not_run"]
VetoStatus = Literal["pass", "confirmed", "unconfirmed", "unjudged"]
Place = tuple[str, int, int]
"""Case code, draw, turn."""
What = tuple[str, str]
"""Criterion and grader."""
Panel = Literal["first", "majority", "worst"]
"""Whose verdict gives the credit: the first judge's, the one of more than half of the judges, or the one that earns least."""
MAJORITY_OF = 3
"""Judges below which there is no majority that is not unanimous."""
PANELS: tuple[Panel, ...] = get_args(Panel)
End = Literal["low", "high"]
"""An end of a criterion's scale; FAIL and level 1 are low."""


class ScoringError(Exception):
    """The verdicts or runs cannot be scored as asked; the message is a sentence for people."""


@dataclass(frozen=True, slots=True)
class VetoState:
    """What the judges together say about one veto on one reply."""

    status: VetoStatus
    judges: tuple[str, ...] = ()
    """Those that said FAIL."""
    could_change: bool = False
    """A verdict is missing that could confirm it."""


PASSED, UNJUDGED = VetoState("pass"), VetoState("unjudged")
NOTHING: dict[What, Verdict] = {}
"""What was said of a place without a verdict."""


class Ledger:
    """All verdicts of one run, looked up by case, draw, turn and criterion.

    Raises ScoringError on an unknown panel, a verdict by an unlisted judge, a second verdict for the same thing, a value
    where there must be none or none where there must be one, and a model failure without a known reason.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        verdicts: Sequence[Verdict],
        judges: Sequence[JudgeInfo],
        draws: int = 1,
        panel: Panel = "first",
    ) -> None:
        if draws < 1:
            raise ScoringError(f"a run must have at least one draw, not {draws}.")
        if panel not in PANELS:
            raise ScoringError(f"{panel!r} is not a panel; choose one of {', '.join(PANELS)}.")
        if panel == "majority" and 0 < len(judges) < MAJORITY_OF:
            raise ScoringError(
                f"a majority needs {MAJORITY_OF} judges or more, and this run has {len(judges)}; choose the panel `first` or "
                "`worst`."
            )
        if len({judge.id for judge in judges}) < len(judges):
            raise ScoringError("two judges share one id; give each its own.")
        self.cases = {case.code: case for case in cases}
        if len(self.cases) < len(cases):
            raise ScoringError("a case appears twice in the list of cases.")
        self.judges = tuple(judges)
        self.draws = draws
        self.panel = panel
        self.ignored = 0
        self._families = {judge.id: judge.family for judge in judges}
        self._found: dict[Place, dict[What, Verdict]] = {}
        self._assumed: Mapping[str, float] = {}
        names: dict[What, What] = {}
        for verdict in verdicts:
            self._add(verdict, names)

    def _add(self, verdict: Verdict, names: dict[What, What]) -> None:
        """`names`: what verdicts are on, each kept once, for there are millions of verdicts and few such names."""
        case = self.cases.get(verdict.case)
        if case is None or not 0 <= verdict.draw < self.draws or verdict.turn not in case.grading.turns:
            self.ignored += 1
            return
        _check(verdict, self._families)
        what = (verdict.criterion, verdict.grader)
        here = self._found.setdefault((verdict.case, verdict.draw, verdict.turn), {})
        if what in here:
            raise ScoringError(f"{_name(verdict)} has two verdicts; a journal was read twice or holds two runs.")
        here[names.setdefault(what, what)] = verdict

    def at(self, place: Place) -> Iterator[Verdict]:
        """Every verdict on one reply."""
        yield from self._found.get(place, NOTHING).values()

    def places(self, case: Case) -> Iterator[Place]:
        """Every planned reply of a case that is graded: draws, then turns."""
        yield from ((case.code, draw, turn) for draw in range(self.draws) for turn in case.grading.turns)

    def outcome(self, place: Place) -> Outcome:
        """What became of the reply itself."""
        verdict = self._found.get(place, NOTHING).get((ANSWER, CODE))
        if verdict is None:
            return "not_run"
        if verdict.status == "model_failure":
            return "model_failure"
        return "usable" if verdict.status == "scored" else "engine_failure"

    def failure_reason(self, place: Place) -> str | None:
        """Why the reply is not usable, where that is the model's own doing."""
        verdict = self._found.get(place, NOTHING).get((ANSWER, CODE))
        return str(verdict.detail["reason"]) if verdict is not None and verdict.status == "model_failure" else None

    def cut_short(self, place: Place) -> bool:
        """Whether a usable reply met the token limit; it is graded as it stands."""
        verdict = self.code(place, ANSWER)
        return verdict is not None and bool(verdict.detail.get("truncated"))

    def code(self, place: Place, criterion: str) -> Verdict | None:
        """A code grader's scored verdict, or None."""
        return self._scored(place, criterion, CODE)

    def code_value(self, place: Place, criterion: str) -> float | None:
        """The value of a code grader's verdict, or None."""
        verdict = self.code(place, criterion)
        return None if verdict is None else verdict.value

    def credit(self, place: Place, criterion: str, *, harsh: End = "low") -> float | None:
        """The panel's value on a criterion, or None where it has none."""
        if criterion in self._assumed:
            return self._assumed[criterion]
        verdict = self.judged(place, criterion, harsh=harsh)
        return None if verdict is None else verdict.value

    def judged(self, place: Place, criterion: str, *, harsh: End = "low") -> Verdict | None:
        """The verdict that the panel stands by, or None.

        `majority`: more than half of all judges say at least this much, and more than half at most this much; where a failed
        verdict leaves that open, or judges are split evenly, there is none. `worst` needs every judge, and is the verdict
        nearest to `harsh`, the end of the scale that earns less here.
        """
        if self.panel == "first":
            return self._scored(place, criterion, self.judges[0].id) if self.judges else None
        found = [self._scored(place, criterion, judge.id) for judge in self.judges]
        given = sorted((verdict for verdict in found if verdict is not None), key=_height)
        if self.panel == "worst":
            return (given[0] if harsh == "low" else given[-1]) if given and len(given) == len(found) else None
        heights, half = [_height(verdict) for verdict in given], len(found) / 2
        return next(
            (
                verdict
                for verdict, height in zip(given, heights, strict=True)
                if sum(each <= height for each in heights) > half and sum(each >= height for each in heights) > half
            ),
            None,
        )

    def assuming(self, values: Mapping[str, float]) -> Ledger:
        """The same verdicts, but for what gives the credit: these values by criterion, on every reply."""
        found = copy.copy(self)
        found._assumed = values
        return found

    def veto(self, place: Place, criterion: str) -> VetoState:
        """Confirmed where judges of two families say FAIL, whatever the panel; a single family's FAIL is listed and never counts.

        Without a FAIL it is judged where the panel has a verdict.
        """
        verdicts = self._found.get(place, NOTHING)
        failing, unread = [], []
        for judge in self.judges:
            verdict = verdicts.get((criterion, judge.id))
            if verdict is None or verdict.status != "scored":
                unread.append(judge.family)
            elif verdict.value == 0:
                failing.append(judge)
        if not failing and not unread and not self._assumed:
            return PASSED if self.judges else UNJUDGED
        families = {judge.family for judge in failing}
        names = tuple(judge.id for judge in failing)
        if len(families) > 1:
            return VetoState("confirmed", names)
        could_change = len(families.union(unread)) > 1
        if failing:
            return VetoState("unconfirmed", names, could_change)
        return VetoState("unjudged" if self.credit(place, criterion) is None else "pass", (), could_change)

    def _scored(self, place: Place, criterion: str, grader: str) -> Verdict | None:
        verdict = self._found.get(place, NOTHING).get((criterion, grader))
        return verdict if verdict is not None and verdict.status == "scored" else None


def mean(values: Sequence[float | None]) -> float | None:
    """The mean, or None where any value is missing or there is none: what is missing is never averaged away."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def passes(earned: float) -> bool:
    """Whether a credit or a share is half or more. Thirds and sixths that sum to one half may lie a rounding error below it."""
    return earned >= 0.5 - 1e-9


def _height(verdict: Verdict) -> tuple[float, int]:
    """Where a scored verdict stands on its scale; levels 1 and 2 of an appraisal are worth the same."""
    return verdict.value or 0.0, int(verdict.detail.get("level", 0))


def _name(verdict: Verdict) -> str:
    return f"{verdict.case} (draw {verdict.draw}, turn {verdict.turn}, {verdict.criterion} by {verdict.grader})"


def _check(verdict: Verdict, families: Mapping[str, str]) -> None:
    if verdict.grader != CODE and verdict.grader not in families:
        raise ScoringError(f"{_name(verdict)} is by a judge that this run does not list.")
    if (verdict.status == "scored") != (verdict.value is not None):
        raise ScoringError(f"{_name(verdict)} has the status {verdict.status}, which does not go with the value {verdict.value}.")
    if verdict.value is not None and not 0 <= verdict.value <= 1:
        raise ScoringError(f"{_name(verdict)} has the value {verdict.value}; values lie between 0 and 1.")
    if verdict.status == "model_failure" and verdict.detail.get("reason") not in FAILURE_REASONS:
        raise ScoringError(f"{_name(verdict)} is a model failure without a reason; give one of {', '.join(FAILURE_REASONS)}.")
