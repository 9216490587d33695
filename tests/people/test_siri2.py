"""SIRI-2 on made-up items: no item and no key value here is the instrument's."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmbench_hf.people.siri2 import Instrument, anchors, load_answers, load_instrument, published, sit
from helmbench_hf.runs.folder import RunError
from tests.support.commands import helmbench

means = st.floats(-3, 3, allow_nan=False).filter(bool)


def written(folder: Path, remarks: int = 24, key: list[dict[str, Any]] | None = None) -> tuple[Path, Path]:
    numbers = [str(number) for number in range(1, remarks + 1)]
    items = [{"item": item, "remark": f"Remark {item}.", "reply_a": "One.", "reply_b": "Two."} for item in numbers]
    means = {"A": 2.5, "B": -1.25}
    full = [{"item": item, "reply": reply, "mean": mean} for item in numbers for reply, mean in means.items()]
    return table(folder / "items.csv", items), table(folder / "key.csv", key or full)


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def ratings(rater: str, a: object, b: object, remarks: int = 24) -> list[dict[str, Any]]:
    return [
        {"rater": rater, "item": str(n), "reply": reply, "rating": value}
        for n in range(1, remarks + 1)
        for reply, value in (("A", a), ("B", b))
    ]


def test_the_score_is_the_sum_of_differences(tmp_path: Path) -> None:
    instrument = load_instrument(*written(tmp_path))
    answers = load_answers(table(tmp_path / "answers.csv", ratings("one", 3, "\u22121") + ratings("two", 0, 0)), instrument)
    one, two = (sit(rater, answers[rater], instrument) for rater in ("one", "two"))
    assert one.distance == pytest.approx(24 * (0.5 + 0.25))
    assert (one.signs_n, one.sign_accuracy) == (48, 1)
    assert one.bias.value == pytest.approx((0.5 + 0.25) / 2)
    assert two.distance == pytest.approx(24 * 3.75)
    assert two.sign_accuracy == 0, "0 is no direction"
    assert two.bias.value == pytest.approx((-2.5 + 1.25) / 2)


def test_what_simple_raters_score(tmp_path: Path) -> None:
    found = anchors(load_instrument(*written(tmp_path)))
    assert found == {
        "nearest whole ratings": pytest.approx(24 * (0.5 + 0.25)),
        "right direction, always 2": pytest.approx(24 * (0.5 + 0.75)),
        "right direction, always 3": pytest.approx(24 * (0.5 + 1.75)),
        "always 0": pytest.approx(24 * 3.75),
        "farthest ratings": pytest.approx(24 * (5.5 + 4.25)),
    }


@given(
    st.lists(st.tuples(means, means), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=30, max_size=30),
)
def test_scores_lie_between_the_best_and_the_worst_whole_ratings(
    key: list[tuple[float, float]], said: list[tuple[int, int]]
) -> None:
    places = {(str(n), reply): mean for n, both in enumerate(key) for reply, mean in zip("AB", both, strict=True)}
    instrument = Instrument(places, "")
    given_ = {place: said[int(place[0])]["AB".index(place[1])] for place in places}
    found, ends = sit("x", given_, instrument), anchors(instrument)
    low, high = ends["nearest whole ratings"], ends["farthest ratings"]
    assert found.distance is not None
    assert low - 1e-9 <= found.distance <= high + 1e-9
    assert found.bias.value is not None
    assert abs(found.bias.value) * len(places) <= found.distance + 1e-9
    assert 0 <= (found.sign_accuracy or 0) <= 1


def test_a_sitting_with_gaps_has_no_score(tmp_path: Path) -> None:
    instrument = load_instrument(*written(tmp_path))
    answers = load_answers(table(tmp_path / "answers.csv", ratings("one", 3, -1)[:-1]), instrument)
    found = sit("one", answers["one"], instrument)
    assert (found.n, found.distance) == (47, None)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (ratings("one", 1.5, 0), "not a whole number"),
        (ratings("one", 4, 0), "not a number from -3 to 3"),
        (ratings("one", "nan", 0), "not a number"),
        (ratings("one", "", 0), "not a number"),
        (ratings("one", 1, 0) + ratings("one", 1, 0), "twice"),
        (ratings("", 1, 0), "needs a rater"),
        (ratings("one", 1, 0, remarks=25), "'25 A'"),
    ],
)
def test_ratings_that_cannot_be_are_refused(tmp_path: Path, rows: list[dict[str, Any]], reason: str) -> None:
    instrument = load_instrument(*written(tmp_path))
    with pytest.raises(RunError, match=reason):
        load_answers(table(tmp_path / "answers.csv", rows), instrument)


def test_the_dropped_item_and_a_key_with_gaps_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="dropped item 14"):
        load_instrument(*written(tmp_path, remarks=25))
    with pytest.raises(RunError, match="lacks 1 B"):
        load_instrument(*written(tmp_path, key=[{"item": "1", "reply": "a", "mean": 1}]))
    with pytest.raises(RunError, match="not a number from -3 to 3"):
        load_instrument(*written(tmp_path, key=[{"item": "1", "reply": "A", "mean": 3.5}]))


def siri2(folder: Path, rows: list[dict[str, Any]], *options: str, remarks: int = 24) -> str:
    items, key = written(folder, remarks)
    files = ("--items", items, "--key", key, "--answers", table(folder / "answers.csv", rows))
    return helmbench("siri2", *files, *options).stdout


def test_the_command_prints_scores_beside_published_groups(tmp_path: Path) -> None:
    rows = ratings("[red]one\x1b[2J", 3, -1) + ratings("two", 2, -2)
    said = siri2(tmp_path, rows)
    assert "18.00" in said
    assert "\x1b" not in said
    assert all(each["source"] in said for each in published())
    assert "Remark 1" not in said
    found = json.loads(siri2(tmp_path, rows, "--json"))
    assert [each["distance"] for each in found["raters"]] == [pytest.approx(18), pytest.approx(30)]
    half = 12.7062 * 6  # t(.975, 1) times the standard error of 18 and 30
    interval = {"value": pytest.approx(24), "low": pytest.approx(24 - half, abs=1e-2), "high": pytest.approx(24 + half, abs=1e-2)}
    assert found["group"] == {**interval, "n": 2}


def test_another_number_of_remarks_is_held_against_no_published_score(tmp_path: Path) -> None:
    said = siri2(tmp_path, ratings("one", 3, -1, remarks=3), remarks=3)
    assert "Palmieri" not in said
    assert "no published score is comparable" in said
