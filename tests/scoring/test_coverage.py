"""A short run of the coverage benchmark: figures hold the truth about as often as they say."""

from __future__ import annotations

import importlib
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.records import Case
from helmbench_hf.scoring import aggregate, pairs
from helmbench_hf.scoring.claims import Calibration
from helmbench_hf.scoring.correction import correct
from helmbench_hf.scoring.run import score

SEED = 11
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def part() -> Any:
    """The benchmark's modules by their last word; its folder stands last in the path, where it can hide nothing."""
    folder = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.append(folder)
    yield lambda name: importlib.import_module(f"coverage_{name}")
    sys.path.remove(folder)


@pytest.fixture(scope="module")
def core(real_designs: dict[str, list[Case]]) -> list[Case]:
    return real_designs["core"]


@pytest.fixture(scope="module")
def sample(part: Any, real: Benchmark, core: list[Case]) -> Any:
    return part("model").headline(real, core)


def test_many_draws_at_once_are_worth_what_the_scoring_package_says(part: Any, sample: Any) -> None:
    values = sample.draw(1.0, 3, np.random.default_rng(SEED), sample.world(np.random.default_rng(SEED)))
    at_once = part("worth").pair_values(sample, values)
    for row, worth in zip(values.tolist(), at_once, strict=True):
        found = pairs.units(sample.ledger(row), sample.plan)
        assert [unit.score.value for unit in found] == pytest.approx(worth.tolist(), abs=1e-12)
    assert {unit.kind for unit in sample.units} == {"hidden_tag", "judged", "label", "multi_turn", "reactive", "resources"}


def test_groups_are_those_of_a_scored_run(part: Any, sample: Any, real: Benchmark) -> None:
    row = sample.draw(1.0, 1, np.random.default_rng(SEED), None)[0].tolist()
    ledger = sample.ledger(row)
    scores = score(sample.cases, sample.verdicts(row), benchmark=real, judges=ledger.judges)
    table = part("worth").table_of(sample, pairs.units(ledger, sample.plan))
    found = part("worth").group_scores(table)
    assert found == {group.code: group.score for group in (scores.headline.overall, *scores.pillars, *scores.behaviors)}
    assert part("worth").bounds(table) == scores.headline.overall.coverage


def test_intervals_cover(part: Any, sample: Any) -> None:
    worth, world = part("worth"), sample.world(np.random.default_rng(SEED))
    truth = worth.truths(sample, 1.5, np.random.default_rng(SEED + 1), world)
    values = worth.pair_values(sample, sample.draw(1.5, 400, np.random.default_rng(SEED + 2), world))
    tables = (worth.table_of(sample, worth.with_values(sample, row)) for row in values.tolist())
    found = part("scores")._covered((worth.group_scores(table) for table in tables), truth)
    assert 93 <= found["overall"] <= 98.5
    assert 93.5 <= found["pillars"] <= 98
    assert 95 <= found["behaviors"] <= 97.5
    assert all(covered >= 92 for covered in found["worst_behavior"].values())


def test_bounds_hold_whatever_is_missing_and_intervals_where_it_is_missing_at_random(part: Any, sample: Any) -> None:
    found = part("scores").missing_coverage(sample, 12, SEED)
    rows = {name: row for name, row in found.items() if name != "true_overall"}
    assert len(rows) == 3
    assert all(row["bounds_hold_the_full_score"] == 100 for row in rows.values())
    for name, row in rows.items():
        if "at random" in name:
            assert row["overall"] >= 75
            assert row["behaviors"] >= 91
            assert abs(row["bias"]) < 3
        else:
            assert row["bias"] > 2  # a judge that leaves out what is middling shifts the score; the bounds say so


def test_equal_runs_are_seldom_called_different(part: Any, sample: Any) -> None:
    compare = part("compare")
    world = sample.world(np.random.default_rng(SEED), equal=True)
    run = part("few").template(sample)
    found = compare._called([*compare._compared(sample, run, (world, world), (1.0, 1.0), 100, [SEED])])
    assert 1 <= found["overall"] <= 10
    assert found["any_row_below"] <= 9
    assert found["any_row_below_by_its_interval"] >= 40, "which is why they are corrected"
    assert found["rows_tested"] >= 15


def test_floors_err_on_one_side_at_most_as_often_as_they_say(part: Any, real: Benchmark, core: list[Case]) -> None:
    found = part("floors").floor_states(real, {"core": core}, 30, SEED)
    assert {name.partition(",")[0] for name in found} == {floor.slug for floor in real.scoring.floors}
    wrong: dict[tuple[str, str], list[float]] = defaultdict(list)
    for name, row in found.items():
        for correlation in (0, 0.3, 0.95):
            at_limit = row[f"at the limit, correlation {correlation}"]
            for state in ("cleared", "breached"):
                assert at_limit[state] <= 20, (name, correlation, state)  # of 30; one in 10,000 where the true share is 5%
                wrong[state, f"{correlation}"].append(at_limit[state])
        if "enough messages" in name:
            assert row["a tenth of the limit, correlation 0.95"]["cleared"] >= 60, name
            assert row["five times the limit, correlation 0.95"]["breached"] >= 85, name
    assert all(np.mean(shares) <= 5 for shares in wrong.values()), wrong


def test_gap_and_midpoints_cover(part: Any, real: Benchmark, core: list[Case]) -> None:
    found = part("marks").mark_coverage(part("model").Sample(real, core), 20, SEED)
    for name in ("gap", "gap of the control", "net gap", "midpoint, hidden", "midpoint, open"):
        assert found[name]["covered"] >= 80, name
    assert found["effects"]["condition"]["covered"] >= 80


def test_corrected_pairs_are_those_of_a_scored_run(part: Any, sample: Any, real: Benchmark) -> None:
    judges, rng = part("judges"), np.random.default_rng(SEED)
    setting = judges.Setting(0.85, 0.35)
    criteria = sorted({slot.criterion for slot in sample.slots if slot.grader == "judge"})
    counts = judges.calibrate(setting, judges.filled(judges.calibration_sizes(real), criteria), criteria, rng)
    right = sample.draw(1.0, 1, rng, None)[0]
    said = judges.judge(sample, setting, right, criteria, rng)
    ledger = sample.ledger(said.tolist())
    table = part("worth").table_of(sample, pairs.units(ledger, sample.plan))
    checks = {code: Calibration("check", "gold", found) for code, found in counts.items()}
    wanted = correct(ledger, table, real, checks)
    found = judges.estimates(sample, counts, said, part("worth").pair_values(sample, said[None, :])[0])
    assert set(found.kept) == set(wanted.scenarios)
    assert len(found.kept) > 5  # the scenarios whose criteria the calibration set covers
    overall = wanted.over(aggregate.behavior_shares(table.plans, wanted.scenarios), ())
    assert found.spread.value == pytest.approx(overall.estimate.value, abs=1e-12)
    assert found.spread.se == pytest.approx(overall.estimate.se, rel=1e-9)
    assert found.spread.df == pytest.approx(overall.estimate.df, rel=1e-9)


def test_a_corrected_score_holds_the_truth_where_the_raw_one_does_not(part: Any, sample: Any) -> None:
    judges = part("judges")
    setting = judges.Setting(0.85, 0.35)
    row = judges.judge_coverage(sample, 40, SEED, [setting])[setting.name]
    assert row["raw"]["covered"] <= 75
    assert row["corrected, with the spread too"]["covered"] >= 88
    assert row["corrected, with the spread too"]["half_width"] > row["corrected, with the check's error"]["half_width"]
