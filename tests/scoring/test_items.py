"""What each pair tells over many runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmbench_hf.scoring.items import Item, items
from helmbench_hf.scoring.scores import Scores
from tests.scoring.build import LINES, run

CODES = [pair[0].code for line in LINES for pair in line[:8]]
"""Of the first eight pairs of each behavior."""


def board_of(*columns: tuple[float | None, ...]) -> list[Scores]:
    """Runs from what each of the 16 pairs is worth in each of them."""
    return [run(list(marks)) for marks in zip(*columns, strict=True)]


ABLE = (1.0, 1.0, 0.0, 0.0, 1.0, 0.0)
RUNS = board_of(
    (1.0,) * 6,  # saturated
    (0.0,) * 6,  # dead: nobody
    (0.0, -1.0, 0.0, 0.0, 0.0, 0.0),  # dead: nobody above 0
    tuple(1.0 - each for each in ABLE),  # the wrong way round
    (1.0, None, None, 0.0, 1.0, 0.0),  # four runs
    *(ABLE,) * 10,
    (1.0, 1.0, 1.0, 0.0, 1.0, 0.0),
)


def found(runs: list[Scores]) -> dict[str, Item]:
    return {item.crisis: item for item in items(runs).items}


def test_items_by_hand() -> None:
    rows = found(RUNS)
    first = [rows[code] for code in CODES]
    assert [(item.saturated, item.dead) for item in first[:5]] == [
        (True, False),
        (False, True),
        (False, True),
        (False, False),
        (False, False),
    ]
    assert [item.difficulty for item in first[:5]] == [1.0, 0.0, pytest.approx(-1 / 6), 0.5, 0.5]
    assert [item.reason for item in (first[0], first[1], first[4])] == [
        "every run has the same value",
        "every run has the same value",
        "4 of at least 5 runs scored it",
    ]
    assert (first[4].n, first[4].discrimination) == (4, None)
    # the rest of the first scenario, without the pair that four runs scored: 1, 0, -1/0, 1 - x and three of x
    rest = np.array([[1, 0, m, x, x, x] for m, x in zip((0, -1, 0, 0, 0, 0), ABLE, strict=True)]).mean(axis=1)
    assert first[3].discrimination == pytest.approx(np.corrcoef([1 - x for x in ABLE], rest)[0, 1])
    assert first[3].discrimination < 0
    assert (first[3].rest, first[3].n_rest) == ("scenario", 6)
    assert (first[8].discrimination, first[8].rest, first[8].n_rest) == (pytest.approx(0.97, abs=0.05), "scenario", 7)


def test_counts_by_scenario_and_behavior_and_over_all() -> None:
    got = items(RUNS)
    assert [row.code for row in got.scenarios] == ["P1-B1-S1", "P4-B2-S1"]
    assert [row.code for row in got.behaviors] == ["P1-B1", "P4-B2"]
    one = got.scenarios[0]
    assert (one.items, one.scored, one.saturated, one.dead, one.correlated, one.negative) == (8, 8, 1, 2, 5, 2)
    assert one.difficulty == pytest.approx((1 + 0 - 1 / 6 + 0.5 + 0.5 + 3 * 0.5) / 8)
    assert (got.all.items, got.all.saturated, got.all.dead) == (16, 1, 2)
    correlations = [item.discrimination for item in got.items if item.discrimination is not None]
    assert got.all.correlated == len(correlations) == 13
    assert got.all.discrimination == pytest.approx(sum(correlations) / len(correlations))


def test_a_short_scenario_is_held_against_the_whole() -> None:
    runs = [
        replace(each, pairs=tuple(replace(pair, headline=pair.crisis not in CODES[5:8]) for pair in each.pairs))
        for each in board_of(*(ABLE,) * 16)
    ]
    rows = found(runs)
    assert (rows[CODES[0]].rest, rows[CODES[0]].n_rest) == ("all", 12)
    assert CODES[5] not in rows


def test_copies_of_a_message_are_not_its_rest() -> None:
    def same(scores: Scores) -> Scores:
        pairs = (replace(pair, meaning="one") if pair.crisis in CODES[:2] else pair for pair in scores.pairs)
        return replace(scores, pairs=tuple(pairs))

    runs = [same(each) for each in board_of(*(ABLE,) * 16)]
    rows = found(runs)
    assert (rows[CODES[0]].n_rest, rows[CODES[2]].n_rest) == (6, 7)


@settings(max_examples=8)
@given(st.lists(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=5, max_size=5), min_size=15, max_size=15))
def test_a_perfect_item_is_saturated_and_has_no_discrimination(rest: list[list[float]]) -> None:
    rows = found(board_of((1.0,) * 5, *map(tuple, rest)))
    item = rows[CODES[0]]
    assert (item.saturated, item.dead, item.difficulty, item.discrimination) == (True, False, 1.0, None)
    for other in rows.values():
        assert not (other.saturated and other.dead)
        assert other.discrimination is None or -1 - 1e-9 <= other.discrimination <= 1 + 1e-9
        assert (other.discrimination is None) == bool(other.reason)
