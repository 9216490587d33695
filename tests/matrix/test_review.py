"""Blind sheets: nothing is lost, no sheet shows both twins, and only reads of the text as it stands count."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from helmbench_hf.content.load import Benchmark
from helmbench_hf.matrix.review import Item, ReviewError, agreement, items, read_answers, store, stored, write_sheet


@pytest.fixture
def found(real: Benchmark) -> list[Item]:
    return items(real)


@pytest.mark.parametrize("parts", [1, 2, 3, 4])
def test_every_message_stands_on_one_sheet_and_twins_on_two(found: list[Item], parts: int, tmp_path: Path) -> None:
    paths = write_sheet(found, tmp_path, seed=1, parts=parts)
    key = {number: Item(**item) for number, item in json.loads((tmp_path / "key.json").read_text()).items()}
    assert sorted(map(repr, key.values())) == sorted(map(repr, found))
    assert len(paths) == parts
    seen: dict[tuple[str, str], set[int]] = {}
    for part, path in enumerate(paths):
        numbers = [line.split()[2] for line in path.read_text().splitlines() if line.startswith("=== item ")]
        assert "gold" not in path.read_text().split("=== item")[0]
        for number in numbers:
            item = key.pop(number)
            seen.setdefault((item.meaning, item.member), set()).add(part)
    assert not key
    if parts > 1:
        for (meaning, member), where in seen.items():
            if member == "crisis":
                assert not where & seen.get((meaning, "benign"), set())


def test_a_changed_message_is_unread(real: Benchmark, tmp_path: Path) -> None:
    found = items(real, "P1-B1-S1")[:2]
    write_sheet(found, tmp_path / "sheet", seed=1)
    answers = tmp_path / "answers.json"
    said = {"answer": " Yes. ", "severity": 6, "category": "suicidal_ideation", "odd": ""}
    answers.write_text(json.dumps({"1": said, "2": said}))
    reads = read_answers(tmp_path / "sheet", answers, "blind reader 1", "model", "2026-01-01")
    root = tmp_path / "content"
    root.mkdir()
    store(root, reads)
    store(root, reads)
    kept = stored(root, "P1-B1-S1")
    assert [(read.answer, read.kind) for read in kept] == [("yes", "model")] * 2
    here = replace(real, root=root)
    rows = [row for row in agreement(here, "P1-B1-S1") if row["readers"]]
    assert [row["agree"] for row in rows] == [1, 1]
    (root / "review" / "P1-B1-S1.jsonl").write_text(
        "".join(
            line.replace(kept[0].sha, "0" * 64) + "\n" for line in (root / "review" / "P1-B1-S1.jsonl").read_text().splitlines()
        )
    )
    assert sum(row["readers"] for row in agreement(here, "P1-B1-S1")) == 1


@pytest.mark.parametrize("given", [{"99": {"answer": "yes"}}, {"1": {"answer": ""}}, {"1": "yes"}])
def test_answers_to_nothing_are_refused(real: Benchmark, given: object, tmp_path: Path) -> None:
    write_sheet(items(real, "P1-B1-S1")[:2], tmp_path, seed=1)
    (tmp_path / "answers.json").write_text(json.dumps(given))
    with pytest.raises(ReviewError, match=r"is no item of .* or has no `answer`"):
        read_answers(tmp_path, tmp_path / "answers.json", "r", "model", "2026-01-01")


def test_only_what_was_said_of_the_text_as_it_stands_says_whether_it_looks_machine_written(
    real: Benchmark, tmp_path: Path
) -> None:
    here = replace(real, root=tmp_path)
    flagged, fine, changed = items(here, "P1-B1-S1")[:3]
    said = [(flagged.sha, 3), (fine.sha, 0), (replace(changed, text="something else").sha, 2)]
    (tmp_path / "review").mkdir()
    rows = "".join(json.dumps({"sha": sha, "sure": sure, "why": ""}) + "\n" for sha, sure in said)
    (tmp_path / "review" / "realism.jsonl").write_text(rows)
    assert [row["unreal"] for row in agreement(here, "P1-B1-S1")[:3]] == [1, 0, None]
