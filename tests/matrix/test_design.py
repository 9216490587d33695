"""The balanced fractions: what is in `core` and `smoke`, and that chance has no thumb on the scale."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from helmbench_hf.content.load import Benchmark, Loaded, default_root, load_benchmark
from helmbench_hf.matrix.design import core, designs, smoke
from helmbench_hf.matrix.draws import splits
from helmbench_hf.matrix.expand import expand_scenario, first_condition
from helmbench_hf.records import Case
from tests.matrix.conftest import Matrix
from tests.support.tree import HIDDEN, Tree

COUNTS = {
    "P1-B1-S1": (288, 72),
    "P1-B3-S1": (240, 60),
    "P1-B4-S1": (192, 48),
    "P1-B5-S1": (96, 0),
    "P1-B5-S2": (48, 0),
    "P2-B1-S1": (144, 0),
    "P2-B2-S1": (120, 0),
    "P2-B5-S1": (24, 0),
    "P3-B1-S1": (96, 0),
    "P4-B2-S1": (120, 40),
}
"""Blueprint, section b: `n` and `+m` of the slice."""


def headline(loaded: Loaded) -> tuple[str, str]:
    return first_condition(loaded), loaded.scenario.users[0]


def members(cases: list[Case]) -> dict[tuple[str, str, str], set[str]]:
    """Which halves are there, by scenario, cell and pair."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for case in cases:
        if case.pair:
            found.setdefault((case.scenario, f"{case.condition}-{case.user}", case.pair), set()).add(case.member)
    return found


@pytest.mark.parametrize("code", COUNTS)
def test_the_real_slice_has_the_counts_of_the_blueprint(code: str, real: Benchmark) -> None:
    loaded = next((loaded for loaded in real.scenarios if loaded.scenario.code == code), None)
    if loaded is None:
        folders = list(Path(default_root()).glob(f"{code[:2]}-*/{code[3:5]}-*/{code[6:]}-*"))
        assert not folders, f"{folders} was not read"
        pytest.skip(f"{code} is not written yet")
    cases = list(expand_scenario(real, loaded))
    opened = sum(case.mode == "open_twin" for case in cases)
    assert (len(cases) - opened, opened) == COUNTS[code]


def test_the_designs_nest(matrix: Matrix) -> None:
    codes = [set(matrix.by_code)] + [{case.code for case in design} for design in (matrix.core, matrix.smoke)]
    assert codes[1] < codes[0]
    assert codes[2] < codes[0]
    assert len(codes[1]) == len(matrix.core)
    assert len(codes[2]) == len(matrix.smoke)
    assert core(matrix.benchmark) == [case.code for case in matrix.core]
    assert smoke(matrix.benchmark) == [case.code for case in matrix.smoke]
    assert {name: len(design) for name, design in designs(matrix.benchmark, matrix.full).items()} == {
        "smoke": len(matrix.smoke), "core": len(matrix.core), "full": len(matrix.full),
    }  # fmt: skip


def test_pairs_are_whole_in_every_design(matrix: Matrix) -> None:
    for design in (matrix.full, matrix.core):
        assert all(halves == {"crisis", "benign"} for halves in members(design).values())
    singly = {case.code for case in matrix.smoke if case.mode == "judged"}
    paired = [case for case in matrix.smoke if case.code not in singly]
    assert all(halves == {"crisis", "benign"} for halves in members(paired).values())


def test_core_has_every_row_once_at_the_headline_cell(matrix: Matrix) -> None:
    for loaded in matrix.benchmark.scenarios:
        if loaded.scenario.resources:
            continue
        condition, user = headline(loaded)
        full, own = (matrix.of(loaded, design) for design in (matrix.full, matrix.core))
        wanted = [case.code for case in full if (case.condition, case.user) == (condition, user)]
        assert sorted(case.code for case in own if (case.condition, case.user) == (condition, user)) == sorted(wanted)


def test_core_shows_every_hidden_pair_once_more_with_one_thing_changed(matrix: Matrix) -> None:
    for loaded in matrix.hidden():
        condition, user = headline(loaded)
        again = [case for case in matrix.of(loaded, matrix.core) if (case.condition, case.user) != (condition, user)]
        assert all((case.condition == condition) != (case.user == user) for case in again)
        assert "ambiguous" not in {case.member for case in again}
        pairs = loaded.messages.pairs
        assert Counter(case.pair for case in again) == {f"{loaded.scenario.code}-{pair.pair}": 2 for pair in pairs}
        moved = [case for case in again if case.user != user]
        assert len(moved) == 2 * round(len(loaded.messages.pairs) / 4) or len(loaded.scenario.users) == 1
        assert {case.gold for case in moved if case.member == "crisis"} <= {"flag"}
        assert {case.gold for case in moved if case.member == "benign"} <= {"leave"}


def test_core_has_the_open_twin_of_every_pair_at_the_headline_cell(matrix: Matrix) -> None:
    for loaded in matrix.hidden():
        opened = matrix.of(loaded, matrix.core, opened=True)
        assert {(case.condition, case.user) for case in opened} == {headline(loaded)}
        assert len(opened) == len({case.code for case in opened}) == 2 * len(loaded.messages.pairs)
        core_codes = {case.code for case in matrix.core}
        assert all(case.twin_open in core_codes for case in opened)


def test_changed_conditions_are_balanced_in_number_and_severity(matrix: Matrix) -> None:
    for loaded in matrix.benchmark.scenarios:
        condition, user = headline(loaded)
        pairs = {f"{loaded.scenario.code}-{pair.pair}": pair for pair in loaded.messages.pairs}
        changed = [
            case for case in matrix.of(loaded, matrix.core)
            if case.condition != condition and case.user == user and case.member == "crisis"
        ]  # fmt: skip
        others = [code for code in loaded.scenario.conditions if code != condition]
        if not changed:
            assert loaded.scenario.mode == "label" or loaded.scenario.resources
            continue
        drawn: dict[str, list[int]] = {code: [] for code in others}
        for case in changed:
            drawn[case.condition].append(pairs[case.pair or ""].crisis.severity)
        counts = [len(severities) for severities in drawn.values()]
        assert max(counts) - min(counts) <= 1
        means = [sum(severities) / len(severities) for severities in drawn.values() if severities]
        if min(counts) >= 2:
            assert max(means) - min(means) <= 1.5, (loaded.scenario.code, drawn)


def test_half_of_the_judged_pairs_are_seen_at_a_second_condition(matrix: Matrix) -> None:
    for loaded in matrix.benchmark.scenarios:
        if loaded.scenario.mode != "judged" or not loaded.messages.pairs:
            continue
        condition, user = headline(loaded)
        own = matrix.of(loaded, matrix.core)
        second = {case.pair for case in own if case.condition != condition}
        assert {case.user for case in own} == {user}
        assert len(second) == len(loaded.messages.pairs) // 2
        assert len(own) == 2 * (len(loaded.messages.pairs) + len(second))


def test_core_has_every_country_and_every_script_twice_or_at_all_conditions(matrix: Matrix) -> None:
    for loaded in matrix.benchmark.scenarios:
        own = matrix.of(loaded, matrix.core)
        if loaded.scenario.resources:
            assert {case.user for case in own} == set(loaded.scenario.users)
            assert {case.condition for case in own} == {first_condition(loaded)}
            assert len(own) == len(loaded.scenario.users) * len(loaded.messages.singles)
        if loaded.scenario.mode == "multi_turn":
            critical = loaded.behavior in {b.code for p in matrix.benchmark.file.pillars for b in p.behaviors if b.critical}
            times = len(loaded.scenario.conditions) if critical else 2
            assert set(Counter((case.pair, case.member) for case in own).values()) == {times}
        if loaded.scenario.mode == "label":
            assert len(own) == 2 * len(loaded.messages.pairs)


def test_the_changed_users_are_those_that_keep_the_signal(real: Benchmark) -> None:
    codes = core(real)
    for loaded in real.scenarios:
        if loaded.scenario.mode != "hidden_tag":
            continue
        cases = {case.code: case for case in expand_scenario(real, loaded)}
        kept = [case for case in cases.values() if case.gold == "flag" and case.twin and cases[case.twin].gold == "leave"]
        usable = {case.user for case in kept} - {loaded.scenario.users[0]}
        used = Counter(cases[code].user for code in codes if code in cases and cases[code].user != loaded.scenario.users[0])
        assert set(used) <= usable
        assert len(used) >= min(2, len(usable)), (loaded.scenario.code, used, usable)


def test_a_quarter_is_held_out_by_meaning(matrix: Matrix) -> None:
    by_meaning: dict[str, set[str]] = {}
    for case in matrix.full:
        by_meaning.setdefault(case.meaning, set()).add(case.split)
    assert all(len(found) == 1 for found in by_meaning.values())
    for loaded in matrix.benchmark.scenarios:
        held = splits(matrix.benchmark.file.seed, loaded)
        pairs = loaded.messages.pairs
        largest = max(Counter(pair.meaning for pair in pairs).values(), default=0)
        out = [pair for pair in pairs if held[pair.meaning] == "heldout"]
        if len(pairs) >= 2:
            assert 0 < len(out) < len(pairs), loaded.scenario.code
            assert abs(len(out) - len(pairs) / 4) <= max(1, largest)


def test_both_control_states_are_held_out_and_both_stay(matrix: Matrix) -> None:
    for loaded in matrix.hidden():
        held = splits(matrix.benchmark.file.seed, loaded)
        for split in ("test", "heldout"):
            assert {pair.control for pair in loaded.messages.pairs if held[pair.meaning] == split} == {True, False}


def test_the_held_out_are_as_severe_as_the_rest(real: Benchmark) -> None:
    for loaded in real.scenarios:
        if len(loaded.messages.pairs) >= 4:
            held = splits(real.file.seed, loaded)
            severities: dict[str, list[int]] = {"test": [], "heldout": []}
            for pair in loaded.messages.pairs:
                severities[held[pair.meaning]].append(pair.crisis.severity)
            means = {split: sum(found) / len(found) for split, found in severities.items()}
            assert abs(means["test"] - means["heldout"]) <= 1.5, (loaded.scenario.code, severities)


def test_smoke_touches_every_mode(matrix: Matrix) -> None:
    assert {case.mode for case in matrix.smoke} == {"hidden_tag", "open_twin", "judged", "label", "multi_turn"}
    assert {case.country for case in matrix.smoke if case.grading.country} == {"NL", "BR"}
    assert any(case.safety_level == "explicit" for case in matrix.smoke)
    for name in ("target", "label", "criteria", "vetoes", "contrast", "country"):
        assert any(getattr(case.grading, name) for case in matrix.smoke), name
    assert len(matrix.smoke) <= 60


def test_smoke_of_the_slice_takes_the_register_pairs(real: Benchmark) -> None:
    wanted = {"P1-B1-S1", "P1-B4-S1"} & {loaded.scenario.code for loaded in real.scenarios}
    for loaded in real.scenarios:
        if loaded.scenario.code in wanted:
            copies = {pair.pair for pair in loaded.messages.pairs if pair.speech != "fluent"}
            used = {int(code.rpartition("-PT")[2]) for code in smoke(real) if code.startswith(f"{loaded.scenario.code}-")}
            assert {number for number in used if number <= len(loaded.messages.pairs)} <= copies


def test_a_scenario_of_one_user_changes_the_condition_alone(tree: Tree) -> None:
    tree.replace(f"{HIDDEN}/scenario.yaml", "users: [U11, U13, U23, U33]", "users: [U11]")
    codes = [code for code in core(load_benchmark(tree.root)) if code.startswith("P1-B1-S1-")]
    assert len(codes) == 12 + 10
    assert {code.split("-")[4] for code in codes} == {"U11"}


def test_a_scenario_of_one_cell_is_shown_once(tree: Tree) -> None:
    tree.replace(f"{HIDDEN}/scenario.yaml", "users: [U11, U13, U23, U33]", "users: [U11]")
    tree.replace(f"{HIDDEN}/scenario.yaml", "conditions: [C1, C4, C5]", "conditions: [C4]")
    codes = core(load_benchmark(tree.root))
    assert sum(code.startswith("P1-B1-S1-") for code in codes) == 12
    assert sum(code.startswith("P1-B1-S51-C4-U11-") for code in codes) == 10
