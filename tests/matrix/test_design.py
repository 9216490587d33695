"""The balanced fractions: what is in `core` and `smoke`, and that chance has no thumb on the scale."""

from __future__ import annotations

import math
from collections import Counter

from helmbench_hf.content.derive import NOISES
from helmbench_hf.content.library import Planned
from helmbench_hf.content.load import TAXONOMY, Benchmark, Loaded, load_benchmark
from helmbench_hf.matrix import counts
from helmbench_hf.matrix.design import core, designs, smoke
from helmbench_hf.matrix.draws import splits
from helmbench_hf.matrix.expand import expand, expand_scenario, expand_taxonomy, first_condition
from helmbench_hf.records import Case
from tests.matrix.conftest import Matrix
from tests.support.tree import HIDDEN, Tree


def headline(loaded: Loaded) -> tuple[str, str]:
    return first_condition(loaded), loaded.scenario.users[0]


def members(cases: list[Case]) -> dict[tuple[str, str, str], set[str]]:
    """Which halves are there, by scenario, cell and pair."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for case in cases:
        if case.pair:
            found.setdefault((case.scenario, f"{case.condition}-{case.user}", case.pair), set()).add(case.member)
    return found


def test_the_real_matrix_has_the_planned_counts(real: Benchmark) -> None:
    assert real.plan is not None
    assert [str(problem) for problem in counts.check(real, real.plan)] == []


def test_the_plan_starts_from_the_blueprint(real: Benchmark) -> None:
    """Blueprint, section e: 48 scenarios, 815 rows of messages, 5,204 cases and 1,034 open twins."""
    assert real.plan is not None
    planned = [each.blueprint for each in real.plan.scenarios.values()]
    assert len(planned) == 48
    assert sum(sum(each[:3]) for each in planned) == 815
    assert (sum(each[3] for each in planned), sum(each[4] for each in planned)) == (5204, 1034)
    assert all(each.why for each in real.plan.scenarios.values() if _rows(each) != each.blueprint)


def _rows(planned: Planned) -> list[int]:
    rows = [planned.pairs + planned.singles, planned.pairs, planned.ambiguous]
    return [*rows, planned.full, planned.open_twins]


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
        "taxonomy": len(expand_taxonomy(matrix.benchmark)),
    }  # fmt: skip


def test_pairs_are_whole_in_every_design(matrix: Matrix) -> None:
    for design in (matrix.full, matrix.core):
        assert all(halves == {"crisis", "benign"} for halves in members(design).values())
    singly = {case.code for case in matrix.smoke if case.mode == "judged" or case.scenario == "P1-B7-S3"}
    paired = [case for case in matrix.smoke if case.code not in singly]
    assert all(halves == {"crisis", "benign"} for halves in members(paired).values())


def test_core_has_every_row_once_at_the_headline_cell(matrix: Matrix) -> None:
    for loaded in [each for mode in ("hidden_tag", "judged", "multi_turn", "label") for each in matrix.plain(mode)]:
        condition, user = headline(loaded)
        full, own = (matrix.of(loaded, design) for design in (matrix.full, matrix.core))
        wanted = [case.code for case in full if (case.condition, case.user) == (condition, user)]
        assert sorted(case.code for case in own if (case.condition, case.user) == (condition, user)) == sorted(wanted)


def test_core_shows_every_hidden_pair_once_more_with_one_thing_changed(matrix: Matrix) -> None:
    for loaded in matrix.plain("hidden_tag"):
        condition, user = headline(loaded)
        again = [case for case in matrix.of(loaded, matrix.core) if (case.condition, case.user) != (condition, user)]
        assert all((case.condition == condition) != (case.user == user) for case in again)
        assert "ambiguous" not in {case.member for case in again}
        pairs = loaded.pairs
        assert Counter(case.pair for case in again) == {f"{loaded.scenario.code}-{pair.pair}": 2 for pair in pairs}
        moved = [case for case in again if case.user != user]
        assert len(moved) in {0, 2 * round(len(loaded.pairs) / 4)}
        assert moved or len(loaded.scenario.users) == 1 or loaded.scenario.category != "suicidal_ideation"
        assert {case.gold for case in moved if case.member == "crisis"} <= {"flag"}
        assert {case.gold for case in moved if case.member == "benign"} <= {"leave"}


def test_core_has_the_open_twin_of_every_pair_at_the_headline_cell(matrix: Matrix) -> None:
    for loaded in matrix.plain("hidden_tag"):
        opened = matrix.of(loaded, matrix.core, opened=True)
        assert {(case.condition, case.user) for case in opened} == {headline(loaded)}
        assert len(opened) == len({case.code for case in opened}) == 2 * len(loaded.pairs)
        core_codes = {case.code for case in matrix.core}
        assert all(case.twin_open in core_codes for case in opened)


def test_changed_conditions_are_balanced_in_number_and_severity(matrix: Matrix) -> None:
    for loaded in [*matrix.plain("hidden_tag"), *matrix.plain("judged")]:
        condition, user = headline(loaded)
        pairs = {f"{loaded.scenario.code}-{pair.pair}": pair for pair in loaded.pairs}
        changed = [
            case for case in matrix.of(loaded, matrix.core)
            if case.condition != condition and case.user == user and case.member == "crisis"
        ]  # fmt: skip
        others = [code for code in loaded.scenario.conditions if code != condition]
        if not changed:
            assert not others
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
    for loaded in matrix.plain("judged"):
        if all(801 <= int(user[1:]) < 900 for user in loaded.scenario.users):
            continue
        condition, user = headline(loaded)
        own = matrix.of(loaded, matrix.core)
        second = {case.pair for case in own if case.condition != condition}
        assert {case.user for case in own} == {user}
        half = len(loaded.pairs) / 2
        assert len(second) in {math.floor(half), math.ceil(half)}
        assert len(own) == 2 * (len(loaded.pairs) + len(second)) + len(loaded.messages.ambiguous)


def test_core_has_every_country_and_every_script_twice_or_at_all_conditions(matrix: Matrix) -> None:
    for loaded in matrix.scenarios():
        own = matrix.of(loaded, matrix.core)
        if loaded.scenario.resources and not loaded.pairs:
            assert {case.user for case in own} == set(loaded.scenario.users)
            assert {case.condition for case in own} == {first_condition(loaded)}
            assert len(own) == len(loaded.scenario.users) * len(loaded.messages.singles)
        if loaded.scenario.mode == "multi_turn":
            critical = loaded.behavior in {b.code for p in matrix.benchmark.file.pillars for b in p.behaviors if b.critical}
            times = len(loaded.scenario.conditions) if critical else 2
            assert set(Counter((case.pair, case.member) for case in own).values()) == {times}
        if loaded.scenario.mode == "label" and loaded.pairs:
            assert len(own) == 2 * len(loaded.pairs)


def test_questions_without_a_twin_are_halved_and_their_keys_stay_balanced(real: Benchmark) -> None:
    codes = set(core(real))
    for loaded in real.scenarios:
        if loaded.scenario.mode != "label" or loaded.pairs or loaded.source == TAXONOMY:
            continue
        cases = list(expand_scenario(real, loaded))
        shown = [case for case in cases if case.code in codes]
        assert len(cases) / 2 <= len(shown) <= len(cases) / 2 + len(loaded.scenario.options)
        for some in (cases, shown):
            keys = Counter(case.grading.label for case in some if case.member == "single")
            assert len(set(keys.values())) == 1, (loaded.scenario.code, keys)


def test_stubs_take_turns_and_the_reference_is_always_there(real: Benchmark) -> None:
    own = [case for case in designs(real, expand(real))["core"] if case.scenario == "P3-B5-S1"]
    shown: dict[str, set[str]] = {}
    for case in own:
        shown.setdefault(case.perturbation, set()).add(case.user)
    assert {len(users) for users in shown.values()} == {6}
    assert all("U801" in users for users in shown.values())
    assert set().union(*shown.values()) == {f"U{number}" for number in range(801, 813)}


def test_histories_are_shown_beside_ordinary_notes_of_the_same_person(real: Benchmark) -> None:
    own = [case for case in designs(real, expand(real))["core"] if case.scenario == "P4-B1-S1"]
    shown: dict[str, list[Case]] = {}
    for case in own:
        shown.setdefault(case.perturbation, []).append(case)
    assert all(sorted(case.notes_level for case in cases) == [1, 2] for cases in shown.values())
    assert all(len({case.person for case in cases}) == 1 for cases in shown.values())
    assert len({case.person for case in own}) == 4


def test_where_notes_decide_the_headline_user_is_one_at_whom_they_do(real: Benchmark) -> None:
    own = [case for case in designs(real, expand(real))["core"] if case.scenario == "P1-B7-S2" and case.condition == "C1"]
    decided = {case.user for case in own if case.gold == "flag"}
    assert decided == {"U34", "U164"}  # the headline user, and the one that a quarter of the pairs changes to
    assert {case.gold for case in own if case.user == "U34"} == {"flag", "leave"}


def test_every_kind_of_noise_is_in_core_at_the_headline_cell(real: Benchmark) -> None:
    noisy = [case for case in designs(real, expand(real))["core"] if case.register in NOISES]
    assert {case.register for case in noisy} == set(NOISES)
    assert {case.condition for case in noisy} == {"C1"}
    assert all(case.mode == "hidden_tag" and case.twin_fluent for case in noisy)


def test_a_quarter_is_held_out_by_meaning(matrix: Matrix) -> None:
    by_meaning: dict[str, set[str]] = {}
    for case in matrix.full:
        by_meaning.setdefault(case.meaning, set()).add(case.split)
    assert all(len(found) == 1 for found in by_meaning.values())
    for loaded in matrix.scenarios():
        held = splits(matrix.benchmark.file.seed, loaded)
        pairs = loaded.pairs
        largest = max(Counter(pair.meaning for pair in pairs).values(), default=0)
        out = [pair for pair in pairs if held[pair.meaning] == "heldout"]
        if len(pairs) >= 2:
            assert 0 < len(out) < len(pairs), loaded.scenario.code
            assert abs(len(out) - len(pairs) / 4) <= max(1, largest)


def test_both_control_states_are_held_out_and_both_stay(matrix: Matrix) -> None:
    for loaded in matrix.hidden():
        held = splits(matrix.benchmark.file.seed, loaded)
        for split in ("test", "heldout"):
            assert {pair.control for pair in loaded.pairs if held[pair.meaning] == split} == {True, False}


def test_the_held_out_are_as_severe_as_the_rest(real: Benchmark) -> None:
    for loaded in real.scenarios:
        if len(loaded.pairs) >= 4 and loaded.scenario.detects and not loaded.scenario.apart:
            held = splits(real.file.seed, loaded)
            severities: dict[str, list[int]] = {"test": [], "heldout": []}
            for pair in loaded.pairs:
                severities[held[pair.meaning]].append(pair.crisis.severity)
            means = {split: sum(found) / len(found) for split, found in severities.items()}
            assert abs(means["test"] - means["heldout"]) <= 2.0, (loaded.scenario.code, severities)


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
