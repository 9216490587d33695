"""The designs: what is in `core` and `smoke`, that chance favors nothing, what a design can estimate, and the planned counts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from helmbench_hf.content.derive import NOISES
from helmbench_hf.content.load import TAXONOMY, Benchmark, Loaded, load_benchmark
from helmbench_hf.dataset.design import core, designs
from helmbench_hf.records import Case
from helmbench_hf.tasks.draws import splits
from helmbench_hf.tasks.expand import expand, first_condition
from tests.support.tree import HIDDEN, Tree


@dataclass(frozen=True)
class Matrix:
    """A benchmark with its designs."""

    benchmark: Benchmark
    designs: dict[str, list[Case]]

    def of(self, loaded: Loaded, design: str, opened: bool = False) -> list[Case]:
        """The cases of one scenario in a design, or those of its open twins."""
        behavior, _, number = loaded.scenario.code.rpartition("-S")
        code = f"{behavior}-S{int(number) + 50}" if opened else loaded.scenario.code
        return [case for case in self.designs[design] if case.scenario == code]

    def plain(self, *modes: str) -> Iterator[tuple[Loaded, str, str]]:
        """Scenarios whose messages are crossed with users and conditions by the general rule, with their headline cell."""
        for loaded in self.benchmark.scenarios:
            scenario = loaded.scenario
            special = scenario.noise or scenario.by_history or scenario.notes_decide or scenario.appraisal or scenario.resources
            lone = not loaded.pairs or any(pair.user for pair in loaded.pairs) or loaded.source == TAXONOMY
            if scenario.mode in modes and not (special or lone):
                yield loaded, first_condition(loaded), scenario.users[0]


@pytest.fixture(scope="module")
def matrices(tiny: Benchmark, real: Benchmark) -> dict[str, Matrix]:
    return {name: Matrix(each, designs(each, expand(each))) for name, each in (("tiny", tiny), ("real", real))}


@pytest.fixture(params=["tiny", "real"])
def matrix(request: pytest.FixtureRequest, matrices: dict[str, Matrix]) -> Matrix:
    return matrices[request.param]


@pytest.fixture(scope="module")
def real_core(matrices: dict[str, Matrix]) -> dict[str, list[Case]]:
    """The authored benchmark's `core`, by scenario."""
    found: dict[str, list[Case]] = {}
    for case in matrices["real"].designs["core"]:
        found.setdefault(case.scenario, []).append(case)
    return found


def test_the_designs_nest_and_hold_whole_pairs(matrix: Matrix) -> None:
    full = {case.code for case in matrix.designs["full"]}
    for name in ("core", "smoke"):
        codes = [case.code for case in matrix.designs[name]]
        assert len(set(codes)) == len(codes)
        assert set(codes) < full
    for name, design in matrix.designs.items():
        alone = [case for case in design if name == "smoke" and (case.mode == "judged" or case.scenario == "P1-B7-S3")]
        held = {case.code for case in design if case not in alone}
        assert all(case.twin in held for case in design if case.twin and case.code in held)


def test_core_has_every_message_once_at_the_headline_cell(matrix: Matrix) -> None:
    for loaded, *headline in matrix.plain("hidden_tag", "judged", "multi_turn", "label"):
        shown = {
            name: {c.code for c in matrix.of(loaded, name) if [c.condition, c.user] == headline} for name in ("core", "full")
        }
        assert shown["core"] == shown["full"]


def test_core_shows_every_hidden_pair_once_more_with_one_thing_changed_and_its_open_twins(matrix: Matrix) -> None:
    for loaded, condition, user in matrix.plain("hidden_tag"):
        again = [case for case in matrix.of(loaded, "core") if (case.condition, case.user) != (condition, user)]
        assert all((case.condition == condition) != (case.user == user) for case in again)
        assert Counter(case.pair for case in again) == {f"{loaded.scenario.code}-{pair.pair}": 2 for pair in loaded.pairs}
        moved = [case for case in again if case.user != user]
        assert len(moved) in range(0, 2 * round(len(loaded.pairs) / 4) + 1, 2)
        assert moved or len(loaded.scenario.users) == 1 or loaded.scenario.category != "suicidal_ideation"
        assert {(case.member, case.gold) for case in moved} <= {("crisis", "flag"), ("benign", "leave")}
        opened = matrix.of(loaded, "core", opened=True)
        assert {(case.condition, case.user) for case in opened} == {(condition, user)}
        assert len({case.code for case in opened}) == 2 * len(loaded.pairs)


def test_changed_conditions_are_balanced_in_number_and_severity(matrix: Matrix) -> None:
    for loaded, condition, user in matrix.plain("hidden_tag", "judged"):
        severities = {code: list[int]() for code in loaded.scenario.conditions if code != condition}
        for case in matrix.of(loaded, "core"):
            if case.condition != condition and case.user == user and case.member == "crisis":
                severities[case.condition].append(case.message_severity)
        counts = [len(found) for found in severities.values()]
        assert max(counts, default=0) - min(counts, default=0) <= 1
        means = [sum(found) / len(found) for found in severities.values() if len(found) >= 2]
        assert not means or max(means) - min(means) <= 1.5, (loaded.scenario.code, severities)


def test_core_has_half_of_the_judged_pairs_every_country_and_every_script_again(matrix: Matrix) -> None:
    critical = {b.code for pillar in matrix.benchmark.file.pillars for b in pillar.behaviors if b.critical}
    for loaded, condition, _ in matrix.plain("judged"):
        if not all(801 <= int(user[1:]) < 900 for user in loaded.scenario.users):
            second = {case.pair for case in matrix.of(loaded, "core") if case.condition != condition}
            assert len(second) in {len(loaded.pairs) // 2, math.ceil(len(loaded.pairs) / 2)}
    for loaded in matrix.benchmark.scenarios:
        shown = matrix.of(loaded, "core") if loaded.source != TAXONOMY else []
        if loaded.scenario.resources and not loaded.pairs:
            assert {case.user for case in shown} == set(loaded.scenario.users)
            assert len(shown) == len(loaded.scenario.users) * len(loaded.messages.singles)
        elif loaded.scenario.mode == "multi_turn":
            times = len(loaded.scenario.conditions) if loaded.behavior in critical else 2
            assert set(Counter((case.pair, case.member) for case in shown).values()) == {times}
        elif loaded.scenario.mode == "label" and not loaded.pairs:  # half of the questions, their keys balanced as in all
            assert len(shown) >= len(matrix.of(loaded, "full")) / 2
            assert not shown or len(set(Counter(c.grading.label for c in shown if c.member == "single").values())) == 1


def test_stubs_and_histories_take_turns_and_notes_decide_at_the_headline_user(real_core: dict[str, list[Case]]) -> None:
    shown: dict[str, list[Case]] = {}
    for case in real_core["P3-B5-S1"]:
        shown.setdefault(case.perturbation, []).append(case)
    assert all(len(cases) == 6 and "U801" in {case.user for case in cases} for cases in shown.values())
    assert {case.user for case in real_core["P3-B5-S1"]} == {f"U{number}" for number in range(801, 813)}
    by_history: dict[str, list[Case]] = {}
    for case in real_core["P4-B1-S1"]:
        by_history.setdefault(case.perturbation, []).append(case)
    assert all(sorted(case.notes_level for case in cases) == [1, 2] for cases in by_history.values())
    assert all(len({case.person for case in cases}) == 1 for cases in by_history.values())
    assert len({case.person for case in real_core["P4-B1-S1"]}) == 4
    at_first = [case for case in real_core["P1-B7-S2"] if case.condition == "C1"]
    assert {case.user for case in at_first if case.gold == "flag"} == {"U34", "U164"}
    assert {case.gold for case in at_first if case.user == "U34"} == {"flag", "leave"}
    noisy = [case for cases in real_core.values() for case in cases if case.register in NOISES]
    assert {(case.register, case.condition) for case in noisy} == {(noise, "C1") for noise in NOISES}
    assert all(case.mode == "hidden_tag" and case.twin_fluent for case in noisy)


def test_a_quarter_is_held_out_by_meaning_and_like_the_rest(matrix: Matrix) -> None:
    by_meaning: dict[str, set[str]] = {}
    for case in matrix.designs["full"]:
        by_meaning.setdefault(case.meaning, set()).add(case.split)
    assert all(len(found) == 1 for found in by_meaning.values())
    for loaded in [each for each in matrix.benchmark.scenarios if len(each.pairs) >= 2]:
        held, pairs = splits(matrix.benchmark.file.seed, loaded), loaded.pairs
        by_split = {split: [pair for pair in pairs if held[pair.meaning] == split] for split in ("test", "heldout")}
        largest = max(Counter(pair.meaning for pair in pairs).values())
        assert 0 < len(by_split["heldout"]) < len(pairs)
        assert abs(len(by_split["heldout"]) - len(pairs) / 4) <= max(1, largest), loaded.scenario.code
        if loaded.scenario.mode == "hidden_tag":
            assert all({pair.control for pair in found} == {True, False} for found in by_split.values())
        if len(pairs) >= 4 and loaded.scenario.detects and not loaded.scenario.apart:
            test, out = (sum(pair.crisis.severity for pair in found) / len(found) for found in by_split.values())
            assert abs(test - out) <= 2.0, loaded.scenario.code


def test_smoke_touches_every_mode_grader_and_register(matrix: Matrix) -> None:
    smoke = matrix.designs["smoke"]
    modes = {"hidden_tag", "open_twin", "judged", "label", "multi_turn"}
    assert modes <= {case.mode for case in smoke} <= modes | {"reactive"}
    assert {case.country for case in smoke if case.grading.country} == {"NL", "BR"}
    assert any(case.safety_level == "explicit" for case in smoke)
    for name in ("target", "label", "criteria", "vetoes", "contrast", "country"):
        assert any(getattr(case.grading, name) for case in smoke), name
    assert all(case.register != "fluent" for case in smoke if case.scenario in {"P1-B1-S1", "P1-B4-S1"} and case.twin_fluent)
    assert len(smoke) <= 64


@pytest.mark.parametrize(("conditions", "first", "changed"), [("C1, C4, C5", "C1", 10), ("C4", "C4", 0)])
def test_a_scenario_of_one_user_changes_the_condition_alone(conditions: str, first: str, changed: int, tree: Tree) -> None:
    tree.replace(f"{HIDDEN}/scenario.yaml", "users: [U11, U13, U23, U33]", "users: [U11]")
    tree.replace(f"{HIDDEN}/scenario.yaml", "conditions: [C1, C4, C5]", f"conditions: [{conditions}]")
    codes = core(load_benchmark(tree.root))
    assert sum(code.startswith("P1-B1-S1-") for code in codes) == 12 + changed
    assert sum(code.startswith(f"P1-B1-S51-{first}-U11-") for code in codes) == 10
    assert {code.split("-")[4] for code in codes if code.startswith("P1-B1-S1-")} == {"U11"}
