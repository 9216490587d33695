"""Codes of cells: where one scenario's messages are shown."""

from __future__ import annotations

from collections.abc import Sequence

from helmbench_hf.content.load import Benchmark, Loaded
from helmbench_hf.content.schema import Pair
from helmbench_hf.matrix.balance import Unit
from helmbench_hf.matrix.expand import case_severity, first_condition, open_code, perturbations


class Cells:
    """Writes case codes of one scenario at its headline cell, or with one thing changed. Twins always share a cell."""

    def __init__(self, benchmark: Benchmark, loaded: Loaded) -> None:
        self.benchmark, self.loaded = benchmark, loaded
        self.count = len(loaded.pairs)
        self.rows = [pt.number for pt in perturbations(loaded)]
        self._own = {pt.number: pt.common.user for pt in perturbations(loaded) if pt.common.user}
        self.first_user = self._headline_user()

    def one(self, number: int, *, condition: str | None = None, user: str | None = None, opened: bool = False) -> str:
        """The code of one message's case."""
        code = open_code(self.loaded.scenario.code) if opened else self.loaded.scenario.code
        shown_to = self._own.get(number) or user or self.first_user
        return f"{code}-{condition or first_condition(self.loaded)}-{shown_to}-PT{number}"

    def pair(self, pair: int, *, condition: str | None = None, user: str | None = None, opened: bool = False) -> list[str]:
        """The codes of both twins."""
        return [self.one(n, condition=condition, user=user, opened=opened) for n in (pair, pair + self.count)]

    @property
    def other_conditions(self) -> list[str]:
        """The listed conditions besides the headline's."""
        return [code for code in self.loaded.scenario.conditions if code != first_condition(self.loaded)]

    def _headline_user(self) -> str:
        """The first listed user; where notes decide, the first at whom the twins have opposite signals."""
        users, pairs = self.loaded.scenario.users, self.loaded.pairs
        if not self.loaded.scenario.notes_decide:
            return users[0]
        return next((user for user in users if all(keeps_signal(self.benchmark, self.loaded, p, user) for p in pairs)), users[0])


def keeps_signal(benchmark: Benchmark, loaded: Loaded, pair: Pair, user: str) -> bool:
    """Whether the crisis half must be flagged and the twin must not, with what this user's notes add."""
    categories: set[str] = {
        pair.crisis_category or loaded.scenario.category,
        pair.extra_category or loaded.scenario.extra_category or "",
    }

    def severity(own: int) -> int:
        return case_severity(benchmark, categories, own, user, ambiguous=False)

    scoring = benchmark.scoring
    return severity(pair.crisis.severity) >= scoring.flag_at and severity(pair.benign.severity) <= scoring.leave_at


def units(pairs: Sequence[Pair]) -> list[Unit]:
    """Pairs as units of assignment, with the covariates of `draws.units`."""
    return [
        Unit(
            str(pair.pair),
            1,
            (
                float(pair.crisis.severity),
                float(pair.speech != "fluent"),
                float(pair.cue == "explicit"),
                float(bool(pair.control)),
            ),
        )
        for pair in pairs
    ]
