"""The designs: `smoke`, `core` and `full`. `smoke` is plumbing: each mode, grader and register once."""

from __future__ import annotations

from collections.abc import Sequence

from helmbench_hf.content.load import TAXONOMY, Benchmark, Loaded
from helmbench_hf.matrix.cells import Cells
from helmbench_hf.matrix.core import core
from helmbench_hf.matrix.expand import expand_taxonomy
from helmbench_hf.records import Case

SMOKE_HIDDEN, SMOKE_OPEN, SMOKE_EXPLICIT, SMOKE_JUDGED, SMOKE_LABELS = 12, 6, 3, 9, 4
SMOKE_REGISTER = ("P1-B1-S1", "P1-B4-S1", "P1-B6-S3", "P4-B2-S3")
SMOKE_COUNTRIES = ("NL", "BR")


def designs(benchmark: Benchmark, cases: Sequence[Case]) -> dict[str, list[Case]]:
    """The cases of `smoke`, `core`, `full` (which is `cases`) and of the crisis taxonomy."""
    by_code = {case.code: case for case in cases}
    return {
        "smoke": [by_code[code] for code in smoke(benchmark)],
        "core": [by_code[code] for code in core(benchmark)],
        "full": list(cases),
        "taxonomy": expand_taxonomy(benchmark),
    }


def smoke(benchmark: Benchmark) -> list[str]:
    """Codes of `smoke` (blueprint, section e): one scenario of each behavior first, then others, in declared order.

    Long documents are left out, because `smoke` is to run on two cores in minutes, and so is what is in no score.
    """
    by_mode: dict[str, list[Loaded]] = {}
    for loaded in benchmark.scenarios:
        if not (loaded.source == TAXONOMY or loaded.messages.hosts or loaded.scenario.apart):
            by_mode.setdefault(_kind(loaded), []).append(loaded)
    by_mode = {kind: _spread(found) for kind, found in by_mode.items()}
    codes: list[str] = []
    for index, loaded in enumerate(by_mode.get("hidden_tag", [])[:SMOKE_HIDDEN]):
        number, cells = _smoke_pair(loaded), Cells(benchmark, loaded)
        codes += cells.pair(number)
        codes += cells.pair(number, opened=True) if index < SMOKE_OPEN else []
        codes += cells.pair(number, condition="C4") if index < SMOKE_EXPLICIT and "C4" in loaded.scenario.conditions else []
    for loaded in by_mode.get("judged", [])[:SMOKE_JUDGED]:
        codes.append(Cells(benchmark, loaded).one(1))
    for loaded in by_mode.get("label", [])[:1]:
        for pair in loaded.pairs[: SMOKE_LABELS // 2]:
            codes += Cells(benchmark, loaded).pair(pair.pair)
    for loaded in by_mode.get("resources", [])[:1]:
        stubs = [f"U{benchmark.countries[code].number}" for code in SMOKE_COUNTRIES if code in benchmark.countries]
        codes += [Cells(benchmark, loaded).one(1, user=user) for user in stubs if user in loaded.scenario.users]
    for loaded in by_mode.get("multi_turn", []):
        cells = Cells(benchmark, loaded)
        codes += {"P1-B7-S3": [cells.one(3)], "P2-B5-S1": cells.pair(1)}.get(loaded.scenario.code, [])
    return codes


def _spread(found: Sequence[Loaded]) -> list[Loaded]:
    """The first scenario of every behavior and those with a wanted register, then the rest."""
    first = {loaded.behavior: loaded.scenario.code for loaded in reversed(found)}
    early = {*first.values(), *SMOKE_REGISTER}
    return sorted(found, key=lambda loaded: (loaded.scenario.code not in early, loaded.scenario.code))


def _kind(loaded: Loaded) -> str:
    return "resources" if loaded.scenario.resources and not loaded.pairs else loaded.scenario.mode


def _smoke_pair(loaded: Loaded) -> int:
    """The first register copy where the blueprint wants one, else the first pair."""
    copies = [pair.pair for pair in loaded.pairs if pair.speech != "fluent"]
    return copies[0] if copies and loaded.scenario.code in SMOKE_REGISTER else 1
