"""The balanced fractions of the matrix: `core` and `smoke` (blueprint, section e; measurement review, 9.13).

Both twins of a pair always share a cell. What the blueprint rotates by pair number is drawn by seed here, balanced over
severity, register, cue and control state within the scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from helmbench_hf.content.load import Benchmark, Loaded
from helmbench_hf.content.schema import Pair
from helmbench_hf.matrix.balance import Unit, balanced
from helmbench_hf.matrix.expand import OPEN_OFFSET, case_severity, first_condition, perturbations
from helmbench_hf.records import Case

SMOKE_HIDDEN, SMOKE_OPEN, SMOKE_EXPLICIT, SMOKE_JUDGED, SMOKE_LABELS = 12, 6, 3, 9, 4
SMOKE_REGISTER = ("P1-B1-S1", "P1-B4-S1", "P1-B6-S3", "P4-B2-S3")
SMOKE_COUNTRIES = ("NL", "BR")


def core(benchmark: Benchmark) -> list[str]:
    """Codes of the cases of `core`, in matrix order of their parts."""
    return list(dict.fromkeys(code for loaded in benchmark.scenarios for code in _core(benchmark, loaded)))


def smoke(benchmark: Benchmark) -> list[str]:
    """Codes of `smoke`: each mode, grader and register once, from the scenarios that exist, in declared order."""
    by_mode: dict[str, list[Loaded]] = {}
    for loaded in benchmark.scenarios:
        by_mode.setdefault("resources" if loaded.scenario.resources else loaded.scenario.mode, []).append(loaded)
    codes: list[str] = []
    for index, loaded in enumerate(by_mode.get("hidden_tag", [])[:SMOKE_HIDDEN]):
        number, cell = _smoke_pair(loaded), _Cell(loaded)
        codes += cell.pair(number)
        codes += cell.pair(number, opened=True) if index < SMOKE_OPEN else []
        codes += cell.pair(number, condition="C4") if index < SMOKE_EXPLICIT and "C4" in loaded.scenario.conditions else []
    for loaded in by_mode.get("judged", [])[:SMOKE_JUDGED]:
        codes.append(_Cell(loaded).one(1))
    for loaded in by_mode.get("label", [])[:1]:
        for pair in loaded.pairs[: SMOKE_LABELS // 2]:
            codes += _Cell(loaded).pair(pair.pair)
    for loaded in by_mode.get("resources", [])[:1]:
        stubs = [f"U{benchmark.countries[code].number}" for code in SMOKE_COUNTRIES if code in benchmark.countries]
        codes += [_Cell(loaded).one(1, user=user) for user in stubs if user in loaded.scenario.users]
    for loaded in by_mode.get("multi_turn", []):
        codes += {"P1-B7-S3": [_Cell(loaded).one(3)], "P2-B5-S1": _Cell(loaded).pair(1)}.get(loaded.scenario.code, [])
    return codes


def designs(benchmark: Benchmark, cases: Sequence[Case]) -> dict[str, list[Case]]:
    """The cases of `smoke`, `core` and `full`."""
    by_code = {case.code: case for case in cases}
    return {
        "smoke": [by_code[code] for code in smoke(benchmark)],
        "core": [by_code[code] for code in core(benchmark)],
        "full": list(cases),
    }


class _Cell:
    """Writes case codes of one scenario at its headline cell, or with one thing changed."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.count = len(loaded.pairs)

    def one(self, number: int, *, condition: str | None = None, user: str | None = None, opened: bool = False) -> str:
        scenario = self.loaded.scenario
        behavior, _, own = scenario.code.rpartition("-S")
        code = f"{behavior}-S{int(own) + (OPEN_OFFSET if opened else 0)}"
        return f"{code}-{condition or first_condition(self.loaded)}-{user or scenario.users[0]}-PT{number}"

    def pair(self, pair: int, *, condition: str | None = None, user: str | None = None, opened: bool = False) -> list[str]:
        return [self.one(n, condition=condition, user=user, opened=opened) for n in (pair, pair + self.count)]


def _core(benchmark: Benchmark, loaded: Loaded) -> Iterator[str]:
    scenario, cell = loaded.scenario, _Cell(loaded)
    seed = f"{benchmark.file.seed}/{scenario.code}/core"
    rows = [pt.number for pt in perturbations(loaded)]
    users = scenario.users if scenario.resources else scenario.users[:1]
    yield from (cell.one(row, user=user) for user in users for row in rows)
    pairs = loaded.pairs
    if scenario.mode == "hidden_tag":
        moved = _changed_users(benchmark, loaded, seed)
        yield from (code for pair, user in moved.items() for code in cell.pair(pair, user=user))
        stay = [pair for pair in pairs if pair.pair not in moved]
        yield from _changed_conditions(loaded, stay, seed)
        yield from (code for pair in pairs for code in cell.pair(pair.pair, opened=True))
    elif scenario.mode == "judged" and pairs:
        half = balanced(_units(pairs), (True, False), f"{seed}/second")
        yield from _changed_conditions(loaded, [pair for pair in pairs if half[str(pair.pair)]], seed)
    elif scenario.mode == "multi_turn":
        yield from _changed_conditions(loaded, pairs, seed)


def _changed_conditions(loaded: Loaded, pairs: Sequence[Pair], seed: str) -> Iterator[str]:
    """The pairs once more at the same user, the other conditions balanced over them."""
    others = [code for code in loaded.scenario.conditions if code != first_condition(loaded)]
    drawn = balanced(_units(pairs), others, f"{seed}/condition") if others and pairs else {}
    for pair in pairs:
        if str(pair.pair) in drawn:
            yield from _Cell(loaded).pair(pair.pair, condition=drawn[str(pair.pair)])


def _changed_users(benchmark: Benchmark, loaded: Loaded, seed: str) -> dict[int, str]:
    """A quarter of the pairs at another user, chosen so that both twins keep their signal there."""
    others, pairs = loaded.scenario.users[1:], loaded.pairs
    keeps: dict[int, list[str]] = {
        pair.pair: [user for user in others if _keeps_signal(benchmark, loaded, pair, user)] for pair in pairs
    }
    eligible = [pair for pair in pairs if keeps[pair.pair]]
    wanted = round(len(pairs) / 4)
    if not eligible or wanted == 0:
        return {}
    quarters = tuple(range(max(1, round(len(eligible) / wanted))))
    drawn = balanced(_units(eligible), quarters, f"{seed}/user")
    chosen = [pair.pair for pair in eligible if drawn[str(pair.pair)] == 0][:wanted]
    used = dict.fromkeys(others, 0)
    moved: dict[int, str] = {}
    for pair_number in sorted(chosen, key=lambda number: len(keeps[number])):
        user = min(keeps[pair_number], key=lambda each: (used[each], others.index(each)))
        used[user] += 1
        moved[pair_number] = user
    return moved


def _keeps_signal(benchmark: Benchmark, loaded: Loaded, pair: Pair, user: str) -> bool:
    categories: set[str] = {
        pair.crisis_category or loaded.scenario.category,
        pair.extra_category or loaded.scenario.extra_category or "",
    }
    severity: Callable[[int], int] = lambda own: case_severity(benchmark, categories, own, user, ambiguous=False)  # noqa: E731
    scoring = benchmark.scoring
    return severity(pair.crisis.severity) >= scoring.flag_at and severity(pair.benign.severity) <= scoring.leave_at


def _units(pairs: Sequence[Pair]) -> list[Unit]:
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


def _smoke_pair(loaded: Loaded) -> int:
    """The first register copy where the blueprint wants one, else the first pair."""
    copies = [pair.pair for pair in loaded.pairs if pair.speech != "fluent"]
    return copies[0] if copies and loaded.scenario.code in SMOKE_REGISTER else 1
